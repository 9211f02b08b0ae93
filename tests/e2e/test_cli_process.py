"""`serve`, `mcp`, `stop` and `status` as they are typed, and what Ctrl-C does."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from backstory.bridge.process import Process, running
from backstory.bridge.wire import Connection

from .program import Program

Programs = Callable[..., Program]


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    """Programs with data folders of their own, whose processes are stopped at the end."""
    made: list[Program] = []

    def make(name: str = "home", **environ: str) -> Program:
        made.append(Program(tmp_path / name, **environ))
        return made[-1]

    yield make
    for program in made:
        program.stop()


@pytest.fixture(scope="module")
def resident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A program whose process runs during all tests of this module."""
    program = Program(tmp_path_factory.mktemp("resident") / "home")
    program("stats")
    yield program
    program.stop()


def the_process(program: Program) -> Process:
    found = running(program.where)
    assert found is not None
    return found


def test_without_a_process_status_says_so_and_starts_none(programs: Programs) -> None:
    program = programs()

    told, as_json = program("status"), program("status", "--json")

    assert (told.exit_code, as_json.exit_code) == (3, 3)
    assert "not running" in told.stdout
    assert json.loads(as_json.stdout) == {"running": False}
    assert not program.where.home.exists()


def test_without_a_process_there_is_nothing_to_stop(programs: Programs) -> None:
    program = programs()

    assert program("stop").stdout == "Backstory was not running.\n"
    assert program.json("stop") == {"stopped": False, "pid": None}
    assert not program.where.home.exists()


def test_status_tells_who_the_process_is_and_how_it_is(resident: Program) -> None:
    process = the_process(resident)

    told = resident.json("status")

    assert told["running"] is True
    assert (told["pid"], told["url"], told["version"]) == (process.pid, process.url, process.version)
    assert told["status"] == "ok"
    assert told["uptime_s"] >= 0
    assert all(check["ok"] for check in told["checks"].values())
    assert process.url in resident("status").stdout


def test_the_process_that_a_command_starts_outlives_it_and_serves_the_next(programs: Programs) -> None:
    program = programs()

    assert program.run("stats").returncode == 0
    process = the_process(program)
    assert program.run("stats").returncode == 0

    assert the_process(program) == process
    assert os.getsid(process.pid) != os.getsid(0)  # what a terminal sends does not reach it


def test_stop_returns_when_the_data_is_free_though_a_client_stays_connected(programs: Programs) -> None:
    program = programs()
    program("stats")
    process = the_process(program)
    with closing(Connection(process.url, 10)) as connection:
        connection.ask("GET /health", {}).body.read()

        assert program.json("stop") == {"stopped": True, "pid": process.pid}

    assert not program.where.process.exists()
    assert program("status").exit_code == 3
    assert program("stats").exit_code == 0
    assert the_process(program).id != process.id


def test_status_and_stop_work_while_the_settings_are_wrong(programs: Programs) -> None:
    program = programs()
    program("stats")
    process = the_process(program)

    assert program("status", MCP_PORT="http").exit_code == 0
    assert program("stop", MCP_PORT="http").stdout == f"Stopped process {process.pid}.\n"


def test_a_process_that_is_not_well_gives_status_code_1(programs: Programs) -> None:
    program = programs(BACKSTORY_MIN_FREE_MB="999999999999")
    program("stats")

    told = program("status", "--json")

    assert told.exit_code == 1
    assert json.loads(told.stdout)["status"] == "degraded"


def test_wrong_settings_keep_the_process_from_starting_and_end_with_code_2(programs: Programs) -> None:
    refused = programs()("stats", MCP_PORT="http")

    assert refused.exit_code == 2
    assert refused.stderr.startswith("Error: MCP_PORT is 'http'")


def test_a_process_that_cannot_start_is_told_with_its_reason(programs: Programs) -> None:
    program = programs()
    program.where.home.mkdir()
    program.where.records.write_bytes(b"not a database" * 100)

    refused = program("stats", "--json")

    assert refused.exit_code == 1
    error = json.loads(refused.stderr)["error"]
    assert error["kind"] == "StoreUnavailable"
    assert "damaged" in error["message"]
    assert "start.log" in error["message"]
    assert "doctor" in error["hint"]


def test_two_homes_do_not_mix(resident: Program, programs: Programs) -> None:
    other = programs()
    resident("memory", "add", "design", "Only at home.", "--project", "p")

    assert other.json("stats", "--all")["total"] == 0
    assert the_process(other).pid != the_process(resident).pid
    other("stop")
    assert resident("status").exit_code == 0


def started(serving: "subprocess.Popen[str]") -> str:
    """What was said until the log told that the process is there."""
    assert serving.stderr is not None
    for line in serving.stderr:
        if "http://127.0.0.1:" in line:
            return line
    raise AssertionError("it ended before it had started")


def test_serve_tells_its_address_and_ends_by_ctrl_c(programs: Programs) -> None:
    program = programs()
    with program.running("serve") as serving:
        line = started(serving)
        process = the_process(program)
        assert process.pid == serving.pid
        assert process.url in line

        serving.send_signal(signal.SIGINT)
        said, logged = serving.communicate()

    assert serving.returncode == 0
    assert "claude mcp add --scope user backstory" in said
    assert process.url in said
    assert "Traceback" not in logged
    assert not program.where.process.exists()


def test_a_second_owner_is_told_who_holds_the_data(resident: Program) -> None:
    refused = resident.run("serve")

    assert refused.returncode == 1
    assert f"process {the_process(resident).pid}" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("arguments", [["mcp"], ["--", "mcp"]], ids=["plainly", "by the command line"])
def test_mcp_is_the_bridge(resident: Program, arguments: list[str]) -> None:
    client_info = {"name": "test", "version": "1"}
    parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}

    bridge = resident.run(*arguments, stdin=json.dumps(hello) + "\n")

    assert bridge.returncode == 0
    assert json.loads(bridge.stdout)["result"]["serverInfo"]["name"] == "backstory"


def test_ctrl_c_ends_a_rebuild_with_code_130_and_the_store_stays_sound(programs: Programs) -> None:
    program = programs()
    for number in range(8):  # a graph each, so that there is much to build
        program("memory", "add", "design", f"Note {number}.", "--project", f"p{number}")
    terminal, stderr = os.openpty()

    with program.running("rebuild", stderr=stderr) as rebuilding:
        os.close(stderr)
        shown = b""
        while b"building" not in shown:
            shown += os.read(terminal, 1000)
        rebuilding.send_signal(signal.SIGINT)
        rebuilding.communicate()
    os.close(terminal)

    assert rebuilding.returncode == 130
    assert len(program.json("memory", "search", "note", "--all")["hits"]) == 8
    assert program("status").exit_code == 0
    entries = sum(program.json("rebuild")["entries"].values())
    assert entries == 8
    assert program.json("stats", "--all")["index"]["healthy"] is True
