"""A first session: starts Backstory, reads in what agents left, shows it, and how an agent is connected.

When agents left no transcripts, or nothing was remembered yet, a small sample takes their place, in a
project of its own. The process stays in the background, as it does when an agent starts it, and stops
by itself when nobody uses it.
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
TRANSCRIPTS: Final = Path(__file__).parent / "transcripts"
SAMPLE_PROJECT: Final = "sample-shop"
ALL_PROJECTS: Final = "*"
QUESTION: Final = "why did charging a customer twice never happen again?"


def asked(where: Whereabouts, verb: str, key: str | None = None, **arguments: object) -> Answer:
    return ask(where, verb, arguments, directory=Path.cwd(), report=show_progress, key=key)


def show_progress(done: int, total: int | None, message: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{message}", end="" if done != total else "\r\033[K", file=sys.stderr, flush=True)


def load_sample(where: Whereabouts) -> None:
    for number, line in enumerate(SAMPLE.read_text("utf-8").splitlines()):
        asked(where, "memory_add", key=f"sample {number}", project=SAMPLE_PROJECT, **json.loads(line))
    print(f"Nothing was remembered yet, so a sample was loaded into the project {SAMPLE_PROJECT}.")


def read_transcripts(where: Whereabouts) -> None:
    asked(where, "conversation_index", project=ALL_PROJECTS)
    found = asked(where, "conversation_stats", project=ALL_PROJECTS).answer
    if found["conversations"]:
        print(f"{found['transcript_files']} transcripts are known, {found['failed_files']} cannot be read.")
        return
    asked(where, "index_folder", folder=str(TRANSCRIPTS.resolve()))
    print("Agents left no transcripts here, so a sample of one was read in.")


def show_what_is_there(where: Whereabouts) -> None:
    memories = asked(where, "memory_statistics", project=ALL_PROJECTS).answer
    said = asked(where, "conversation_stats", project=ALL_PROJECTS).answer
    print(f"\nIn {where.home}, {memories['projects']} projects:")
    print(f"  {said['conversations']:>5}  conversations with {said['turns']} turns")
    print(f"  {memories['total']:>5}  memories")
    for type_, count in memories["memories"].items():
        print(f"         {count:>4}  {type_}")


def search(where: Whereabouts, question: str) -> None:
    print(f"\n> {question}\n")
    print(asked(where, "memory_search", query=question, project=ALL_PROJECTS, limit=2).text)
    print()
    print(asked(where, "search_conversations", query=question, limit=2).text)


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
    read_transcripts(where)
    show_what_is_there(where)
    search(where, QUESTION)
    show_how_to_connect(settings, process.url)


if __name__ == "__main__":
    try:
        main()
    except BackstoryError as error:
        sys.exit(f"Error: {error}\nHint: {error.hint}" if error.hint else f"Error: {error}")
