"""One process owns a data folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from backstory.errors import StoreLocked, StoreReadOnly
from backstory.records.owner import owning


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    lock = tmp_path / "home" / "owner.lock"

    with owning(lock), pytest.raises(StoreLocked), owning(lock):
        pass

    with owning(lock):
        pass


def test_the_lock_ends_with_its_process_however_that_ends(tmp_path: Path) -> None:
    lock = tmp_path / "owner.lock"
    hold = (
        "import sys, pathlib\nfrom backstory.records.owner import owning\n"
        "with owning(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", hold, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StoreLocked, match=f"process {process.pid}"), owning(lock):
            pass
        process.kill()

    with owning(lock):
        pass


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreReadOnly) as refused, owning(tmp_path / "file" / "owner.lock"):
        pass

    assert "BACKSTORY_HOME" in (refused.value.hint or "")
