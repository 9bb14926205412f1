"""Addresses that servers listen at, as people write them, and who may come there."""

from __future__ import annotations

import os
import socket
import sys
from ipaddress import ip_address
from typing import Final

# The kernel's tables of connections: a line each, with both ends, the state and the user.
_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED: Final = "01"
_LISTENING: Final = "0A"
GONE: Final = -1


def address_of(text: str) -> tuple[str, int] | None:
    """`HOST:PORT`, `:PORT` or `PORT`; None if it is none of these."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal()) or int(port) > 65535:
        return None
    return host.strip("[]") or "127.0.0.1", int(port)


def listener_at(host: str, port: int) -> socket.socket:
    """A socket that listens; an `OSError` says why there is none."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    return socket.create_server((host, port), family=family)


def words_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def accepted(listener: socket.socket) -> socket.socket:
    """The next client.

    Who comes may run programs as the user of the server, so other users of the machine are turned away, where the
    system says whose a connection is.
    """
    users = (os.geteuid(), 0)
    while True:
        connection, _ = listener.accept()
        user = user_of(connection) if sys.platform == "linux" else None
        if user is None or user in users:
            return connection
        connection.close()
        if user != GONE:
            print(f"tileir: a connection of another user ({user}) was refused", file=sys.stderr, flush=True)


def user_of(connection: socket.socket) -> int | None:
    """Whose the other end of a connection is, if that is on this machine; None if the system does not tell.

    `GONE` if it was closed meanwhile: it is nobody's then, though what it has sent would still be read.
    """
    try:
        own, peer = connection.getsockname()[:2], connection.getpeername()[:2]
    except OSError:
        return GONE
    if not ip_address(peer[0].partition("%")[0]).is_loopback and peer[0] != own[0]:
        return None
    here, there = _written(own), _written(peer)
    is_listed = False
    for table in _TABLES:
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
        except (OSError, ValueError):
            continue
        for _, local, remote, state, _, _, _, user, *_ in rows:
            if state == _ESTABLISHED and local in there and remote in here:
                return int(user)
            is_listed = is_listed or (state == _LISTENING and int(local.rpartition(":")[2], 16) == own[1])
    # Where the tables do not even have the server, they say nothing.
    return GONE if is_listed else None


def _written(address: tuple[str, int]) -> tuple[str, ...]:
    """An address as the tables have it: words of 32 bits in the order of the machine."""
    host, port = address
    packed = ip_address(host.partition("%")[0]).packed
    both = [packed, bytes(10) + b"\xff\xff" + packed] if len(packed) == 4 else [packed, packed[12:]]
    return tuple([f"{_words(one)}:{port:04X}" for one in both])


def _words(packed: bytes) -> str:
    parts = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    return "".join([f"{int.from_bytes(part, sys.byteorder):08X}" for part in parts])
