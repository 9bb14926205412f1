"""The launches of a script by number, up to a requested one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tileir.bridge.launch import launch


class LaunchReached(SystemExit):
    """Ends the script at the requested launch, as `sys.exit()` does: without a traceback, in every thread."""


class LaunchCounter:
    """Watches a script: numbers its launches from 1, shows each to a function, and runs those before the last one.

    The script ends at the last one, which does not run; with 0, all run.  A script may catch `LaunchReached`, or launch
    in several threads: its later launches do not run, and the function does not see them.
    """

    def __init__(self, last: int, see: Callable[[int, Any, Any, Any], None]) -> None:
        self._last: int = last
        self._see: Callable[[int, Any, Any, Any], None] = see
        self._is_reached: bool = False
        self._lock: threading.Lock = threading.Lock()
        self.count: int = 0

    def launch(self, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
        with self._lock:
            if self._is_reached:
                raise LaunchReached
            self.count += 1
            self._see(self.count, kernel, grid, args)
            self._is_reached = self.count == self._last
            if self._is_reached:
                raise LaunchReached
        launch(kernel, grid, args, **options)
