"""Every dependency is declared, used, and explained in docs/dependencies.md."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.architecture.house import PACKAGE, House

REPOSITORY = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))

DECLARED: dict[str, list[str]] = {
    "Run time": PYPROJECT["project"]["dependencies"],
    "Optional": [each for extra in PYPROJECT["project"]["optional-dependencies"].values() for each in extra],
    "Development": PYPROJECT["dependency-groups"]["dev"],
    "Build": PYPROJECT["build-system"]["requires"],
}

#: Not imported by us but by a library, which is faster when it finds them.
FOR_UVICORN = {"httptools", "uvloop"}


def names(requirements: list[str]) -> set[str]:
    """The names alone, as the index spells them."""
    return {re.split(r"[<>=!~;\[ ]", each)[0].lower().replace("_", "-") for each in requirements}


@pytest.mark.parametrize("heading", DECLARED)
def test_the_page_explains_exactly_what_is_declared(heading: str) -> None:
    page = (REPOSITORY / "docs" / "dependencies.md").read_text("utf-8")
    section = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]

    explained = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)

    assert sorted(explained) == sorted(names(DECLARED[heading]))


def test_the_package_imports_exactly_what_it_declares_for_run_time() -> None:
    house = House(REPOSITORY / "src" / "backstory")
    imported = {name.split(".")[0] for module in house.modules.values() for name in module.imports}
    libraries = imported - sys.stdlib_module_names - {PACKAGE}
    providers = packages_distributions()

    declared, optional = names(DECLARED["Run time"]), names(DECLARED["Optional"])
    used = {name for library in libraries for name in _from(providers[library], declared | optional)}

    assert used - optional == declared - FOR_UVICORN


def _from(providers: list[str], declared: set[str]) -> set[str]:
    """Which of the packages that share a name are meant: those that are declared, if any is."""
    return names(providers) & declared or names(providers[:1])
