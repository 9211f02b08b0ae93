"""What a new memory is to those that are kept: a duplicate, an overlap, a contradiction, or nothing."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backstory.adapters.embedders.static import StaticEmbedder
from backstory.analysis.conflicts import Candidate, Conflict, ConflictKind, Said, conflicts
from backstory.model.kinds import catalogue
from backstory.model.memory import MemoryId
from benchmarks.conflicts import HELD_OUT, KINDS, TUNED_ON, candidates, read_pairs, told

THE_OTHER = MemoryId("the other")

#: Of two texts about one thing in other words, by the built-in embedder.
NEAR = 0.8


def found(
    new: str,
    old: str,
    *,
    kind: str = "design",
    fields: Mapping[str, object] | None = None,
    old_fields: Mapping[str, object] | None = None,
    similarity: float = NEAR,
) -> Conflict | None:
    other = Candidate(THE_OTHER, kind, old, old_fields or {}, similarity)
    return next(iter(conflicts(Said(kind, new, fields or {}), [other])), None)


def kind_of(conflict: Conflict | None) -> str:
    return conflict.kind.value if conflict else "none"


def test_the_same_words_are_a_duplicate_however_they_are_written() -> None:
    conflict = found(
        "Use **Redis** for the session cache.", "use redis for the session cache", similarity=0.0
    )

    assert conflict == Conflict(
        ConflictKind.DUPLICATE, THE_OTHER, "it says the same in the same words", certainty=1.0
    )


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The session cache is Redis.", "Use Redis as the session cache."),
        ("Logs must be kept for seven years.", "Logs are retained for 7 years."),
        ("Never commit without being asked.", "Do not commit unless asked."),
        ("Use pnpm, not npm.", "Use pnpm instead of npm."),
    ],
)
def test_the_same_in_other_words_is_a_duplicate(new: str, old: str) -> None:
    assert kind_of(found(new, old)) == "duplicate"


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        (
            "Logs are kept for 90 days.",
            "Logs are kept for seven years.",
            '"90 days", the other "seven years"',
        ),
        (
            "The dev server runs on port 3000.",
            "The dev server runs on port 5173.",
            '"3000", the other "5173"',
        ),
        ("The orders database is MySQL.", "We use Postgres for the orders database.", '"mysql"'),
        ("Indent Python with tabs.", "Indent Python with 4 spaces.", '"tabs", the other "4 spaces"'),
        ("The admin UI lives in apps/admin.", "The admin UI lives in web/panel.", '"apps/admin"'),
        ("The mailer uses Zorbo.", "The mailer uses Quimby.", '"zorbo", the other "quimby"'),
        ("Write tests before the code.", "Write tests after the code.", '"before code", the other "after"'),
        ("Exports are not encrypted.", "Exports are encrypted.", 'denies what the other says of "encrypted"'),
        ("Use yarn instead of npm.", "Use npm for all packages.", 'gives up "npm"'),
        ("Only owners may delete projects.", "Members may delete projects.", 'of "owners" alone'),
    ],
)
def test_what_cannot_hold_together_is_a_contradiction_and_says_what_differs(
    new: str, old: str, why: str
) -> None:
    conflict = found(new, old)

    assert kind_of(conflict) == "contradiction"
    assert conflict is not None
    assert why in conflict.why


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Audit logs are kept for 90 days.", "Access logs are kept for 30 days."),
        ("Staging has 2 workers.", "Production has 8 workers."),
        ("Indent Python with 4 spaces.", "Indent YAML with 2 spaces."),
        ("Mock the network in unit tests.", "Do not mock the network in integration tests."),
        ("Tests are written with vitest.", "End-to-end tests are written with Playwright."),
        ("The API supports JSON.", "The API supports XML."),
        ("get_user is not thread-safe.", "get_order is thread-safe."),
        ("Use a context manager for folders.", "Use a context manager for transactions."),
        (
            "Calls to the reports service time out after 21 seconds.",
            "Calls to the returns service time out after 21 seconds.",
        ),
        ("The billing worker calls the shipping worker.", "The shipping worker calls the billing worker."),
    ],
)
def test_the_same_words_about_another_thing_are_no_conflict(new: str, old: str) -> None:
    assert found(new, old) is None


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        (
            "Use Redis as the session cache.",
            "Use Redis as the session cache, with a TTL of 30 minutes and keys prefixed by the tenant.",
            "the other says this, and more",
        ),
        (
            "The CI pipeline runs on our own runners. It caches packages between builds.",
            "The CI pipeline runs on our own runners.",
            "it says what the other says, and more",
        ),
        (
            "Events go through Kafka. Topics are named after the aggregate.",
            "Events go through Kafka. Consumers must be idempotent.",
            "both say a part of the same",
        ),
    ],
)
def test_one_that_says_a_part_of_the_other_is_an_overlap(new: str, old: str, why: str) -> None:
    conflict = found(new, old)

    assert kind_of(conflict) == "overlap"
    assert conflict is not None
    assert conflict.why == why


def test_a_preference_has_one_value_in_its_scope() -> None:
    conflict = found(
        "Quotes are double.",
        "Single ones, please.",
        kind="preference",
        fields={"key": "quotes", "value": "double"},
        old_fields={"key": "Quotes", "value": "single", "scope": "Project"},
        similarity=0.1,
    )

    assert kind_of(conflict) == "contradiction"
    assert conflict is not None
    assert conflict.why == "value is 'double' in the new one, 'single' in the other"


@pytest.mark.parametrize(
    ("fields", "old_fields"),
    [
        ({"scope": "Global"}, {"scope": "Project"}),
        ({"scope": "Language", "language": "java"}, {"scope": "Language", "language": "python"}),
    ],
)
def test_a_preference_of_another_scope_is_no_conflict(
    fields: Mapping[str, object], old_fields: Mapping[str, object]
) -> None:
    double = {"key": "quotes", "value": "double", **fields}
    single = {"key": "quotes", "value": "single", **old_fields}

    conflict = found(
        "Quotes: double.", "Quotes: single.", kind="preference", fields=double, old_fields=single
    )

    assert conflict is None


def test_the_same_value_for_the_same_preference_is_a_duplicate() -> None:
    fields = {"key": "quotes", "value": "single", "scope": "Project"}

    conflict = found(
        "Single ones.", "As in the style guide.", kind="preference", fields=fields, old_fields=fields
    )

    assert kind_of(conflict) == "duplicate"


@pytest.mark.parametrize(
    ("new", "status", "kind"),
    [
        ("The system shall send a receipt.", "Draft", "duplicate"),
        ("The system shall send a receipt.", "Verified", "contradiction"),
        ("The system shall send a receipt and a reminder.", "Draft", "contradiction"),
        ("Colours can be chosen.", "Draft", "contradiction"),
    ],
)
def test_a_requirement_has_one_text_and_one_status(new: str, status: str, kind: str) -> None:
    conflict = found(
        new,
        "The system shall send a receipt",
        kind="requirement",
        fields={"requirement_id": "REQ-PAY-003", "status": status},
        old_fields={"requirement_id": "REQ-PAY-003", "status": "Draft"},
    )

    assert kind_of(conflict) == kind


def test_a_function_that_is_somewhere_else_is_another_function() -> None:
    here = {"name": "total", "file_path": "shop/cart.py", "signature": "total(cart)"}
    there = {"name": "total", "file_path": "shop/invoice.py", "signature": "total(invoice)"}

    assert found("Adds up.", "Adds up.", kind="function", fields=here, old_fields=there) is None


def test_a_function_has_one_signature() -> None:
    before = {"name": "total", "file_path": "shop/cart.py", "signature": "total(cart)"}
    after = {**before, "signature": "total(cart, *, currency)"}

    conflict = found("Adds up a cart.", "Adds up a cart.", kind="function", fields=after, old_fields=before)

    assert kind_of(conflict) == "contradiction"


@pytest.mark.parametrize("status", ["Superseded", "deprecated"])
def test_a_decision_that_holds_no_more_contradicts_nothing(status: str) -> None:
    texts = "The public API is REST.", "The public API is GraphQL."

    assert kind_of(found(*texts, fields={"status": "Accepted"})) == "contradiction"
    assert found(*texts, fields={"status": "Accepted"}, old_fields={"status": status}) is None


def test_a_proposal_contradicts_with_less_certainty_than_a_decision() -> None:
    texts = "The public API is REST.", "The public API is GraphQL."

    decided = found(*texts)
    proposed = found(*texts, fields={"status": "Proposed"})

    assert decided is not None
    assert proposed is not None
    assert proposed.kind is decided.kind is ConflictKind.CONTRADICTION
    assert proposed.certainty < decided.certainty


@pytest.mark.parametrize(
    ("new", "fields"),
    [
        ("Reports are rendered on the client. This supersedes ADR-006.", {}),
        ("Something else altogether.", {"supersedes": [THE_OTHER]}),
    ],
)
def test_what_supersedes_a_decision_in_force_contradicts_it(new: str, fields: Mapping[str, object]) -> None:
    old = "ADR-006: every report is made overnight."

    assert kind_of(found(new, old, fields=fields, similarity=0.2)) == "contradiction"
    assert found(new, old, fields=fields, old_fields={"status": "Superseded"}, similarity=0.2) is None


def test_contradictions_come_first_and_each_memory_once() -> None:
    others = [
        Candidate(MemoryId("part"), "design", "Logs are kept for 90 days in cold storage.", {}, 0.9),
        Candidate(MemoryId("same"), "design", "Logs are kept for 90 days", {}, 1.0),
        Candidate(MemoryId("against"), "design", "Logs are kept for 30 days.", {}, 0.9),
        Candidate(MemoryId("else"), "design", "The parser is written in Rust.", {}, 0.1),
    ]

    told_of = conflicts(Said("design", "Logs are kept for 90 days."), others)

    assert [each.id for each in told_of] == ["against", "same", "part"]


def test_a_denial_of_another_part_of_a_text_does_not_hide_what_is_the_same() -> None:
    conflict = found(
        "get_user is not thread-safe, because it shares a connection.", "get_user is not thread-safe."
    )

    assert kind_of(conflict) == "overlap"


words = st.sampled_from(
    sorted({word for pair in read_pairs() for word in f"{pair.new.content} {pair.old.content}".split()})
)
texts = st.lists(words, max_size=25).map(" ".join) | st.text(max_size=80)
kinds = st.sampled_from([*catalogue.KINDS, "unknown"])
metadata = st.dictionaries(
    st.sampled_from(["key", "value", "scope", "requirement_id", "status", "title", "name", "supersedes"]),
    st.text(max_size=5) | st.none() | st.integers() | st.lists(st.text(max_size=3), max_size=2),
    max_size=4,
)


@given(kinds, texts, metadata, kinds, texts, metadata, st.floats(-1, 1))
@settings(max_examples=300)
def test_any_two_memories_have_one_verdict_at_most_with_a_reason(
    kind: str,
    new: str,
    fields: Mapping[str, object],
    old_kind: str,
    old: str,
    old_fields: Mapping[str, object],
    similarity: float,
) -> None:
    other = Candidate(THE_OTHER, old_kind, old, old_fields, similarity)

    told_of = conflicts(Said(kind, new, fields), [other])

    assert len(told_of) <= 1
    assert told_of == conflicts(Said(kind, new, fields), [other])
    for conflict in told_of:
        assert conflict.id == THE_OTHER
        assert conflict.why
        assert 0 <= conflict.certainty <= 1


@given(texts.filter(lambda text: any(map(str.isalnum, text))), kinds)
def test_any_text_is_a_duplicate_of_itself(text: str, kind: str) -> None:
    conflict = found(text, f"  {text.upper()}\n" if text.isascii() else text, kind=kind, similarity=1.0)

    assert kind_of(conflict) == "duplicate"


def test_very_long_texts_are_compared_in_reasonable_steps() -> None:
    paste = "prefer one thing to another without a stop " * 2_000

    assert kind_of(found(paste + "Use tabs.", paste)) in KINDS


def test_the_labelled_pairs_are_enough_and_both_halves_know_every_kind() -> None:
    pairs = read_pairs()

    assert len({(pair.new.content, pair.old.content, str(pair)) for pair in pairs}) == len(pairs) >= 240
    for half in (HELD_OUT, TUNED_ON):
        counts = Counter(pair.kind for pair in pairs if pair.half == half)
        assert counts.keys() == set(KINDS)
        assert min(counts.values()) >= 25


def test_most_pairs_that_were_not_tuned_on_are_told_right() -> None:
    pairs = [pair for pair in read_pairs() if pair.half == HELD_OUT]
    beside = candidates(pairs, StaticEmbedder())
    counts = Counter((pair.kind, told(pair, other)) for pair, other in zip(pairs, beside, strict=True))
    taken = sum(n for (_, did), n in counts.items() if did == "contradiction")

    assert counts["contradiction", "contradiction"] / taken >= 0.9
    assert sum(counts[kind, kind] for kind in KINDS) / len(pairs) >= 0.8
