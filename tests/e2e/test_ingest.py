"""Transcripts read in: everything once, again and again, whatever happens to the files and to the process."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from mmap import ACCESS_READ, mmap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstory.actions.projection.reconcile import Reconciled, reconcile
from backstory.actions.projection.upkeep import upkeep
from backstory.actions.transcripts.choosing import Wish
from backstory.actions.transcripts.ingest import Failure, Ingested, ingest_paths, ingest_transcripts
from backstory.actions.transcripts.retention import forget_old
from backstory.actions.transcripts.search import search_turns
from backstory.engine import Engine, Recent, TranscriptPlaces, Work
from backstory.errors import Cancelled
from backstory.model.conversation import Conversation, TurnText
from backstory.model.keeping import FileState
from backstory.model.project import ALL_PROJECTS, Project
from backstory.model.search import TurnQuery, Where
from backstory.model.transcript import TitleSource
from backstory.model.upkeep import GenerationState
from backstory.ports import Every, Leg, Words
from backstory.transcripts.claude_code import read_session
from backstory.transcripts.lines import read_lines

from .conftest import Opening
from .doubles import Unreliable
from .transcript_files import Exchange, Json, Use, session_id, write_transcript

SHOP, BANK = "/home/ann/shop", "/home/ann/bank"
SECRET = "ghp_" + "Zq8Lw2Xv5Tn9Rb4Kd7Ms3Hf6Jc1Pg0Ya5Ue4"
PRIVATE = "the salary of zanzibar"
TALK = (
    Exchange("why do retries hammer the server?", "They have no jitter."),
    Exchange(
        "then add jitter",
        "Done: the backoff is jittered now.",
        [
            Use("Read", {"file_path": f"{SHOP}/src/retry.py"}, "def retry(): ..."),
            Use("Edit", {"file_path": f"{SHOP}/src/retry.py"}, "edited"),
        ],
    ),
    Exchange("thanks, and the tests?", "All 214 of them pass."),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "projects"


@pytest.fixture
def engine(opening: Opening, root: Path) -> Iterator[Engine]:
    with opening() as opened:
        yield reading_from(opened, root)


def reading_from(engine: Engine, root: Path) -> Engine:
    return replace(engine, transcripts=TranscriptPlaces((root,)))


def ingest(engine: Engine, wish: Wish | None = None) -> Ingested:
    return ingest_transcripts(engine, wish or Wish(), Work())


def path_of(root: Path, name: str, folder: str = SHOP) -> Path:
    return root / folder.replace("/", "-") / f"{session_id(name)}.jsonl"


def conversations(engine: Engine) -> dict[str, Conversation]:
    """All conversations, those of subagents too."""
    with engine.records.reading() as records:
        listed, _ = records.conversations.page(ALL_PROJECTS, limit=1000, offset=0)
        subagents = [each for parent in listed for each in records.conversations.subagents(parent.id)]
    return {each.id: each for each in [*listed, *subagents]}


def turns(engine: Engine, id: str) -> list[TurnText]:
    with engine.records.reading() as records:
        return records.conversations.turns(id, offset=0, limit=1000)


def said(engine: Engine, id: str) -> list[str]:
    """Everything said in a conversation, in order."""
    return [text for turn in turns(engine, id) for text in turn.texts.values()]


def state_of(engine: Engine, path: Path) -> FileState | None:
    with engine.records.reading() as records:
        return records.transcript_files.get(str(path))


def found(engine: Engine, words: str) -> list[str]:
    return [hit.conversation.id for hit in search_turns(engine, ALL_PROJECTS, TurnQuery(words)).hits]


def rows(engine: Engine) -> Mapping[str, list[tuple[object, ...]]]:
    """All that is kept of what was said, but for row numbers and when files were looked at."""
    wanted = {
        "conversations": "*",
        "turns": "*",
        "messages": "*",
        "touches": "*",
        "elsewhere_titles": "*",
        "passages": "id, index_name, project, text, terms, labels, numbers, live",
        "transcript_files": "path, conversation, consumed, prefix_hash, gone_at, records, failure",
    }
    with closing(sqlite3.connect(engine.records.path)) as connection:
        return {
            table: sorted(connection.execute(f"SELECT {columns} FROM {table}"), key=repr)
            for table, columns in wanted.items()
        }


def entries(engine: Engine) -> Mapping[str, Sequence[object]]:
    """What the indexes hold, as far as they can be asked: their ids, and what some words find."""
    legs: dict[str, list[Leg]] = {
        "turns": [Every(None, 1000), *(Words(field, "retri jitter", 100) for field in ("text", "window"))],
        "sessions": [Every(None, 1000), Words("session", "retri jitter test", 100)],
    }
    with engine.records.reading() as records:
        live = [each for each in records.generations.all() if each.state is GenerationState.LIVE]
    return {
        each.target: engine.vectors.query(each.name, legs[each.target], Where(ALL_PROJECTS))
        for each in live
        if each.target in legs
    }


def revision(engine: Engine) -> int:
    with engine.records.reading() as records:
        return records.store.revision


def catch_up(engine: Engine) -> None:
    while upkeep(engine, Work()):
        pass


def record(kind: str, words: object, uuid: str, **more: object) -> Json:
    message: Json = {"role": kind, "content": words, "id": uuid}
    envelope: Json = {"type": kind, "uuid": uuid, "cwd": SHOP, "timestamp": "2026-03-01T12:00:00Z"}
    return {**envelope, "message": message, **more}


def queued(words: str) -> Json:
    at = "2026-03-01T12:01:00Z"
    return {"type": "queue-operation", "operation": "enqueue", "content": words, "timestamp": at}


def write(path: Path, *records: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records), "utf-8")
    return path


def append(path: Path, *records: Json) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(each)}\n" for each in records)


def test_what_was_said_is_kept_and_found(engine: Engine, root: Path) -> None:
    id = write_transcript(root, "retries", SHOP, *TALK, title="Retries")

    done = ingest(engine)

    assert done == Ingested(
        files=1, read=1, conversations=1, turns=3, messages_added=7, embeddings=8, links=7
    )
    kept = conversations(engine)[id]
    assert (kept.project, kept.title.text, kept.human_utterances) == (Project(SHOP), "Retries", 3)
    assert said(engine, id)[:2] == ["why do retries hammer the server?", "They have no jitter."]
    assert found(engine, "jittered backoff")[0] == id
    with engine.records.reading() as records:
        (message,) = records.conversations.touching(ALL_PROJECTS, "src/retry.py", 10)
        assert records.conversations.messages([message])[message].touches[0].changed


def test_reading_again_changes_nothing(engine: Engine, root: Path) -> None:
    write_transcript(root, "retries", SHOP, *TALK)
    write_transcript(root, "accounts", BANK, Exchange("open an account", "Done."))
    ingest(engine)
    before, at = rows(engine), revision(engine)

    again = ingest(engine)

    assert again == Ingested(files=2, unchanged=2)
    assert (rows(engine), revision(engine)) == (before, at)


def test_reading_all_of_an_unchanged_file_again_leaves_no_mark(engine: Engine, root: Path) -> None:
    write_transcript(root, "retries", SHOP, *TALK)
    ingest(engine)
    catch_up(engine)
    before, at = rows(engine), revision(engine)
    path = path_of(root, "retries")
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    copy.replace(path)  # another file with the same bytes

    again = ingest(engine)

    assert (again.read, again.messages_added, again.messages_removed, again.pending) == (1, 0, 0, 0)
    assert (rows(engine), revision(engine)) == (before, at)


GROWING = [
    {"type": "summary", "summary": "Another talk", "leafUuid": "elsewhere"},
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    record("user", "why do retries hammer the server?", "u1"),
    record("assistant", [{"type": "text", "text": "Let me look."}], "a1"),
    record("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}], "a2"),
    queued("and be quick"),
    record("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "retry.py"}], "u2"),
    record("assistant", [{"type": "text", "text": "There is no jitter in the retries. ✓"}], "a3"),
    record("user", "find all tests", "s1", isSidechain=True, agentId="b7"),
    record("user", "then add jitter", "u3", timestamp="2026-03-01T12:02:00Z"),
    record("assistant", [{"type": "text", "text": "Done."}], "a4"),
    {"type": "custom-title", "customTitle": "Jitter for retries"},
]  # fmt: skip
WHOLE = "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in GROWING).encode()


def read_in_steps(engine: Engine, path: Path, ends: Sequence[int]) -> tuple[object, object]:
    """What records and indexes hold after a file has grown to each of its lengths; then all is forgotten."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for end in ends:
        with path.open("ab") as file:
            file.write(WHOLE[file.tell() : end])
        assert not ingest(engine).errors
    catch_up(engine)
    assert reconcile(engine, Work()) == Reconciled(0, 0)
    kept, indexed = dict(rows(engine)), entries(engine)
    del kept["transcript_files"]
    path.unlink()
    assert ingest(engine).gone == 1
    with engine.records.writing() as records:
        records.conversations.forget(conversations(engine))
    catch_up(engine)
    assert rows(engine)["passages"] == []
    return kept, indexed


@pytest.mark.parametrize("room", [64_000_000, 0], ids=["cached", "read from the start"])
def test_a_file_that_grows_ends_as_if_it_had_been_read_at_once(engine: Engine, root: Path, room: int) -> None:
    engine = replace(engine, recently_read=Recent(room))
    path = root / "-shop" / f"{session_id('growing')}.jsonl"
    at_once = read_in_steps(engine, path, [len(WHOLE)])

    @settings(max_examples=15, deadline=None)
    @given(ends=st.lists(st.integers(0, len(WHOLE)), max_size=5).map(sorted))
    def holds(ends: list[int]) -> None:
        assert read_in_steps(engine, path, [*ends, len(WHOLE)]) == at_once

    holds()


def test_a_line_that_is_not_ended_waits_for_its_end(engine: Engine, root: Path) -> None:
    path = write(root / "-shop" / "s1.jsonl", record("user", "one", "u1"))
    line = json.dumps(record("user", "two, and the end", "u2"))
    with path.open("a", encoding="utf-8") as file:
        file.write(line[:40])
    ingest(engine)

    assert ingest(engine).unchanged == 1
    assert said(engine, "s1") == ["one"]
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line[40:]}\n")
    assert ingest(engine).messages_added == 1
    assert said(engine, "s1") == ["one", "two, and the end"]


def test_a_fork_keeps_what_it_copied_once(engine: Engine, root: Path) -> None:
    copied = [record("user", "why?", "u1"), record("assistant", [{"type": "text", "text": "So."}], "a1")]
    original = write(root / "-shop" / "s1.jsonl", *copied, record("user", "left", "u2"))
    write(root / "-shop" / "s2.jsonl", *copied, record("user", "right", "u3"))
    os.utime(original, (1_700_000_000, 1_700_000_000))

    done = ingest(engine)

    assert (done.messages_added, done.conversations) == (4, 2)
    assert said(engine, "s1") == ["why?", "So.", "left"]
    assert said(engine, "s2") == ["why?", "So.", "right"]
    write(original, record("user", "left", "u2"))
    assert ingest(engine).messages_removed == 0
    assert said(engine, "s2") == ["why?", "So.", "right"]
    catch_up(engine)
    assert reconcile(engine, Work()) == Reconciled(0, 0)


def test_a_subagents_file_belongs_to_the_session_that_started_it(engine: Engine, root: Path) -> None:
    parent = session_id("parent")
    write(root / "-shop" / f"{parent}.jsonl", record("user", "look around", "u1"))
    nested = root / "-shop" / parent / "subagents" / "agent-a7.jsonl"
    task = record("user", "find the bug", "s1", isSidechain=True, agentId="a7", cwd="")
    write(nested, task)
    flat = root / "-shop" / "agent-b8.jsonl"
    write(flat, record("user", "run tests", "s2", isSidechain=True, agentId="b8", sessionId=parent))
    os.utime(nested, (2_000_000_000, 2_000_000_000))

    ingest(engine)

    kept = conversations(engine)
    assert set(kept) == {parent, f"{parent}/a7", f"{parent}/b8"}
    assert {each.parent for id, each in kept.items() if id != parent} == {parent}
    assert {each.project for each in kept.values()} == {Project(SHOP)}
    assert said(engine, f"{parent}/a7") == ["find the bug"]
    assert sum(each.human_utterances for each in kept.values()) == 1


def progress(agent: str, words: str, uuid: str) -> Json:
    told = {"type": "user", "uuid": uuid, "message": {"role": "user", "content": words}}
    data = {"type": "agent_progress", "agentId": agent, "message": told}
    return {
        "type": "progress",
        "uuid": f"p{uuid}",
        "cwd": SHOP,
        "timestamp": "2026-03-01T12:00:00Z",
        "data": data,
    }


def test_a_subagent_without_a_file_is_read_from_the_session_until_it_has_one(
    engine: Engine, root: Path
) -> None:
    parent = session_id("parent")
    path = write(
        root / "-shop" / f"{parent}.jsonl", record("user", "go", "u1"), progress("a7", "find the bug", "s1")
    )
    ingest(engine)
    assert said(engine, f"{parent}/a7") == ["find the bug"]

    own = root / "-shop" / parent / "subagents" / "agent-a7.jsonl"
    write(own, record("user", "find the bug, please", "s1", isSidechain=True, agentId="a7"))
    ingest(engine)
    append(path, progress("a7", "and another", "s2"))
    ingest(engine)

    assert said(engine, f"{parent}/a7") == ["find the bug, please"]
    assert conversations(engine)[f"{parent}/a7"].source == str(own)


def rollout(home: Path, id: str, words: str, **meta: object) -> Path:
    told: list[Json] = [
        {"type": "session_meta", "payload": {"id": id, "cwd": SHOP, **meta}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": words}},
    ]
    lines = [{"timestamp": "2026-03-01T12:00:00Z", **line} for line in told]
    return write(home / "sessions" / "2026" / f"rollout-2026-03-01T12-00-00-{id}.jsonl", *lines)


def test_what_was_said_to_codex_is_kept_too(engine: Engine, tmp_path: Path) -> None:
    home = tmp_path / "codex"
    own, spawned = session_id("own"), session_id("spawned")
    path = rollout(home, own, "why do retries hammer?")
    source = {"subagent": {"thread_spawn": {"parent_thread_id": own, "depth": 1}}}
    rollout(home, spawned, "find them", source=source)
    codex = replace(engine, transcripts=TranscriptPlaces(codex_homes=(home,)))

    assert ingest(codex).messages_added == 2
    (home / "archived_sessions").mkdir()
    archived = path.rename(home / "archived_sessions" / path.name)
    ingest(codex)

    kept = conversations(codex)
    assert set(kept) == {own, f"{own}/{spawned}"}
    assert (kept[own].interface_type, kept[own].source) == ("codex", str(archived))


def test_a_subagent_of_codex_that_goes_on_stays_with_its_session(engine: Engine, tmp_path: Path) -> None:
    own, spawned = session_id("own"), session_id("spawned")
    source = {"subagent": {"thread_spawn": {"parent_thread_id": own, "depth": 1}}}
    path = rollout(tmp_path, spawned, "find them", source=source)
    codex = replace(engine, transcripts=TranscriptPlaces(codex_homes=(tmp_path,)))
    ingest(codex)

    append(path, {"type": "event_msg", "payload": {"type": "agent_message", "message": "Found."}})
    ingest_paths(codex, [path], Work())

    kept = conversations(codex)
    assert {id: each.parent for id, each in kept.items()} == {f"{own}/{spawned}": own}
    assert kept[f"{own}/{spawned}"].human_utterances == 0
    assert said(codex, f"{own}/{spawned}") == ["find them", "Found."]


def test_a_session_is_no_subagents_because_one_spoke_first(engine: Engine, root: Path) -> None:
    write(
        root / "-shop" / "s1.jsonl",
        record("user", "warm up", "u1", isSidechain=True, agentId="a7", sessionId="s1"),
        record("user", "why?", "u2", sessionId="s1"),
    )
    ingest(engine)

    assert {id: each.parent for id, each in conversations(engine).items()} == {"s1": ""}


def test_what_is_said_outlives_its_file(engine: Engine, root: Path) -> None:
    id = write_transcript(root, "retries", SHOP, *TALK)
    path = path_of(root, "retries")
    ingest(engine)
    data = path.read_bytes()
    path.unlink()

    assert ingest(engine).gone == 1
    assert ingest(engine).gone == 0
    assert conversations(engine)[id].source_gone_at is not None
    assert found(engine, "jittered backoff")[0] == id
    path.write_bytes(data)
    assert ingest(engine).messages_added == 0
    assert conversations(engine)[id].source_gone_at is None


def test_what_is_cut_off_a_file_goes(engine: Engine, root: Path) -> None:
    path = write(root / "-shop" / "s1.jsonl", *(record("user", f"word{n}", f"u{n}") for n in range(4)))
    ingest(engine)
    write(path, *(record("user", f"word{n}", f"u{n}") for n in range(2)))

    done = ingest(engine)

    assert (done.messages_added, done.messages_removed) == (0, 2)
    assert said(engine, "s1") == ["word0", "word1"]
    catch_up(engine)
    assert reconcile(engine, Work()) == Reconciled(0, 0)
    path.write_bytes(b"")
    ingest(engine)
    assert conversations(engine) == {}


def test_a_file_that_was_written_anew_says_what_it_says_now(engine: Engine, root: Path) -> None:
    path = write(root / "-shop" / "s1.jsonl", record("user", "one", "u1"), record("user", "two", "u2"))
    ingest(engine)
    write(path, record("user", "One", "u1"), record("user", "two", "u2"), record("user", "three", "u3"))

    done = ingest(engine)

    assert (done.messages_added, done.messages_removed) == (2, 1)
    assert said(engine, "s1") == ["One", "two", "three"]


def test_a_file_that_was_moved_keeps_its_conversation(engine: Engine, root: Path) -> None:
    path = write(root / "-shop" / "s1.jsonl", record("user", "one", "u1"))
    ingest(engine)
    (root / "-other").mkdir()
    moved = path.rename(root / "-other" / "s1.jsonl")

    ingest(engine)

    assert {id: each.source for id, each in conversations(engine).items()} == {"s1": str(moved)}
    assert conversations(engine)["s1"].source_gone_at is None


def test_of_two_files_with_one_name_each_has_its_conversation(engine: Engine, root: Path) -> None:
    write(root / "-shop" / "s1.jsonl", record("user", "one", "u1"))
    ingest(engine)
    other = write(root / "-bank" / "s1.jsonl", record("user", "another", "v1"))
    ingest(engine)
    append(other, record("user", "more", "v2"))

    ingest(engine)

    first, second = sorted(conversations(engine))
    assert (first, second.startswith("s1~")) == ("s1", True)
    assert said(engine, first) == ["one"]
    assert said(engine, second) == ["another", "more"]


def test_a_file_that_two_paths_lead_to_has_one_conversation(
    engine: Engine, root: Path, tmp_path: Path
) -> None:
    path = write(root / "-shop" / "s1.jsonl", record("user", "one", "u1"))
    ingest(engine)
    (tmp_path / "linked").symlink_to(root)

    again = ingest(reading_from(engine, tmp_path / "linked"))
    append(path, record("user", "two", "u2"))
    ingest(engine)

    assert (again.read, again.messages_added) == (1, 0)
    assert list(conversations(engine)) == ["s1"]
    assert said(engine, "s1") == ["one", "two"]


def test_what_was_said_in_a_worktree_stays_with_its_repository_when_that_is_removed(
    engine: Engine, root: Path, tmp_path: Path
) -> None:
    worktree, common = tmp_path / "shop-fix", tmp_path / "shop" / ".git" / "worktrees" / "fix"
    common.mkdir(parents=True)
    (common / "commondir").write_text("../..")
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {common}")
    path = write(root / "-shop-fix" / "s1.jsonl", record("user", "one", "u1", cwd=str(worktree)))
    ingest(engine)
    shutil.rmtree(worktree)
    append(path, record("user", "two", "u2", cwd=str(worktree)))

    ingest(engine)

    assert conversations(engine)["s1"].project == Project(str(tmp_path / "shop"))
    assert said(engine, "s1") == ["one", "two"]


def test_a_file_that_breaks_is_told_and_stops_no_other(engine: Engine, root: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / ".backstory.toml").write_text("project = ", "utf-8")
    path = write(root / "-a" / "s1.jsonl", record("user", "one", "u1", cwd=str(broken)))
    write(root / "-b" / "s2.jsonl", record("user", "two", "u2"))
    (root / "-b" / "loop.jsonl").symlink_to("loop.jsonl")

    done = ingest(engine)

    assert {Path(each.path).name for each in done.errors} == {"s1.jsonl", "loop.jsonl"}
    assert said(engine, "s2") == ["two"]
    state = state_of(engine, path)
    assert state is not None
    assert ".backstory.toml" in (state.failure or "")
    (broken / ".backstory.toml").write_text('project = "mended"', "utf-8")
    assert [Path(each.path).name for each in ingest(engine).errors] == ["loop.jsonl"]
    assert conversations(engine)["s1"].project == Project("mended")
    assert (state_of(engine, path) or state).failure is None


@pytest.mark.parametrize("folder", ["", "/home/ann/two\nlines", "/" + 600 * "x"])
def test_what_was_said_in_no_proper_folder_has_a_project_too(engine: Engine, root: Path, folder: str) -> None:
    write(root / "-" / "s1.jsonl", record("user", "one", "u1", cwd=folder))
    ingest(engine)

    assert conversations(engine)["s1"].project == Project("unknown")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_a_file_that_cannot_be_read_is_told(engine: Engine, root: Path) -> None:
    root.mkdir()
    (root / "s1.jsonl").symlink_to("/proc/self/mem")

    assert ingest(engine).errors == (Failure(str(root / "s1.jsonl"), "input/output error"),)


def test_names_that_are_no_text_are_told(engine: Engine, root: Path) -> None:
    root.mkdir()
    Path(os.fsdecode(bytes(root) + b"/s\xff.jsonl")).touch()

    (failure,) = ingest(engine).errors

    assert failure.path == f"{root}/s\ufffd.jsonl"


def test_no_secret_reaches_the_disk(opening: Opening, root: Path, home: Path) -> None:
    words = f"my token is {SECRET} and <private>{PRIVATE}</private> is mine"
    calls = [
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"login {SECRET}"}},
        {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": f"/tmp/{SECRET}"}},
    ]
    write(
        root / "-shop" / "s1.jsonl",
        {"type": "summary", "summary": f"About {SECRET}", "leafUuid": "elsewhere"},
        record("user", words, "u1"),
        record("assistant", [{"type": "text", "text": f"I see {SECRET}."}, *calls], "a1"),
        record("user", [{"type": "tool_result", "tool_use_id": "t1", "content": f"hello {SECRET}"}], "u2"),
        record("user", f"<bash-input>login {SECRET}</bash-input>", "u3"),
        record("user", "go on", "u4", gitBranch=f"fix/{SECRET}"),
        queued(words),
    )
    with opening() as opened:
        engine = reading_from(opened, root)
        done = ingest(engine)
        catch_up(engine)
        shown = said(engine, "s1")

    assert done.redactions["private"] > 0
    assert done.redactions["github token"] > 0
    assert shown[0] == "my token is [redacted: github token] and [redacted: private] is mine"
    files = [path for path in home.rglob("*") if path.is_file() and path.stat().st_size]
    assert files
    assert [path for path in files if holds(path, SECRET) or holds(path, PRIVATE)] == []


def holds(path: Path, word: str) -> bool:
    # Mapped, because the vectors' files have holes of hundreds of megabytes.
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return data.find(word.encode()) >= 0


def test_a_title_that_another_transcript_holds_is_used_whichever_comes_first(
    engine: Engine, root: Path
) -> None:
    write(root / "-shop" / "s1.jsonl", record("user", "one", "u1"))
    ingest(engine)
    summaries: list[Json] = [
        {"type": "summary", "summary": "First talk", "leafUuid": "u1"},
        {"type": "summary", "summary": "Third talk", "leafUuid": "u3"},
    ]
    write(root / "-shop" / "s2.jsonl", *summaries)
    ingest(engine)
    third = write(root / "-shop" / "s3.jsonl", record("user", "three", "u3"))
    ingest(engine)
    append(third, {"type": "mode"})
    ingest(engine)

    kept = conversations(engine)
    assert {id: each.title.text for id, each in kept.items()} == {"s1": "First talk", "s3": "Third talk"}
    assert {each.title.source for each in kept.values()} == {TitleSource.SUMMARY}


def test_only_what_was_asked_for_is_read(engine: Engine, root: Path) -> None:
    now = datetime.now(UTC)
    for days, name in enumerate(("today", "yesterday", "before")):
        write_transcript(root, name, SHOP if days else BANK, Exchange(name))
        then = (now - timedelta(days=days * 10)).timestamp()
        os.utime(path_of(root, name, SHOP if days else BANK), (then, then))
    aged = replace(engine, transcripts=replace(engine.transcripts, max_age_days=15))

    assert (ingest(aged, Wish(recent_only=True)).read, ingest(aged, Wish(limit=1)).unchanged) == (1, 1)
    assert ingest(aged, Wish(scope=Project(SHOP))).read == 1
    assert ingest(aged).too_old == 1
    assert ingest(engine, Wish(scope=Project(BANK))).files == 2
    assert set(conversations(engine)) == {session_id("today"), session_id("yesterday")}


def test_changed_files_and_folders_can_be_named(engine: Engine, root: Path) -> None:
    path = write(root / "-shop" / "s1.jsonl", record("user", "one", "u1"))
    write(root / "-shop" / "s2.jsonl", record("user", "other", "v1"))

    assert ingest_paths(engine, [path], Work()).read == 1
    assert set(conversations(engine)) == {"s1"}
    assert ingest_paths(engine, [root / "-shop"], Work()).read == 1
    shutil.rmtree(root / "-shop")
    assert ingest_paths(engine, [root / "-shop"], Work()).gone == 2
    assert ingest_paths(engine, [path], Work()) == Ingested()


def test_a_change_is_read_where_a_whole_pass_would_read_it_and_nowhere_else(
    engine: Engine, root: Path, tmp_path: Path
) -> None:
    session = root / "-shop" / session_id("a")
    wanted = [
        write(session.with_suffix(".jsonl"), record("user", "one", "u1")),
        write(session / "subagents" / "agent-a1.jsonl", record("user", "two", "u2", isSidechain=True)),
    ]
    others = [
        write(session / "tool-results" / "b1.jsonl", record("user", "three", "u3")),
        write(session / "other" / "b2.jsonl", record("user", "four", "u4")),
        write(root / "-shop" / "memory" / "notes.jsonl", record("user", "five", "u5")),
        write(tmp_path / "outside" / "s2.jsonl", record("user", "six", "u6")),
    ]

    done = ingest_paths(engine, [*wanted, *others, *(path.parent for path in others)], Work())

    assert (done.files, done.read, done.errors) == (2, 2, ())
    assert ingest(engine).unchanged == 2


def test_a_run_that_is_stopped_goes_on_later(engine: Engine, root: Path) -> None:
    for name in ("a", "b", "c", "d"):
        write_transcript(root, name, SHOP, *TALK)

    def stop(done: int, total: int | None, message: str) -> None:
        if done == 2:
            work.cancel()

    work = Work(stop)
    with pytest.raises(Cancelled):
        ingest_transcripts(engine, Wish(), work)
    assert 0 < len(conversations(engine)) < 4

    assert ingest(engine).read == 4 - 3
    assert len(conversations(engine)) == 4
    catch_up(engine)
    assert reconcile(engine, Work()) == Reconciled(0, 0)


def test_whoever_waits_for_another_run_can_be_told_to_stop(engine: Engine) -> None:
    work = Work(lambda done, total, message: work.cancel())
    with engine.ingesting, pytest.raises(Cancelled):
        ingest_transcripts(engine, Wish(), work)

    assert ingest(engine) == Ingested()


def test_a_run_says_that_it_waited_for_another(engine: Engine, root: Path) -> None:
    write_transcript(root, "retries", SHOP, *TALK)
    engine.ingesting.acquire()

    def other_ends(done: int, total: int | None, message: str) -> None:
        if engine.ingesting.locked() and message.startswith("waiting"):
            engine.ingesting.release()

    assert ingest_transcripts(engine, Wish(), Work(other_ends)).has_waited
    assert not ingest(engine).has_waited


def test_while_vectors_are_down_all_is_kept_and_found_by_words(engine: Engine, root: Path) -> None:
    id = write_transcript(root, "retries", SHOP, *TALK)
    vectors = Unreliable(engine.vectors)
    down = replace(engine, vectors=vectors)
    vectors.down = True

    done = ingest(down)

    assert (done.messages_added, done.pending) == (7, 8)
    assert "the engine is down" in done.degraded[0]
    assert found(down, "jittered")[0] == id
    vectors.down = False
    catch_up(down)
    assert reconcile(engine, Work()) == Reconciled(0, 0)


def test_reading_stops_when_too_much_waits_to_be_searchable(
    engine: Engine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backstory.actions.transcripts.ingest.MAX_WAITING", 10)
    monkeypatch.setattr("backstory.actions.transcripts.ingest.TOGETHER", 1)
    for name in ("a", "b", "c", "d"):
        write_transcript(root, name, SHOP, *TALK)
    full = replace(engine, min_free_bytes=2**62)

    done = ingest(full)

    assert (done.files, done.read) == (2, 2)
    assert "paused" in done.degraded[0]
    assert "stopped" in done.degraded[-1]
    assert ingest(engine).read == 2


KILLED = """
import sys
from dataclasses import replace
from pathlib import Path
from backstory.actions.transcripts.choosing import Wish
from backstory.actions.transcripts.ingest import ingest_transcripts
from backstory.engine import TranscriptPlaces, Work
from backstory.settings import read_settings
from backstory.wiring import open_engine

home, root = sys.argv[1:]
with open_engine(read_settings({"BACKSTORY_HOME": home, "BACKSTORY_MIN_FREE_MB": "1"})) as engine:
    engine = replace(engine, transcripts=TranscriptPlaces((Path(root),)))
    ingest_transcripts(engine, Wish(), Work(lambda done, total, message: print(done, flush=True)))
"""


def test_a_killed_run_loses_nothing(opening: Opening, home: Path, root: Path) -> None:
    for n in range(40):
        write_transcript(root, f"talk {n}", SHOP, *TALK)
    command = [sys.executable, "-c", KILLED, str(home), str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 5:
            pass
        process.kill()

    with opening() as opened:
        engine = reading_from(opened, root)
        kept = set(conversations(engine))
        done = ingest(engine)

        assert 5 <= len(kept) < 40
        assert done.read == 40 - len(kept)
        assert len(conversations(engine)) == 40
        catch_up(engine)
        assert reconcile(engine, Work()) == Reconciled(0, 0)
        with engine.records.reading() as records:
            assert records.conversations.counts(ALL_PROJECTS).messages == 40 * 7


def test_what_is_too_old_to_be_kept_is_forgotten_until_it_goes_on(engine: Engine, root: Path) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=100)
    old = write_transcript(root, "old", SHOP, *TALK, began=long_ago)
    new = write_transcript(root, "new", SHOP, Exchange("something else"))
    ingest(engine)

    assert forget_old(engine, 30, Work()) == 1

    assert set(conversations(engine)) == {new}
    assert ingest(engine).unchanged == 2
    catch_up(engine)
    assert old not in found(engine, "jittered backoff")
    assert reconcile(engine, Work()) == Reconciled(0, 0)
    append(path_of(root, "old"), record("user", "go on", "w1", timestamp=datetime.now(UTC).isoformat()))
    ingest(engine)
    assert forget_old(engine, 30, Work()) == 0
    assert len(said(engine, old)) == 8


def test_what_is_held_for_files_that_grow_is_bounded(engine: Engine, root: Path) -> None:
    recent = Recent(3_000)
    engine = replace(engine, recently_read=recent)
    for n in range(10):
        write(root / "-shop" / f"s{n}.jsonl", record("user", f"hello {n}" * 50, f"u{n}"))
    large = write(root / "-shop" / "large.jsonl", record("user", "hello " * 1000, "u"))

    ingest(engine)

    assert 0 < recent.bytes <= 3_000
    append(large, record("user", "more", "v"))
    assert ingest(engine).messages_added == 1
    assert recent.bytes <= 3_000


FOLDER = os.environ.get("TRANSCRIPTS", "")


@pytest.mark.skipif(not FOLDER, reason="TRANSCRIPTS names no folder of transcripts")
def test_real_transcripts_are_kept_whole(opening: Opening) -> None:
    files = sorted(Path(FOLDER).rglob("*.jsonl"))
    spoken = sum(read_session(read_lines(path.read_bytes())).human_utterances for path in files)
    with opening() as opened:
        engine = reading_from(opened, Path(FOLDER))
        done = ingest(engine)
        before, at = rows(engine), revision(engine)
        again = ingest(engine)

        assert (done.errors, done.pending, done.read) == ((), 0, len(files))
        assert (again.read, rows(engine), revision(engine)) == (0, before, at)
        with engine.records.reading() as records:
            counts = records.conversations.counts(ALL_PROJECTS)
        assert counts.human_utterances == spoken
        catch_up(engine)
        assert reconcile(engine, Work()) == Reconciled(0, 0)
