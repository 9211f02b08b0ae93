"""What an agent is told of the tools without calling them: the instructions, and the topics of the help."""

import json
import re

import pytest

from backstory.mcp.instructions import INSTRUCTIONS
from backstory.mcp.tool import ALL, Toolbox
from backstory.mcp.tools import TOOLS
from backstory.mcp.tools.guide import TOPICS
from backstory.mcp.tools.memory import MEMORY
from backstory.model.graph import RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.schema import json_schema

TEXTS = {topic: text(Toolbox(TOOLS, [ALL])) for topic, text in TOPICS.items()}

LOOKS_LIKE_A_TOOL = r"\b(?:memory|working|ingest|export|import|conversation|read|search|list)_[a-z_]+\b"


@pytest.mark.parametrize("topic", [topic for topic in TOPICS if topic != "schemas"])
def test_no_topic_names_a_tool_that_is_not_there(topic: str) -> None:
    named = set(re.findall(LOOKS_LIKE_A_TOOL, TEXTS[topic]))

    assert named <= set(TOOLS)


def test_the_instructions_name_no_tool_that_is_not_there() -> None:
    assert set(re.findall(LOOKS_LIKE_A_TOOL, INSTRUCTIONS)) <= set(TOOLS)


def test_the_topic_memory_names_every_tool_for_memories() -> None:
    about = {name for name, tool in TOOLS.items() if MEMORY in tool.toolsets}

    assert [name for name in sorted(about - {"memory_search"}) if name not in TEXTS["memory"]] == []


@pytest.mark.parametrize("name", KINDS)
def test_the_topic_types_has_every_field_and_what_it_may_hold(name: str) -> None:
    (line,) = [line for line in TEXTS["types"].splitlines() if line.startswith(f"- {name} ")]

    for field in KINDS[name].fields:
        required, is_list = "*" if field.required else "", "[]" if field.shape.item else ""
        assert f"{field.name}{is_list}{required}" in line
        assert all(value in line for value in field.one_of)


def test_the_topic_types_has_every_relationship() -> None:
    assert all(each in TEXTS["types"] for each in RelationshipType)


def test_the_topic_schemas_has_the_schema_of_every_type() -> None:
    assert json.loads(TEXTS["schemas"]) == {name: json_schema(kind) for name, kind in KINDS.items()}
