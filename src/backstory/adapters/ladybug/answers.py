"""Running a checked foreign statement, and its answer as plain JSON values."""

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

from ladybug import Connection, QueryResult

from backstory.adapters.ladybug.cypher import Statement
from backstory.adapters.ladybug.faults import PoolExhausted, translated
from backstory.errors import InputError
from backstory.model.graph import Limits, Table


def answer(connection: Connection, statement: Statement, limits: Limits) -> Table:
    """Run the statement within its limits. The connection is spent afterwards."""
    try:
        with translated(otherwise=InputError):
            connection.set_query_timeout(max(1, round(limits.timeout_s * 1000)))
            # A second lock on the door: it stops writes to the graph, though not to files.
            connection.execute("BEGIN TRANSACTION READ ONLY")
            return _table(connection, statement, limits.max_rows)
    except PoolExhausted as error:
        raise InputError(
            "the statement needs more memory than it may use",
            hint="narrow the patterns, return fewer columns, or add a LIMIT",
        ) from error


def _table(connection: Connection, statement: Statement, max_rows: int) -> Table:
    result = connection.execute(statement.text, dict(statement.parameters))
    with cast("QueryResult", result) as answers:
        rows = [[plain(value) for value in row] for row in answers.get_n(max_rows)]
        return Table(answers.get_column_names(), rows, truncated=answers.has_next())


def plain(value: Any) -> object:
    """Give an engine's value as JSON has it; nodes and relationships as maps with their `_label`."""
    match value:
        case dict():
            return _plain_map(value)
        case list():
            return [plain(item) for item in value]
        case float():
            return value if math.isfinite(value) else None
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
        case date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case None | bool() | int() | str():
            return value
        case _:
            return str(value)


def _plain_map(value: dict[Any, Any]) -> dict[str, object]:
    if "_NODES" in value and "_RELS" in value:
        return {"nodes": plain(value["_NODES"]), "relationships": plain(value["_RELS"])}
    if "_ID" not in value:
        return {str(key): plain(item) for key, item in value.items()}
    # Where the engine keeps it is nobody's business, and changes.
    properties = {key: plain(item) for key, item in value.items() if not key.startswith("_")}
    return {"_label": value["_LABEL"], **properties}
