"""What goes wrong when a program is launched or runs."""

from __future__ import annotations

from tileir.execute.places import notes_of, place_of
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, TileIRError, note, source_of
from tileir.ir.location import UNKNOWN

BlockId = tuple[int, int, int]


class LaunchError(TileIRError):
    """A launch cannot be made as asked; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])
        self.message: str = message


class NestsTooDeep(LaunchError):
    """Walking a program went beyond Python's recursion limit."""

    def __init__(self) -> None:
        super().__init__(
            "the program nests deeper than Python allows: raise sys.setrecursionlimit, or flatten its regions"
        )


class MissingDependency(LaunchError):
    """An optional dependency is not installed; the message has the line that installs it."""


class ExecutionError(TileIRError):
    """A tile block did what it must not; carries the operation and the block."""

    def __init__(self, message: str, operation: Operation, block: BlockId | None = None) -> None:
        location, notes = place_of(operation.location), notes_of(operation.location)
        if block is not None:
            notes.append(note(f"in tile block ({block[0]}, {block[1]}, {block[2]})", UNKNOWN))
        # Where the source is at hand, its line is shown anyway.
        if not operation.regions and source_of(location) is None:
            notes.append(note(f"the operation is: {operation.text()}", UNKNOWN))
        super().__init__([Diagnostic("error", f"'{operation.name}' op {message}", location, notes)])
        self.message: str = message
        self.operation: Operation = operation
        self.block: BlockId | None = block


class AssertionFailure(ExecutionError):
    """An `assert` of the program does not hold; the tile block, and with it the launch, stops there."""
