"""What is true of the JSONL files alone: what lies in them, who else writes them, what becomes of damage."""

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from backstory.adapters.conversations.faults import translated
from backstory.adapters.conversations.index import Index
from backstory.adapters.conversations.jsonl import JsonlConversationStorage
from backstory.adapters.conversations.segments import Segments
from backstory.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreTooNew
from backstory.model.live import ConversationChange, ConversationCriteria, LiveConversation, LiveTurn
from backstory.model.summary import Summary
from backstory.ports import ConversationStorage
from tests.contract import jsonl_writer
from tests.contract.storages import (
    EVERYTHING,
    conversation,
    held,
    id_of,
    in_files,
    minutes,
    numbers,
    throwaway_folder,
    turn,
)

TALK = id_of(1)
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def folder() -> Iterator[Path]:
    with throwaway_folder() as found:
        yield found


def files(folder: Path) -> list[Path]:
    return sorted((folder / "context").glob("*.jsonl"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in files(folder)}


def talk(folder: Path, turns: int = 3) -> None:
    """Leave files with one conversation."""
    with in_files(folder) as storage:
        storage.create(conversation())
        for number in range(1, turns + 1):
            storage.append(TALK, [turn(number)])


def everything(storage: ConversationStorage) -> list[tuple[LiveConversation, list[LiveTurn]]]:
    """All that a storage has, but for the turns of deleted conversations."""
    found = storage.find(ConversationCriteria(deleted=None, limit=1_000)).conversations
    return [
        (held(storage, each.id, summaries=99), [] if each.deleted_at else storage.turns(each.id, EVERYTHING))
        for each in found
    ]


class TestFiles:
    def test_only_their_owner_can_read_them(self, folder: Path) -> None:
        talk(folder)

        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder / "context").iterdir()}

        assert stat.S_IMODE((folder / "context").stat().st_mode) == 0o700
        assert modes == {"000001.0.jsonl": 0o600, "lock": 0o600}

    def test_every_line_is_an_object_that_says_what_it_is(self, folder: Path) -> None:
        with in_files(folder) as storage:
            storage.create(conversation())
            storage.append(TALK, [turn(1), turn(2, 1)])
            storage.summarize(TALK, Summary("short", 1, 2, 1, "extractive-1"))
            storage.change(TALK, ConversationChange(minutes(3), title="New"))

        lines = [json.loads(line) for line in files(folder)[0].read_bytes().splitlines()]

        assert [list(line) for line in lines] == [
            ["format"],
            ["created"],
            ["turn", "rest"],
            ["turn"],
            ["summary", "conversation", "number"],
            ["changed", "conversation", "version"],
        ]
        assert lines[2]["turn"]["query"] == "question 1"
        assert lines[2]["rest"] == 1

    def test_the_next_one_is_begun_before_one_grows_too_long(self, folder: Path) -> None:
        with in_files(folder, max_file_bytes=1_000) as storage:
            storage.create(conversation())
            for number in range(1, 13):
                storage.append(TALK, [turn(number)])
            storage.append(TALK, [turn(13, query="long " * 1_000)])
            assert numbers(storage.turns(TALK, EVERYTHING)) == list(range(1, 14))

        sizes = [path.stat().st_size for path in files(folder)]
        assert len(sizes) > 3
        assert max(sizes[:-1]) <= 1_000
        assert sizes[-1] > 5_000

    def test_what_others_leave_in_the_folder_is_left_alone(self, folder: Path) -> None:
        talk(folder)
        (folder / "context" / "notes.jsonl").write_text("mine")

        talk(folder)

        assert (folder / "context" / "notes.jsonl").read_text() == "mine"


class TestCompaction:
    @staticmethod
    def change_often(storage: ConversationStorage) -> None:
        storage.create(conversation(3))
        storage.create(conversation(1, "!one"))
        storage.append(TALK, [turn(1), turn(2), turn(3, 1)])
        storage.summarize(TALK, Summary("short", 1, 2, 1, "extractive-1"))
        for number in range(20):
            change = ConversationChange(minutes(number), title=f"Title {number}", metadata={"n": number})
            storage.change(TALK, change)
            if number == 10:
                storage.change(id_of(3), ConversationChange(minutes(1), title="Changed once"))
        storage.change(TALK, ConversationChange(minutes(30), deleted=True))
        storage.create(conversation(2, "!one"))
        storage.append(id_of(2), [turn(4)])
        storage.change(id_of(2), ConversationChange(minutes(31), deleted=True))
        storage.change(TALK, ConversationChange(minutes(29), deleted=False))
        storage.append(TALK, [turn(5, 3)])

    @staticmethod
    def opening(folder: Path, interval_s: float) -> Any:
        return JsonlConversationStorage.open(
            folder / "context", max_file_bytes=1_000, compaction_interval_s=interval_s
        )

    def test_changes_that_later_ones_made_pointless_go_and_nothing_else(self, folder: Path) -> None:
        with self.opening(folder, 3_600) as storage:
            self.change_often(storage)
            before, bulk = everything(storage), sum(map(len, contents(folder).values()))

        with self.opening(folder, 3_600) as storage:
            assert everything(storage) == before
            after = b"".join(contents(folder).values())

        assert len(after) < bulk / 2
        assert after.count(b'"turn":') == 5
        assert after.count(b'"created":') == 3
        assert after.count(b'"Title 3"') == 0
        assert after.count(b'"Changed once"') == 1
        with self.opening(folder, 3_600) as storage:
            assert everything(storage) == before
            assert numbers(storage.append(TALK, [turn(6, 5)])) == [5]

    def test_it_happens_while_the_files_are_open_too_and_others_notice(self, folder: Path) -> None:
        with self.opening(folder, 3_600) as watching, self.opening(folder, 0) as storage:
            watching.create(conversation(9))
            self.change_often(storage)

            assert any(".1." in name for name in contents(folder))
            assert everything(watching) == everything(storage)
            assert numbers(watching.append(TALK, [turn(6, 5)])) == [5]
            assert numbers(storage.turns(TALK, EVERYTHING)) == [1, 2, 3, 4, 5]

    def test_who_looked_up_a_place_before_it_moved_looks_again(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with self.opening(folder, 3_600) as reading:
            self.change_often(reading)
            before = everything(reading)
            with self.opening(folder, 3_600):  # compacts
                pass
            monkeypatch.setattr(Segments, "has_news", lambda _: False)

            assert everything(reading) == before

    def test_what_a_compaction_left_that_did_not_come_to_its_end_is_removed(self, folder: Path) -> None:
        with self.opening(folder, 3_600) as storage:
            self.change_often(storage)
            before = everything(storage)
        originals = contents(folder)
        with self.opening(folder, 3_600):
            pass
        compacted = contents(folder)
        for name, data in originals.items():
            (folder / "context" / name).write_bytes(data)
        (folder / "context" / "000001.9.jsonl.new").write_bytes(b"unfinished")

        with self.opening(folder, 3_600) as storage:
            assert everything(storage) == before

        assert contents(folder) == compacted
        assert not list((folder / "context").glob("*.new"))

    def test_one_that_fails_fails_no_write(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with self.opening(folder, 0) as storage:
            monkeypatch.setattr(Path, "replace", refuse)
            self.change_often(storage)
            before = everything(storage)

            assert not [path.name for path in (folder / "context").iterdir() if ".1." in path.name]

        monkeypatch.undo()
        with self.opening(folder, 0) as storage:
            assert everything(storage) == before


class TestWhatADeathLeavesBehind:
    def test_a_write_that_was_cut_off_anywhere_is_gone_and_all_before_it_is_there(self, folder: Path) -> None:
        talk(folder, turns=2)
        (path,) = files(folder)
        whole_before = path.stat().st_size
        with in_files(folder) as storage:
            storage.append(TALK, [turn(3), turn(4)])
        data = path.read_bytes()

        for end in range(whole_before, len(data)):
            path.write_bytes(data[:end])
            with in_files(folder) as storage:
                lacks_a_line_break_alone = end == len(data) - 1
                expected = [1, 2, 3, 4] if lacks_a_line_break_alone else [1, 2]
                assert numbers(storage.turns(TALK, EVERYTHING)) == expected
                assert numbers(storage.append(TALK, [turn(9)])) == [len(expected) + 1]
            lines = path.read_bytes().splitlines()
            assert [json.loads(line) for line in lines][-1]["turn"]["id"] == turn(9).id

    def test_one_who_has_the_files_open_mends_them_as_well(self, folder: Path) -> None:
        with in_files(folder) as storage:
            storage.create(conversation())
            storage.append(TALK, [turn(1)])
            with files(folder)[0].open("ab") as file:
                file.write(b'{"turn":{"id"')

            assert numbers(storage.turns(TALK, EVERYTHING)) == [1]
            assert numbers(storage.append(TALK, [turn(2)])) == [2]
            assert numbers(storage.turns(TALK, EVERYTHING)) == [1, 2]

    def test_the_zeros_of_a_power_cut_are_cut_off(self, folder: Path) -> None:
        talk(folder)
        whole = contents(folder)
        for rest in (bytes(300), bytes(300) + b'"}}\n'):
            with files(folder)[0].open("ab") as file:
                file.write(rest)

            with in_files(folder) as storage:
                assert numbers(storage.turns(TALK, EVERYTHING)) == [1, 2, 3]

            assert contents(folder) == whole

    def test_a_file_that_was_begun_and_not_written_is_written(self, folder: Path) -> None:
        talk(folder)
        (folder / "context" / "000002.0.jsonl").touch()

        with in_files(folder) as storage:
            assert numbers(storage.append(TALK, [turn(4)])) == [4]

        with in_files(folder) as storage:
            assert numbers(storage.turns(TALK, EVERYTHING)) == [1, 2, 3, 4]


DAMAGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "garbage": lambda lines: [*lines[:3], b"garbage\n", *lines[4:]],
    "no object": lambda lines: [*lines[:3], b"[1]\n", *lines[4:]],
    "half of it gone": lambda lines: [*lines[:3], lines[3][:40] + b"\n", *lines[4:]],
    "half of it gone, with its end": lambda lines: [*lines[:3], lines[3][:40], *lines[4:]],
    "something missing": lambda lines: [*lines[:3], b'{"turn":{"id":"x"}}\n', *lines[4:]],
    "something else": lambda lines: [
        *lines[:3],
        lines[3].replace(b'"number":2', b'"number":"2"'),
        *lines[4:],
    ],
    "something unknown": lambda lines: [*lines[:3], b'{"shopping":["milk"]}\n', *lines[4:]],
    "a line gone": lambda lines: [*lines[:3], *lines[4:]],
    "another conversation": lambda lines: [*lines[:3], lines[3].replace(TALK.encode(), b"x"), *lines[4:]],
    "the last line": lambda lines: [*lines[:3], b"garbage\n"],
}


class TestDamage:
    @pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
    def test_it_is_reported_with_its_place_and_left_as_it_is(
        self, folder: Path, damage: Callable[[list[bytes]], list[bytes]]
    ) -> None:
        talk(folder)
        (path,) = files(folder)
        path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
        before = path.read_bytes()

        place = r"000001\.0\.jsonl is damaged in line 4"
        with pytest.raises(StoreCorrupt, match=place) as refused, in_files(folder):
            pass

        assert "backup" in (refused.value.hint or "")
        assert path.read_bytes() == before

    def test_it_is_reported_when_somebody_else_does_it_meanwhile(self, folder: Path) -> None:
        with in_files(folder) as storage:
            storage.create(conversation())
            storage.append(TALK, [turn(1), turn(2)])
            (path,) = files(folder)
            data = path.read_bytes()

            path.write_bytes(data.replace(b'"turn"', b'"torn"'))
            with pytest.raises(StoreCorrupt, match="line 3"):
                storage.turns(TALK, EVERYTHING)
            path.write_bytes(data[:-10])
            with pytest.raises(StoreCorrupt, match="shorter"):
                storage.append(TALK, [turn(3)])
            path.unlink()
            with pytest.raises(StoreCorrupt, match="not there any more"):
                storage.turns(TALK, EVERYTHING)

            path.write_bytes(data)
            assert numbers(storage.turns(TALK, EVERYTHING)) == [1, 2]

    def test_a_file_before_the_last_cannot_end_within_a_line(self, folder: Path) -> None:
        with in_files(folder, max_file_bytes=1_000) as storage:
            storage.create(conversation())
            for number in range(1, 9):
                storage.append(TALK, [turn(number)])
        first = files(folder)[0]
        first.write_bytes(first.read_bytes()[:-10])

        with pytest.raises(StoreCorrupt, match=r"000001\.0\.jsonl"), in_files(folder):
            pass

    def test_a_later_format_is_not_touched(self, folder: Path) -> None:
        talk(folder)
        (path,) = files(folder)
        path.write_bytes(path.read_bytes().replace(b'{"format":1}', b'{"format":2}'))

        with pytest.raises(StoreTooNew, match="format 2") as refused, in_files(folder):
            pass

        assert refused.value.hint


class TestTheDisk:
    @pytest.mark.parametrize(
        ("number", "kind"),
        [
            (errno.ENOSPC, StoreFull),
            (errno.EDQUOT, StoreFull),
            (errno.EFBIG, StoreFull),
            (errno.EACCES, StoreReadOnly),
            (errno.EPERM, StoreReadOnly),
            (errno.EROFS, StoreReadOnly),
            (errno.EIO, StoreError),
        ],
    )
    def test_its_errors_become_ours(self, number: int, kind: type[StoreError]) -> None:
        with pytest.raises(StoreError) as raised, translated(Path("somewhere")):
            raise OSError(number, os.strerror(number))

        assert type(raised.value) is kind
        assert "somewhere" in str(raised.value)
        assert raised.value.hint

    def test_a_folder_that_cannot_be_made_is_said_plainly(self, folder: Path) -> None:
        (folder / "context").write_text("a file")

        with pytest.raises(StoreError, match="context"), in_files(folder):
            pass

    def test_a_write_that_does_not_reach_the_disk_is_not_kept(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(_: int) -> None:
            raise OSError(errno.EIO, "Input/output error")

        with in_files(folder) as storage:
            storage.create(conversation())
            before = contents(folder)
            with monkeypatch.context() as failing:
                failing.setattr(os, "fsync", fail)
                with pytest.raises(StoreError, match="Input/output"):
                    storage.append(TALK, [turn(1)])
                assert held(storage, TALK).turns == 0
            assert contents(folder) == before
            assert numbers(storage.append(TALK, [turn(2)])) == [1]

    @pytest.mark.skipif(sys.platform == "win32", reason="files cannot be limited there")
    def test_a_full_one_loses_nothing_and_is_said_plainly(self, folder: Path) -> None:
        with Writers(folder / "context", ["a"], count=1_000, most_bytes=8_192) as writers:
            (said,) = writers.write()
        acknowledged = [line["turn"] for line in said if "turn" in line]

        assert said[-1]["error"] == "StoreFull"
        assert "free some space" in said[-1]["hint"]
        assert acknowledged
        with in_files(folder) as storage:
            turns = [each.id for _, talk in everything(storage) for each in talk]
            assert sorted(turns) == sorted(acknowledged)
            assert storage.append("a-own", [turn(1)])
        for path in files(folder):
            assert [json.loads(line) for line in path.read_bytes().splitlines()]


class Writers:
    """Processes that write to the same files, all at once."""

    def __init__(self, folder: Path, names: Sequence[str], count: int, most_bytes: int | None = None) -> None:
        self._stack = ExitStack()
        limit = [str(most_bytes)] if most_bytes else []
        self._commands = [
            [sys.executable, jsonl_writer.__file__, str(folder), name, str(count), *limit] for name in names
        ]

    def __enter__(self) -> "Writers":
        self._processes = [self._stack.enter_context(self._start(command)) for command in self._commands]
        for process in self._processes:
            assert process.stdout
            assert "ready" in process.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        self._stack.close()

    def write(self) -> list[list[dict[str, Any]]]:
        """Let them write; what each said until its end."""
        for process in self._processes:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        with ThreadPoolExecutor(len(self._processes)) as threads:
            outputs = list(threads.map(lambda process: process.communicate()[0], self._processes))
        return [[json.loads(line) for line in output.splitlines()] for output in outputs]

    @staticmethod
    def _start(command: list[str]) -> "subprocess.Popen[str]":
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )


class TestSeveralProcesses:
    def test_they_number_turns_without_gaps_and_share_rooms(self, folder: Path) -> None:
        count = 300
        with in_files(folder) as watching, Writers(folder / "context", ["a", "b", "c"], count) as writers:
            watching.create(conversation())
            said = writers.write()
            seen = everything(watching)

        assert len({tuple(lines[0]["rooms"]) for lines in said}) == 1
        shared = said[0][0]["rooms"][0]
        with in_files(folder) as storage:
            assert everything(storage) == seen
            kept = {each.id: turns for each, turns in seen}
            acknowledged = [line for lines in said for line in lines[1:]]
            assert len(acknowledged) == 3 * count
            assert {(line["conversation"], line["number"], line["turn"]) for line in acknowledged} == {
                (each.conversation, each.number, each.id) for turns in kept.values() for each in turns
            }
            assert numbers(kept[shared]) == list(range(1, 3 * count // 2 + 1))
            assert len(kept) == 1 + jsonl_writer.ROOMS + 3

    def test_what_one_has_written_the_other_reads_at_once(self, folder: Path) -> None:
        with in_files(folder) as one, in_files(folder) as other:
            one.create(conversation(1, "!one"))
            assert other.create(conversation(2, "!one")).id == TALK
            other.append(TALK, [turn(1)])
            assert numbers(one.append(TALK, [turn(2, 1), turn(1)])) == [2, 1]
            assert other.turns(TALK, EVERYTHING) == one.turns(TALK, EVERYTHING)
            other.change(TALK, ConversationChange(minutes(9), title="New"))
            assert held(one, TALK) == held(other, TALK)
            assert held(one, TALK).title == "New"


def test_reading_does_not_wait_for_a_write_that_is_under_way(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold(_: int) -> None:
        reached.set()
        assert go_on.wait(60)

    with in_files(folder) as storage, ThreadPoolExecutor(1) as threads:
        storage.create(conversation())
        storage.append(TALK, [turn(1)])
        monkeypatch.setattr(os, "fsync", hold)
        writing = threads.submit(storage.append, TALK, [turn(2)])
        assert reached.wait(60)

        before = numbers(storage.turns(TALK, EVERYTHING))
        go_on.set()
        writing.result()

        assert before == [1]
        assert numbers(storage.turns(TALK, EVERYTHING)) == [1, 2]


def test_threads_read_while_others_write_and_files_are_rewritten(folder: Path) -> None:
    done = threading.Event()

    def write(storage: ConversationStorage, writer: int) -> None:
        for number in range(40):
            storage.append(TALK, [turn(100 * writer + number), turn(100 * writer + number + 50)])
            storage.change(TALK, ConversationChange(minutes(number), title=f"{writer} {number}"))

    def read(storage: ConversationStorage) -> int:
        reads = 0
        while not done.is_set() or not reads:
            kept = numbers(storage.turns(TALK, EVERYTHING))
            assert kept == list(range(1, len(kept) + 1))
            assert len(kept) % 2 == 0
            assert held(storage, TALK).turns >= len(kept)
            reads += 1
        return reads

    with in_files(folder, max_file_bytes=1_000) as storage, ThreadPoolExecutor(4) as threads:
        storage.create(conversation())
        readers = [threads.submit(read, storage) for _ in range(2)]
        writers = [threads.submit(write, storage, number) for number in (1, 2)]
        try:
            for writer in writers:
                writer.result()
        finally:
            done.set()

        assert all(reader.result() for reader in readers)
        assert len(storage.turns(TALK, EVERYTHING)) == 160
        assert any(".0." not in name for name in contents(folder))


def test_an_interruption_after_a_write_costs_no_number(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with in_files(folder) as storage:
        storage.create(conversation())
        with monkeypatch.context() as interrupting:
            interrupting.setattr(Index, "take", interrupt)
            with pytest.raises(KeyboardInterrupt):
                storage.append(TALK, [turn(1)])

        assert numbers(storage.append(TALK, [turn(2), turn(1)])) == [2, 1]
