"""Who is let in and who is not, asked of every route over real sockets."""

import json
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from backstory.errors import SettingsError, StoreReadOnly
from backstory.http.addresses import listen
from backstory.http.token import LENGTH, read_or_make_token
from tests.e2e.hosting import LEGACY, MODERN, TOKEN, Answer, Client, settings_for, whole

#: Every route, and how it is asked: method, path, body.
ROUTES = {
    "mcp": ("POST", "/mcp", "{}"),
    "mcp-stream": ("GET", "/mcp", None),
    "mcp-end": ("DELETE", "/mcp", None),
    "health": ("GET", "/health", None),
    "ready": ("GET", "/ready", None),
    "metrics": ("GET", "/metrics", None),
    "local": ("POST", "/local/status", "{}"),
    "nowhere": ("GET", "/nowhere", None),
}
PROTECTED = sorted(ROUTES.keys() - {"health", "ready"})
PATHS = sorted({path for _, path, _ in ROUTES.values()})

every_route = pytest.mark.parametrize("route", ROUTES)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    home = tmp_path_factory.mktemp("security")
    with whole(home, BACKSTORY_MAX_REQUEST_BYTES="100000") as opened:
        yield opened


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with whole(tmp_path_factory.mktemp("rates"), BACKSTORY_REQUESTS_PER_MINUTE="3") as opened:
        yield opened


def ask(client: Client, route: str, **headers: str) -> Answer:
    method, path, body = ROUTES[route]
    return client.ask(method, path, body, {"Content-Type": "application/json", **headers})


def nobody(client: Client) -> Client:
    return Client(client.port, token=None)


class TestHost:
    """A page in a browser can point a name of its own at this machine; its name gives it away."""

    @every_route
    @pytest.mark.parametrize(
        "host",
        [
            "evil.example",
            "localhost",
            "127.0.0.1",
            "localhost:80.evil.example",
            "127.0.0.1.evil.example:{port}",
            "localhost:{port}.evil.example",
            "localhost.:{port}",
            "localhost:{port}@evil.example",
            "[::1]:{port}",
            "0.0.0.0:{port}",
            "",
        ],
    )
    def test_a_name_that_is_not_exactly_ours_is_refused(self, client: Client, route: str, host: str) -> None:
        assert ask(client, route, Host=host.format(port=client.port)).status == 421

    @every_route
    @pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}"])
    def test_our_own_names_are_let_in(self, client: Client, route: str, host: str) -> None:
        assert ask(client, route, Host=host.format(port=client.port)).status not in {401, 403, 421}

    def test_white_space_around_a_value_does_not_belong_to_it(self, client: Client) -> None:
        host = f"Host: \t 127.0.0.1:{client.port} \t"
        answer = client.raw(f"GET /ready HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n".encode())

        assert answer.startswith(b"HTTP/1.1 200")

    @pytest.mark.parametrize("path", PATHS)
    def test_a_request_without_a_host_is_refused(self, client: Client, path: str) -> None:
        for version in ("1.0", "1.1"):
            answer = client.raw(f"GET {path} HTTP/{version}\r\nConnection: close\r\n\r\n".encode())
            assert answer.split()[1] in {b"400", b"421"}

    @pytest.mark.parametrize("path", PATHS)
    def test_a_request_with_two_hosts_is_refused(self, client: Client, path: str) -> None:
        hosts = f"Host: 127.0.0.1:{client.port}\r\nHost: evil.example\r\n"
        answer = client.raw(f"GET {path} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())

        assert answer.split()[1] in {b"400", b"421"}

    def test_an_absolute_address_in_the_request_line_does_not_replace_the_host(self, client: Client) -> None:
        line = f"GET http://127.0.0.1:{client.port}/health HTTP/1.1\r\nHost: evil.example\r\n"
        answer = client.raw(f"{line}Connection: close\r\n\r\n".encode())

        assert answer.split()[1] == b"421"


class TestOrigin:
    """A browser says which page sends a request; no page may."""

    @every_route
    @pytest.mark.parametrize(
        "origin",
        [
            "http://evil.example",
            "null",
            "https://127.0.0.1:{port}",
            "http://127.0.0.1",
            "http://localhost:{port}.evil.example",
            "http://localhost:80.evil.example",
            "http://127.0.0.1.evil.example:{port}",
            "http://localhost:{port}/",
            "",
        ],
    )
    def test_an_origin_that_is_not_exactly_ours_is_refused(
        self, client: Client, route: str, origin: str
    ) -> None:
        assert ask(client, route, Origin=origin.format(port=client.port)).status == 403

    @pytest.mark.parametrize("route", ["health", "ready", "metrics", "local"])
    def test_our_own_origin_is_let_in(self, client: Client, route: str) -> None:
        assert ask(client, route, Origin=f"http://localhost:{client.port}").status == 200

    @every_route
    def test_no_answer_lets_another_origin_read_it(self, client: Client, route: str) -> None:
        _, path, _ = ROUTES[route]
        answers = [
            ask(client, route),
            ask(client, route, Origin="http://evil.example"),
            ask(client, route, Origin=f"http://localhost:{client.port}"),
            nobody(client).ask(
                "OPTIONS",
                path,
                headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"},
            ),
        ]

        allowing = [name for each in answers for name in each.headers if name.lower().startswith("access-")]
        assert allowing == []


class TestToken:
    """Other users of the machine can reach the port; the token lies in a file that they cannot read."""

    @pytest.mark.parametrize("route", PROTECTED)
    @pytest.mark.parametrize(
        "given",
        [
            None,
            "",
            "Bearer",
            "Bearer ",
            f"Bearer {'x' * 43}",
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            f"Bearer {TOKEN.upper()}",
            f"Basic {TOKEN}",
            TOKEN,
            f"Bearer {TOKEN}, Bearer {TOKEN}",
            "Bearer é",
        ],
    )
    def test_without_the_right_token_nothing_is_answered(
        self, client: Client, route: str, given: str | None
    ) -> None:
        headers = {} if given is None else {"Authorization": given}

        answer = ask(nobody(client), route, **headers)

        assert answer.status == 401
        assert answer.headers["www-authenticate"] == 'Bearer realm="backstory"'

    @pytest.mark.parametrize("route", PROTECTED)
    def test_a_token_in_the_address_does_not_count(self, client: Client, route: str) -> None:
        method, path, body = ROUTES[route]

        for name in ("token", "access_token", "authorization"):
            assert nobody(client).ask(method, f"{path}?{name}={TOKEN}", body).status == 401

    @pytest.mark.parametrize("path", PATHS)
    def test_two_tokens_are_none(self, client: Client, path: str) -> None:
        two = f"Authorization: Bearer {TOKEN}\r\nAuthorization: Bearer wrong\r\n"
        request = f"GET {path} HTTP/1.1\r\nHost: localhost:{client.port}\r\n{two}Connection: close\r\n\r\n"

        assert client.raw(request.encode()).split()[1] == b"401"

    @pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
    def test_the_scheme_may_be_written_in_any_case(self, client: Client, scheme: str) -> None:
        answer = nobody(client).ask("GET", "/metrics", headers={"Authorization": f"{scheme} {TOKEN}"})

        assert answer.status == 200

    @pytest.mark.parametrize("route", ["health", "ready"])
    def test_whether_it_lives_is_told_without_a_token_and_nothing_more(
        self, client: Client, route: str
    ) -> None:
        answer = ask(nobody(client), route)

        assert answer.status == 200
        assert answer.json in ({"status": "ok"}, {"ready": True})

    @pytest.mark.parametrize("route", ["health", "ready"])
    def test_a_wrong_token_is_refused_even_where_none_is_needed(self, client: Client, route: str) -> None:
        assert ask(Client(client.port, token="wrong"), route).status == 401

    @pytest.mark.parametrize("path", ["/health", "/ready"])
    def test_only_reading_goes_without_a_token(self, client: Client, path: str) -> None:
        for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
            assert nobody(client).ask(method, path).status == 401

    def test_another_user_s_token_is_refused(self, client: Client, tmp_path: Path) -> None:
        other = read_or_make_token(tmp_path / "token")

        assert Client(client.port, other).ask("GET", "/metrics").status == 401


class TestTokenFile:
    """The secret lies where only its user can read it."""

    def test_it_can_be_read_by_its_user_alone(self, tmp_path: Path) -> None:
        token = read_or_make_token(tmp_path / "token")

        assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
        assert len(token) == LENGTH

    def test_it_is_kept_over_restarts(self, tmp_path: Path) -> None:
        assert read_or_make_token(tmp_path / "token") == read_or_make_token(tmp_path / "token")

    def test_two_folders_have_two_tokens(self, tmp_path: Path) -> None:
        assert read_or_make_token(tmp_path / "a") != read_or_make_token(tmp_path / "b")

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o610])
    def test_one_that_others_could_have_read_is_replaced(self, tmp_path: Path, mode: int) -> None:
        path = tmp_path / "token"
        old = read_or_make_token(path)
        path.chmod(mode)

        assert read_or_make_token(path) != old
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    @pytest.mark.parametrize("text", ["", "short", "x" * 42, "\n" * 50, "é" * 50, "a\0" * 50])
    def test_one_that_can_be_guessed_is_replaced(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "token"
        path.write_text(text, "utf-8")
        path.chmod(0o600)

        token = read_or_make_token(path)

        assert token != text
        assert path.read_text() == token

    def test_one_that_cannot_be_read_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "token").mkdir()

        with pytest.raises(StoreReadOnly) as caught:
            read_or_make_token(tmp_path / "token")

        assert "token" in str(caught.value)
        assert caught.value.hint


class TestSizes:
    """What is too large is refused before it is read, whatever it says of itself."""

    @pytest.mark.parametrize("path", ["/mcp", "/local/memory_add", "/local/status"])
    def test_a_body_that_is_too_large_is_refused(self, client: Client, path: str) -> None:
        answer = client.ask("POST", path, "x" * 100_001, {"Content-Type": "application/json"})

        assert answer.status == 413
        assert answer.json["error"]["message"]

    def test_an_announced_size_is_refused_before_the_body_comes(self, client: Client) -> None:
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost:{client.port}\r\nAuthorization: Bearer {TOKEN}\r\n"

        assert client.raw(f"{head}Content-Length: 99999999999\r\n\r\n".encode()).split()[1] == b"413"

    @pytest.mark.parametrize("path", ["/mcp", "/local/status"])
    def test_a_body_without_a_size_is_counted_while_it_comes(self, client: Client, path: str) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost:{client.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        chunk = b"%x\r\n%s\r\n" % (50_000, b"x" * 50_000)

        answer = client.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + 3 * chunk)

        assert answer.split()[1] == b"413"

    def test_a_size_that_is_smaller_than_the_body_ends_it(self, client: Client) -> None:
        head = (
            f"POST /local/status HTTP/1.1\r\nHost: localhost:{client.port}\r\nAuthorization: Bearer {TOKEN}"
        )

        answer = client.raw(f"{head}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}garbage".encode())

        assert answer.split()[1] == b"200"
        assert answer.count(b"HTTP/1.1 ") == 1

    @pytest.mark.parametrize("length", ["-1", "abc", "1,2", "+5"])
    def test_a_size_that_is_no_number_is_refused(self, client: Client, length: str) -> None:
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost:{client.port}\r\nAuthorization: Bearer {TOKEN}\r\n"

        answer = client.raw(f"{head}Content-Length: {length}\r\nConnection: close\r\n\r\n".encode())

        assert answer.split()[1] in {b"400", b"413"}

    def test_the_largest_allowed_body_is_taken(self, client: Client) -> None:
        body = json.dumps({"query": "x"})

        assert client.ask("POST", "/local/status", body.ljust(100_000)).status == 200

    def test_sizes_do_not_matter_to_who_has_no_token(self, client: Client) -> None:
        assert nobody(client).ask("POST", "/mcp", "x" * 100_001).status == 401


class TestMethods:
    """A route does what it is for and nothing else."""

    @pytest.mark.parametrize(
        ("path", "allowed"),
        [
            ("/health", {"GET"}),
            ("/ready", {"GET"}),
            ("/metrics", {"GET"}),
            ("/local/status", {"POST"}),
            ("/mcp", {"GET", "POST", "DELETE"}),
        ],
    )
    def test_other_methods_are_answered_with_the_right_ones(
        self, client: Client, path: str, allowed: set[str]
    ) -> None:
        for method in {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} - allowed:
            answer = client.ask(method, path)

            assert answer.status == 405, method
            assert set(answer.headers["allow"].split(", ")) == allowed

    @pytest.mark.parametrize("path", ["/", "/mcp/", "/mcp/x", "/local", "/local/", "/local/a/b", "/health/x"])
    def test_there_is_nothing_beside_the_routes(self, client: Client, path: str) -> None:
        assert client.ask("GET", path).status == 404

    def test_a_websocket_is_not_opened(self, client: Client) -> None:
        answer = client.ask(
            "GET",
            "/mcp",
            headers={
                "Upgrade": "websocket",
                "Connection": "Upgrade",
                "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
                "Sec-WebSocket-Version": "13",
            },
        )

        assert answer.status != 101


class TestSessions:
    """A session of the older era is not a key: its id alone opens nothing."""

    def test_an_unknown_session_is_not_found(self, client: Client) -> None:
        assert client.legacy("tools/list", {}, {"Mcp-Session-Id": "f" * 32}).status == 404

    def test_a_message_without_a_session_is_refused(self, client: Client) -> None:
        assert client.legacy("tools/list", {}).status == 400

    def test_a_session_that_was_ended_is_not_found(self, client: Client) -> None:
        session = {"Mcp-Session-Id": client.initialize(), "MCP-Protocol-Version": LEGACY}

        before = client.legacy("tools/list", {}, session).status
        client.ask("DELETE", "/mcp", headers=session)

        assert (before, client.legacy("tools/list", {}, session).status) == (200, 404)

    def test_a_session_s_id_does_not_replace_the_token(self, client: Client) -> None:
        session = {"Mcp-Session-Id": client.initialize()}

        assert nobody(client).legacy("tools/list", {}, session).status == 401

    def test_ids_are_long_and_never_the_same(self, client: Client) -> None:
        ids = {client.initialize() for _ in range(20)}

        assert len(ids) == 20
        assert all(len(each) >= 32 for each in ids)


class TestMessages:
    """What is malformed is refused by a code that a client can go by."""

    def test_a_method_that_differs_from_its_header_is_refused(self, client: Client) -> None:
        answer = client.modern("tools/list", headers={"Mcp-Method": "tools/call"})

        assert (answer.status, answer.json["error"]["code"]) == (400, -32020)

    def test_a_tool_that_differs_from_its_header_is_refused(self, client: Client) -> None:
        answer = client.call("memory_search", {"query": "x"}, **{"Mcp-Name": "memory_delete"})

        assert (answer.status, answer.json["error"]["code"]) == (400, -32020)

    def test_a_version_that_is_not_spoken_is_refused_with_those_that_are(self, client: Client) -> None:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2099-01-01",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2099-01-01",
            "Mcp-Method": "tools/list",
        }

        answer = client.ask("POST", "/mcp", json.dumps(message), headers)

        assert (answer.status, answer.json["error"]["code"]) == (400, -32022)
        assert MODERN in answer.json["error"]["data"]["supported"]

    def test_a_method_that_there_is_not_is_not_found(self, client: Client) -> None:
        answer = client.modern("tools/steal")

        assert (answer.status, answer.json["error"]["code"]) == (404, -32601)

    @pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "a/b"])
    def test_what_a_form_can_send_is_refused(self, client: Client, kind: str) -> None:
        assert client.modern("tools/list", headers={"Content-Type": kind}).status in {400, 415}

    @pytest.mark.parametrize("body", ["{", "", "not json", '{"jsonrpc": "2.0"', "\xff\xfe", '{"a":' * 9_000])
    @pytest.mark.parametrize("era", [{}, {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}])
    def test_what_is_not_json_is_refused(self, client: Client, body: str, era: dict[str, str]) -> None:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **era}

        answer = client.ask("POST", "/mcp", body, headers)

        assert (answer.status, answer.json["error"]["code"]) == (400, -32700)

    @pytest.mark.parametrize("era", [{}, {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}])
    def test_a_batch_is_refused(self, client: Client, era: dict[str, str]) -> None:
        batch = json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}])
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **era}

        assert client.ask("POST", "/mcp", batch, headers).status == 400

    @pytest.mark.parametrize("body", ["[]", "1", "null", '"x"', "{", "not json", '{"a":' * 9_000])
    def test_the_local_endpoint_takes_objects_only(self, client: Client, body: str) -> None:
        answer = client.ask("POST", "/local/memory_search", body)

        assert answer.json["error"]["kind"] == "InputError"

    def test_half_a_character_is_answered_too(self, client: Client) -> None:
        answer = client.ask("POST", "/local/memory_search", '{"query": "\\ud800", "project": "\\ud800"}')

        assert answer.status == 200
        assert answer.json.keys() & {"answer", "error"}

    def test_what_is_answered_is_for_the_asker_alone(self, client: Client) -> None:
        for method in ("tools/list", "server/discover"):
            assert client.modern(method).json["result"]["cacheScope"] == "private"

    def test_errors_of_the_guard_are_json_as_the_route_speaks_it(self, client: Client) -> None:
        asked = nobody(client)

        rpc = asked.ask("POST", "/mcp", "{}").json
        plain = asked.ask("GET", "/metrics").json

        assert (rpc["jsonrpc"], rpc["id"], rpc["error"]["code"]) == ("2.0", None, -32000)
        assert plain["error"].keys() == {"kind", "message", "hint"}


class TestAddresses:
    """It listens on this machine alone, unless somebody wants more and says to whom."""

    def test_other_addresses_of_the_machine_do_not_answer(self, client: Client) -> None:
        with socket.socket() as asking, pytest.raises(ConnectionRefusedError):
            asking.connect(("127.0.0.2", client.port))

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "memory.example.org"])
    def test_listening_on_more_needs_the_names_that_are_allowed(self, tmp_path: Path, host: str) -> None:
        with pytest.raises(SettingsError) as caught:
            listen(settings_for(tmp_path, MCP_HOST=host))

        assert "BACKSTORY_ALLOWED_HOSTS" in (caught.value.hint or "")

    def test_an_allowed_name_is_let_in_and_no_other(self, tmp_path: Path) -> None:
        names = "memory.example.org,proxy.example.org:8443"
        with whole(tmp_path, MCP_HOST="0.0.0.0", BACKSTORY_ALLOWED_HOSTS=names) as client:
            asked = {
                host: client.ask("GET", "/metrics", headers={"Host": host}).status
                for host in (
                    "memory.example.org",
                    f"memory.example.org:{client.port}",
                    "proxy.example.org:8443",
                    f"127.0.0.1:{client.port}",
                    "proxy.example.org",
                    "memory.example.org:1",
                    f"0.0.0.0:{client.port}",
                    "evil.memory.example.org",
                )
            }

        assert list(asked.values()) == 4 * [200] + 4 * [421]

    @pytest.mark.skipif(not socket.has_ipv6, reason="the machine has no IPv6")
    def test_it_can_listen_on_ipv6(self, tmp_path: Path) -> None:
        settings = settings_for(tmp_path, MCP_HOST="::1")
        try:
            listening = listen(settings)
        except SettingsError:
            pytest.skip("the machine has no IPv6 loopback")
        listening.close()

        (entrance,) = listening.entrances.values()
        (port,) = listening.entrances
        assert listening.url == f"http://[::1]:{port}"
        assert entrance.hosts == {f"[::1]:{port}", f"localhost:{port}"}


class TestRates:
    """A client that runs wild is slowed down, and does not slow down others."""

    def test_who_asks_too_fast_is_told_how_long_to_wait(self, hurried: Client) -> None:
        session = {"Mcp-Session-Id": "a-session-of-its-own"}
        answers = [hurried.legacy("tools/list", {}, session) for _ in range(4)]

        assert [each.status for each in answers] == [404, 404, 404, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
        assert answers[-1].json["id"] is None

    def test_sessions_have_limits_of_their_own(self, hurried: Client) -> None:
        first, second = {"Mcp-Session-Id": "one"}, {"Mcp-Session-Id": "two"}
        for _ in range(4):
            last = hurried.legacy("tools/list", {}, first)

        assert (last.status, hurried.legacy("tools/list", {}, second).status) == (429, 404)

    def test_bridges_and_commands_may_ask_more(self, hurried: Client) -> None:
        bridge = {"Backstory-Bridge": "b1"}
        asked = [hurried.modern("tools/list", headers=bridge).status for _ in range(8)]
        asked += [hurried.local("memory_search", {"query": "x"}).status for _ in range(8)]

        assert set(asked) == {200}

    @pytest.mark.parametrize("path", ["/health", "/ready", "/metrics"])
    def test_watching_the_process_is_not_limited(self, hurried: Client, path: str) -> None:
        assert {hurried.ask("GET", path).status for _ in range(8)} == {200}


class TestLeaks:
    """What goes wrong inside is for the log, not for the client."""

    def test_an_exception_s_text_reaches_no_client(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        secret = "the-inside-of-the-house"

        def fail(*_: object, **__: object) -> None:
            raise RuntimeError(secret)

        monkeypatch.setattr("backstory.http.local.rebuild", fail)
        monkeypatch.setattr("backstory.mcp.tools.memory.search_memories", fail)
        with whole(tmp_path) as client:
            answers = [
                client.local("rebuild"),
                client.local("memory_search", {"query": "x"}),
                client.call("memory_search", {"query": "x"}),
            ]

        assert all(secret.encode() not in each.body for each in answers)
        assert [each.json["error"]["kind"] for each in answers[:2]] == ["BackstoryError", "BackstoryError"]
        assert "see the log" in answers[0].json["error"]["message"]

    def test_the_metrics_port_serves_metrics_alone(self, tmp_path: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with whole(tmp_path, METRICS_PORT=str(port)) as client:
            second = Client(port)
            asked = {path: second.ask("GET", path).status for path in ("/metrics", "/health", "/mcp")}
            main = client.ask("GET", "/metrics", headers={"Host": f"127.0.0.1:{port}"}).status
            no_token = nobody(second).ask("GET", "/metrics").status

        assert asked == {"/metrics": 200, "/health": 404, "/mcp": 404}
        assert (main, no_token) == (421, 401)

    def test_metrics_can_be_switched_off(self, tmp_path: Path) -> None:
        with whole(tmp_path, METRICS_ENABLED="false") as client:
            assert client.ask("GET", "/metrics").status == 404
