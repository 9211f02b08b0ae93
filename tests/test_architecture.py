"""The architecture, held by tests: every rule is kept, and every rule can be broken.

The rules themselves, with the import tables, are in `architecture/rules.py`. An exception is
listed here under its rule, by name and with its reason; the list may only shrink.
"""

import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.architecture import rules
from tests.architecture.house import House
from tests.architecture.rules import MAY_IMPORT, RULES, Rule

REPOSITORY = Path(__file__).parents[1]
HOUSE = House(REPOSITORY / "src" / "backstory")

EXCEPTIONS: dict[Rule, dict[str, str]] = {
    rules.imports_keep_to_the_table: {
        "actions/maintenance/backup.py -> records": "packs the file itself, which no transaction offers",
        "actions/maintenance/restore.py -> records": "puts the file in place before anything is opened",
        "cli/maintenance.py -> actions.maintenance": "restores while no process has the store open",
    },
    rules.imports_stand_at_the_top: {
        "__main__.py:main": "the bridge starts before anything else is loaded",
        "cli/__init__.py:Commands.get_command": "a command does not wait for what others need",
        "cli/asking.py:_check_settings": "settings take 44 ms to load, and are needed when a start failed",
        "cli/maintenance.py:restore": "the engines take half a second to load",
        "http/tracing.py:sending_spans": "optional: only who sends spans installs what sends them",
        "cli/serve.py:serve": "the engines and the protocol take a second and more to load",
        "model/kinds/catalogue.py:listed": "a type of memory is one file, found by listing them",
    },
    rules.broad_excepts_are_translators: {
        "http/faults.py:unexpected_told": "the process's translator: a log line, and an error of ours",
        "mcp/calls.py:_attempt": "the face's translator: nothing of a failure may reach the caller",
    },
}

A_LONG_FUNCTION = '"""Doc."""\ndef _long():\n' + "    x = 1\n" * 60
A_LONG_CLASS = '"""Doc."""\nclass _Long:\n' + "    x = 1\n" * 300
A_WIDE_PORT = '"""Doc."""\nclass Wide(Protocol):\n    """Doc."""\n' + "".join(
    f"    def m{number}(self): ...\n" for number in range(8)
)

#: A file that breaks the rule, with what is in it, and the name under which it is found.
OFFENDERS: list[tuple[Rule, dict[str, str], str]] = [
    (
        rules.imports_keep_to_the_table,
        {"model/a.py": "from backstory.errors import InputError", "errors.py": ""},
        "model/a.py -> errors",
    ),
    (
        rules.imports_keep_to_the_table,
        {"records/a.py": "from backstory import adapters", "adapters/a.py": ""},
        "records/a.py -> adapters",
    ),
    (
        rules.imports_keep_to_the_table,
        {"records/a.py": "from ..adapters.b import c", "adapters/b.py": ""},
        "records/a.py -> adapters",
    ),
    (
        rules.imports_keep_to_the_table,
        {"settings.py": "import backstory.bridge.stdio", "bridge/stdio.py": ""},
        "settings.py -> bridge",
    ),
    (
        rules.imports_keep_to_the_table,
        {"actions/memory/add.py": "from backstory.actions.recall import find", "actions/recall/find.py": ""},
        "actions/memory/add.py -> actions.recall",
    ),
    (rules.imports_keep_to_the_table, {"services/a.py": ""}, "services/a.py"),
    (rules.libraries_keep_to_their_rooms, {"model/a.py": "import numpy as np"}, "model/a.py -> numpy"),
    (
        rules.libraries_keep_to_their_rooms,
        {"records/a.py": "from qdrant_edge import Bm25"},
        "records/a.py -> qdrant_edge",
    ),
    (rules.an_adapter_knows_one_engine, {"adapters/a.py": "import ladybug, qdrant_edge"}, "adapters/a.py"),
    (
        rules.actions_take_only_values_from_the_ports,
        {
            "actions/memory/add.py": "from backstory.ports import Embedder",
            "ports.py": "class Embedder(Protocol): ...",
        },
        "actions/memory/add.py",
    ),
    (rules.imports_stand_at_the_top, {"a.py": "def f():\n    import json"}, "a.py:f"),
    (rules.imports_stand_at_the_top, {"a.py": "x = importlib.import_module('json')"}, "a.py:top"),
    (
        rules.no_circle,
        {"a.py": "from backstory.b import x", "b.py": "from backstory import a"},
        "a -> b -> a",
    ),
    (rules.the_environment_has_one_reader, {"wiring.py": "import os\nx = os.environ['HOME']"}, "wiring.py"),
    (rules.the_environment_has_one_reader, {"wiring.py": "from os import getenv"}, "wiring.py"),
    (rules.only_faces_print, {"actions/memory/add.py": "def f():\n    print(1)"}, "actions/memory/add.py:f"),
    (rules.modules_are_short, {"a.py": "x = 1\n" * 401}, "a.py"),
    (rules.classes_and_functions_are_short, {"a.py": A_LONG_FUNCTION}, "a.py:_long"),
    (rules.classes_and_functions_are_short, {"a.py": A_LONG_CLASS}, "a.py:_Long"),
    (
        rules.functions_take_few_parameters,
        {"a.py": "class C:\n    def f(self, a, b, c, /, d, *, e, g, h): ..."},
        "a.py:C.f",
    ),
    (rules.ports_are_small, {"ports.py": A_WIDE_PORT}, "ports.py:Wide"),
    (rules.complexity_is_not_waved_through, {"a.py": "def f(): ...  # noqa: C901"}, "a.py"),
    (rules.complexity_is_not_waved_through, {"a.py": "# ruff: noqa"}, "a.py"),
    (rules.names_say_something, {"records/utils.py": ""}, "records/utils.py"),
    (rules.names_say_something, {"a.py": "class MemoryManager: ..."}, "a.py:MemoryManager"),
    (rules.docstrings_are_there_and_begin_with_a_sentence, {"a.py": ""}, "a.py"),
    (rules.docstrings_are_there_and_begin_with_a_sentence, {"a.py": '"""Doc."""\ndef f(): ...'}, "a.py:f"),
    (rules.docstrings_are_there_and_begin_with_a_sentence, {"a.py": '"""adds things"""'}, "a.py"),
    (rules.values_are_frozen, {"model/a.py": "@dataclass(frozen=True)\nclass A: ..."}, "model/a.py:A"),
    (rules.broad_excepts_are_translators, {"a.py": "try: ...\nexcept Exception: ..."}, "a.py:top"),
    (
        rules.broad_excepts_are_translators,
        {"adapters/a.py": "def f():\n    try: ...\n    except (ValueError, Exception): ..."},
        "adapters/a.py:f",
    ),
    (
        rules.broad_excepts_are_translators,
        {"adapters/a.py": "@contextmanager\ndef f():\n    try: ...\n    except: ..."},
        "adapters/a.py:f",
    ),
    (rules.broad_excepts_are_translators, {"a.py": "with suppress(Exception): ..."}, "a.py:top"),
]

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)


@every_rule
def test_the_house_keeps_the_rule(rule: Rule) -> None:
    broken = [found for found in rule(HOUSE) if found.where not in EXCEPTIONS.get(rule, {})]

    assert not broken, "\n".join([f"{rule.__doc__}", *(f"{found.where} {found.what}" for found in broken)])


@every_rule
def test_every_exception_to_the_rule_is_still_needed(rule: Rule) -> None:
    assert EXCEPTIONS.get(rule, {}).keys() <= {found.where for found in rule(HOUSE)}


@pytest.mark.parametrize(("rule", "files", "where"), OFFENDERS, ids=[each[0].__name__ for each in OFFENDERS])
def test_the_rule_finds_who_breaks_it(rule: Rule, files: dict[str, str], where: str, tmp_path: Path) -> None:
    for name, source in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")

    assert [found.where for found in rule(House(tmp_path))] == [where]


def test_every_rule_has_somebody_who_breaks_it() -> None:
    assert {rule for rule, _, _ in OFFENDERS} == set(RULES)


def test_the_house_is_the_package_itself() -> None:
    assert {"ports", "engine", "model.memory"} <= HOUSE.modules.keys()


def test_only_wiring_sees_the_adapters() -> None:
    assert [room for room, allowed in MAY_IMPORT.items() if "adapters" in allowed] == ["wiring"]


def test_the_import_table_itself_has_no_circle() -> None:
    rooms = {room: {each.split(".")[0] for each in allowed} - {room} for room, allowed in MAY_IMPORT.items()}

    TopologicalSorter(rooms).prepare()


def test_ruff_holds_the_limit_on_complexity() -> None:
    ruff = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]

    assert "C90" in ruff["select"]
    assert ruff["mccabe"]["max-complexity"] == 10


def test_the_architecture_page_shows_the_import_table() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text("utf-8")
    section = page.split("## Who may import whom", 1)[1].split("\n## ", 1)[0]
    shown: dict[str, set[str]] = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            rooms, allowed = (set(re.findall(r"`([^`]+)`", cell)) for cell in line.split("|")[1:3])
            shown |= dict.fromkeys(rooms, allowed)

    assert shown == MAY_IMPORT
