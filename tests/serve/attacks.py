"""What strangers send to a server that frames messages by `Content-Length`."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

from tileir.serve.addresses import Listener

# Servers that read long lines in pieces have read them in pieces of this many bytes.
PIECE = 4096


@contextlib.contextmanager
def serving(serve: Callable[[Listener], None]) -> Iterator[Listener]:
    """A listener that a thread serves."""

    def run() -> None:
        with contextlib.suppress(OSError):
            serve(listener)

    with Listener("127.0.0.1:0") as listener:
        thread = threading.Thread(target=run)
        thread.start()
        yield listener
        listener.socket.shutdown(socket.SHUT_RDWR)
        thread.join()


def _length(text: str) -> bytes:
    return f"Content-Length: {text}\r\n\r\n".encode()


HEADERS: dict[str, bytes] = {
    "no colon": b"hello\r\n\r\n",
    "nothing": b"\r\n",
    "no name": b": 5\r\n\r\n",
    "no value": b"Content-Length:\r\n\r\n",
    "space before the colon": b"Content-Length : 0\r\n\r\n",
    "continued line": b"Content-Type: text/plain\r\n Content-Length: 0\r\n\r\n",
    "unknown field": b"Host: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
    "no length": b"Content-Type: text/plain\r\n\r\n",
    "repeated length": b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "repeated length, spelled otherwise": b"Content-Length: 0\r\ncontent-LENGTH: 2\r\n\r\n",
    "repeated type": b"Content-Type: a\r\nContent-Type: a\r\nContent-Length: 0\r\n\r\n",
    "two lengths in one": _length("0, 0"),
    "negative": _length("-5"),
    "signed": _length("+5"),
    "hexadecimal": _length("0x5"),
    "exponent": _length("1e1"),
    "underscore": _length("1_0"),
    "fraction": _length("5.0"),
    "Arabic digits": _length("\u0665"),
    "superscript": _length("\u00b2"),
    "huge": _length("9" * 12),
    "longer than a number": _length("9" * 100),
    "longer than Python reads": _length("9" * 5000),
    "zeros": _length("0" * 100 + "5"),
    "line feeds alone": b"Content-Length: 0\n\n",
    "one line feed alone": b"Content-Length: 0\nContent-Type: text/plain\r\n\r\n",
    "carriage returns alone": b"Content-Length: 0\r\r" + b" " * 300,
    "null byte": b"Content-Length: 0\0\r\n\r\n",
    "long line": b"Content-Type: " + b"a" * PIECE + b"\r\nContent-Length: 0\r\n\r\n",
    "line without an end": b"Content-Type: " + b"a" * 100_000,
    "many fields": b"".join([b"X-%d: 1\r\n" % number for number in range(1000)]) + b"Content-Length: 0\r\n\r\n",
    "chunked": b"Transfer-Encoding: chunked\r\n\r\n5\r\n",
    "TLS": bytes.fromhex("16030100f4010000f00303") + b"\r\n" * 20,
}
"""Headers that are none; messages may stand before and behind them."""


def _page(line: str = "POST /", *fields: str) -> Callable[[bytes], bytes]:
    def request(body: bytes) -> bytes:
        lines = [f"{line} HTTP/1.1", "Host: 127.0.0.1:4711", *fields, f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body

    return request


def _padded(field: str, behind: str) -> Callable[[bytes], bytes]:
    """A field so long that a piece of its line begins with something else."""
    return lambda body: _page("POST /", f"{field}{'a' * (PIECE - len(field))}{behind}")(body)


PAGES: dict[str, Callable[[bytes], bytes]] = {
    "plain": _page(),
    "long request line": _page("POST /" + "a" * (PIECE - len("POST /"))),
    "long request line, a length in it": _page("POST /" + "a" * (PIECE - len("POST /")) + "content-length:0"),
    "longer request line": _page("POST /" + "a" * 3 * PIECE),
    "cookie with a second length": lambda body: (
        _page("GET /" + "a" * (PIECE - len("GET /")))(b"")[:-4]
        + b"\r\nCookie: "
        + b"a" * (PIECE - len("Cookie: "))
        + b"content-length:0\r\n\r\n"
        + body
    ),
    "padded cookie": _padded("Cookie: ", "content-length:0"),
    "repeated length": _page("POST /", "Content-Length: 3"),
    "chunked": lambda body: b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n",
    "HTTP/0.9": lambda body: b"GET /\r\n" + body,
    "HTTP/0.9 with a line feed": lambda body: b"GET /\n" + body,
    "HTTP/2": lambda body: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + body,
    "no version": lambda body: b"POST /\r\nContent-Length: %d\r\n\r\n" % len(body) + body,
    "web socket": _page("GET /", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
    "length as the method": lambda body: b"CONTENT-LENGTH: / HTTP/1.1\r\n\r\n" + body,
    "many fields": _page("POST /", *[f"X-{number}: 1" for number in range(2000)]),
}
"""Requests that a browser can be made to send, and some that come close; each with a body that a page chooses."""
