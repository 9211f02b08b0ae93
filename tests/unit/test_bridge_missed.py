"""What a client is told that may have missed something."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from backstory.bridge.messages import Message
from backstory.bridge.missed import missed_by_stream, missed_in_session


def listen(notifications: object) -> Message:
    return Message(b"", "subscriptions/listen", "sub", has_id=True, params={"notifications": notifications})


def told(lines: Iterable[bytes]) -> list[tuple[str, dict[str, Any]]]:
    messages = [json.loads(line) for line in lines]
    return [(message["method"], message["params"]) for message in messages]


def test_a_stream_hears_of_all_that_it_asked_for_and_nothing_else() -> None:
    asked = {"resourcesListChanged": True, "toolsListChanged": False, "resourceSubscriptions": ["a:b", "c:d"]}
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": "sub"}}

    assert told(missed_by_stream(listen(asked))) == [
        ("notifications/resources/list_changed", meta),
        ("notifications/resources/updated", {"uri": "a:b", **meta}),
        ("notifications/resources/updated", {"uri": "c:d", **meta}),
    ]


def test_a_session_hears_of_the_lists_that_may_change_and_of_what_it_watches() -> None:
    able = {"tools": {"listChanged": True}, "prompts": {"listChanged": False}, "resources": {}}

    assert told(missed_in_session(able, ["a:b"])) == [
        ("notifications/tools/list_changed", {}),
        ("notifications/resources/updated", {"uri": "a:b"}),
    ]


@pytest.mark.parametrize("nonsense", [None, [], "x", {"resourceSubscriptions": 3}, {"resources": []}])
def test_who_asked_for_nothing_that_is_known_hears_nothing(nonsense: object) -> None:
    assert told(missed_by_stream(listen(nonsense))) == []
    assert told(missed_in_session(nonsense, [])) == []
