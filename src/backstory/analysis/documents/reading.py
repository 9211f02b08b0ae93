"""A document in markdown, read: its requirements, its decision records, what it names beside them."""

from dataclasses import replace

from backstory.analysis.documents.decisions import decisions
from backstory.analysis.documents.ids import once
from backstory.analysis.documents.markdown import Line, Page, page
from backstory.analysis.documents.requirements import ids_on, requirements
from backstory.analysis.documents.values import ParsedDocument


def parsed(path: str, text: str) -> ParsedDocument:
    """All requirements and decision records of a document. No text is refused.

    `path` is how the document is called wherever it is spoken of; keys are made with it. Every requirement's
    id outside of code is told: as an item, as a reference of one, or as one of the document. Inside a
    decision record, ids are references.
    """
    read = page(text)
    decided = decisions(read, path)
    required = requirements(_without(read, decided.lines), path)
    taken = decided.lines | required.lines
    declared = {item.id for item in required.items}
    named = (
        id for line in read.lines if line.number not in taken for id in ids_on(line) if id not in declared
    )
    problems = sorted([*decided.problems, *required.problems], key=lambda problem: problem.line)
    return ParsedDocument(
        path, tuple(required.items), tuple(decided.items), tuple(once(named)), tuple(problems)
    )


def _without(read: Page, numbers: set[int]) -> Page:
    """The page, those lines blank."""
    lines = [Line(line.number, "", "") if line.number in numbers else line for line in read.lines]
    return replace(read, lines=lines)
