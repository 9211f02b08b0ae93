"""What every agent is told when it connects. It stays in its context, so it is under 2,048 bytes."""

from typing import Final

from backstory.model.kinds.catalogue import KINDS

MOST_BYTES: Final = 2_048

INSTRUCTIONS: Final = f"""\
Backstory is long-term memory for this project. It outlives sessions; what you do not add can only be
looked up in what was said.

Search (memory_search) before you plan, design, write or fix something, and when the user refers to
earlier work. Ask in plain words or with names from the code; narrow by types if you get too much. Trust
what the code says over what a memory says. working_memory gives what to have in mind for a whole task,
get_related what hangs on something before you change it.

Add (memory_add) when something would help a later session: a decision and why, a requirement, a
convention, a failure and what fixed it, a correction by the user. One fact a memory, understandable
without this conversation. Search first: correct what is out of date (memory_update) rather than keep it
twice, and see to the conflicts that an answer names. Never add secrets.

What was said in earlier sessions is kept by itself: search_conversations finds it, in all projects, and
read_conversation reads on. Use it for "as we discussed", for how something was solved before, and when
memory_search does not know. If you speak in a room whose conversation is kept as it is held (add_turn),
get_context gives what to read of it before you answer.

Types:
{chr(10).join(f"- {kind.name}: {kind.about}" for kind in KINDS.values())}

The project of memories is that of your working folder (its repository), unless you pass `project`: a
name or a folder; * reads all projects. Ids come from search; results name the project they belong to.

backstory_help explains types and their fields, filters, conversations, and tools that are not listed.
"""
