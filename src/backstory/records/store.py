"""Facts about the store itself: its version, its identity, its running number."""

from typing import Final

from sqlalchemy import BigInteger, Connection, Text, bindparam, cast, insert, select, update

from backstory.records import schema

_STORE: Final = schema.store
_GET: Final = select(_STORE.c.value).where(_STORE.c.key == bindparam("wanted"))
_CHANGE: Final = update(_STORE).where(_STORE.c.key == bindparam("wanted"))
_INSERT: Final = insert(_STORE)
_NEXT: Final = (
    update(_STORE)
    .where(_STORE.c.key == "revision")
    .values(value=cast(cast(_STORE.c.value, BigInteger) + 1, Text))
    .returning(_STORE.c.value)
)


class Store:
    """Keys and values that speak of the store as a whole."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, key: str) -> str | None:
        """The value kept under a key."""
        return self._connection.scalar(_GET, {"wanted": key})

    def put(self, key: str, value: str) -> None:
        """Keep a value under a key."""
        if self._connection.execute(_CHANGE, {"wanted": key, "value": value}).rowcount == 0:
            self._connection.execute(_INSERT, {"key": key, "value": value})

    @property
    def revision(self) -> int:
        """The last number given out."""
        return int(self.get("revision") or 0)

    def next_revision(self) -> int:
        """A number that was never given out before."""
        given = self._connection.scalar(_NEXT)
        if given is None:
            self.put("revision", "1")
        return int(given or 1)
