"""An end for random programs, whose loops need not have one."""

from __future__ import annotations

from typing import Any

import tileir


class Enough(Exception):
    """The program ran long enough."""


class StepLimit(tileir.observers.Observer):
    """Ends a launch after a number of operations."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.steps = 0

    def after(self, operation: Any, block: Any, results: Any) -> None:
        self.steps += 1
        if self.steps > self.most:
            raise Enough
