"""Messages of the protocol on a pair of streams.

A body that is no message does not end the conversation: `Wire.read` returns a `Malformed`, which says why, and the next
read begins behind it.  A malformed header does.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Final, Protocol

from tileir.ir.quoting import type_text
from tileir.serve.framing import BadFrame, MessageReader, frame

Message = dict[str, object]

LONGEST: Final = 1 << 26
"""The most bytes that a message may have."""


class Target(Protocol):
    """A stream of bytes that is written."""

    def write(self, data: bytes, /) -> object: ...

    def flush(self) -> object: ...


class Malformed:
    """Bytes that are no message."""

    def __init__(self, why: str) -> None:
        self.why: str = why


class Wire:
    """Reads messages on one thread and writes them from any."""

    def __init__(self, read: Callable[[int], bytes], target: Target, *, is_greeted: bool = False) -> None:
        """`read` returns at most so many bytes, and none at the end of the stream.

        `is_greeted` says that the client's `initialize`, which is read again, has its response (`greeting.py`).
        """
        self._reader: MessageReader = MessageReader(read, LONGEST)
        self._target: Target = target
        self._lock: threading.Lock = threading.Lock()
        self._is_greeted: bool = is_greeted
        self._sequence: int = 1 if is_greeted else 0

    def read(self) -> Message | Malformed | None:
        """The next message; None where the conversation ends."""
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
        """Number a message and send it; False if nobody listens any more."""
        with self._lock:
            if self._is_greeted and message["type"] == "response" and message["command"] == "initialize":
                self._is_greeted = False
                return True
            self._sequence += 1
            numbered: Message = {"seq": self._sequence, **message}
            body = json.dumps(numbered, allow_nan=False, separators=(",", ":")).encode("ascii")
            try:
                self._target.write(frame(body))
                self._target.flush()
            except (OSError, ValueError):
                return False
        return True

    def event(self, name: str, **body: object) -> bool:
        """Tell the client something it did not ask for; what is None is left out."""
        told: Message = {"type": "event", "event": name}
        found = {key: value for key, value in body.items() if value is not None}
        if found:
            told["body"] = found
        return self.write(told)

    def respond(self, request: Message, body: Message | None = None) -> bool:
        answer = _answer(request, True)
        if body is not None:
            answer["body"] = body
        return self.write(answer)

    def refuse(self, request: Message, words: str, short: str = "") -> bool:
        """Answer with what is wrong, in words for a person; `short` is for the client itself."""
        answer = _answer(request, False)
        answer["message"] = short or words.partition("\n")[0]
        # Words go through a template: a brace in them would be a variable's.
        error = {"id": 1, "format": "{words}", "variables": {"words": words}, "showUser": not short}
        answer["body"] = {"error": error}
        return self.write(answer)


def parsed(body: bytes) -> Message | Malformed:
    try:
        found: object = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return Malformed(f"a message is not JSON: {error}")
    if not isinstance(found, dict):
        return Malformed(f"a message is a JSON object, not {type_text(found)}")
    return found


def _answer(request: Message, success: bool) -> Message:
    sequence, command = request.get("seq"), request.get("command")
    return {
        "type": "response",
        "request_seq": sequence if isinstance(sequence, int) else 0,
        "success": success,
        "command": command if isinstance(command, str) else "",
    }
