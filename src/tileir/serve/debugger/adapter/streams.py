"""Streams of a process that debugs: those of the protocol apart from those of the program that is debugged."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Final

from tileir.serve.debugger.adapter.wire import Wire

_PATIENCE: Final = 5.0
"""Seconds in which the last words of a program are waited for: a process that it has left behind may hold its
streams."""


def standard_wire(*, is_greeted: bool = False) -> Wire:
    """The wire on standard input and output, which from here on belong to nobody else: what is printed goes to standard
    error, and there is nothing to read."""
    source = os.dup(0)
    target = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Wire(lambda size: os.read(source, size), target, is_greeted=is_greeted)


class Captured:
    """Standard output and error of this process, and of those it starts, handed to a function as they are written."""

    def __init__(self, tell: Callable[[str, str], object]) -> None:
        """`tell` is given the name of the stream and what was written."""
        self._tell: Callable[[str, str], object] = tell
        self._readers: list[threading.Thread] = []
        self._before: list[tuple[int, int]] = []
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = getattr(sys, name)
            stream.flush()
            if hasattr(stream, "reconfigure"):
                # In order with what the debugger says.
                stream.reconfigure(line_buffering=True)
            source, target = os.pipe()
            self._before.append((number, os.dup(number)))
            os.dup2(target, number)
            os.close(target)
            reader = threading.Thread(target=self._read, args=(source, name), daemon=True)
            reader.start()
            self._readers.append(reader)

    def _read(self, source: int, name: str) -> None:
        import codecs

        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            data = os.read(source, 1 << 16)
            text = decoder.decode(data, final=not data)
            if text:
                self._tell(name, text)
            if not data:
                os.close(source)
                return

    def end(self) -> None:
        """As it was before; everything that was written has been handed over."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        for number, before in self._before:
            os.dup2(before, number)
            os.close(before)
        for reader in self._readers:
            reader.join(_PATIENCE)
