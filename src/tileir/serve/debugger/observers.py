"""Observers that find where a launch stops: hooks at the operations of breakpoints, and nothing recorded.

`StopObserver` counts steps as a recording does, at the decisions of control flow, so it knows the position of a hook.
While it runs, memory and the values that conditions use are at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tileir.execute.dtypes import Array
from tileir.execute.errors import ExecutionError
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.recording.recorder import Interrupted, Interruption
from tileir.execute.recording.recording import PreparedLaunch
from tileir.execute.sanitizer.report import SanitizerReport
from tileir.ir.core import Operation
from tileir.ir.values import Value
from tileir.serve.debugger.history import Reached
from tileir.serve.debugger.stops import Position, Reason, Stop

Given = dict[Value, Any]
"""The values that a hook uses; behind an operation its results."""
_NOTHING: Final[Given] = {}


@dataclass
class Hook:
    """Something to do before an operation, or behind it."""

    operation: Operation
    reach: Callable[[TileBlock, Position, Given], Stop | None]
    """Returns a stop if there is a reason for one."""
    uses: Sequence[Value] = ()
    is_behind: bool = False
    access: Callable[[Access], object] | None = None
    """Takes the accesses to memory that the operation makes, before they happen."""


class StopObserver(Observer):
    """Finds the first stop that `is_ahead`; or with `is_back`, the last one of all (`last`)."""

    def __init__(
        self,
        prepared: PreparedLaunch,
        hooks: list[Hook],
        interruption: Interruption,
        is_ahead: Callable[[Position], bool],
        is_back: bool = False,
    ) -> None:
        self._decisions: dict[Operation, int] = prepared.control.decisions
        self._distances: dict[Operation, int] = prepared.control.distances
        self._in_reductions: set[Operation] = prepared.program.in_reductions
        self._interruption: Interruption = interruption
        self._is_ahead: Callable[[Position], bool] = is_ahead
        self._is_back: bool = is_back
        self._hooks: dict[Operation, list[Hook]] = {}
        self._hooks_behind: dict[Operation, list[Hook]] = {}
        self._used: dict[Operation, list[Value]] = {}
        for hook in hooks:
            (self._hooks_behind if hook.is_behind else self._hooks).setdefault(hook.operation, []).append(hook)
            used = self._used.setdefault(hook.operation, [])
            used += [value for value in hook.uses if value not in used]
        self._steps: dict[int, int] = {}
        self.last: Stop | None = None
        self.interrupted_at: Position | None = None
        self.failed_at: Position | None = None
        """The position before the operation that ended the launch."""

    def watches(self, operation: Operation) -> bool:
        return operation in self._decisions or operation in self._used

    def wants(self, operation: Operation) -> Sequence[Value]:
        return self._used.get(operation, ())

    def block_started(self, block: TileBlock) -> None:
        self._steps[block.number] = 0
        self._check_interruption(Position(block.number, 0))

    def block_finished(self, block: TileBlock) -> None:
        del self._steps[block.number]

    def _check_interruption(self, position: Position) -> None:
        if self._interruption.is_wanted:
            self.interrupted_at = position
            raise Interrupted

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        hooks = self._hooks.get(operation)
        if hooks is not None:
            position = Position(block.number, self._steps[block.number] + self._distances[operation] - 1)
            used = self._used[operation]
            given = dict(zip(used, operands[len(operation.operands) :], strict=True)) if used else _NOTHING
            self._run(hooks, block, position, given)
        if operation in self._decisions:
            self._steps[block.number] += self._distances[operation]
            if self._interruption.is_wanted:
                self._check_interruption(Position(block.number, self._steps[block.number] - 1))

    def _run(self, hooks: list[Hook], block: TileBlock, position: Position, given: Given) -> None:
        found: Stop | None = None
        for hook in hooks:
            stop = hook.reach(block, position, given)
            if stop is not None:
                found = stop.joined(found)
        if found is not None:
            self.stop(found)

    def stop(self, stop: Stop) -> None:
        if self._is_ahead(stop.position):
            if not self._is_back:
                raise Reached(stop)
            self.last = stop

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        self.failed_at = Position(block.number, self.step_of(error.operation, block) - 1)
        return False

    def step_of(self, operation: Operation, block: TileBlock) -> int:
        """The step of an operation that a tile block is at, counted from 1."""
        while operation in self._in_reductions and operation.parent_operation is not None:
            operation = operation.parent_operation
        steps = self._steps[block.number]
        return steps if operation in self._decisions else steps + self._distances[operation]


class AccessObserver(StopObserver):
    """Also runs hooks behind operations, and at accesses to memory."""

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        hooks = self._hooks_behind.get(operation)
        if hooks is not None:
            # A loop or a branch has its results with its last step, which is the last decision.
            position = Position(block.number, self.step_of(operation, block))
            self._run(hooks, block, position, dict(zip(operation.results, results, strict=True)))

    def access(self, access: Access) -> Array | None:
        for hook in self._hooks_behind.get(access.operation, ()):
            if hook.access is not None:
                hook.access(access)
        return None


class Checker(NamedTuple):
    """The sanitizer or the watch for NaN: an observer that adds findings to a report."""

    observer: Observer
    report: SanitizerReport
    reason: Reason


class FindingObserver(AccessObserver):
    """Also stops where checkers find something; it is called after them.

    `made` has the operations that made a NaN before: each is a reason to stop at one position only.
    """

    def __init__(self, *arguments: Any, checkers: Sequence[Checker], made: dict[Operation, Position]) -> None:
        super().__init__(*arguments)
        self._checkers: Sequence[Checker] = checkers
        self._made: dict[Operation, Position] = made
        # How many findings of each report were seen.
        self._seen: list[int] = [0] * len(checkers)
        self.found: Operation | None = None
        """What the finding is about that it stopped at."""

    def watches(self, operation: Operation) -> bool:
        return any(one.observer.watches(operation) for one in self._checkers) or super().watches(operation)

    def _check(self, operation: Operation, block: TileBlock) -> None:
        for index, checker in enumerate(self._checkers):
            new = checker.report.findings[self._seen[index] :]
            if not new:
                continue
            self._seen[index] += len(new)
            position = Position(block.number, self.step_of(operation, block) - 1)
            if checker.reason == "nan":
                new = [one for one in new if self._made.get(one.operation, position) == position]
            if new:
                self.found = new[0].operation
                text = "\n\n".join([finding.render(checker.report.names) for finding in new])
                self.stop(Stop(checker.reason, position, text))

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        if operation not in self._in_reductions:
            super().before(operation, block, operands)
        self._check(operation, block)

    def access(self, access: Access) -> Array | None:
        self._check(access.operation, access.block)
        return super().access(access)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self._check(operation, block)
        if operation not in self._in_reductions:
            super().after(operation, block, results)

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        super().failed(error, block)
        self._check(error.operation, block)
        return False
