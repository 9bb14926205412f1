"""The adapter at an address: each editor that connects gets a process of its own, which speaks on its standard streams.

That process checks the token (`TOKEN`); it is not started for what does not begin with a message, such as a request of
a browser.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Final

from tileir.serve.addresses import Listener
from tileir.serve.debugger.adapter.wire import LONGEST
from tileir.serve.framing import BadFrame, MessageReader, frame

TOKEN: Final = "TILEIR_DAP_TOKEN"
"""The environment variable that has the token, which other users cannot read there."""


def serve(listener: Listener, command: list[str]) -> None:
    """Serve clients until the process is interrupted."""
    while True:
        connection = listener.accept()
        threading.Thread(target=_serve, args=(connection, command, listener.token), daemon=True).start()


def _serve(connection: socket.socket, command: list[str], token: str) -> None:
    with connection:
        reader = MessageReader(connection.recv, LONGEST)
        try:
            # Without a delay for each small message.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            first = reader.message()
        except (BadFrame, OSError):
            return
        if first is not None:
            _relay(connection, frame(first) + reader.rest, command, token)


def _relay(connection: socket.socket, received: bytes, command: list[str], token: str) -> None:
    environment = {**os.environ, TOKEN: token}
    child = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert child.stdin is not None and child.stdout is not None
    to_child, from_child = child.stdin, child.stdout

    def forward() -> None:
        _copy(lambda: connection.recv(1 << 16), _writing(to_child), received)
        try:
            to_child.close()
        except OSError:
            pass

    threading.Thread(target=forward, daemon=True).start()
    _copy(lambda: from_child.read1(1 << 16), connection.sendall)  # type: ignore[attr-defined]
    child.wait()
    from_child.close()
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _writing(stream: IO[bytes]) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    return write


def _copy(read: Callable[[], bytes], write: Callable[[bytes], None], received: bytes = b"") -> None:
    """Copy what was `received` before, then what is read, until one of the sides has gone."""
    try:
        data = received or read()
        while data:
            write(data)
            data = read()
    except (OSError, ValueError):
        pass
