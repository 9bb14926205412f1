"""The adapter at an address: each editor that comes gets a process of its own, which speaks on its standard streams."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO

from tileir.serve.addresses import accepted


def serve(listener: socket.socket, command: list[str]) -> None:
    """Serve clients until the process is interrupted."""
    while True:
        connection = accepted(listener)
        threading.Thread(target=_relay, args=(connection, command), daemon=True).start()


def _relay(connection: socket.socket, command: list[str]) -> None:
    # Without a delay for each small message.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    child = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None
    to_child, from_child = child.stdin, child.stdout

    def forward() -> None:
        _copy(lambda: connection.recv(1 << 16), _writing(to_child))
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
    connection.close()


def _writing(stream: IO[bytes]) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    return write


def _copy(read: Callable[[], bytes], write: Callable[[bytes], None]) -> None:
    """Until one of the sides has gone."""
    try:
        while True:
            data = read()
            if not data:
                return
            write(data)
    except (OSError, ValueError):
        pass
