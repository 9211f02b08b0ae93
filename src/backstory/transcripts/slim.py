"""Takes out of a record what no reader looks at, so that a long file fits into little memory.

Nine tenths of a transcript are tools' outputs and copies of them, pictures, snapshots and
signatures. Only keys that a reader reads are left, and of a tool's output what is shown of it. A
session read from slim records is the one read from whole ones. What the keys mean is left to the
readers.
"""

import sys
from collections.abc import Callable, Collection
from typing import Final

from backstory.transcripts import fields as read
from backstory.transcripts.codex_calls import outcome
from backstory.transcripts.codex_items import has_payload, is_bare
from backstory.transcripts.codex_words import chosen
from backstory.transcripts.fields import Fields
from backstory.transcripts.lines import Record
from backstory.transcripts.tool_calls import shown_result, written_chars
from backstory.transcripts.utterances import tells_words

_PLAIN: Final = frozenset(
    {
        "agentId",
        "aiTitle",
        "commandUuid",
        "customTitle",
        "cwd",
        "gitBranch",
        "isCompactSummary",
        "isMeta",
        "isSidechain",
        "isVisibleInTranscriptOnly",
        "leafUuid",
        "operation",
        "origin",
        "parentUuid",
        "promptSource",
        "sessionId",
        "slug",
        "summary",
        "timestamp",
        "type",
        "uuid",
        "version",
    }
)
_BLOCK: Final = frozenset({"id", "is_error", "name", "text", "tool_use_id", "type"})
_INPUT: Final = frozenset(
    {
        "command",
        "description",
        "file_path",
        "input",
        "notebook_path",
        "patch",
        "path",
        "pattern",
        "subagent_type",
    }
)
_ATTACHMENT: Final = frozenset({"commandMode", "origin", "prompt", "promptSource", "source_uuid", "type"})
_PAYLOAD: Final = frozenset(
    {
        "action",
        "arguments",
        "call_id",
        "cli_version",
        "cwd",
        "id",
        "input",
        "message",
        "name",
        "parent_thread_id",
        "role",
        "source",
        "started_at",
        "thread_name",
        "thread_source",
        "turn_id",
        "type",
    }
)
_OUTCOME: Final = frozenset({"questions", "answers", "annotations"})
#: Every record repeats these few texts: kept once each, they halve what many small records take.
_REPEATED: Final = frozenset({"cwd", "gitBranch", "model", "name", "sessionId", "slug", "type", "version"})


def slimmed(record: Record) -> Record:
    """The record without what makes no difference to the session that it is read into."""
    fields = record.fields
    if has_payload(fields):
        return Record(record.offset, {**_record(fields), "payload": _payload(fields)})
    if is_bare(fields):
        return Record(record.offset, {**_bare(fields), **_record(fields)})
    return Record(record.offset, _record(fields))


def _record(fields: Fields) -> Fields:
    kept = _alone(fields)
    # Records are told in others once, and no deeper: a file could nest them without end.
    if told := _progress(read.inner(fields, "data")):
        kept["data"] = told
    return kept


def _alone(fields: Fields) -> dict[str, object]:
    kept = _only(fields, _PLAIN)
    for key, slim in _PARTS.items():
        if key in fields and (part := slim(read.inner(fields, key))):
            kept[key] = part
    if read.text(fields, "type") == "queue-operation":
        kept["content"] = fields.get("content")
    return kept


def _only(fields: Fields, keys: Collection[str]) -> dict[str, object]:
    return {
        key: sys.intern(value) if key in _REPEATED and type(value) is str else value
        for key, value in fields.items()
        if key in keys
    }


def _message(message: Fields) -> Fields:
    kept = _only(message, ("id", "model", "usage"))
    content = message.get("content")
    if isinstance(content, str):
        kept["content"] = content
    elif isinstance(content, list):
        kept["content"] = [_block(block) for block in read.objects(message, "content")]
    return kept


def _block(block: Fields) -> Fields:
    kept = _only(block, _BLOCK)
    if given := read.inner(block, "input"):
        kept["input"] = {**_only(given, _INPUT), "content": written_chars(given)}
    if "content" in block:
        kept["content"] = _result(block)
    return kept


def _result(block: Fields) -> object:
    """What is shown of a tool's result; all of it where a person's words may stand in it."""
    shown = shown_result(block)
    has_words = tells_words(block) or tells_words({**block, "content": shown})
    return block["content"] if has_words else shown


def _attachment(attachment: Fields) -> Fields:
    return _only(attachment, _ATTACHMENT)


def _outcome(outcome: Fields) -> Fields:
    return _only(outcome, _OUTCOME) if "questions" in outcome else {}


def _progress(data: Fields) -> Fields:
    """What a subagent said, if that is what is told."""
    kept = _only(data, ("agentId", "type"))
    if message := read.inner(data, "message"):
        kept["message"] = _alone(message)
    return kept


def _bare(fields: Fields) -> Fields:
    marks = {"instructions": None} if "instructions" in fields else {}
    return {**_item(fields), **marks}


def _payload(fields: Fields) -> Fields:
    if read.text(fields, "type") == "compacted":
        return {}
    payload = read.inner(fields, "payload")
    kept = _item(payload)
    if item := read.inner(payload, "item"):
        kept["item"] = _item(item)
    return kept


def _item(payload: Fields) -> dict[str, object]:
    kept = _only(payload, _PAYLOAD)
    if blocks := [_only(block, ("type", "text")) for block in read.blocks(payload)]:
        kept["content"] = blocks
    if "output" in payload:
        kept["output"] = _output(payload)
    for key, keys in _PAYLOAD_PARTS.items():
        if part := _only(read.inner(payload, key), keys):
            kept[key] = part
    if changes := read.inner(payload, "changes"):
        kept["changes"] = {path: _only(read.inner(changes, path), ("move_path",)) for path in changes}
    return kept


def _output(payload: Fields) -> object:
    """What is shown of what a tool of Codex gave back; all of it where it is what a person chose."""
    if chosen(payload["output"]):
        return payload["output"]
    content, failed = outcome(payload)
    return {"content": shown_result({"content": content}), "success": not failed}


_PAYLOAD_PARTS: Final = {"git": ("branch",), "info": ("total_token_usage",)}
_PARTS: Final[dict[str, Callable[[Fields], Fields]]] = {
    "message": _message,
    "attachment": _attachment,
    "toolUseResult": _outcome,
}
