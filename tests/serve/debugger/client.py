"""A client of the debug adapter protocol, of the tests' own: framing, sequence numbers, and every message both ways
validated against the published schema."""

from __future__ import annotations

import contextlib
import json
import queue
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from tests.serve.debugger.protocol_schema import validate

PATIENCE = 120.0
"""Seconds until a message that does not come is a failure: machines of tests may be slow."""


class RequestFailed(Exception):
    """A response that refuses."""

    def __init__(self, response: dict[str, Any]) -> None:
        error = response["body"]["error"]
        words = error["format"].format(**error.get("variables", {}))
        super().__init__(words)
        self.words = words
        self.response = response


class Client:
    def __init__(self, source: Any, target: Any, close: Callable[[], None] = lambda: None) -> None:
        self._source = source
        self._target = target
        self._close = close
        self._sequence = 0
        self._expected = 0
        self._arrived: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.is_closed = False
        self.responses: dict[int, list[dict[str, Any]]] = {}
        self.commands: dict[int, str] = {}
        self.events: list[dict[str, Any]] = []
        """Those that nobody has waited for yet."""
        self.history: list[dict[str, Any]] = []
        """Every message that came, in order."""
        self.capabilities: dict[str, Any] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                header = b""
                while not header.endswith(b"\r\n\r\n"):
                    byte = self._source.read(1)
                    if not byte:
                        return
                    header += byte
                name, _, length = header.decode("ascii").strip().partition(": ")
                assert name == "Content-Length", header
                self._arrived.put(json.loads(self._source.read(int(length))))
        except (OSError, ValueError):
            pass
        finally:
            self._arrived.put(None)

    # --- sending ---

    def send_raw(self, data: bytes) -> None:
        self._target.write(data)
        self._target.flush()

    def send(self, command: str, arguments: dict[str, Any] | None = None, *, check: bool = True) -> int:
        """Send a request and do not wait; `check=False` for what is wrong on purpose."""
        self._sequence += 1
        message: dict[str, Any] = {"seq": self._sequence, "type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = arguments
        if check:
            validate(message)
        body = json.dumps(message).encode()
        self.commands[self._sequence] = command
        self.send_raw(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return self._sequence

    def request(self, command: str, *, check: bool = True, **arguments: Any) -> Any:
        """Send a request, wait for its response, and give its body."""
        return self.response(self.send(command, arguments or None, check=check))

    # --- receiving ---

    def receive(self, patience: float = PATIENCE) -> dict[str, Any] | None:
        """Take the next message, validated; None at the end."""
        message = self._arrived.get(timeout=patience)
        if message is None:
            self.is_closed = True
            return None
        self._expected += 1
        assert message["seq"] == self._expected, "messages are numbered from 1 on"
        validate(message)
        self.history.append(message)
        if message["type"] == "event":
            self.events.append(message)
        else:
            assert message["type"] == "response"
            sequence = message["request_seq"]
            assert self.commands.get(sequence, "") == message["command"] or sequence == 0
            assert sequence not in self.responses or sequence == 0, "two responses to one request"
            self.responses.setdefault(sequence, []).append(message)
        return message

    def response(self, sequence: int) -> Any:
        while sequence not in self.responses:
            assert self.receive() is not None, f"the adapter has gone without an answer to {self.commands[sequence]}"
        found = self.responses[sequence][0]
        if not found["success"]:
            raise RequestFailed(found)
        return found.get("body")

    def event(self, name: str, matches: Callable[[Any], bool] = lambda body: True) -> Any:
        """Wait for an event and take it; its body."""
        while True:
            for place, event in enumerate(self.events):
                if event["event"] == name and matches(event.get("body")):
                    del self.events[place]
                    return event.get("body")
            assert self.receive() is not None, f"the adapter has gone without the event {name}"

    def output(self, category: str | None = None) -> str:
        """What was told so far."""
        bodies = [each["body"] for each in self.history if each.get("event") == "output"]
        return "".join([body["output"] for body in bodies if category in (None, body.get("category"))])

    # --- what every session does ---

    def initialize(self, **more: Any) -> dict[str, Any]:
        self.capabilities = self.request("initialize", adapterID="tileir", clientID="tests", **more)
        return self.capabilities

    def begin(self, configure: Callable[[], object] = lambda: None, *, how: str = "launch", **arguments: Any) -> None:
        """From `initialize` to `configurationDone`; `configure` sets breakpoints."""
        if not self.capabilities:
            self.initialize()
        launched = self.send(how, arguments)
        self.event("initialized")
        configure()
        self.request("configurationDone")
        self.response(launched)

    def stopped(self) -> Any:
        return self.event("stopped")

    def step(self, command: str, **arguments: Any) -> Any:
        """A request that runs, up to where it stops."""
        self.request(command, threadId=self.thread(), **arguments)
        return self.stopped()

    def thread(self) -> int:
        return int(self.request("threads")["threads"][0]["id"])

    def frames(self) -> list[dict[str, Any]]:
        return self.request("stackTrace", threadId=self.thread())["stackFrames"]

    def top(self) -> dict[str, Any]:
        return self.frames()[0]

    def scope(self, name: str, frame: int | None = None) -> list[dict[str, Any]]:
        scopes = self.request("scopes", frameId=self.top()["id"] if frame is None else frame)["scopes"]
        found = [scope for scope in scopes if scope["name"] == name]
        assert found, f"{name} is not among {[scope['name'] for scope in scopes]}"
        return self.request("variables", variablesReference=found[0]["variablesReference"])["variables"]

    def evaluate(self, expression: str, context: str = "watch") -> Any:
        return self.request("evaluate", expression=expression, context=context, frameId=self.top()["id"])

    def close(self) -> None:
        self._close()


def over_stdio(*options: str, **how: Any) -> Client:
    """A client of `tileir debug --dap` on its standard streams."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tileir", "debug", "--dap", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **how,
    )

    def close() -> None:
        process.stdin.close()
        process.wait(PATIENCE)

    client = Client(process.stdout, process.stdin, close)
    client.process = process
    return client


def over_socket(address: tuple[str, int]) -> Client:
    connection = socket.create_connection(address, timeout=PATIENCE)
    connection.settimeout(None)
    stream = connection.makefile("rwb")

    def close() -> None:
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()

    return Client(stream, stream, close)


def address_in(words: str) -> tuple[int, str]:
    """The port and the token that a server has printed."""
    found = re.search(r'127\.0\.0\.1:(\d+), with "token": "([\w-]{43})" in ', words)
    assert found is not None, words
    return int(found[1]), found[2]


def in_process(run_script: Callable[..., int] | None = None, token: str | None = None) -> Client:
    """A client of an adapter that runs on a thread of this process: as the others, without the time that Python takes
    to start."""
    from tileir.serve import addresses
    from tileir.serve.debugger.adapter.editor import greet, host
    from tileir.serve.debugger.adapter.requests import Channel

    one, other = socket.socketpair()
    stranger = addresses.Client(other)

    def serve() -> None:
        if token is None or greet(stranger, token):
            stranger.admit()
            host(Channel(stranger.read, other.makefile("wb"), is_greeted=token is not None), run_script)
        # As at the end of a process; the other side may have done it before.
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=serve)
    thread.start()
    client_stream = one.makefile("rwb")

    def close() -> None:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the adapter does not end when its client has gone"
        one.close()
        other.close()

    return Client(client_stream, client_stream, close)
