"""The adapter at an address: each editor that connects gets a process of its own, which speaks on its standard streams.

It is started when the client has sent the token.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Final

from tileir.serve.addresses import Client, Listener
from tileir.serve.debugger.adapter.greeting import greet

GREETED: Final = "TILEIR_DAP_GREETED"
"""The environment variable that says that the client's `initialize` has its response."""


def serve(listener: Listener, command: list[str]) -> None:
    """Serve clients until the process is interrupted."""
    listener.serve(greet, lambda client: _relay(client, command))


def _relay(client: Client, command: list[str]) -> None:
    try:
        _run(client, command)
    finally:
        client.close()


def _run(client: Client, command: list[str]) -> None:
    environment = {**os.environ, GREETED: "1"}
    child = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert child.stdin is not None and child.stdout is not None
    to_child, from_child = child.stdin, child.stdout

    def forward() -> None:
        _copy(lambda: client.read(1 << 16), _writing(to_child))
        try:
            to_child.close()
        except OSError:
            pass

    threading.Thread(target=forward, daemon=True).start()
    _copy(lambda: from_child.read1(1 << 16), client.connection.sendall)  # type: ignore[attr-defined]
    child.wait()
    from_child.close()


def _writing(stream: IO[bytes]) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    return write


def _copy(read: Callable[[], bytes], write: Callable[[bytes], None]) -> None:
    """Copy what is read until one of the sides has gone."""
    try:
        while data := read():
            write(data)
    except (OSError, ValueError):
        pass
