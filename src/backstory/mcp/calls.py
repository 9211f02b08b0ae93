"""One tool call from raw arguments to an answer: checked, done, and noted.

Both ways in use it, the protocol's and the local endpoint's, so a tool answers alike on both. It is
synchronous; whoever calls it owns the thread.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backstory.engine import Work
from backstory.errors import BackstoryError, Cancelled, InputError
from backstory.mcp.arguments import closest, names_of, read_arguments
from backstory.mcp.caller import Caller as Caller
from backstory.mcp.face import Face
from backstory.mcp.observation import UNKNOWN, Status, shape_of
from backstory.mcp.observation import Call as Call
from backstory.mcp.tool import Request, Tool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to. The structured answer and the text each say all of it."""

    structured: dict[str, Any] | None
    text: str
    error: BackstoryError | None


def perform(face: Face, name: str, arguments: Mapping[str, object], caller: Caller, work: Work) -> Outcome:
    """Do one tool call; whatever goes wrong is in the outcome, and nothing is raised."""
    began = time.perf_counter()
    tool = face.tools.get(name)
    outcome, cause = _attempt(face, name, arguments, caller, work)
    call = Call(
        tool=tool.name if tool else UNKNOWN,
        shape=shape_of(arguments, names_of(tool.arguments) if tool else ()),
        arguments=arguments,
        duration_s=time.perf_counter() - began,
        status=_status(outcome.error),
        error=cause,
        bridge=caller.bridge,
    )
    face.performance.note(call)
    face.observe(call)
    return outcome


def unknown_tool(name: str, tools: Mapping[str, Tool[Any, Any]]) -> InputError:
    """What to say to somebody who asks for a tool that there is not."""
    hint = closest(name, tools) or f"the tools are: {', '.join(tools)}"
    return InputError(f"there is no tool {name[:100]!r}", hint=hint)


def _attempt(
    face: Face, name: str, arguments: Mapping[str, object], caller: Caller, work: Work
) -> tuple[Outcome, BaseException | None]:
    """The outcome, and what was really raised."""
    request = Request(face.engine, face.toolbox, face.performance, face.default_project, caller, work)
    try:
        if name not in face.tools:
            raise unknown_tool(name, face.tools)  # noqa: TRY301 - told and noted like every other mistake
        return _do(face.tools[name], arguments, request), None
    except BackstoryError as error:
        return _failed(error), error
    except Exception as error:  # noqa: BLE001 - the face's one translator: nothing of it may reach the caller
        return _failed(_unexpected(name)), error


def _do(tool: Tool[Any, Any], arguments: Mapping[str, object], request: Request) -> Outcome:
    answer = tool.function(request, read_arguments(tool.arguments, arguments))
    return Outcome(answer.structured(), tool.render(answer), None)


def _failed(error: BackstoryError) -> Outcome:
    return Outcome(None, f"{error}\nHint: {error.hint}" if error.hint else str(error), error)


def _unexpected(name: str) -> BackstoryError:
    return BackstoryError(
        f"{name} failed unexpectedly; see the log", hint="try again; if it goes on, run 'backstory doctor'"
    )


def _status(error: BackstoryError | None) -> Status:
    match error:
        case None:
            return "ok"
        case InputError():
            return "input_error"
        case Cancelled():
            return "cancelled"
        case _:
            return "error"
