"""Breakpoints as they were typed: a later launch of a script has them, too."""

from __future__ import annotations

from typing import Literal

from tileir.serve.debugger.breakpoints import AccessKind, Breakpoint
from tileir.serve.debugger.session import Debugger


class Order:
    """`what` is a file with a `line`, the name of an operation or a value, a tile block, or what changes."""

    def __init__(self, kind: Literal["line", "operation", "block", "change"], what: str, line: int = 0) -> None:
        self.kind: Literal["line", "operation", "block", "change"] = kind
        self.what: str = what
        self.line: int = line
        self.condition: str = ""
        self.block: str = ""
        self.log: str = ""
        self.temporary: bool = False
        self.access: AccessKind = "write"
        """Of what changes: what is watched for."""

    def put(self, debugger: Debugger) -> Breakpoint:
        """Place it in a launch."""
        breakpoints = debugger.breakpoints
        block = self.block or None
        if self.kind == "block":
            return breakpoints.add_block(self.what, condition=self.condition, log=self.log, temporary=self.temporary)
        if self.kind == "line":
            return breakpoints.add_line(
                self.what, self.line, condition=self.condition, log=self.log, block=block, temporary=self.temporary
            )
        if self.kind == "operation":
            return breakpoints.add_operation(
                self.what, condition=self.condition, log=self.log, block=block, temporary=self.temporary
            )
        return breakpoints.add_change(
            self.what,
            condition=self.condition,
            log=self.log,
            block=block,
            temporary=self.temporary,
            access=self.access,
        )
