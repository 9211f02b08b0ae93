"""Which parts of what was said go into a context: by their weight, as many as fit, oldest first.

Pure. Where the parts come from, and how well what was found answers, is left to others.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from backstory.model.context import ContextItem, ContextTurn, Source
from backstory.model.summary import Summary
from backstory.ranking.budget import LEAST, cost, shortened

#: What an item is: a turn of a conversation, or the summary of some.
_Key = tuple[str, int, int]

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Offered:
    """What one source offers, and what it is worth: 1 is the most."""

    said: ContextTurn | Summary
    source: Source
    weight: float
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class Assembled:
    """The chosen parts, oldest first, and for each source how many of its own were left out, or not alone."""

    items: Sequence[ContextItem]
    left_out: Mapping[Source, int]
    duplicates: Mapping[Source, int]


def recent(turns: Sequence[ContextTurn], decay: float) -> list[Offered]:
    """The newest turns, oldest first: each is worth less than the one after it."""
    return [Offered(turn, Source.RECENT, decay**age) for age, turn in enumerate(reversed(turns))]


def thread(turns: Sequence[ContextTurn], decay: float) -> list[Offered]:
    """The turn that the newest one answers, the one that this answers, and so on."""
    return [Offered(turn, Source.THREAD, decay**distance) for distance, turn in enumerate(turns, 1)]


def found(turns: Iterable[tuple[ContextTurn, float]]) -> list[Offered]:
    """Turns with their relevance, which is what they are worth."""
    return [Offered(turn, Source.SEMANTIC, relevance, relevance) for turn, relevance in turns]


def summarized(summaries: Sequence[Summary], decay: float, active: int) -> list[Offered]:
    """Summaries, oldest first: the newest is worth as much as the first turn that is not active any more."""
    return [
        Offered(summary, Source.SUMMARY, decay ** (active + age))
        for age, summary in enumerate(reversed(summaries))
    ]


def assemble(conversation: str, offered: Sequence[Offered], max_tokens: int) -> Assembled:
    """The best of what is offered, each once, in no more than so many tokens.

    The best part and the newest turn of the conversation are shortened if they are too long: to half of the
    budget, or what the others leave of it. Any other part that does not fit is left out. A summary gives
    its place to others if all its turns are there.
    """
    merged = _merged(offered)
    chosen = _chosen(conversation, merged, max_tokens)
    if told := {key for key, item in merged.items() if _is_told(conversation, item, chosen)}:
        others = {key: item for key, item in merged.items() if key not in told}
        chosen = _chosen(conversation, others, max_tokens)
    shared = {key for key, item in merged.items() if len(item.sources) > 1}
    return Assembled(
        _chronological(conversation, chosen.values()),
        left_out=_by_source(merged, merged.keys() - chosen.keys() - told),
        duplicates=_by_source(merged, shared | told),
    )


def _key(said: ContextTurn | Summary) -> _Key:
    if isinstance(said, Summary):
        return "", said.first_turn, said.last_turn
    return said.conversation, said.number, said.number


def _merged(offered: Sequence[Offered]) -> dict[_Key, ContextItem]:
    """Each part once, with all its sources and the best of its weights; the best first."""
    by_key: dict[_Key, list[Offered]] = defaultdict(list)
    for each in offered:
        by_key[_key(each.said)].append(each)
    items = {key: _item(own) for key, own in by_key.items()}
    newest_first = sorted(items.items(), key=lambda each: each[0], reverse=True)
    return dict(sorted(newest_first, key=lambda each: -each[1].weight))


def _item(own: Sequence[Offered]) -> ContextItem:
    sources = {each.source for each in own}
    return ContextItem(
        own[0].said,
        [source for source in Source if source in sources],
        max(each.weight for each in own),
        cost(own[0].said),
        max((each.relevance for each in own if each.relevance is not None), default=None),
    )


def _chosen(
    conversation: str, merged: Mapping[_Key, ContextItem], max_tokens: int
) -> dict[_Key, ContextItem]:
    needed = sum(item.tokens for item in merged.values())
    must = set(list(merged)[:1]) | {max((key for key in merged if key[0] == conversation), default=None)}
    chosen: dict[_Key, ContextItem] = {}
    rest = max_tokens
    for key, whole in merged.items():
        others = needed - whole.tokens
        most = min(rest, max(max_tokens // 2, max_tokens - others))
        item = _fitted(whole, most) if key in must else whole
        if item.tokens <= rest:
            chosen[key] = item
            rest -= item.tokens
    return chosen


def _is_told(conversation: str, item: ContextItem, turns: Collection[_Key]) -> bool:
    """Whether it is a summary, and all the turns that it sums up are among these."""
    if not isinstance(item.said, Summary):
        return False
    numbers = range(item.said.first_turn, item.said.last_turn + 1)
    return all((conversation, number, number) in turns for number in numbers)


def _by_source(merged: Mapping[_Key, ContextItem], keys: Iterable[_Key]) -> Mapping[Source, int]:
    return Counter(source for key in keys for source in merged[key].sources)


def _fitted(item: ContextItem, most: int) -> ContextItem:
    if item.tokens <= most or most < LEAST or isinstance(item.said, Summary):
        return item
    said = shortened(item.said, most)
    return replace(item, said=said, tokens=cost(said), is_shortened=True)


def _chronological(conversation: str, items: Iterable[ContextItem]) -> list[ContextItem]:
    """Oldest first. The conversation's own keep the order of their numbers, whatever clocks said."""
    own = sorted((item for item in items if _is_own(conversation, item.said)), key=_number)
    others = [item for item in items if not _is_own(conversation, item.said)]
    times = list(_rising(own))
    timed = [*zip(times, own, strict=True), *((_time(item.said), item) for item in others)]
    return [item for _, item in sorted(timed, key=lambda each: each[0])]


def _is_own(conversation: str, said: ContextTurn | Summary) -> bool:
    return isinstance(said, Summary) or said.conversation == conversation


def _number(item: ContextItem) -> tuple[int, bool]:
    if isinstance(item.said, Summary):
        return item.said.first_turn, False
    return item.said.number, True


def _rising(items: Sequence[ContextItem]) -> Iterable[datetime]:
    """When each was said, never before the one before it. A summary stands where the turn before it does."""
    latest = _LONG_AGO
    for item in items:
        if not isinstance(item.said, Summary):
            latest = max(latest, _time(item.said))
        yield latest


def _time(said: ContextTurn | Summary) -> datetime:
    return said.at or _LONG_AGO
