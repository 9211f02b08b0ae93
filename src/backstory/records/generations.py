"""Generations: which generation of an index or of the graph is live, and which is being built."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from backstory.model.upkeep import Generation, GenerationState
from backstory.records import schema

_GENERATIONS: Final = schema.generations
_ALL: Final = select(_GENERATIONS).order_by(_GENERATIONS.c.target, _GENERATIONS.c.number)


class Generations:
    """The generations of each projection; at most one of a target is live."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[Generation]:
        """Every generation there is, by target and number."""
        rows = self._connection.execute(_ALL)
        return [
            Generation(row.target, row.number, row.fingerprint, GenerationState(row.state), row.built_to)
            for row in rows
        ]

    def of(self, target: str, *states: GenerationState) -> list[Generation]:
        """The generations of one target that are in one of the states."""
        return [each for each in self.all() if each.target == target and each.state in states]

    def live(self, target: str) -> Generation | None:
        """The generation that answers."""
        return next(iter(self.of(target, GenerationState.LIVE)), None)

    def begin(self, target: str, fingerprint: str, state: GenerationState) -> Generation:
        """A new generation, numbered after all that ever were."""
        highest = select(func.max(_GENERATIONS.c.number)).where(_GENERATIONS.c.target == target)
        number = (self._connection.scalar(highest) or 0) + 1
        self._connection.execute(
            insert(_GENERATIONS).values(
                target=target,
                number=number,
                fingerprint=fingerprint,
                state=state.value,
                built_to=0,
                created_at=datetime.now(UTC),
            )
        )
        return Generation(target, number, fingerprint, state, 0)

    def advance(self, generation: Generation, built_to: int) -> None:
        """Remember how far a building generation has come."""
        self._update(generation, built_to=built_to)

    def swap(self, generation: Generation) -> None:
        """Let a built generation answer in place of the one that did."""
        for old in self.of(generation.target, GenerationState.LIVE):
            self.retire(old)
        self._update(generation, state=GenerationState.LIVE.value)

    def retire(self, generation: Generation) -> None:
        """Take a generation out of use; it is dropped by the next upkeep."""
        self._update(generation, state=GenerationState.RETIRED.value)

    def forget(self, gone: Sequence[Generation]) -> None:
        """Strike out generations whose data is gone."""
        for generation in gone:
            self._connection.execute(delete(_GENERATIONS).where(*_key(generation)))

    def _update(self, generation: Generation, **values: object) -> None:
        self._connection.execute(update(_GENERATIONS).where(*_key(generation)).values(**values))


def _key(generation: Generation) -> tuple[ColumnElement[bool], ...]:
    return (_GENERATIONS.c.target == generation.target, _GENERATIONS.c.number == generation.number)
