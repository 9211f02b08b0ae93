"""How SQLite goes about a statement."""

import re

from sqlalchemy import ClauseElement
from sqlalchemy.dialects import sqlite

from backstory.records.records import Begin, Records


def check_way(records: Records, statement: ClauseElement, way: str) -> None:
    """The statement is carried out in this way, and reads no table from its beginning to its end."""
    said = re.sub(r"\(__\[POSTCOMPILE_\w+\]\)", "(1, 2)", str(statement.compile(dialect=sqlite.dialect())))

    with records._connected(Begin.READING) as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {said}", (1,) * said.count("?")).all()

    assert any(way in step[3] for step in plan), plan
    assert not any(step[3].startswith("SCAN") for step in plan)
