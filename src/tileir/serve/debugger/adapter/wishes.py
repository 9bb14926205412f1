"""Breakpoints as a client asks for them.  They outlive launches: each new launch has them placed in it."""

from __future__ import annotations

from typing import Literal

from tileir.serve.debugger.breakpoints import AccessKind, Breakpoint
from tileir.serve.debugger.lines import SourcePlace
from tileir.serve.debugger.moments import Event
from tileir.serve.debugger.session import Debugger

Kind = Literal["line", "function", "instruction", "data"]


class Wish:
    """One breakpoint that was asked for, and where it is in the launch under way."""

    def __init__(
        self,
        number: int,
        kind: Kind,
        what: str,
        file: str,
        line: int,
        *,
        condition: str,
        hit_condition: str,
        log: str,
    ) -> None:
        self.number: int = number
        self.kind: Kind = kind
        self.what: str = what
        self.file: str = file
        self.line: int = line
        self.condition: str = condition
        self.hit_condition: str = hit_condition
        self.log: str = log
        self.column: int = 0
        """Of a line, the column that was asked for; 0 for none."""
        self.access: AccessKind = "write"
        """Of data, what is watched for."""
        self.placed: Breakpoint | None = None

    @property
    def is_verified(self) -> bool:
        return self.placed is not None and self.placed.is_verified

    @property
    def message(self) -> str:
        return self.placed.message if self.placed is not None else "placed when a kernel is launched"

    @property
    def place(self) -> SourcePlace | None:
        return self.placed.place if self.placed is not None else None

    def put(self, debugger: Debugger) -> None:
        """Place it in a launch."""
        breakpoints = debugger.breakpoints
        condition, hits, log = self.condition, self.hit_condition, self.log
        if self.kind == "line":
            self.placed = breakpoints.add_line(
                self.file, self.line, column=self.column, condition=condition, hit_condition=hits, log=log
            )
            return
        what: str | int = self.what
        if self.kind == "instruction":
            what = int(self.what, 16)
        elif self.what.removeprefix("@") == debugger.name:
            # Where the kernel begins, in every tile block.
            what = 0
        if self.kind == "data":
            self.placed = breakpoints.add_change(
                self.what, condition=condition, hit_condition=hits, log=log, access=self.access
            )
        elif self.what.startswith("block "):
            block = self.what.removeprefix("block ")
            self.placed = breakpoints.add_block(block, condition=condition, hit_condition=hits, log=log)
        else:
            self.placed = breakpoints.add_operation(what, condition=condition, hit_condition=hits, log=log)


class Wishes:
    """All that a client has asked for."""

    def __init__(self) -> None:
        self._last: int = 0
        self._known: dict[tuple[Kind, str], list[Wish]] = {}
        self.stop_on: set[Event] = {"failure"}

    def new_number(self) -> int:
        self._last += 1
        return self._last

    def all(self) -> list[Wish]:
        return [wish for wishes in self._known.values() for wish in wishes]

    def replace(self, kind: Kind, file: str, wishes: list[Wish], debugger: Debugger | None) -> None:
        for old in self._known.get((kind, file), []):
            if debugger is not None and old.placed is not None:
                debugger.breakpoints.remove(old.placed.number)
        self._known[(kind, file)] = wishes
        if debugger is not None:
            for wish in wishes:
                wish.put(debugger)

    def put(self, debugger: Debugger) -> None:
        """Place everything in a new launch."""
        debugger.stop_on = set(self.stop_on)
        for wish in self.all():
            wish.put(debugger)

    def numbers(self, placed: tuple[int, ...]) -> list[int]:
        """The breakpoints of the client that those of the launch are."""
        return [wish.number for wish in self.all() if wish.placed is not None and wish.placed.number in placed]

    def kinds(self, placed: tuple[int, ...]) -> set[Kind]:
        return {wish.kind for wish in self.all() if wish.placed is not None and wish.placed.number in placed}
