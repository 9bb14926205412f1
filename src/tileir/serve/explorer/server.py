"""The explorer's server: sends the page and answers to the browser of the user who started it, and to nobody else.

It listens on 127.0.0.1 only.  Every address begins with a token that only the user's browser is given; requests with
another `Host` (a name that somebody made point here) or from another site are refused before the token is read.
Nothing is read from disk for a request.

The command line of a browser can be read by others of the same machine: what is on it is a token that is good once,
within a minute (`visiting_url`), which is answered with the address that stays.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import secrets
import socket
import threading
import time
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tileir.browser.one_file import page, policy
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless
from tileir.serve.addresses import is_own, is_token, new_token, receive
from tileir.serve.explorer.questions import Answering, QuestionError

_HOST = "127.0.0.1"
# Connections at a time: browsers open six to a server for each window.
_THREADS = 32
# A connection is closed where the headers of the next request take longer, or its answer is not taken.
_SECONDS = 10.0
_VISIT_SECONDS = 60
# Any port: a forwarded one has another number.  The names are what matters.
_HOSTS = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]{1,5})?")
_QUERY_AT_MOST = 4096
_PARAMETERS_AT_MOST = 16
# Loopback is fast, but browsers parse what is short sooner; level 1 costs little.
_COMPRESSED_FROM = 16 * 1024


class ExplorerServer(HTTPServer):
    """Serves an explorer until `close`; `url` is where."""

    # A port is this server's alone: no other server may answer on it.
    allow_reuse_address = False
    request_queue_size = 64

    def __init__(self, explorer: Answering, title: str = "tileir explorer", port: int = 0) -> None:
        super().__init__((_HOST, port), _Handler)
        self.explorer = explorer
        self.title = title
        self.token = new_token()
        self.port: int = self.server_address[1]
        self.url: str = f"http://{_HOST}:{self.port}/{self.token}/"
        self.visits: dict[str, float] = {}
        self._free = threading.BoundedSemaphore(_THREADS)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Serve from a thread of its own, which ends with the process."""
        serve = partial(self.serve_forever, poll_interval=0.05)
        self._thread = threading.Thread(target=serve, name="tileir explorer", daemon=True)
        self._thread.start()

    def visiting_url(self) -> str:
        """An address that leads to `url` once, within a minute: for the command line of a browser."""
        visit = new_token()
        self.visits[visit] = time.monotonic() + _VISIT_SECONDS
        return f"http://{_HOST}:{self.port}/{visit}/"

    def close(self) -> None:
        """Stop serving and free the port; more than once is fine."""
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
            self._thread = None
        self.server_close()

    def __enter__(self) -> ExplorerServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse other users of the machine, as every server does."""
        return is_own(request)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(timeout=0.5):
            threading.Thread(target=self._process, args=(request, client_address), daemon=True).start()
        else:
            self.shutdown_request(request)

    def _process(self, request: Any, client_address: Any) -> None:
        try:
            # The browser may go away, or speak something else than HTTP.
            with suppress(OSError, ValueError):
                self.finish_request(request, client_address)
        finally:
            self.shutdown_request(request)
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing is printed for what strangers send."""


class _Requests(io.RawIOBase):
    """What a client sends; each request has a deadline, however slowly its bytes come."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.deadline = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = receive(self._connection, len(buffer), self.deadline)
        buffer[: len(data)] = data
        return len(data)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "tileir"
    sys_version = ""
    server: ExplorerServer

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self._requests = _Requests(self.connection)
        self.rfile = io.BufferedReader(self._requests)

    def handle_one_request(self) -> None:
        self._requests.deadline = time.monotonic() + _SECONDS
        super().handle_one_request()

    def do_GET(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            if refusal[0] is HTTPStatus.NOT_FOUND and self._is_visit():
                self._send(HTTPStatus.SEE_OTHER, "text/plain", b"", location=f"/{self.server.token}/")
            else:
                self._error(*refusal)
            return
        address = urlsplit(self.path)
        path = address.path[1:].partition("/")[2]
        if path == "" and not address.query:
            self._page()
        elif path.startswith("answer/"):
            self._answer(path.removeprefix("answer/"), address.query)
        else:
            self._error(HTTPStatus.NOT_FOUND, "there is only the page and its answers")

    def _refusal(self) -> tuple[HTTPStatus, str] | None:
        """Why a request is not answered; it learns nothing about tokens unless it comes from here."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not _HOSTS.fullmatch(hosts[0].lower()):
            return HTTPStatus.FORBIDDEN, "this server answers to 127.0.0.1 only"
        origin, site = f"http://{hosts[0]}", self.headers.get("Sec-Fetch-Site", "none")
        if site not in ("none", "same-origin") or self.headers.get("Origin", origin) != origin:
            return HTTPStatus.FORBIDDEN, "this server answers its own page only"
        names = [name.lower() for name in self.headers]
        if self.headers.defects or len(names) > len(set(names)):
            return HTTPStatus.BAD_REQUEST, "a header is malformed or repeated"
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            return HTTPStatus.BAD_REQUEST, "questions have no body"
        token, slash, _ = self.path.removeprefix("/").partition("/")
        if not slash or not is_token(token, self.server.token):
            return HTTPStatus.NOT_FOUND, "the address is not the one that tileir explore printed"
        return None

    def _is_visit(self) -> bool:
        """Whether a request comes from the command line of a browser that was just opened."""
        now, given = time.monotonic(), self.path.strip("/")
        known = [visit for visit, end in list(self.server.visits.items()) if now < end and is_token(given, visit)]
        # Good once: of two requests at a time, one removes it.
        return any(self.server.visits.pop(visit, None) is not None for visit in known)

    def _page(self) -> None:
        nonce = secrets.token_urlsafe(18)
        text = page("tileir.serve.explorer", self.server.title, None, nonce, connected=True)
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", text.encode(), policy(nonce, connected=True))

    def _answer(self, question: str, query: str) -> None:
        try:
            answer = self.server.explorer.answer(question, _parameters(query))
            body = json.dumps(answer, allow_nan=False, separators=(",", ":")).encode()
        except TileIRError as error:
            self._error(HTTPStatus.BAD_REQUEST, error.message or str(error))
        except Exception as error:
            # A bug of tileir; the page shows the message and continues.
            words = f"'{harmless(question[:40])}' failed: {type(error).__name__}: {error}"
            self._error(HTTPStatus.INTERNAL_SERVER_ERROR, words)
        else:
            self._send(HTTPStatus.OK, "application/json", body)

    def _error(self, status: HTTPStatus, words: str) -> None:
        body = json.dumps({"error": words}).encode()
        # What is left of a request that was refused is not read as another one.
        self.close_connection = True
        self._send(status, "application/json", body)

    def _send(
        self, status: HTTPStatus, kind: str, body: bytes, rules: str = "default-src 'none'", location: str = ""
    ) -> None:
        compressed = len(body) >= _COMPRESSED_FROM and "gzip" in self.headers.get("Accept-Encoding", "")
        if compressed:
            body = gzip.compress(body, compresslevel=1)
        self.connection.settimeout(_SECONDS)
        # The library takes an invalid request for HTTP/0.9, which has no headers.
        self.request_version = self.protocol_version
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        if compressed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Security-Policy", f"{rules}; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what the library refuses by itself as the other errors: never with what was sent."""
        if not hasattr(self, "headers"):
            self.headers = self.MessageClass()
        self._error(HTTPStatus(code), HTTPStatus(code).phrase.lower())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written to the terminal of who started it."""


def _parameters(query: str) -> dict[str, str | int]:
    if len(query) > _QUERY_AT_MOST:
        raise QuestionError("the question is too long")
    given: dict[str, str | int] = {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_PARAMETERS_AT_MOST)
    except ValueError:
        raise QuestionError("the question has too many parameters") from None
    for name, value in pairs:
        if name in given:
            raise QuestionError(f"'{harmless(name[:40])}' is given twice")
        given[name] = value
    return given
