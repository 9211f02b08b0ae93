"""The line that names a session, from what its transcript offers.

A title that a person gave comes first, then the agent's own, then a summary, the slug, and the
first words said. A command or a caveat of the program is never a title.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from backstory.model.transcript import Title, TitleSource
from backstory.transcripts import fields as read
from backstory.transcripts.lines import Record
from backstory.transcripts.machine_text import human_words, is_typed_command
from backstory.transcripts.texts import clean, shortened

MAX_TITLE_CHARS: Final = 200
#: The records in which titles stand.
TITLE_TYPES: Final = ("custom-title", "ai-title", "summary")


def choose_title(records: Sequence[Record], own: Container[str], slug: str, said: Iterable[str]) -> Title:
    """The best title for the session that holds the uuids `own`, in which `said` was said."""
    summaries = [text for leaf, text in summaries_in(records).items() if leaf in own]
    candidates = (
        (TitleSource.CUSTOM, _latest_first(records, "custom-title", "customTitle")),
        (TitleSource.AI, _latest_first(records, "ai-title", "aiTitle")),
        (TitleSource.SUMMARY, reversed(summaries)),
        (TitleSource.SLUG, [slug]),
        (TitleSource.FIRST_WORDS, said),
    )
    for source, texts in candidates:
        for text in texts:
            if line := title_line(text):
                return Title(line, source)
    return Title()


def summaries_in(records: Sequence[Record]) -> Mapping[str, str]:
    """Summaries by the uuid of a record in the session they sum up: often another than this one."""
    found = (record.fields for record in records if read.text(record.fields, "type") == "summary")
    return {
        leaf: clean(read.text(fields, "summary"))
        for fields in found
        if (leaf := read.text(fields, "leafUuid"))
    }


def _latest_first(records: Sequence[Record], kind: str, field: str) -> Iterable[str]:
    return (read.text(r.fields, field) for r in reversed(records) if read.text(r.fields, "type") == kind)


def title_line(text: str) -> str:
    """A text as a title; empty where nobody would call it one."""
    words = human_words(clean(text))
    return "" if is_typed_command(words) else shortened(words, MAX_TITLE_CHARS)
