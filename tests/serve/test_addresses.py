"""Who may connect to a server: other users of the machine may not."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.serve.attacks import serving

from tileir.serve import addresses
from tileir.serve.addresses import GONE, BadAddress, Client, Listener, is_token, user_of

on_linux = pytest.mark.skipif(
    not os.access("/proc/net/tcp", os.R_OK), reason="only Linux says whose a connection is, where /proc is mounted"
)


def pair(host: str) -> tuple[Listener, socket.socket, socket.socket]:
    try:
        listener = Listener(f"{host}:0")
    except BadAddress:
        pytest.skip(f"this machine has no {host}")
    client = socket.create_connection(listener.address)
    return listener, client, listener.accept()


@on_linux
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_user_of_a_connection_is_known(host: str) -> None:
    listener, client, connection = pair(host)
    with listener, client, connection:
        assert user_of(connection) == os.geteuid()
        client.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b"" and user_of(connection) == os.geteuid()


@on_linux
@pytest.mark.parametrize("linger", [b"", b"\1\0\0\0\0\0\0\0"], ids=["closed", "reset"])
def test_who_has_gone_is_nobody(linger: bytes) -> None:
    listener, client, connection = pair("127.0.0.1")
    with listener, connection:
        client.sendall(b"something")
        if linger:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        client.close()
        assert user_of(connection) == GONE


class Ends:
    """A connection between two addresses."""

    def __init__(self, own: str, peer: str) -> None:
        self.own, self.peer = (own, 4711), (peer, 40000)

    def getsockname(self) -> tuple[str, int]:
        return self.own

    def getpeername(self) -> tuple[str, int]:
        return self.peer


def row(local: str, remote: str, state: str, user: int = 0, inode: int = 0) -> str:
    return f"   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 {user} 0 {inode} 1\n"


LISTENING = row("00000000:1267", "00000000:0000", "0A", 1000, 1)


@pytest.mark.skipif(sys.byteorder != "little", reason="the rows are those of a little-endian machine")
@pytest.mark.parametrize(
    ("own", "peer", "rows", "user"),
    [
        # A client may bind any address of the machine, so its address does not say that it is elsewhere.
        ("127.0.0.1", "192.0.2.2", row("020200C0:9C40", "0100007F:1267", "01", 4711, 2), GONE),
        ("192.0.2.1", "192.0.2.2", row("020200C0:9C40", "010200C0:1267", "01", 4711, 2), 4711),
        ("192.0.2.1", "192.0.2.2", row("020200C0:9C40", "010200C0:1267", "06"), GONE),
        ("192.0.2.1", "192.0.2.2", "", None),
        ("192.0.2.1", "192.0.2.1", "", GONE),
        ("127.0.0.1", "127.0.0.2", row("0200007F:9C40", "0100007F:1267", "01", 4711, 2), 4711),
    ],
)
def test_a_source_address_does_not_say_where_a_client_is(
    own: str, peer: str, rows: str, user: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "tcp"
    table.write_text("header\n" + LISTENING + rows)
    monkeypatch.setattr(addresses, "_TABLES", (str(table), str(tmp_path / "none")))
    assert user_of(cast(socket.socket, Ends(own, peer))) == user


def test_a_client_is_refused_when_the_tables_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("builtins.open", fail)
    assert user_of(cast(socket.socket, Ends("127.0.0.1", "127.0.0.1"))) == GONE


@on_linux
def test_other_users_are_refused(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux says whose a connection is")
    seen: list[int | None] = [4711, GONE, os.geteuid()]
    monkeypatch.setattr(addresses, "user_of", lambda connection: seen.pop(0))
    with Listener("127.0.0.1:0") as listener:
        clients = [socket.create_connection(listener.address) for _ in range(3)]
        found: list[socket.socket] = []
        thread = threading.Thread(target=lambda: found.append(listener.accept()))
        thread.start()
        assert [client.recv(1) for client in clients[:2]] == [b"", b""]
        thread.join()
        with found[0]:
            assert found[0].getpeername() == clients[2].getsockname()
        for client in clients:
            client.close()
    assert capfd.readouterr().err == "tileir: a connection of another user (4711) was refused\n"


class FewFiles(socket.socket):
    """Lacks file descriptors at first."""

    failures = 2

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_a_server_survives_a_lack_of_file_descriptors() -> None:
    with Listener("127.0.0.1:0") as listener, socket.create_connection(listener.address) as client:
        listener.socket = FewFiles(fileno=listener.socket.detach())
        with listener.accept() as connection:
            assert connection.getpeername() == client.getsockname()


def said_token(client: Client, token: str) -> bool:
    """A protocol in which the token ends with a line."""
    given = b""
    while not given.endswith(b"\n") and (part := client.read(1 << 20)):
        given += part
    return given == token.encode() + b"\n"


def answer(client: Client) -> None:
    client.connection.sendall(client.read(1 << 20))
    client.close()


def connected(listener: Listener) -> socket.socket:
    return socket.create_connection(listener.address, timeout=60)


@pytest.fixture
def server() -> Iterator[Listener]:
    with serving(lambda listener: listener.serve(said_token, answer)) as listener:
        yield listener


def test_a_client_that_does_not_send_the_token_in_time_is_closed(
    server: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "_SECONDS", 0.2)
    with connected(server) as idle:
        assert idle.recv(1) == b""


def test_a_client_that_sends_much_before_the_token_is_closed(server: Listener) -> None:
    with connected(server) as client:
        client.sendall(b"x" * (1 << 16))
        assert client.recv(1) == b""


def test_few_clients_have_no_token(server: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_SECONDS", 600.0)
    monkeypatch.setattr(addresses, "_STRANGERS", 2)
    idle = [connected(server) for _ in range(3)]
    assert idle[0].recv(1) == b""
    token = server.token.encode() + b"\n"
    # Those that remain may still send theirs, and others are served beside them.
    for connect in (lambda: idle[1], lambda: connected(server)):
        with connect() as client:
            client.sendall(token)
            assert client.recv(100) == token
    for client in idle:
        client.close()


def test_every_server_has_a_token_of_its_own() -> None:
    with Listener("127.0.0.1:0") as one, Listener("127.0.0.1:0") as other:
        assert one.token != other.token and len(one.token) >= 43
        assert one.described("there") == f'127.0.0.1:{one.address[1]}, with "token": "{one.token}" there'


@pytest.mark.parametrize("given", [None, "", "tok", "token ", "TOKEN", 5, ["token"], {"token": "token"}, "\ud800", "é"])
def test_nothing_else_is_the_token(given: object) -> None:
    assert is_token("token", "token")
    assert not is_token(given, "token")


@pytest.mark.parametrize(
    "address", ["", "nowhere", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:٤", "x" * 70 + ":1"]
)
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(BadAddress, match=r"is no address to listen at|cannot listen at"):
        Listener(address)
