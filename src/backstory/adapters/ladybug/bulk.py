"""Making a whole graph at once: rows go to text files, which the engine copies in.

Copying takes 2 s for 500,000 edges where statements take a minute. Putting the finished database in
its place is left to others.
"""

import glob
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from backstory.adapters.ladybug import files, schema
from backstory.adapters.ladybug.database import open_alone
from backstory.adapters.ladybug.faults import translated
from backstory.adapters.ladybug.schema import Pair
from backstory.errors import StoreFull
from backstory.model.graph import Edge, Node, NodeType, RelationshipType

# A limit, not an allotment: 500,000 edges need 100 MB of it, 2.5 million 300 MB.
_POOL_BYTES: Final = 1 << 30
_LINES_IN_MEMORY: Final = 2000

# Control characters that hardly any text has, so that what JSON quotes need not be doubled. A quoted
# field is text even when it is empty, a bare empty one is NULL. Guessing the format triples the time.
_DELIMITER: Final = "\x1f"
_QUOTE: Final = "\x1e"
_FORMAT: Final = (
    f"delim='{_DELIMITER}', quote='{_QUOTE}', escape='{_QUOTE}',"
    " header=false, auto_detect=false, parallel=false"
)

_TYPE_NUMBERS: Final = {type_: number for number, type_ in enumerate(RelationshipType)}

_Table = NodeType | Pair
_Known = dict[str, tuple[NodeType, int]]  # the nodes by id, numbered


def build(place: Path, nodes: Iterable[Node], edges: Iterable[Edge], *, min_free_bytes: int) -> Path:
    """Make a database of these nodes and edges in an empty folder, and give its one file.

    Of several with one id, or with one (start, type, end), the first counts.
    """
    with translated():
        lines = _Lines(place)
        known: _Known = {}
        for node in _distinct_nodes(nodes, known):
            lines.add(node.ref.type, schema.node_row(node))
        for edge in _distinct_edges(edges, known):
            lines.add(Pair.of(edge), schema.edge_row(edge))
        tables = lines.finish()
        # The database is smaller than the text it is made from.
        files.check_room(place, min_free_bytes + sum(text.stat().st_size for text in tables.values()))
        return _copied(place / "graph", tables)


def _copied(path: Path, tables: dict[_Table, Path]) -> Path:
    with open_alone(path, pool_bytes=_POOL_BYTES, threads=os.cpu_count() or 1) as connection:
        for table, text in tables.items():
            if isinstance(table, Pair):
                connection.execute(schema.add_pair(table))
            connection.execute(_copy(table, text))
        connection.execute("CHECKPOINT")
    if files.has_log(path):
        raise StoreFull("the graph could not be written out whole", hint="free some space and try again")
    with path.open("r+b") as file:
        os.fsync(file)
    return path


def _copy(table: _Table, text: Path) -> str:
    source = glob.escape(str(text)).replace("\\", "\\\\").replace("'", "\\'")
    if isinstance(table, Pair):
        return f"COPY {table.type} FROM '{source}' (from='{table.start}', to='{table.end}', {_FORMAT})"
    return f"COPY {table} FROM '{source}' ({_FORMAT})"


def _distinct_nodes(nodes: Iterable[Node], known: _Known) -> Iterator[Node]:
    for node in nodes:
        if node.ref.id not in known:
            known[node.ref.id] = node.ref.type, len(known)
            yield node


def _distinct_edges(edges: Iterable[Edge], known: _Known) -> Iterator[Edge]:
    seen: set[int] = set()
    for edge in edges:
        start_type, start = known.get(edge.start.id, (None, 0))
        end_type, end = known.get(edge.end.id, (None, 0))
        if start_type is edge.start.type and end_type is edge.end.type:
            # A number for each possible edge: a third of the memory that the three values take.
            key = (start * len(known) + end) * len(_TYPE_NUMBERS) + _TYPE_NUMBERS[edge.type]
            if key not in seen:
                seen.add(key)
                yield edge


class _Lines:
    """Rows on their way into a text file for each table; few wait in memory, no file stays open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: defaultdict[_Table, list[str]] = defaultdict(list)
        self._texts: dict[_Table, Path] = {}

    def add(self, table: _Table, row: schema.Row) -> None:
        """Add a row to a table's file."""
        waiting = self._waiting[table]
        waiting.append(_DELIMITER.join([_field(value) for value in row.values()]) + "\n")
        if len(waiting) >= _LINES_IN_MEMORY:
            self._write(table)

    def finish(self) -> dict[_Table, Path]:
        """Give the files, complete: those of nodes before those of edges."""
        for table in self._waiting:
            self._write(table)
        return dict(sorted(self._texts.items(), key=lambda text: isinstance(text[0], Pair)))

    def _write(self, table: _Table) -> None:
        text = self._texts.setdefault(table, self._folder / f"{len(self._texts)}.csv")
        with text.open("a", encoding="utf-8", newline="") as file:
            file.writelines(self._waiting[table])
        self._waiting[table].clear()


def _field(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    if _QUOTE in text:
        text = text.replace(_QUOTE, _QUOTE + _QUOTE)
    return _QUOTE + text + _QUOTE
