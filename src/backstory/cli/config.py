"""`backstory config`: every setting, its value and where the value came from.

Reading and checking is done by `settings`; here it is only shown, secrets masked.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import click

from backstory.cli.asking import as_json, tell
from backstory.settings import Reading, Settings, read_settings, unknown_variables
from backstory.settings.catalogue import SECTIONS


@click.command()
@as_json
def config() -> None:
    """Show each setting, its value and where it came from."""
    settings, unknown = read_settings(), unknown_variables()
    tell(_as_json(settings, unknown), "\n".join(_as_text(settings, unknown)))


def _as_json(settings: Settings, unknown: Mapping[str, str | None]) -> dict[str, object]:
    return {
        "engines": settings.engines,
        "settings": [
            {
                "variable": reading.setting.variable,
                "key": reading.key,
                "value": reading.value,
                "origin": reading.origin,
            }
            for reading in settings.readings
        ],
        "unknown_variables": unknown,
    }


def _as_text(settings: Settings, unknown: Mapping[str, str | None]) -> Iterator[str]:
    width = max(len(reading.setting.variable) for reading in settings.readings)
    for section, readings in groupby(settings.readings, key=_section):
        rows = [(each.setting.variable, _written(each), each.origin) for each in readings]
        yield from _table(_heading(section), rows, width)
    engines = [(use, str(choice), "") for use, choice in settings.engines.items()]
    yield from _table("Engines in use.", engines, width)
    if unknown:
        meant = [(name, f"did you mean {other}?" if other else "", "") for name, other in unknown.items()]
        yield from _table("Set, but no settings; probably misspelt.", meant, width)


def _section(reading: Reading) -> str | None:
    return reading.key.partition(".")[0] if reading.key else None


def _heading(section: str | None) -> str:
    return f"[{section}] {SECTIONS[section].__doc__}" if section else "Where things are."


def _written(reading: Reading) -> str:
    """The value as it would be written in the environment."""
    match reading.value:
        case None:
            return "off" if reading.setting.default else "(unset)"
        case bool(flag):
            return str(flag).lower()
        case tuple(names):
            return ",".join(names)
        case value:
            return str(value)


def _table(heading: str, rows: Sequence[tuple[str, str, str]], width: int) -> Iterator[str]:
    middle = max(len(value) for _, value, _ in rows)
    yield heading
    for name, value, origin in rows:
        yield f"  {name:<{width}}  {value:<{middle}}  {origin}".rstrip()
    yield ""
