"""Attacks from outside, each tried at a real server: names, tokens, paths, sizes, connections."""

import contextlib
import socket
import time
from pathlib import Path

import pytest
from serving import Server, harvest_served_here, serving

from harvest_serve.server import HEAD_S

ROWS = "/api/out/tables/served.thing/rows"


def test_nobody_gets_in_without_the_token(server):
    for path in ("/", "/api/", ROWS, "/nothing"):
        assert server.ask(path, token=False).status == 401
        assert server.ask(f"{path}?token=guess", token=False).status == 401
        wrong = {"Authorization": f"Bearer {server.token}x"}
        refused = server.ask(path, token=False, headers=wrong)
        assert (refused.status, "not the token" in refused.text) == (401, True)
    assert "thing" not in server.ask(ROWS, token=False).text
    assert server.ask(ROWS, token=False).json["remedy"]


def test_the_address_that_is_printed_lets_a_browser_in_and_leaves_the_address(server):
    first = server.ask(f"/?token={server.token}&x=1", token=False)
    cookie = first.headers["set-cookie"]

    assert (first.status, first.headers["location"]) == (303, "/?x=1")
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert str(server.token) not in cookie
    held = {"Cookie": cookie.partition(";")[0]}
    assert server.ask("/", token=False, headers=held).status == 200
    again = server.ask(f"/?token={server.token}", token=False, headers=held)
    assert (again.status, again.headers["location"]) == (303, "/")
    # it is no address of another server that such a link can lead to
    away = server.ask(f"//evil.example/?token={server.token}", token=False)
    assert away.headers["location"] == "/evil.example/"
    assert server.ask("/", token=False, headers={"Cookie": held["Cookie"] + "x"}).status == 401


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost@evil"),
        *("[::1].evil.example", "[::1]evil", "127.0.0.1:80@evil", "127.0.0.1:80.evil.example"),
        *("[::1", "::1", "localhost:", "localhost:80:80", "[localhost]", "localhost/x"),
    ],
)
def test_a_name_of_elsewhere_that_points_here_is_refused(server, host):
    refused = server.ask(ROWS, headers={"Host": host})

    assert refused.status == 421
    assert "rows" not in refused.json


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9999", "LOCALHOST", "[::1]:80"])
def test_this_computer_s_own_names_are_taken_whatever_port_a_tunnel_has(server, host):
    assert server.ask("/api/", headers={"Host": host}).status == 200


def test_every_answer_forbids_browsers_code_frames_guesses_and_copies(server):
    for path in ("/", "/api/", "/nothing", "/static/nothing"):
        headers = server.ask(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


PATHS = (
    "/../../../../etc/passwd",
    "/static/../../../../../../etc/passwd",
    "/static/..%2f..%2f..%2fetc/passwd",
    "/static//etc/passwd",
    "/api/%2e%2e/tables",
    "/api/out%00/tables",
    "/api/out/tables/..%2f..%2f_harvest%2fmanifest.json/rows",
    "/api/out/tables/%2fetc%2fpasswd/rows",
    '/api/out/tables/served.thing"%3b/rows',
    "/api/out/reports/..%2f..%2fx",
    "/api/out/tables/served.thing/rows?columns=../../etc/passwd",
    "/api/out/tables/served.thing/rows?sort=size%22%3bdrop",
    "/api/out/tables/served.by_word?set.least=%2fetc%2fpasswd",
)


@pytest.mark.parametrize("path", PATHS)
def test_no_path_of_a_request_reaches_the_file_system(server, path):
    answer = server.ask(path)

    assert 400 <= answer.status < 500
    assert "root:" not in answer.text
    if path.startswith("/api"):
        assert answer.json["message"]


FILES = (
    "tables/served.of_word?set.words={}",
    "tables/served.of_word/rows?set.words={}",
    "tables/served.of_word/rows?set.words={}&form=csv",
    "tables/served.of_word/facets?set.words={}",
)


@pytest.mark.parametrize("path", FILES)
def test_no_setting_that_may_be_a_file_is_taken(server, tmp_path, path):
    (tmp_path / "words").write_text("a")  # things have this word

    answer = server.ask(f"/api/out/{path.format(tmp_path / 'words')}")

    assert answer.status == 400
    assert "the server opens none" in answer.json["message"]
    named = {"served.of_word": {"words": str(tmp_path / "words")}}
    assert server.sql("from served.of_word", settings=named).status == 400
    described = server.ask("/api/out/tables/served.of_word?set.word=a").json
    assert [setting["name"] for setting in described["settings"]] == ["word"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_no_route_writes(server, method):
    for path in ("/", "/api/", "/api/out", "/api/out/tables", ROWS):
        assert server.ask(path, method=method, body=b"{}").status in (404, 405)


def head(server: Server, *lines: str) -> bytes:
    token = f"Authorization: Bearer {server.token}"
    kind = "Content-Type: application/json"
    words = ("POST /api/out/sql HTTP/1.1", "Host: localhost", token, kind, *lines)
    return ("\r\n".join(words) + "\r\n\r\n").encode()


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def test_a_body_of_a_gigabyte_is_refused_before_it_is_sent(server):
    with connected(server) as talk:
        talk.sendall(head(server, f"Content-Length: {10**9}"))

        assert talk.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_body_without_end_is_refused_and_not_kept(server):
    before = server.memory_mb()
    piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    with connected(server) as talk, contextlib.suppress(ConnectionError):
        talk.sendall(head(server, "Transfer-Encoding: chunked"))
        for _ in range(1000):
            talk.sendall(piece)
        raise AssertionError("a gigabyte was taken")

    assert server.memory_mb() - before < 50
    assert server.ask("/api/").status == 200


def test_a_head_without_end_is_refused(server):
    with connected(server) as talk, contextlib.suppress(ConnectionError):
        talk.sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(1000):
            talk.sendall(b"x" * 10_000)
        raise AssertionError("10 MB of a head were taken")
    assert server.ask("/api/").status == 200


@pytest.mark.slow
def test_a_thousand_half_open_connections_keep_nobody_out(server):
    with contextlib.ExitStack() as stack:
        for number in range(1000):
            talk = stack.enter_context(connected(server))
            if number % 2:
                talk.sendall(b"GET / HTTP/1.1\r\nHost: loc")

        for _ in range(5):
            assert server.ask("/api/").status == 200
        held = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        assert held < 400

    assert server.ask(ROWS).status == 200


@pytest.mark.slow
def test_who_sends_a_byte_now_and_then_is_let_go(server):
    with connected(server) as talk:
        until_s = time.monotonic() + HEAD_S + 10
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < until_s:
                talk.sendall(b"G")
                time.sleep(0.5)
            raise AssertionError("it may go on for ever")


@pytest.mark.slow
def test_a_body_that_never_comes_ends(server):
    with connected(server) as talk:
        talk.sendall(head(server, "Content-Length: 100") + b"{")

        assert talk.recv(100).startswith(b"HTTP/1.1 408 ")


@pytest.mark.slow
def test_beyond_loopback_a_token_is_needed(dataset):
    words = ("serve", dataset, "--no-open", "--no-token", "--host", "0.0.0.0")

    done = harvest_served_here(*words)

    assert done.returncode == 2
    assert "no token would be needed" in done.stderr
    with serving(dataset, "--host", "0.0.0.0") as server:
        assert server.token
        assert server.ask("/api/").status == 200
        assert server.ask("/api/", token=False).status == 401
        assert server.ask("/api/", headers={"Host": "192.0.2.7"}).status == 200
        assert server.ask("/api/", headers={"Host": "evil.example"}).status == 421


@pytest.mark.slow
def test_a_proxy_may_guard_it_and_call_it_by_its_own_name(dataset):
    with serving(dataset, "--no-token", "--allow-host", "data.example") as server:
        assert server.token is None
        assert server.ask("/api/", headers={"Host": "data.example"}).status == 200
        assert server.ask("/api/", headers={"Host": "evil.example"}).status == 421


@pytest.mark.slow(night=True)
def test_the_token_may_be_one_s_own_that_nobody_else_can_read(dataset, tmp_path):
    file = tmp_path / "token"
    file.write_text("0123456789abcdef-mine\n")
    file.chmod(0o644)
    refused = harvest_served_here("serve", dataset, "--no-open", "--token-file", file)
    file.chmod(0o600)

    with serving(dataset, "--token-file", file) as server:
        assert server.token == "0123456789abcdef-mine"
        assert server.ask("/api/").status == 200
    assert refused.returncode == 2
    assert "others may read this token" in refused.stderr
    assert "0123456789abcdef" not in refused.stderr
