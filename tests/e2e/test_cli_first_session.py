"""`make run`, whose work `examples/first_session.py` does: what a newcomer sees, twice."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from .program import VARIABLES, Program

SCRIPT = Path(__file__).parents[2] / "examples" / "first_session.py"


def first_session(program: Program) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT)],
        env={**kept, **program.set},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_first_session_loads_the_sample_once_and_tells_how_to_connect(tmp_path: Path) -> None:
    program = Program(tmp_path / "home")
    try:
        first, second = first_session(program), first_session(program)
        status, stats = program.json("status"), program.json("stats", "--all")
    finally:
        program.stop()

    assert "a sample was loaded into the project sample-shop" in first
    assert "a sample of one was read in" in first
    assert "sample was loaded" not in second
    assert "sample of one" not in second
    assert stats["total"] == 10
    for shown in (first, second):
        assert re.search(r"^ +1  conversations with 3 turns$", shown, re.MULTILINE)
        assert re.search(r"^ +10  memories$", shown, re.MULTILINE)
        assert "never charges twice" in shown
        assert "**charged** **twice** last night" in shown
        assert f"Backstory runs at {status['url']}" in shown
        assert re.search(
            rf"^  claude mcp add --scope user backstory --env BACKSTORY_HOME={program.where.home} -- /.*",
            shown,
            re.MULTILINE,
        )
        assert f'{status["url"]}/mcp --header "Authorization: Bearer $(cat {program.where.token})"' in shown
        (mcp_json,) = re.findall(r"^ +(\{.*\})$", shown, re.MULTILINE)
        assert json.loads(mcp_json)["mcpServers"]["backstory"]["args"][-1] == "mcp"


def test_nothing_is_added_to_what_is_the_user_s_own(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-srv-shop"
    folder.mkdir(parents=True)
    said = {
        "type": "user",
        "uuid": "u1",
        "cwd": "/srv/shop",
        "message": {"role": "user", "content": "Hello!"},
    }
    (folder / "3d9c1b52-7a55-4b0e-9d0c-0f0f2e6f6f0a.jsonl").write_text(json.dumps(said) + "\n", "utf-8")
    program = Program(tmp_path / "home", CLAUDE_PROJECTS_DIR=str(folder.parent))
    try:
        program("memory", "add", "design", "My own.")
        shown = first_session(program)
    finally:
        program.stop()

    assert "sample" not in shown
    assert re.search(r"^ +1  conversations with 1 turns$", shown, re.MULTILINE)
    assert re.search(r"^ +1  memories$", shown, re.MULTILINE)
