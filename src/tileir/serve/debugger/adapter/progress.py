"""A run that takes long is shown to be under way, and can be paused there."""

from __future__ import annotations

import threading
from typing import Final

from tileir.serve.debugger.adapter.wire import Wire

_SLOW: Final = 1.0
"""Seconds after which a run takes long."""


class Progress:
    """One run after the other."""

    def __init__(self, wire: Wire) -> None:
        self._wire: Wire = wire
        self._lock: threading.Lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._runs: int = 0
        self._is_shown: bool = False

    def begin(self) -> None:
        with self._lock:
            self._runs += 1
            self._timer = threading.Timer(_SLOW, self._show, (self._runs,))
            self._timer.daemon = True
            self._timer.start()

    def _show(self, run: int) -> None:
        with self._lock:
            if run == self._runs and self._timer is not None:
                self._is_shown = True
                name = f"run {run}"
                self._wire.event("progressStart", progressId=name, title="The kernel is running", cancellable=True)

    def end(self) -> None:
        with self._lock:
            if self._timer is None:
                return
            self._timer.cancel()
            self._timer = None
            if self._is_shown:
                self._is_shown = False
                self._wire.event("progressEnd", progressId=f"run {self._runs}")
