"""Tools called as an agent calls them, and their two forms held against each other."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, TextContent


def text_of(result: CallToolResult) -> str:
    """The text form of an answer."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer, once the text was found to say the same."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    text = unindented(text_of(result))
    for value in leaves(result.structured_content):
        assert unindented(value) in text
    return dict(result.structured_content)


def unindented(text: str) -> str:
    """The text with every line begun at the left: what somebody said is indented among our own lines."""
    return "\n".join(line.lstrip() for line in text.splitlines())


async def failure(client: Client, tool: str, arguments: dict[str, object]) -> str:
    """What is said of a call that cannot be done."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return text_of(result)


def leaves(value: object) -> Iterator[str]:
    """Every value inside an answer, as the text has it."""
    match value:
        case bool():
            return
        case Mapping():
            for key, each in value.items():
                if key == "metadata":  # stands in the text as it is
                    yield json.dumps(each, ensure_ascii=False)
                else:
                    yield from leaves(each)
        case list():
            for each in value:
                yield from leaves(each)
        case _:
            yield str(value)
