"""Clients are told that conversations changed, in both eras of the protocol.

A client of the newer era asks by one request whose answer is the stream of news (`subscriptions/listen`).
One of the older era has a session: it names addresses (`resources/subscribe`), and hears without asking
that the list of resources changed.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any, Final

from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    SubscriptionBus,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import event_to_notification
from mcp.types import (
    INTERNAL_ERROR,
    EmptyResult,
    NotificationParams,
    SubscribeRequestParams,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from backstory.engine import Changes
from backstory.errors import InputError
from backstory.mcp.news import Subscriber
from backstory.mcp.resource_methods import refused

#: Streams open at once; each is a connection. As many as the SDK allows.
MOST_STREAMS: Final = 1_024

_STATE: Final = "backstory.subscriber"

_Asked = ServerRequestContext[TaskGroup, Any]


class Subscriptions:
    """Connects clients with what is told of conversations, and with what others say on the server's bus."""

    def __init__(self, changes: Changes, bus: SubscriptionBus) -> None:
        self._changes = changes
        self._bus = bus
        self._streams = 0

    async def listen(
        self, ctx: _Asked, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """One stream of news, for as long as the client wants it."""
        if self._streams >= MOST_STREAMS:
            raise MCPError(INTERNAL_ERROR, "too many clients listen; end other subscriptions first")
        wanted = params.notifications
        meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        subscriber = Subscriber(_kinds(wanted))
        _watch(subscriber, wanted.resource_subscriptions or ())
        with ExitStack() as stack:
            self._streams += 1
            stack.callback(self._leave)
            stack.callback(self._changes.listen(subscriber.hear))
            stack.callback(self._bus.subscribe(subscriber.overhear))
            told = SubscriptionsAcknowledgedNotificationParams(notifications=_honoured(wanted), _meta=meta)
            await ctx.session.send_notification(
                SubscriptionsAcknowledgedNotification(params=told), related_request_id=ctx.request_id
            )
            while untold := await subscriber.untold():
                for event in untold:
                    notification = event_to_notification(event, meta)
                    await ctx.session.send_notification(notification, related_request_id=ctx.request_id)
        return SubscriptionsListenResult(_meta=meta)

    async def subscribe(self, ctx: _Asked, params: SubscribeRequestParams) -> EmptyResult:
        """The session hears of an address from now on."""
        _watch(self._session(ctx), [params.uri])
        return EmptyResult()

    async def unsubscribe(self, ctx: _Asked, params: UnsubscribeRequestParams) -> EmptyResult:
        """The session does not hear of an address any more."""
        try:
            self._session(ctx).unwatch(params.uri)
        except InputError as error:
            raise refused(error, params.uri) from error
        return EmptyResult()

    async def greet(self, ctx: _Asked, _params: NotificationParams) -> None:
        """A session has begun: it hears when conversations come and go."""
        self._session(ctx)

    def _session(self, ctx: _Asked) -> Subscriber:
        # The SDK keeps state and farewells of a session for its handlers, behind this name alone.
        connection = ctx.session._connection  # noqa: SLF001
        if _STATE not in connection.state:
            subscriber = Subscriber({ResourcesListChanged})
            connection.state[_STATE] = subscriber
            connection.exit_stack.callback(subscriber.close)
            connection.exit_stack.callback(self._changes.listen(subscriber.hear))
            ctx.lifespan_context.start_soon(_pass_on, subscriber, connection)
        found: Subscriber = connection.state[_STATE]
        return found

    def _leave(self) -> None:
        self._streams -= 1


async def _pass_on(subscriber: Subscriber, connection: Connection) -> None:
    """Tell a session what is new, until it ends."""
    while untold := await subscriber.untold():
        for event in untold:
            if isinstance(event, ResourceUpdated):
                await connection.send_resource_updated(event.uri)
            else:
                await connection.send_resource_list_changed()


def _watch(subscriber: Subscriber, uris: Iterable[str]) -> None:
    for uri in uris:
        try:
            subscriber.watch(uri)
        except InputError as error:
            raise refused(error, uri) from error


def _kinds(wanted: SubscriptionFilter) -> set[type[ServerEvent]]:
    asked: dict[type[ServerEvent], bool | None] = {
        ToolsListChanged: wanted.tools_list_changed,
        PromptsListChanged: wanted.prompts_list_changed,
        ResourcesListChanged: wanted.resources_list_changed,
    }
    return {kind for kind, is_wanted in asked.items() if is_wanted}


def _honoured(wanted: SubscriptionFilter) -> SubscriptionFilter:
    """What is agreed to: all that was asked for, and nothing that was not."""
    return SubscriptionFilter(
        tools_list_changed=wanted.tools_list_changed or None,
        prompts_list_changed=wanted.prompts_list_changed or None,
        resources_list_changed=wanted.resources_list_changed or None,
        resource_subscriptions=list(wanted.resource_subscriptions or ()) or None,
    )
