"""The terminal of a script: its launches, one after the other."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from types import FrameType

from tileir.serve.debugger.session import Debugger
from tileir.serve.debugger.terminal.terminal import Terminal


class ScriptTerminal:
    """Debugs launches at this terminal; what was typed and is displayed stays from one to the next."""

    def __init__(self, commands: Sequence[str | tuple[str, str]] = (), *, colours: bool = False) -> None:
        self._commands: deque[tuple[str, str]] = deque()
        for one in commands:
            self._commands.append(("ex", one) if isinstance(one, str) else one)
        self._colours: bool = colours
        self._before: Terminal | None = None
        self.batch: bool = False
        """Whether the script goes on when the commands are done, and nobody is asked."""

    @property
    def failed(self) -> bool:
        """Whether a command could not be carried out."""
        return self._before is not None and self._before.shell.failed

    def debug(self, debugger: Debugger, stop_on_entry: bool, caller: FrameType | None) -> str:
        sys.stdout.flush()
        sys.stderr.flush()
        terminal = Terminal(debugger, sys.stdout.write, self._colours, caller=caller, is_of_script=True)
        if self._before is not None:
            terminal.shell.take_over(self._before.shell)
        self._before = terminal
        how = terminal.debug(stop_on_entry, self._commands, batch=self.batch)
        sys.stdout.flush()
        return "detach" if how == "batch" else how
