"""Messages on a pair of streams, and requests: the table from names to functions, their arguments, their answers.

A body that is no message does not end the session, which a malformed header does.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, TypeVar

from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import type_text
from tileir.serve.debugger.expressions import BadExpression
from tileir.serve.framing import BadFrame, MessageReader, frame

Message = dict[str, object]
Choice = TypeVar("Choice", bound=str)

LONGEST: Final = 1 << 26  # The most bytes that a message may have.


class Channel:
    """Reads messages on one thread and writes them from any."""

    def __init__(self, read: Callable[[int], bytes], target: BinaryIO, *, is_greeted: bool = False) -> None:
        """`is_greeted`: the client's `initialize`, which is read again, has its response (`editor.greet`)."""
        self._reader, self._target = MessageReader(read, LONGEST), target
        self._lock = threading.Lock()
        self._is_greeted, self._sequence = is_greeted, int(is_greeted)

    def read(self) -> Message | str | None:
        """The next message, or why it is none; None where the session ends."""
        try:
            body = self._reader.message()
        except BadFrame as error:
            self.event("output", category="important", output=f"tileir: {error}: the connection ends\n")
            return None
        except (OSError, ValueError):
            # The other side has gone.
            return None
        return None if body is None else parsed(body)

    def write(self, message: Message) -> bool:
        """Number a message and send it; False if the client has gone."""
        with self._lock:
            if self._is_greeted and message["type"] == "response" and message["command"] == "initialize":
                self._is_greeted = False
                return True
            self._sequence += 1
            body = json.dumps({"seq": self._sequence, **message}, allow_nan=False, separators=(",", ":")).encode(
                "ascii"
            )
            try:
                self._target.write(frame(body))
                self._target.flush()
            except (OSError, ValueError):
                return False
        return True

    def event(self, name: str, **body: object) -> bool:
        """Send an event; what is None in the body is left out."""
        found = {key: value for key, value in body.items() if value is not None}
        return self.write({"type": "event", "event": name, **({"body": found} if found else {})})

    def respond(self, request: Message, body: Message | None = None) -> bool:
        return self._answer(request, True, {} if body is None else {"body": body})

    def refuse(self, request: Message, text: str, short: str = "") -> bool:
        """Answer with an error, for a person; `short` is for the client itself."""
        # The text goes through a template: a brace in it would be a variable's.
        error = {"id": 1, "format": "{words}", "variables": {"words": text}, "showUser": not short}
        return self._answer(request, False, {"message": short or text.partition("\n")[0], "body": {"error": error}})

    def _answer(self, request: Message, success: bool, more: Message) -> bool:
        sequence, command = request.get("seq"), request.get("command")
        answer: Message = {
            "type": "response",
            "request_seq": sequence if isinstance(sequence, int) else 0,
            "success": success,
            "command": command if isinstance(command, str) else "",
        }
        return self.write(answer | more)


def parsed(body: bytes) -> Message | str:
    """A message, or why a body is none."""
    try:
        found: object = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return f"a message is not JSON: {error}"
    if not isinstance(found, dict):
        return f"a message is a JSON object, not {type_text(found)}"
    if found.get("type") == "request" and type(found.get("seq")) is not int:
        return "a request has no number"
    return found if found.get("type") in ("request", "response") else "a message is no request"


class BadRequest(Exception):
    """A request is refused; the message is for a person.  `short` is a word that clients know."""

    def __init__(self, message: str, short: str = "") -> None:
        super().__init__(message)
        self.message, self.short = message, short


class Arguments:
    """The arguments of a request, or an object among them; each is checked when it is read."""

    def __init__(self, given: object, of: str, request: Message | None = None) -> None:
        if not isinstance(given, dict):
            raise BadRequest(f"'{of}' is an object, not {_text(given)}")
        self.given: dict[str, Any] = given
        self._of: str = of
        self.request: Message = request if request is not None else {}

    def has(self, name: str) -> bool:
        return self.given.get(name) is not None

    def _read(self, name: str, default: object, kind: type, expected: str) -> Any:
        value = self.given.get(name)
        value = default if value is None else value
        if not isinstance(value, kind):
            raise self._error(name, expected, value)
        return value

    def text(self, name: str, default: str | None = None) -> str:
        return str(self._read(name, default, str, "a text"))

    def number(self, name: str, default: int | None = None, least: int | None = None) -> int:
        value = self._read(name, default, object, "")
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 1 << 53:
            raise self._error(name, "a whole number", value)
        if least is not None and value < least:
            raise self._error(name, f"a number from {least} on", value)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self._read(name, default, bool, "true or false"))

    def choice(self, name: str, default: Choice, choices: tuple[Choice, ...]) -> Choice:
        value = self.text(name, default)
        for one in choices:
            if one == value:
                return one
        raise self._error(name, " or ".join([one for one in choices if one]), value)

    def texts(self, name: str) -> list[str]:
        value: list[str] = self._read(name, [], list, "a list of texts")
        if not all(isinstance(each, str) for each in value):
            raise self._error(name, "a list of texts", value)
        return value

    def inner(self, name: str) -> Arguments:
        return Arguments(self.given.get(name) or {}, name)

    def objects(self, name: str) -> list[Arguments]:
        return [Arguments(each, name) for each in self._read(name, [], list, "a list")]

    def _error(self, name: str, expected: str, value: object) -> BadRequest:
        return BadRequest(f"'{name}' of {self._of} is {expected}, not {_text(value)}")


def _text(value: object) -> str:
    shown = repr(value) if value is not None else "left out"
    return shown if len(shown) <= 60 else shown[:57] + "..."


@dataclass
class Reply:
    """The body of a response, and what is done when it has been sent."""

    body: Message | None = None
    then: Callable[[], object] | None = None


DEFERRED: Final = Reply()  # The response comes later, from another thread.
Handler = Callable[[Any, Arguments], "Message | Reply | None"]
"""Answers a request, given the session and the arguments."""
REQUESTS: Final[dict[str, Handler]] = {}  # By name; filled by the modules with requests.
# Requests that are about those before them, or must not wait for them.
AT_ONCE: Final = ("pause", "terminate", "disconnect", "cancel")


def request(name: str) -> Callable[[Handler], Handler]:
    """Add the function that follows to the table."""

    def add(handler: Handler) -> Handler:
        REQUESTS[name] = handler
        return handler

    return add


class Dispatcher:
    """Reads the requests of a client on one thread, and answers them in order on another; some at once."""

    def __init__(self, channel: Channel, session: object, gone: Callable[[], None]) -> None:
        """`gone` is called when the client has closed the connection."""
        self._channel, self._session, self._gone = channel, session, gone
        self._waiting: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self.cancelled: set[int] = set()  # The numbers of requests to refuse if their answers have not begun.

    def start(self) -> None:
        threading.Thread(target=self._read, name="tileir debug adapter: reads", daemon=True).start()
        threading.Thread(target=self._work, name="tileir debug adapter: answers", daemon=True).start()

    def _read(self) -> None:
        while (message := self._channel.read()) is not None:
            if isinstance(message, str):
                self._channel.event("output", category="important", output=f"tileir: {message}\n")
            elif message["type"] == "response":
                # This adapter sends no requests, so a response answers nothing.
                continue
            elif message.get("command") in AT_ONCE:
                self._answer(message)
            else:
                self._waiting.put(message)
        self._gone()
        # What has arrived is answered, and nothing more.
        self._waiting.put(None)

    def _work(self) -> None:
        while (message := self._waiting.get()) is not None:
            if message["seq"] in self.cancelled:
                self._channel.refuse(message, "the request was canceled", "cancelled")
            else:
                self._answer(message)

    def _answer(self, message: Message) -> None:
        """Whatever happens, there is one response, and the adapter continues."""
        command, arguments = message.get("command"), message.get("arguments")
        handler = REQUESTS.get(command) if isinstance(command, str) else None
        if handler is None:
            self._channel.refuse(message, f"the debugger of tileir knows no request '{command}'")
            return
        try:
            given = Arguments({} if arguments is None else arguments, f"'{command}'", message)
            reply = handler(self._session, given)
        except BadRequest as error:
            self._channel.refuse(message, error.message, error.short)
        except TileIRError as error:
            self._channel.refuse(message, error.message if isinstance(error, BadExpression) else str(error))
        except Exception as error:
            # A bug of tileir: the session continues.
            text = f"{type(error).__name__}: {error}"
            self._channel.refuse(message, f"the debugger of tileir failed at '{command}' (please report it): {text}")
        else:
            if reply is not DEFERRED:
                reply = reply if isinstance(reply, Reply) else Reply(reply)
                self._channel.respond(message, reply.body)
                if reply.then is not None:
                    reply.then()
