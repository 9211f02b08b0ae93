"""Reads a source tree for the rules: its modules, what they import, and where each node stands.

Judges nothing; the rules do.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "backstory"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Placed:
    """A node, the qualified name of the scope around it, and the innermost function around it."""

    node: ast.AST
    scope: str
    function: FunctionNode | None


@dataclass(frozen=True)
class Module:
    """One file. Its name is dotted and leaves out the package: "records.schema"."""

    name: str
    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source, self.path)

    @property
    def room(self) -> str:
        return room_of(self.name)

    @cached_property
    def nodes(self) -> list[Placed]:
        return list(_placed(self.tree, "", None))

    @property
    def functions(self) -> Iterator[tuple[str, FunctionNode]]:
        for at in self.nodes:
            if isinstance(at.node, FunctionNode):
                yield joined(at.scope, at.node.name), at.node

    @property
    def classes(self) -> Iterator[tuple[str, ast.ClassDef]]:
        for at in self.nodes:
            if isinstance(at.node, ast.ClassDef):
                yield joined(at.scope, at.node.name), at.node

    @property
    def imports(self) -> Iterator[str]:
        """What is imported, by full name; from a module, the name taken out of it is the last part."""
        for at in self.nodes:
            match at.node:
                case ast.Import(names=names):
                    yield from (alias.name for alias in names)
                case ast.ImportFrom(names=names) as node:
                    yield from (f"{self._origin(node)}.{alias.name}" for alias in names)

    def _origin(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        here = Path(self.path).parent.parts
        above = here[: len(here) - node.level + 1]
        return ".".join([PACKAGE, *above, *([node.module] if node.module else [])])


class House:
    """Every module under one root."""

    def __init__(self, root: Path) -> None:
        self.modules: Mapping[str, Module] = {
            module.name: module for path in sorted(root.rglob("*.py")) for module in [_read(root, path)]
        }

    def ours(self, module: Module) -> Iterator[str]:
        """What a module imports of this house, without the package's name."""
        for name in module.imports:
            inner = name.removeprefix(f"{PACKAGE}.")
            if inner != name and any(known.split(".")[0] == inner.split(".")[0] for known in self.modules):
                yield inner

    def module_of(self, imported: str) -> str | None:
        """The module that an imported name is, or is taken out of."""
        parts = imported.split(".")
        prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        return next((name for name in prefixes if name in self.modules), None)


def room_of(name: str) -> str:
    """The room a dotted name lies in; each folder of actions is a room of its own."""
    parts = name.split(".")
    return ".".join(parts[: 2 if parts[0] == "actions" else 1])


def joined(scope: str, name: str) -> str:
    """The qualified name of something inside a scope."""
    return f"{scope}.{name}" if scope else name


def _read(root: Path, path: Path) -> Module:
    relative = path.relative_to(root)
    parts = relative.with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
    return Module(name, relative.as_posix(), path.read_text("utf-8"))


def _placed(parent: ast.AST, scope: str, function: FunctionNode | None) -> Iterator[Placed]:
    for node in ast.iter_child_nodes(parent):
        yield Placed(node, scope, function)
        inner = joined(scope, node.name) if isinstance(node, FunctionNode | ast.ClassDef) else scope
        yield from _placed(node, inner, node if isinstance(node, FunctionNode) else function)
