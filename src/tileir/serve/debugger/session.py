"""`Debugger`: a launch that is stopped, looked at, and turned back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import numpy

from tileir.bridge.recording import record
from tileir.execute.dtypes import Array
from tileir.execute.errors import LaunchError
from tileir.execute.recording.recording import LIMIT, Recording
from tileir.ir.core import Block, Operation
from tileir.serve.debugger.expressions import Expression
from tileir.serve.debugger.lines import Lines, Names, SourcePlace
from tileir.serve.debugger.moments import Moment, Reason, Stop
from tileir.serve.debugger.names import ValueNames
from tileir.serve.debugger.stack import Frame, StackReader, enclosing
from tileir.serve.debugger.turns import Turns
from tileir.serve.debugger.variables import Result, Variable, Variables

How = Literal["into", "over", "out"]
Unit = Literal["line", "operation"]
Event = Literal["failure", "sanitizer", "nan"]


class Debugger:
    """A launch under the debugger (docs/debugging.md).

    The kernel is what `tileir.record` takes.  Nothing runs before `start`; the caller's arrays have the results when
    the launch has come to its end.
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
        self._recording: Recording = record(
            kernel,
            grid,
            *arguments,
            schedule=schedule,
            limit=limit,
            sanitize="sanitizer" in self.stop_on,
            memory=memory,
            output=output,
        )
        recording = self._recording
        self.lines: Lines = Lines(recording.program, names)
        self._names: ValueNames = ValueNames(recording.program, self.lines, recording.arrays)
        self._turns: Turns = Turns(recording)
        self._stacks: StackReader = StackReader(recording, self.lines, self._names)
        self._variables: Variables = Variables(recording, self._names)
        self.moment: Moment = self._turns.first
        self.finished: bool = False
        """Whether the launch stands at its end."""
        count = len(recording.program.operations)
        self._all: Array = numpy.ones(count, numpy.bool_)
        self._starts: Array = numpy.zeros(count, numpy.bool_)
        self._starts[list(self.lines.starts)] = True

    # --- what is debugged ---

    @property
    def recording(self) -> Recording:
        """What is recorded of the launch."""
        return self._recording

    @property
    def grid(self) -> tuple[int, int, int]:
        return self._recording.grid

    def steps(self, block: int) -> Array:
        """The operation of each step of a tile block, by number."""
        return self._turns.steps(block)

    @property
    def operation(self) -> int | None:
        """The number of the operation that is next; None at the end."""
        steps = self._turns.steps(self.moment.block)
        return int(steps[self.moment.step]) if self.moment.step < len(steps) else None

    @property
    def place(self) -> SourcePlace | None:
        """Where the program stands."""
        operation = self.operation
        return self.lines.place(operation) if operation is not None else None

    # --- going ---

    def start(self, stop_on_entry: bool = True) -> Stop:
        """Begin: stop before the first operation, or go on to the first reason to stop."""
        self.moment = self._turns.first
        self.finished = False
        return Stop("entry", self.moment) if stop_on_entry else self.resume()

    def resume(self, reverse: bool = False) -> Stop:
        """Go on, or back, to the next reason to stop."""
        return self._end() if not reverse else self._stand("beginning", self._turns.first)

    def step(self, how: How = "into", reverse: bool = False, by: Unit = "line", count: int = 1) -> Stop:
        """Go one line or operation further, or back.

        "into" goes into loops and branches, "over" passes them, and "out" leaves the one that the program is in.
        """
        stop = Stop("step", self.moment)
        for _ in range(count):
            stop = self._step_back(how, by) if reverse else self._step(how, by)
            if stop.reason != "step":
                break
        return stop

    def _step(self, how: How, by: Unit) -> Stop:
        if self.finished:
            return self._end()
        units = self._starts if by == "line" else self._all
        wanted = units
        steps = self._turns.steps(self.moment.block)
        if how != "into":
            wanted = wanted & self._reachable(how)
        places = numpy.flatnonzero(wanted[steps[self.moment.step + 1 :]])
        if places.size:
            return self._stand("step", Moment(self.moment.block, self.moment.step + 1 + int(places[0])))
        # The tile block comes to its end.
        done = Moment(self.moment.block, len(steps) - 1)
        following = self._turns.behind(done)
        if following == self._turns.last:
            return self._end()
        operation = int(self._turns.steps(following.block)[following.step])
        if not units[operation]:
            following = next(self._turns.forwards(following, units), following)
        return self._stand("step", following)

    def _step_back(self, how: How, by: Unit) -> Stop:
        moment = self._turns.last if self.finished else self.moment
        units = self._starts if by == "line" else self._all
        wanted = units
        if how == "out" and not self.finished:
            around = self._around()
            wanted = numpy.zeros_like(units)
            if around:
                wanted[self._recording.program.operation_numbers[around[0]]] = True
        elif how == "over" and not self.finished:
            wanted = wanted & self._reachable(how)
        elif how == "over":
            wanted = wanted & (numpy.array(self._recording.program.depths) == 0)
        steps = self._turns.steps(moment.block)
        places = numpy.flatnonzero(wanted[steps[: moment.step]])
        if places.size:
            return self._stand("step", Moment(moment.block, int(places[-1])))
        if how == "out" and moment.step:
            return self._stand("step", Moment(moment.block, 0))
        earlier = self._turns.before(Moment(moment.block, 0))
        if earlier is None:
            reason: Reason = "beginning" if moment.step == 0 or not units[: int(steps[0]) + 1].any() else "step"
            return self._stand("beginning" if moment.step == 0 else reason, self._turns.first)
        operation = int(self._turns.steps(earlier.block)[earlier.step])
        if not units[operation]:
            earlier = next(self._turns.backwards(earlier, units), self._turns.first)
        return self._stand("step", earlier)

    def go_to(self, block: int, step: int) -> Stop:
        """Go to a moment."""
        count = len(self._turns.steps(block))
        if not 0 <= step <= count:
            raise LaunchError(f"tile block {block} has {count} steps, and none {step}")
        return self._stand("goto", Moment(block, step))

    def select_block(self, block: int) -> Stop:
        """Go to where a tile block begins."""
        return self.go_to(block, 0)

    def finish(self) -> Stop:
        """Go to the end, whatever there is to stop at."""
        return self._end()

    def interrupt(self) -> None:
        """Stop what is under way, from another thread or a signal handler."""

    def _end(self) -> Stop:
        self.finished = True
        self.moment = self._turns.last
        return Stop("end", self.moment, self._recording.failure)

    def _stand(self, reason: Reason, moment: Moment, text: str = "") -> Stop:
        self.finished = moment == self._turns.last
        self.moment = moment
        return Stop(reason, moment, text)

    def _around(self) -> list[Operation]:
        """The operations around the next one, the innermost first."""
        program = self._recording.program
        operation = self.operation
        return enclosing(program.operations[operation], program.entry) if operation is not None else []

    def _reachable(self, how: How) -> Array:
        """The operations that a step over or out may come to: those of the blocks that the next one is in."""
        program = self._recording.program
        operation = self.operation
        blocks: set[Block | None] = set()
        if operation is not None:
            inner: Operation | None = program.operations[operation]
            if how == "out":
                inner = inner.parent_operation if inner is not None else None
            while inner is not None and inner is not program.entry:
                blocks.add(inner.parent)
                inner = inner.parent_operation
        return numpy.array([one.parent in blocks for one in program.operations], numpy.bool_)

    # --- looking ---

    def stack(self) -> list[Frame]:
        """The branch and the loops that the program is in, and the kernel, innermost first."""
        return self._stacks.frames(self.moment, self._turns.steps(self.moment.block))

    def variables(self, frame: Frame | None = None) -> list[Variable]:
        """The values of a frame that are computed, or of all."""
        return self._variables.of(self.moment, frame)

    def parameters(self) -> list[Variable]:
        """The parameters of the kernel."""
        return self._variables.parameters(self.moment)

    def arrays(self) -> list[Variable]:
        """The arrays that the kernel works on, as they are now."""
        return self._variables.arrays(self.moment)

    def evaluate(self, expression: str, frame: Frame | None = None) -> Result:
        """Compute an expression in NumPy's terms over what there is now (docs/debugging.md).

        A mistake in it is an `ExpressionError`.
        """
        read = Expression(expression, self._variables.is_known)
        return Result(read.evaluate(partial(self._variables.lookup, self.moment)))
