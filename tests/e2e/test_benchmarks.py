"""The benchmark command, at toy size: every figure is printed, and nothing is left behind."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

TURNS = [
    {"id": f"D1:{number}", "date": "1:56 pm on 8 May, 2023", "speaker": "Ann", "text": text, "caption": ""}
    for number, text in enumerate(["I painted a lake.", "My cat is called Otto.", "See you!"], 1)
]
CHATS = [
    {
        "conversation": f"chat {number}",
        "turns": TURNS,
        "questions": [{"question": "What is the cat of Ann called?", "evidence": ["D1:2"]}],
    }
    for number in (1, 2)
]
SESSIONS = [
    {
        "kind": "session",
        "id": "s1",
        "date": "2023/05/23 (Tue) 09:43",
        "turns": [{"role": "user", "text": "I ran."}],
    },
    {
        "kind": "session",
        "id": "s2",
        "date": "2023/06/01 (Thu) 07:24",
        "turns": [{"role": "user", "text": "I swam."}],
    },
    {
        "kind": "question",
        "question": "When did I go swimming, or swam?",
        "date": "2023/06/02 (Fri) 10:00",
        "sessions": ["s2"],
    },
]
FUNCTIONS = [
    {"kind": "function", "id": "0", "code": "def is_iterable(value): return hasattr(value, '__iter__')"},
    {"kind": "function", "id": "1", "code": "def write_boolean(stream, flag): stream.write(flag)"},
    {"kind": "question", "question": "python check if a variable is iterable", "function": "0"},
]


Tables = Mapping[str, Mapping[str, Mapping[str, float | None]]]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run printed, its figures by table, row and column, and its temporary folder."""

    output: str
    tables: Tables
    scratch: Path


def write_rows(path: Path, rows: Sequence[object]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def bench(*arguments: object, scratch: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    environ = os.environ | {"TMPDIR": str(scratch)}
    return subprocess.run(command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One run over everything there is."""
    folder = tmp_path_factory.mktemp("bench")
    data, scratch, figures = folder / "data", folder / "scratch", folder / "figures.json"
    data.mkdir()
    scratch.mkdir()
    write_rows(data / "locomo.jsonl.gz", CHATS)
    write_rows(data / "longmemeval_pooled.jsonl.gz", SESSIONS)
    write_rows(data / "cosqa.jsonl.gz", FUNCTIONS)
    small = ["--sizes", "4,8", "--samples", 3, "--kills", 1, "--sessions", 2, "--megabytes", 1, "--turns", 60]
    done = bench("--data", data, "--weights", *small, "--json", figures, scratch=scratch)
    assert done.returncode == 0, done.stderr
    tables = json.loads(figures.read_text("utf-8"))["tables"]
    return Ran(done.stdout, {table["title"]: table["rows"] for table in tables}, scratch)


def test_every_figure_is_printed_under_its_table(ran: Ran) -> None:
    lines = [line.strip() for line in ran.output.splitlines()]

    for title, rows in ran.tables.items():
        assert title in lines
        assert all(any(line.startswith(label) for line in lines) for label in rows)


def test_memories_are_measured_at_each_size_and_against_the_baseline(ran: Ran) -> None:
    for size in ("4", "8"):
        search = ran.tables[f"memories: {size}"]["search in all projects: p95, ms"]
        assert search["Backstory"]
        assert search["times faster"] == pytest.approx((search["baseline"] or 0) / search["Backstory"])
    assert ran.tables["memories: growth"]["disk, bytes a memory"].keys() == {"4", "8", "last / first"}


def test_writing_and_every_filter_of_a_search_are_measured(ran: Ran) -> None:
    rows = ran.tables["memories: 8"]
    filters = ["two of eight types", "one of two years", "one of fifty branches", "types and time"]

    assert rows["bulk add, 3 at once: memories a second"]["Backstory"]
    for what in ["add", "update", "next page", *(f"search in all projects, {each}" for each in filters)]:
        assert rows[f"{what}: p95, ms"]["Backstory"]


def test_kills_are_counted_and_nothing_is_lost(ran: Ran) -> None:
    counts = {label: row["count"] for label, row in ran.tables["kills"].items()}

    assert counts["kills"] == 1
    assert counts["operations acknowledged"] is not None
    assert (counts["lost or wrong"], counts["orphans and gaps after recovery"]) == (0, 0)


def test_the_process_is_measured_beside_a_bare_server(ran: Ran) -> None:
    starts = ran.tables["process: start to first reply"]
    assert starts["bridge, process running"]["p50, ms"]
    for way in ("HTTP", "stdin"):
        for era in ("2025-11-25", "2026-07-28"):
            calls = ran.tables[f"process: calls over {way}, {era}"]
            assert calls.keys() == {
                f"{what}, 2 sessions" for what in ("memory_search", "memory_add", "bare echo")
            }
            assert [row["errors"] for row in calls.values()] == [0, 0, 0]


def test_the_embedder_is_measured_with_and_without_its_cache(ran: Ran) -> None:
    (rows,) = (rows for title, rows in ran.tables.items() if title.startswith("embedding"))

    assert all(row["figure"] for row in rows.values())


@pytest.mark.parametrize(
    ("beginning", "measure"),
    [("quality: LoCoMo", "nDCG@10"), ("quality: LongMemEval", "nDCG@10"), ("quality: CoSQA", "MRR@10")],
)
def test_quality_is_judged_for_search_and_for_each_leg(ran: Ran, beginning: str, measure: str) -> None:
    (rows,) = (rows for title, rows in ran.tables.items() if title.startswith(beginning))

    assert rows["search"][measure] == rows["words alone"][measure] == 1
    assert "meaning alone" in rows


def test_the_sweep_keeps_chats_for_tuning_and_chats_for_checking_apart(ran: Ran) -> None:
    rows = ran.tables["quality: weight of meaning beside words"]

    assert {"min-max, meaning 0.8", "z-scores, meaning 0.8", "reciprocal ranks, meaning 0.8"} <= rows.keys()
    assert {"LoCoMo odd nDCG@10", "LoCoMo even nDCG@10"} <= rows["min-max, meaning 0.8"].keys()


def test_importance_recency_and_links_are_tried_at_other_weights(ran: Ran) -> None:
    importance, recency, links = (
        ran.tables[f"quality: {title}"]
        for title in ("weight of importance", "weight of recency", "share given by links")
    )

    assert {"CoSQA MRR@10 by chance", "CoSQA MRR@10 as told"} <= importance["0.2"].keys()
    assert {"LongMemEval nDCG@10 30 days", "LongMemEval nDCG@10 90 days"} <= recency["0.1"].keys()
    assert links["0.0"]["LoCoMo nDCG@10 odd, next turn"] == 1


def test_transcripts_are_read_in_and_found_beside_plain_words(ran: Ran) -> None:
    (reading,) = (rows for title, rows in ran.tables.items() if title.endswith("made up"))
    assert reading["files that failed"]["figure"] == 0
    assert reading["read in and searchable: MB a second"]["figure"]
    assert sum(label.startswith("appended to") for label in reading) == 4
    search = ran.tables["transcripts: 8 messages"]["search in all projects: p95, ms"]
    assert search["Backstory"]
    assert search["bm25s"]


@pytest.mark.parametrize(
    ("title", "measure"),
    [
        ("turns: LoCoMo turns", "odd nDCG@10"),
        ("turns: LoCoMo sessions", "even recall@5"),
        ("turns: LongMemEval sessions", "any@5"),
    ],
)
def test_turns_are_judged_beside_plain_words(ran: Ran, title: str, measure: str) -> None:
    (rows,) = (rows for name, rows in ran.tables.items() if name.startswith(title))

    assert rows["search"][measure] == 1
    assert "bm25s over plain turns" in rows


def test_relevance_is_judged_where_the_answer_is_and_elsewhere(ran: Ran) -> None:
    (rows,) = (rows for title, rows in ran.tables.items() if title.startswith("relevance: LoCoMo"))

    assert rows.keys() == {
        f"{half}, {way}" for half in ("odd", "even") for way in ("meaning and words", "words alone")
    }
    assert all(row["a right turn shown"] == 1 for row in rows.values())
    assert all(row["turns shown elsewhere"] is not None for row in rows.values())


@pytest.mark.parametrize("storage", ["records", "jsonl", "memory"])
def test_live_conversations_are_measured_in_each_storage(ran: Ran, storage: str) -> None:
    (rows,) = (rows for title, rows in ran.tables.items() if title.startswith(f"conversations: {storage},"))

    assert rows.keys() >= {"add_turn, worker off", "add_turn, worker running", "recent context"}
    assert rows["assembled context"]["items"]
    assert [row["duplicates, %"] for row in rows.values() if row["items"]] == [0, 0, 0]


@pytest.mark.parametrize("storage", ["records", "jsonl"])
def test_no_acknowledged_turn_is_lost_in_a_storage_that_outlives_its_process(ran: Ran, storage: str) -> None:
    counts = {label: row["count"] for label, row in ran.tables[f"conversations: kills, {storage}"].items()}

    assert counts["kills"] == 1
    assert counts["turns checked at the end"]
    assert counts["lost, twice, out of order or not found"] == counts["orphans and gaps after recovery"] == 0


def test_nothing_temporary_is_left(ran: Ran) -> None:
    assert list(ran.scratch.iterdir()) == []


def test_quality_without_data_says_what_is_missing(tmp_path: Path) -> None:
    done = bench("quality", scratch=tmp_path)

    assert done.returncode != 0
    assert "--data" in done.stderr
