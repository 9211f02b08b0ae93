"""What the bridge makes of a line, and of an answer that is not one."""

import json
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import NAME_BEARING_METHODS, decode_header_value, encode_header_value
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from backstory.bridge.messages import (
    FIRST_MODERN_VERSION,
    LEGACY_VERSIONS,
    NAMED_BY,
    BadLine,
    header_value,
    modern_headers,
    own_answer,
    percent_encoded,
    read_message,
    read_reply,
    refusal,
)

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"

texts = st.text(st.characters(exclude_categories=["Cs"]))
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
ids = st.integers() | texts


def _version(method: str, **params: object) -> str | None:
    return read_message(json.dumps({"id": 1, "method": method, "params": params}).encode()).version


def test_the_versions_and_names_are_those_of_the_sdk() -> None:
    assert frozenset(HANDSHAKE_PROTOCOL_VERSIONS) == LEGACY_VERSIONS
    assert FIRST_MODERN_VERSION in MODERN_PROTOCOL_VERSIONS
    assert dict(NAME_BEARING_METHODS) == NAMED_BY


@pytest.mark.parametrize("version", sorted(LEGACY_VERSIONS))
def test_a_message_with_a_handshake_version_is_of_the_legacy_era(version: str) -> None:
    assert _version("tools/list", _meta={VERSION_KEY: version}) is None


def test_a_message_without_a_version_is_of_the_legacy_era() -> None:
    assert _version("tools/list") is None
    assert _version("tools/list", _meta={"progressToken": 1}) is None
    assert _version("tools/list", _meta=None) is None


def test_a_message_with_any_other_version_is_modern() -> None:
    assert _version("tools/list", _meta={VERSION_KEY: "2026-07-28"}) == "2026-07-28"
    assert _version("tools/list", _meta={VERSION_KEY: "2099-01-01"}) == "2099-01-01"


def test_discovery_is_modern_and_initialisation_is_not_whatever_they_carry() -> None:
    assert _version("server/discover") == FIRST_MODERN_VERSION
    assert _version("initialize", _meta={VERSION_KEY: "2026-07-28"}) is None


@given(text=texts | st.from_regex(r"=\?base64\?.*\?=", fullmatch=True))
def test_a_header_is_encoded_as_the_sdk_does_it(text: str) -> None:
    assert header_value(text) == encode_header_value(text)
    assert decode_header_value(header_value(text)) == text


@given(version=texts, method=texts | st.sampled_from(sorted(NAMED_BY)), name=st.text())
def test_nothing_in_a_message_can_break_out_of_its_header(version: str, method: str, name: str) -> None:
    params = {"_meta": {VERSION_KEY: version}, "name": name, "uri": name}
    message = read_message(json.dumps({"method": method, "params": params}).encode())

    assert all(value.isascii() and value.isprintable() for value in modern_headers(message).values())


@given(text=st.text())
def test_a_folder_survives_percent_encoding(text: str) -> None:
    name = text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")

    encoded = percent_encoded(name)

    assert encoded.isascii()
    assert unquote(encoded, errors="surrogateescape") == name


def test_a_plain_folder_stays_readable() -> None:
    assert percent_encoded(str(PurePosixPath("/home/ada/shop-1.0_x~"))) == "/home/ada/shop-1.0_x~"


@given(id=ids, code=st.integers(), message=texts, data=values, status=st.integers(400, 599))
def test_an_error_keeps_its_content_and_gets_the_requests_own_id(
    id: int | str, code: int, message: str, data: object, status: int
) -> None:
    error = {"code": code, "message": message, "data": data}

    answer = refusal(id, status, json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode())

    assert json.loads(answer) == {"jsonrpc": "2.0", "id": id, "error": error}


@given(id=ids, body=st.binary() | values.map(lambda value: json.dumps(value).encode()))
def test_whatever_a_refusal_says_it_is_answered_in_one_line_with_the_requests_own_id(
    id: int | str, body: bytes
) -> None:
    answer = refusal(id, 413, body)

    assert b"\n" not in answer
    assert json.loads(answer)["id"] == id
    assert "413" in json.loads(answer)["error"]["message"]


@given(id=ids, other=st.none() | ids, code=st.integers())
def test_an_answer_has_the_requests_own_id_even_if_the_process_took_it_for_another(
    id: int | str, other: int | str | None, code: int
) -> None:
    told = {"jsonrpc": "2.0", "id": other, "error": {"code": code, "message": "no"}}

    answer = own_answer(id, 200, read_reply(json.dumps(told).encode()))

    assert json.loads(answer) == {**told, "id": id}


@given(line=st.binary() | values.map(lambda value: json.dumps(value).encode()))
def test_a_line_is_a_message_or_is_refused(line: bytes) -> None:
    with suppress(BadLine):
        assert read_message(line).line == line


@given(one=ids, other=ids)
def test_different_ids_have_different_keys(one: int | str, other: int | str) -> None:
    keys = [read_message(json.dumps({"id": id, "method": "m"}).encode()).key for id in (one, other)]

    assert (keys[0] == keys[1]) == (one == other)


@given(value=st.dictionaries(texts, values))
def test_a_reply_is_passed_on_as_one_line_with_the_same_content(value: dict[str, object]) -> None:
    for indent in (None, 2):
        reply = read_reply(json.dumps(value, indent=indent, ensure_ascii=False).encode())

        assert b"\n" not in reply.line
        assert json.loads(reply.line) == value
