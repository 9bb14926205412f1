"""Who may connect to a server: other users of the machine may not."""

from __future__ import annotations

import os
import socket
import sys
import threading

import pytest

from tileir.serve import addresses
from tileir.serve.addresses import GONE, accepted, listener_at, user_of

pytestmark = pytest.mark.skipif(
    not os.access("/proc/net/tcp", os.R_OK), reason="only Linux says whose a connection is, where /proc is mounted"
)


def pair(host: str) -> tuple[socket.socket, socket.socket, socket.socket]:
    try:
        listener = listener_at(host, 0)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    client = socket.create_connection(listener.getsockname()[:2])
    connection, _ = listener.accept()
    return listener, client, connection


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_user_of_a_connection_is_known(host: str) -> None:
    listener, client, connection = pair(host)
    with listener, client, connection:
        assert user_of(connection) == os.geteuid()


@pytest.mark.parametrize("linger", [b"", b"\1\0\0\0\0\0\0\0"], ids=["closed", "reset"])
def test_who_has_gone_is_nobody(linger: bytes) -> None:
    listener, client, connection = pair("127.0.0.1")
    with listener, connection:
        client.sendall(b"something")
        if linger:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        client.close()
        assert user_of(connection) == GONE


def test_other_users_are_refused(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux says whose a connection is")
    seen: list[int | None] = [4711, GONE, os.geteuid()]
    monkeypatch.setattr(addresses, "user_of", lambda connection: seen.pop(0))
    with listener_at("127.0.0.1", 0) as listener:
        address = listener.getsockname()
        clients = [socket.create_connection(address) for _ in range(3)]
        found: list[socket.socket] = []
        thread = threading.Thread(target=lambda: found.append(accepted(listener)))
        thread.start()
        assert [client.recv(1) for client in clients[:2]] == [b"", b""]
        thread.join()
        with found[0]:
            assert found[0].getpeername() == clients[2].getsockname()
        for client in clients:
            client.close()
    assert capfd.readouterr().err == "tileir: a connection of another user (4711) was refused\n"
