"""What goes wrong when a program is launched or runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tileir.execute.places import notes_of, place_of
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, TileIRError, note, source_of
from tileir.ir.location import UNKNOWN

BlockId = tuple[int, int, int]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


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


class InternalError(TileIRError):
    """A mistake of tileir's own, which the exception that caused this tells."""

    def __init__(self, error: Exception) -> None:
        words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        super().__init__(
            [Diagnostic("error", f"internal error in tileir ({words}): please report it with the program", UNKNOWN)]
        )


def converted(error: Exception) -> TileIRError:
    """What a launch ends in where its code raises something that no user should see."""
    if isinstance(error, TileIRError):
        return error
    if isinstance(error, RecursionError):
        return NestsTooDeep()
    if isinstance(error, MemoryError):
        return LaunchError("the launch takes more memory than there is")
    return InternalError(error)


class Callbacks:
    """Functions of the caller's, and what they raised: that reaches the caller as it is."""

    def __init__(self) -> None:
        self.raised: list[BaseException] = []

    def noted(self, function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        def call(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
            try:
                return function(*arguments, **options)
            except BaseException as error:
                self.raised.append(error)
                raise

        return call


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
