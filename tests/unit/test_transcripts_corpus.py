"""Real transcripts, where a folder of them is at hand: `TRANSCRIPTS=folder pytest …`.

The human utterances are counted a second time here, in another way: not by recognising what a
person wrote, but by taking away, with nothing but the standard library, all that nobody did.
"""

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from backstory.model.transcript import Found
from backstory.transcripts.claude_code import KNOWN_TYPES, read_session
from backstory.transcripts.lines import Lines, read_lines
from backstory.transcripts.reader import read_transcript
from backstory.transcripts.slim import slimmed

FOLDER = os.environ.get("TRANSCRIPTS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="TRANSCRIPTS names no folder of transcripts")

FILES = sorted(Path(FOLDER).rglob("*.jsonl")) if FOLDER else []
#: Any element at all that a program's tag opens, wherever it stands.
TAGGED = re.compile(
    r"<((?:command|local-command|bash|task|teammate|system|ide)[-_][a-z_-]+)[^<>]*>.*?</\1>", re.DOTALL
)
NOTICES = re.compile(r"^(\[Request interrupted|Caveat: The messages|This session is being continued)")
REASON = re.compile(rb"(?:reason for the rejection:|to proceed, the user said:)(?: |\\n)*[^ \\\"]")


def typed_in(record: dict[str, object]) -> str:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    texts = [str(block["text"]) for block in blocks if block.get("type") == "text"]
    left = [TAGGED.sub("", words).strip() for words in texts]
    return "\n".join(words for words in left if words and not NOTICES.match(words))


def records_in(data: bytes) -> dict[str, tuple[bytes, dict[str, object]]]:
    """Each record once, by its uuid or its place, with its line."""
    read: dict[str, tuple[bytes, dict[str, object]]] = {}
    for place, line in enumerate(data.split(b"\n")):
        if line.strip():
            record = json.loads(line)
            read.setdefault(record.get("uuid") or str(place), (line, record))
    return read


def counted_another_way(data: bytes) -> Counter[str]:
    count: Counter[str] = Counter()
    delivered: Counter[str] = Counter()
    queued: Counter[str] = Counter()
    for line, record in records_in(data).values():
        if record.get("operation") == "enqueue":
            queued[typed_in({"message": record})] += 1
        if b'"type":"queued_command"' in line and b'"commandMode":"prompt"' in line:
            count["queue"] += 1
            delivered[typed_in({"message": {"content": json.loads(line)["attachment"]["prompt"]}})] += 1
        if record.get("type") != "user" or record.get("isMeta") or record.get("isCompactSummary"):
            continue
        count["answer"] += b'"toolUseResult":{"questions":' in line
        count["rejection"] += b'"is_error":true' in line and REASON.search(line) is not None
        words = typed_in(record)
        delivered[words] += 1
        if words and (b'"origin":' not in line or b'"origin":{"kind":"human"' in line):
            beside = b'"type":"tool_result"' in line
            count["task" if record.get("isSidechain") else "beside_result" if beside else "typed"] += 1
    waiting = queued - delivered
    count["queue"] += sum(waiting[words] for words in waiting if words and words[0] not in "/!{")
    return +count


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_utterance_is_found_once_and_none_is_invented(path: Path) -> None:
    data = path.read_bytes()
    lines = read_lines(data)
    if lines.flaws or lines.consumed < len(data):
        pytest.skip("broken lines are counted elsewhere")
    session = read_session(lines)

    assert Counter(
        said.found.value for turn in session.turns for said in turn.utterances
    ) == counted_another_way(data)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_record_is_known_or_counted(path: Path) -> None:
    data = path.read_bytes()
    lines = read_lines(data)
    report = read_session(lines).report

    assert sum(report.counts.values()) == len(lines.records)
    assert set(report.counts) == KNOWN_TYPES & set(report.counts) | set(report.unknown)
    assert len(lines.records) + lines.unreadable >= sum(
        bool(line.strip()) for line in data[: lines.consumed].split(b"\n")
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_slim_records_are_read_as_whole_ones(path: Path) -> None:
    whole = read_lines(path.read_bytes())
    slim = Lines([slimmed(record) for record in whole.records], whole.consumed, whole.flaws)

    assert read_transcript(slim) == read_transcript(whole)


def test_the_folder_holds_all_that_these_tests_are_about() -> None:
    assert FILES
    found = {
        said.found
        for path in FILES
        for turn in read_session(read_lines(path.read_bytes())).turns
        for said in turn.utterances
    }
    assert {Found.TYPED, Found.TASK} <= found
