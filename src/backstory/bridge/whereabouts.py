"""Where the data folder is, and the name of everything in it.

Standard library only: the bridge and the process must agree on these places, and the bridge
starts with nothing else loaded. Nothing is created or opened here; that is left to whoever owns
the thing.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HOME_VARIABLE = "BACKSTORY_HOME"


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The data folder and the places in it."""

    home: Path

    @property
    def records(self) -> Path:
        """The SQLite file: the source of truth."""
        return self.home / "backstory.db"

    @property
    def vectors(self) -> Path:
        """The embedded vector engine's folder; can be rebuilt from the records."""
        return self.home / "vectors"

    @property
    def graph(self) -> Path:
        """The embedded graph engine's folder; can be rebuilt from the records."""
        return self.home / "graph"

    @property
    def cache(self) -> Path:
        """What may be deleted at any time."""
        return self.home / "cache"

    @property
    def owner_lock(self) -> Path:
        """Held by the one process that owns the data."""
        return self.home / "owner.lock"

    @property
    def token(self) -> Path:
        """The secret by which local programs reach that process."""
        return self.home / "token"

    @property
    def process(self) -> Path:
        """Where that process listens, and who it is; there while it runs."""
        return self.home / "process.json"

    @property
    def start_lock(self) -> Path:
        """Held by whoever is starting that process."""
        return self.home / "start.lock"

    @property
    def config(self) -> Path:
        """The config file that is read when no other is named."""
        return self.home / "config.toml"

    @property
    def logs(self) -> Path:
        """The process's log files."""
        return self.home / "logs"


def find_whereabouts(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Whereabouts:
    """The folder `BACKSTORY_HOME` names, or the platform's data folder. It need not exist.

    Raises `RuntimeError` when the folder depends on the user's home and the system knows none.
    """
    named = environ.get(HOME_VARIABLE, "").strip()
    home = Path(named).expanduser() if named else _platform_folder(environ, platform) / "backstory"
    return Whereabouts(home.absolute())


def _platform_folder(environ: Mapping[str, str], platform: str) -> Path:
    if platform == "win32":
        local = environ.get("LOCALAPPDATA", "")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    # The XDG specification says that a relative path here is to be ignored.
    if (xdg := Path(environ.get("XDG_DATA_HOME", ""))).is_absolute():
        return xdg
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path.home() / ".local" / "share"
