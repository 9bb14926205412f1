"""The server over HTTP: the SDK's client, the token, foreign names, hostile requests, clients that go away."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
from tests.agent.clients import Agent, HttpServer

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ENDLESS = "import os, sys\nsys.stderr.write('begun')\nwhile True: pass"


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with HttpServer("--timeout", "500") as found:
        yield found


def answered(server: HttpServer, body: bytes, **headers: str) -> tuple[int, bytes]:
    """The status and the body of the answer to a request with the token."""
    connection = HTTPConnection(server.host, server.port, timeout=60)
    try:
        connection.request("POST", "/mcp", body, {"Authorization": f"Bearer {server.token}", **HEADERS, **headers})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_of_the_sdk_calls_tools(server: HttpServer, mode: str) -> None:
    with Agent(server=server, mode=mode) as agent:
        assert {"check", "run", "sanitize", "page"} <= set(agent.tools())
        assert agent.call("run", source="import os\nprint('here')")["text"] == "here"


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic {}", "{}", "Bearer {}x"])
def test_without_the_token_nothing_is_done(server: HttpServer, given: str) -> None:
    status, text = answered(server, json.dumps(INITIALIZE).encode(), Authorization=given.format(server.token))
    assert status == 401
    assert server.token.encode() not in text


def test_the_token_is_in_no_environment_or_command_line(server: HttpServer) -> None:
    if sys.platform != "linux":
        pytest.skip("the system has no files of processes")
    for name in ("cmdline", "environ"):
        with open(f"/proc/{server.process.pid}/{name}", "rb") as file:
            assert server.token.encode() not in file.read()


def test_scripts_do_not_see_the_token(server: HttpServer) -> None:
    with Agent(server=server) as agent:
        text = agent.call("run", source="import os, sys\nprint(os.environ, sys.argv)")["text"]
    assert server.token not in text


def test_names_that_a_page_has_made_up_are_refused(server: HttpServer) -> None:
    body = json.dumps(INITIALIZE).encode()
    assert answered(server, body, Host=f"evil.example:{server.port}")[0] == 421
    assert answered(server, body, Origin="http://evil.example")[0] == 403
    assert answered(server, body, Host=f"localhost:{server.port}", Origin=f"http://localhost:{server.port}")[0] == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'"text"', 400),
        (b"\xff\xfe", 400),
        (b'{"jsonrpc": "2.0"}', 400),
        (b"[" * 100_000, 400),
        (b" " * (5 << 20), 413),
    ],
)
def test_malformed_and_large_requests_are_refused(server: HttpServer, body: bytes, status: int) -> None:
    found, text = answered(server, body)
    assert found == status
    assert b"Traceback" not in text
    assert answered(server, json.dumps(INITIALIZE).encode())[0] == 200


def test_unknown_tools_and_arguments_are_errors_of_the_call(server: HttpServer) -> None:
    for name, arguments in (("nothing", {}), ("check", {}), ("check", {"source": 3}), ("page", {"name": "../.."})):
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        status, text = answered(server, json.dumps(call).encode())
        assert status == 200
        assert b"rror" in text


def test_a_body_without_the_token_is_not_read(server: HttpServer) -> None:
    with socket.create_connection((server.host, server.port), timeout=60) as stranger:
        head = f"POST /mcp HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nContent-Length: 99999999\r\n\r\n"
        stranger.sendall(head.encode())
        received = b""
        while part := stranger.recv(1 << 16):
            received += part
    assert received.startswith(b"HTTP/1.1 401")


def test_a_connection_that_sends_nothing_is_ended(server: HttpServer) -> None:
    with socket.create_connection((server.host, server.port), timeout=60) as stranger:
        stranger.sendall(b"POST /mcp HTTP/1.1\r\nX-Slow: ")
        assert stranger.recv(1) == b""


def test_clients_do_not_wait_for_each_other(server: HttpServer) -> None:
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one processor carries out one call at a time")
    with Agent(server=server) as slow, Agent(server=server) as quick:
        waiting = threading.Thread(target=slow.call_for, args=(50.0, "run"), kwargs={"source": ENDLESS})
        waiting.start()
        wait_for(lambda: children(server) > 0)
        assert quick.call("run", source="import os\nprint('here')")["text"] == "here"
        assert waiting.is_alive()
        assert children(server) > 0
        slow.stop()
        waiting.join()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are counted by the files that Linux has of them")
def test_a_client_that_goes_away_leaves_no_process(server: HttpServer) -> None:
    wait_for(lambda: children(server) == 0)
    call = {"name": "run", "arguments": {"source": ENDLESS}}
    body = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}).encode()
    with socket.create_connection((server.host, server.port), timeout=60) as client:
        lines = [f"{name}: {value}\r\n" for name, value in HEADERS.items()]
        head = f"POST /mcp HTTP/1.1\r\nHost: {server.host}:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        client.sendall(f"{head}{''.join(lines)}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_for(lambda: children(server) > 0)
    wait_for(lambda: children(server) == 0)


def children(server: HttpServer) -> int:
    """The processes that carry out calls: grandchildren of the server."""
    found = 0
    for worker in started_by(server.process.pid):
        found += len(started_by(worker))
    return found


def started_by(process: int) -> list[int]:
    numbers: list[int] = []
    for thread in os.listdir(f"/proc/{process}/task"):
        try:
            with open(f"/proc/{process}/task/{thread}/children", encoding="ascii") as file:
                numbers += [int(word) for word in file.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return numbers


def wait_for(condition: Any) -> None:
    """Until a condition holds; a test whose condition never does fails by the limit of the run."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")
