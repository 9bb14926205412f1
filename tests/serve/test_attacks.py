"""Web pages and other strangers at the servers that listen on TCP: nothing is done for who has not sent the token.

A page knows the port, and chooses what is sent as far as a browser lets it: `attacks.py`.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.attacks import HEADERS, PAGES, serving
from tests.serve.debugger.client import PATIENCE, Client, RequestFailed, in_process, over_socket

from tileir.serve.debugger.adapter import editor

SERVERS = {"debug": ["debug", "--tcp", "127.0.0.1:0"], "lsp": ["lsp", "--tcp", "127.0.0.1:0"]}


class Server:
    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tileir", *command], stderr=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        assert self.process.stderr is not None
        words = self.process.stderr.readline()
        self.port = int(re.findall(r"127\.0\.0\.1:(\d+)", words)[0])
        self.token: str = "".join(re.findall(r'"token": "([^"]+)"', words))

    def replies(self, data: bytes, cuts: list[int] | None = None) -> bytes:
        """Send something, in parts, and return all that comes back until the server closes the connection."""
        at = [0, *sorted(cuts or []), len(data)]
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                for start, end in itertools.pairwise(at):
                    client.sendall(data[start:end])
                found = b""
                while part := client.recv(1 << 16):
                    found += part
            except ConnectionError:
                # Closed before everything was read: what a browser sends is not waited for.
                return b""
            return found


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    pytest.importorskip("lsprotocol", reason="the language server needs lsprotocol")
    found = {name: Server(command) for name, command in SERVERS.items()}
    yield found
    for server in found.values():
        server.process.terminate()
        server.process.communicate()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script that says that it ran, by a file beside it."""
    path = tmp_path / "script.py"
    path.write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    return path


def framed(**message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def conversation(kind: str, script: Path, token: str | None = None) -> bytes:
    """What an editor would send to have a script run."""
    given = {} if token is None else {"token": token}
    if kind == "lsp":
        document = {"uri": script.as_uri(), "languageId": "python", "version": 1, "text": script.read_text()}
        options = {"cutile": {"compile": True}, **given}
        parameters = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": options}
        return (
            framed(jsonrpc="2.0", id=1, method="initialize", params=parameters)
            + framed(jsonrpc="2.0", method="textDocument/didOpen", params={"textDocument": document})
            + framed(jsonrpc="2.0", id=2, method="shutdown")
            + framed(jsonrpc="2.0", method="exit")
        )
    requests: list[tuple[str, dict[str, Any]]] = [
        ("initialize", {"adapterID": "tileir"}),
        ("launch", {"program": str(script), **given}),
        ("configurationDone", {}),
    ]
    return in_frames(requests)


def in_frames(requests: list[tuple[str, dict[str, Any]]], first: int = 1) -> bytes:
    return b"".join(
        [
            framed(seq=number, type="request", command=command, arguments=arguments)
            for number, (command, arguments) in enumerate(requests, first)
        ]
    )


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("page", PAGES)
def test_a_web_page_is_not_answered(servers: dict[str, Server], kind: str, page: str, script: Path) -> None:
    chance = random.Random(page)
    data = PAGES[page](conversation(kind, script))
    for cuts in ([], [chance.randrange(len(data)) for _ in range(4)]):
        assert servers[kind].replies(data, cuts) == b""
    assert not script.with_name("ran").exists()


@pytest.mark.parametrize("kind", SERVERS)
def test_a_malformed_header_closes_the_connection(servers: dict[str, Server], kind: str, script: Path) -> None:
    for header in HEADERS.values():
        assert servers[kind].replies(header + conversation(kind, script)) == b""
    assert not script.with_name("ran").exists()


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_without_the_token_nothing_runs(servers: dict[str, Server], kind: str, token: str | None, script: Path) -> None:
    found = servers[kind].replies(conversation(kind, script, token))
    assert b"needs" in found and b"token" in found
    assert b'"result"' not in found and b'"exited"' not in found
    assert servers[kind].token.encode() not in found
    assert not script.with_name("ran").exists()


@pytest.mark.parametrize("kind", SERVERS)
def test_a_long_message_is_not_read_before_the_token(servers: dict[str, Server], kind: str) -> None:
    assert servers[kind].replies(b"Content-Length: 60000000\r\n\r\n" + b" " * (1 << 17)) == b""


def test_no_process_starts_before_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    popen = subprocess.Popen

    def start(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(given)
        return popen(*given, **options)

    monkeypatch.setattr(subprocess, "Popen", start)
    with serving(lambda listener: editor.serve(listener, ["-c", ""])) as listener:
        for token in ("wrong", listener.token):
            client = over_socket(listener.address)
            client.send_raw(in_frames([("initialize", {"adapterID": "tileir"}), ("launch", {"token": token})]))
            client.commands.update({1: "initialize", 2: "launch"})
            while client.receive() is not None:
                pass
            assert len(started) == (token == listener.token)
            client.close()


def test_with_the_token_the_script_runs(servers: dict[str, Server], script: Path) -> None:
    """What the others send is enough, but for the token."""
    client = over_socket(("127.0.0.1", servers["debug"].port))
    client.send_raw(conversation("debug", script, servers["debug"].token))
    client.commands.update({1: "initialize", 2: "launch", 3: "configurationDone"})
    assert client.event("exited")["exitCode"] == 0 and script.with_name("ran").exists()
    client.close()


def test_with_the_token_the_language_server_answers(servers: dict[str, Server], script: Path) -> None:
    # A long message may come right behind the token.
    script.write_text(script.read_text() + "#" * (1 << 18))
    found = servers["lsp"].replies(conversation("lsp", script, servers["lsp"].token))
    assert b'"serverInfo"' in found


# --- in this process ---


TOKEN = "the token of this server"
TOO_EARLY: dict[str, dict[str, Any]] = {
    "setBreakpoints": {"source": {"path": "/etc/passwd"}, "breakpoints": []},
    "configurationDone": {},
    "evaluate": {"expression": "1", "context": "repl"},
    "source": {"sourceReference": 1},
    "restart": {"arguments": {"program": "x.py"}},
    "terminate": {},
    "disconnect": {},
    "nonsense": {},
}


def noting(ran: list[object]) -> Callable[..., int]:
    """What would run a script, and notes it instead."""

    def run_script(*given: object) -> int:
        ran.append(given)
        return 0

    return run_script


def first_response(client: Client, requests: list[tuple[str, dict[str, Any]]]) -> None:
    """Send requests behind `initialize`, all at once, and take the response to the first."""
    client.commands[2] = requests[0][0]
    client.send_raw(in_frames(requests, 2))
    client.response(2)


@pytest.mark.parametrize("command", TOO_EARLY)
def test_nothing_is_done_before_the_token(command: str) -> None:
    ran: list[object] = []
    client = in_process(noting(ran), TOKEN)
    client.initialize()
    requests = [(command, TOO_EARLY[command]), ("launch", {"program": __file__, "token": TOKEN})]
    with pytest.raises(RequestFailed, match="'launch' or 'attach' with the token has to come first"):
        first_response(client, requests)
    assert client.receive() is None and not ran
    client.close()


@pytest.mark.parametrize(
    "given",
    [None, "", TOKEN[:-1], TOKEN + " ", TOKEN.upper(), "\ud800", 5, True, [TOKEN], {"token": TOKEN}],
)
@pytest.mark.parametrize("how", ["launch", "attach"])
def test_a_wrong_token_ends_the_conversation(how: str, given: object) -> None:
    ran: list[object] = []
    client = in_process(noting(ran), TOKEN)
    client.initialize()
    requests = [(how, {"program": __file__, "token": token}) for token in (given, TOKEN)]
    with pytest.raises(RequestFailed, match=f"'{how}' needs \"token\""):
        first_response(client, requests)
    assert client.receive() is None and not ran
    client.close()


@pytest.mark.parametrize("arguments", [None, [], "token", 5, [TOKEN]])
def test_arguments_that_are_no_object_have_no_token(arguments: Any) -> None:
    client = in_process(token=TOKEN)
    client.initialize()
    with pytest.raises(RequestFailed, match="'launch' needs \"token\""):
        client.response(client.send("launch", arguments, check=False))
    assert client.receive() is None
    client.close()
