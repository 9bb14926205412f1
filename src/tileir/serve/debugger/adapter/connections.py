"""Where channels come from: standard streams, and TCP with a token.

A server at an address starts a process for each editor that sends the token; the process speaks on its standard
streams.  Editors let their users add arguments to `launch` and `attach` alone, so the token is one of these.  Before
it, only `initialize` is answered, by `greet`; the channel of the admitted client reads both messages again.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Final

from tileir.serve.addresses import Client, Listener, is_token
from tileir.serve.debugger.adapter.execution import CAPABILITIES
from tileir.serve.debugger.adapter.requests import LONGEST, Channel, Message, parsed
from tileir.serve.framing import MessageReader

GREETED: Final = "TILEIR_DAP_GREETED"
"""The environment variable that says that the client's `initialize` has its response."""
_PATIENCE: Final = 5.0
"""Seconds to wait for the last output of a program: a process that it left behind may hold its streams."""


# --- TCP ---


def greet(client: Client, token: str) -> bool:
    """Whether a client sends the token; if not, it is refused."""
    reader = MessageReader(client.read, LONGEST)
    with client.connection.makefile("wb") as target:
        channel = Channel(client.read, target)
        is_greeted = False
        while (body := reader.message()) is not None:
            message = parsed(body)
            if isinstance(message, str):
                return False
            if is_greeted or message.get("command") != "initialize":
                refusal = _refusal(message, token, is_greeted)
                if refusal:
                    channel.refuse(message, refusal)
                return not refusal
            channel.respond(message, dict(CAPABILITIES))
            is_greeted = True
    return False


def _refusal(message: Message, token: str, is_greeted: bool) -> str:
    command, arguments = message.get("command"), message.get("arguments")
    if not is_greeted:
        return "'initialize' has to come first"
    if command not in ("launch", "attach"):
        return "'launch' or 'attach' with the token has to come first"
    if not is_token(arguments.get("token") if isinstance(arguments, dict) else None, token):
        return f'\'{command}\' needs "token": ".." among its arguments, as the server has printed it'
    return ""


def serve(listener: Listener, command: list[str]) -> None:
    """Serve clients until the process is interrupted; `command` are the arguments of Python for one of them."""
    listener.serve(greet, lambda client: _serve_client(client, command))


def _serve_client(client: Client, command: list[str]) -> None:
    environment = {**os.environ, GREETED: "1"}
    child = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert child.stdin is not None and child.stdout is not None
    source, target = child.stdout, child.stdin

    def forward() -> None:
        with contextlib.suppress(OSError, ValueError), target:
            while data := client.read(1 << 16):
                target.write(data)
                target.flush()

    threading.Thread(target=forward, daemon=True).start()
    with contextlib.suppress(OSError, ValueError):
        while data := os.read(source.fileno(), 1 << 16):
            client.connection.sendall(data)
    child.wait()
    source.close()
    client.close()


# --- standard streams ---


def standard_channel(*, is_greeted: bool = False) -> Channel:
    """The channel on standard input and output, which nobody else uses from here on: what is printed goes to standard
    error, and there is nothing to read."""
    source = os.dup(0)
    target = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Channel(lambda size: os.read(source, size), target, is_greeted=is_greeted)


class CapturedOutput:
    """Standard output and error of this process, and of those it starts, handed to a function as they are written."""

    def __init__(self, show: Callable[[str, str], object]) -> None:
        """`show` is called with the name of the stream and what was written."""
        self._readers: list[threading.Thread] = []
        self._before: list[tuple[int, int]] = []
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = getattr(sys, name)
            stream.flush()
            if hasattr(stream, "reconfigure"):
                # In order with what the debugger writes.
                stream.reconfigure(line_buffering=True)
            source, target = os.pipe()
            self._before.append((number, os.dup(number)))
            os.dup2(target, number)
            os.close(target)
            reader = threading.Thread(target=_show_written, args=(source, partial(show, name)), daemon=True)
            reader.start()
            self._readers.append(reader)

    def end(self) -> None:
        """Restore the streams, and hand over everything that was written."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        for number, before in self._before:
            os.dup2(before, number)
            os.close(before)
        for reader in self._readers:
            reader.join(_PATIENCE)


def _show_written(source: int, show: Callable[[str], object]) -> None:
    # As it comes: a reader of text would wait for more.
    with open(source, "rb", buffering=0) as stream:
        for text in codecs.iterdecode(iter(partial(stream.read, 1 << 16), b""), "utf-8", "replace"):
            show(text)
