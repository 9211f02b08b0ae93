"""Tests that failed, as runners and people report them, and what fixed them.

Pure. A report may stand in anybody's words, in code and in what tools gave back: it is the one thing that is
taken from there. Runners known: pytest, unittest, Jest, Vitest, Mocha, Go, Rust, JUnit under Gradle, PHPUnit,
RSpec. Fixes are read from English sentences.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from backstory.analysis.statements import Statement, meaning

#: The ends of a longer text are read: runners sum up at the end.
LOOKED_AT: Final = 100_000
_MESSAGE_CHARS: Final = 300
_LINES_TO_MESSAGE: Final = 8

_RUNNERS: Final = [
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        (
            r"^[ \t]*(?:FAILED|"
            r"ERROR) (?P<file>[\w./\\-]+\.py)::(?P<name>[\w:]+)(?:\[[^\n]*?\])?(?: - (?P<message>[^\n]+))?"
        ),
        r"^_{3,} (?P<name>[\w.]+)(?:\[[^\n]*\])? _{3,}[ \t\r]*$",
        r"^(?:FAIL|ERROR): (?P<name>\w+) \((?P<file>[\w.]+)\)",
        r"^[ \t]*\u25cf (?P<name>[^\n]+ \u203a [^\n]+)[ \t\r]*$",
        (
            r"^[ \t]*(?:FAIL|\u00d7|\u2717)[ \t]+(?P<file>[\w./\\-]+\.\w+) > (?P<name>[^\n]+?)"
            r"(?: \d+ms)?[ \t\r]*$"
        ),
        # Linters put the same sign before sentences, which end with a full stop.
        r"^[ \t]*(?:\u2715|\u2717|\u2716) (?P<name>[^\n(]+?)(?<![.\s])(?: \(\d+ ?ms\))?[ \t\r]*$",
        r"^[ \t]*--- FAIL: (?P<name>\w[\w/]*)(?: \([\d.]+s\))?",
        r"^test (?P<name>[\w:]+) \.\.\. FAILED",
        r"^(?P<name>[A-Z]\w*(?:Test|Tests|Spec|IT) > [^\n]+?)(?:\(\))? FAILED[ \t\r]*$",
        r"^[ \t]*\d+\) (?P<name>[\w\\]+::\w+)[^\n]*\n(?P<message>[^\n]+)",
        (
            r"^[ \t]*\d+\) (?P<suite>[^\n:]+)\n[ \t]+(?P<name>[^\n]+):[ \t\r]*\n"
            r"[ \t]+(?P<message>[^\n]*(?:Error|expected)[^\n]*)"
        ),
        r"^[ \t]*rspec (?P<file>[\w./-]+):\d+ # (?P<name>[^\n]+)",
    )
]
_MESSAGE = re.compile(
    r"(?:Error|Exception)\b|[Ee]xpected|[Aa]ssert|out of bounds|DATA RACE|panicked|\bgot:|Failed asserting"
)

_TEST = (
    r"(?:\btests? (?:called |named )?['\"\u201c`]([^'\"\u201d`\n]+)['\"\u201d`]|"
    r"(\btest_\w+(?:\.py)?|\bTest[A-Z]\w+|\b[\w/-]+\.(?:spec|test)\.\w+))"
)
_TOLD = re.compile(
    rf"{_TEST}[`'\"]?[^.;\n]{{0,60}}?\b(?:fails?|failed|failing|(?:is|are) (?:red|broken|flaky)|"
    r"times? out|timed out|breaks?|broke|crash(?:es|ed)|errors out)\b"
    rf"|\b(?:fails?|failed|failing|broke|red)\b[^.;\n]{{0,40}}?{_TEST}"
)
_ASKS_WHETHER = re.compile(r"(?:does|do|did|is|are|can|could|would|will|if|when|should)\b", re.IGNORECASE)
_NOT_TOLD = re.compile(
    r"\b(?:no longer|never|not|doesn't|don't|would|if|should) (?:fail|time|break|crash)|\bpass(?:es|ed)?\b"
)

_FIX_NAMED = re.compile(
    r"\b(?:fixed (?:it |this |that |them )?by|(?:the|a) fix (?:was|is)|fix:|(?:solved|resolved|"
    r"cured) (?:it )?by|i fixed)\b",
    re.IGNORECASE,
)
_FIX_DONE = re.compile(
    r"(?:^|\b(?:so|and|then|now|, ))i(?:'ve| have)? (?:now |also |just )*(?:changed|replaced|added|moved|"
    r"made|put|removed|load(?:ed)?|wait(?:ed)?|stub(?:bed|s)?|pass(?:ed)?|wrapped|renamed|set|used?|"
    r"switched|rewrote|reset|mock(?:ed)?|pinned|updated|corrected|restored|split|increased|took|take|"
    r"round(?:ed)?|turned|quoted|sorted|closed|escaped|freed|gave|let|raised|lowered)\b",
    re.IGNORECASE,
)
_PASSES = re.compile(
    r"\b(?:pass(?:es|ed)?(?! (?:the|a|an|it|in|to|through)\b)|passing(?=[.,!;]|$| (?:now|again))|green|"
    r"works (?:now|again)|succeeds)\b(?!.{0,20}\blocally\b)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;,] |\band\b")
_SAYS_LITTLE: Final = 4  # words that carry meaning: with fewer a sentence tells no fix
_CAUSE = re.compile(
    r"\b(?:because|since|so|root cause|cause|reason|was|were|used|without|missing|only|before|after|twice|"
    r"ran|is not|isn't|lost)\b",
    re.IGNORECASE,
)
_COMPLAINS = re.compile(
    r"\b(?:issues?|problems?|fail\w*|needs?|errors?|broken|wrong|missing|should)\b", re.IGNORECASE
)
_NARRATES = re.compile(
    r"^(?:now |next,? |first,? |then |good,? |so )*(?:let me|let's|i'll|i will|i need|i should|i see|"
    r"i can see|running|looking|excellent|great|perfect|here(?:'s| is)|to fix)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A test that failed. `quote` stands in the text letter by letter, from `start`."""

    name: str
    quote: str
    start: int
    file: str = ""
    message: str = ""
    was_told: bool = False  # in a sentence, not by a runner

    @property
    def short_name(self) -> str:
        """The name without the suite, as people call it."""
        return re.split(r"::| > | \u203a |\.(?=test)", self.name)[-1].strip("() ")


@dataclass(frozen=True, slots=True)
class Fix:
    """What made a test pass, and why it had failed if that was said before.

    It is sure if a sentence tells a fix by its wording and another that the test passes, or tests do.
    """

    text: str
    cause: str = ""
    is_sure: bool = False


def reported(text: str) -> list[Failure]:
    """The failures that a runner reports in a text, each test once, in the order in which they stand."""
    ends = text if len(text) <= LOOKED_AT else f"{text[: LOOKED_AT // 2]}\n{text[-LOOKED_AT // 2 :]}"
    found = [_failure(ends, match) for runner in _RUNNERS for match in runner.finditer(ends)]
    return united(sorted(found, key=lambda failure: failure.start))


def told(statement: Statement) -> Failure | None:
    """The failure that a sentence tells of."""
    match = _TOLD.search(statement.quote)
    if match is None or _NOT_TOLD.search(match.group()) or _ASKS_WHETHER.match(statement.text):
        return None
    name = next(filter(None, match.groups()))
    return Failure(name, statement.quote, statement.start, _file_in(name), statement.text, was_told=True)


def united(failures: Sequence[Failure]) -> list[Failure]:
    """Each test once: where it was first reported with what was expected, or first at all."""
    kept: dict[str, Failure] = {}
    for failure in failures:
        known = kept.setdefault(failure.short_name, failure)
        if known is not failure and (known.was_told or not known.file) and not failure.was_told:
            kept[failure.short_name] = replace(failure, message=failure.message or known.message)
    return list(kept.values())


def fix_among(said: Sequence[Statement], failure: Failure) -> Fix | None:
    """What of the things that an agent said after a failure tells how it was fixed."""
    telling = [each for each in said if not each.asks and not _NARRATES.search(each.said)]
    passed = next((place for place, each in enumerate(telling) if _passes(each)), None)
    place = _best_told(telling, failure)
    if place is not None:
        return Fix(telling[place].text, _cause_before(telling, place), is_sure=passed is not None)
    if passed is not None and (place := _told_by_passing(telling, passed)) is not None:
        return Fix(telling[place].text, _cause_before(telling, place))
    return None


def _best_told(said: Sequence[Statement], failure: Failure) -> int | None:
    """Where a fix is told; of several, where most is said of what the test is about."""
    about = meaning(f"{failure.short_name} {failure.message}".replace("_", " "))
    worth = {place: worth for place, each in enumerate(said) if (worth := _fix_worth(each, about))}
    return max(worth, key=lambda place: (worth[place], -place), default=None)


def _fix_worth(statement: Statement, about: frozenset[str]) -> int:
    named, done = _FIX_NAMED.search(statement.said), _FIX_DONE.search(statement.said)
    if not (named or done) or len(statement.words) < _SAYS_LITTLE:
        return 0
    return 1 + 2 * bool(named) + min(2, len(statement.words & about))


def _told_by_passing(said: Sequence[Statement], passed: int) -> int | None:
    """Where a fix is told without a word for it: beside the news that the test passes, or before it."""
    beside = [clause for clause in _CLAUSE.split(said[passed].text) if not _PASSES.search(clause)]
    if len(meaning(" ".join(beside))) >= _SAYS_LITTLE and not _COMPLAINS.search(said[passed].said):
        return passed
    before = said[passed - 1] if passed else None
    tells = before and len(before.words) >= _SAYS_LITTLE and not _COMPLAINS.search(before.said)
    return passed - 1 if tells else None


def _failure(text: str, match: re.Match[str]) -> Failure:
    groups = match.groupdict()
    suite = f"{groups['suite'].strip()} > " if groups.get("suite") else ""
    name = suite + match["name"].strip()
    message = groups.get("message") or _message_after(text, match.end())
    start = match.start() + len(match.group()) - len(match.group().lstrip())
    quote = text[start : match.end()].split("\n")[0] if not suite else text[start : match.end("name") + 1]
    return Failure(
        name, quote.rstrip(), start, groups.get("file") or _file_in(name), message.strip()[:_MESSAGE_CHARS]
    )


def _message_after(text: str, end: int) -> str:
    lines = text[end : end + 2_000].split("\n")[1 : _LINES_TO_MESSAGE + 1]
    return next((line.strip().removeprefix("E ").strip() for line in lines if _MESSAGE.search(line)), "")


def _file_in(name: str) -> str:
    return name if re.search(r"\.(?:spec|test)\.\w+$|\.py$", name) else ""


def _passes(statement: Statement) -> bool:
    said = statement.said.replace("without a failure", "green")
    return bool(_PASSES.search(said)) and "fail" not in said


def _cause_before(said: Sequence[Statement], place: int) -> str:
    before = said[place - 1] if place else None
    if before is None or _passes(before) or not _CAUSE.search(before.said):
        return ""
    return before.text
