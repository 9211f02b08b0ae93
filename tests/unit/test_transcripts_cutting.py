"""Where a text is cut, no part of a secret stays, wherever it lies and whatever is made of the text."""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backstory.actions.transcripts.keeping import Origin, keep
from backstory.model.project import Project
from backstory.model.transcript import Session
from backstory.transcripts.lines import Lines, Record
from backstory.transcripts.reader import read_transcript
from backstory.transcripts.redaction import MARK
from backstory.transcripts.slim import slimmed
from backstory.transcripts.texts import beginning, clean, excerpt, shortened

from .made_secrets import PLACED, SHAPES, URL_SAFE, key_block, made

Json = dict[str, object]

ORIGIN = Origin("s1", "", Project("/w"), "claude-code", "/t/s1.jsonl")
#: The shortest part of a secret that must not be seen.
PART = 8


def long_jwt(chooser: random.Random) -> str:
    """A token with all that its owner may do; a run in it looks like a picture's data."""
    parts = made(chooser, 300), made(chooser, 900, URL_SAFE) + made(chooser, 300), made(chooser, 86, URL_SAFE)
    return "eyJ{}.eyJ{}.{}".format(*parts)


def long_key(chooser: random.Random) -> str:
    lines = "\n".join(made(chooser, 64) for _ in range(50))
    return f"-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----"


def key_with_a_header(chooser: random.Random) -> str:
    begin, *lines = key_block(chooser).split("\n")
    return "\n".join([begin, "Proc-Type: 4,ENCRYPTED", "", *lines])


def private(chooser: random.Random) -> str:
    inner = "\n".join(made(chooser, 20) for _ in range(300))
    return f"<private>{inner} <private>{made(chooser, 20)}</private> {made(chooser, 20)}</private>"


#: Those that have several lines can be in no path.
ON_LINES = {"long key": long_key, "with header": key_with_a_header, "private": private, "key": key_block}
ON_ONE_LINE: dict[str, Callable[[random.Random], str]] = {
    **{name: shape for name, shape in SHAPES.items() if name != "private key"},
    **{place: lambda c, place=place: place.format(made(c, 32)) for _, place in PLACED},  # type: ignore[misc]
    "long jwt": long_jwt,
}
FILLERS = ("make: nothing to be done\n", "all is well ", "src/cart.py:12: ")


def secret_parts(text: str) -> set[str]:
    """The parts of a text that were made by chance: letters and digits in turn, as in no word or number."""
    parts = {text[i : i + PART] for i in range(len(text) - PART + 1)}
    return {part for part in parts if part.isalnum() and not (part.isalpha() or part.isdigit())}


def filled(filler: str, length: int) -> str:
    return (filler * (length // len(filler) + 1))[:length]


def seen(session: Session) -> str:
    """All that a session shows of what may have been cut."""
    calls = [replace(call, id="") for turn in session.turns for call in turn.tool_calls]
    return "\n".join(map(str, [session.title.text, *calls]))


def use(name: str, **given: object) -> Json:
    block = {"type": "tool_use", "id": "t1", "name": name, "input": given}
    return {"type": "assistant", "uuid": "a1", "message": {"id": "m1", "content": [block]}}


def result(content: object) -> Json:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    return {"type": "user", "uuid": "r1", "message": {"content": [block]}}


def codex(**payload: object) -> Json:
    kind = "event_msg" if str(payload["type"]) in REPORTED else "response_item"
    return {"timestamp": "2026-01-01T10:00:00Z", "type": kind, "payload": payload}


REPORTED = ("user_message", "thread_name_updated", "patch_apply_end")


def codex_call(name: str, arguments: object) -> Json:
    return codex(type="function_call", call_id="c1", name=name, arguments=json.dumps(arguments))


#: What a transcript may hold a text in, by where it is seen.
CARRIERS: dict[str, Callable[[str], Sequence[Json]]] = {
    "result": lambda text: [use("Bash"), result(text)],
    "result in blocks": lambda text: [
        use("Bash"),
        result([{"type": "text", "text": "found"}, {"type": "text", "text": text}]),
    ],
    "command": lambda text: [use("Bash", command=text)],
    "pattern": lambda text: [use("Grep", pattern=text)],
    "description": lambda text: [use("Task", description=text, subagent_type=text)],
    "title": lambda text: [{"type": "custom-title", "customTitle": text}],
    "first words": lambda text: [{"type": "user", "uuid": "u1", "message": {"content": text}}],
    "codex: output": lambda text: [
        codex_call("shell", {}),
        codex(type="function_call_output", call_id="c1", output=text),
    ],
    "codex: output in JSON": lambda text: [
        codex_call("shell", {}),
        codex(type="function_call_output", call_id="c1", output=json.dumps({"output": text, "metadata": {}})),
    ],
    "codex: command": lambda text: [codex_call("shell", {"cmd": text})],
    "codex: command in words": lambda text: [codex_call("shell", {"command": ["bash", "-lc", text]})],
    "codex: query": lambda text: [codex_call("search", {"query": text})],
    "codex: name": lambda text: [codex(type="thread_name_updated", thread_name=text)],
    "codex: first words": lambda text: [codex(type="user_message", message=text)],
}
PATHS: dict[str, Callable[[str], Sequence[Json]]] = {
    "read": lambda path: [use("Read", file_path=path)],
    "patched": lambda path: [use("apply_patch", input=f"*** Begin Patch\n*** Add File: {path}\n+x\n")],
    "codex: patched": lambda path: [
        codex(type="custom_tool_call", call_id="c1", name="apply_patch", input=f"*** Add File: {path}\n")
    ],
    "codex: changed": lambda path: [codex(type="patch_apply_end", call_id="c1", changes={path: {}})],
    "codex: moved": lambda path: [
        codex(type="patch_apply_end", call_id="c1", changes={"a": {"move_path": path}})
    ],
    "codex: looked at": lambda path: [codex_call("view_image", {"path": path})],
}


def lines(records: Sequence[Json]) -> Lines:
    return Lines([Record(offset, fields) for offset, fields in enumerate(records)], len(records))


def slim(whole: Lines) -> Lines:
    return Lines([slimmed(record) for record in whole.records], whole.consumed, whole.flaws)


def shown(records: Sequence[Json]) -> Iterator[str]:
    """What there is to see of a transcript: in its session, and in what is kept of that."""
    whole = read_transcript(lines(records))
    assert read_transcript(slim(lines(records))) == whole
    yield seen(whole.session)
    yield repr(replace(keep(whole.session, ORIGIN, datetime.now(UTC)), made_from=()))


PLACES_IN_TEXT = st.integers(0, 7000) | st.sampled_from([0, 150, 190, 200, 1300, 2000, 17_000, 40_000])


@pytest.mark.parametrize("carrier", CARRIERS)
@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([*ON_LINES, *ON_ONE_LINE]),
    st.integers(0, 2**32),
    st.sampled_from(FILLERS),
    PLACES_IN_TEXT,
    PLACES_IN_TEXT,
)
@example("github token", 1, FILLERS[0], 1290, 4000)
@example("github token", 1, FILLERS[0], 4000, 650)
@example("long key", 1, FILLERS[0], 3000, 300)
@example("private", 1, FILLERS[0], 3000, 300)
@example("with header", 1, FILLERS[0], 1200, 4000)
def test_no_part_of_a_secret_is_seen_wherever_it_lies(
    carrier: str, kind: str, seed: int, filler: str, before: int, after: int
) -> None:
    secret = {**ON_LINES, **ON_ONE_LINE}[kind](random.Random(seed))
    text = f"{filled(filler, before)} {secret} {filled(filler, after)}"

    for told in shown(CARRIERS[carrier](text)):
        assert not {part for part in secret_parts(secret) if part in told}


@pytest.mark.parametrize("carrier", PATHS)
@settings(deadline=None, max_examples=40)
@given(st.sampled_from([name for name in ON_ONE_LINE if "/" not in name]), st.integers(0, 2**32))
def test_no_part_of_a_secret_is_seen_in_a_path(carrier: str, kind: str, seed: int) -> None:
    secret = ON_ONE_LINE[kind](random.Random(seed))

    for told in shown(PATHS[carrier](f"/tmp/{secret}/x.py")):
        assert not {part for part in secret_parts(secret) if part in told}


CUTS: dict[str, Callable[[str, int], str]] = {
    "excerpt": excerpt,
    "beginning": beginning,
    "shortened": shortened,
}


@pytest.mark.parametrize("cut", CUTS)
@settings(deadline=None)
@given(st.integers(100, 400), st.integers(0, 500), st.integers(0, 500), st.integers(0, 2**32))
def test_what_stands_for_a_secret_is_whole_or_not_there(
    cut: str, limit: int, before: int, after: int, seed: int
) -> None:
    secret = SHAPES["github token"](random.Random(seed))
    text = f"{filled('ab c', before)} {secret} {filled('de f', after)}"

    told = CUTS[cut](text, limit)

    assert len(told) <= limit
    assert "redact" not in MARK.sub("", told)
    assert "[r" not in MARK.sub("", told)


def test_a_text_that_redacting_makes_too_long_is_cut() -> None:
    text = "\n".join(["PWD=Zq8Lw2Xv"] * 100)

    told = excerpt(text, len(text))

    assert len(told) <= len(text)
    left_out = re.search(r"\[([\d,]+) characters left out\]", told)
    assert left_out
    assert int(left_out[1].replace(",", "")) > 0


def test_a_token_with_data_in_it_is_left_out_whole() -> None:
    token = f"sk-ant-{made(random.Random(1), 300)}-{made(random.Random(2), 40)}"

    assert (
        clean(f"data:{token}; that was it") == "data:[348 characters of encoded data left out]; that was it"
    )
