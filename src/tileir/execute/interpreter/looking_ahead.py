"""What later tile blocks will ask for, computed on other threads.

NumPy lets go of Python's lock while it multiplies, so another thread may multiply meanwhile.  Tile blocks run one after
another all the same, and no program can tell: a helper is given arrays that nobody changes, copies that stay with their
region until something writes to it, and does with them what the tile block would have done.  A tile block asks with
the arrays that it finds itself: if they are not those that the helper had, because memory was written to meanwhile or
the blocks come in an order that was not foreseen, the result is thrown away and nothing is foretold any more in this
launch.

The thread that launches does not wait while there is anything to do: it takes what no helper has begun.  Helpers end
with the launch; with the memory of its `LookAhead` at the latest, if an interrupt comes in between.

What a tile block will ask for follows from its number, if operations without effects lead from there to it.
"""

from __future__ import annotations

import _thread
import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

import numpy

from tileir.dialect.ops import ENTRY
from tileir.execute.dtypes import Array
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Registers, Step
from tileir.execute.observing.observer import TileBlock
from tileir.execute.schedule import block_at
from tileir.ir.core import Operation
from tileir.ir.traits import NO_MEMORY_EFFECT, PURE
from tileir.ir.values import Value
from tileir.processors import processors

Given = tuple[Any, ...]
Work = Callable[..., Array]

_MOST_HELPERS: Final = 2
"""More of them would wait for Python's lock."""


class _Task:
    """Work that a tile block is expected to ask for."""

    __slots__ = ("finished", "given", "result")

    def __init__(self, given: Given) -> None:
        self.given: Given = given
        self.result: Array | None = None
        self.finished: _thread.LockType = _thread.allocate_lock()
        self.finished.acquire()

    def run(self, work: Work) -> None:
        # What fails here is done again where it is asked for, and fails there; what a signal handler raises does not
        # belong to the work.
        try:
            with suppress(MemoryError, RecursionError):
                self.result = work(*self.given)
        finally:
            self.finish()

    def finish(self) -> None:
        # Once more after a fork in the middle.
        with suppress(RuntimeError):
            self.finished.release()


class LookAhead:
    """The results of `work` for the tile blocks of one launch, `count` of them, asked for one block after the other."""

    def __init__(self, work: Work, count: int) -> None:
        self._work: Work = work
        self._count: int = count
        self._tasks: dict[int, _Task] = {}
        # Whatever is no task is the end.
        self._waiting: SimpleQueue[object] = SimpleQueue()
        # Each is free once its thread has ended.
        self._helpers: list[_thread.LockType] = []
        self._wanted: int = min(processors() - 1, _MOST_HELPERS)
        self._following: int = 0

    def result(self, number: int, given: Given, foretell: Callable[[int], Given | None]) -> Array:
        """What the tile block of a number asks for; `foretell` says what a later one will, None if that is unknown."""
        task = self._tasks.get(number)
        if self._wanted:
            has_changed = task is not None and any(map(_differ, task.given, given))
            if has_changed or 0 < self._following <= number:
                self.close()
            else:
                self._look_from(number, foretell)
        if task is None or not self._wanted:
            return self._work(*given)
        while not task.finished.acquire(False):
            try:
                other = self._waiting.get_nowait()
            except Empty:
                task.finished.acquire()
                break
            if isinstance(other, _Task):
                other.run(self._work)
        self._tasks.pop(number, None)
        return task.result if task.result is not None else self._work(*given)

    def _look_from(self, number: int, foretell: Callable[[int], Given | None]) -> None:
        """Have the work of some following tile blocks done: enough for nobody to wait."""
        self._following = max(self._following, number + 1)
        # Tile blocks that have ended without asking.
        for passed in [each for each in self._tasks if each < number]:
            del self._tasks[passed]
        end = min(number + 2 + 2 * self._wanted, self._count)
        for later in range(self._following, end):
            given = foretell(later)
            if given is None:
                continue
            task = self._tasks[later] = _Task(given)
            self._waiting.put(task)
            if len(self._helpers) < self._wanted:
                self._start()
        self._following = max(self._following, end)

    def _start(self) -> None:
        if not self._helpers:
            _launches.add(self)
        running = _thread.allocate_lock()
        running.acquire()
        try:
            # Queues put what they are given in one step, which no interrupt divides.
            _thread.start_new_thread(_help, (self._waiting, self._work, running, weakref.ref(self, self._waiting.put)))
        except RuntimeError:
            # The system starts no more threads: this one does it all.
            self._wanted = min(len(self._helpers), self._wanted)
            return
        self._helpers.append(running)

    def close(self) -> None:
        """Forget what was foretold, look no further, and end the helpers."""
        if not self._wanted:
            return
        self._wanted = 0
        with suppress(Empty):
            while True:
                self._waiting.get_nowait()
        self._waiting.put(None)
        self._tasks.clear()
        while self._helpers:
            self._helpers[-1].acquire()
            self._helpers.pop()

    def abandon(self) -> None:
        """Do without helpers, which are not there any more, nor what they were about to finish."""
        self._wanted = 0
        for task in self._tasks.values():
            task.finish()
        for running in self._helpers:
            if running.locked():
                running.release()


def _differ(one: object, other: object) -> bool:
    return one is not other


def steps_before_blocks(compiler: Compiler, user: Operation, values: list[Value]) -> list[Step] | None:
    """The steps from the number of a tile block to values that `user` takes; None if it takes more than these, or if
    the block may end without `user`."""
    block = user.parent
    if block is None or block.parent_operation is None or block.parent_operation.declaration is not ENTRY:
        return None
    wanted = list(values)
    needed: set[Operation] = set()
    while wanted:
        value = wanted.pop()
        if compiler.known_before_blocks(value):
            continue
        operation = value.defining_operation
        if operation is None or operation.regions or operation.parent is not block:
            return None
        declaration = operation.declaration
        if not declaration.traits & (PURE | NO_MEMORY_EFFECT) and declaration not in compiler.roster.movable:
            return None
        if operation not in needed:
            needed.add(operation)
            wanted += operation.operands
    places = compiler.order_of(block).places
    steps = [
        compiler.roster.operations[operation.declaration](compiler, operation)
        for operation in sorted(needed, key=places.__getitem__)
    ]
    return [step for step in steps if step is not None]


def registers_of(registers: Registers, number: int, steps: list[Step]) -> Registers:
    """The registers of the tile block of a number after some steps, made of those of another tile block."""
    block: TileBlock = registers[BLOCK_SLOT]
    made = registers.copy()
    made[BLOCK_SLOT] = TileBlock(block_at(number, block.grid), number, block.grid, block.memory, block.write)
    for step in steps:
        step(made)
    return made


def _help(waiting: SimpleQueue[object], work: Work, running: _thread.LockType, launch: weakref.ref[LookAhead]) -> None:
    try:
        with numpy.errstate(all="ignore"):
            while isinstance(task := waiting.get(), _Task):
                # No signal handler runs here.
                with suppress(Exception):
                    task.run(work)
                del task
    finally:
        # For the other helpers.
        waiting.put(None)
        running.release()


_launches: weakref.WeakSet[LookAhead] = weakref.WeakSet()
"""Those with helpers."""


def _abandon_helpers() -> None:
    """In a process made by a fork: a signal handler may fork in the middle of a launch, whose helpers are not there."""
    for launch in list(_launches):
        launch.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_helpers)
