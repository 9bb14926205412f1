"""Addresses that servers listen at, as people write them."""

from __future__ import annotations

import socket


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
