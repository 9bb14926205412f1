"""A launch that runs ahead to see where it stops: hooks at the operations of breakpoints, and nothing else recorded.

The scout counts steps as a recording does, at the decisions of control flow, so it knows the moment of a hook that is
reached.  Memory is at hand while it runs, and so are the values that conditions ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tileir.execute.dtypes import Array
from tileir.execute.errors import ExecutionError
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.recording.program import ControlFlow, NumberedProgram
from tileir.execute.recording.recorder import Interrupted, Interruption
from tileir.execute.sanitizer.report import Finding, SanitizerReport
from tileir.ir.core import Operation
from tileir.ir.values import Value
from tileir.serve.debugger.moments import Moment, Reason

Reach = Callable[[TileBlock, Moment, "dict[Value, Any]"], "Hit | None"]
"""What happens when a hook is reached: given the tile block, the moment, and the values that the hook wants, or behind
an operation its results; a hit if there is a reason to stop."""


_NOTHING: Final[dict[Value, Any]] = {}


class Hit:
    """A reason to stop at a moment."""

    __slots__ = ("breakpoints", "moment", "reason", "text")

    def __init__(self, reason: Reason, moment: Moment, text: str = "", breakpoints: tuple[int, ...] = ()) -> None:
        self.reason: Reason = reason
        self.moment: Moment = moment
        self.text: str = text
        self.breakpoints: tuple[int, ...] = breakpoints

    def joined(self, other: Hit | None) -> Hit:
        """Two hits at one moment."""
        if other is None:
            return self
        text = "\n".join([part for part in (self.text, other.text) if part])
        return Hit(self.reason, self.moment, text, tuple(dict.fromkeys([*self.breakpoints, *other.breakpoints])))


class Hook:
    """Something to be done before an operation, or behind it."""

    __slots__ = ("is_behind", "operation", "reach", "touch", "wants")

    def __init__(
        self,
        operation: Operation,
        reach: Reach,
        wants: Sequence[Value] = (),
        is_behind: bool = False,
        touch: Callable[[Access], object] | None = None,
    ) -> None:
        self.operation: Operation = operation
        self.reach: Reach = reach
        self.wants: list[Value] = list(wants)
        self.is_behind: bool = is_behind
        self.touch: Callable[[Access], object] | None = touch
        """Of one behind an operation: takes the accesses to memory that the operation makes, before they happen."""


class Reached(Exception):
    """The launch has come to a reason to stop."""

    def __init__(self, hit: Hit) -> None:
        super().__init__()
        self.hit: Hit = hit


class Scout(Observer):
    """Runs ahead of the debugger.

    `is_ahead` tells of a moment whether it is one to stop at.  Going forwards the first hit ends the launch; looking
    back, nothing does, and `last` is the last hit of all.
    """

    def __init__(
        self,
        program: NumberedProgram,
        control: ControlFlow,
        hooks: list[Hook],
        interruption: Interruption,
        is_ahead: Callable[[Moment], bool],
        is_back: bool = False,
    ) -> None:
        self._decisions: dict[Operation, int] = control.decisions
        self._distances: dict[Operation, int] = control.distances
        self._in_reductions: set[Operation] = program.in_reductions
        self._interruption: Interruption = interruption
        self._is_ahead: Callable[[Moment], bool] = is_ahead
        self._is_back: bool = is_back
        self._hooks: dict[Operation, list[Hook]] = {}
        self._hooks_behind: dict[Operation, list[Hook]] = {}
        self._watched: set[Operation] = set(control.decisions)
        self._wanted: dict[Operation, list[Value]] = {}
        for hook in hooks:
            (self._hooks_behind if hook.is_behind else self._hooks).setdefault(hook.operation, []).append(hook)
            self._watched.add(hook.operation)
            wanted = self._wanted.setdefault(hook.operation, [])
            for value in hook.wants:
                if value not in wanted:
                    wanted.append(value)
        self._steps: dict[int, int] = {}
        self.last: Hit | None = None
        self.moment: Moment | None = None
        """Where an interruption was seen."""
        self.failed_at: Moment | None = None
        """The moment before the operation that ended the launch."""

    def watches(self, operation: Operation) -> bool:
        return operation in self._watched

    def wants(self, operation: Operation) -> Sequence[Value]:
        return self._wanted.get(operation, ())

    def block_started(self, block: TileBlock) -> None:
        self._steps[block.number] = 0
        if self._interruption.is_wanted:
            self.moment = Moment(block.number, 0)
            raise Interrupted

    def block_finished(self, block: TileBlock) -> None:
        del self._steps[block.number]

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        hooks = self._hooks.get(operation)
        if hooks is not None:
            moment = Moment(block.number, self._steps[block.number] + self._distances[operation] - 1)
            wanted = self._wanted[operation]
            given = dict(zip(wanted, operands[len(operation.operands) :], strict=True)) if wanted else _NOTHING
            self._run(hooks, block, moment, given)
        if operation in self._decisions:
            self._steps[block.number] += self._distances[operation]
            if self._interruption.is_wanted:
                self.moment = Moment(block.number, self._steps[block.number] - 1)
                raise Interrupted

    def _run(self, hooks: list[Hook], block: TileBlock, moment: Moment, given: dict[Value, Any]) -> None:
        found: Hit | None = None
        for hook in hooks:
            hit = hook.reach(block, moment, given)
            if hit is not None:
                found = hit.joined(found)
        if found is not None:
            self.stop(found)

    def stop(self, hit: Hit) -> None:
        """There is a reason to stop."""
        if self._is_ahead(hit.moment):
            if not self._is_back:
                raise Reached(hit)
            self.last = hit

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        self.failed_at = Moment(block.number, self.step_of(error.operation, block) - 1)
        return False

    def step_of(self, operation: Operation, block: TileBlock) -> int:
        """The step of an operation that a tile block is at, counted from 1."""
        while operation in self._in_reductions and operation.parent_operation is not None:
            operation = operation.parent_operation
        steps = self._steps[block.number]
        return steps if operation in self._decisions else steps + self._distances[operation]


class WritingScout(Scout):
    """One that looks behind operations too, as at what they write."""

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        hooks = self._hooks_behind.get(operation)
        if hooks is not None:
            # What a loop or a branch gives is there with the last step in it, which is the last decision.
            moment = Moment(block.number, self.step_of(operation, block))
            given: dict[Value, Any] = dict(zip(operation.results, results, strict=True))
            self._run(hooks, block, moment, given)


class AccessScout(WritingScout):
    """One that looks at accesses to memory too."""

    def access(self, access: Access) -> Array | None:
        for hook in self._hooks_behind.get(access.operation, ()):
            if hook.touch is not None:
                hook.touch(access)
        return None


class Watcher(NamedTuple):
    """Somebody else who looks at the launch, the sanitizer or the watch for numbers, and adds findings to a report."""

    observer: Observer
    report: SanitizerReport
    reason: Reason


class ReportingScout(AccessScout):
    """One that stops where watchers find something.

    It is told of everything after them.  A number that `made` has at another moment is no reason to stop any more.
    """

    def __init__(self, *arguments: Any, watchers: Sequence[Watcher], made: dict[Operation, Moment]) -> None:
        super().__init__(*arguments)
        self._watchers: Sequence[Watcher] = watchers
        self._made: dict[Operation, Moment] = made
        # How many findings of each report were seen.
        self._seen: list[int] = [0] * len(watchers)
        self.found: Operation | None = None
        """What the finding is about that it stopped at."""

    def watches(self, operation: Operation) -> bool:
        return any(one.observer.watches(operation) for one in self._watchers) or super().watches(operation)

    def _look(self, operation: Operation, block: TileBlock) -> None:
        for place, watcher in enumerate(self._watchers):
            if len(watcher.report.findings) > self._seen[place]:
                self._tell(place, watcher, operation, block)

    def _tell(self, place: int, watcher: Watcher, operation: Operation, block: TileBlock) -> None:
        new: list[Finding] = watcher.report.findings[self._seen[place] :]
        self._seen[place] += len(new)
        moment = Moment(block.number, self.step_of(operation, block) - 1)
        if watcher.reason == "nan":
            new = [one for one in new if self._made.get(one.operation, moment) == moment]
        if new:
            self.found = new[0].operation
            text = "\n\n".join([finding.render(watcher.report.names) for finding in new])
            self.stop(Hit(watcher.reason, moment, text))

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        if operation not in self._in_reductions:
            super().before(operation, block, operands)
        self._look(operation, block)

    def access(self, access: Access) -> Array | None:
        self._look(access.operation, access.block)
        return super().access(access)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        self._look(operation, block)
        if operation not in self._in_reductions:
            super().after(operation, block, results)

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        super().failed(error, block)
        self._look(error.operation, block)
        return False
