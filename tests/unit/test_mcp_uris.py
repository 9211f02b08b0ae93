"""The addresses of conversations and of what the store tells, read and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstory.errors import InputError
from backstory.mcp.resources import RESOURCES
from backstory.mcp.uris import LONGEST, ROOM, Address, read_address, write_address

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=100)


@given(name=TEXTS, asked=st.dictionaries(TEXTS.filter(lambda key: key.isidentifier()), TEXTS, max_size=4))
def test_what_is_written_is_read(name: str, asked: dict[str, str]) -> None:
    assert read_address(write_address(ROOM, name, asked)) == Address(ROOM, name, asked)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("conversations://room/!abc:server.org", "!abc:server.org"),
        ("conversations://room/%21abc%3Aserver.org", "!abc:server.org"),
        ("conversations://room/#general:server.org", "#general:server.org"),
        ("conversations://room/a%2Fb", "a/b"),
        ("conversations://room/a/b", "a/b"),
        ("conversations://room/c:d", "c:d"),
        ("conversations://room/..", ".."),
        ("conversations://room/caf%C3%A9+", "café+"),
    ],
)
def test_a_name_may_be_encoded_or_not(uri: str, name: str) -> None:
    assert read_address(uri).name == name


def test_a_time_may_have_a_plus_in_it() -> None:
    asked = read_address("conversations://list?from=2026-03-01T09:30:00+01:00").asked

    assert asked == {"from": "2026-03-01T09:30:00+01:00"}


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("file:///etc/passwd", "conversations://"),
        ("file:///etc/passwd", "backstory://"),
        ("conversations://list?limit=1&limit=2", "twice"),
        ("conversations://get/%ff", "UTF-8"),
        (f"conversations://get/{'x' * LONGEST}", f"it may have {LONGEST:,}"),
    ],
)
def test_what_is_no_address_is_refused(uri: str, told: str) -> None:
    with pytest.raises(InputError) as raised:
        read_address(uri)

    assert told in f"{raised.value} {raised.value.hint}"


def test_templates_name_all_that_can_be_asked() -> None:
    assert [each.template for each in RESOURCES.values() if not each.place.endswith("search")] == [
        "conversations://list{?interface_type,from,to,project,limit,cursor}",
        "conversations://recent{?limit,project}",
        "conversations://get/{id}{?offset,limit,project}",
        "conversations://room/{roomId}{?project,limit,cursor}",
        "backstory://schema/{type}",
        "backstory://working{?task,max_tokens,types,project}",
    ]
    assert RESOURCES["conversations://search"].template.startswith("conversations://search{?query,")
