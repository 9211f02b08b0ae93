"""Transcripts as Claude Code leaves them, written by a test in a few words."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

Json = dict[str, object]


@dataclass(frozen=True)
class Use:
    """A tool that was called, and what it gave back."""

    name: str
    given: Mapping[str, object]
    result: str = ""


@dataclass(frozen=True)
class Exchange:
    """One turn: what was asked, what tools were used, what was answered."""

    user: str
    assistant: str = ""
    tools: Sequence[Use] = ()


def session_id(name: str) -> str:
    """A session's id, the same for the same name."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def write_transcript(
    root: Path,
    name: str,
    folder: str,
    *exchanges: Exchange,
    began: datetime | None = None,
    title: str = "",
) -> str:
    """Write a session that was held in a folder, a turn a minute; its id. What it had before is replaced."""
    id = session_id(name)
    records = list(_records(id, folder, exchanges, began or datetime.now(UTC) - timedelta(hours=1)))
    if title:
        records.append({"type": "custom-title", "customTitle": title, "sessionId": id})
    path = root / folder.replace("/", "-") / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records), "utf-8")
    return id


def _records(id: str, folder: str, exchanges: Sequence[Exchange], began: datetime) -> Iterator[Json]:
    parent: str | None = None
    number = 0
    for turn, exchange in enumerate(exchanges):
        at = began + timedelta(minutes=turn)
        for kind, content in _said(exchange, f"{id}-{turn}"):
            number += 1
            own = session_id(f"{id} {number}")
            yield {
                "type": kind,
                "uuid": own,
                "parentUuid": parent,
                "sessionId": id,
                "cwd": folder,
                "gitBranch": "main",
                "version": "2.1.205",
                "isSidechain": False,
                "timestamp": at.isoformat().replace("+00:00", "Z"),
                "message": {"role": kind, "content": content, **({"id": own} if kind == "assistant" else {})},
            }
            parent = own


def _said(exchange: Exchange, key: str) -> Iterator[tuple[str, object]]:
    yield "user", exchange.user
    for place, use in enumerate(exchange.tools):
        call = f"toolu_{key}-{place}"
        yield "assistant", [{"type": "tool_use", "id": call, "name": use.name, "input": use.given}]
        yield "user", [{"type": "tool_result", "tool_use_id": call, "content": use.result}]
    if exchange.assistant:
        yield "assistant", [{"type": "text", "text": exchange.assistant}]
