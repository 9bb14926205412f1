"""What a terminal shows: colors, and a line of progress."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable

_PLAIN = "\033[0m"
_COLORS = {
    "title": "\033[1m",
    "code": "\033[36m",
    # Severities of diagnostics and their caret, in the colors of clang.
    "error": "\033[1;31m",
    "warning": "\033[1;35m",
    "remark": "\033[1;34m",
    "note": "\033[1;36m",
    "caret": "\033[1;32m",
    # Outcomes of programs that are judged.
    "passed": "\033[32m",
    "failed": "\033[1;31m",
    "crashed": "\033[1;31m",
    "timeout": "\033[1;35m",
    "memory": "\033[1;35m",
    "forbidden": "\033[1;35m",
    "refused": "\033[33m",
    "skipped": "\033[2m",
}


def paint(text: str, kind: str) -> str:
    """A text in the color of what it is; the color ends with each line, so that a pager may begin with any of them.

    The text has gone through `tileir.ir.quoting` before: every escape sequence in the output comes from here.
    """
    color = _COLORS.get(kind)
    if color is None:
        return text
    return "\n".join([f"{color}{line}{_PLAIN}" if line else "" for line in text.split("\n")])


class Progress:
    """How far some work is, on standard error: one line that changes on a terminal, a line now and then elsewhere.

    `after` is the seconds of silence at first, `every` those between lines that stay; with 0 there are none.
    """

    def __init__(self, *, is_quiet: bool = False, after: float = 0.0, every: float = 30.0, prefix: str = "") -> None:
        self.is_quiet: bool = is_quiet
        self.is_terminal: bool = sys.stderr.isatty()
        self.start: float = time.monotonic()
        self._pause: float = 0.1 if self.is_terminal else every
        self._next: float = self.start + (after if self.is_terminal else every)
        self._prefix: str = "" if self.is_terminal else prefix
        self._is_shown: bool = False

    @property
    def seconds(self) -> float:
        """The time since the work began."""
        return time.monotonic() - self.start

    def show(self, line: Callable[[], str]) -> None:
        """Show a line, if it is time to."""
        now = time.monotonic()
        if not self.is_quiet and self._pause and now >= self._next:
            self._next = now + self._pause
            self.write(line())

    def write(self, line: str) -> None:
        """Show a line in any case."""
        if self.is_terminal:
            self._is_shown = True
            sys.stderr.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        else:
            sys.stderr.write(f"{self._prefix}{line}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line that changes away."""
        if self._is_shown:
            self._is_shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def keep(self) -> None:
        """Leave the line that changes where it is, and begin a new one."""
        if self._is_shown:
            self._is_shown = False
            sys.stderr.write("\n")
