"""Messages of the protocol on a pair of streams: a header with the length, then JSON.

What is no message does not end the conversation: `Wire.read` gives a `Malformed`, which says why, and the next read
begins behind it.
"""

from __future__ import annotations

import json
import re
import threading
from typing import Final, Protocol

from tileir.ir.quoting import type_words

Message = dict[str, object]

LONGEST: Final = 1 << 26
"""Bytes of a message that is read; longer ones are passed over."""
_LONGEST_LINE: Final = 1 << 12
_LENGTH: Final = b"content-length:"
# A page in a browser can send what it likes to a port of this machine, but only so.
_BROWSER: Final = re.compile(rb"[A-Z]+ .* HTTP/\d")


class Source(Protocol):
    """A stream of bytes that is read."""

    def read(self, size: int, /) -> bytes: ...

    def readline(self, size: int, /) -> bytes: ...


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

    def __init__(self, source: Source, target: Target) -> None:
        self._source: Source = source
        self._target: Target = target
        self._lock: threading.Lock = threading.Lock()
        self._sequence: int = 0

    def read(self) -> Message | Malformed | None:
        """The next message; None at the end of the stream."""
        try:
            length = self._length()
            if length is None or isinstance(length, Malformed):
                return length
            if length > LONGEST:
                self._pass_over(length)
                return Malformed(f"a message of {length} bytes is longer than {LONGEST}, the most that is read")
            body = self._source.read(length)
        except (OSError, ValueError):
            # The other side has gone.
            return None
        if len(body) < length:
            return None
        try:
            found: object = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            return Malformed(f"a message is not JSON: {error}")
        if not isinstance(found, dict):
            return Malformed(f"a message is a JSON object, not {type_words(found)}")
        return found

    def _length(self) -> int | Malformed | None:
        """What the header says; lines that are no header are passed over up to one that gives a length."""
        length: int | None = None
        while True:
            line = self._source.readline(_LONGEST_LINE)
            if not line:
                return None
            stripped = line.strip()
            if not stripped:
                if length is not None:
                    return length
                continue
            if _BROWSER.match(stripped):
                return None
            if stripped.lower().startswith(_LENGTH):
                text = stripped[len(_LENGTH) :].strip()
                if not text.isdigit() or len(text) > 18:
                    return Malformed(f"'{text.decode('ascii', 'replace')}' is no length of a message")
                length = int(text)

    def _pass_over(self, length: int) -> None:
        while length > 0:
            read = len(self._source.read(min(length, 1 << 20)))
            if not read:
                return
            length -= read

    def write(self, message: Message) -> bool:
        """Number a message and send it; False if nobody listens any more."""
        with self._lock:
            self._sequence += 1
            numbered: Message = {"seq": self._sequence, **message}
            body = json.dumps(numbered, allow_nan=False, separators=(",", ":")).encode("ascii")
            try:
                self._target.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
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


def _answer(request: Message, success: bool) -> Message:
    sequence, command = request.get("seq"), request.get("command")
    return {
        "type": "response",
        "request_seq": sequence if isinstance(sequence, int) else 0,
        "success": success,
        "command": command if isinstance(command, str) else "",
    }
