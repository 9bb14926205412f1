"""Messages of the debug adapter protocol and of the language server protocol: a header with the length, then JSON.

A web page can make a browser connect to a port of its machine and choose most of what is sent.  So the header is
strict: every line is one that the protocols define, at most once and of limited length.  Any other raises `BadFrame`,
which ends the connection, and nothing after it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_LONGEST_LINE: Final = 256
_FIELD: Final = re.compile(rb"(content-length|content-type):[ \t]*([!-~](?:[ -~]*[!-~])?)", re.IGNORECASE)
_LENGTH: Final = re.compile(rb"[0-9]{1,12}")
_END: Final = b"\r\n"


class BadFrame(Exception):
    """The header of a message is malformed, or the message is too long."""


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class MessageReader:
    """Takes the bodies of messages out of bytes as they arrive.

    `read` returns at most so many bytes, and none at the end of the stream.
    """

    def __init__(self, read: Callable[[int], bytes], longest: int) -> None:
        """`longest` is the most bytes that a message may have."""
        self._read: Callable[[int], bytes] = read
        self._longest: int = longest
        self.rest: bytes = b""
        """What arrived after the last message."""

    def message(self) -> bytes | None:
        """Return the next body; None at the end of the stream."""
        length = self._header()
        if length is None:
            return None
        parts, missing = [self.rest], length - len(self.rest)
        while missing > 0:
            part = self._read(min(missing, 1 << 20))
            if not part:
                return None
            parts.append(part)
            missing -= len(part)
        data = b"".join(parts)
        self.rest = data[length:]
        return data[:length]

    def _header(self) -> int | None:
        fields: dict[bytes, bytes] = {}
        while line := self._line():
            found = _FIELD.fullmatch(line)
            if found is None:
                raise BadFrame("a line of the header is malformed")
            name = found[1].lower()
            if name in fields:
                raise BadFrame("a line of the header is repeated")
            fields[name] = found[2]
        if line is None:
            return None
        length = fields.get(b"content-length")
        if length is None:
            raise BadFrame("the header has no Content-Length")
        if not _LENGTH.fullmatch(length):
            raise BadFrame("the Content-Length is no number")
        if int(length) > self._longest:
            raise BadFrame(f"a message of {int(length)} bytes is longer than {self._longest}, the most that is read")
        return int(length)

    def _line(self) -> bytes | None:
        """Return a line without its end; None at the end of the stream."""
        while (end := self.rest.find(_END)) < 0 and len(self.rest) <= _LONGEST_LINE:
            part = self._read(1 << 16)
            if not part:
                return None
            self.rest += part
        if not 0 <= end <= _LONGEST_LINE:
            raise BadFrame("a line of the header is too long")
        line, self.rest = self.rest[:end], self.rest[end + len(_END) :]
        return line
