"""The fields of a memory that its own words give: title, reason, key and value, language, requirement id.

Pure, and English where it reads words. Values are those of the fields that memory types declare; what a text
does not say stays out.
"""

import re
import zlib
from collections.abc import Callable, Mapping
from typing import Final

from backstory.analysis.statements import meaning

Fields = Mapping[str, object]

_TITLE_CHARS: Final = 80
_KEY_WORDS: Final = 4

_REASON = re.compile(
    r"\b(?:because|since|so that|as it|the reason is|as we|as the)\s+(.+?)[.!]?$", re.IGNORECASE
)
_REQUIREMENT_ID = re.compile(r"\bREQ(?:-[A-Z0-9]+)+-\d+\b")
_LANGUAGES: Final = re.compile(
    r"\b(python|typescript|javascript|rust|java|kotlin|swift|ruby|php|elixir|scala|c\+\+|c#|sql|css|html|"
    r"go(?=lang\b|,|\.|$| code| files))(?!\w)",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"\b(?:never|not|no|over|instead of|rather than|don't|without|avoid|stop|hate|dislike)(?: \w+)?\s+$",
    re.IGNORECASE,
)

# What people choose between. The key is the same whatever was chosen, so that another choice contradicts it.
_TOPICS: Final = [
    (key, re.compile(pattern, re.IGNORECASE))
    for key, pattern in {
        "js_package_manager": r"\b(?:pnpm|npm|yarn|bun)\b",
        "python_package_manager": r"\b(?:uv|poetry|pipenv|pdm|conda|pip)\b",
        "quotes": r"\b(?:double|single) quotes\b",
        "indentation": r"\b(?:tabs|(?:two|four|2|4|8) spaces|spaces)\b",
        "test_framework": r"\b(?:pytest|unittest|jest|vitest|mocha)\b",
        "formatter": r"\b(?:black|ruff|prettier|biome|gofmt|yapf)\b",
        "naming_case": r"\b(?:snake_case|camelcase|kebab-case|pascalcase)\b",
        "spelling": r"\b(?:british|american) english\b",
        "line_length": r"\b\d{2,3} (?:columns|characters)\b",
    }.items()
]

_CATEGORIES: Final = [
    (category, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
    for category, words in {
        "Naming": r"nam(?:e|es|ed|ing)|(?:camel|snake|pascal|kebab)[ _-]?case|prefix\w*|suffix\w*",
        "Tool": "pnpm|npm|yarn|uv|poetry|pip|docker|vim|vscode|editor|ide|linter|formatter|git|make|shell",
        "Framework": r"react|vue|svelte|django|flask|fastapi|express|tailwind|framework|dependenc\w+",
        "CodingStyle": r"quotes|tabs|spaces|indent\w*|semicolons?|types?|comments?|docstrings?|style",
    }.items()
]


def fields_of(type_: str, content: str) -> Fields:
    """The fields that a memory of this type has by its content alone; none for types that need more."""
    return _FIELDS[type_](content) if type_ in _FIELDS else {}


def _design(content: str) -> Fields:
    """The fields of a decision: it is accepted, as it was made."""
    fields = {"design_type": "ADR", "title": title(content), "decision": content, "status": "Accepted"}
    if reason := _REASON.search(content):
        fields["rationale"] = reason[1]
    return fields


def _requirement(content: str) -> Fields:
    """The fields of a requirement; one that has no id gets one made from its words, always the same."""
    named = _REQUIREMENT_ID.search(content)
    made = f"REQ-SAID-{zlib.crc32(' '.join(sorted(meaning(content))).encode('utf-8', 'surrogatepass')):010d}"
    return {
        "requirement_id": named.group() if named else made,
        "title": title(content),
        "description": content,
        "status": "Draft",
    }


def _preference(content: str) -> Fields:
    """The fields of a preference: what it is about, what was chosen, and how far it reaches."""
    key, value = _key_and_value(content)
    category = next((name for name, pattern in _CATEGORIES if pattern.search(content)), "Convention")
    return {"category": category, "key": key, "value": value, "scope": _scope(content)}


def _pattern(content: str) -> Fields:
    """The fields of a convention of the code."""
    fields = {"pattern_name": title(content), "pattern_type": "Convention", "usage_context": content}
    if language := _LANGUAGES.search(content):
        fields["language"] = language[1].lower()
    return fields


def title(content: str) -> str:
    """A line that names a text: its beginning, cut between words."""
    first = content.split("\n")[0].rstrip(".!")
    if len(first) <= _TITLE_CHARS:
        return first
    return first[:_TITLE_CHARS].rsplit(" ", 1)[0].rstrip(",;:") + "\u2026"


def _key_and_value(content: str) -> tuple[str, str]:
    for key, pattern in _TOPICS:
        chosen = [
            found for found in pattern.finditer(content) if not _REJECTED.search(content[: found.start()])
        ]
        if chosen:
            return key, chosen[0].group().lower()
    words = [word for word in re.findall(r"[a-z][a-z_]+", content.lower()) if word in meaning(content)]
    return "_".join(dict.fromkeys(words[:_KEY_WORDS])) or "preference", content


def _scope(content: str) -> str:
    if _LANGUAGES.search(content):
        return "Language"
    if re.search(r"\b(?:here|this (?:repo|project|codebase)|in this)\b", content, re.IGNORECASE):
        return "Project"
    return "Global"


_FIELDS: Final[Mapping[str, Callable[[str], Fields]]] = {
    "design": _design,
    "requirement": _requirement,
    "preference": _preference,
    "code_pattern": _pattern,
}
