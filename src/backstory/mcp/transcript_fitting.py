"""Making answers about conversations fit: pages of turns, turns that are too long for one answer.

What was shortened or left for the next page is always said, and so is how to get it.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from backstory.errors import InputError
from backstory.mcp.budget import (
    AROUND_A_LIST,
    USUAL_TOKENS,
    beginning,
    fair_share,
    fitting,
    size,
    tokens,
    written,
)
from backstory.mcp.cursors import Cursor
from backstory.mcp.transcript_answers import (
    ConversationRead,
    TurnFound,
    TurnRead,
    TurnRecalled,
    TurnsFound,
    TurnShown,
    TurnsRecalled,
)
from backstory.model.search import FoundTurns

#: The least room that a turn or a hit gets before fewer of them are shown: a question and some sentences.
LEAST_ROOM: Final = 300

#: The same for a hit that comes with the turns around it.
_LEAST_RECALLED: Final = 1_200

#: Files named with a hit. A turn may have read hundreds.
_MOST_FILES: Final = 20

#: The least that is shown of a text, however little room there is: a sentence.
LEAST_EXCERPT: Final = 20

#: What a turn is made of, in the order in which it is read.
PARTS: Final = ("commands", "user_text", "assistant_text", "tools_used", "tool_text")

_READ_WHOLE: Final = "some turns are shortened; read_turn with session_id and turn_number gives them whole"

Shown = TypeVar("Shown", bound=TurnShown)
Page = TypeVar("Page", bound=ConversationRead)


def fit_found(found: FoundTurns, page: Cursor, limit: int, asking: object) -> TurnsFound:
    """The hits that fit into an answer; the next page begins with the first that does not."""
    hits = [TurnFound.of(hit) for hit in found.hits]
    shown = fitting(hits)
    given = len(shown) if len(shown) < len(hits) else limit
    more = found.more or len(shown) < len(hits)
    # What was given stays in sight, also when the clock was set back.
    newest = max([page.moment, *(hit.message.at for hit in found.hits)])
    return TurnsFound(
        hits=shown,
        next_cursor=Cursor(page.offset + given, newest).pack(asking) if more else None,
        degraded=list(found.degraded) or None,
    )


def fit_conversation(page: Page, most: int = USUAL_TOKENS) -> Page:
    """The page, with long turns shortened, and with fewer of them if little would be left of each."""
    room = most - AROUND_A_LIST - size(page.model_copy(update={"turns": []}))
    turns = _shortened_turns(page.turns, room)
    end = page.offset + len(turns)
    notes = [*(page.notes or ()), *([_READ_WHOLE] if any(turn.shortened for turn in turns) else [])]
    return page.model_copy(
        update={
            "turns": turns,
            "next_offset": end if end < page.total_turns else None,
            "notes": notes or None,
        }
    )


def fit_recalled(hits: Sequence[TurnRecalled], most: int = USUAL_TOKENS) -> TurnsRecalled:
    """The hits that fit, with what stands around them shortened to the same measure."""
    hits = [_with_fewer_files(hit) for hit in hits]
    sizes = [size(hit) for hit in hits]
    kept, share = _shares(sizes, most - AROUND_A_LIST, _LEAST_RECALLED)
    pairs = zip(hits[:kept], sizes, strict=False)
    shown = [hit if taken <= share else _shortened_hit(hit, share) for hit, taken in pairs]
    notes = []
    if any(hit.shortened or any(each.shortened for each in hit.around) for hit in shown):
        notes.append(_READ_WHOLE)
    if left := len(hits) - kept:
        notes.append(f"{left} hits are left out for their length; search_conversations finds them")
    return TurnsRecalled(hits=shown, notes=notes or None)


def fit_turn(turn: TurnRead, offset: int, most: int = USUAL_TOKENS) -> TurnRead:
    """The page of a turn that begins at a place in it, as long as fits into an answer."""
    length = sum(len(getattr(turn, name) or "") for name in PARTS)
    if offset > 0 and offset >= length:
        raise InputError(f"offset {offset:,} is behind the end of the turn, at {length:,}", hint="begin at 0")
    page, end = piece(turn, offset, most - AROUND_A_LIST)
    note = f"the turn goes on to {length}; ask again with offset={end} for more"
    return page.model_copy(
        update={"offset": offset or None, "next_offset": end, "notes": None if end is None else [note]}
    )


def piece(turn: Shown, offset: int, most: int) -> tuple[Shown, int | None]:
    """The part of a turn from a place on, and the place it goes on at, if it does.

    A place counts the characters of the texts and the calls of tools, in the order in which they are
    read. Something is always taken, so that reading on comes to an end.
    """
    bare = turn.model_copy(update=dict.fromkeys(PARTS))
    room = max(most - size(bare), LEAST_ROOM)
    taken: dict[str, str | Sequence[object] | None] = {}
    skipped, end, is_whole = offset, offset, True
    for name in PARTS:
        part = getattr(turn, name) or ""
        rest = part[skipped:]
        shown = _cut(rest, room, least=int(end == offset)) if is_whole else rest[:0]
        is_whole = is_whole and len(shown) == len(rest)
        taken[name] = shown or None
        room -= tokens(written(shown))
        skipped, end = max(skipped - len(part), 0), end + len(shown)
    return bare.model_copy(update=taken), None if is_whole else end


def _shortened_turns(turns: Sequence[Shown], room: int) -> list[Shown]:
    sizes = [size(turn) for turn in turns]
    kept, share = _shares(sizes, room, LEAST_ROOM)
    pairs = zip(turns[:kept], sizes, strict=False)
    return [turn if taken <= share else _shortened(turn, share) for turn, taken in pairs]


def _shares(sizes: Sequence[int], room: int, least: int) -> tuple[int, int]:
    """How many from the beginning are shown, and how long each of them may be, which is `least` or more."""
    kept = len(sizes)
    while kept > 1 and fair_share(sizes[:kept], room) < least:
        kept -= 1
    return kept, max(fair_share(sizes[:kept], room), least)


def _shortened(turn: Shown, most: int) -> Shown:
    """The turn with its longest parts cut, so that it takes about `most`."""
    parts = [name for name in PARTS if getattr(turn, name)]
    bare = turn.model_copy(update={**dict.fromkeys(parts), "shortened": [*(turn.shortened or ()), *parts]})
    sizes = {name: tokens(written(getattr(turn, name))) for name in parts}
    share = max(fair_share(list(sizes.values()), most - size(bare)), LEAST_EXCERPT)
    long = [name for name in parts if sizes[name] > share]
    cut = {name: _cut(getattr(turn, name), share) or None for name in long}
    return turn.model_copy(update={**cut, "shortened": [*(turn.shortened or ()), *long] or None})


def _cut(part: str | Sequence[object], most: int, least: int = 0) -> str | Sequence[object]:
    """As much from the beginning of a text or a list as takes at most so many tokens."""
    if isinstance(part, str):
        return beginning(part, most)
    left = most
    for place, item in enumerate(part):
        left -= tokens(written(item)) + 1
        if left < 0 and place >= least:
            return part[:place]
    return part


def _with_fewer_files(hit: TurnRecalled) -> TurnRecalled:
    files = hit.files or ()
    if len(files) <= _MOST_FILES:
        return hit
    return hit.model_copy(update={"files": files[:_MOST_FILES], "shortened": ["files"]})


def _shortened_hit(hit: TurnRecalled, most: int) -> TurnRecalled:
    """The hit with half of its room for its own text, and the rest for what stands around it."""
    bare = hit.model_copy(update={"text": None, "around": []})
    room = max(most - size(bare), 2 * LEAST_ROOM)
    text = beginning(hit.text or "", room // 2)
    around = _shortened_turns(hit.around, room - tokens(written(text)))
    cut = [
        *(hit.shortened or ()),
        *(["text"] if len(text) < len(hit.text or "") else []),
        *(["around"] if len(around) < len(hit.around) else []),
    ]
    return bare.model_copy(update={"text": text or None, "around": around, "shortened": cut or None})
