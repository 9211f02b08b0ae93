"""Places in a sentence that have room for one thing: lives in this, is called that, returns the other.

Pure, and English. It finds contradictions between words that no lexicon knows, by what stands around them;
`analysis.changes` asks it last.
"""

from typing import Final

from backstory.analysis.claims import RELATING_VERBS, Claim
from backstory.analysis.pairs import Block, Pair
from backstory.analysis.vocabulary import term_set, word_set

# After these, and after any passive, a thing has one place, one way, one origin.
_ONE_ONLY: Final = term_set(
    "store keep build bundle deploy hash return name render serve sign read talk host release default "
    "locate base log send publish ship compile pin route start end begin connect listen point resolve "
    "target"
)
_GIVING: Final = term_set("return yield raise throw equal")
_ARTICLES: Final = word_set("a an the its their our your this that all")
_COPULAS: Final = frozenset({"is", "are", "was", "were", "be"})
_PARTICIPLES: Final = word_set("kept sent built made run held put read set found split cut done")

# Words that relate alike count as the first of them.
_RELATIONS: Final = {
    word: words[0]
    for words in map(
        str.split, ("in on at into under inside", "with by via through over using", "as", "from", "to")
    )
    for word in words
}
_MOST_REPLACED: Final = 4  # terms; where more differ, two sentences share no frame


def filled_otherwise(pair: Pair) -> Block | None:
    """The block in which each claim has something else in a place that has room for one."""
    fitting = (block for block in pair.replaced if _has_room_for_one(pair, block))
    return next((block for block in fitting if not pair.unexplained(but=block)), None)


def ended_otherwise(pair: Pair) -> bool:
    """Whether the claims are the same but for their ends: partitioned by month, partitioned by tenant."""
    ends = [pair.new.terms[-1]], [pair.old.terms[-1]]
    relation = relation_of(pair.new.leads[-1])
    related = relation == relation_of(pair.old.leads[-1]) and relation not in {"", "in"}
    enough = len(pair.shared) > 2 or (len(pair.shared) == 2 and pair.begin_with_one_name)
    return related and enough and (pair.only_new, pair.only_old) == ends


def relation_of(lead: str) -> str:
    """The word that relates a term to what stands before it, as the "in" of "lives in the"; or nothing."""
    small = [word for word in lead.split() if word not in _ARTICLES]
    return _RELATIONS.get(small[-1], "") if small else ""


def _has_room_for_one(pair: Pair, block: Block) -> bool:
    new, old = _entry(pair.new, block.new), _entry(pair.old, block.old)
    if not new or not old or block.size > _MOST_REPLACED or not _same_start(pair, new, old):
        return False
    leads = pair.new.leads[new], pair.old.leads[old]
    related = relation_of(leads[0]) == relation_of(leads[1])
    if pair.new.terms[new - 1] != pair.old.terms[old - 1]:
        return related and all(map(_has_relating_verb, leads))
    if all(_COPULAS & set(lead.split()[:1]) for lead in leads):
        return new > 1 and not any(map(_is_participle, (pair.new.words[new], pair.old.words[old])))
    if all(_ARTICLES.issuperset(lead.split()) for lead in leads):
        return pair.new.terms[new - 1] in _GIVING
    return related and _admits_one(pair.new, new)


def _same_start(pair: Pair, new: int, old: int) -> bool:
    """Whether both say the same before these places, or one of them a little more."""
    ahead = frozenset(pair.new.terms[:new]), frozenset(pair.old.terms[:old])
    return pair.new.terms[0] == pair.old.terms[0] and (ahead[0] <= ahead[1] or ahead[1] <= ahead[0])


def _entry(claim: Claim, span: range) -> int:
    """Where in a span of terms the part begins that a verb relates to what stands before it."""
    return next((place for place in span if _has_relating_verb(claim.leads[place])), span.start)


def _admits_one(claim: Claim, place: int) -> bool:
    """Whether what follows a relation is the one such thing: is stored in, comes from, crosses as."""
    relation, before = relation_of(claim.leads[place]), place - 1
    passive = _COPULAS & set(claim.leads[before].split()) and _is_participle(claim.words[before])
    bound = passive or claim.terms[before] in _ONE_ONLY or _has_relating_verb(claim.leads[place])
    return relation == "as" or (relation != "" and bool(bound))


def _has_relating_verb(lead: str) -> bool:
    return not RELATING_VERBS.isdisjoint(lead.split())


def _is_participle(word: str) -> bool:
    return word.endswith(("ed", "en", "ing", "built")) or word in _PARTICIPLES
