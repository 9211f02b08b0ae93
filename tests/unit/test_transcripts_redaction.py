"""Secrets are taken out, whatever stands around them, and nothing else is."""

import base64
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backstory.transcripts.redaction import reaches_over_lines, redacted

from .made_secrets import PLACED, SHAPES, jwt, key_block, made

ORDINARY = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "550e8400-e29b-41d4-a716-446655440000",
    "token: 550e8400-e29b-41d4-a716-446655440000",
    '"integrity": "sha512-9Yk2xkXp5nTqJb7R3vZ1mW8cF4dG6hL0sA2uB9eN5iKoP7qVtXyZzQwErTyUiOpAsDfGhJkQ=="',
    'hash = "sha256:4b3a1c0e5f6d7a8b9c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b"',
    "System.Core, Version=4.0.0.0, PublicKeyToken=b77a5c561934e089",
    "max_tokens: 4096, token_count=1234567890123456",
    "const token = await getToken2(session1, user2)",
    "password: string;",
    "const { password } = request.body",
    "password = user1.password_hash",
    "password = form.field2",
    'password = "changeme1"',
    'password: "<your-password-1>"',
    "DB_PASSWORD=${DB_PASSWORD_V2}",
    "PASSWORD=$1",
    "API_KEY=xxxxxxxxxxxxxxxx1234",
    "OPENAI_API_KEY=your-key-here",
    "apiKey: process.env.ANTHROPIC_API_KEY_V2,",
    "api_key = os.environ['S3_API_KEY_V2']",
    'token = f"{prefix1}{suffix2}abcdef"',
    "secret: arn:aws:secretsmanager:us-east-1:123456789012:secret:shop",
    "secretName: shop-tls-2024-v2",
    'model_key: "claude-3-5-sonnet-20241022"',
    'next_token: "2024-01-01T00:00:00Z"',
    "private_key: x25519.X25519PrivateKey | MLKEM768X25519PrivateKey,",
    "docker run -u 1000:1000 x && curl -u $USER:$PASSWORD x",
    "fix authorization 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "primary_key = Column1234567890abcd",
    "sk-ant-api03-...",
    "sk-ant-xxxxxxxxxxxxxxxxxxxxxxxx",
    "AKIAIOSFODNN7EXAMPLE",
    "task-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c",
    "disk-usage risk-free sk-folding-cube sk-fading-circle",
    "the basic authentication of basic understanding",
    "Bearer authentication is required_for_every_request",
    "Authorization: Bearer ${TOKEN}",
    "postgres://postgres:postgres@localhost:5432/shop",
    "postgres://user:{password}@host/db",
    "https://example.com:8080/a@b and git@github.com:me/shop.git",
    '"-----BEGIN PRIVATE KEY-----" in text and "-----END PRIVATE KEY-----" in text',
    "<Private>False</Private>",
    "Write `<private>` before it.",
    "</private>",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "class AKIAxyz: hf_model = npm_package = ghp_test",
    "[redacted: password]",
]


@settings(deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.randoms(use_true_random=False), st.text(), st.text())
def test_a_secret_is_known_by_its_shape_in_any_surroundings(
    name: str, chooser: random.Random, before: str, after: str
) -> None:
    secret = SHAPES[name](random.Random(chooser.randrange(2**32)))

    result = redacted(f"{before} {secret}\n{after}")

    assert secret not in result.text
    assert name.split(",")[0] in result.counts


@settings(deadline=None)
@given(st.sampled_from(PLACED), st.integers(0, 2**32), st.text(), st.text())
def test_a_secret_is_known_by_its_place_in_any_surroundings(
    placed: tuple[str, str], seed: int, before: str, after: str
) -> None:
    kind, place = placed
    secret = made(random.Random(seed), 32)

    result = redacted(f"{before}\n{place.format(secret)}\n{after}")

    assert result.text == f"{before}\n{place.format(f'[redacted: {kind}]')}\n{after}"
    assert result.counts == {kind: 1}


@given(st.lists(st.sampled_from(ORDINARY), max_size=6).map("\n".join))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redacted(text).text == text
    assert redacted(text).counts == {}


@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert redacted(text).text == text


SIGNS = "password token api_key = : \" ' \\ ` - _ . @ ; ] [redacted: Q~ :// sk-ant- eyJ AKIA Bearer Basic"
VALUES = ["a1B2c3D4e5F6g7H8i9J0", "QWERTZUIOPASDFGH", "[redacted: token]", " ", "\n", "\u0130"]
MARKS = ["<private>", "</private>", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"]
PARTS = st.sampled_from([*SIGNS.split(), *VALUES, *MARKS])


@settings(max_examples=500, deadline=None)
@given(st.lists(PARTS, max_size=30).map("".join) | st.text())
@example("password=a1b2c3d4:" * 3)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redacted(text)

    assert redacted(once.text).text == once.text
    assert redacted(once.text).counts == {}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a <private>b</private> c", "a [redacted: private] c"),
        ("a <private>b <private>c</private> d</private> e", "a [redacted: private] e"),
        ("a <private>b\nc", "a [redacted: private]"),
        ("a <private>b <private>c</private> d", "a [redacted: private]"),
        ("<private>a</private> b </private> c", "[redacted: private] b </private> c"),
        ("say `<private>` or <private>x</private>", "say `<private>` or [redacted: private]"),
    ],
)
def test_what_the_writer_marks_as_private_is_taken_out(text: str, result: str) -> None:
    assert redacted(text).text == result


def test_a_key_block_that_is_cut_off_is_taken_out_as_far_as_it_goes() -> None:
    lines = "\n".join(made(random.Random(1), 64) for _ in range(3))

    result = redacted(f"-----BEGIN OPENSSH PRIVATE KEY-----\n{lines}\nThat was the key.")

    assert result.text == "[redacted: private key]\nThat was the key."


def test_an_encrypted_key_block_that_is_cut_off_is_taken_out_as_far_as_it_goes() -> None:
    lines = "\n".join(made(random.Random(1), 64) for _ in range(3))
    told = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,7F9A0C\n"

    result = redacted(f"-----BEGIN RSA PRIVATE KEY-----\n{told}\n{lines}\nThat was the key.")

    assert result.text == "[redacted: private key]\nThat was the key."


@pytest.mark.parametrize(
    ("line_end", "redacted_text"),
    [
        ("\n", "$ tail key.pem:\n[redacted: private key]\nThat was it."),
        ("\n  ", "$ tail key.pem:\n  [redacted: private key]\n  That was it."),
        ("\\n", "$ tail key.pem:\\[redacted: private key]\\nThat was it."),
    ],
)
def test_the_end_of_a_key_block_is_taken_out_as_far_back_as_it_goes(
    line_end: str, redacted_text: str
) -> None:
    *_, one, two, three, end = key_block(random.Random(1)).split("\n")

    result = redacted(line_end.join(["$ tail key.pem:", one, two, three, "kQ==", end, "That was it."]))

    assert result.text == redacted_text


def test_words_before_the_end_of_a_key_block_are_no_key() -> None:
    text = "A key ends with\n-----END PRIVATE KEY-----\nwhich is its last line."

    assert redacted(text).text == text


LINES = st.one_of(
    st.builds(
        lambda kind, seed: SHAPES[kind](random.Random(seed)), st.sampled_from(list(SHAPES)), st.integers()
    ),
    st.builds(
        lambda placed, seed: placed[1].format(made(random.Random(seed), 32)),
        st.sampled_from(PLACED),
        st.integers(),
    ),
    st.sampled_from(["password:", "Bearer", "token =", "curl -u me:", '"', "sk-ant-", "eyJ"]),
    st.text(max_size=20),
)


@settings(deadline=None)
@given(st.lists(LINES, max_size=6).map("\n".join).filter(lambda text: not reaches_over_lines(text)))
def test_but_for_private_parts_and_keys_each_line_is_redacted_by_itself(text: str) -> None:
    assert redacted(text).text == "\n".join(redacted(line).text for line in text.split("\n"))


def test_a_key_block_on_one_line_with_escaped_line_ends_is_taken_out() -> None:
    block = key_block(random.Random(1)).replace("\n", "\\n")

    assert redacted(f'KEY="{block}"').text == 'KEY="[redacted: private key]"'


def test_basic_authorization_is_known_by_what_it_encodes() -> None:
    value = base64.b64encode(b"me:open sesame").decode()

    assert redacted(f"Authorization: Basic {value}").text == "Authorization: Basic [redacted: authorization]"


def test_the_surest_sign_names_the_kind_and_a_secret_is_counted_once() -> None:
    key, token = SHAPES["openai key"](random.Random(1)), jwt(random.Random(2))

    result = redacted(f"OPENAI_API_KEY={key}\nAuthorization: Bearer {token}")

    assert result.text == "OPENAI_API_KEY=[redacted: openai key]\nAuthorization: Bearer [redacted: jwt]"
    assert result.counts == {"openai key": 1, "jwt": 1}


def test_a_short_password_is_taken_out_of_a_url_with_its_at_signs() -> None:
    assert redacted("ftp://me:p@ss@host/x").text == "ftp://me:p@ss@host/x".replace(
        "p@ss", "[redacted: password]"
    )


ADVERSARIES = [
    "a1",
    "token=",
    'token="',
    "password: a1b2",
    "--a",
    "://a:",
    "://a:b@",
    "eyJaaaaaaaaaa.",
    "sk-",
    "bearer ",
]
ADVERSARIES += [
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN A A A ",
    "<private>",
    "</private>",
    ";pwd=",
    "SG.a",
    "1Q~",
]


@pytest.mark.parametrize("unit", ADVERSARIES)
def test_no_text_takes_more_than_its_share_of_time(unit: str) -> None:
    """It ends: a pattern that goes back and forth would take hours for half a megabyte."""
    text = unit * (500_000 // len(unit))

    assert redacted(redacted(text).text).counts == {}


@pytest.mark.parametrize(
    "text", ["PGPASSWORD={} psql shop", 'login(password="{}")', "x;pwd={};y", "ftp://me:{}@host"]
)
def test_a_password_that_a_person_made_up_is_known_where_it_can_be_nothing_else(text: str) -> None:
    assert redacted(text.format("hunter22")).text == text.format("[redacted: password]")


def test_a_bare_word_in_code_is_taken_for_a_variable() -> None:
    assert redacted("password = hunter22").counts == {}
