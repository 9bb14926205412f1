"""`Debugger`: a launch that is stopped, inspected, and run forwards and backwards.

To continue is to run ahead without recording, with hooks at the operations of breakpoints (`search`); what lies before
the stop is recorded then (`history`), and to step, to inspect and to go back is to read the recording.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy

from tileir.bridge.recording import prepared_launch
from tileir.execute.dtypes import Array
from tileir.execute.engine.interface import Progress
from tileir.execute.errors import ExecutionError, LaunchError
from tileir.execute.recording.recorder import Interrupted
from tileir.execute.recording.recording import LIMIT
from tileir.execute.schedule import block_number
from tileir.ir.core import Operation
from tileir.serve.debugger.breakpoints import BreakpointSpec, LaunchBreakpoints
from tileir.serve.debugger.expressions import BadExpression
from tileir.serve.debugger.history import enclosing
from tileir.serve.debugger.inspection import Inspection
from tileir.serve.debugger.search import StopSearch
from tileir.serve.debugger.source_lines import Names
from tileir.serve.debugger.stops import Event, Position, Reason, Stop

How = Literal["into", "over", "out"]
Unit = Literal["line", "operation"]


class Debugger(Inspection):
    """A launch under the debugger (docs/tools/debug.md); `kernel` is what `tileir.record` takes.

    Nothing runs before `start`; the caller's arrays have the results when the launch has come to its end.
    """

    def __init__(
        self,
        kernel: Any,
        grid: int | tuple[int, ...],
        arguments: Iterable[object] = (),
        *,
        schedule: str | None = None,
        limit: int = LIMIT,
        stop_on: Iterable[Event] = ("failure",),
        output: Callable[[str], object] | None = None,
        names: Names = "script",
        memory: Iterable[object] = (),
    ) -> None:
        self.stop_on: set[Event] = set(stop_on)
        prepared = prepared_launch(kernel, grid, tuple(arguments), schedule=schedule, limit=limit, memory=memory)
        write: Callable[[str], object] = output if output is not None else sys.stdout.write
        super().__init__(prepared, "sanitizer" in self.stop_on, write, names)
        self.breakpoints = LaunchBreakpoints(self._program, self.lines, self._names, prepared.launch.grid)
        self._search = StopSearch(self._history, self._names, self.breakpoints, write, names)
        self._is_handed_back: bool = False
        self._failed_at: Position | None = None
        self._all: Array = numpy.ones(len(self._program.operations), numpy.bool_)

    @property
    def error(self) -> ExecutionError | None:
        """What the launch ends with, if it is known to fail."""
        return self._history.stepwise.error or self._search.error

    def start(self, stop_on_entry: bool = True) -> Stop:
        """Begin: stop before the first operation, or go on to the first reason to stop."""
        self.position = self._first
        self.finished = False
        if stop_on_entry:
            return Stop("entry", self.position)
        self.position = Position(self._first.block, -1)
        return self.resume()

    def resume(self, reverse: bool = False) -> Stop:
        """Go on, or back, to the next reason to stop."""
        return self._commanded(partial(self._resume, reverse))

    def _commanded(self, command: Callable[[], Stop]) -> Stop:
        """Carry out a command; it may be interrupted, also before it begins."""
        if ("sanitizer" in self.stop_on) != bool(self._history.recording.sanitize):
            self._history.sanitize("sanitizer" in self.stop_on)
        try:
            return command()
        except Interrupted:
            self._history.interruption.is_requested = False
            # The recording was interrupted: stand where it ends.
            last = self._history.timeline.last if self._history.timeline.slices else self._first
            return self._stand("pause", Position(last.block, max(last.step - 1, 0)))
        finally:
            self._history.interruption.is_requested = False

    def _resume(self, reverse: bool) -> Stop:
        if reverse:
            hit = self._search.back(self._standing())
            return self._stand("beginning", self._first) if hit is None else self._hit(hit)
        if self.finished:
            return self._end()
        hit = self._search.ahead(self.position, self.stop_on)
        return self._end() if hit is None else self._hit(hit)

    def _hit(self, hit: Stop) -> Stop:
        for number in hit.breakpoints:
            self.breakpoints[number].hits += 1
            if self.breakpoints[number].spec.temporary:
                del self.breakpoints[number]
        if hit.reason == "failure":
            self._failed_at = hit.position
        return self._stand(hit.reason, hit.position, hit.text, hit.breakpoints)

    def step(self, how: How = "into", reverse: bool = False, by: Unit = "line", count: int = 1) -> Stop:
        """Go one line or operation further, or back, through loops and branches.

        "into" enters functions of a script, which "over" passes; "out" leaves the innermost loop, branch or function.
        """
        stop = Stop("step", self.position)
        for _ in range(count):
            stop = self._commanded(partial(self._step_back if reverse else self._step, how, by))
            if stop.reason != "step":
                break
        return stop

    def _step(self, how: How, by: Unit) -> Stop:
        if self.finished:
            return self._end()
        self._history.record(self.position)
        target, start = self._target(how, by), self.position
        if target is not None:
            may_stop = self._may_stop_between(target)
            hit = self._search.ahead(start, self.stop_on - {"sanitizer"}, target) if may_stop else None
            return self._stand("step", target) if hit is None else self._hit(hit)
        if self._history.stepwise.error is not None:
            failed = Position(start.block, len(self._history.steps(start.block)) - 1)
            if self._failed_at != failed and "failure" in self.stop_on:
                self._failed_at = failed
                return self._stand("failure", failed, str(self._history.stepwise.error))
        elif not self._history.stepwise.is_complete:
            return self._full()
        return self._end()

    def _target(self, how: How, by: Unit) -> Position | None:
        """Where a step goes; None if the launch ends before."""
        history = self._history
        units = self.lines.begins if by == "line" else self._all
        allowed = units if how == "into" else units & self._reachable(how)
        block, step = self.position
        while True:
            steps = history.steps(block)
            found = numpy.flatnonzero(allowed[steps[step + 1 :]])
            if found.size:
                return Position(block, step + 1 + int(found[0]))
            if history.is_whole(block):
                break
            history.record_block(history.stepwise.place(block), len(steps))
        # The tile block ends, and another one continues.
        following = self._following(Position(block, len(history.steps(block)) - 1))
        while following is not None and not units[int(history.steps(following.block)[following.step])]:
            following = self._following(following)
        return following

    def _following(self, position: Position) -> Position | None:
        """The position after another one in the order of time; None at the end."""
        history = self._history
        stepwise, is_last = history.stepwise, position.step + 1 >= len(history.steps(position.block))
        if is_last and stepwise.is_sequential and not stepwise.is_over:
            history.record_block(stepwise.place(position.block) + history.is_whole(position.block), position.step)
        following = history.timeline.following(position)
        return following if following != history.timeline.last else None

    def _may_stop_between(self, target: Position) -> bool:
        """Whether there may be a reason to stop before a step is done."""
        active = self.breakpoints.active
        if "nan" in self.stop_on or not active:
            return "nan" in self.stop_on
        if target.block != self.position.block or any(one.kind == "data" for one in active):
            return True
        between = self._history.steps(target.block)[self.position.step + 1 : target.step]
        return bool(self._search.operations(active)[between].any())

    def _step_back(self, how: How, by: Unit) -> Stop:
        start = self._standing()
        units = self.lines.begins if by == "line" else self._all
        allowed = units
        if how == "out" and not self._is_in_function():
            around = self._around()
            allowed = numpy.zeros_like(units)
            if around:
                allowed[self._program.operation_numbers[around[0]]] = True
        elif how != "into" and not self.finished:
            allowed = allowed & self._reachable(how)
        steps = self._history.steps(start.block)
        found = numpy.flatnonzero(allowed[steps[: start.step]])
        if found.size:
            target = Position(start.block, int(found[-1]))
        elif how == "out" and start.step:
            target = Position(start.block, 0)
        else:
            target = next(self._history.timeline.backwards(Position(start.block, 0), units), self._first)
        if target == self._first:
            is_start = start == self._first or not units[int(self._history.steps(target.block)[0])]
            return self._stand("beginning" if is_start else "step", target)
        if self.breakpoints.active and how != "into":
            hit = self._search.back(start, (start.block, target.block))
            if hit is not None and self._history.is_later(hit.position, target):
                return self._hit(hit)
        return self._stand("step", target)

    def go_to(self, block: int, step: int) -> Stop:
        self.breakpoints.block_id(block)
        if step < 0:
            raise LaunchError(f"there is no step {step}: steps are counted from 0")

        def go() -> Stop:
            self._history.record(Position(block, step))
            count = len(self._history.steps(block))
            if not count:
                why = "the launch ended before its first memory operation"
                raise LaunchError(f"nothing is known of tile block {block}: {why}")
            if step > count:
                raise LaunchError(f"tile block {block} has {count} steps, and none {step}")
            return self._stand("goto", Position(block, step))

        return self._commanded(go)

    def block_number(self, text: str) -> int:
        """The number of a tile block that is given by number, or as x,y,z."""
        return block_number(self.breakpoints.block_id(text), self.grid)

    def select_block(self, block: int) -> Stop:
        """Go to where a tile block stands that has begun and is not done, or else to where it begins."""
        known = dict(self.unfinished_blocks()[1:])
        return self.go_to(block, known.get(block, 0))

    def run_to(self, spec: BreakpointSpec) -> Stop:
        """Run on to a location, or to whatever stops the launch before it."""
        there = self.breakpoints.place(replace(spec, temporary=True))
        if not there.is_verified:
            self.breakpoints.pop(there.number, None)
            raise BadExpression(there.message)
        try:
            stop = self.resume()
        finally:
            self.breakpoints.pop(there.number, None)
        return Stop("step", stop.position) if stop.breakpoints == (there.number,) else stop

    def until(self) -> Stop:
        """Step over lines until one after this one, or until the loop is left: a step that does not go back."""
        line = self.location.line if self.location is not None else 0
        depth = len(self.stack())
        while True:
            stop = self.step("over")
            now = self.location
            if stop.reason != "step" or now is None or now.line > line or len(self.stack()) < depth:
                return stop

    def finish(self) -> Stop:
        """Go to the end, whatever there is to stop at."""

        def go() -> Stop:
            if not self.finished and not self._history.stepwise.is_complete:
                hit = self._search.ahead(self.position, self.stop_on, ignore=True)
                if hit is not None:
                    return self._hit(hit)
            return self._end()

        return self._commanded(go)

    def interrupt(self) -> None:
        """Stop what is under way, from another thread or a signal handler."""
        self._history.interruption.is_requested = True

    def show_progress(self, progress: Progress | None) -> None:
        """Call a function with the number of finished tile blocks, and of all, while the launch runs."""
        self._history.prepared.launch.progress = progress

    def _end(self) -> Stop:
        self.finished = True
        history = self._history
        if not self._is_handed_back:
            history.stepwise.hand_back()
            self._is_handed_back = True
        history.emit(len(history.stepwise.texts) if history.stepwise.is_over else 0)
        is_complete = history.stepwise.is_complete
        self.position = history.timeline.last if is_complete else Position(history.stepwise.last, -1)
        return Stop("end", self.position, str(self.error or ""))

    def _stand(self, reason: Reason, position: Position, text: str = "", breakpoints: tuple[int, ...] = ()) -> Stop:
        self._history.record(position)
        self.finished = False
        if not self._history.has(position):
            return self._full(position)
        self._before, self.position = self.position, position
        self._history.emit_to(position)
        return Stop(reason, position, text, breakpoints)

    def _full(self, target: Position | None = None) -> Stop:
        """The recording has reached its limit: stand where it ends, before a position that cannot be shown."""
        last = self._history.timeline.last
        self._before, self.position = self.position, Position(last.block, max(last.step - 1, 0))
        self._history.emit_to(self.position)
        text = f"The recording takes {self._history.prepared.limit} bytes, as much as it may, and ends here"
        if target is not None:
            text += f", before step {target.step} of tile block {target.block}, where the launch would stop"
        return Stop(
            "limit", self.position, f"{text}: raise the memory limit (`memory_limit`, --memory-limit) to see more."
        )

    def _around(self) -> list[Operation]:
        """The operations around the next one, the innermost first."""
        operation = self.operation
        return enclosing(self._program.operations[operation], self._program.entry) if operation is not None else []

    def _is_in_function(self) -> bool:
        """Whether what the program is in innermost is a function of the script, and no loop or branch."""
        operation, depths = self.operation, self.lines.call_depths
        if operation is None or not depths[operation]:
            return False
        around = self._around()
        return not around or bool(depths[self._program.operation_numbers[around[0]]] < depths[operation])

    def _reachable(self, how: How) -> Array:
        """The operations that a step over or out may come to."""
        operation, depths = self.operation, self.lines.call_depths
        if operation is None:
            return self._all
        if how == "over" or self._is_in_function():
            allowed: Array = depths < depths[operation] + (how == "over")
            return allowed
        # The operations of the blocks around the innermost loop or branch.
        blocks = {around.parent for around in self._around()}
        return numpy.array([one.parent in blocks for one in self._program.operations], numpy.bool_)
