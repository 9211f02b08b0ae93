"""The guard before foreign statements: lets one reading statement through, and refuses the rest.

Ladybug cannot be asked to only read: inside its read-only transactions COPY still writes files, LOAD
reads them and even the variables of the Python program, CALL changes settings and `;` brings another
statement. So a statement is taken apart here and passes when every word in it is known to be
harmless where it stands. What is not known is refused. Running the statement is left to others.

The rule that matters: a clause begins behind something complete (a name, a value, a closing bracket,
a `*`). There, only the words of reading clauses may stand. Anywhere else a word is a name.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from backstory.errors import InputError
from backstory.model.graph import ReadOnlyCypher


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STARTS: Final = _words("MATCH OPTIONAL UNWIND WITH RETURN")

#: Words with which something is complete, so that a clause may follow.
_COMPLETE: Final = _words("NULL TRUE FALSE END ASC ASCENDING DESC DESCENDING")

#: Words that want something to follow.
_OPEN: Final = _STARTS | _words(
    """
    WHERE UNION ALL ORDER BY SKIP LIMIT DISTINCT AS AND OR XOR NOT IN IS STARTS ENDS CONTAINS
    CASE WHEN THEN ELSE EXISTS SHORTEST ACYCLIC TRAIL
    """
)

_KEYWORDS: Final = _OPEN | _COMPLETE

#: Functions of what they are given alone. Missing on purpose: those that make much out of nothing
#: (range, repeat, lpad: 8 GB and 40 s, whatever the limits) and those with an effect (nextval, setseed).
_FUNCTIONS: Final = _words(
    """
    ANY NONE SINGLE COALESCE IFNULL NULLIF CAST TYPEOF HASH
    COUNT COLLECT SUM AVG MIN MAX PERCENTILECONT PERCENTILEDISC
    ID LABEL LABELS KEYS PROPERTIES START_NODE END_NODE NODES RELS RELATIONSHIPS LENGTH IS_TRAIL IS_ACYCLIC
    LOWER LCASE TOLOWER UPPER UCASE TOUPPER INITCAP TRIM LTRIM RTRIM LEFT RIGHT SUBSTR SUBSTRING SPLIT_PART
    STRING_SPLIT CONCAT REPLACE REVERSE CONTAINS STARTS_WITH ENDS_WITH PREFIX SUFFIX SIZE LEVENSHTEIN
    REGEXP_MATCHES REGEXP_FULL_MATCH REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_REPLACE MD5 SHA256
    ABS CEIL CEILING FLOOR ROUND SIGN SQRT POW LN LOG LOG2 LOG10 SIN COS TAN ASIN ACOS ATAN ATAN2 EVEN
    GREATEST LEAST
    DATE TIMESTAMP INTERVAL CURRENT_DATE CURRENT_TIMESTAMP DATE_PART DATEPART DATE_TRUNC DATETRUNC DAYNAME
    MONTHNAME LAST_DAY EPOCH_MS TO_DAYS TO_HOURS TO_MINUTES
    LIST_CONTAINS LIST_HAS LIST_HAS_ALL LIST_HAS_ANY LIST_EXTRACT LIST_ELEMENT LIST_SLICE LIST_APPEND
    LIST_CONCAT LIST_DISTINCT LIST_UNIQUE LIST_SORT LIST_REVERSE LIST_MIN LIST_MAX LIST_SUM LIST_POSITION
    LIST_ANY_VALUE LIST_TO_STRING LIST_FILTER LIST_TRANSFORM LIST_REDUCE
    MAP MAP_KEYS MAP_VALUES MAP_EXTRACT ELEMENT_AT STRUCT_EXTRACT
    """
)

_TOKEN: Final = re.compile(
    r"""
    (?P<blank>[ \t\r\n]+ | //[^\r\n]* | /\*.*?\*/)
    | (?P<text>
        '(?:[^'\\\0]|\\[\\'"bfnrt]|\\u[0-9a-fA-F]{4})*'
        | "(?:[^"\\\0]|\\[\\'"bfnrt]|\\u[0-9a-fA-F]{4})*"
    )
    | (?P<quoted>`(?:[^`\0]|``)+`)
    | (?P<parameter>\$[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign>[()\[\]{}.,:;+\-*/%^=<>|~])
    """,
    re.VERBOSE | re.DOTALL,
)

_HINT: Final = (
    "one statement of MATCH, OPTIONAL MATCH, WHERE, WITH, UNWIND, RETURN, UNION, ORDER BY, SKIP and LIMIT,"
    " with functions that only compute; names that look like other words go in `backticks`"
)

_MAX_CHARS: Final = 10_000
_MAX_TOKENS: Final = 2_000
# The engine's parser runs out of stack, and the process with it, somewhere above 200 levels, and takes
# three times as long for each CASE inside another: 3 s for 20.
_MAX_NESTING: Final = 10
# Planning joins cannot be interrupted: 0.6 s for 10 hops, 3.7 s for 20. Each hop has two dashes.
_MAX_DASHES: Final = 20
# The engine writes out what an alias stands for wherever it is used: 16 times `WITH {a: x, b: x} AS x`
# take 24 s and 5 GB of planning, 10 times 0.4 s and 90 MB.
_MAX_GROWTH: Final = 1_000


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may run, without its comments, and the parameters it uses."""

    text: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    word: str  # in capitals; empty for everything that is not a bare word

    @property
    def is_name(self) -> bool:
        return self.kind == "quoted" or (self.kind == "word" and self.word not in _KEYWORDS)


_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_NOTHING: Final = _Token("blank", "", "")


def checked(query: ReadOnlyCypher) -> Statement:
    """Give the statement as it may run; raises `InputError` when it does more than read."""
    tokens = _tokens(query.text)
    if tokens and tokens[-1].text == ";":
        tokens.pop()
    significant = [token for token in tokens if token.kind != "blank"]
    if not significant:
        raise InputError("the statement is empty", hint=_HINT)
    _check_size(significant)
    for part in _parts(significant):
        _check_words(part)
    text = "".join(" " if token.kind == "blank" else token.text for token in tokens)
    return Statement(text, _parameters(significant, query.parameters))


def _tokens(text: str) -> list[_Token]:
    if len(text) > _MAX_CHARS:
        raise InputError(f"a statement has at most {_MAX_CHARS} characters", hint="use parameters for data")
    tokens: list[_Token] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InputError(f"cannot read the statement from {text[at : at + 20]!r} on", hint=_HINT)
        kind = match.lastgroup or ""
        tokens.append(_Token(kind, match[0], match[0].upper() if kind == "word" else ""))
        at = match.end()
    return tokens


def _check_size(tokens: Sequence[_Token]) -> None:
    depth = deepest = 0
    for token in tokens:
        depth += (token.text in _OPENING or token.word == "CASE") - (
            token.text in _CLOSING or token.word == "END"
        )
        deepest = max(deepest, depth)
    too_much = {
        "too long": len(tokens) > _MAX_TOKENS,
        "nested too deeply": deepest > _MAX_NESTING,
        "a pattern of too many hops": sum(token.text == "-" for token in tokens) > _MAX_DASHES,
        "building on its own names too often": _growth(tokens) > _MAX_GROWTH,
    }
    for what, is_so in too_much.items():
        if is_so:
            raise InputError(f"the statement is {what}", hint="ask for less at a time")


def _growth(tokens: Sequence[_Token]) -> int:
    """Bound how many times over the first value can stand in the last one.

    Behind a WITH all aliases together grow at most as often as it uses the most used one.
    """
    return math.prod(max(Counter(names).values(), default=1) for names in _names_in_withs(tokens))


def _names_in_withs(tokens: Sequence[_Token]) -> list[list[str]]:
    clauses: list[list[str]] = []
    names: list[str] = []
    for before, token in pairwise([_NOTHING, *tokens]):
        if token.word in _STARTS and before.word not in {"STARTS", "ENDS"}:
            names = []
            if token.word == "WITH":
                clauses.append(names)
        elif token.is_name and before.text not in {".", ":"} and before.word != "AS":
            names.append(token.text)
    return clauses


def _parts(tokens: Sequence[_Token]) -> list[list[_Token]]:
    """Split the statement where UNION joins it."""
    parts: list[list[_Token]] = [[]]
    for token in tokens:
        if token.word == "UNION":
            parts.append([])
        elif token.word != "ALL" or parts[-1] or len(parts) == 1:
            parts[-1].append(token)
    return parts


def _check_words(tokens: Sequence[_Token]) -> None:
    first = tokens[0] if tokens else _NOTHING
    if first.word not in _STARTS:
        raise InputError(f"a statement that reads does not begin with {first.text!r}", hint=_HINT)
    complete = False
    before = _NOTHING
    for token, after in pairwise([*tokens, _NOTHING]):
        _check_word(token, after, complete=complete)
        complete = _completes(token, before, complete=complete)
        before = token


def _check_word(token: _Token, after: _Token, *, complete: bool) -> None:
    if token.text == ";":
        raise InputError("one statement at a time", hint=_HINT)
    if not token.is_name:
        return
    if complete:
        raise InputError(f"{token.text!r} is not allowed here", hint=_HINT)
    if after.text == "(" and token.text.strip("`").upper() not in _FUNCTIONS:
        raise InputError(f"the function {token.text!r} is not among the allowed ones", hint=_HINT)


def _completes(token: _Token, before: _Token, *, complete: bool) -> bool:
    """Say whether a clause could begin behind this token."""
    if token.kind == "sign":
        # RETURN * is complete, 2 * is not.
        return token.text in _CLOSING or (token.text == "*" and not complete)
    if before.text == ":" and token.word in {"NOT", "CASE"}:
        return False  # the value in a map, where any other word is a name
    return token.word not in _OPEN or before.text in {".", ":"}


def _parameters(tokens: Sequence[_Token], given: Mapping[str, object]) -> dict[str, object]:
    used = {token.text.removeprefix("$") for token in tokens if token.kind == "parameter"}
    if missing := sorted(used - given.keys()):
        raise InputError(f"no value for the parameter ${missing[0]}", hint="give every parameter a value")
    for name in used:
        _check_value(name, given[name], depth=0)
    return {name: given[name] for name in used}


def _check_value(name: str, value: object, *, depth: int) -> None:
    match value:
        case None | bool() | float():
            return
        case int() if -(2**63) <= value < 2**63:
            return
        case str() if value.isascii() or not re.search(r"[\ud800-\udfff]", value):
            return
        case list() if depth < _MAX_NESTING:
            for item in value:
                _check_value(name, item, depth=depth + 1)
        case dict() if depth < _MAX_NESTING and all(isinstance(key, str) for key in value):
            for item in value.values():
                _check_value(name, item, depth=depth + 1)
        case _:
            raise InputError(f"the parameter ${name} is not a plain JSON value", hint="use JSON values")
