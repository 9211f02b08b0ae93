"""Finding passages by their words inside SQLite, when the vector engine cannot be asked.

The index is an external-content FTS5 table over `passages.terms`, kept in step by triggers, so
that words are written in the same transaction as the passage and take no second copy. This is
the one module that speaks SQLite alone.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, text

from backstory.model.passage import Index
from backstory.model.project import Project
from backstory.model.search import AnyOf, Between, Scored, Where
from backstory.model.upkeep import Target

_DDL: Final = (
    # Terms come analysed: the tokenizer has only to find the blanks between them.
    """CREATE VIRTUAL TABLE passage_words USING fts5(
        terms, content='passages', content_rowid='number',
        tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Co'")""",
    """CREATE TRIGGER passage_words_insert AFTER INSERT ON passages BEGIN
        INSERT INTO passage_words(rowid, terms) VALUES (new.number, new.terms); END""",
    """CREATE TRIGGER passage_words_delete AFTER DELETE ON passages BEGIN
        INSERT INTO passage_words(passage_words, rowid, terms)
        VALUES ('delete', old.number, old.terms); END""",
    """CREATE TRIGGER passage_words_update AFTER UPDATE OF terms ON passages BEGIN
        INSERT INTO passage_words(passage_words, rowid, terms) VALUES ('delete', old.number, old.terms);
        INSERT INTO passage_words(rowid, terms) VALUES (new.number, new.terms); END""",
)


#: Segments of one size that are merged, in the write that makes so many of them. Adding turns to 15,000,
#: three runs of each in turn: p95 is 1.2 to 1.5 times p50, and the slowest of 400 took 36 to 39 ms; with
#: FTS5's own 4 it is 1.45 to 1.7 times, and 53 to 58 ms.
_MERGED_AT_ONCE: Final = 8


class _Among(NamedTuple):
    """Which passages are looked at: what a query begins with, and a condition."""

    beginning: str
    condition: str


#: Passages that wait, up to which their numbers are read before any word is looked for. Among 100,000
#: passages, six words, two of them common, took on a busy machine: with 10 that wait 1 to 4 ms, with 1,000
#: 4 to 8, with 20,000 60 to 80, near each other or not. To ask of everything with one of the words whether it
#: waits takes 50, 50 and 85 ms; but 120 with 100,000 that wait, where their numbers take 300.
FEW: Final = 10_000

_ALL: Final = _Among("", "true")
_FEW_WAITING: Final = _Among(
    """WITH waiting AS MATERIALIZED (
        SELECT number FROM marks CROSS JOIN passages ON passages.id = marks.subject
        WHERE marks.target = :target AND marks.place = :index) """,
    # The plus has the words walked once, not once for each number, which takes 1.2 s for 1,000 of them.
    """+passage_words.rowid IN (SELECT number FROM waiting) AND passage_words.rowid
        BETWEEN (SELECT min(number) FROM waiting) AND (SELECT max(number) FROM waiting)""",
)
_MANY_WAITING: Final = _Among(
    "",
    """EXISTS (SELECT 1 FROM marks
        WHERE marks.target = :target AND marks.subject = passages.id AND marks.place = :index)""",
)
_COUNT_WAITING: Final = text(
    """SELECT count(*) FROM (
        SELECT 1 FROM marks WHERE target = :target AND place = :index LIMIT :most)"""
)


def create(connection: Connection) -> None:
    """Make the index and the triggers that keep it."""
    for statement in _DDL:
        connection.exec_driver_sql(statement)
    merge_rarely(connection)


def merge_rarely(connection: Connection) -> None:
    """Let the index merge its parts less often than it would by itself."""
    connection.exec_driver_sql(
        f"INSERT INTO passage_words(passage_words, rank) VALUES ('automerge', {_MERGED_AT_ONCE})"
    )


def check(connection: Connection) -> None:
    """Raise the database's own error if the index and the passages disagree."""
    connection.exec_driver_sql("INSERT INTO passage_words(passage_words, rank) VALUES ('integrity-check', 1)")


class Keywords:
    """BM25 over the terms of passages, with the same conditions that the vector engine takes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def search(self, index: Index, terms: str, where: Where, limit: int) -> list[Scored]:
        """The passages that share terms with the query, best first."""
        return self._found(index, terms, where, limit, _ALL)

    def search_waiting(self, index: Index, terms: str, where: Where, limit: int) -> list[Scored]:
        """As `search`, but only what the vector engine lacks: what waits for it, was refused or deferred."""
        values = {"target": Target.VECTORS.value, "index": index.value, "most": FEW + 1}
        waiting = self._connection.scalar(_COUNT_WAITING, values)
        if not waiting:
            return []
        among = _FEW_WAITING if waiting <= FEW else _MANY_WAITING
        return self._found(index, terms, where, limit, among)

    def _found(self, index: Index, terms: str, where: Where, limit: int, among: _Among) -> list[Scored]:
        wanted = list(dict.fromkeys(terms.split()))
        if not wanted:
            return []
        conditions = dict(_conditions(where))
        clauses = "".join(f" AND {clause}" for clause in (among.condition, *conditions))
        parameters: dict[str, Any] = {
            "match": " OR ".join('"' + term.replace('"', '""') + '"' for term in wanted),
            "target": Target.VECTORS.value,
            "index": index.value,
            "limit": limit,
        }
        for values in conditions.values():
            parameters |= values
        rows = self._connection.execute(
            text(
                f"{among.beginning}"
                "SELECT passages.id, -bm25(passage_words) AS score FROM passage_words"
                " CROSS JOIN passages ON passages.number = passage_words.rowid"
                " WHERE passage_words MATCH :match AND passages.index_name = :index AND passages.live"
                f"{clauses} ORDER BY score DESC, passages.id LIMIT :limit"
            ),
            parameters,
        )
        return [Scored(id, score) for id, score in rows]


def _conditions(where: Where) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(where.scope, Project):
        yield "passages.project = :project", {"project": where.scope.name}
    if where.ids is not None:
        yield "passages.id IN (SELECT value FROM json_each(:ids))", {"ids": json.dumps(list(where.ids))}
    for position, condition in enumerate(where.labels):
        yield _label_clause(position, condition)
    for position, (number, bounds) in enumerate(where.numbers.items()):
        yield _number_clause(position, number, bounds)


def _label_clause(position: int, condition: AnyOf) -> tuple[str, dict[str, Any]]:
    name, values = f"label{position}", f"values{position}"
    clause = (
        f"EXISTS (SELECT 1 FROM json_each(passages.labels, :{name}) AS has"
        f" WHERE has.value IN (SELECT value FROM json_each(:{values})))"
    )
    return clause, {name: _path(condition.label), values: json.dumps(list(condition.values))}


def _number_clause(position: int, number: str, bounds: Between) -> tuple[str, dict[str, Any]]:
    name, low, high = f"number{position}", f"low{position}", f"high{position}"
    value = f"json_extract(passages.numbers, :{name})"
    clause = f"{value} >= coalesce(:{low}, {value}) AND {value} <= coalesce(:{high}, {value})"
    return clause, {name: _path(number), low: bounds.at_least, high: bounds.at_most}


def _path(key: str) -> str:
    return "$." + json.dumps(key)
