"""How servers listen on TCP, and which clients they serve: `Listener`."""

from __future__ import annotations

import contextlib
import errno
import hmac
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final

from tileir.serve.framing import BadFrame

# The kernel's tables of connections: a line each, with both ends, the state and the user.
_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
# A connection that is open, or that its owner has closed for sending only.
_OPEN: Final = ("01", "04", "05")
_NO_INODE: Final = "0"
_LISTENING: Final = "0A"
GONE: Final = -1

# Before the token: how long a client may take, how many bytes it may send, and how many such clients there may be.
_SECONDS: Final = 10.0
_BYTES: Final = 1 << 16
_STRANGERS: Final = 16
# What the system lacks for a while, and how long a server waits for it.
_SHORTAGES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED)
_PAUSE: Final = 0.1


class BadAddress(Exception):
    """Nobody can listen at an address; the message explains why."""


class Client:
    """The other end of a connection.  Until it is admitted, it has little time and may send little."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection: socket.socket = connection
        self._deadline: float = time.monotonic() + _SECONDS
        self._is_admitted: bool = False
        self._received: bytes = b""

    def read(self, size: int) -> bytes:
        """Return at most so many bytes, none at the end.  Once admitted, begin with what was read before."""
        if not self._is_admitted:
            data = receive(self.connection, min(size, _BYTES - len(self._received)), self._deadline)
            self._received += data
            return data
        data, self._received = self._received[:size], self._received[size:]
        return data or self.connection.recv(size)

    def admit(self) -> None:
        self.connection.settimeout(None)
        self._is_admitted = True

    def end(self) -> None:
        """End what is read and written, also on other threads."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.end()
        self.connection.close()


Greet = Callable[[Client, str], bool]
"""Reads the first messages of a client, and returns whether they have the token."""


class Listener:
    """A TCP socket that listens, and the random token that its clients have to send.

    Who connects may run programs as the user of the server.  A web page can connect too, so nothing is done for a
    client before it has sent the token, for which it has a limited time, and clients that have not sent it are few.
    Other users of the machine are refused at once, where the system reports who owns a connection.
    """

    def __init__(self, address: str) -> None:
        """`address` is `HOST:PORT`, `:PORT` or `PORT`; raise `BadAddress` where nobody can listen."""
        host, _, port = address.rpartition(":")
        if not (port.isascii() and port.isdecimal() and len(port) <= 5) or int(port) > 65535:
            raise BadAddress(f"'{address}' is no address to listen at: give HOST:PORT, as in 127.0.0.1:4711")
        try:
            where = (host.strip("[]") or "127.0.0.1", int(port))
            family = socket.getaddrinfo(*where, type=socket.SOCK_STREAM)[0][0]
            self.socket: socket.socket = socket.create_server(where, family=family)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise BadAddress(f"cannot listen at {address}: {why}") from None
        self.token: str = new_token()
        self._strangers: list[Client] = []
        self._lock: threading.Lock = threading.Lock()

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.socket.getsockname()[:2]
        return host, port

    def described(self, where: str) -> str:
        """The address for clients, and `where` they send the token."""
        host, port = self.address
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return f'{address}, with "token": "{self.token}" {where}'

    def serve(self, greet: Greet, use: Callable[[Client], object]) -> None:
        """Call `use` for each client that sends the token, on a thread of its own, until the process is interrupted."""
        while True:
            client = Client(self.accept())
            with self._lock:
                self._strangers.append(client)
                oldest = self._strangers.pop(0) if len(self._strangers) > _STRANGERS else None
            if oldest is not None:
                # Its own thread closes it.
                oldest.end()
            threading.Thread(target=self._serve, args=(client, greet, use), daemon=True).start()

    def _serve(self, client: Client, greet: Greet, use: Callable[[Client], object]) -> None:
        try:
            # Without a delay for each small message.
            client.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            has_token = greet(client, self.token)
        except (BadFrame, OSError, ValueError):
            has_token = False
        with self._lock:
            # Not there: too many came after it.
            is_admitted = client in self._strangers and has_token
            self._strangers = [other for other in self._strangers if other is not client]
        if not is_admitted:
            client.close()
            return
        client.admit()
        use(client)

    def accept(self) -> socket.socket:
        """Return the connection of the next client, who may have no token."""
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError as error:
                if error.errno not in _SHORTAGES:
                    raise
                time.sleep(_PAUSE)
                continue
            if is_own(connection):
                return connection
            connection.close()

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def new_token() -> str:
    return secrets.token_urlsafe(32)


def is_token(given: object, token: str) -> bool:
    """Whether a client has sent the token; the time taken does not depend on how much of it is right."""
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


def receive(connection: socket.socket, size: int, deadline: float) -> bytes:
    """Return at most so many bytes, none at the end; raise `TimeoutError` if nothing arrives until `deadline`."""
    # Zero would not wait at all.
    connection.settimeout(max(deadline - time.monotonic(), 0.001))
    return connection.recv(size)


def is_own(connection: socket.socket) -> bool:
    """Whether a connection comes from the user of this process or the administrator, or from another machine."""
    user = user_of(connection) if sys.platform == "linux" else None
    if user is None or user in (os.geteuid(), 0):
        return True
    if user != GONE:
        print(f"tileir: a connection of another user ({user}) was refused", file=sys.stderr, flush=True)
    return False


def user_of(connection: socket.socket) -> int | None:
    """The user of the other end of a connection on this machine; None if the system does not report it.

    `GONE` if it was closed meanwhile: it has no user then, though what it has sent would still be read.
    """
    try:
        own, peer = connection.getsockname()[:2], connection.getpeername()[:2]
    except OSError:
        return GONE
    is_near = _is_loopback(peer)
    if _is_loopback(own) and not is_near:
        # Only a client on this machine can choose such a source address.
        return GONE
    here, there = _written(own), _written(peer)
    is_listed = False
    for table in _TABLES:
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
        except (FileNotFoundError, PermissionError):
            continue
        except (OSError, ValueError):
            # For example, no file descriptor is left: the client may be anybody.
            return GONE
        for _, local, remote, state, _, _, _, user, _, inode, *_ in rows:
            if local in there and remote in here:
                return int(user) if state in _OPEN and inode != _NO_INODE else GONE
            is_listed = is_listed or (state == _LISTENING and int(local.rpartition(":")[2], 16) == own[1])
    # If the tables do not list the server either, they prove nothing.
    return GONE if is_listed and (is_near or peer[0] == own[0]) else None


def _is_loopback(address: tuple[str, int]) -> bool:
    return ip_address(address[0].partition("%")[0]).is_loopback


def _written(address: tuple[str, int]) -> tuple[str, ...]:
    """An address as the tables have it: words of 32 bits in the order of the machine."""
    host, port = address
    packed = ip_address(host.partition("%")[0]).packed
    both = [packed, bytes(10) + b"\xff\xff" + packed] if len(packed) == 4 else [packed, packed[12:]]
    return tuple([f"{_words(one)}:{port:04X}" for one in both])


def _words(packed: bytes) -> str:
    parts = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    return "".join([f"{int.from_bytes(part, sys.byteorder):08X}" for part in parts])
