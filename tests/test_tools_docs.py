"""The page about the tools, held against the code: names, parameters, descriptions, examples."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from backstory.mcp.arguments import allowed, read_arguments
from backstory.mcp.schemas import lean_schema
from backstory.mcp.tool import Tool
from backstory.mcp.tools import TOOLS
from backstory.mcp.tools.guide import TOPICS

PAGE = (Path(__file__).parents[1] / "docs" / "tools.md").read_text("utf-8")
CHAPTERS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))

every_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))


def rows_of(tool: Tool[Any, Any]) -> list[str]:
    """The lines of a tool's table of parameters."""
    schema = lean_schema(tool.arguments)
    return [_row(name, each, schema.get("required", ())) for name, each in schema["properties"].items()]


def _row(name: str, schema: Mapping[str, Any], required: list[str]) -> str:
    default = "required" if name in required else _default(schema)
    return f"| `{name}` | {allowed(dict(schema))} | {default} | {schema['description']} |"


def _default(schema: Mapping[str, Any]) -> str:
    match schema.get("default"):
        case None:
            return "none"
        case bool(value):
            return f"`{str(value).lower()}`"
        case value:
            return f"`{value}`"


def test_every_tool_has_its_chapter_in_the_order_of_the_list() -> None:
    assert list(CHAPTERS) == list(TOOLS)


@every_tool
def test_the_chapter_says_what_agents_are_told(tool: Tool[Any, Any]) -> None:
    chapter = CHAPTERS[tool.name]

    assert tool.description in chapter
    assert f"Toolsets: {', '.join(f'`{each}`' for each in tool.toolsets)}." in chapter


@every_tool
def test_the_table_has_every_parameter(tool: Tool[Any, Any]) -> None:
    assert re.findall(r"^\| `.*$", CHAPTERS[tool.name], re.MULTILINE) == rows_of(tool)


@every_tool
def test_the_example_could_be_real(tool: Tool[Any, Any]) -> None:
    asked, structured = (
        json.loads(each) for each in re.findall(r"```json\n(.*?)```", CHAPTERS[tool.name], re.DOTALL)
    )
    (text,) = re.findall(r"```text\n(.*?)\n```", CHAPTERS[tool.name], re.DOTALL)

    answer = tool.answer.model_validate(structured, strict=False)

    assert read_arguments(tool.arguments, asked)
    assert answer.structured() == structured
    assert tool.render(answer) == text


def test_the_topics_of_the_help_are_named() -> None:
    for topic in TOPICS:
        assert f"`{topic}`" in CHAPTERS["backstory_help"]
