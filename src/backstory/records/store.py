"""Facts about the store itself: its version, its identity, its running number."""

from sqlalchemy import Connection, insert, select, update

from backstory.records import schema

_STORE = schema.store


class Store:
    """Keys and values that speak of the store as a whole."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, key: str) -> str | None:
        """The value kept under a key."""
        return self._connection.scalar(select(_STORE.c.value).where(_STORE.c.key == key))

    def put(self, key: str, value: str) -> None:
        """Keep a value under a key."""
        changed = self._connection.execute(update(_STORE).where(_STORE.c.key == key).values(value=value))
        if changed.rowcount == 0:
            self._connection.execute(insert(_STORE).values(key=key, value=value))

    def next_revision(self) -> int:
        """A number that was never given out before."""
        revision = int(self.get("revision") or 0) + 1
        self.put("revision", str(revision))
        return revision
