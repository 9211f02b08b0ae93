"""The page about the resources, held against the code."""

import json
import re
from pathlib import Path

import pytest

from backstory.mcp.news import MOST_WATCHED
from backstory.mcp.resource import Resource
from backstory.mcp.resource_answers import ConversationsLinked
from backstory.mcp.resources import RESOURCES, resource_at
from backstory.mcp.uris import read_address

PAGE = (Path(__file__).parents[1] / "docs" / "resources.md").read_text("utf-8")


@pytest.mark.parametrize("resource", RESOURCES.values(), ids=list(RESOURCES))
def test_the_table_has_the_resource(resource: Resource) -> None:
    assert f"| `{resource.template}` | {resource.tool.description} |" in PAGE.splitlines()


def test_the_table_has_nothing_else() -> None:
    assert len(re.findall(r"^\| `\w+://", PAGE, re.MULTILINE)) == len(RESOURCES)


def test_the_example_is_one() -> None:
    asked, answered = [json.loads(each) for each in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
    body = ConversationsLinked.model_validate(answered)

    for uri in (asked["params"]["uri"], body.next, *(each.uri for each in body.conversations)):
        resource_at(read_address(str(uri)))
    assert body.structured() == answered


def test_the_page_says_how_much_may_be_watched() -> None:
    assert f"{MOST_WATCHED:,} addresses" in PAGE
