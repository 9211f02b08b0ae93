"""`backstory completion`: the scripts, and what bash makes of the one for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from backstory.cli import backstory

BASH = shutil.which("bash")

#: Loads the script as a user's shell would, types the words, presses Tab, and prints what it offers.
SESSION = """
eval "$(backstory completion bash)"
complete -p backstory >/dev/null || exit 9
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_backstory_completion backstory
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    assert BASH is not None
    script = folder / "backstory"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m backstory "$@"\n')
    script.chmod(0o755)
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [BASH, "--norc", "-c", SESSION, "bash", *words],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offers"),
    [
        (["backstory", "st"], ["stats", "status", "stop"]),
        (["backstory", "memory", "de"], ["delete", "deleted"]),
        (["backstory", "memory", "add", "co"], ["code_pattern", "component"]),
        (["backstory", "memory", "search", "x", "--me"], ["--metadata"]),
        (["backstory", "serve", "--d"], []),
        (["backstory", "completion", "z"], ["zsh"]),
    ],
    ids=" ".join,
)
def test_bash_offers_what_can_come_next(tmp_path: Path, words: list[str], offers: list[str]) -> None:
    assert sorted(offered(tmp_path, *words)) == offers


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_the_shell(shell: str) -> None:
    done = CliRunner().invoke(backstory, ["completion", shell])

    assert done.exit_code == 0
    assert f"_BACKSTORY_COMPLETE={shell}_complete" in done.stdout


def test_another_shell_is_refused() -> None:
    assert CliRunner().invoke(backstory, ["completion", "tcsh"]).exit_code == 2
