"""Running ahead, and looking back, to the next reason to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.errors import ExecutionError
from tileir.execute.observing.observer import Observer, Observers, TileBlock
from tileir.execute.recording.recorder import Interrupted
from tileir.execute.sanitizer.number_watch import NumberWatch
from tileir.execute.sanitizer.report import Names
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.execute.schedule import block_at
from tileir.ir.core import Operation
from tileir.ir.values import Value
from tileir.serve.debugger.breakpoints import Breakpoint, Breakpoints
from tileir.serve.debugger.course import Course
from tileir.serve.debugger.hooks import HookMaker
from tileir.serve.debugger.moments import Event, Moment
from tileir.serve.debugger.names import ValueNames
from tileir.serve.debugger.scouting import AccessScout, Hit, Hook, Reached, ReportingScout, Scout, Watcher, WritingScout


class Runner:
    """Finds where a launch stops."""

    def __init__(
        self,
        course: Course,
        names: ValueNames,
        breakpoints: Breakpoints,
        output: Callable[[str], object],
        words: Names,
    ) -> None:
        self._course: Course = course
        self._names: ValueNames = names
        self._breakpoints: Breakpoints = breakpoints
        self._output: Callable[[str], object] = output
        self._words: Names = words
        # The operations that were found to make a NaN, with the moment: each is a reason to stop once.
        self._made: dict[Operation, Moment] = {}
        self.error: ExecutionError | None = None
        """What ended the launch, if it is known to fail."""

    # --- what may be hit ---

    def wanted(self, breakpoints: list[Breakpoint]) -> Array:
        """Which operations breakpoints stop before."""
        found = numpy.zeros(len(self._course.prepared.program.operations), numpy.bool_)
        for one in breakpoints:
            found[one.operations] = True
            found[[self._breakpoints.computing(value) for value in one.values]] = True
        return found

    def _plain_hit(self, moment: Moment) -> Hit | None:
        """The hit of breakpoints without conditions at a moment."""
        number = int(self._course.steps(moment.block)[moment.step])
        block = block_at(moment.block, self._course.prepared.launch.grid)
        numbers = [
            one.number
            for one in self._breakpoints.active
            if number in one.operations and one.block in (None, block) and (one.kind != "block" or moment.step == 0)
        ]
        return Hit("breakpoint", moment, "", tuple(numbers)) if numbers else None

    # --- forwards ---

    def ahead(
        self, start: Moment, stop_on: set[Event], until: Moment | None = None, is_ignoring: bool = False
    ) -> Hit | None:
        """The first reason to stop behind a moment; None if the launch comes to its end.

        A step goes `until` a moment, and is not stopped by what other tile blocks do meanwhile.  `is_ignoring` goes to
        the end whatever there is.
        """
        course = self._course
        events = stop_on & {"nan", "sanitizer"} if not is_ignoring else set()
        active = self._breakpoints.active if not is_ignoring else []
        place = course.place(start.block)
        if not events and until is None and all(one.is_plain for one in active):
            hit = self._recorded_ahead(start, active)
            if hit is not None:
                return hit
            place = max(place, course.stepwise.whole)
        from_start = (
            not course.stepwise.is_sequential
            or "sanitizer" in events
            or any(one.hit_condition is not None for one in active)
        )
        place = 0 if from_start else place
        if course.stepwise.is_full:
            # Of a recording that has no room left, the last tile block is not whole, and memory is not as it leaves it.
            place = min(place, len(course.recording.blocks) - 1)
        elif place >= course.stepwise.count:
            return None
        maker = self._maker(start)
        hooks = [hook for one in active for hook in maker.hooks(one)]
        if until is not None:
            hooks.append(self._until(until))

        def is_ahead(moment: Moment) -> bool:
            return course.is_later(moment, start) and (
                until is None or moment.block == start.block or moment.block == until.block
            )

        scout, observer = self._scout(hooks, is_ahead, events)
        try:
            course.rehearse(observer, place, course.writer(place))
        except Reached as reached:
            hit = reached.hit
            if hit.reason == "nan":
                self._made[self._operation(scout, hit)] = hit.moment
            return hit
        except Interrupted:
            moment = scout.moment
            course.interruption.is_wanted = False
            # A run begins with the tile block, so it may be interrupted before it has come to where the launch stands.
            if moment is None or not course.is_later(moment, start):
                moment = Moment(start.block, max(start.step, 0))
            return Hit("pause", moment)
        except ExecutionError as error:
            self.error = error
            if "failure" in stop_on and not is_ignoring:
                return self._failure(scout, error, start)
        return None

    def _operation(self, scout: Scout, hit: Hit) -> Operation:
        assert isinstance(scout, ReportingScout) and scout.found is not None
        return scout.found

    def _recorded_ahead(self, start: Moment, active: list[Breakpoint]) -> Hit | None:
        """The next of the breakpoints without conditions in what is recorded."""
        if not active or not len(self._course.turns):
            return None
        for moment in self._course.turns.forwards(start, self.wanted(active)):
            hit = self._plain_hit(moment)
            if hit is not None:
                return hit
        return None

    def _failure(self, scout: Scout, error: ExecutionError, start: Moment) -> Hit | None:
        block = error.block
        if block is None:
            return None
        width, height, _ = self._course.prepared.launch.grid
        number = block[0] + width * (block[1] + height * block[2])
        moment = scout.failed_at or Moment(number, 0)
        return Hit("failure", moment, str(error)) if self._course.is_later(moment, start) else None

    def _until(self, until: Moment) -> Hook:
        operation = int(self._course.steps(until.block)[until.step])
        return Hook(
            self._course.prepared.program.operations[operation],
            lambda block, moment, given: Hit("step", moment) if moment == until else None,
        )

    def _ending(self, end: Moment) -> Hook:
        """Ends a look at the past where the debugger stands."""

        def reach(block: TileBlock, moment: Moment, given: dict[Value, Any]) -> None:
            if moment == end:
                raise Reached(Hit("step", moment))

        operation = int(self._course.steps(end.block)[end.step])
        return Hook(self._course.prepared.program.operations[operation], reach)

    def _maker(self, start: Moment) -> HookMaker:
        course = self._course
        prepared = course.prepared

        def log(moment: Moment, text: str) -> None:
            if course.is_later(moment, start):
                self._output(text)

        launch = prepared.launch
        return HookMaker(prepared.program, self._names, prepared.arrays, launch.values, launch.grid, log)

    def _scout(
        self, hooks: list[Hook], is_ahead: Callable[[Moment], bool], events: set[Event], is_back: bool = False
    ) -> tuple[Scout, Observer]:
        prepared = self._course.prepared
        arguments = (prepared.program, prepared.control, hooks, self._course.interruption, is_ahead, is_back)
        watchers: list[Watcher] = []
        if self._course.recording.sanitize:
            sanitizer = Sanitizer()
            watchers.append(Watcher(sanitizer, sanitizer.report, "sanitizer"))
        if "nan" in events:
            numbers = NumberWatch()
            watchers.append(Watcher(numbers, numbers.report, "nan"))
        if watchers:
            for one in watchers:
                one.report.names = self._words
            scout = ReportingScout(*arguments, watchers=watchers, made=self._made)
            return scout, Observers([*[one.observer for one in watchers], scout])
        if any(hook.touch is not None for hook in hooks):
            touching = AccessScout(*arguments)
            return touching, touching
        if any(hook.is_behind for hook in hooks):
            scout_behind = WritingScout(*arguments)
            return scout_behind, scout_behind
        plain = Scout(*arguments)
        return plain, plain

    # --- backwards ---

    def back(self, start: Moment, blocks: Sequence[int] = ()) -> Hit | None:
        """The last reason to stop before a moment, in some tile blocks if these are told; None if there is none."""
        course = self._course
        active = self._breakpoints.active
        stopping = [one for one in active if one.log is None]
        best: Hit | None = None
        for made in self._made.values():
            if blocks and made.block not in blocks:
                continue
            if course.is_later(start, made) and (best is None or course.is_later(made, best.moment)):
                best = Hit("nan", made)
        hit: Hit | None = None
        if all(one.is_plain for one in stopping):
            for moment in course.turns.backwards(start, self.wanted(stopping)):
                hit = self._plain_hit(moment) if not blocks or moment.block in blocks else None
                if hit is not None:
                    break
        elif stopping:
            maker = self._maker(start)
            hooks = [hook for one in stopping for hook in maker.hooks(one)]
            if start.step < len(course.steps(start.block)):
                hooks.append(self._ending(start))

            def is_before(moment: Moment) -> bool:
                return course.is_later(start, moment) and (not blocks or moment.block in blocks)

            scout, observer = self._scout(hooks, is_before, set(), True)
            try:
                course.rehearse(observer, 0, course.writer(0))
            except (Reached, ExecutionError):
                pass
            hit = scout.last
        if hit is not None and (best is None or course.is_later(hit.moment, best.moment)):
            return hit
        return best
