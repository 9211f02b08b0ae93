"""Bringing a store to the present schema, forward only, one numbered step after another.

A new store is made whole from `schema` and stamped with the newest number. An older one takes the
steps it lacks, all in one transaction. A newer one is refused: this version cannot know what
it would lose.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, bindparam, inspect, select, update

from backstory.errors import StoreCorrupt, StoreTooNew
from backstory.records import keywords, schema
from backstory.records.memories import Memories
from backstory.records.references import References
from backstory.records.store import Store

SCHEMA_VERSION: Final = 4


def _add_conversations(connection: Connection) -> None:
    names = ("conversations", "turns", "messages", "touches", "transcript_files", "elsewhere_titles")
    schema.metadata.create_all(connection, [schema.metadata.tables[name] for name in names])


def _add_live_conversations(connection: Connection) -> None:
    # The step before this one makes the table as it is now, in a store that had none.
    if not _has(connection, "conversations", "room"):
        for column in ("room VARCHAR(300) NOT NULL DEFAULT ''", "is_live BOOLEAN NOT NULL DEFAULT false"):
            connection.exec_driver_sql(f"ALTER TABLE conversations ADD COLUMN {column}")
        connection.exec_driver_sql("CREATE INDEX conversations_by_room ON conversations (room)")
    names = ("live_conversations", "live_rooms", "live_turns", "live_summaries")
    schema.metadata.create_all(connection, [schema.metadata.tables[name] for name in names])


def _add_references(connection: Connection) -> None:
    keywords.merge_rarely(connection)
    if not _has(connection, "audit", "details"):
        connection.exec_driver_sql("ALTER TABLE audit ADD COLUMN details JSON")
        connection.exec_driver_sql("ALTER TABLE links ADD COLUMN field VARCHAR(64) NOT NULL DEFAULT ''")
        connection.exec_driver_sql("CREATE INDEX links_by_owner ON links (owner)")
    names = ("memory_names", "memory_references", "merges")
    schema.metadata.create_all(connection, [schema.metadata.tables[name] for name in names])
    memories = Memories(connection)
    for project in memories.projects():
        References(connection).add_all(list(memories.live_in(project)))
    _write_labels_as_json(connection)


def _write_labels_as_json(connection: Connection) -> None:
    """Before, the labels of metadata did not tell numbers and truths from texts: these are taken as such."""
    columns = schema.passages.c
    change = update(schema.passages).where(columns.number == bindparam("wanted"))
    for number, labels in connection.execute(select(columns.number, columns.labels)).all():
        if known := labels.get("metadata"):
            labels["metadata"] = [_label_as_json(label) for label in known]
            connection.execute(change, {"wanted": number, "labels": labels})


def _label_as_json(label: str) -> str:
    key, _, value = label.partition("=")
    try:
        plain = json.loads(value)
    except ValueError:
        plain = value
    if not isinstance(plain, str | int | float):
        plain = value
    return f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(plain, ensure_ascii=False)}"


def _has(connection: Connection, table: str, column: str) -> bool:
    return column in {each["name"] for each in inspect(connection).get_columns(table)}


#: The step that leads *to* each version. What a step does is never changed after its release.
STEPS: Final[Mapping[int, Callable[[Connection], None]]] = {
    2: _add_conversations,
    3: _add_live_conversations,
    4: _add_references,
}


def migrate(
    connection: Connection,
    path: Path,
    *,
    newest: int = SCHEMA_VERSION,
    steps: Mapping[int, Callable[[Connection], None]] = STEPS,
) -> None:
    """Bring the store behind the connection to the newest schema; refuses what it does not know."""
    tables = set(inspect(connection).get_table_names())
    if not tables:
        return _create(connection, newest)
    if "store" not in tables:
        raise StoreCorrupt(
            f"{path} is a database, but not one of Backstory's",
            hint="it was left as it is: move it away, or set BACKSTORY_HOME to another folder",
        )
    store = Store(connection)
    present = int(store.get("schema_version") or 0)
    if present > newest:
        raise StoreTooNew(
            f"{path} was written by a newer version (schema {present}, this one knows {newest})",
            hint="upgrade Backstory, or restore a backup made by this version",
        )
    for number in range(present + 1, newest + 1):
        steps[number](connection)
        store.put("schema_version", str(number))
    return None


def _create(connection: Connection, newest: int) -> None:
    schema.metadata.create_all(connection)
    keywords.create(connection)
    store = Store(connection)
    store.put("schema_version", str(newest))
    store.put("store_id", str(uuid.uuid4()))
