"""`StopSearch`: runs ahead, or looks back, to the next reason to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.errors import ExecutionError
from tileir.execute.observing.observer import Observer, Observers, TileBlock
from tileir.execute.recording.recorder import Interrupted
from tileir.execute.sanitizer.number_watch import NumberWatch
from tileir.execute.sanitizer.report import Names
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.execute.schedule import block_at, block_number
from tileir.ir.core import Operation
from tileir.serve.debugger.breakpoints import Breakpoint, LaunchBreakpoints
from tileir.serve.debugger.history import LaunchHistory, Reached
from tileir.serve.debugger.hooks import (
    AccessObserver,
    Checker,
    FindingObserver,
    Hook,
    HookMaker,
    HookValues,
    StopObserver,
)
from tileir.serve.debugger.stops import Event, Position, Stop
from tileir.serve.debugger.value_names import ValueNames


@dataclass(eq=False)
class StopSearch:
    """Finds where a launch stops."""

    _history: LaunchHistory
    _names: ValueNames
    _breakpoints: LaunchBreakpoints
    _output: Callable[[str], object]
    _report_names: Names
    _made: dict[Operation, Position] = field(default_factory=dict)
    """The operations that made a NaN, with the position: each is a reason to stop once."""
    error: ExecutionError | None = None  # What ended the launch, if it is known to fail.

    def operations(self, breakpoints: list[Breakpoint]) -> Array:
        """Which operations breakpoints stop before."""
        found = numpy.zeros(len(self._history.prepared.program.operations), numpy.bool_)
        for one in breakpoints:
            found[one.operations] = True
            found[[self._breakpoints.computing(value) for value in one.values]] = True
        return found

    def _plain_stop(self, position: Position) -> Stop | None:
        """The stop of breakpoints without conditions at a position."""
        number = int(self._history.steps(position.block)[position.step])
        block = block_at(position.block, self._history.prepared.launch.grid)
        numbers = [
            one.number
            for one in self._breakpoints.active
            if number in one.operations and one.block in (None, block) and (one.kind != "block" or position.step == 0)
        ]
        return Stop("breakpoint", position, "", tuple(numbers)) if numbers else None

    def ahead(
        self, start: Position, stop_on: set[Event], until: Position | None = None, ignore: bool = False
    ) -> Stop | None:
        """The first reason to stop after a position; None if the launch ends first, with `ignore` whatever there is.

        A step goes `until` a position, and ignores what other tile blocks do meanwhile.
        """
        history = self._history
        events = stop_on & {"nan", "sanitizer"} if not ignore else set()
        active = self._breakpoints.active if not ignore else []
        index = history.stepwise.place(start.block)
        counts_hits = any(one.hit_condition is not None for one in active)
        if not history.stepwise.is_sequential or "sanitizer" in events or counts_hits:
            index = 0
        if history.stepwise.is_full:
            # The last tile block of a full recording is not whole, and memory is not as it leaves it.
            index = min(index, len(history.recording.blocks) - 1)
        hooks = self._hooks(active, start)
        if until is not None:
            hooks.append(self._hook_at(until, lambda position: Stop("step", position)))

        def is_ahead(position: Position) -> bool:
            return history.is_later(position, start) and (until is None or position.block in (start.block, until.block))

        observer, observers = self._observers(hooks, is_ahead, events)
        try:
            history.rehearse(observers, index)
        except Reached as reached:
            return reached.stop
        except Interrupted:
            history.interruption.is_requested = False
            position = observer.interrupted_at
            # The run begins with the tile block, maybe before where the launch stands.
            if position is None or not history.is_later(position, start):
                position = Position(start.block, max(start.step, 0))
            return Stop("pause", position)
        except ExecutionError as error:
            self.error = error
            if "failure" in stop_on and not ignore and error.block is not None:
                position = observer.failed_at or Position(block_number(error.block, history.prepared.launch.grid), 0)
                return Stop("failure", position, str(error)) if history.is_later(position, start) else None
        return None

    def _hook_at(self, there: Position, stop: Callable[[Position], Stop]) -> Hook:
        def reach(block: TileBlock, position: Position, given: HookValues) -> Stop | None:
            return stop(position) if position == there else None

        operation = int(self._history.steps(there.block)[there.step])
        return Hook(self._history.prepared.program.operations[operation], reach)

    def _hooks(self, breakpoints: list[Breakpoint], start: Position) -> list[Hook]:
        def log(position: Position, text: str) -> None:
            if self._history.is_later(position, start):
                self._output(text)

        maker = HookMaker(self._history.prepared, self._names, log)
        return [hook for one in breakpoints for hook in maker.hooks(one)]

    def _observers(
        self, hooks: list[Hook], is_ahead: Callable[[Position], bool], events: set[Event], is_back: bool = False
    ) -> tuple[StopObserver, Observer]:
        """The observer that stops, and all of them in one."""
        arguments = (self._history.prepared, hooks, self._history.interruption, is_ahead, is_back)
        checkers: list[Checker] = [Sanitizer()] if self._history.recording.sanitize else []
        if "nan" in events:
            checkers.append(NumberWatch())
        if checkers:
            for one in checkers:
                one.report.names = self._report_names
            finder = FindingObserver(*arguments, checkers=checkers, made=self._made)
            return finder, Observers([*checkers, finder])
        # The interpreter calls only what a class overrides.
        plain = AccessObserver(*arguments) if any(hook.is_behind for hook in hooks) else StopObserver(*arguments)
        return plain, plain

    def back(self, start: Position, blocks: Sequence[int] = ()) -> Stop | None:
        """The last reason to stop before a position, in some tile blocks if any are given; None if there is none."""
        history = self._history
        stopping = [one for one in self._breakpoints.active if one.log is None]

        def is_before(position: Position) -> bool:
            return history.is_later(start, position) and (not blocks or position.block in blocks)

        found: Stop | None = None
        if all(one.is_plain for one in stopping):
            positions = filter(is_before, history.timeline.backwards(start, self.operations(stopping)))
            found = next(filter(None, map(self._plain_stop, positions)), None)
        elif stopping:
            hooks = self._hooks(stopping, start)
            if start.step < len(history.steps(start.block)):
                hooks.append(self._hook_at(start, self._end_look_back))
            observer, observers = self._observers(hooks, is_before, set(), True)
            try:
                history.rehearse(observers, 0)
            except (Reached, ExecutionError):
                pass
            found = observer.last
        for made in filter(is_before, self._made.values()):
            if found is None or history.is_later(made, found.position):
                found = Stop("nan", made)
        return found

    def _end_look_back(self, position: Position) -> Stop:
        raise Reached(Stop("step", position))
