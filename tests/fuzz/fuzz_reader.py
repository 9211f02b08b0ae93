"""Bytes of any kind are read without an error, whole and slim alike, and piece by piece as at once.

Run by itself it looks for bytes that break this until it is stopped:
`python tests/fuzz/fuzz_reader.py FOLDER`, where the folder keeps what was found worth trying.
"""

import sys

import atheris  # type: ignore[import-untyped]  # it has no types

with atheris.instrument_imports(include=["backstory.transcripts"]):
    from backstory.transcripts.lines import Lines, read_lines
    from backstory.transcripts.reader import read_transcript
    from backstory.transcripts.slim import slimmed


def read(data: bytes) -> None:
    """Fail if the bytes of a file are read differently in one of the ways in which they may be read."""
    lines = read_lines(data)
    slim = Lines([slimmed(record) for record in lines.records], lines.consumed, lines.flaws)
    assert read_transcript(slim) == read_transcript(lines)
    first = read_lines(data[: len(data) // 2])
    rest = read_lines(data[first.consumed :], first.consumed)
    assert [*first.records, *rest.records] == list(lines.records)


if __name__ == "__main__":
    atheris.Setup(sys.argv, read)
    atheris.Fuzz()
