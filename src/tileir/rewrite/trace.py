"""Shows one step of rewriting: the lines of the function that were there before and those that are there after."""

from __future__ import annotations

from tileir.ir.core import Operation
from tileir.ir.declaration import ISOLATED


class Step:
    """Made before a step.  It prints the whole function twice, so tracing is for programs one can read."""

    __slots__ = ("before", "container")

    def __init__(self, operation: Operation) -> None:
        container = operation
        while not container.declaration.traits & ISOLATED:
            around = container.parent_operation
            if around is None:
                break
            container = around
        self.container: Operation = container
        self.before: list[str] = container.text().splitlines()

    def text(self, name: str) -> str:
        """The step by name, then removed lines with a minus and added ones with a plus."""
        import difflib

        after = self.container.text().splitlines()
        changes = difflib.unified_diff(self.before, after, n=0, lineterm="")
        lines = [line for line in changes if not line.startswith(("---", "+++", "@@"))]
        return "\n".join([f"--- {name}", *lines])
