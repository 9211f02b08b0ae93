"""Where the process listens, and by which names it may be called there.

A page in a browser can send requests to this machine under a name of its own choosing. So the
process answers to exact names only: see `guard`, which compares them.
"""

import errno
import ipaddress
import logging
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from backstory.errors import SettingsError
from backstory.settings import Settings

METRICS_PATH: Final = "/metrics"

#: The port that clients do not write into Host.
HTTP_PORT: Final = 80

_ANYWHERE: Final = frozenset({"0.0.0.0", "[::]"})  # noqa: S104  # not bound here, but no name to be called by

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entrance:
    """A port that is listened on: the values of Host that are right there, and its paths (None: all)."""

    hosts: frozenset[str]
    paths: frozenset[str] | None = None

    @property
    def origins(self) -> frozenset[str]:
        """The pages that may send requests: its own."""
        return frozenset(f"http://{host}" for host in self.hosts)


@dataclass(frozen=True, slots=True)
class Listening:
    """The bound sockets. `url` is where programs of this machine reach the process."""

    sockets: tuple[socket.socket, ...]
    url: str
    entrances: Mapping[int, Entrance]

    def close(self) -> None:
        """Let the ports go."""
        for each in self.sockets:
            each.close()


def check_host(settings: Settings) -> None:
    """Refuse an address that others can reach, unless the names by which they call it are set."""
    server = settings.server
    if not _is_loopback(server.host) and not server.allowed_hosts:
        raise SettingsError(
            f"MCP_HOST={server.host} can be reached from other machines, and no name is allowed there",
            hint="set BACKSTORY_ALLOWED_HOSTS to the names that clients use, or MCP_HOST=127.0.0.1",
        )


def listen(settings: Settings) -> Listening:
    """Bind what the settings ask for; another port than the default's if that one is taken."""
    server, metrics = settings.server, settings.metrics
    check_host(settings)
    main = _bound_or_any(server.host, server.port, chosen=settings.chosen("MCP_PORT"))
    sockets, port = [main], _port(main)
    entrances = {port: Entrance(_names(main, server.host, server.allowed_hosts))}
    if metrics.enabled and settings.chosen("METRICS_PORT") and metrics.port != port:
        try:
            second = _bound(server.host, metrics.port, "METRICS_PORT")
        except SettingsError:
            main.close()
            raise
        sockets.append(second)
        names = _names(second, server.host, server.allowed_hosts)
        entrances[_port(second)] = Entrance(names, frozenset({METRICS_PATH}))
    return Listening(tuple(sockets), f"http://{_reachable(main)}:{port}", entrances)


def _bound_or_any(host: str, port: int, *, chosen: bool) -> socket.socket:
    try:
        return _bound(host, port, "MCP_PORT")
    except SettingsError as error:
        if chosen or not isinstance(error.__cause__, OSError) or error.__cause__.errno != errno.EADDRINUSE:
            raise
    _log.warning("port %d is taken; listening on a free one, which process.json tells", port)
    return _bound(host, 0, "MCP_PORT")


def _bound(host: str, port: int, variable: str) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # With protocol 0 asyncio does not see TCP, and leaves Nagle's algorithm on: 40 ms a call.
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise SettingsError(f"MCP_HOST={host} is no address of this machine", hint="use 127.0.0.1") from error
    try:
        # Without it a restart has to wait a minute for the connections of the last run; on Windows it
        # would let two programs listen on one port.
        if sys.platform != "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(128)
    except OSError as error:
        bound.close()
        raise SettingsError(
            f"{host}:{port} cannot be listened on: {error.strerror}",
            hint=f"stop the program that uses it, or set {variable} to another port",
        ) from error
    return bound


def _names(bound: socket.socket, host: str, allowed: tuple[str, ...]) -> frozenset[str]:
    own = {_reachable(bound), "localhost", _bracketed(host.lower())} - _ANYWHERE
    with_port = {name if _has_port(name) else f"{name}:{_port(bound)}" for name in {*own, *allowed}}
    # A client leaves the port out when it is the scheme's own, as it is at a proxy in front of us.
    return frozenset(with_port | set(allowed) | (own if _port(bound) == HTTP_PORT else set()))


def _reachable(bound: socket.socket) -> str:
    address = ipaddress.ip_address(bound.getsockname()[0])
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return _bracketed(str(address))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _has_port(name: str) -> bool:
    return name.rpartition("]")[2].count(":") == 1


def _port(bound: socket.socket) -> int:
    port: int = bound.getsockname()[1]
    return port


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
