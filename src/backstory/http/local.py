"""The endpoint for programs on this machine: every tool, and what only the owner of the data can do.

`POST /local/{verb}` takes a JSON object and answers with lines of JSON: progress while the work goes on,
then the answer or the error. A client that goes away stops the work. How a tool works is left to `mcp`.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from backstory.actions.maintenance.backup import back_up
from backstory.actions.maintenance.rebuild import rebuild
from backstory.actions.transcripts.choosing import Wish
from backstory.actions.transcripts.ingest import ingest_transcripts
from backstory.engine import Engine, TranscriptPlaces, Work
from backstory.errors import BackstoryError, InputError
from backstory.http import conversation_verbs, memory_verbs
from backstory.http.faults import unexpected_told
from backstory.http.health import Health, as_text
from backstory.http.verbs import Asking, Told
from backstory.mcp.calls import Caller, perform
from backstory.mcp.face import Face
from backstory.mcp.transcript_render import indexed
from backstory.mcp.transcript_reports import ConversationsIndexed
from backstory.mcp.wording import number
from backstory.settings import Settings

VERBS: Final = {**conversation_verbs.VERBS, **memory_verbs.VERBS}

CONTENT_TYPE: Final = "application/x-ndjson"

#: Reports that wait for a client that reads slowly; those beyond are left out.
MOST_LINES: Final = 100

Line = dict[str, Any]


@dataclass(frozen=True)
class Local:
    """What can be asked at the local endpoint. `stop` makes the process end, after what is in flight."""

    face: Face
    health: Health
    settings: Settings
    stop: Callable[[], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        work_lines, lines = anyio.create_memory_object_stream[Line](MOST_LINES)
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-type", CONTENT_TYPE.encode())],
            }
        )
        async with work_lines, lines, anyio.create_task_group() as tasks:
            body = await request.body()
            work = Work(_reporting(work_lines))
            tasks.start_soon(_cancel_when_gone, receive, work)
            tasks.start_soon(self._run, request, body, work, work_lines)
            try:
                await _send_all(lines, send)
            finally:
                work.cancel()  # its thread is waited for
                tasks.cancel_scope.cancel()

    async def _run(
        self, request: Request, body: bytes, work: Work, lines: MemoryObjectSendStream[Line]
    ) -> None:
        try:
            told = await self._answer(request, body, work)
        except BackstoryError as error:
            await lines.send({"error": _as_line(error)})
        else:
            await lines.send({"answer": told.answer, "text": told.text})

    async def _answer(self, request: Request, body: bytes, work: Work) -> Told:
        verb, arguments = request.path_params["verb"], _arguments(body)
        caller = Caller.from_headers(request.headers)
        asking = Asking(self.face.engine, self.settings, caller, work)
        match verb:
            case "status":
                report = await self.health.report()
                return Told(report, as_text(report))
            case "stop":
                self.stop()
                return Told({"stopping": True}, "Stopping.")
            case "rebuild" | "backup" | "index_folder":
                return await anyio.to_thread.run_sync(_maintain, asking, verb, arguments)
            case _ if verb in VERBS:
                return await anyio.to_thread.run_sync(_look_after, asking, verb, arguments)
            case _:
                return await anyio.to_thread.run_sync(
                    _call_tool, self.face, verb, arguments, caller, work, limiter=self.face.threads_for(verb)
                )


async def _send_all(lines: MemoryObjectReceiveStream[Line], send: Send) -> None:
    """Send each line as it comes, up to the one that is no progress."""
    async for line in lines:
        data = json.dumps(line, default=str).encode() + b"\n"
        last = "progress" not in line
        await send({"type": "http.response.body", "body": data, "more_body": not last})
        if last:
            return


def _call_tool(face: Face, verb: str, arguments: Mapping[str, object], caller: Caller, work: Work) -> Told:
    outcome = perform(face, verb, arguments, caller, work)
    if outcome.error:
        raise outcome.error
    return Told(outcome.structured or {}, outcome.text)


def _look_after(asking: Asking, verb: str, arguments: Mapping[str, object]) -> Told:
    with unexpected_told(verb):
        return VERBS[verb](asking, arguments)


def _maintain(asking: Asking, verb: str, arguments: Mapping[str, object]) -> Told:
    with unexpected_told(verb):
        match verb:
            case "rebuild":
                return _rebuilt(asking.engine, asking.work)
            case "backup":
                return _backed_up(asking.engine, asking.settings, arguments)
            case _:
                return _read_in(asking.engine, arguments, asking.work)


def _rebuilt(engine: Engine, work: Work) -> Told:
    rebuild(engine, work)
    entries = {name: state.entries for name, state in engine.vectors.describe().items()}
    text = ", ".join(f"{name} with {count:,} entries" for name, count in entries.items())
    return Told({"entries": entries}, f"Rebuilt: {text}.")


def _backed_up(engine: Engine, settings: Settings, arguments: Mapping[str, object]) -> Told:
    target = arguments.get("target")
    if not isinstance(target, str) or not Path(target).is_absolute():
        raise InputError("a backup needs a target", hint='give the absolute path of a new file as "target"')
    done = back_up(engine, Path(target), settings.context.storage_path)
    what = f"{done.memories:,} memories"
    if done.conversation_files:
        what += f" and {number(done.conversation_files, 'file')} of live conversations"
    text = f"Backed up {what} to {done.path} ({done.size_bytes / 2**20:.1f} MB)."
    return Told({**asdict(done), "path": str(done.path)}, text)


def _read_in(engine: Engine, arguments: Mapping[str, object], work: Work) -> Told:
    """Read in transcripts that lie elsewhere than where agents leave them; they are not watched."""
    folder = arguments.get("folder")
    if not isinstance(folder, str) or not Path(folder).is_absolute() or not Path(folder).is_dir():
        raise InputError(
            f"there is no folder {folder}",
            hint='give the absolute path of a folder of transcripts as "folder"',
        )
    places = TranscriptPlaces(claude_folders=(Path(folder),))
    done = ingest_transcripts(replace(engine, transcripts=places), Wish(), work)
    answer = ConversationsIndexed.of(done)
    return Told(answer.structured(), indexed(answer))


def _arguments(body: bytes) -> Mapping[str, object]:
    try:
        arguments = json.loads(body or b"{}")
    except (ValueError, RecursionError):  # not JSON, or nested without end
        arguments = None
    if not isinstance(arguments, dict):
        raise InputError("the body is not a JSON object", hint='send for example {"query": "retries"}')
    return arguments


def _reporting(lines: MemoryObjectSendStream[Line]) -> Callable[[int, int | None, str], None]:
    def report(done: int, total: int | None, message: str) -> None:
        line = {"progress": {"done": done, "total": total, "message": message}}
        # Nobody listens any more, or nobody reads: the work goes on to where it is told to stop.
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.WouldBlock):
            anyio.from_thread.run_sync(lines.send_nowait, line)

    return report


async def _cancel_when_gone(receive: Receive, work: Work) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    work.cancel()


def _as_line(error: BackstoryError) -> Line:
    return {"kind": type(error).__name__, "message": str(error), "hint": error.hint}
