"""Which types of memories there are: those that are declared, and no list beside them."""

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import Final

from backstory.model.kinds import declared
from backstory.model.kinds.kind import MemoryKind


def listed(package: ModuleType) -> dict[str, MemoryKind]:
    """The types that the modules of a package declare in `KIND`, by their names."""
    modules = (
        importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    )
    kinds: list[MemoryKind] = [module.KIND for module in modules]
    return {kind.name: kind for kind in kinds}


KINDS: Final[Mapping[str, MemoryKind]] = listed(declared)
