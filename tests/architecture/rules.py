"""The rules of the house. Each takes a `House` and yields a finding for everything that breaks it.

The two tables say who may import whom and what; a new arrow in them is a decision about the
architecture. Exceptions are not made here but in `test_architecture.py`, by name.

Complexity is measured by ruff (C901, at most 10); a rule here keeps it from being waved through.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from tests.architecture.house import PACKAGE, FunctionNode, House, Module, Placed, room_of

#: Of ours. A room may always import itself; each folder under `actions` is a room.
MAY_IMPORT: dict[str, set[str]] = {
    "__init__": set(),
    "errors": set(),
    "model": set(),
    "bridge": set(),
    "folders": {"model", "errors"},
    "settings": {"errors", "model", "bridge.whereabouts"},
    "ports": {"model"},
    "ranking": {"model"},
    "analysis": {"model"},
    "records": {"model", "errors", "bridge.locking"},
    "adapters": {"model", "errors", "ports", "records", "analysis", "bridge.locking"},
    "transcripts": {"model", "errors"},
    "codebase": {"model", "errors"},
    "engine": {"model", "errors", "ports", "records"},
    "actions": {
        "model",
        "errors",
        "ports",
        "engine",
        "ranking",
        "analysis",
        "transcripts",
        "codebase",
        "folders",
        "actions.projection",
        "actions.transcripts.finding",
    },
    "wiring": {
        "model",
        "errors",
        "bridge.whereabouts",
        "settings",
        "ports",
        "ranking",
        "analysis",
        "records",
        "adapters",
        "transcripts",
        "codebase",
        "folders",
        "engine",
        "actions",
    },
    "mcp": {"__init__", "model", "errors", "folders", "engine", "actions"},
    "dashboard": {"model", "errors", "engine", "actions"},
    "http": {
        "__init__",
        "model",
        "errors",
        "bridge",
        "folders",
        "engine",
        "actions",
        "settings",
        "wiring",
        "mcp",
        "dashboard",
    },
    "cli": {"__init__", "model", "errors", "settings", "bridge", "http"},
    "testing": {"model", "errors", "ports"},
    "__main__": {"cli", "bridge"},
}

#: Of others. What is not named here lives on the standard library.
MAY_USE: dict[str, set[str]] = {
    "ports": {"numpy"},
    "ranking": {"numpy", "Stemmer"},
    "analysis": {"numpy"},
    "records": {"sqlalchemy"},
    "transcripts": {"orjson"},
    "adapters": {"numpy", "sqlalchemy", "orjson", "qdrant_edge", "ladybug", "tokenizers"},
    "actions": {"numpy"},
    "mcp": {"mcp", "pydantic", "anyio"},
    "http": {
        "mcp",
        "starlette",
        "uvicorn",
        "structlog",
        "prometheus_client",
        "opentelemetry",
        "anyio",
        "watchdog",
    },
    "cli": {"click"},
    "testing": {"numpy"},
}

ENGINE_LIBRARIES = {"qdrant_edge", "ladybug", "tokenizers"}
MAY_READ_THE_ENVIRONMENT = {"settings", "bridge"}
MAY_PRINT = {"cli"}
ROOMS_OF_VALUES = {"model", "ports"}

MOST_LINES_OF_A_MODULE = 400
MOST_LINES_OF_A_CLASS = 300
MOST_LINES_OF_A_FUNCTION = 60
MOST_PARAMETERS = 6
MOST_PORT_MEMBERS = 7

EMPTY_WORDS = {"Manager", "Service", "Helper", "Util", "Utils", "Base", "Impl", "Handler", "Processor"}
EMPTY_MODULE_NAMES = {"util", "utils", "common", "core", "helper", "helpers", "misc"}


@dataclass(frozen=True)
class Finding:
    """What breaks a rule. `where` is the name under which an exception would be listed."""

    where: str
    what: str


Rule = Callable[[House], Iterator[Finding]]


def imports_keep_to_the_table(house: House) -> Iterator[Finding]:
    """Every import of ours runs downward, along an arrow of the table."""
    for module in house.modules.values():
        top = module.name.split(".")[0]
        if top not in MAY_IMPORT:
            yield Finding(module.path, "is in a room that the table does not know")
            continue
        for target in house.ours(module):
            if not any(_within(target, allowed) for allowed in MAY_IMPORT[top] | {module.room}):
                yield Finding(f"{module.path} -> {room_of(target)}", f"imports {target}")


def libraries_keep_to_their_rooms(house: House) -> Iterator[Finding]:
    """A library is imported only in the rooms that the table names."""
    for module in house.modules.values():
        allowed = MAY_USE.get(module.name.split(".")[0], set())
        for library in {name.split(".")[0] for name in module.imports}:
            if library not in allowed | sys.stdlib_module_names | {PACKAGE}:
                yield Finding(f"{module.path} -> {library}", "imports a library that its room may not use")


def an_adapter_knows_one_engine(house: House) -> Iterator[Finding]:
    """A module in adapters imports one engine's library at most."""
    for module in house.modules.values():
        engines = {name.split(".")[0] for name in module.imports} & ENGINE_LIBRARIES
        if len(engines) > 1:
            yield Finding(module.path, f"imports {sorted(engines)}")


def actions_take_only_values_from_the_ports(house: House) -> Iterator[Finding]:
    """An action meets the engines in `Engine`; of the ports it knows the values that pass through."""
    ports = {f"ports.{name}" for name, _ in _protocols(house)}
    for module in house.modules.values():
        for target in house.ours(module) if module.room.startswith("actions") else ():
            if target in ports:
                yield Finding(module.path, f"imports the port {target}")


def imports_stand_at_the_top(house: House) -> Iterator[Finding]:
    """Nothing is imported inside a function, nor by a name made up at run time."""
    for module in house.modules.values():
        for at in module.nodes:
            if at.function and isinstance(at.node, ast.Import | ast.ImportFrom):
                yield Finding(_place(module, at), "imports inside a function")
            if _called(at.node).endswith(("import_module", "__import__")):
                yield Finding(_place(module, at), "imports by a name made up at run time")


def no_circle(house: House) -> Iterator[Finding]:
    """No module imports itself by way of others."""
    graph = {
        name: {target for each in house.ours(module) if (target := house.module_of(each)) not in {None, name}}
        for name, module in house.modules.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield Finding(" -> ".join(error.args[1]), "is a circle")


def the_environment_has_one_reader(house: House) -> Iterator[Finding]:
    """Only the settings look at environment variables; others are handed what they need."""
    for module in house.modules.values():
        if module.room in MAY_READ_THE_ENVIRONMENT:
            continue
        taken = any(name in {"os.environ", "os.environb", "os.getenv"} for name in module.imports)
        if taken or re.search(r"\bos\.(environb?|getenv)\b", ast.unparse(module.tree)):
            yield Finding(module.path, "reads the environment")


def only_faces_print(house: House) -> Iterator[Finding]:
    """`print` is for the command line alone."""
    for module in house.modules.values():
        for at in module.nodes if module.room not in MAY_PRINT else ():
            if _called(at.node) == "print":
                yield Finding(_place(module, at), "prints")


def modules_are_short(house: House) -> Iterator[Finding]:
    """A module fits in the head."""
    for module in house.modules.values():
        if (lines := len(module.source.splitlines())) > MOST_LINES_OF_A_MODULE:
            yield Finding(module.path, f"has {lines} lines")


def classes_and_functions_are_short(house: House) -> Iterator[Finding]:
    """A class fits on a few screens and a function on one."""
    for module in house.modules.values():
        for most, things in (
            (MOST_LINES_OF_A_CLASS, module.classes),
            (MOST_LINES_OF_A_FUNCTION, module.functions),
        ):
            for name, node in things:
                if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > most:
                    yield Finding(f"{module.path}:{name}", f"has {lines} lines")


def functions_take_few_parameters(house: House) -> Iterator[Finding]:
    """Six parameters at most, by name or by place; what belongs together is a value."""
    for module in house.modules.values():
        for name, node in module.functions:
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = sum(each.arg not in {"self", "cls"} for each in every)
            if count > MOST_PARAMETERS:
                yield Finding(f"{module.path}:{name}", f"takes {count} parameters")


def ports_are_small(house: House) -> Iterator[Finding]:
    """The size of a port decides the size of everything behind it."""
    for name, node in _protocols(house):
        members = [each for each in node.body if isinstance(each, FunctionNode | ast.AnnAssign)]
        if len(members) > MOST_PORT_MEMBERS:
            yield Finding(f"ports.py:{name}", f"has {len(members)} members")


def complexity_is_not_waved_through(house: House) -> Iterator[Finding]:
    """Ruff's limit on complexity is not switched off for a line or a file."""
    for module in house.modules.values():
        if re.search(r"#\s*(ruff:\s*)?noqa(?!:)|noqa:.*C90", module.source):
            yield Finding(module.path, "waves complexity through")


def names_say_something(house: House) -> Iterator[Finding]:
    """No class and no module is named by a word that fits everything."""
    for module in house.modules.values():
        if EMPTY_MODULE_NAMES & set(module.name.split(".")):
            yield Finding(module.path, "has a name that fits everything")
        for name, node in module.classes:
            if empty := EMPTY_WORDS & set(re.findall(r"[A-Z][a-z0-9]*", node.name)):
                yield Finding(f"{module.path}:{name}", f"is named by {sorted(empty)}")


def docstrings_are_there_and_begin_with_a_sentence(house: House) -> Iterator[Finding]:
    """Every module, public class and public function promises something in its first line."""
    for module in house.modules.values():
        documented: list[tuple[str, ast.Module | ast.ClassDef | FunctionNode]] = [
            (module.path, module.tree),
            *((f"{module.path}:{name}", node) for name, node in [*module.classes, *module.functions]),
        ]
        for where, node in documented:
            first = (ast.get_docstring(node) or "").split("\n")[0]
            if first and not _is_sentence(first):
                yield Finding(where, f"begins with {first!r}, which is no sentence")
            if not first and _owes_a_docstring(node, module):
                yield Finding(where, "has no docstring")


def values_are_frozen(house: House) -> Iterator[Finding]:
    """A dataclass among the values is frozen and slotted."""
    for module in house.modules.values():
        for name, node in module.classes if module.room in ROOMS_OF_VALUES else ():
            made = [text for each in node.decorator_list if "dataclass" in (text := ast.unparse(each))]
            if made and not ("frozen=True" in made[0] and "slots=True" in made[0]):
                yield Finding(f"{module.path}:{name}", "is not frozen and slotted")


def broad_excepts_are_translators(house: House) -> Iterator[Finding]:
    """`except Exception` stands once in an adapter, in the context manager that translates.

    A handler that cleans up and raises again swallows nothing, and may stand anywhere.
    """
    for module in house.modules.values():
        spare = 1 if module.room == "adapters" else 0
        for at in module.nodes:
            caught = _broadly_caught(at.node)
            if caught == "Exception" and spare and _is_context_manager(at.function):
                spare = 0
            elif caught:
                yield Finding(_place(module, at), f"catches {caught}")


RULES: list[Rule] = [
    imports_keep_to_the_table,
    libraries_keep_to_their_rooms,
    an_adapter_knows_one_engine,
    actions_take_only_values_from_the_ports,
    imports_stand_at_the_top,
    no_circle,
    the_environment_has_one_reader,
    only_faces_print,
    modules_are_short,
    classes_and_functions_are_short,
    functions_take_few_parameters,
    ports_are_small,
    complexity_is_not_waved_through,
    names_say_something,
    docstrings_are_there_and_begin_with_a_sentence,
    values_are_frozen,
    broad_excepts_are_translators,
]


def _within(target: str, allowed: str) -> bool:
    return target == allowed or target.startswith(f"{allowed}.")


def _place(module: Module, at: Placed) -> str:
    return f"{module.path}:{at.scope or 'top'}"


def _protocols(house: House) -> Iterator[tuple[str, ast.ClassDef]]:
    for name, node in house.modules["ports"].classes if "ports" in house.modules else ():
        if any(ast.unparse(each).startswith("Protocol") for each in node.bases):
            yield name, node


def _is_sentence(line: str) -> bool:
    return not line[0].islower() and line.endswith((".", "?", "!"))


def _owes_a_docstring(node: ast.Module | ast.ClassDef | FunctionNode, module: Module) -> bool:
    if isinstance(node, ast.Module):
        return True
    return node in module.tree.body and not node.name.startswith("_")


def _called(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _broadly_caught(node: ast.AST) -> str | None:
    match node:
        case ast.ExceptHandler(body=[*_, ast.Raise(exc=None)]):
            return None
        case ast.ExceptHandler(type=None):
            return "everything"
        case ast.ExceptHandler(type=ast.expr() as caught):
            names = re.findall(r"\w+", ast.unparse(caught))
        case ast.Call(args=arguments) if _called(node).endswith("suppress"):
            names = [ast.unparse(each) for each in arguments]
        case _:
            return None
    return next((name for name in ("BaseException", "Exception") if name in names), None)


def _is_context_manager(function: FunctionNode | None) -> bool:
    decorators = function.decorator_list if function else []
    return any(ast.unparse(each).endswith("contextmanager") for each in decorators)
