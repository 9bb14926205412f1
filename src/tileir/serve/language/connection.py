"""A wire between a server and one editor: messages in their frames, taken in as they come and handled in order.

A thread reads, so that what waits is known: a request that was cancelled before its turn is not worked on, and what is
said about a text waits for the edits of it that are already here.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, Protocol

from lsprotocol import types as lsp
from pygls.protocol import LanguageServerProtocol

from tileir.serve.addresses import Client, is_token
from tileir.serve.framing import BadFrame, MessageReader, frame

_LOG = logging.getLogger(__name__)
# The most bytes that a message may have.
_LONGEST_MESSAGE = 1 << 30
# How often somebody looks whether the editor's process is still there.
_SECONDS = 20.0

# Stands among messages where there is something else to do.
_NOTHING = b"nothing"

EXIT_FINE = 0
EXIT_LOST = 1


class Server(Protocol):
    """What a connection needs of a server beside the answers to messages: what else there is to do."""

    protocol: LanguageServerProtocol
    process_id: int | None
    wake: Callable[[], None]

    @property
    def has_work(self) -> bool: ...

    def work(self) -> None: ...


class Connection:
    """Reads and writes until one of the two sides ends it.

    `read` gives some bytes of at most so many, none at the end; `write` takes all that it is given.  Neither keeps any:
    Python cannot end a process in which a thread still waits for a buffered stream.
    """

    def __init__(
        self,
        server: Server,
        read: Callable[[int], bytes],
        write: Callable[[bytes], object],
    ) -> None:
        self.server = server
        self.protocol = server.protocol
        self.reader = MessageReader(read, _LONGEST_MESSAGE)
        self.write = write
        self.lost = False
        # What was read: a message, or None at the end.
        self.messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.waiting: list[dict[str, Any]] = []
        self.initialized = False
        self.ended = False

    def run(self) -> int:
        """Serve until the end; the status a process of a server ends with."""
        self.protocol.set_writer(_Writer(self))
        self.server.wake = lambda: self.messages.put(_NOTHING)
        threading.Thread(target=self._read, daemon=True).start()
        while not self.lost:
            self._take_in()
            if self.waiting:
                message = self.waiting.pop(0)
                if message.get("method") == lsp.EXIT:
                    return EXIT_FINE if self.protocol._shutdown else EXIT_LOST
                self._handle(message)
            elif self.ended:
                break
            else:
                self.server.work()
        return EXIT_LOST

    # --- reading ---

    def _read(self) -> None:
        try:
            while (body := self.reader.message()) is not None:
                self.messages.put(body)
        except (OSError, ValueError, BadFrame) as error:
            _LOG.warning("the connection ends: %s", error)
        self.messages.put(None)

    def _take_in(self) -> None:
        """Take in what has come; wait for something where there is nothing else to do."""
        while not self.ended:
            try:
                if self.waiting or self.server.has_work:
                    body = self.messages.get_nowait()
                else:
                    body = self.messages.get(timeout=_SECONDS)
            except queue.Empty:
                if self.waiting or self.server.has_work:
                    return
                self.ended = not _is_alive(self.server.process_id)
                continue
            if body is None:
                self.ended = True
                return
            if body is _NOTHING:
                continue
            self._sort_in(body)

    def _sort_in(self, body: bytes) -> None:
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            self._refuse(None, lsp.ErrorCodes.ParseError, f"not a message: {error}")
            return
        if not isinstance(message, dict):
            self._refuse(None, lsp.ErrorCodes.InvalidRequest, "a message is an object")
            return
        if message.get("method") != lsp.CANCEL_REQUEST:
            self.waiting.append(message)
            return
        params = message.get("params")
        number = params.get("id") if isinstance(params, dict) else None
        for index, other in enumerate(self.waiting):
            if "method" in other and number is not None and other.get("id") == number:
                del self.waiting[index]
                self._refuse(number, lsp.LSPErrorCodes.RequestCancelled, "cancelled")
                return

    # --- handling ---

    def _handle(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        number = message.get("id")
        request = method is not None and number is not None
        if method == lsp.INITIALIZE and not self.initialized:
            self.initialized = True
        elif method is not None and (not self.initialized or method == lsp.INITIALIZE):
            if request:
                again = method == lsp.INITIALIZE
                code = lsp.ErrorCodes.InvalidRequest if again else lsp.ErrorCodes.ServerNotInitialized
                self._refuse(number, code, "initialized already" if again else "not initialized yet")
            return
        elif self.protocol._shutdown:
            if request:
                self._refuse(number, lsp.ErrorCodes.InvalidRequest, "the server is shutting down")
            return
        try:
            self.protocol.handle_message(self.protocol.structure_message(message))
        except Exception as error:
            _LOG.exception("cannot handle a message of the method %s", method)
            if request:
                self._refuse(number, lsp.ErrorCodes.InvalidParams, f"cannot read the parameters: {error}")

    def _refuse(self, number: int | str | None, code: lsp.ErrorCodes | lsp.LSPErrorCodes, message: str) -> None:
        self.protocol._send_data(lsp.ResponseErrorMessage(id=number, error=lsp.ResponseError(code, message)))


def greet(client: Client, token: str) -> bool:
    """Whether an editor begins with an `initialize` that has the token; if not, it is told."""
    body = MessageReader(client.read, _LONGEST_MESSAGE).message()
    if body is None:
        return False
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    given = message if isinstance(message, dict) else {}
    if is_token(_token_in(given), token):
        return True
    words = '\'initialize\' needs "token": ".." in its initializationOptions, as the server has printed it'
    error = {"code": lsp.ErrorCodes.InvalidRequest.value, "message": words}
    number = given.get("id") if isinstance(given.get("id"), (int, str)) else None
    client.connection.sendall(frame(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()))
    return False


def _token_in(message: dict[str, Any]) -> object:
    """The token that `initialize` brings."""
    params = message.get("params") if message.get("method") == lsp.INITIALIZE else None
    options = params.get("initializationOptions") if isinstance(params, dict) else None
    return options.get("token") if isinstance(options, dict) else None


class _Writer:
    """Writes whole messages; an editor that is gone ends the connection and is no failure."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def write(self, data: bytes) -> None:
        if self.connection.lost:
            return
        try:
            self.connection.write(data)
        except (OSError, ValueError):
            self.connection.lost = True

    def close(self) -> None:
        self.connection.lost = True


def _is_alive(process: int | None) -> bool:
    """Whether the editor's process is there; where nobody knows, it is."""
    if process is None or os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
