"""Which files are transcripts, whose they are, and that nothing on the way ends the search."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstory.transcripts.discovery import (
    TranscriptFile,
    Unreadable,
    find_transcripts,
    transcript_at,
)

SESSION = "29ccd257-68b1-427f-ae5f-6524b7cb6f20"
OTHER = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"


def written(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def paths_in(root: Path) -> set[str]:
    return {found.path.relative_to(root).as_posix() for found in transcripts_in(root)}


def transcripts_in(root: Path) -> Iterator[TranscriptFile]:
    return (found for found in find_transcripts(root) if isinstance(found, TranscriptFile))


def faults_in(root: Path) -> list[Unreadable]:
    return [found for found in find_transcripts(root) if isinstance(found, Unreadable)]


def test_a_session_is_named_by_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "-home-me-shop" / f"{SESSION}.jsonl", "{}\n{}\n")

    assert list(find_transcripts(tmp_path)) == [
        TranscriptFile(path, SESSION, None, None, size=6, modified_ns=path.stat().st_mtime_ns)
    ]


@pytest.mark.parametrize(
    ("place", "agent", "parent"),
    [
        ("agent-3be551df.jsonl", "3be551df", None),
        (f"{SESSION}/subagents/agent-a4ca7529859c158c2.jsonl", "a4ca7529859c158c2", SESSION),
        (f"{SESSION}/subagents/agent-acompact-1f2e3d.jsonl", "acompact-1f2e3d", SESSION),
        (f"{SESSION}/subagents/workflows/run-1/agent-a1.jsonl", "a1", SESSION),
    ],
)
def test_a_subagent_is_known_in_every_layout(
    tmp_path: Path, place: str, agent: str, parent: str | None
) -> None:
    written(tmp_path / "-home-me-shop" / place)

    (found,) = transcripts_in(tmp_path)

    assert (found.agent_id, found.parent_id) == (agent, parent)


@pytest.mark.parametrize(
    "place",
    [
        "sessions-index.json",
        "memory/notes.jsonl",
        "notes.txt",
        f"{SESSION}/custom-title.json",
        f"{SESSION}/journal.jsonl",
        f"{SESSION}/tool-results/b1.txt",
        f"{SESSION}/tool-results/b1.jsonl",
        f"{SESSION}/workflows/run-1.jsonl",
        f"{SESSION}/subagents/agent-a1.meta.json",
        f"{SESSION}/subagents/workflows/run-1/journal.jsonl",
    ],
)
def test_what_lies_beside_transcripts_is_none(tmp_path: Path, place: str) -> None:
    written(tmp_path / "-home-me-shop" / place)

    assert list(find_transcripts(tmp_path)) == []


def test_a_root_may_be_one_project_and_may_lie_below_a_folder_named_like_those_of_subagents(
    tmp_path: Path,
) -> None:
    root = tmp_path / "subagents" / "-home-me-shop"
    written(root / f"{SESSION}.jsonl")
    written(root / f"{SESSION}" / "subagents" / "agent-a1.jsonl")

    assert paths_in(root) == {f"{SESSION}.jsonl", f"{SESSION}/subagents/agent-a1.jsonl"}


def test_a_thousand_projects_are_found(tmp_path: Path) -> None:
    for number in range(1000):
        written(tmp_path / f"-p{number}" / f"{SESSION}.jsonl")

    assert len(paths_in(tmp_path)) == 1000


def test_a_link_that_leads_back_up_is_reported_and_ends_there(tmp_path: Path) -> None:
    written(tmp_path / "-a" / f"{SESSION}.jsonl")
    (tmp_path / "-a" / "up").symlink_to(tmp_path)
    (tmp_path / "-a" / "itself").symlink_to("itself")

    assert paths_in(tmp_path) == {f"-a/{SESSION}.jsonl"}
    assert {fault.path.name for fault in faults_in(tmp_path)} == {"up", "itself"}


def test_a_linked_project_is_found_once_and_under_its_own_path_if_it_has_one_here(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "projects", tmp_path / "elsewhere"
    written(root / "z" / "deep" / f"{SESSION}.jsonl")
    written(elsewhere / f"{OTHER}.jsonl")
    (root / "a").symlink_to(root / "z" / "deep")
    (root / "b").symlink_to(elsewhere)

    assert paths_in(root) == {f"z/deep/{SESSION}.jsonl", f"b/{OTHER}.jsonl"}
    assert faults_in(root) == []


def test_a_folder_that_may_not_be_looked_into_is_reported_and_the_others_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "-a" / f"{SESSION}.jsonl")
    closed = written(tmp_path / "-closed" / f"{OTHER}.jsonl").parent
    closed.chmod(0)
    scandir = os.scandir

    def refusing(folder: Path) -> object:  # a superuser is refused nothing
        if folder == closed:
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    try:
        assert faults_in(tmp_path) == [Unreadable(closed, "permission denied")]
        assert paths_in(tmp_path) == {f"-a/{SESSION}.jsonl"}
    finally:
        closed.chmod(0o700)


def test_files_and_folders_that_vanish_meanwhile_are_reported(tmp_path: Path) -> None:
    written(tmp_path / "-a" / "first.jsonl")
    folder = written(tmp_path / "-b" / f"{SESSION}.jsonl").parent
    (tmp_path / "-a" / "second.jsonl").symlink_to("never-there")
    search = find_transcripts(tmp_path)
    next(search)
    (folder / f"{SESSION}.jsonl").unlink()
    folder.rmdir()

    assert list(search) == [
        Unreadable(tmp_path / "-a" / "second.jsonl", "not there"),
        Unreadable(folder, "not there"),
    ]


def test_a_root_that_is_not_there_or_no_folder_is_reported(tmp_path: Path) -> None:
    file = written(tmp_path / "file.jsonl")

    assert faults_in(tmp_path / "none") == [Unreadable(tmp_path / "none", "not there")]
    assert faults_in(file) == [Unreadable(file, "not a directory")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system here")
def test_a_pipe_named_like_a_transcript_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f"{SESSION}.jsonl")

    assert list(find_transcripts(tmp_path)) == []


def test_codex_sessions_are_found_by_day_and_named_by_their_id(tmp_path: Path) -> None:
    written(tmp_path / "2026" / "01" / "31" / f"rollout-2026-01-31T09-00-00-{SESSION}.jsonl")
    written(tmp_path / f"rollout-2026-01-30T09-00-00-{OTHER}.jsonl")
    written(tmp_path / f"rollout-2026-01-31T09-00-00-{OTHER}_{SESSION}.jsonl")

    found = [(each.session_id, each.agent_id) for each in transcripts_in(tmp_path)]

    assert found == [(id, None) for id in (OTHER, OTHER, SESSION)]


def test_a_compressed_codex_session_is_reported_as_such(tmp_path: Path) -> None:
    path = written(tmp_path / f"rollout-2026-01-31T09-00-00-{SESSION}.jsonl.zst")

    assert list(find_transcripts(tmp_path)) == [Unreadable(path, "compressed with zstd")]


#: Below a root that lies itself in folders of these names, and in that of a session.
TREE = [
    f"-shop/{SESSION}.jsonl",
    "-shop/agent-3be551df.jsonl",
    "-shop/notes.txt",
    "-shop/memory/notes.jsonl",
    "-shop/memory/deep/notes.jsonl",
    f"-shop/{SESSION}/journal.jsonl",
    f"-shop/{SESSION}/agent-odd.jsonl",
    f"-shop/{SESSION}/tool-results/b1.jsonl",
    f"-shop/{SESSION}/other/deep/b1.jsonl",
    f"-shop/{SESSION}/subagents/agent-a1.jsonl",
    f"-shop/{SESSION}/subagents/agent-a1.meta.json",
    f"-shop/{SESSION}/subagents/workflows/run-1/agent-a2.jsonl",
    f"-shop/{SESSION}/subagents/workflows/run-1/journal.jsonl",
    f"-shop/{SESSION}/subagents/memory/agent-a3.jsonl",
    f"2026/01/31/rollout-2026-01-31T09-00-00-{OTHER}.jsonl",
    f"2026/01/31/rollout-2026-01-31T09-00-00-{SESSION}.jsonl.zst",
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "memory" / SESSION / "tool-results" / "projects"
    for place in TREE:
        written(root / place)
    written(tmp_path / "elsewhere" / f"{OTHER}.jsonl")
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    (root / "twice").symlink_to(root / "-shop")
    (root / "-shop" / "dangling.jsonl").symlink_to("never-there")
    (root / "-shop" / "loop.jsonl").symlink_to("loop.jsonl")
    return root


def test_one_path_is_what_the_search_of_the_whole_root_says_of_it(tree: Path) -> None:
    paths = [Path(folder) / name for folder, _, names in os.walk(tree, followlinks=True) for name in names]

    one_by_one = {path: found for path in paths if (found := transcript_at(path, tree))}

    assert one_by_one == {found.path: found for found in find_transcripts(tree)}
    assert len(one_by_one) == 10


def test_a_folder_holds_what_the_search_of_the_whole_root_finds_in_it(tree: Path) -> None:
    folders = [Path(folder) for folder, _, _ in os.walk(tree, followlinks=True)]
    everything = list(find_transcripts(tree))

    assert len(folders) > 10
    for folder in folders:
        inside = {each.path: each for each in everything if each.path.is_relative_to(folder)}
        assert {each.path: each for each in find_transcripts(tree, inside=folder)} == inside


def test_what_is_not_there_or_a_folder_is_no_transcript(tree: Path) -> None:
    assert transcript_at(tree / "-shop" / "never.jsonl", tree) is None
    assert transcript_at(tree / "-shop", tree) is None
