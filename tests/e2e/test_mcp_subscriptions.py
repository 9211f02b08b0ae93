"""Clients hear that conversations changed: in memory, over HTTP and through the bridge, in both eras."""

import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client, MCPError
from mcp.client.client import ConnectMode
from mcp.client.session import IncomingMessage, MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import (
    INVALID_PARAMS,
    EmptyResult,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    SubscribeRequest,
    SubscribeRequestParams,
    UnsubscribeRequest,
    UnsubscribeRequestParams,
)

from backstory.actions.conversations.add_turn import Said, add_turn
from backstory.actions.conversations.change import delete_conversation, update_conversation
from backstory.actions.conversations.create import Wanted, create_conversation
from backstory.actions.transcripts.choosing import Wish
from backstory.actions.transcripts.ingest import ingest_transcripts
from backstory.actions.transcripts.retention import forget_old
from backstory.engine import Engine, TranscriptPlaces, Work
from backstory.mcp.face import Face
from backstory.mcp.news import MOST_WATCHED
from backstory.mcp.server import create_server
from backstory.model.live import ConversationNews, LiveConversation
from backstory.model.project import Project
from tests.e2e.hosting import hosted, settings_for
from tests.e2e.transcript_files import Exchange, session_id, write_transcript

pytestmark = pytest.mark.anyio

SHOP = Project("shop")
LIST = "conversations://list"

Connecting = Callable[[ConnectMode, MessageHandlerFnT | None], AbstractAsyncContextManager[Client]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> ConnectMode:
    mode: ConnectMode = request.param
    return mode


@pytest.fixture
def in_memory(engine: Engine) -> Connecting:
    return connecting_to(engine)


def connecting_to(engine: Engine) -> Connecting:
    """Clients in this process."""
    server = create_server(Face(engine))
    return lambda mode, handler: Client(server, mode=mode, message_handler=handler)


@pytest.fixture(params=["in memory", "over http"])
def connecting(request: pytest.FixtureRequest, engine: Engine, home: Path) -> Iterator[Connecting]:
    """How a client reaches the server."""
    if request.param == "in memory":
        yield connecting_to(engine)
        return

    @asynccontextmanager
    async def over_http(mode: ConnectMode, handler: MessageHandlerFnT | None) -> AsyncIterator[Client]:
        async with create_mcp_http_client(headers={"Authorization": f"Bearer {http.token}"}) as session:
            transport = streamable_http_client(f"http://127.0.0.1:{http.port}/mcp", http_client=session)
            async with Client(transport, mode=mode, message_handler=handler) as client:
                yield client

    with hosted(engine, settings_for(home)) as (_, http):
        yield over_http


@dataclass(frozen=True)
class Listener:
    """A client that listens, and what it heard."""

    client: Client
    heard: MemoryObjectReceiveStream[ServerEvent]

    async def next(self) -> ServerEvent:
        with anyio.fail_after(30):
            return await self.heard.receive()

    async def hears(self, happens: Callable[[], object]) -> set[ServerEvent]:
        """What is heard when something happens. It happens again until it is.

        A client of the older era opens its stream by itself, and what is said before goes unheard.
        """
        with anyio.fail_after(30):
            while True:
                await to_thread.run_sync(happens)
                with anyio.move_on_after(0.2):
                    first = await self.heard.receive()
                    return {first, *self.also()}

    def also(self) -> set[ServerEvent]:
        """What else was heard until now."""
        found: set[ServerEvent] = set()
        while self.heard.statistics().current_buffer_used:
            found.add(self.heard.receive_nowait())
        return found


@asynccontextmanager
async def listening(connecting: Connecting, era: ConnectMode, *uris: str) -> AsyncIterator[Listener]:
    """A client that listens for lists and addresses."""
    send, receive = anyio.create_memory_object_stream[ServerEvent](math.inf)
    with send, receive:
        async with connecting(era, _hearing(send)) as client:
            if era == "legacy":
                for uri in uris:
                    await watch(client, uri)
                yield Listener(client, receive)
                return
            async with (
                client.listen(resources_list_changed=True, resource_subscriptions=uris) as news,
                anyio.create_task_group() as beside,
            ):
                beside.start_soon(_pass_on, news, send)
                yield Listener(client, receive)
                beside.cancel_scope.cancel()


def _hearing(send: MemoryObjectSendStream[ServerEvent]) -> MessageHandlerFnT:
    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            send.send_nowait(ResourceUpdated(message.params.uri))
        elif isinstance(message, ResourceListChangedNotification):
            send.send_nowait(ResourcesListChanged())

    return hear


async def _pass_on(news: AsyncIterator[ServerEvent], send: MemoryObjectSendStream[ServerEvent]) -> None:
    async for event in news:
        send.send_nowait(event)


async def watch(client: Client, uri: str) -> None:
    """Subscribe, in the older era."""
    await client.session.send_request(SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult)


async def unwatch(client: Client, uri: str) -> None:
    await client.session.send_request(
        UnsubscribeRequest(params=UnsubscribeRequestParams(uri=uri)), EmptyResult
    )


def begin(engine: Engine, room: str) -> LiveConversation:
    return create_conversation(engine, SHOP, Wanted("matrix", room)).conversation


def say(engine: Engine, conversation: LiveConversation) -> None:
    add_turn(engine, SHOP, conversation.id, Said("What now?"))


async def test_who_watches_a_conversation_hears_that_it_grew(
    engine: Engine, connecting: Connecting, era: ConnectMode
) -> None:
    live, other = begin(engine, "!a:b"), begin(engine, "!c:d")
    uri = f"conversations://get/{live.id}"

    async with listening(connecting, era, uri) as listener:
        say(engine, other)

        assert await listener.hears(lambda: say(engine, live)) == {ResourceUpdated(uri)}


async def test_an_address_is_told_of_as_it_was_spelled(
    engine: Engine, in_memory: Connecting, era: ConnectMode
) -> None:
    plain, encoded = "conversations://get/a:b", "conversations://get/a%3Ab?limit=5"

    async with listening(in_memory, era, plain, encoded) as listener:
        engine.changes.tell(ConversationNews("a:b"))

        assert {await listener.next(), await listener.next()} == {
            ResourceUpdated(plain),
            ResourceUpdated(encoded),
        }


async def test_who_watches_a_room_hears_that_something_happened_in_it(
    engine: Engine, in_memory: Connecting, era: ConnectMode
) -> None:
    live, other = begin(engine, "!a:b"), begin(engine, "!c:d")
    uri = "conversations://room/%21a%3Ab"

    async with listening(in_memory, era, uri) as listener:
        say(engine, other)
        update_conversation(engine, SHOP, live.id, title="New")

        assert await listener.next() == ResourceUpdated(uri)


@pytest.mark.parametrize("uri", [LIST, "conversations://recent?limit=5", "conversations://search?query=x"])
async def test_what_shows_many_conversations_changes_with_each_of_them(
    engine: Engine, in_memory: Connecting, era: ConnectMode, uri: str
) -> None:
    async with listening(in_memory, era, uri) as listener:
        engine.changes.tell(ConversationNews("a"))

        assert await listener.next() == ResourceUpdated(uri)


async def test_everybody_hears_that_a_conversation_came_or_went(
    engine: Engine, connecting: Connecting, era: ConnectMode
) -> None:
    rooms = iter(range(1_000))

    async with listening(connecting, era) as listener:
        came = await listener.hears(lambda: begin(engine, f"!{next(rooms)}:b"))
        live = begin(engine, "!a:b")
        await listener.next()
        say(engine, live)
        delete_conversation(engine, SHOP, live.id)
        went = await listener.next()

    assert came == {ResourcesListChanged()}
    assert went == ResourcesListChanged()


async def test_who_ends_a_subscription_hears_no_more(engine: Engine, in_memory: Connecting) -> None:
    uris = ["conversations://get/a", "conversations://get/b"]

    async with listening(in_memory, "legacy", *uris) as listener:
        await unwatch(listener.client, uris[0])
        engine.changes.tell(ConversationNews("a"))
        engine.changes.tell(ConversationNews("b"))

        assert await listener.next() == ResourceUpdated(uris[1])


async def test_a_burst_is_told_once_and_nobody_waits_for_who_listens(
    engine: Engine, in_memory: Connecting, era: ConnectMode
) -> None:
    async with listening(in_memory, era, "conversations://get/a", "conversations://get/b") as listener:
        for _ in range(10_000):  # no client can be told meanwhile: the loop does not turn
            engine.changes.tell(ConversationNews("a"))
        engine.changes.tell(ConversationNews("b"))
        heard = [await listener.next(), await listener.next()]
        engine.changes.tell(ConversationNews("a"))
        heard.append(await listener.next())

    assert heard == [ResourceUpdated(f"conversations://get/{id}") for id in "aba"]


async def test_nothing_is_kept_for_a_client_that_is_gone(
    engine: Engine, connecting: Connecting, era: ConnectMode
) -> None:
    before = len(engine.changes._listeners)
    async with listening(connecting, era, LIST):
        assert len(engine.changes._listeners) > before

    with anyio.fail_after(30):
        while len(engine.changes._listeners) > before:
            await anyio.sleep(0)


async def watch_all(client: Client, era: ConnectMode, *uris: str) -> None:
    """Watch addresses for a moment, as an era does it."""
    if era == "legacy":
        for uri in uris:
            await watch(client, uri)
    else:
        async with client.listen(resource_subscriptions=uris):
            pass


async def test_an_address_at_which_nothing_can_be_is_not_watched(engine: Engine, era: ConnectMode) -> None:
    async with Client(create_server(Face(engine)), mode=era) as client:
        with pytest.raises(MCPError, match="conversations://room/") as raised:
            await watch_all(client, era, "conversations://rooms/a")

    assert raised.value.code == INVALID_PARAMS
    assert raised.value.data == {"uri": "conversations://rooms/a"}


@pytest.mark.parametrize("uri", ["backstory://working?task=x", "backstory://schema/design"])
async def test_what_nobody_is_told_of_cannot_be_watched(engine: Engine, era: ConnectMode, uri: str) -> None:
    async with Client(create_server(Face(engine)), mode=era) as client:
        with pytest.raises(MCPError, match="nobody is told") as raised:
            await watch_all(client, era, uri)

    assert raised.value.code == INVALID_PARAMS
    assert raised.value.data == {"uri": uri}


async def test_nobody_watches_more_than_a_person_could(engine: Engine, era: ConnectMode) -> None:
    uris = [f"conversations://get/{number}" for number in range(MOST_WATCHED + 1)]

    async with Client(create_server(Face(engine)), mode=era) as client:
        await watch_all(client, era, *uris[:MOST_WATCHED])
        await watch_all(client, era, uris[0])
        with pytest.raises(MCPError, match=LIST) as raised:
            await watch_all(client, era, *uris)

    assert raised.value.code == INVALID_PARAMS


async def test_clients_are_told_that_they_may_subscribe(
    engine: Engine, connecting: Connecting, era: ConnectMode
) -> None:
    async with connecting(era, None) as client:
        able = client.server_capabilities

    assert able is not None
    assert able.resources is not None
    assert (able.resources.subscribe, able.resources.list_changed) == (True, True)


async def test_a_transcript_is_told_of_when_it_comes_and_grows_and_goes(
    engine: Engine, era: ConnectMode, tmp_path: Path
) -> None:
    root = tmp_path / "projects"
    reading = replace(engine, transcripts=TranscriptPlaces((root,)))
    uri = f"conversations://get/{session_id('talk')}"

    def read_in(*said: str) -> None:
        write_transcript(root, "talk", "/home/ann/shop", *(Exchange(each, "Yes.") for each in said))
        ingest_transcripts(reading, Wish(), Work())

    async with listening(connecting_to(reading), era, uri) as listener:
        read_in("why?")
        came = {await listener.next(), await listener.next()}
        read_in("why?", "and then?")
        grew = await listener.next()
        ingest_transcripts(reading, Wish(), Work())  # nothing is new
        forget_old(reading, -1, Work())
        went = {await listener.next(), await listener.next()}

    assert came == went == {ResourceUpdated(uri), ResourcesListChanged()}
    assert grew == ResourceUpdated(uri)
