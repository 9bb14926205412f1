"""JSON-RPC between a server and one editor: messages in their frames, handled in the order in which they come.

A thread reads, so that the waiting messages are known: a request that is canceled while it waits is not computed, and
diagnostics of a text wait for the edits of it that have already come.
"""

from __future__ import annotations

import gc
import json
import logging
import queue
import threading
from collections.abc import Callable, Generator
from typing import Any

from lsprotocol import converters
from lsprotocol import types as lsp

from tileir.collector import CollectorPaused
from tileir.serve.addresses import Client, is_token
from tileir.serve.framing import BadFrame, MessageReader, frame

_LOG = logging.getLogger(__name__)
# The most bytes that a message may have.
_LONGEST_MESSAGE = 1 << 30
# An edit replaces a whole function.  So many new objects are collected when the editor has sent nothing for half a
# second, so many more at once.
_MUCH_GARBAGE = 500_000
_MOST_GARBAGE = 5_000_000
_PAUSE = 0.5

EXIT_FINE = 0
EXIT_LOST = 1


class RequestRefused(Exception):
    """A request that is answered with an error: a sentence, which editors show."""

    def __init__(self, message: str, code: int = lsp.LSPErrorCodes.RequestFailed.value) -> None:
        super().__init__(message)
        self.code = code


class Connection:
    """Reads and writes until one of the two sides ends it; a server derives from it.

    `handlers` has a function for each method.  It gets the parameters as `lsprotocol` has them; as plain JSON if its
    method is one of `untyped`.  `work` is done step by step while no message waits, the first first.

    `read` returns at most so many bytes, none at the end; `write` takes all that it is given.  Neither buffers: Python
    cannot end a process in which a thread still waits for a buffered stream.
    """

    handlers: dict[str, Callable[[Any], Any]]
    untyped: frozenset[str]

    def __init__(self, read: Callable[[int], bytes], write: Callable[[bytes], object]) -> None:
        self.work: dict[str, Generator[None, None, None]] = {}
        self._reader = MessageReader(read, _LONGEST_MESSAGE)
        self._write = write
        self._converter = converters.get_converter()
        # What came: a message, a call from another thread, or None at the end.
        self._arrived: queue.SimpleQueue[bytes | Callable[[], object] | None] = queue.SimpleQueue()
        self._waiting: list[dict[str, Any] | Callable[[], object]] = []
        self._answers: dict[int, Callable[[Any], object]] = {}
        self._requests = 0
        self._is_initialized = self._is_shut_down = self._is_ended = self._is_lost = False

    def run(self) -> int:
        """Serve until the end; the exit status of a server process."""
        threading.Thread(target=self._read, daemon=True).start()
        with CollectorPaused():
            while not self._is_lost:
                self._receive()
                if self._waiting:
                    message = self._waiting.pop(0)
                    if not isinstance(message, dict):
                        self._attempt(message)
                    elif message.get("method") == lsp.EXIT:
                        return EXIT_FINE if self._is_shut_down else EXIT_LOST
                    else:
                        self._handle(message)
                elif self._is_ended:
                    break
                else:
                    self._attempt(self.work_on)
        return EXIT_LOST

    def post(self, call: Callable[[], object]) -> None:
        """Queue a call for the connection, from another thread."""
        self._arrived.put(call)

    def work_on(self) -> None:
        """Take one step of the first work; it is the last then."""
        key = next(iter(self.work))
        steps = self.work.pop(key)
        for _ in steps:
            self.work[key] = steps
            return

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: object, answer: Callable[[Any], object] = lambda result: None) -> None:
        """Send a request; `answer` gets its result as plain JSON, if there is one."""
        self._requests += 1
        self._answers[self._requests] = answer
        self._send({"id": self._requests, "method": method, "params": params})

    def _refuse(self, number: object, code: int, message: str) -> None:
        self._send({"id": number, "error": {"code": int(code), "message": message}})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **self._converter.unstructure(message)}).encode("ascii")
        try:
            self._write(frame(body))
        except (OSError, ValueError):
            # The editor is gone.
            self._is_lost = True

    def _read(self) -> None:
        try:
            while (body := self._reader.message()) is not None:
                self._arrived.put(body)
        except (OSError, ValueError, BadFrame) as error:
            _LOG.warning("the connection ends: %s", error)
        self._arrived.put(None)

    def _receive(self) -> None:
        """Take the messages that have come; wait for one if there is nothing to do."""
        while not self._is_ended:
            is_idle = not (self._waiting or self.work)
            new, kept, _ = gc.get_count()
            if new > _MOST_GARBAGE:
                gc.collect()
            try:
                body = self._arrived.get(is_idle, _PAUSE if kept or new > _MUCH_GARBAGE else None)
            except queue.Empty:
                if not is_idle:
                    return
                gc.collect()
                continue
            if isinstance(body, bytes):
                self._enqueue(body)
            elif body is not None:
                self._waiting.append(body)
            else:
                self._is_ended = True

    def _enqueue(self, body: bytes) -> None:
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            self._refuse(None, lsp.ErrorCodes.ParseError, f"not a message: {error}")
            return
        if not isinstance(message, dict):
            self._refuse(None, lsp.ErrorCodes.InvalidRequest, "a message is an object")
        elif message.get("method") == lsp.CANCEL_REQUEST:
            self._cancel(member(message, "params", "id"))
        else:
            self._waiting.append(message)

    def _cancel(self, number: object) -> None:
        for message in self._waiting:
            if number is not None and member(message, "id") == number and member(message, "method") is not None:
                self._waiting.remove(message)
                self._refuse(number, lsp.LSPErrorCodes.RequestCancelled, "cancelled")
                return

    def _handle(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None:
            answer = self._answers.pop(number, None) if isinstance(number, int) else None
            if answer is not None and "result" in message:
                self._attempt(lambda: answer(message["result"]))
        elif number is None:
            self._attempt(lambda: self._result(str(method), message.get("params")))
        else:
            self._attempt(
                lambda: self._send({"id": number, "result": self._result(str(method), message.get("params"))}), number
            )

    def _attempt(self, call: Callable[[], object], number: object = None) -> None:
        """Make a call; if it fails, answer the request `number` with an error, and write the error to the logs."""
        try:
            call()
        except RequestRefused as error:
            if number is not None:
                self._refuse(number, error.code, str(error))
        except Exception as error:
            if number is not None:
                self._refuse(number, lsp.ErrorCodes.InternalError, f"{type(error).__name__}: {error}")
            _LOG.error("%s", error, exc_info=error)
            self.notify(lsp.WINDOW_LOG_MESSAGE, lsp.LogMessageParams(lsp.MessageType.Error, f"tileir: {error}"))

    def _result(self, method: str, params: Any) -> Any:
        codes = lsp.ErrorCodes
        if self._is_shut_down:
            raise RequestRefused("the server is shutting down", codes.InvalidRequest)
        if self._is_initialized == (method == lsp.INITIALIZE):
            if self._is_initialized:
                raise RequestRefused("initialized already", codes.InvalidRequest)
            raise RequestRefused("not initialized yet", codes.ServerNotInitialized)
        self._is_initialized = True
        if method == lsp.SHUTDOWN:
            self._is_shut_down = True
            return None
        handler = self.handlers.get(method)
        if handler is None:
            raise RequestRefused(f"there is no method '{method}'", codes.MethodNotFound)
        if method not in self.untyped:
            kind: Any = lsp.METHOD_TO_TYPES[method][2]
            try:
                params = self._converter.structure(params, kind)
            except Exception as error:
                raise RequestRefused(f"cannot read the parameters: {error}", codes.InvalidParams) from None
        return handler(params)


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
