"""The process as others meet it: what it answers, and how it begins and ends."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import IO, Any

import pytest

from backstory.engine import Engine, Work
from backstory.errors import SettingsError, StoreLocked
from backstory.http.addresses import listen
from backstory.http.process import serve
from backstory.model.project import Project
from backstory.wiring import open_engine
from tests.e2e.doubles import Unreliable
from tests.e2e.hosting import TOKEN, Client, hosted, settings_for, whole

PROGRAM = """
from backstory.http.process import serve
from backstory.settings import read_settings
serve(read_settings(), detached=False)
"""


#: The same, with work that never comes to its end, and little patience.
HANGING = (
    """
import threading
from backstory.http import local, process
process.GRACE_S, process.MOST_S = 0.1, 0.5
local.rebuild = lambda engine, work: (work.step(0, 1, "hanging"), threading.Event().wait())
"""
    + PROGRAM
)


class Running:
    """The process as a real one, with what it logs."""

    def __init__(self, home: Path, process: "subprocess.Popen[str]") -> None:
        self._home = home
        self.process = process

    @property
    def log(self) -> IO[str]:
        assert self.process.stderr is not None
        return self.process.stderr

    @property
    def told(self) -> dict[str, Any]:
        """What process.json says."""
        found: dict[str, Any] = json.loads((self._home / "process.json").read_text("utf-8"))
        return found

    @property
    def client(self) -> Client:
        return Client(int(self.told["url"].rpartition(":")[2]), (self._home / "token").read_text())

    def wait_for(self, event: str) -> dict[str, Any]:
        """The next line of the log that tells of an event."""
        for text in self.log:
            line: dict[str, Any] = json.loads(text)
            if line["event"] == event:
                return line
        raise AssertionError(f"it ended without {event!r}")


@contextmanager
def started(home: Path, program: str = PROGRAM, **variables: str) -> Iterator[Running]:
    """A process of its own, once it has started; ended with the block."""
    own = {
        "BACKSTORY_HOME": str(home),
        "BACKSTORY_MIN_FREE_MB": "1",
        "MCP_PORT": "0",
        "BACKSTORY_REQUESTS_PER_MINUTE": "off",
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, **own, **variables},
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        running = Running(home, process)
        try:
            running.wait_for("started")
            yield running
        finally:
            process.kill()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with whole(tmp_path_factory.mktemp("process")) as opened:
        yield opened


def with_part(engine: Engine, name: str, part: Any) -> Engine:
    """The engine, with a double in place of one of its parts."""
    return replace(engine, **{name: part})


def content_of(client: Client, id: str) -> str:
    content: str = client.local("memory_get", {"id": id, "project": "shop"}).json["answer"]["content"]
    return content


def add(client: Client, content: str, **headers: str) -> str:
    new = {"type": "design", "content": content, "project": "shop"}
    id: str = client.local("memory_add", new, **headers).json["answer"]["id"]
    return id


class TestHealth:
    """Whether all is well, and what to do if not."""

    def test_it_tells_who_the_process_is_and_what_it_depends_on(self, client: Client) -> None:
        told = client.ask("GET", "/health").json

        assert told["status"] == "ok"
        assert told["pid"] == os.getpid()
        assert told["url"] == f"http://127.0.0.1:{client.port}"
        assert {"id", "version", "uptime_s"} <= told.keys()
        assert told["checks"].keys() == {
            "records",
            "vectors",
            "graph",
            "embedder",
            "disk",
            "worker",
            "transcripts",
            "pending",
            "conversations",
        }
        assert all(check["ok"] and check["finding"] for check in told["checks"].values())

    def test_it_is_ready_once_it_answers(self, client: Client) -> None:
        told = client.ask("GET", "/ready")
        bare = Client(client.port, token=None).ask("GET", "/ready")

        assert (told.status, told.json["ready"], told.json["stopping"]) == (200, True, False)
        assert told.json["id"] == client.ask("GET", "/health").json["id"]
        assert (bare.status, bare.json) == (200, {"ready": True})

    @pytest.mark.parametrize("part", ["vectors", "graph", "embedder"])
    def test_an_engine_that_is_down_is_told_with_a_remedy(
        self, engine: Engine, home: Path, part: str
    ) -> None:
        down = Unreliable(getattr(engine, part))
        with hosted(with_part(engine, part, down), settings_for(home)) as (_, client):
            add(client, "so that there is a graph")
            client.local("rebuild")
            down.down = True
            told = client.ask("GET", "/health").json
            bare = Client(client.port, token=None).ask("GET", "/health")
            ready = client.ask("GET", "/ready").status

        assert told["status"] == "degraded"
        assert told["checks"][part] == {
            "ok": False,
            "finding": "StoreUnavailable: the engine is down",
            "remedy": "start it",
        }
        assert (bare.status, bare.json) == (200, {"status": "degraded"})
        assert ready == 200  # what can be answered is answered

    def test_without_its_records_it_is_not_ready(self, engine: Engine, home: Path) -> None:
        down = Unreliable(engine.records)
        with hosted(with_part(engine, "records", down), settings_for(home)) as (_, client):
            down.down = True
            told = client.ask("GET", "/ready")
            bare = Client(client.port, token=None).ask("GET", "/ready")
            down.down = False

        assert (told.status, told.json["ready"]) == (503, False)
        assert told.json["reasons"]
        assert (bare.status, bare.json) == (503, {"ready": False})

    def test_too_little_room_on_the_disk_is_told(self, engine: Engine, home: Path) -> None:
        with hosted(replace(engine, min_free_bytes=1 << 60), settings_for(home)) as (_, client):
            check = client.ask("GET", "/health").json["checks"]["disk"]

        assert not check["ok"]
        assert "free some space" in check["remedy"]

    def test_an_engine_that_hangs_does_not_hold_up_the_answer(
        self, engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("backstory.http.health.ANSWER_S", 0.1)
        let_go = threading.Event()

        class Hanging(Unreliable):
            def describe(self) -> None:
                let_go.wait()

        hanging = with_part(engine, "vectors", Hanging(engine.vectors))
        with hosted(hanging, settings_for(home)) as (_, client):
            checks = [client.ask("GET", "/health").json["checks"] for _ in range(2)]
            let_go.set()

        assert [each["vectors"]["ok"] for each in checks] == [False, False]
        assert all(each["records"]["ok"] for each in checks)

    def test_it_answers_while_a_rebuild_runs(
        self, engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        at_work, go_on = threading.Event(), threading.Event()

        def rebuild(engine: Engine, work: Work) -> None:
            at_work.set()
            go_on.wait()

        monkeypatch.setattr("backstory.http.local.rebuild", rebuild)
        with hosted(engine, settings_for(home)) as (_, client):
            asking = threading.Thread(target=client.local, args=["rebuild"])
            asking.start()
            at_work.wait()
            status = client.ask("GET", "/health").json["status"]
            found = client.local("memory_search", {"query": "x", "project": "shop"}).json
            go_on.set()
            asking.join()

        assert status == "ok"
        assert found["answer"]["hits"] == []


class TestLocal:
    """The endpoint for programs on this machine."""

    def test_a_tool_answers_as_over_mcp(self, client: Client) -> None:
        id = add(client, "Retries wait with jitter.")
        arguments = {"id": id, "project": "shop"}

        local = client.local("memory_get", arguments).json
        over_mcp = client.call("memory_get", arguments).json["result"]

        assert local["answer"] == over_mcp["structuredContent"]
        assert local["text"] == over_mcp["content"][0]["text"]

    def test_an_error_is_told_by_its_kind_with_a_hint(self, client: Client) -> None:
        missing = {"id": "00000000-0000-4000-8000-000000000000", "project": "shop"}
        answer = client.local("memory_get", missing)

        assert answer.status == 200
        assert answer.json["error"]["kind"] == "NotFound"
        assert answer.json["error"].keys() == {"kind", "message", "hint"}

    def test_a_verb_that_there_is_not_is_an_error(self, client: Client) -> None:
        assert client.local("memory_steal").json["error"]["kind"] == "InputError"

    def test_the_caller_s_folder_decides_the_project(self, client: Client, tmp_path: Path) -> None:
        here = {"Backstory-Directory": str(tmp_path)}
        new = {"type": "design", "content": "Belongs to a folder."}

        answer = client.local("memory_add", new, **here).json["answer"]

        assert answer["project"] == str(tmp_path)

    def test_the_same_request_sent_twice_is_done_once(self, client: Client) -> None:
        key = {"Idempotency-Key": "k1"}

        assert add(client, "Once.", **key) == add(client, "Once.", **key)

    def test_a_rebuild_tells_how_far_it_is_and_what_came_of_it(self, client: Client) -> None:
        add(client, "Something to rebuild.")

        *progress, last = client.local("rebuild").lines

        assert progress
        assert all(each["progress"].keys() == {"done", "total", "message"} for each in progress)
        (memories,) = (n for name, n in last["answer"]["entries"].items() if name.startswith("memories-"))
        assert memories > 0
        assert "Rebuilt: memories-" in last["text"]

    def test_a_backup_is_written_where_it_should_be(self, client: Client, tmp_path: Path) -> None:
        target = tmp_path / "copy.backup"

        answer = client.local("backup", {"target": str(target)}).json["answer"]

        assert answer["path"] == str(target)
        assert answer["size_bytes"] == target.stat().st_size

    @pytest.mark.parametrize("target", [None, 5, "relative/path"])
    def test_a_backup_needs_a_whole_path(self, client: Client, target: object) -> None:
        assert client.local("backup", {"target": target}).json["error"]["kind"] == "InputError"

    def test_the_status_is_what_health_tells_in_detail(self, client: Client) -> None:
        answer = client.local("status").json

        assert answer["answer"].keys() == client.ask("GET", "/health").json.keys()
        assert f"http://127.0.0.1:{client.port}" in answer["text"]

    def test_a_client_that_goes_away_stops_the_work(
        self, engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ended: list[BaseException] = []
        over = threading.Event()

        def endless(engine: Engine, work: Work) -> None:
            try:
                while True:
                    work.step(0, None, "on and on")
            except BaseException as error:
                ended.append(error)
                raise
            finally:
                over.set()

        monkeypatch.setattr("backstory.http.local.rebuild", endless)
        with hosted(engine, settings_for(home)) as (_, client):
            with closing(HTTPConnection("127.0.0.1", client.port, timeout=30)) as connection:
                connection.request("POST", "/local/rebuild", "{}", {"Authorization": f"Bearer {TOKEN}"})
                with connection.getresponse() as response:
                    response.readline()
            over.wait()

        assert [type(each).__name__ for each in ended] == ["Cancelled"]


class TestBeginning:
    """One process owns the data, and can be found."""

    def test_a_second_one_is_told_who_holds_the_data(self, engine: Engine, home: Path) -> None:
        with pytest.raises(StoreLocked) as caught:
            serve(settings_for(home), detached=True)

        assert f"process {os.getpid()}" in str(caught.value)

    def test_a_port_that_was_chosen_and_is_taken_is_an_error(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            with pytest.raises(SettingsError) as caught:
                listen(settings_for(tmp_path, MCP_PORT=port))

        assert port in str(caught.value)
        assert "MCP_PORT" in (caught.value.hint or "")

    def test_a_port_that_nobody_chose_is_replaced_by_a_free_one(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            settings = settings_for(tmp_path)
            port = taken.getsockname()[1]
            by_default = replace(settings, server=replace(settings.server, port=port), readings=())
            listening = listen(by_default)
        listening.close()

        assert listening.url != f"http://127.0.0.1:{port}"
        assert len(listening.sockets) == 1

    def test_a_metrics_port_that_is_taken_is_an_error(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            with pytest.raises(SettingsError) as caught:
                listen(settings_for(tmp_path, METRICS_PORT=str(taken.getsockname()[1])))

        assert "METRICS_PORT" in (caught.value.hint or "")

    def test_a_token_file_that_cannot_be_read_is_told_and_the_data_let_go(self, home: Path) -> None:
        (home / "token").mkdir(parents=True)

        with pytest.raises(Exception, match="token"):
            serve(settings_for(home), detached=True)

        with open_engine(settings_for(home)):
            pass


class TestEnding:
    """It ends in order, and what it acknowledged is there the next time."""

    def test_its_life_from_beginning_to_end(self, home: Path) -> None:
        home.mkdir()
        (home / "process.json").write_text('{"pid": 1, "id": "stale", "url": "http://127.0.0.1:1"}')
        with started(home) as running:
            told, health = running.told, running.client.ask("GET", "/health").json
            mode = stat.S_IMODE((home / "process.json").stat().st_mode)
            id = add(running.client, "Kept over a stop.")
            answer = running.client.local("stop").json
            code = running.process.wait()

        assert told.keys() == {"pid", "id", "url", "version", "started_at"}
        assert (told["pid"], told["id"]) == (running.process.pid, health["id"])
        assert mode == 0o600
        assert answer["text"]
        assert code == 0
        assert not (home / "process.json").exists()
        assert (home / "token").exists()
        with open_engine(settings_for(home)) as engine, engine.records.reading() as records:
            assert not records.store.get("suspect")
            assert records.memories.find(Project("shop"), [id])[id].content == "Kept over a stop."

    def test_killed_it_starts_again_on_the_same_data(self, home: Path) -> None:
        with started(home) as running:
            first, token = running.told, running.client.token
            id = add(running.client, "Kept over a kill.")
            running.process.kill()
            running.process.wait()
        assert (home / "process.json").exists()

        with started(home) as running:
            second = running.told
            content = content_of(Client(running.client.port, token), id)

        assert content == "Kept over a kill."
        assert first["id"] != second["id"]

    def test_a_signal_lets_the_call_in_flight_come_to_its_end(self, home: Path) -> None:
        with started(home) as running:
            client = running.client
            with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:
                body = json.dumps({"type": "design", "content": "In flight.", "project": "shop"})
                head = (
                    f"POST /local/memory_add HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\n"
                    f"Authorization: Bearer {client.token}\r\nContent-Length: {len(body)}\r\n\r\n"
                )
                connection.sendall(head.encode() + body.encode())
                connection.recv(20)  # it has begun to answer
                running.process.send_signal(signal.SIGTERM)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            code = running.process.wait()

        assert b'"answer"' in answer
        assert code == 0

    def test_an_open_stream_does_not_hold_it(self, home: Path) -> None:
        with started(home) as running:
            client = running.client
            session = client.initialize()
            headers = {
                "Authorization": f"Bearer {client.token}",
                "Accept": "text/event-stream",
                "Mcp-Session-Id": session,
            }
            with closing(HTTPConnection("127.0.0.1", client.port, timeout=30)) as connection:
                connection.request("GET", "/mcp", headers=headers)
                stream = connection.getresponse()
                running.process.send_signal(signal.SIGINT)
                rest = stream.read()
                code = running.process.wait()

        assert stream.status == 200
        assert rest == b""
        assert code == 0

    def test_long_work_is_stopped_when_the_time_is_over(
        self, engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        at_work, ended = threading.Event(), threading.Event()

        def endless(engine: Engine, work: Work) -> None:
            try:
                while True:
                    work.step(0, None, "on and on")
                    at_work.set()
            finally:
                ended.set()

        monkeypatch.setattr("backstory.http.local.rebuild", endless)
        monkeypatch.setattr("backstory.http.process.GRACE_S", 0.0)
        with hosted(engine, settings_for(home)) as (_, client):
            asking = threading.Thread(target=client.local, args=["rebuild"])
            asking.start()
            at_work.wait()
        asking.join()

        assert ended.is_set()

    def test_what_hangs_does_not_keep_it(self, home: Path) -> None:
        with started(home, HANGING) as running:
            client = running.client
            with closing(HTTPConnection("127.0.0.1", client.port, timeout=30)) as connection:
                headers = {"Authorization": f"Bearer {client.token}"}
                connection.request("POST", "/local/rebuild", "{}", headers)
                connection.getresponse().readline()  # it is at work
                running.process.send_signal(signal.SIGTERM)
                told = running.wait_for("did not come to an end in time")
                code = running.process.wait()

        assert told["level"] == "error"
        assert code == 1

    def test_idle_for_long_it_ends_by_itself(self, engine: Engine, home: Path) -> None:
        class Clock:
            """Stands still, until it runs ten minutes ahead whenever somebody looks at it."""

            now, step = 0.0, 0.0

            def __call__(self) -> float:
                self.now += self.step
                return self.now

        clock = Clock()
        settings = settings_for(home, BACKSTORY_IDLE_STOP_S="600")
        with hosted(engine, settings, clock=clock) as (_, client):
            still_there = client.ask("GET", "/ready").status
            clock.step = 600
            with socket.create_connection(("127.0.0.1", client.port), timeout=30) as idle:
                gone = idle.recv(1)  # a connection without a request is closed at the end

        assert still_there == 200
        assert gone == b""
