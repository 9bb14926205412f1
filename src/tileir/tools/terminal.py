"""What a terminal shows: colors, and a line of progress."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable

from tileir.ir.diagnostics import Diagnostic, location_prefix, quoted_line

PLAIN = "\033[0m"
BOLD = "\033[1m"
CYAN = "\033[36m"
_GREEN = "\033[1;32m"
_SEVERITIES = {"error": "\033[1;31m", "warning": "\033[1;35m", "remark": "\033[1;34m", "note": "\033[1;36m"}
_OUTCOMES = {
    "title": BOLD,
    "passed": "\033[32m",
    "failed": "\033[1;31m",
    "crashed": "\033[1;31m",
    "timeout": "\033[1;35m",
    "memory": "\033[1;35m",
    "forbidden": "\033[1;35m",
    "refused": "\033[33m",
    "skipped": "\033[2m",
}


def painted(diagnostic: Diagnostic, file: str = "") -> str:
    """What `Diagnostic.render` returns, in the colors of clang; `file` is the file of what has no position.

    The text has gone through `tileir.ir.quoting` before: every escape sequence in the output comes from here.
    """
    place = location_prefix(diagnostic.location) or (f"{file}: " if file else "")
    severity = diagnostic.severity
    # Notes are less than what they belong to.
    message = diagnostic.shown_message if severity == "note" else in_color(BOLD, diagnostic.shown_message)
    parts = [f"{in_color(BOLD, place)}{_SEVERITIES.get(severity, BOLD)}{severity}:{PLAIN} {message}"]
    quoted = quoted_line(diagnostic.location)
    if quoted is not None:
        caret = quoted[1]
        parts.append(f"{quoted[0]}\n{caret[:-1]}{_GREEN}{caret[-1]}{PLAIN}")
    parts.extend([painted(note) for note in diagnostic.notes])
    return "\n".join(parts)


def in_color(color: str, text: str) -> str:
    """A text in a color that ends with each line, so that a pager may begin with any of them."""
    return "\n".join([f"{color}{line}{PLAIN}" if line else "" for line in text.split("\n")])


def in_outcome(text: str, outcome: str) -> str:
    """A text in the color of the outcome of a program; in bold for a `title`."""
    color = _OUTCOMES.get(outcome, "")
    return in_color(color, text) if color else text


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
