"""One launch of a script that makes its launches itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tileir.bridge.launch import launch


class LaunchReached(BaseException):
    """Ends the script at the launch that is explored.  Not an `Exception`: nobody takes it for a failure."""


class LaunchWatcher:
    """Lets the launches of a script run, and hands the one with a number, counted from 1, to a function instead."""

    def __init__(self, wanted: int, found: Callable[[Any, Any, Any], None]) -> None:
        self._wanted = wanted
        self._found = found
        self.count = 0
        """How many launches there were, the wanted one included."""

    def launch(self, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
        self.count += 1
        if self.count != self._wanted:
            launch(kernel, grid, args, **options)
            return
        self._found(kernel, grid, args)
        raise LaunchReached
