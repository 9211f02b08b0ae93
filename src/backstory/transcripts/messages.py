"""What one record of a Claude Code transcript says, and whether it may be a person's."""

from collections.abc import Iterable

from backstory.transcripts import fields as read
from backstory.transcripts.fields import Fields
from backstory.transcripts.machine_text import human_words
from backstory.transcripts.texts import clean


def from_a_person(fields: Fields) -> bool:
    """Whether a record or an attachment may be a person's. Newer ones say who sent them."""
    sender = read.text(read.inner(fields, "origin"), "kind")
    return sender == "human" or not (sender or read.text(fields, "promptSource") == "system")


def words_in(blocks: Iterable[Fields]) -> str:
    """The words in the text blocks of a message, without what the program put in."""
    texts = (read.text(block, "text") for block in blocks if read.text(block, "type") == "text")
    return "\n".join(words for text in texts if (words := clean(human_words(text))))


def result_text(result: Fields) -> str:
    """The text of a tool's result, whether it is plain or in blocks."""
    return "\n".join(text for block in read.blocks(result) if (text := read.text(block, "text")))


def same_words(text: str) -> str:
    """What two texts have in common that differ only in their spaces and line ends."""
    return " ".join(text.split())
