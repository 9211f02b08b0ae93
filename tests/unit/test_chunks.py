"""Texts cut into pieces: where, how large, and that nothing is lost."""

from hypothesis import example, given
from hypothesis import strategies as st

from backstory.ranking.chunks import chunks

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SEPARATORS = st.sampled_from([" ", "\n", "\n\n", ". ", "? ", "\u3002", "\t", "   \n  \n"])
TEXTS = st.lists(st.tuples(WORDS, SEPARATORS)).map(lambda parts: "".join(map("".join, parts)))


def without_blanks(text: str) -> str:
    return "".join(text.split())


@given(TEXTS, st.integers(1, 60))
@example("x" * 1000, 7)
@example("x" + " " * 1000 + "y", 10)
def test_every_character_is_in_one_piece_and_no_piece_is_too_long(text: str, max_chars: int) -> None:
    pieces = chunks(text, max_chars)

    assert "".join(map(without_blanks, pieces)) == without_blanks(text)
    assert all(piece.strip() and len(piece) <= max_chars for piece in pieces)


@given(st.lists(st.text("abc.", min_size=1, max_size=9)).map(" ".join), st.integers(20, 80))
def test_no_piece_is_tiny_unless_the_text_is(text: str, max_chars: int) -> None:
    smallest = min(map(len, chunks(text, max_chars)), default=max_chars)

    assert smallest >= min(len(text.strip()), max_chars // 4 - 1)


def test_a_blank_text_has_no_pieces() -> None:
    assert chunks("") == chunks(" \n\t\n ") == []


def test_a_short_text_is_one_piece_without_the_blanks_around_it() -> None:
    assert chunks("\n  Use uv.\n\nNever pip.\n") == ["Use uv.\n\nNever pip."]


def test_short_paragraphs_share_a_piece() -> None:
    paragraphs = [f"Paragraph {i} has a few words." for i in range(8)]

    assert chunks("\n\n".join(paragraphs), 100) == [
        "\n\n".join(paragraphs[start : start + 3]) for start in (0, 3, 6)
    ]


def test_a_paragraph_is_a_better_end_than_a_line_a_line_than_a_sentence_a_sentence_than_a_word() -> None:
    head = "one two three four five six"
    tail = "seven eight nine ten eleven twelve thirteen"

    assert chunks(f"{head}\n\nIt is. So\nit is {tail}", 45)[0] == head
    assert chunks(f"{head}\nIt is. So it is {tail}", 45)[0] == head
    assert chunks(f"{head}. So it is {tail}", 45)[0] == f"{head}."
    assert chunks(f"{head} so it is {tail}", 45)[0] == f"{head} so it is seven"


def test_chinese_sentences_end_without_a_blank() -> None:
    sentence = "\u6570\u636e\u5e93\u8fde\u63a5\u8d85\u65f6\u3002"

    assert chunks(sentence * 6, 20) == [sentence * 2] * 3


def test_code_is_cut_between_functions() -> None:
    functions = [f"def step_{i}(x):\n    y = x + {i}\n\n    return y * 2" for i in range(4)]

    assert chunks("\n\n\n".join(functions), 100) == [
        "\n\n\n".join(functions[:2]),
        "\n\n\n".join(functions[2:]),
    ]


def test_a_heading_stays_with_the_text_below_it() -> None:
    text = "Backups\n\n" + "They run at three in the morning and are checked at noon. " * 4

    assert chunks(text, 100)[0].startswith("Backups\n\nThey run")
