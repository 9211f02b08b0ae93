"""What `doctor` looks at around the process: is it there and well, is its token safe, is its port free."""

import json
import os
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from backstory import __version__
from backstory.bridge.locking import try_lock
from backstory.bridge.whereabouts import Whereabouts
from backstory.cli.check import Check
from backstory.errors import StoreUnavailable
from backstory.http import client
from backstory.settings import Settings


def process_checks(where: Whereabouts) -> Iterator[Check]:
    """The process, and what it says of itself; nothing when none runs."""
    try:
        found = client.status(where)
    except StoreUnavailable as error:
        yield Check("process", ok=False, finding=str(error), remedy=error.hint)
        return
    if found is not None:
        yield _itself(found.answer)
        for name, told in found.answer["checks"].items():
            yield Check(f"process {name}", told["ok"], told["finding"], told["remedy"])


def _itself(told: Mapping[str, Any]) -> Check:
    finding = f"{told['pid']} at {told['url']}, version {told['version']}"
    same = told["version"] == __version__
    remedy = None if same else "run `backstory stop`: the next command or agent starts this version"
    return Check("process", ok=True, finding=finding, remedy=remedy)


def no_process(where: Whereabouts) -> Check:
    """No process runs, so nobody may hold the data."""
    holder = _holder(where.owner_lock)
    if holder is None:
        return Check("process", ok=True, finding="not running; started when it is needed")
    return Check(
        "process",
        ok=False,
        finding=f"{holder} holds the data and does not answer",
        remedy=f"wait if it is just starting; else end it. The process's log is in {where.logs}",
    )


def _holder(lock: Path) -> str | None:
    try:
        with lock.open("r+", encoding="utf-8") as file:
            return None if try_lock(file) else f"process {json.load(file)['pid']}"
    except OSError:  # there is none yet, or the data folder's own check tells why it cannot be opened
        return None
    except (ValueError, LookupError):
        return "another process"


def token(path: Path) -> Check:
    """The token, if there is one, can be read by its user alone."""
    try:
        shared = os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    except OSError:
        return Check("token", ok=True, finding="none yet; made at the first start")
    if shared:
        remedy = "run `backstory stop`: the next start makes a new one, which clients by HTTP must be told"
        return Check("token", ok=False, finding=f"others can read {path}", remedy=remedy)
    return Check("token", ok=True, finding=f"{path}, for this user alone")


def port(settings: Settings) -> Check:
    """The port is free, or another one may be taken."""
    host, number = settings.server.host, settings.server.port
    if number == 0:
        return Check("port", ok=True, finding="any free one")
    problem = _refusal(host, number)
    if problem is None:
        return Check("port", ok=True, finding=f"{number} on {host} is free")
    if not settings.chosen("MCP_PORT"):
        return Check("port", ok=True, finding=f"{number} is not free ({problem}), so another one is taken")
    return Check(
        "port",
        ok=False,
        finding=f"{number} on {host} cannot be had: {problem}",
        remedy="end the program that has it, or set MCP_PORT to another one, or to 0 for any free one",
    )


def _refusal(host: str, number: int) -> str | None:
    try:
        family, kind, *_, address = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            if os.name == "posix":  # as the process does: a connection that just ended is no obstacle
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return error.strerror or str(error)
    return None
