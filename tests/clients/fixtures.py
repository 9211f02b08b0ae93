"""The tools, resources and prompts that the conformance suite calls, added to a server of ours.

The suite checks the protocol by names that are agreed on between it and every server it tests. What
must ask the client something before it can answer is in `questions.py`.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final

import anyio
from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    AudioContent,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import Field

from tests.clients import questions

Server = MCPServer[Any]
Asked = Context[Any, Any]

#: One red pixel, and two samples of silence.
PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV: Final = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

#: The suite looks whether messages arrive while the tool runs, so it has to run a little.
STEP_S: Final = 0.05


def add_fixtures(server: Server) -> None:
    """Give the server everything that the suite's scenarios call."""
    for name, tool in {**TOOLS, **questions.TOOLS}.items():
        server.add_tool(tool, name=name, structured_output=False)
    for name, prompt in {**PROMPTS, **questions.PROMPTS}.items():
        server.prompt(name=name)(prompt)
    for uri, (mime_type, resource) in RESOURCES.items():
        server.resource(uri, mime_type=mime_type)(resource)
    # The server has no public way to add a handler of a method: what 2026-07-28 did away with is one.
    low_level = server._lowlevel_server
    low_level.add_request_handler("completion/complete", CompleteRequestParams, complete)
    low_level.add_request_handler("logging/setLevel", SetLevelRequestParams, accept)
    low_level.add_request_handler("resources/subscribe", SubscribeRequestParams, accept)
    low_level.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, accept)


def simple_text() -> str:
    """Answers with text."""
    return "This is a simple text response for testing."


def image() -> list[ContentBlock]:
    """Answers with an image."""
    return [ImageContent(data=PNG, mime_type="image/png")]


def audio() -> list[ContentBlock]:
    """Answers with a sound."""
    return [AudioContent(data=WAV, mime_type="audio/wav")]


def embedded_resource() -> list[ContentBlock]:
    """Answers with a resource."""
    return [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]


def multiple_contents() -> list[ContentBlock]:
    """Answers with text, an image and a resource."""
    data = json.dumps({"test": "data", "value": 123})
    return [
        TextContent(text="Multiple content types test:"),
        ImageContent(data=PNG, mime_type="image/png"),
        embedded("test://mixed-content-resource", "application/json", data),
    ]


async def with_logging(ctx: Asked) -> str:
    """Logs three messages on its way."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(message)
        await anyio.sleep(STEP_S)
    return "logged"


async def with_progress(ctx: Asked) -> str:
    """Reports its progress three times."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100, f"{done} of 100")
        await anyio.sleep(STEP_S)
    return "done"


def error() -> str:
    """Fails always."""
    raise ToolError("This tool intentionally returns an error for testing")


def by_region(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Takes an argument that is repeated in a header of the request."""
    return f"region {region}"


async def change_tools(ctx: Asked) -> str:
    """Says that the list of tools has changed."""
    await ctx.notify_tools_changed()
    return "told"


async def change_prompts(ctx: Asked) -> str:
    """Says that the list of prompts has changed."""
    await ctx.notify_prompts_changed()
    return "told"


TOOLS: Final[Mapping[str, Callable[..., object]]] = {
    "test_simple_text": simple_text,
    "test_image_content": image,
    "test_audio_content": audio,
    "test_embedded_resource": embedded_resource,
    "test_multiple_content_types": multiple_contents,
    "test_tool_with_logging": with_logging,
    "test_logging_tool": with_logging,
    "test_tool_with_progress": with_progress,
    "test_error_handling": error,
    "test_x_mcp_header": by_region,
    "test_trigger_tool_change": change_tools,
    "test_trigger_prompt_change": change_prompts,
}


def simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


def prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt that shows its arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


# The suite names the argument so.
def prompt_with_resource(resourceUri: str) -> Sequence[UserMessage]:  # noqa: N803
    """A prompt that holds a resource."""
    return [
        UserMessage(embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
        UserMessage("Please process the embedded resource above."),
    ]


def prompt_with_image() -> Sequence[UserMessage]:
    """A prompt that holds an image."""
    return [
        UserMessage(ImageContent(data=PNG, mime_type="image/png")),
        UserMessage("Please analyze the image above."),
    ]


PROMPTS: Final[Mapping[str, Callable[..., object]]] = {
    "test_simple_prompt": simple_prompt,
    "test_prompt_with_arguments": prompt_with_arguments,
    "test_prompt_with_embedded_resource": prompt_with_resource,
    "test_prompt_with_image": prompt_with_image,
}


def static_text() -> str:
    """A text that is always the same."""
    return "This is the content of the static text resource."


def static_binary() -> bytes:
    """An image that is always the same."""
    return base64.b64decode(PNG)


def watched() -> str:
    """A text that one may subscribe to."""
    return "Watched resource content"


def from_template(id: str) -> str:
    """A text that depends on its address."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


RESOURCES: Final[Mapping[str, tuple[str, Callable[..., str | bytes]]]] = {
    "test://static-text": ("text/plain", static_text),
    "test://static-binary": ("image/png", static_binary),
    "test://watched-resource": ("text/plain", watched),
    "test://template/{id}/data": ("application/json", from_template),
}


async def complete(ctx: ServerRequestContext[Any], params: CompleteRequestParams) -> CompleteResult:
    """Nothing comes to mind; the suite only wants to be answered."""
    return CompleteResult(completion=Completion(values=[], total=0, has_more=False))


async def accept(ctx: ServerRequestContext[Any], params: object) -> EmptyResult:
    """Taken note of."""
    return EmptyResult()


def embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    """A text resource inside an answer."""
    return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime_type, text=text))
