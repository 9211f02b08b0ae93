"""Documents that become memories: read in once, again, and after every kind of change."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client

from backstory.actions.documents.files import MAX_BYTES
from backstory.actions.documents.ingest import DocumentsIngested, ingest_documents
from backstory.actions.documents.plans import Outcome
from backstory.actions.memory.add import add_memory
from backstory.actions.memory.consolidate import Wish, consolidate
from backstory.actions.memory.delete import delete_memory
from backstory.actions.memory.get import get_memory
from backstory.actions.memory.search import search_memories
from backstory.actions.memory.update import update_memory
from backstory.engine import Engine, Work
from backstory.errors import Cancelled, InputError, NotFound
from backstory.mcp.budget import MOST_TOKENS, tokens
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.mcp.server import create_server
from backstory.model.memory import Memory, MemoryChange, NewMemory
from backstory.model.project import Project
from backstory.model.search import MemoryQuery
from backstory.settings import read_settings
from backstory.wiring import open_engine

from .calling import call, failure
from .doubles import Choosy, Unreliable
from .program import Program

SHOP = Project("shop")

REQUIREMENTS = """\
# Shop

**Status:** Approved

**REQ-SHOP-PAY-001:** A payment that is sent twice shall be booked once.
- **Priority:** Critical
- **Verification:** Replay test

**REQ-SHOP-PAY-002:** Refunds shall name the payment of REQ-SHOP-PAY-001 that they undo.
- **Priority:** High
"""

DECISION = """\
# 7. Payments are keyed by the order

## Status

Accepted

## Context

The provider repeats calls after a timeout (REQ-SHOP-PAY-001).

## Decision

The id of the order is sent as idempotency key. See ADR-0003.

## Consequences

An order is paid in one payment only.
"""

NOT_UTF_8 = "it is not UTF-8, and was read as"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one document of requirements and one decision."""
    made = tmp_path / "code"
    (made / ".git").mkdir(parents=True)
    write(made, "docs/shop.md", REQUIREMENTS)
    write(made, "docs/adr/0007-payments.md", DECISION)
    return made


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rewrite(folder: Path, name: str, old: str, new: str) -> None:
    path = folder / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def ingest(engine: Engine, place: Path, *, dry_run: bool = False) -> DocumentsIngested:
    base = place if place.is_dir() else place.parent
    return ingest_documents(engine, SHOP, place, Work(), base=base, dry_run=dry_run)


def counted(done: DocumentsIngested) -> dict[str, int]:
    return {outcome.value: count for outcome, count in done.counts.items() if count}


def kept(engine: Engine, project: Project = SHOP) -> dict[str, Memory]:
    """All live memories, by the names that documents give them."""
    with engine.records.reading() as records:
        memories = list(records.memories.live_in(project))
    by_name = {name_of(memory): memory for memory in memories}
    assert len(by_name) == len(memories)
    return by_name


def name_of(memory: Memory) -> str:
    known = memory.metadata
    return str(known.get("requirement_id") or known.get("adr_id") or known.get("document_key") or memory.id)


def links_of(engine: Engine, memory: Memory) -> set[tuple[str, str, str]]:
    related = get_memory(engine, SHOP, memory.id).relationships
    return {(each.type.value, each.direction.value, name_of(each.memory)) for each in related}


def history(engine: Engine, memory: Memory) -> list[tuple[str, Mapping[str, object]]]:
    with engine.records.reading() as records:
        return [(done.operation, done.details) for done in records.audit.of(memory.id)]


def add_by_hand(engine: Engine, content: str = "Pay once.", **metadata: object) -> Memory:
    fields = {"requirement_id": "REQ-SHOP-PAY-001", **metadata}
    return add_memory(engine, SHOP, NewMemory("requirement", content, fields)).memory


class TestFirst:
    """Documents that were never read."""

    def test_requirements_and_decisions_become_memories_with_their_fields_and_their_place(
        self, engine: Engine, repository: Path
    ) -> None:
        done = ingest(engine, repository)

        assert (done.documents, counted(done), done.problems) == (2, {"added": 3}, [])
        memories = kept(engine)
        payment = memories["REQ-SHOP-PAY-001"]
        assert payment.type == "requirement"
        assert "booked once" in payment.content
        assert {**payment.metadata, "document_digest": ""} == {
            "requirement_id": "REQ-SHOP-PAY-001",
            "title": "A payment that is sent twice shall be booked once",
            "description": "A payment that is sent twice shall be booked once.",
            "priority": "Critical",
            "status": "Approved",
            "verification": "Replay test",
            "source_document": "docs/shop.md",
            "source_lines": [5, 7],
            "document_key": "docs/shop.md#REQ-SHOP-PAY-001",
            "document_digest": "",
        }
        decision = memories["ADR-0007"]
        assert decision.type == "design"
        assert decision.metadata["source_document"] == "docs/adr/0007-payments.md"
        assert decision.metadata["status"] == "Accepted"

    def test_what_they_name_is_linked_in_whatever_order_it_comes(
        self, engine: Engine, repository: Path
    ) -> None:
        ingest(engine, repository / "docs" / "adr")
        ingest(engine, repository / "docs" / "shop.md")
        write(repository, "docs/adr/0003-keys.md", DECISION.replace("# 7. Payments", "# 3. Keys"))
        ingest(engine, repository / "docs" / "adr")

        memories = kept(engine)

        assert links_of(engine, memories["ADR-0007"]) == {
            ("RELATES_TO", "out", "REQ-SHOP-PAY-001"),
            ("RELATES_TO", "out", "ADR-0003"),
        }
        assert ("RELATES_TO", "out", "REQ-SHOP-PAY-001") in links_of(engine, memories["REQ-SHOP-PAY-002"])

    def test_they_are_found_by_the_next_search(self, engine: Engine, repository: Path) -> None:
        ingest(engine, repository)

        found = search_memories(engine, SHOP, MemoryQuery("idempotency key"))

        assert name_of(found.hits[0].memory) == "ADR-0007"
        assert "meaning" in found.hits[0].parts

    def test_a_dry_run_tells_the_same_and_writes_nothing(self, engine: Engine, repository: Path) -> None:
        told = ingest(engine, repository, dry_run=True)

        assert kept(engine) == {}
        assert counted(told) == counted(ingest(engine, repository)) == {"added": 3}
        rewrite(repository, "docs/shop.md", "booked once", "booked one time")
        (repository / "docs/adr/0007-payments.md").unlink()
        before = kept(engine)
        told = ingest(engine, repository, dry_run=True)
        assert kept(engine) == before
        assert (
            counted(told) == counted(ingest(engine, repository)) == {"updated": 1, "unchanged": 1, "gone": 1}
        )


class TestAgain:
    """Documents that were read before."""

    def test_what_is_unchanged_is_not_touched(self, engine: Engine, repository: Path) -> None:
        ingest(engine, repository)
        before = kept(engine)

        assert counted(ingest(engine, repository)) == {"unchanged": 3}
        assert kept(engine) == before

    def test_what_only_moved_within_its_document_is_not_touched(
        self, engine: Engine, repository: Path
    ) -> None:
        ingest(engine, repository)
        rewrite(repository, "docs/shop.md", "# Shop\n", "# Shop\n\nSome more words.\n")

        assert counted(ingest(engine, repository)) == {"unchanged": 3}

    def test_what_changed_is_a_new_version_that_names_the_document(
        self, engine: Engine, repository: Path
    ) -> None:
        ingest(engine, repository)
        first = kept(engine)["REQ-SHOP-PAY-001"]
        rewrite(repository, "docs/shop.md", "booked once", "booked one time")
        rewrite(repository, "docs/shop.md", "Critical", "Low")

        assert counted(ingest(engine, repository)) == {"updated": 1, "unchanged": 2}
        second = kept(engine)["REQ-SHOP-PAY-001"]
        assert (second.id, second.version) == (first.id, 2)
        assert "one time" in second.content
        assert second.metadata["priority"] == "Low"
        assert history(engine, second) == [("added", {}), ("updated", {"document": "docs/shop.md"})]
        assert name_of(search_memories(engine, SHOP, MemoryQuery("one time")).hits[0].memory) == (
            "REQ-SHOP-PAY-001"
        )

    def test_what_is_not_said_any_more_leaves_the_memory_with_its_links(
        self, engine: Engine, repository: Path
    ) -> None:
        ingest(engine, repository)
        rewrite(repository, "docs/shop.md", "- **Verification:** Replay test\n", "")
        rewrite(repository, "docs/shop.md", " of REQ-SHOP-PAY-001 that they undo", "")

        ingest(engine, repository)

        memories = kept(engine)
        assert "verification" not in memories["REQ-SHOP-PAY-001"].metadata
        assert "related_requirements" not in memories["REQ-SHOP-PAY-002"].metadata
        assert links_of(engine, memories["REQ-SHOP-PAY-002"]) == set()

    def test_what_was_changed_by_hand_stays_until_the_document_changes_it(
        self, engine: Engine, repository: Path
    ) -> None:
        ingest(engine, repository)
        id = kept(engine)["REQ-SHOP-PAY-001"].id
        by_hand = {"status": "Implemented", "priority": "High", "owner": "Ann", "verification": None}
        update_memory(engine, SHOP, id, MemoryChange(metadata=by_hand))
        assert counted(ingest(engine, repository)) == {"unchanged": 3}

        rewrite(repository, "docs/shop.md", "Critical", "Low")
        rewrite(repository, "docs/shop.md", "booked once", "booked one time")
        ingest(engine, repository)

        known = kept(engine)["REQ-SHOP-PAY-001"].metadata
        assert (known["status"], known["priority"], known["owner"]) == ("Implemented", "Low", "Ann")
        assert "verification" not in known
        assert known["description"] == "A payment that is sent twice shall be booked one time."

    def test_what_vanished_is_kept_and_marked_and_comes_back(self, engine: Engine, repository: Path) -> None:
        ingest(engine, repository)
        write(repository, "docs/shop.md", REQUIREMENTS.split("**REQ-SHOP-PAY-002:**")[0])

        done = ingest(engine, repository)

        assert counted(done) == {"unchanged": 2, "gone": 1}
        (step,) = done.steps
        assert (step.outcome, step.document) == (Outcome.GONE, "docs/shop.md")
        assert kept(engine)["REQ-SHOP-PAY-002"].metadata["source_gone"] is True
        assert counted(ingest(engine, repository)) == {"unchanged": 2}

        write(repository, "docs/shop.md", REQUIREMENTS)
        assert counted(ingest(engine, repository)) == {"unchanged": 2, "updated": 1}
        back = kept(engine)["REQ-SHOP-PAY-002"]
        assert "source_gone" not in back.metadata
        assert back.version == 3

    def test_what_a_deleted_document_said_is_marked_when_its_folder_is_read(
        self, engine: Engine, repository: Path
    ) -> None:
        ingest(engine, repository)
        (repository / "docs/shop.md").unlink()

        assert counted(ingest(engine, repository / "docs" / "adr")) == {"unchanged": 1}
        assert counted(ingest(engine, repository / "docs")) == {"unchanged": 1, "gone": 2}

    @pytest.mark.parametrize("place", ["", "docs/spec/payments.md"])
    def test_a_document_may_be_renamed(self, engine: Engine, repository: Path, place: str) -> None:
        ingest(engine, repository)
        before = kept(engine)["REQ-SHOP-PAY-001"]
        (repository / "docs/spec").mkdir()
        (repository / "docs/shop.md").rename(repository / "docs/spec/payments.md")

        done = ingest_documents(engine, SHOP, repository / place, Work(), base=repository)

        assert done.counts[Outcome.UPDATED] == 2
        assert done.counts[Outcome.GONE] == 0
        after = kept(engine)["REQ-SHOP-PAY-001"]
        assert after.id == before.id
        assert after.metadata["source_document"] == "docs/spec/payments.md"

    def test_a_decision_goes_with_its_number_when_its_file_is_renamed(
        self, engine: Engine, repository: Path
    ) -> None:
        ingest(engine, repository)
        id = kept(engine)["ADR-0007"].id
        (repository / "docs/adr").rename(repository / "docs/decisions")

        assert counted(ingest(engine, repository)) == {"unchanged": 2, "updated": 1}
        assert kept(engine)["ADR-0007"].id == id

    @pytest.mark.parametrize("target", ["docs/aaa.md", "docs/zzz.md"])
    def test_a_requirement_may_move_from_one_document_to_another(
        self, engine: Engine, repository: Path, target: str
    ) -> None:
        ingest(engine, repository)
        first, second = REQUIREMENTS.split("**REQ-SHOP-PAY-002:**")
        write(repository, "docs/shop.md", first)
        write(repository, target, "# More\n\n**Status:** Approved\n\n**REQ-SHOP-PAY-002:**" + second)

        assert counted(ingest(engine, repository)) == {"unchanged": 2, "updated": 1}
        assert kept(engine)["REQ-SHOP-PAY-002"].metadata["source_document"] == target

    def test_documents_have_the_same_names_from_every_worktree(
        self, engine: Engine, repository: Path, tmp_path: Path
    ) -> None:
        ingest(engine, repository)
        shutil.copytree(repository, tmp_path / "feature")

        elsewhere = tmp_path / "feature" / "docs"
        done = ingest_documents(engine, SHOP, elsewhere, Work(), base=elsewhere)

        assert counted(done) == {"unchanged": 3}

    def test_documents_outside_of_everything_are_called_by_their_whole_path(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        path = write(tmp_path, "lone/shop.md", REQUIREMENTS)

        ingest_documents(engine, SHOP, path, Work())

        assert kept(engine)["REQ-SHOP-PAY-001"].metadata["source_document"] == path.as_posix()
        assert counted(ingest_documents(engine, SHOP, path.parent, Work())) == {"unchanged": 2}


#: What documents say at some time: by the id, in which of them it stands, and in which words.
State = dict[str, tuple[str, str]]
SAYINGS = [
    "The cart shall be empty.",
    "The cart shall be full.\n- **Priority:** High",
    "The cart shall do as REQ-P-A-1 says.\n- **Status:** Draft\n- **Verification:** By eye",
]
STATES: st.SearchStrategy[State] = st.dictionaries(
    st.sampled_from(["REQ-P-A-1", "REQ-P-A-2", "REQ-P-A-3", "ADR-0001", "ADR-0002"]),
    st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(SAYINGS)),
)


def lay_out(folder: Path, state: State) -> None:
    """Write the documents of a state, and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for id, (name, saying) in sorted(state.items()):
        if id.startswith("ADR"):
            text = f"# {id}: Carts\n\n## Status\n\nAccepted\n\n## Decision\n\n{saying}\n"
            write(folder, f"{name}/{id}.md", text)
        else:
            with (folder / f"{name}.md").open("a", encoding="utf-8") as file:
                file.write(f"**{id}:** {saying}\n\n")


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home = tmp_path_factory.mktemp("lasting")
    with open_engine(read_settings({"BACKSTORY_HOME": str(home), "BACKSTORY_MIN_FREE_MB": "1"})) as opened:
        yield opened


@settings(max_examples=25, deadline=None)
@given(st.lists(STATES, min_size=1, max_size=4))
def test_whatever_happened_to_documents_memories_say_what_they_say_now(
    lasting: Engine, states: list[State]
) -> None:
    folder = Path(mkdtemp(dir=lasting.home))
    long, fresh = Project(f"long {folder.name}"), Project(f"fresh {folder.name}")
    for state in states:
        lay_out(folder / "docs", state)
        ingest_documents(lasting, long, folder / "docs", Work(), base=folder)
    again = ingest_documents(lasting, long, folder / "docs", Work(), base=folder)
    ingest_documents(lasting, fresh, folder / "docs", Work(), base=folder)

    after, new = kept(lasting, long), kept(lasting, fresh)
    assert counted(again) == ({"unchanged": len(states[-1])} if states[-1] else {})
    assert after.keys() == {id for state in states for id in state}
    gone = {id for id, memory in after.items() if memory.metadata.get("source_gone")}
    assert gone == after.keys() - states[-1].keys()
    for id in states[-1]:
        assert after[id].content == new[id].content
        lines = new[id].metadata["source_lines"]  # are those of the time when it changed
        assert {**after[id].metadata, "source_lines": lines} == new[id].metadata


class TestOthers:
    """Memories that are there for another reason than this document."""

    def test_a_requirement_that_was_kept_by_hand_becomes_that_of_the_document(
        self, engine: Engine, repository: Path
    ) -> None:
        by_hand = add_by_hand(engine, verification="Ask Ann", owner="Ann")

        assert counted(ingest(engine, repository)) == {"added": 2, "updated": 1}
        after = kept(engine)["REQ-SHOP-PAY-001"]
        assert (after.id, after.version) == (by_hand.id, 2)
        assert "sent twice" in after.content
        assert (after.metadata["owner"], after.metadata["verification"]) == ("Ann", "Replay test")
        assert counted(ingest(engine, repository)) == {"unchanged": 3}

    def test_one_that_names_this_document_is_the_same(self, engine: Engine, repository: Path) -> None:
        add_by_hand(engine, source_document="docs/shop.md")

        assert counted(ingest(engine, repository)) == {"added": 2, "updated": 1}

    @pytest.mark.parametrize("document", ["README.md", "shop.docx", "/etc/passwd"])
    def test_one_of_another_document_stays_and_is_told(
        self, engine: Engine, repository: Path, document: str
    ) -> None:
        write(repository, "README.md", "# Shop")
        before = add_by_hand(engine, source_document=document)

        done = ingest(engine, repository / "docs" / "shop.md")

        assert counted(done) == {"added": 1}
        assert kept(engine)["REQ-SHOP-PAY-001"] == before
        (problem,) = done.problems
        assert (problem.document, problem.line) == ("docs/shop.md", 5)
        assert f"REQ-SHOP-PAY-001 is kept as {document} says it" in problem.what

    @pytest.mark.parametrize("dry_run", [True, False])
    def test_of_two_documents_that_declare_one_id_the_first_counts(
        self, engine: Engine, repository: Path, *, dry_run: bool
    ) -> None:
        write(repository, "docs/zzz.md", "**REQ-SHOP-PAY-001:** Something else.\n")

        done = ingest(engine, repository, dry_run=dry_run)

        assert counted(done) == {"added": 3}
        assert [(problem.document, problem.line) for problem in done.problems] == [("docs/zzz.md", 1)]

    def test_a_document_that_comes_before_takes_nothing_away(self, engine: Engine, repository: Path) -> None:
        ingest(engine, repository)
        write(repository, "docs/aaa.md", "**REQ-SHOP-PAY-001:** Something else.\n")

        done = ingest(engine, repository)

        assert counted(done) == {"unchanged": 3}
        assert [problem.document for problem in done.problems] == ["docs/aaa.md"]

    def test_two_folders_may_number_their_decisions_alike(self, engine: Engine, repository: Path) -> None:
        write(repository, "other/adr/0007-mail.md", DECISION.replace("Payments are", "Mails are"))

        assert counted(ingest(engine, repository)) == {"added": 4}
        assert counted(ingest(engine, repository)) == {"unchanged": 4}

    def test_decisions_without_numbers_are_known_by_their_titles(
        self, engine: Engine, repository: Path
    ) -> None:
        write(repository, "docs/adr/queues.md", DECISION.replace("# 7. Payments", "# Payments"))
        ingest(engine, repository)
        rewrite(repository, "docs/adr/queues.md", "one payment only", "a single payment")

        assert counted(ingest(engine, repository)) == {"unchanged": 3, "updated": 1}

    def test_what_somebody_deleted_stays_deleted(self, engine: Engine, repository: Path) -> None:
        ingest(engine, repository)
        id = kept(engine)["REQ-SHOP-PAY-002"].id
        delete_memory(engine, SHOP, id)

        done = ingest(engine, repository)

        assert counted(done) == {"unchanged": 2, "left": 1}
        assert [step.memory.id for step in done.steps] == [id]
        assert "REQ-SHOP-PAY-002" not in kept(engine)

    def test_what_two_documents_say_is_not_merged(self, engine: Engine, repository: Path) -> None:
        write(repository, "other/adr/0007-payments.md", DECISION)
        ingest(engine, repository)

        assert not consolidate(engine, SHOP, Wish(types=["design"]), Work()).planned

    @pytest.mark.parametrize("more", ["", "\n\nAnn asked for it in March."])
    def test_what_was_merged_with_a_memory_kept_by_hand_stays_merged(
        self, engine: Engine, repository: Path, more: str
    ) -> None:
        ingest(engine, repository)
        decision = kept(engine)["ADR-0007"]
        add_memory(engine, SHOP, NewMemory("design", decision.content + more))
        merged = consolidate(engine, SHOP, Wish(types=["design"]), Work(), apply=True)
        assert len(merged.done) == 1
        before = kept(engine)
        assert before["ADR-0007"].content == decision.content + more

        assert counted(ingest(engine, repository)) == {"unchanged": 3}
        assert kept(engine) == before

    def test_what_was_folded_into_another_is_left_alone(self, engine: Engine, repository: Path) -> None:
        ingest(engine, repository)
        payment = kept(engine)["REQ-SHOP-PAY-001"]
        other = add_by_hand(engine)
        with engine.records.writing() as records:
            records.memories.delete(
                payment, datetime.now(UTC), operation="folded", details={"into": other.id}
            )

        assert counted(ingest(engine, repository)) == {"unchanged": 2, "left": 1}

    def test_a_wall_is_around_every_project(self, engine: Engine, repository: Path) -> None:
        ingest(engine, repository)

        done = ingest_documents(engine, Project("bank"), repository, Work(), base=repository)

        assert counted(done) == {"added": 3}


class TestFiles:
    """What is read, and what is not."""

    @pytest.mark.parametrize(
        ("encoded", "told"),
        [
            (REQUIREMENTS.replace("\n", "\r\n").encode(), []),
            (b"\xef\xbb\xbf" + REQUIREMENTS.encode(), []),
            (REQUIREMENTS.encode("utf-16"), [f"{NOT_UTF_8} UTF-16"]),
            (REQUIREMENTS.replace("# Shop", "# Caf\xe9").encode("latin-1"), [f"{NOT_UTF_8} cp1252"]),
        ],
        ids=["CRLF", "BOM", "UTF-16", "Latin-1"],
    )  # fmt: skip
    def test_whatever_wrote_a_document_it_is_read(
        self, engine: Engine, repository: Path, encoded: bytes, told: list[str]
    ) -> None:
        ingest(engine, repository)
        write(repository, "docs/shop.md", encoded)

        done = ingest(engine, repository)

        assert counted(done) == {"unchanged": 3}
        assert [problem.what for problem in done.problems] == told

    def test_letters_outside_of_ascii_are_read_as_they_were_meant(
        self, engine: Engine, tmp_path: Path
    ) -> None:
        text = "**REQ-CAFE-BAR-001:** Menüs kosten 5 €.\n"
        for name, encoding in (("one.md", "utf-8"), ("two.md", "cp1252")):
            path = write(tmp_path, name, text.replace("001", f"00{len(encoding)}").encode(encoding))
            ingest_documents(engine, SHOP, path, Work())

        assert all("Menüs kosten 5 €." in memory.content for memory in kept(engine).values())
        assert len(kept(engine)) == 2

    def test_what_is_not_read_is_told_with_its_reason(
        self, engine: Engine, repository: Path, tmp_path: Path
    ) -> None:
        outside = write(tmp_path, "secret.md", "**REQ-SECRET-A-001:** Nobody reads this.\n")
        docs = repository / "docs"
        for name in (".hidden.md", ".cache/a.md", "node_modules/a/a.md"):
            write(docs, name, REQUIREMENTS.replace("SHOP", "NOT"))
        write(docs, "large.md", REQUIREMENTS.encode() + b" " * MAX_BYTES)
        write(docs, "binary.md", b"**REQ-BIN-A-001:** \0 is no text.")
        write(docs, "notes.txt", REQUIREMENTS.replace("SHOP", "TXT"))
        (docs / "link.md").symlink_to(outside)
        (docs / "inside.md").symlink_to(docs / "shop.md")
        (docs / "folder").symlink_to(tmp_path)
        (docs / "itself.md").symlink_to(docs / "itself.md")
        os.mkfifo(docs / "pipe.md")
        write(docs, "two\nlines.md", REQUIREMENTS.replace("SHOP", "TWO"))
        (docs / "no\udcfftext.md").write_text(REQUIREMENTS)

        done = ingest(engine, docs)

        assert counted(done) == {"added": 3}
        assert {each.name: each.why for each in done.passed_over} == {
            "docs/.hidden.md": "it is hidden",
            "docs/.cache": "it is hidden",
            "docs/node_modules": "it holds the code of others",
            "docs/large.md": "it is larger than 2 MB",
            "docs/binary.md": "it is not text",
            "docs/link.md": "it is a link that leads out of the folder",
            "docs/folder": "it is a link that leads out of the folder",
            "docs/itself.md": "it is a link that leads out of the folder",
            "docs/pipe.md": "it is no plain file",
            "docs/no\ufffdtext.md": "its name cannot be written down",
            "docs/two\ufffdlines.md": "its name cannot be written down",
        }

    def test_a_document_that_cannot_be_read_now_keeps_its_memories_as_they_are(
        self, engine: Engine, repository: Path
    ) -> None:
        ingest(engine, repository)
        write(repository, "docs/shop.md", b"\0")

        assert counted(ingest(engine, repository)) == {"unchanged": 1}
        assert "source_gone" not in kept(engine)["REQ-SHOP-PAY-001"].metadata

    def test_problems_have_their_lines(self, engine: Engine, repository: Path) -> None:
        rewrite(repository, "docs/shop.md", "Critical", "Whenever")

        (problem,) = ingest(engine, repository).problems

        assert (problem.document, problem.line) == ("docs/shop.md", 6)
        assert "'Whenever'" in problem.what

    def test_only_markdown_that_is_there_can_be_named(self, engine: Engine, repository: Path) -> None:
        with pytest.raises(NotFound):
            ingest(engine, repository / "nowhere.md")
        with pytest.raises(InputError, match="not markdown"):
            ingest(engine, write(repository, "notes.txt", REQUIREMENTS))

    def test_read_in_by_many_at_once_everything_is_kept_once(self, engine: Engine, repository: Path) -> None:
        with ThreadPoolExecutor(8) as pool:
            runs = [pool.submit(ingest, engine, repository) for _ in range(8)]
            outcomes = sum((Counter(counted(run.result())) for run in runs), Counter())

        assert outcomes == {"added": 3, "unchanged": 21}
        assert len(kept(engine)) == 3

    def test_it_can_be_stopped_and_run_again(self, engine: Engine, repository: Path) -> None:
        write(repository, "docs/zzz.md", REQUIREMENTS.replace("SHOP", "BANK"))
        work = Work(lambda done, total, message: work.cancel() if message.startswith("keeping") else None)

        with pytest.raises(Cancelled):
            ingest_documents(engine, SHOP, repository, work, base=repository)

        assert list(kept(engine)) == ["ADR-0007"]
        assert counted(ingest(engine, repository)) == {"unchanged": 1, "added": 4}


class TestFaults:
    """Engines that are down or will not take something."""

    def test_while_the_index_is_down_everything_is_kept_and_told(
        self, engine: Engine, repository: Path
    ) -> None:
        vectors = Unreliable(engine.vectors)
        vectors.down = True

        done = ingest(replace(engine, vectors=vectors), repository)

        assert counted(done) == {"added": 3}
        assert "the engine is down" in done.pending[0]
        assert len(search_memories(engine, SHOP, MemoryQuery("payment")).hits) == 3

    def test_what_the_engine_refuses_is_taken_back_and_told(self, engine: Engine, repository: Path) -> None:
        choosy = replace(engine, vectors=Choosy(engine.vectors, "refund"))
        done = ingest(choosy, repository)

        assert counted(done) == {"added": 2}
        assert kept(engine).keys() == {"REQ-SHOP-PAY-001", "ADR-0007"}
        (problem,) = done.problems
        assert "no refund here" in problem.what

        rewrite(repository, "docs/shop.md", "booked once", "a refund")
        assert counted(ingest(choosy, repository)) == {"unchanged": 1}
        assert "booked once" in kept(engine)["REQ-SHOP-PAY-001"].content
        assert counted(ingest(engine, repository)) == {"unchanged": 1, "updated": 1, "added": 1}


class TestTool:
    """The tool as an agent calls it, and the command."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def connecting(self, engine: Engine, repository: Path) -> AbstractAsyncContextManager[Client]:
        face = Face(replace(engine, roots=(repository,)), toolsets=("all",), default_project="shop")
        return Client(create_server(face))

    async def test_an_agent_has_documents_read_in(
        self, connecting: AbstractAsyncContextManager[Client], repository: Path
    ) -> None:
        rewrite(repository, "docs/shop.md", "Critical", "Whenever")
        async with connecting as client:
            planned = await call(client, "ingest_documents", path=str(repository), dry_run=True)
            first = await call(client, "ingest_documents", path=str(repository))
            again = await call(client, "ingest_documents", path=str(repository / "docs"), dry_run=True)
            found = await call(client, "memory_search", query="idempotency key")

        assert (first["documents"], first["added"], first["project"]) == (2, 3, "shop")
        assert {each["title"].partition(":")[0] for each in first["changes"]} == {
            "REQ-SHOP-PAY-001",
            "REQ-SHOP-PAY-002",
            "ADR-0007",
        }
        assert first["problems"][0]["line"] == 6
        titles = [each["title"] for each in first["changes"]]
        assert [(each["title"], "id" in each) for each in planned["changes"]] == [
            (title, False) for title in titles
        ]
        assert (again["added"], again["unchanged"], again["dry_run"]) == (0, 3, True)
        assert "changes" not in again
        assert found["hits"][0]["metadata"]["adr_id"] == "ADR-0007"

    async def test_what_cannot_be_read_in_is_refused_with_a_reason(
        self, connecting: AbstractAsyncContextManager[Client], repository: Path, tmp_path: Path
    ) -> None:
        async with connecting as client:
            outside = await failure(client, "ingest_documents", {"path": str(tmp_path)})
            above = await failure(client, "ingest_documents", {"path": f"{repository}/docs/../.."})
            missing = await failure(client, "ingest_documents", {"path": str(repository / "no.md")})
            endless = await failure(client, "ingest_documents", {"path": str(repository / ("x" * 300))})
            relative = await failure(client, "ingest_documents", {"path": "docs"})
            every = await failure(client, "ingest_documents", {"path": str(repository), "project": "*"})

        assert "BACKSTORY_ALLOWED_ROOTS" in outside
        assert "BACKSTORY_ALLOWED_ROOTS" in above
        assert "there is no file or folder" in missing
        assert "there is no file or folder" in endless
        assert "relative" in relative
        assert "one project" in every

    def test_a_long_answer_is_bounded_and_says_what_is_left_out(
        self, engine: Engine, repository: Path
    ) -> None:
        many = (
            f"**REQ-MANY-X-{number:04}:** Thing {number} shall be. [p]({number})\n- **Priority:** Soon\n"
            for number in range(300)
        )
        write(repository, "docs/many.md", "\n".join(many))
        face = Face(engine, toolsets=("all",), default_project="shop")

        done = perform(face, "ingest_documents", {"path": "docs/many.md"}, Caller(repository), Work())

        assert done.structured is not None
        assert done.structured["added"] == 300
        assert tokens(done.text) < MOST_TOKENS / 4
        assert f"{len(done.structured['changes'])} of 300 changes are shown" in done.text
        assert "300 problems are shown" in done.text


def test_the_command_reads_documents_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "docs/shop.md", REQUIREMENTS)
    monkeypatch.chdir(tmp_path)
    program = Program(tmp_path / "home")
    try:
        told = program("ingest", "docs", "--dry-run")
        done = program.json("ingest", "./docs/shop.md")
        hits = program.json("memory", "search", "booked once")["hits"]
        refused = program("ingest", "/etc")
    finally:
        program.stop()

    assert told.stdout.startswith("Dry run, nothing is written: 1 document: 2 added")
    assert (done["added"], done["project"]) == (2, str(tmp_path))
    assert hits[0]["metadata"]["source_document"] == "docs/shop.md"
    assert refused.exit_code == 1
    assert "BACKSTORY_ALLOWED_ROOTS" in refused.stderr
