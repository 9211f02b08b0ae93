"""The help that an agent can ask for instead of having it in its context."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from mcp.types import ToolAnnotations
from pydantic import AfterValidator, Field, WithJsonSchema

from backstory.mcp import render
from backstory.mcp.answers import Help
from backstory.mcp.arguments import Arguments
from backstory.mcp.budget import MOST_TOKENS, written
from backstory.mcp.observation import LAST_CALLS
from backstory.mcp.tool import ALL, CORE, Request, Tool, Toolbox
from backstory.model.graph import RelationshipType
from backstory.model.kinds.catalogue import KINDS
from backstory.model.kinds.kind import Field as KindField
from backstory.model.kinds.schema import json_schema
from backstory.model.memory import MAX_CONTENT_CHARS, MAX_METADATA_BYTES
from backstory.model.search import MAX_LIMIT

_OVERVIEW: Final = """\
Backstory keeps what should outlive a session, in one store on this machine, walled off by project.
It also keeps what was said in every session with a coding agent (see topic conversations).
- memory_search finds by meaning and by words; memory_add keeps; memory_update corrects; memory_get reads one
  whole; memory_delete forgets; memory_statistics says how the store is (see topics memory and types).
- working_memory gives what to have in mind for a task, of every type, in as many tokens as you want to spend.
- Search before planning, designing and fixing. Add decisions, requirements, conventions, fixes and
  preferences: one fact a memory, understandable by itself.
- search_conversations finds what was said in earlier sessions; read_conversation reads on.
- Bots and agents write live conversations with create_conversation and add_turn; get_context tells what to
  read of one before answering (see topic live).
- The project is that of your working folder, unless you name another.
- Ask for a topic to read more."""

_MEMORY: Final = """\
A memory has a type, a content, metadata, an importance from 0 to 1, links, and a version.
- memory_add: one. memory_bulk_add: many, all or none; one with a ref can be linked to from the others, as
  "#ref". A type's fields are checked: an error names the field, the rule and an example (see topic types).
- conflicts in an answer are memories of the project that this one does not go with: duplicate (says the
  same), overlap (a part of it), contradiction (something else of the same thing), each with why. It is kept
  all the same: update or delete the one that is wrong.
- memory_update: content, importance and metadata entries that you give take the place of the old ones; an
  entry set to null is removed, others stay; relationships are added. expected_version is the version that you
  read: if somebody changed it since, nothing is written, and you see both.
- Links: relationships name a type and the id of the other memory. Fields such as related_requirements hold
  ids or names (REQ-PAY-001) and become links by themselves, at once or when the other memory comes.
- memory_get: one whole, with its links in both directions and whom its fields name, there or missing.
  get_related: the same for components, requirements, sessions and files too, up to three steps away.
- memory_history: all that was done to one, with what changed. memory_delete: it is found no more;
  'backstory memory restore ID' takes it back within 30 days.
- working_memory: for a task, the most useful of every type within max_tokens. why says how near to the task
  (from .7 close, below .4 far) and how important by now (what it was given, uses, age). Without a task: what
  matters most. What has no room is counted in left_out; what is far from the task in far.
- memory_extract: what a text or a session says that is worth keeping, with its evidence and a confidence.
  memory_consolidate: memories that say the same, to be merged; a merge can be undone. Both only show what
  they would do, unless dry_run is false.
- ingest_documents: requirements and decisions in Markdown files become memories; done again it updates them.
- export_memory, import_memory: everything as JSONL, with versions, links and history.
- JSON Schemas of all types: the topic schemas, or the resources backstory://schema/TYPE.
  backstory://working is the working memory as a resource."""

_PROJECTS: Final = """\
Every memory belongs to one project, and a call sees its own project alone.
- Without `project`: the repository of your working folder (all its worktrees are one project), or the
  folder itself outside a repository. A .backstory.toml with project = "name" in it gives another name.
- `project` as a name, or as a folder (/…, ~/…, ./…): that project. A new name makes a new project.
- `project: "*"`: all projects, for reading only. search_conversations, list_conversations, read_turn and
  read_conversation see all projects unless one is named; the conversation_… tools see your own.
- An id is looked up inside the project too: for a hit of another project, pass the project it names."""

_SEARCH: Final = f"""\
A query is matched by meaning and by words: a question, names from the code, an error message.
- types: only these types. session_id: only memories whose metadata has this session_id.
- from, to: when it was created. A date or an ISO time; without a zone it is UTC; `to` as a date
  includes that day.
- metadata: exact values, all of them; a value that is one of a list counts. Values up to 200 characters.
- limit: 1 to {MAX_LIMIT}. next_cursor in an answer leads to the next page: send the same search with it
  as `cursor`. Memories added meanwhile are left out.
- score compares the hits of one search, and is the sum of its parts: words, meaning, new words (of memories
  that are still being indexed), linked to ID (a share of that hit's score), importance and recency. found_by
  names those that have to do with the query.
- degraded says what could not be asked; the answer is then by words alone.
- Long answers are shortened, the longest hits first; shortened and omitted say what. memory_get gives a
  memory whole, a page at a time: pass next_offset as offset. No answer exceeds {MOST_TOKENS:,} tokens."""

_CONVERSATIONS: Final = """\
Transcripts of coding agents (Claude Code, Codex) are read in as they grow, and kept when the agent deletes
them. A conversation is a session; a turn is what the user said and all that the agent did until the user
spoke again, numbered from 1. Secrets and what stands in <private> are taken out before it is kept.
- search_conversations: turns by meaning and words; the matching words stand between **. A file that is
  named finds the turns that touched it. role: user, assistant, or tool (what tools were asked and gave back).
- conversation_recall: the same inside a project, with the turns around each hit, the files that it touched
  and other conversations that touched them. conversation_search: several topics in one ranking.
- found_by: words and meaning of the message; window words and window meaning of the messages around it;
  session words of its whole conversation; answers: words of the question before it; files; new words of
  what is still being indexed.
- list_conversations, conversation_timeline: what there is. conversation_stats: how much, and how well read.
- read_conversation: turns, long ones shortened. read_turn: one whole, with what its tools gave back, a page
  at a time: pass next_offset as offset.
- Subagents have conversations of their own, with ids like SESSION/AGENT; a search in a session includes them.
- conversation_export: everything, a page at a time; a text that `continues` goes on in the next page.
- conversation_index: read in now what is new; the process does it by itself.
- Live conversations (see topic live) are found, listed and read like transcripts."""

_LIVE: Final = """\
A live conversation is written turn by turn while it is held: in a chat room, on a command line, by any
agent that leaves no transcript. It belongs to your project, unless you name another.
- create_conversation: one for each room_id of an interface_type; asked again, it gives the one there is.
- add_turn: query is what the user said, response what was answered. It is safe when the call answers, found
  by its words at once and by meaning soon after; pending says what has to wait. Secrets and what stands in
  <private> are taken out. parent_turn_id makes it an answer; thread_id is the first turn of its thread.
- get_context: what to read before you answer a query, oldest first, within max_tokens. sources says why a
  part is there: recent (the newest turns), thread (what the newest turn answers), semantic (found by meaning
  and words, relevance from 0 to 1), summary. degraded says what could not be asked.
- strategy: just_now (what was said a moment ago; nothing is searched), continuation, new_topic,
  clarification, quick_lookup, history (what was said long ago), default; fixed takes the numbers of the
  settings. Left out, it is told from the query, and because says by what.
- Filters: user_id, room_id, thread_id, metadata (exact values of a turn's metadata). everywhere looks in all
  conversations of the project, transcripts too; min_score is the relevance that a found turn needs.
- get_conversation_history: as text, markdown, json or prompt. Three tiers: archive (oldest turns), summaries,
  active (newest turns). left_out counts what did not fit; all of it stays, and read_turn reads it.
- summarize_conversation: sums up now what is done by itself when there are more turns than stay active.
- update_conversation: title and metadata; a metadata key set to null is removed. delete_conversation: found
  no more; 'backstory conversations restore' takes it back.
- Its id is the session_id of search_conversations, read_conversation and read_turn."""

_ERRORS: Final = f"""\
An error says what is wrong and, as a hint, what to do.
- An argument is wrong: the message names it and what is allowed. Content has at most
  {MAX_CONTENT_CHARS:,} characters, metadata {MAX_METADATA_BYTES:,} bytes.
- The metadata of a type is not acceptable: the message names the field, the rule and an example.
- There is no memory with an id: it was deleted (the hint says so), or it is in another project.
- The memory was changed since the version that you expected: look at both versions, and update again.
- There is no conversation with an id: list_conversations and search_conversations give session ids.
- There is no live conversation with an id: it was deleted, is a transcript, or is in another project.
- The cursor belongs to another search, or is damaged: search again without it.
- `pending` in an answer is no error: the memory is kept, and will be found by meaning later.
- A tool failed unexpectedly: its log has the reason; `backstory doctor` checks the store."""


def _types(_: Toolbox) -> str:
    kinds = [
        f"- {kind.name} ({kind.tier}): {kind.about}. Metadata: {', '.join(map(_field, kind.fields))}"
        for kind in KINDS.values()
    ]
    signs = (
        "* is required, [] is a list, → names other memories by id or name and becomes links. Other keys are"
        " allowed and can be filtered by. A title is searched. What each field means, with an example, is in"
        " the JSON Schemas: the resource backstory://schema/TYPE has one, the topic schemas all of them."
    )
    return "\n".join([*kinds, signs, f"Relationships: {', '.join(RelationshipType)}."])


def _field(field: KindField) -> str:
    marks = f"{'[]' if field.shape.item else ''}{'*' if field.required else ''}{'→' if field.links else ''}"
    allowed = ", ".join(field.one_of) or (f"like {field.example}" if field.pattern else "")
    return f"{field.name}{marks}{f' ({allowed})' if allowed else ''}"


def _tools(toolbox: Toolbox) -> str:
    offered = set(toolbox.offered)
    lines = [
        f"- {name} ({', '.join(tool.toolsets)}; {'listed' if name in offered else 'not listed'}):"
        f" {tool.description}"
        for name, tool in toolbox.tools.items()
    ]
    sets = sorted({each for tool in toolbox.tools.values() for each in tool.toolsets})
    switch = (
        f"Toolsets: {', '.join([*sets, ALL])}. {CORE} is always listed; BACKSTORY_TOOLSETS lists others,"
        " for example memory,transcripts. A tool that is not listed can still be called by its name."
    )
    return "\n".join([*lines, switch, f"memory_statistics speaks of the last {LAST_CALLS:,} calls."])


TOPICS: Final[Mapping[str, Callable[[Toolbox], str]]] = {
    "overview": lambda _: _OVERVIEW,
    "memory": lambda _: _MEMORY,
    "types": _types,
    "schemas": lambda _: written({name: json_schema(kind) for name, kind in KINDS.items()}),
    "tools": _tools,
    "projects": lambda _: _PROJECTS,
    "search": lambda _: _SEARCH,
    "conversations": lambda _: _CONVERSATIONS,
    "live": lambda _: _LIVE,
    "errors": lambda _: _ERRORS,
}


def _known_topic(name: str) -> str:
    if name not in TOPICS:
        raise ValueError(name)  # put into words by whoever reads the arguments
    return name


class HelpAsked(Arguments):
    """What backstory_help takes."""

    topic: Annotated[
        str,
        AfterValidator(_known_topic),
        WithJsonSchema({"type": "string", "enum": list(TOPICS)}),
        Field(description="What to read about."),
    ] = "overview"


def _help(request: Request, asked: HelpAsked) -> Help:
    return Help(topic=asked.topic, text=TOPICS[asked.topic](request.toolbox), topics=list(TOPICS))


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="backstory_help",
        title="Backstory help",
        description="How to use this memory: types, filters, projects, conversations, other tools, errors.",
        toolsets=(CORE,),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        arguments=HelpAsked,
        answer=Help,
        function=_help,
        render=render.helped,
    ),
)
