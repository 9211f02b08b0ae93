"""A first session: starts Backstory, shows what it knows, and how an agent is connected to it.

When nothing was kept yet, a small sample is loaded into a project of its own. The process stays in
the background, as it does when an agent starts it, and stops by itself when nobody uses it.
"""

import json
import shlex
import sys
from pathlib import Path
from typing import Final

from backstory.bridge.whereabouts import HOME_VARIABLE, Whereabouts
from backstory.cli.connecting import claude_by_http, claude_by_stdio, mcp_json, program
from backstory.errors import BackstoryError
from backstory.http.client import Answer, ask, start
from backstory.settings import Settings, read_settings

SAMPLE: Final = Path(__file__).parent / "sample.jsonl"
SAMPLE_PROJECT: Final = "sample-shop"
ALL_PROJECTS: Final = "*"
QUESTION: Final = "why did charging a customer twice never happen again?"


def asked(where: Whereabouts, verb: str, key: str | None = None, **arguments: object) -> Answer:
    return ask(where, verb, arguments, directory=Path.cwd(), key=key)


def load_sample(where: Whereabouts) -> None:
    for number, line in enumerate(SAMPLE.read_text("utf-8").splitlines()):
        asked(where, "memory_add", key=f"sample {number}", project=SAMPLE_PROJECT, **json.loads(line))
    print(f"There was nothing yet, so the sample was loaded into the project {SAMPLE_PROJECT}.\n")


def show_what_is_there(where: Whereabouts) -> None:
    found = asked(where, "memory_statistics", project=ALL_PROJECTS).answer
    print(f"Memories: {found['total']}, projects: {found['projects']}, in {where.home}")
    for type_, count in found["memories"].items():
        print(f"  {count:>4}  {type_}")


def search(where: Whereabouts, question: str) -> None:
    print(f"\n> {question}\n")
    print(asked(where, "memory_search", query=question, project=ALL_PROJECTS, limit=3).text)


def show_how_to_connect(settings: Settings, url: str) -> None:
    where = settings.whereabouts
    environ = {HOME_VARIABLE: str(where.home)} if settings.chosen(HOME_VARIABLE) else {}
    print(f"\nBackstory runs at {url}. Connect Claude Code to it:\n\n  {claude_by_stdio(environ)}\n")
    print(f"or by HTTP, in the folder of a project:\n\n  {claude_by_http(url, where.token)}\n")
    print(f"or in the .mcp.json of a repository:\n\n  {mcp_json(environ)}\n")
    print(f"It stops when it has not been used for a while, or by: {shlex.join([*program(), 'stop'])}")


def main() -> None:
    settings = read_settings()
    where = settings.whereabouts
    process = start(where)
    if not asked(where, "memory_statistics", project=ALL_PROJECTS).answer["total"]:
        load_sample(where)
    show_what_is_there(where)
    search(where, QUESTION)
    show_how_to_connect(settings, process.url)


if __name__ == "__main__":
    try:
        main()
    except BackstoryError as error:
        sys.exit(f"Error: {error}\nHint: {error.hint}" if error.hint else f"Error: {error}")
