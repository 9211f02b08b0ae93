"""What a client may have missed while the process was gone, or had forgotten its session.

It never learns of that, so it would not look again by itself. It is told that all it listens for may be
different. Pure.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from backstory.bridge.messages import Message

UPDATED: Final = "notifications/resources/updated"

#: Lists that may change, by what a client asks for in the newer era.
_ASKED: Final = {
    "toolsListChanged": "tools",
    "promptsListChanged": "prompts",
    "resourcesListChanged": "resources",
}


def missed_by_stream(listen: Message) -> Iterator[bytes]:
    """Lines for a client of the newer era, which asked for a stream of news."""
    asked = _object(listen.params.get("notifications"))
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": listen.id}}
    uris = asked.get("resourceSubscriptions")
    lists = [name for key, name in _ASKED.items() if asked.get(key) is True]
    return _lines(lists, uris if isinstance(uris, list) else (), meta)


def missed_in_session(capabilities: object, uris: Iterable[str]) -> Iterator[bytes]:
    """Lines for a session of the older era: the lists that may change as it was told, and what it watches."""
    able = _object(capabilities)
    lists = [name for name in _ASKED.values() if _object(able.get(name)).get("listChanged") is True]
    return _lines(lists, uris, {})


def _lines(lists: Iterable[str], uris: Iterable[str], meta: Mapping[str, Any]) -> Iterator[bytes]:
    for name in lists:
        yield _line(f"notifications/{name}/list_changed", meta)
    for uri in uris:
        yield _line(UPDATED, {"uri": uri, **meta})


def _line(method: str, params: Mapping[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode("ascii")


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
