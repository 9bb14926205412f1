"""JSON-RPC between a server and one editor: messages in their frames, handled in the order in which they come.

A thread reads, so that the waiting messages are known: a request that is cancelled before its turn is not computed, and
diagnostics of a text wait for the edits of it that have already come.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, Protocol

from lsprotocol import converters
from lsprotocol import types as lsp

from tileir.serve.addresses import Client, is_token
from tileir.serve.framing import BadFrame, MessageReader, frame

_LOG = logging.getLogger(__name__)
# The most bytes that a message may have.
_LONGEST_MESSAGE = 1 << 30
# Stands among messages for work that has come.
_WAKE = b"wake"

EXIT_FINE = 0
EXIT_LOST = 1


class RequestRefused(Exception):
    """A request that is answered with an error: a sentence, which editors show."""

    def __init__(self, message: str, code: int = lsp.LSPErrorCodes.RequestFailed.value) -> None:
        super().__init__(message)
        self.code = code


class Server(Protocol):
    """What a connection needs of a server: handlers of methods, and work to do while no message waits.

    A handler gets the parameters as `lsprotocol` has them; as plain JSON if its method is one of `untyped`.
    """

    handlers: dict[str, Callable[[Any], Any]]
    untyped: frozenset[str]

    def connect(self, connection: Connection) -> None: ...

    @property
    def has_work(self) -> bool: ...

    def work(self) -> None: ...


class Connection:
    """Reads and writes until one of the two sides ends it.

    `read` returns at most so many bytes, none at the end; `write` takes all that it is given.  Neither buffers: Python
    cannot end a process in which a thread still waits for a buffered stream.
    """

    def __init__(self, server: Server, read: Callable[[int], bytes], write: Callable[[bytes], object]) -> None:
        self._server = server
        self._reader = MessageReader(read, _LONGEST_MESSAGE)
        self._write = write
        self._converter = converters.get_converter()
        # What was read: a message, or None at the end.
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting: list[dict[str, Any]] = []
        self._answers: dict[int, Callable[[Any], object]] = {}
        self._requests = 0
        self._is_initialized = self._is_shut_down = self._is_ended = self._is_lost = False
        server.connect(self)

    def run(self) -> int:
        """Serve until the end; the exit status of a server process."""
        threading.Thread(target=self._read, daemon=True).start()
        while not self._is_lost:
            self._receive()
            if self._waiting:
                message = self._waiting.pop(0)
                if message.get("method") == lsp.EXIT:
                    return EXIT_FINE if self._is_shut_down else EXIT_LOST
                self._handle(message)
            elif self._is_ended:
                break
            else:
                self._server.work()
        return EXIT_LOST

    def wake(self) -> None:
        """Have the connection look for work, from another thread."""
        self._messages.put(_WAKE)

    # --- sending ---

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: object, answer: Callable[[Any], object] = lambda result: None) -> None:
        """Send a request; `answer` gets its result as plain JSON, if there is one."""
        self._requests += 1
        self._answers[self._requests] = answer
        self._send({"id": self._requests, "method": method, "params": params})

    def _respond(self, number: object, result: object) -> None:
        try:
            self._send({"id": number, "result": result})
        except (RecursionError, TypeError, ValueError) as error:
            self._refuse(number, lsp.ErrorCodes.InternalError, f"the answer cannot be written: {error}")

    def _refuse(self, number: object, code: int, message: str) -> None:
        self._send({"id": number, "error": {"code": int(code), "message": message}})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **self._converter.unstructure(message)}).encode("ascii")
        try:
            self._write(frame(body))
        except (OSError, ValueError):
            # The editor is gone.
            self._is_lost = True

    # --- receiving ---

    def _read(self) -> None:
        try:
            while (body := self._reader.message()) is not None:
                self._messages.put(body)
        except (OSError, ValueError, BadFrame) as error:
            _LOG.warning("the connection ends: %s", error)
        self._messages.put(None)

    def _receive(self) -> None:
        """Take the messages that have come; wait for one if there is nothing to do."""
        while not self._is_ended:
            try:
                body = self._messages.get(block=not (self._waiting or self._server.has_work))
            except queue.Empty:
                return
            if body is None:
                self._is_ended = True
            elif body is not _WAKE:
                self._enqueue(body)

    def _enqueue(self, body: bytes) -> None:
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            self._refuse(None, lsp.ErrorCodes.ParseError, f"not a message: {error}")
            return
        if not isinstance(message, dict):
            self._refuse(None, lsp.ErrorCodes.InvalidRequest, "a message is an object")
        elif message.get("method") == lsp.CANCEL_REQUEST:
            self._cancel(message.get("params"))
        else:
            self._waiting.append(message)

    def _cancel(self, params: object) -> None:
        number = member(params, "id")
        for index, message in enumerate(self._waiting):
            if "method" in message and number is not None and message.get("id") == number:
                del self._waiting[index]
                self._refuse(number, lsp.LSPErrorCodes.RequestCancelled, "cancelled")
                return

    def _handle(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None:
            answer = self._answers.pop(number, None) if isinstance(number, int) else None
            if answer is not None and "result" in message:
                self._call(None, answer, message["result"])
            return
        refusal = self._refusal(str(method))
        if refusal is None:
            self._is_initialized = True
            self._dispatch(str(method), number, message.get("params"))
        elif number is not None:
            self._refuse(number, *refusal)

    def _refusal(self, method: str) -> tuple[int, str] | None:
        """Why a method cannot be called now."""
        if self._is_shut_down:
            return lsp.ErrorCodes.InvalidRequest, "the server is shutting down"
        if self._is_initialized == (method == lsp.INITIALIZE):
            if self._is_initialized:
                return lsp.ErrorCodes.InvalidRequest, "initialized already"
            return lsp.ErrorCodes.ServerNotInitialized, "not initialized yet"
        return None

    def _dispatch(self, method: str, number: object, params: Any) -> None:
        if method == lsp.SHUTDOWN:
            self._is_shut_down = True
            self._respond(number, None)
            return
        handler = self._server.handlers.get(method)
        if handler is None:
            if number is not None:
                self._refuse(number, lsp.ErrorCodes.MethodNotFound, f"there is no method '{method}'")
            return
        if method not in self._server.untyped:
            try:
                kind: Any = lsp.METHOD_TO_TYPES[method][2]
                params = self._converter.structure(params, kind)
            except Exception as error:
                if number is not None:
                    self._refuse(number, lsp.ErrorCodes.InvalidParams, f"cannot read the parameters: {error}")
                return
        self._call(number, handler, params)

    def _call(self, number: object, handler: Callable[[Any], Any], params: Any) -> None:
        try:
            result = handler(params)
        except RequestRefused as error:
            self._refuse(number, error.code, str(error))
        except Exception as error:
            self.report(error)
            if number is not None:
                self._refuse(number, lsp.ErrorCodes.InternalError, f"{type(error).__name__}: {error}")
        else:
            if number is not None:
                self._respond(number, result)

    def report(self, error: Exception) -> None:
        """Write a failure of the server to the logs of server and editor."""
        _LOG.error("%s", error, exc_info=error)
        self.notify(lsp.WINDOW_LOG_MESSAGE, lsp.LogMessageParams(lsp.MessageType.Error, f"tileir: {error}"))


def member(value: object, *names: str) -> Any:
    """A member of nested JSON objects; None if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def greet(client: Client, token: str) -> bool:
    """Whether an editor begins with an `initialize` that has the token; otherwise send it an error."""
    body = MessageReader(client.read, _LONGEST_MESSAGE).message()
    try:
        message = json.loads(body or b"")
    except (ValueError, RecursionError):
        return False
    is_first = member(message, "method") == lsp.INITIALIZE
    if is_first and is_token(member(message, "params", "initializationOptions", "token"), token):
        return True
    reason = '\'initialize\' needs "token": ".." in its initializationOptions, as the server has printed it'
    number = member(message, "id")
    number = number if isinstance(number, (int, str)) else None
    error = {"code": lsp.ErrorCodes.InvalidRequest.value, "message": reason}
    client.connection.sendall(frame(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()))
    return False
