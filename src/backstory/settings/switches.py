"""What somebody may turn off while the process runs: read again whenever the config file has changed.

What the environment says stays as it was: it cannot change. All other settings wait for the next start.
"""

from pathlib import Path
from typing import Final, TypeAlias

from backstory.errors import SettingsError
from backstory.model.live import Switches
from backstory.settings import Settings
from backstory.settings.catalogue import CONFIG, HOME
from backstory.settings.reading import Reading, read_all

_VECTOR_WRITES: Final = "search.vector_writes"
_SEMANTIC: Final = "search.semantic"

#: What tells a file from the one that was read: when it was written, its size, its place on the disk.
_Trace: TypeAlias = tuple[int, ...]


class FollowedSwitches:
    """The switches as the config file has them now; as they were while it cannot be understood."""

    def __init__(self, settings: Settings) -> None:
        self._places = _places(settings)
        self._file = Path(self._places.get(CONFIG.variable, settings.whereabouts.config))
        self._fixed = {
            reading.key: reading.value for reading in settings.readings if _is_from_environment(reading)
        }
        self._now = Switches(settings.search.vector_writes, settings.search.semantic)
        self._seen: _Trace | None = None  # the file may have changed since the settings were read

    def __call__(self) -> Switches:
        """What is on and what is off."""
        trace = _trace(self._file)
        if trace != self._seen:
            self._now, self._seen = self._read(), trace
        return self._now

    def _read(self) -> Switches:
        try:
            readings = read_all(self._places)
        except SettingsError:  # somebody is at it; what they write next is read then
            return self._now
        values = {each.key: each.value for each in readings} | self._fixed
        return Switches(bool(values[_VECTOR_WRITES]), bool(values[_SEMANTIC]))


def _places(settings: Settings) -> dict[str, str]:
    """An environment that says where the config file is, and nothing else."""
    return {HOME.variable: str(settings.whereabouts.home)} | {
        each.setting.variable: str(each.value)
        for each in settings.readings
        if each.setting is CONFIG and _is_from_environment(each)
    }


def _is_from_environment(reading: Reading) -> bool:
    return reading.origin == f"environment {reading.setting.variable}"


def _trace(file: Path) -> _Trace:
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
