"""Prompts that were typed while the agent worked.

Such a prompt is written down up to four times: put into the queue, taken out, attached to what
the agent reads, and as a user record. It is one utterance, told where it reached the agent, and
only if it reached it in no record of its own, where it was put in. Other programs use the queue,
too; what they sent says so where it was delivered.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence

from backstory.transcripts import fields as read
from backstory.transcripts.fields import Fields
from backstory.transcripts.lines import Record
from backstory.transcripts.machine_text import is_typed_command
from backstory.transcripts.messages import from_a_person, same_words, words_in


def attached_prompt(fields: Fields) -> str:
    """The words of a queued prompt that a person sent, at the place where the agent was given it."""
    attachment = read.inner(fields, "attachment")
    if read.text(attachment, "type") != "queued_command" or fields.get("isMeta"):
        return ""
    if read.text(attachment, "commandMode") not in ("", "prompt") or not from_a_person(attachment):
        return ""
    return _prompt(attachment, "prompt")


def told_elsewhere(records: Sequence[Record], attached: Sequence[int]) -> Iterator[int]:
    """Those of the attachments whose prompt is a user record, too, or was attached before."""
    if not attached:
        return
    told = {read.text(r.fields, "uuid") for r in records if read.text(r.fields, "type") == "user"}
    for index in attached:
        source = read.text(read.inner(records[index].fields, "attachment"), "source_uuid")
        if source and source in told:
            yield index
        told.add(source)


def only_in_queue(records: Sequence[Record]) -> Mapping[int, str]:
    """The words of prompts that reached the agent in no record, by the index where the queue tells them.

    What is put in is what is delivered, or taken out, next in the same words. Taking out is the
    only trace where putting in was not written down.
    """
    queue = [i for i, record in enumerate(records) if read.text(record.fields, "type") == "queue-operation"]
    delivered, sources = _deliveries(records if queue else ())
    put_in: dict[str, int] = defaultdict(int)
    alone: dict[int, str] = {}
    for index in queue:
        fields = records[index].fields
        operation, words = read.text(fields, "operation"), _prompt(fields, "content")
        key = same_words(words)
        if not words or operation not in ("enqueue", "remove"):
            continue
        if operation == "enqueue":
            put_in[key] += 1
        elif put_in[key] or read.text(fields, "commandUuid") in sources:
            put_in[key] -= bool(put_in[key])
            continue
        if not _delivered_after(delivered[key], index):
            alone[index] = words
    return alone


def _prompt(fields: Fields, key: str) -> str:
    words = words_in(read.blocks(fields, key))
    return "" if is_typed_command(words) or words.startswith('{"task_id"') else words


def _deliveries(records: Sequence[Record]) -> tuple[Mapping[str, deque[int]], set[str]]:
    """Where which words reached the agent, whoever sent them, and what the attachments were made of."""
    places: dict[str, deque[int]] = defaultdict(deque)
    sources: set[str] = set()
    for index, record in enumerate(records):
        kind, attachment = read.text(record.fields, "type"), read.inner(record.fields, "attachment")
        if kind == "user":
            words = words_in(read.blocks(read.inner(record.fields, "message")))
        elif kind == "attachment" and read.text(attachment, "type") == "queued_command":
            words = words_in(read.blocks(attachment, "prompt"))
            sources |= {read.text(attachment, "source_uuid")} - {""}
        else:
            continue
        places[same_words(words)].append(index)
    return places, sources


def _delivered_after(places: deque[int], index: int) -> bool:
    """Whether there is a place behind an index. It is used up, like those before the index."""
    while places:
        if places.popleft() > index:
            return True
    return False
