"""Texts and queries as search terms."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.ranking.words import terms


def shared(text: str, query: str) -> set[str]:
    return set(terms(text).split()) & set(terms(query).split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Backups, migrations and retries!", "backup migrat retri"),
        ("the user's cart", "user cart"),
        ("the USER\u2019S cart", "user cart"),
        ("They didn't; we've said you're late", "said late"),
        ("import re", "import re"),
        ("at 8 May 2023", "8 may 2023"),
        ("src/app/main.py", "src app main py"),
        ("--dry-run", "dri run"),
        ("v1.2.3", "v1 2 3"),
        ("E1234: ECONNREFUSED", "e1234 econnrefus"),
        ("sha256 utf8", "sha256 utf8"),
    ],
)
def test_words_are_lower_cased_stemmed_and_freed_of_grammar(text: str, expected: str) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize("question", ["", "  ", "who is it", "What did they do?", "?!", "\0", "\ud800"])
def test_a_question_of_nothing_but_grammar_has_no_terms(question: str) -> None:
    assert terms(question) == ""


@pytest.mark.parametrize(
    "name", ["getUserName", "get_user_name", "GetUserName", "GET_USER_NAME", "__get_userName"]
)
def test_a_name_of_several_parts_is_itself_and_its_parts_however_it_is_written(name: str) -> None:
    assert terms(name) == "getusernam get user name"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("HTTPServer", "httpserver http server"),
        ("parseHTTPResponse2", "parsehttpresponse2 pars http response2"),
        ("isValid", "isvalid valid"),
        ("__init__", "init"),
        ("_private", "privat"),
        ("Base64Encoder", "base64encod base64 encod"),
    ],
)
def test_names_are_split_where_a_reader_would(name: str, expected: str) -> None:
    assert terms(name) == expected


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("rounding the totals", "round total"),
        ("def retry_with_backoff():", "retryWithBackoff"),
        ("see getUserName()", "getusername"),
        ("the caf\u00e9 menu", "cafe"),
        ("cafe\u0301", "caf\u00e9"),
        ("Stra\u00dfe", "STRASSE"),
        ("\uff46\uff55\uff4c\uff4c width", "full"),
        ("\ufb01le", "file"),
        ("\u041c\u043e\u0441\u043a\u0432\u0430", "\u043c\u043e\u0441\u043a\u0432\u0430"),
        ("\u0939\u093f\u0928\u094d\u0926\u0940 \u092e\u0947\u0902", "\u0939\u093f\u0928\u094d\u0926\u0940"),
    ],
)
def test_a_query_meets_a_text_that_spells_it_otherwise(text: str, query: str) -> None:
    assert shared(text, query)


def test_every_character_of_a_script_without_blanks_is_a_term() -> None:
    assert terms("\u6570\u636eworld\u5e93") == "\u6570 \u636e world \u5e93"
    assert terms("\u30b5\u30fc\u30d0\u30fc") == "\u30b5 \u30fc \u30d0 \u30fc"
    assert terms("\ud55c\uad6d\uc5b4") == "\ud55c \uad6d \uc5b4"


def test_a_long_run_of_a_script_without_blanks_is_kept() -> None:
    assert terms("\u6570" * 300).split() == ["\u6570"] * 300


def test_blobs_are_left_out_and_their_neighbours_kept() -> None:
    assert terms(f"key {'aB3' * 30} {'x' * 65} {'y' * 5000} end") == "key end"


def test_a_sentence_in_snake_case_keeps_its_words() -> None:
    name = "test_" + "_".join(["customer", "sees", "rounded", "total"] * 4)

    assert set(terms(name).split()) == {"test", "custom", "see", "round", "total"}


@given(st.text(st.characters()))
def test_any_text_gives_terms_that_can_be_stored_and_split_at_blanks(text: str) -> None:
    found = terms(text)

    assert " ".join(found.split()) == found
    assert found.encode("utf-8").decode("utf-8") == found


@given(st.text("abc_. \u00e9\u0436\u6570'"))
def test_the_case_of_a_text_does_not_matter_to_its_words(text: str) -> None:
    assert terms(text.upper()) == terms(text)


def test_threads_that_meet_new_words_together_get_the_right_stems() -> None:
    words = [f"{prefix}{root}ing" for prefix in "bcdfgklmprst" for root in ("ound", "ark", "eal", "int")]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(terms, words * 8))
    finally:
        sys.setswitchinterval(interval)

    assert found == [word.removesuffix("ing") for word in words] * 8
