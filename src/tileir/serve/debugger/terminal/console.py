"""Lines that a person types: a prompt, completion, history, Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from tileir.serve.debugger.session import Debugger

PROMPT: Final = "(tileir) "
_PATIENCE: Final = 3
"""Times that Ctrl-C is pressed until what does not stop is ended."""


class Console:
    """Where commands come from.  Without a terminal lines are read as they are, and no prompt is shown."""

    def __init__(self, complete: Callable[[str], list[str]]) -> None:
        self._complete: Callable[[str], list[str]] = complete
        self.is_terminal: bool = sys.stdin is not None and sys.stdin.isatty()
        self._found: list[str] = []

    def read(self, prompt: str = PROMPT) -> str | None:
        """The next line; None at the end of the input.  Ctrl-C is a `KeyboardInterrupt`."""
        try:
            if not self.is_terminal:
                line = sys.stdin.readline() if sys.stdin is not None else ""
                return line.rstrip("\n") if line else None
            with self._readline():
                return input(prompt)
        except EOFError:
            return None

    @contextmanager
    def _readline(self) -> Iterator[None]:
        """Completion for as long as a line is read: the script that is debugged may have its own."""
        try:
            import readline
        except ImportError:
            yield
            return
        before, delimiters = readline.get_completer(), readline.get_completer_delims()
        readline.set_completer(self._completed)
        readline.set_completer_delims(" \t\n")
        readline.parse_and_bind("tab: complete")
        try:
            yield
        finally:
            readline.set_completer(before)
            readline.set_completer_delims(delimiters)

    def _completed(self, text: str, number: int) -> str | None:
        import readline

        if number == 0:
            self._found = self._complete(readline.get_line_buffer()[: readline.get_endidx()])
        return self._found[number] if number < len(self._found) else None


@contextmanager
def interruptible(debugger: Debugger) -> Iterator[None]:
    """While a launch runs, Ctrl-C stops it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = 0

    def interrupt(*_: object) -> None:
        nonlocal pressed
        pressed += 1
        if pressed >= _PATIENCE:
            raise KeyboardInterrupt
        debugger.interrupt()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
