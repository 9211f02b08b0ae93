"""What a client wants to hear of, and what it has not been told yet.

Whoever writes a conversation tells of it in its own thread, and never waits: what a client has still to be
told is kept once, however often it happens, so a slow client costs no more than what it watches. How it is
told is left to `subscriptions`.
"""

import asyncio
import threading
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Final

import anyio
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent

from backstory.errors import InputError
from backstory.mcp.resources import resource_at
from backstory.mcp.uris import CONVERSATIONS, GET, ROOM, SCHEMES, read_address
from backstory.model.live import ConversationNews

#: Addresses that one client may watch. A person looks at a few; a program that wants more watches the list.
MOST_WATCHED: Final = 1_000

#: What is meant by an address, however it is written: its place and its name.
_Topic = tuple[str, str]

_ANY: Final[_Topic] = ("", "")


class Subscriber:
    """One client. It is told in the event loop that made it; news may come from any thread."""

    def __init__(self, wanted: Collection[type[ServerEvent]]) -> None:
        self._wanted = wanted
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._watched: dict[_Topic, set[str]] = {}
        self._untold: dict[ServerEvent, None] = {}
        self._woken = anyio.Event()
        self._is_closed = False

    def watch(self, uri: str) -> None:
        """Hear when what is at an address changes; raises `InputError` when nothing ever could."""
        topic = _topic(uri)
        with self._lock:
            if uri in self._watched.get(topic, ()):
                return
            if sum(map(len, self._watched.values())) >= MOST_WATCHED:
                raise InputError(
                    f"{MOST_WATCHED:,} addresses are watched already",
                    hint=f"watch {CONVERSATIONS}list, which changes with every conversation",
                )
            self._watched.setdefault(topic, set()).add(uri)

    def unwatch(self, uri: str) -> None:
        """Do not hear of an address any more."""
        topic = _topic(uri)
        with self._lock:
            if left := self._watched.pop(topic, set()) - {uri}:
                self._watched[topic] = left
            self._untold.pop(ResourceUpdated(uri), None)

    def hear(self, news: ConversationNews) -> None:
        """Take note of what happened to a conversation."""
        topics = [(GET, news.conversation), (ROOM, news.room), _ANY]
        self._note(topics, [ResourcesListChanged()] if news.is_listed_anew else [])

    def overhear(self, event: ServerEvent) -> None:
        """Take note of what others said on the server's bus."""
        if isinstance(event, ResourceUpdated):
            self._note([_topic(event.uri)], [])
        else:
            self._note([], [event])

    async def untold(self) -> Sequence[ServerEvent]:
        """What is to be told, once there is something; nothing when the client is gone."""
        while not self._is_closed:
            await self._woken.wait()
            with self._lock:
                untold, self._untold = self._untold, {}
                self._woken = anyio.Event()
            if untold:
                return list(untold)
        return []

    def close(self) -> None:
        """The client is gone. To be called in its event loop."""
        self._is_closed = True
        self._woken.set()

    def _note(self, topics: Iterable[_Topic], events: Iterable[ServerEvent]) -> None:
        with self._lock:
            updated = [ResourceUpdated(uri) for topic in topics for uri in self._watched.get(topic, ())]
            told = [*updated, *(event for event in events if type(event) in self._wanted)]
            is_news = bool(told) and not self._untold
            self._untold |= dict.fromkeys(told)
        if is_news:
            with suppress(RuntimeError):  # the loop has ended, and the client with it
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._woken.set()


def _topic(uri: str) -> _Topic:
    """What changes when that at the address does; what is not ours is known by its address alone."""
    if not uri.startswith(SCHEMES):
        return "", uri
    address = read_address(uri)
    found, _ = resource_at(address)
    if not uri.startswith(CONVERSATIONS):
        raise InputError(f"nobody is told when {found.place} changes", hint="read it when you need it")
    return (address.place, address.name) if found.variable else _ANY
