"""`Debugger`: a launch that is stopped, looked at, and turned back.

A launch is a function of its program and arguments.  To go on is to run ahead without recording, with hooks at the
operations of breakpoints (`running`); what lies before the place where that stops is recorded then (`course`), and to
step, to look and to go back is to read the recording.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal

import numpy

from tileir.bridge.recording import prepared_launch
from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId, ExecutionError, LaunchError
from tileir.execute.recording.recorder import Interrupted
from tileir.execute.recording.recording import LIMIT, Recording
from tileir.ir.core import Block, Operation
from tileir.serve.debugger.breakpoints import Breakpoints
from tileir.serve.debugger.course import Course
from tileir.serve.debugger.evaluation import ExpressionMistake, Lookup
from tileir.serve.debugger.expressions import Expression
from tileir.serve.debugger.lines import Lines, Names, SourcePlace
from tileir.serve.debugger.moments import Event, Moment, Reason, Stop
from tileir.serve.debugger.names import ValueNames
from tileir.serve.debugger.running import Runner
from tileir.serve.debugger.scouting import Hit
from tileir.serve.debugger.stack import Frame, StackReader, enclosing
from tileir.serve.debugger.touched import Touched, touched_by
from tileir.serve.debugger.turns import first_wanted
from tileir.serve.debugger.variables import Result, Variable, Variables

How = Literal["into", "over", "out"]
Unit = Literal["line", "operation"]


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
        prepared = prepared_launch(kernel, grid, *arguments, schedule=schedule, limit=limit, memory=memory)
        write: Callable[[str], object] = output if output is not None else sys.stdout.write
        self._course: Course = Course(prepared, "sanitizer" in self.stop_on, write)
        program = self._program = prepared.program
        self.lines: Lines = Lines(program, names)
        self._names: ValueNames = ValueNames(program, self.lines, prepared.arrays, lambda: prepared.script_variables)
        self._stacks: StackReader = StackReader(self._course, self.lines, self._names)
        self._variables: Variables = Variables(self._course, self._names)
        self.breakpoints: Breakpoints = Breakpoints(
            program,
            self.lines,
            self._names,
            prepared.launch.grid,
            self._variables.is_known,
            self._variables.element,
        )
        self._runner: Runner = Runner(self._course, self._names, self.breakpoints, write, names)
        self._first: Moment = Moment(next(self._course.stepwise.order()), 0)
        self.moment: Moment = self._first
        # Where it was before the last command.
        self._before: Moment = self._first
        self.finished: bool = False
        """Whether the launch stands at its end."""
        self._is_handed_back: bool = False
        self._failed_at: Moment | None = None
        self._all: Array = numpy.ones(len(program.operations), numpy.bool_)

    # --- what is debugged ---

    @property
    def recording(self) -> Recording:
        """What is recorded of the launch."""
        return self._course.recording

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self._program.entry.symbol_name or ""

    @property
    def grid(self) -> BlockId:
        return self._course.prepared.launch.grid

    @property
    def notes(self) -> list[str]:
        """What is not kept of the launch, in sentences."""
        return self.recording.notes

    @property
    def error(self) -> ExecutionError | None:
        """What the launch ends with, if it is known to fail."""
        return self._course.stepwise.error or self._runner.error

    def steps(self, block: int) -> Array:
        """The operation of each step of a tile block, by number, as far as it is recorded."""
        return self._course.steps(block)

    @property
    def operation(self) -> int | None:
        """The number of the operation that is next; None at the end."""
        if self.finished:
            return None
        self._record(self.moment)
        steps = self._course.steps(self.moment.block)
        return int(steps[self.moment.step]) if self.moment.step < len(steps) else None

    @property
    def place(self) -> SourcePlace | None:
        """Where the program stands."""
        operation = self.operation
        return self.lines.place(operation) if operation is not None else None

    def _record(self, moment: Moment) -> None:
        """Have a moment in the recording, and something behind it."""
        course = self._course
        place = course.place(moment.block)
        if place >= len(course.recording.blocks) or (
            not course.is_whole(moment.block) and moment.step >= len(course.steps(moment.block))
        ):
            course.reach(place, moment.step)

    # --- going ---

    def start(self, stop_on_entry: bool = True) -> Stop:
        """Begin: stop before the first operation, or go on to the first reason to stop."""
        self.moment = self._first
        self.finished = False
        if stop_on_entry:
            return Stop("entry", self.moment)
        self.moment = Moment(self._first.block, -1)
        return self.resume()

    def resume(self, reverse: bool = False) -> Stop:
        """Go on, or back, to the next reason to stop."""
        return self._commanded(self._resume_back if reverse else self._resume)

    def _commanded(self, command: Callable[[], Stop]) -> Stop:
        """Do what the user wants, unless it is interrupted, be it before this has begun."""
        self._check_sanitizer()
        try:
            return command()
        except Interrupted:
            self._course.interruption.is_wanted = False
            return self._paused()
        finally:
            self._course.interruption.is_wanted = False

    def _check_sanitizer(self) -> None:
        if ("sanitizer" in self.stop_on) != bool(self._course.recording.sanitize):
            self._course.sanitize("sanitizer" in self.stop_on)

    def _paused(self) -> Stop:
        """The recording was interrupted: stand where it ends."""
        turns = self._course.turns
        if not len(turns):
            return self._stand("pause", self._first)
        last = turns.last
        return self._stand("pause", Moment(last.block, max(last.step - 1, 0)))

    def _resume(self) -> Stop:
        if self.finished:
            return self._end()
        hit = self._runner.ahead(self.moment, self.stop_on)
        return self._end() if hit is None else self._hit(hit)

    def _hit(self, hit: Hit) -> Stop:
        for number in hit.breakpoints:
            breakpoint = self.breakpoints[number]
            breakpoint.hits += 1
            if breakpoint.is_temporary:
                self.breakpoints.remove(number)
        if hit.reason == "failure":
            self._failed_at = hit.moment
        return self._stand(hit.reason, hit.moment, hit.text, hit.breakpoints)

    def _resume_back(self) -> Stop:
        start = self._standing()
        hit = self._runner.back(start)
        return self._stand("beginning", self._first) if hit is None else self._hit(hit)

    def step(self, how: How = "into", reverse: bool = False, by: Unit = "line", count: int = 1) -> Stop:
        """Go one line or operation further, or back.

        All of them go through loops and branches line by line.  "into" goes into the functions of a script too, which
        "over" passes, and "out" leaves the innermost loop, branch or function that the program is in.
        """
        stop = Stop("step", self.moment)
        for _ in range(count):
            stop = self._commanded(partial(self._step_back if reverse else self._step, how, by))
            if stop.reason != "step":
                break
        return stop

    def _step(self, how: How, by: Unit) -> Stop:
        if self.finished:
            return self._end()
        self._record(self.moment)
        target = self._target(how, by)
        start = self.moment
        if target is not None and self._may_stop_between(target):
            hit = self._runner.ahead(start, self.stop_on - {"sanitizer"}, target)
            if hit is not None:
                return self._hit(hit)
        if target is not None:
            return self._stand("step", target)
        if self._course.stepwise.error is not None:
            failed = Moment(start.block, len(self._course.steps(start.block)) - 1)
            if self._failed_at != failed and "failure" in self.stop_on:
                self._failed_at = failed
                return self._stand("failure", failed, str(self._course.stepwise.error))
        elif not self._course.stepwise.is_complete:
            return self._full()
        return self._end()

    def _target(self, how: How, by: Unit) -> Moment | None:
        """Where a step goes; None if the launch ends before."""
        course = self._course
        units = self.lines.begins if by == "line" else self._all
        wanted = units if how == "into" else units & self._wanted(how)
        block, step = self.moment
        while True:
            steps = course.steps(block)
            found = first_wanted(steps, wanted, step + 1)
            if found >= 0:
                return Moment(block, found)
            if course.is_whole(block):
                break
            course.reach(course.place(block), len(steps))
        # The tile block comes to its end, and another one goes on.
        following = self._following(Moment(block, len(course.steps(block)) - 1))
        while following is not None and not units[int(course.steps(following.block)[following.step])]:
            following = self._following(following)
        return following

    def _following(self, moment: Moment) -> Moment | None:
        """The moment behind another one in the order of time; None at the end."""
        course = self._course
        if course.stepwise.is_sequential and not course.stepwise.is_over:
            if moment.step + 1 >= len(course.steps(moment.block)):
                course.reach(course.place(moment.block) + (1 if course.is_whole(moment.block) else 0), moment.step)
        turns = course.turns
        following = turns.behind(moment)
        return following if following != turns.last else None

    def _may_stop_between(self, target: Moment) -> bool:
        """Whether there may be a reason to stop before a step is done."""
        active = self.breakpoints.active
        if "nan" in self.stop_on:
            return True
        if not active:
            return False
        if target.block != self.moment.block or any(one.is_change for one in active):
            return True
        between = self._course.steps(target.block)[self.moment.step + 1 : target.step]
        return bool(self._runner.wanted(active)[between].any())

    def _step_back(self, how: How, by: Unit) -> Stop:
        start = self._standing()
        units = self.lines.begins if by == "line" else self._all
        wanted = units
        if how == "out" and not self._is_in_function():
            around = self._around()
            wanted = numpy.zeros_like(units)
            if around:
                wanted[self._program.operation_numbers[around[0]]] = True
        elif how != "into" and not self.finished:
            wanted = wanted & self._wanted(how)
        steps = self._course.steps(start.block)
        places = numpy.flatnonzero(wanted[steps[: start.step]])
        if places.size:
            target = Moment(start.block, int(places[-1]))
        elif how == "out" and start.step:
            target = Moment(start.block, 0)
        else:
            target = next(self._course.turns.backwards(Moment(start.block, 0), units), self._first)
        if target == self._first:
            is_start = start == self._first or not units[int(self._course.steps(target.block)[0])]
            return self._stand("beginning" if is_start else "step", target)
        if self.breakpoints.active and how != "into":
            hit = self._runner.back(start, (start.block, target.block))
            if hit is not None and self._course.is_later(hit.moment, target):
                return self._hit(hit)
        return self._stand("step", target)

    def go_to(self, block: int, step: int) -> Stop:
        """Go to a moment."""
        self.breakpoints.block_id(block)
        if step < 0:
            raise LaunchError(f"there is no step {step}: steps are counted from 0")

        def go() -> Stop:
            self._record(Moment(block, step))
            count = len(self._course.steps(block))
            if not count:
                raise LaunchError(
                    f"nothing is known of tile block {block}: the launch ended before its first memory operation"
                )
            if step > count:
                raise LaunchError(f"tile block {block} has {count} steps, and none {step}")
            return self._stand("goto", Moment(block, step))

        return self._commanded(go)

    def select_block(self, block: int) -> Stop:
        """Go to what a tile block does next that is under way, or else to where it begins."""
        known = dict(self.under_way()[1:])
        return self.go_to(block, known.get(block, 0))

    def go_to_change(self, name: str, reverse: bool = False) -> Stop:
        """Go to where the tile block computes a value next, or computed it last before."""
        numbers = self._names.numbers.get(name.strip(), [])
        if not numbers:
            raise ExpressionMistake(f"there is no value {name}")

        def go() -> Stop:
            block, step = self._standing()
            course = self._course
            find = course.recording.previous_change if reverse else course.recording.next_change
            while True:
                found = [one for one in [find(block, number, step) for number in numbers] if one is not None]
                if found:
                    return self._stand("step", Moment(block, max(found) if reverse else min(found)))
                if reverse or course.is_whole(block):
                    words = "computed before" if reverse else "computed any more"
                    raise ExpressionMistake(f"{name} is not {words} in this tile block")
                course.reach(course.place(block), len(course.steps(block)))

        return self._commanded(go)

    def go_to_access(self, element: str, reverse: bool = False) -> Stop:
        """Go to before the next access of any tile block to an element of an array (`c[3, 4]`), or the last one."""
        chosen = self._variables.element(element)
        if chosen is None:
            raise ExpressionMistake(f"{element} is no element of an array: write it as c[3, 4]")

        def go() -> Stop:
            start = self._standing()
            self._course.complete()
            recording = self.recording
            time = recording.time(*start)
            row = (recording.previous_access if reverse else recording.next_access)(*chosen, time)
            while row is not None:
                block, step = recording.moment(row)
                moment = Moment(block, step - 1)
                if moment != start:
                    return self._stand("step", moment)
                row = recording.next_access(*chosen, recording.accesses.behind(row))
            raise ExpressionMistake(f"{element} is not accessed {'before' if reverse else 'any more'}")

        return self._commanded(go)

    def finish(self) -> Stop:
        """Go to the end, whatever there is to stop at."""

        def go() -> Stop:
            if not self.finished and not self._course.stepwise.is_complete:
                hit = self._runner.ahead(self.moment, self.stop_on, is_ignoring=True)
                if hit is not None:
                    return self._hit(hit)
            return self._end()

        return self._commanded(go)

    def interrupt(self) -> None:
        """Stop what is under way, from another thread or a signal handler."""
        self._course.interruption.is_wanted = True

    def _end(self) -> Stop:
        self.finished = True
        course = self._course
        if not self._is_handed_back:
            course.stepwise.hand_back()
            self._is_handed_back = True
        course.emit_all()
        last = course.turns.last if course.stepwise.is_complete else Moment(course.stepwise.last, -1)
        self.moment = last
        error = self.error
        return Stop("end", last, str(error) if error is not None else "")

    def _standing(self) -> Moment:
        """Where the launch stands, with what is before it recorded."""
        if not self.finished:
            self._record(self.moment)
            return self.moment
        self._course.complete()
        self.moment = self._course.turns.last
        return self.moment

    def _stand(self, reason: Reason, moment: Moment, text: str = "", breakpoints: tuple[int, ...] = ()) -> Stop:
        self._record(moment)
        self.finished = False
        if not self._course.has(moment):
            return self._full(moment)
        self._before, self.moment = self.moment, moment
        self._course.emit_to(moment)
        return Stop(reason, moment, text, breakpoints)

    def _full(self, wanted: Moment | None = None) -> Stop:
        """The recording takes as much as it may: stand where it ends, before a moment that cannot be shown."""
        last = self._course.turns.last
        self._before, self.moment = self.moment, Moment(last.block, max(last.step - 1, 0))
        self._course.emit_to(self.moment)
        return Stop("limit", self.moment, self._course.end_words(wanted))

    def _around(self) -> list[Operation]:
        """The operations around the next one, the innermost first."""
        operation = self.operation
        return enclosing(self._program.operations[operation], self._program.entry) if operation is not None else []

    def _is_in_function(self) -> bool:
        """Whether what the program is in innermost is a function of the script, and no loop or branch."""
        operation = self.operation
        if operation is None or not self.lines.call_depths[operation]:
            return False
        around = self._around()
        return (
            not around
            or self.lines.call_depths[self._program.operation_numbers[around[0]]] < self.lines.call_depths[operation]
        )

    def _wanted(self, how: How) -> Array:
        """The operations that a step over or out may come to."""
        operation = self.operation
        if operation is None:
            return self._all
        if how == "over":
            wanted: Array = self.lines.call_depths <= self.lines.call_depths[operation]
            return wanted
        if self._is_in_function():
            wanted = self.lines.call_depths < self.lines.call_depths[operation]
            return wanted
        # Those of the blocks that the innermost loop or branch is in.
        blocks: set[Block | None] = set()
        inner = self._program.operations[operation].parent_operation
        while inner is not None and inner is not self._program.entry:
            blocks.add(inner.parent)
            inner = inner.parent_operation
        return numpy.array([one.parent in blocks for one in self._program.operations], numpy.bool_)

    # --- looking ---

    def under_way(self) -> list[Moment]:
        """Where each tile block stands that has begun and is not done, the current one first.

        They are several where tile blocks take turns; otherwise one is done before the next begins.
        """
        moment = self._standing()
        if not self._course.prepared.launch.is_interleaved:
            return [moment]
        return [moment, *self._course.turns.under_way(moment)]

    def stack(self, moment: Moment | None = None) -> list[Frame]:
        """The branch and the loops that the program is in, or another tile block, and the kernel, innermost first."""
        moment = moment if moment is not None else self._standing()
        return self._stacks.frames(moment, self._course.steps(moment.block))

    def variables(self, frame: Frame | None = None, moment: Moment | None = None) -> list[Variable]:
        """What has a name, here or where another tile block stands: the variables of the script, then the values of a
        frame that are computed, or of all."""
        moment = frame.moment if frame is not None else moment
        moment = moment if moment is not None else self._standing()
        return [*self._variables.visible(moment), *self.values(frame, moment)]

    def functions(self, moment: Moment | None = None) -> list[tuple[str, list[Variable]]]:
        """The variables of the script: of the function that the program is in, then of those that called it.

        The kernel is the last, and its parameters are left out.  Empty where no script is debugged.
        """
        return self._variables.functions(moment if moment is not None else self._standing())

    def changes(self, earlier: Moment, moment: Moment) -> list[Variable]:
        """What was assigned, or computed where no script is debugged, between two stops of a tile block."""
        return self._variables.changes(earlier, moment)

    def values(self, frame: Frame | None = None, moment: Moment | None = None) -> list[Variable]:
        """The values of a frame that are computed, or of all: of a script those that are no variables."""
        moment = frame.moment if frame is not None else moment
        return self._variables.of(moment if moment is not None else self._standing(), frame)

    def parameters(self, moment: Moment | None = None) -> list[Variable]:
        """The parameters of the kernel; of a script as they are now."""
        return self._variables.parameters(moment if moment is not None else self._standing())

    def arrays(self) -> list[Variable]:
        """The arrays that the kernel works on, as they are now."""
        return self._variables.arrays(self._standing())

    def accesses(self) -> list[Touched]:
        """What the tile block has read and written since the last stop, or with the last step if it was elsewhere."""
        moment = self._standing()
        earlier = self._before
        is_near = earlier.block == moment.block and earlier.step < moment.step
        return touched_by(self.recording, moment, earlier.step if is_near else moment.step - 1)

    def evaluate(self, expression: str, frame: Frame | None = None, more: Lookup | None = None) -> Result:
        """Compute an expression in NumPy's terms over what there is now, and `more` by name (docs/debugging.md).

        A mistake in it is an `ExpressionMistake`.
        """
        read = Expression(expression, self._variables.is_known)
        now = self._standing()
        moment = frame.moment if frame is not None else now

        def lookup(name: str) -> Any:
            found = more(name) if more is not None else None
            return found if found is not None else self._variables.lookup(moment, name, now)

        return Result(read.evaluate(lookup))
