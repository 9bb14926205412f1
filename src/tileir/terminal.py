"""What a terminal shows: colors, and a line of progress."""

from __future__ import annotations

import os
import sys
import time

from tileir.annotations import TYPE_CHECKING, Callable, Iterable, Iterator

if TYPE_CHECKING:
    from typing import TextIO, TypeVar

    _Item = TypeVar("_Item")

_PLAIN = "\033[0m"
_COLORS = {
    "title": "\033[1m",
    "code": "\033[36m",
    # Severities of diagnostics and their caret, in the colors of clang and rustc.
    "error": "\033[1;31m",
    "warning": "\033[1;35m",
    "remark": "\033[1;34m",
    "note": "\033[1;36m",
    "help": "\033[1;36m",
    "gutter": "\033[1;34m",
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


def wants_color(stream: TextIO) -> bool:
    """Colors are for people at a terminal who did not refuse them (no-color.org), and for those who insist."""
    environment = os.environ
    if environment.get("NO_COLOR"):
        return False
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        if environment.get(name, "0") not in ("", "0"):
            return True
    return environment.get("TERM") != "dumb" and environment.get("CLICOLOR") != "0" and stream.isatty()


def paint(text: str, kind: str) -> str:
    """A text in the color of what it is; the color ends with each line, so that a pager may begin with any of them.

    The text has gone through `tileir.ir.quoting` before: every escape sequence in the output comes from here.
    """
    color = _COLORS.get(kind)
    if color is None:
        return text
    return "\n".join([f"{color}{line}{_PLAIN}" if line else "" for line in text.split("\n")])


class Progress:
    """How far some work is, on standard error: one line that changes on a terminal, a line at intervals elsewhere.

    `after` is the seconds of silence at first, `every` those between lines that stay; with 0 there are none.
    """

    def __init__(self, *, is_quiet: bool = False, after: float = 0.0, every: float = 0.0, prefix: str = "") -> None:
        self.is_quiet: bool = is_quiet
        self.is_terminal: bool = sys.stderr.isatty()
        self.start: float = time.monotonic()
        self._pause: float = 0.1 if self.is_terminal else every
        self._next: float = self.start + (after if self.is_terminal else every)
        self._prefix: str = "" if self.is_terminal else prefix
        self._is_shown: bool = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        # Also after a failure: its message begins on a line of its own.
        self.clear()

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

    def step(self, line: str) -> None:
        """Show on a terminal what begins now and may take a while."""
        if self.is_terminal and not self.is_quiet:
            self.write(line)

    def write(self, line: str) -> None:
        """Show a line in any case."""
        if self.is_terminal:
            # Imported here: it takes long, and most commands show no progress.
            import shutil

            self._is_shown = True
            sys.stderr.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        else:
            sys.stderr.write(f"{self._prefix}{line}\n")
        sys.stderr.flush()

    def clear(self, end: str = "\r\x1b[K") -> bool:
        """Remove the line that changes, or with a line break as `end` leave it; whether it was there."""
        was_shown, self._is_shown = self._is_shown, False
        if was_shown:
            sys.stderr.write(end)
            sys.stderr.flush()
        return was_shown


def launch_bar(progress: Progress) -> Callable[[int, int], None] | None:
    """What shows a bar for a launch that takes a while; None where there is no terminal."""

    def line(done: int, count: int) -> str:
        filled = 30 * done // count
        # The first tile block waits for the compiler.
        left = f", {progress.seconds * (count - done) / done:.0f} s left" if done else ""
        return f"[{'#' * filled}{'.' * (30 - filled)}] {done} of {count} tile blocks{left}"

    def show(done: int, count: int) -> None:
        if done < count:
            progress.show(lambda: line(done, count))

    return show if progress.is_terminal else None


def tracked(items: Iterable[_Item], total: int, noun: str, *, is_quiet: bool = False) -> Iterator[_Item]:
    """Yield the items; on a terminal, show how many of them are done if that takes a while."""
    with Progress(is_quiet=is_quiet, after=0.5) as progress:
        for number, item in enumerate(items, 1):
            # What is done with the item may print.
            was_shown = progress.clear()
            yield item
            line = f"{number:,} of {total:,} {noun}"
            if was_shown:
                progress.write(line)
            else:
                progress.show(line.__str__)
