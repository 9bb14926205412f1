"""What later tile blocks will ask for, computed on other threads.

NumPy lets go of Python's lock while it multiplies, so another thread may multiply meanwhile.  Tile blocks run one after
another all the same, and no program can tell: a helper is given arrays that nobody changes, copies that stay with their
region until something writes to it, and does with them what the tile block would have done.  A tile block asks with
the arrays that it finds itself: if they are not those that the helper had, because memory was written to meanwhile or
the blocks come in an order that was not foreseen, the result is thrown away and nothing is foretold any more in this
launch.

The thread that launches does not wait while there is anything to do: it takes what no helper has begun.  Helpers end
with the launch.

What a tile block will ask for follows from its number, if operations without effects lead from there to it.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

import numpy

from tileir.dialect.ops import ENTRY
from tileir.execute.dtypes import Array
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Registers, Step
from tileir.execute.observer import TileBlock
from tileir.execute.schedule import block_at
from tileir.ir.core import Operation
from tileir.ir.declaration import NO_MEMORY_EFFECT, PURE
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
        # What fails here is done again where it is asked for, and fails there.
        with suppress(Exception):
            self.result = work(*self.given)
        self.finished.release()


class LookAhead:
    """The results of `work` for the tile blocks of one launch, `count` of them, asked for one block after the other."""

    def __init__(self, work: Work, count: int) -> None:
        self._work: Work = work
        self._count: int = count
        self._tasks: dict[int, _Task] = {}
        self._waiting: SimpleQueue[_Task | None] = SimpleQueue()
        # Each is free once its thread has ended.
        self._helpers: list[_thread.LockType] = []
        self._wanted: int = min(processors() - 1, _MOST_HELPERS)
        self._following: int = 0

    def result(self, number: int, given: Given, foretell: Callable[[int], Given | None]) -> Array:
        """What the tile block of a number asks for; `foretell` says what a later one will, None if that is unknown."""
        task = self._tasks.pop(number, None)
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
            assert other is not None
            other.run(self._work)
        return task.result if task.result is not None else self._work(*given)

    def _look_from(self, number: int, foretell: Callable[[int], Given | None]) -> None:
        """Have the work of some following tile blocks done: enough for nobody to wait."""
        self._following = max(self._following, number + 1)
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
        running = _thread.allocate_lock()
        running.acquire()
        try:
            _thread.start_new_thread(_help, (self._waiting, self._work, running))
        except RuntimeError:
            # The system starts no more threads: this one does it all.
            self._wanted = len(self._helpers)
            return
        self._helpers.append(running)

    def close(self) -> None:
        """Forget what was foretold, look no further, and end the helpers."""
        self._wanted = 0
        self._tasks.clear()
        with suppress(Empty):
            while True:
                self._waiting.get_nowait()
        helpers, self._helpers = self._helpers, []
        for _ in helpers:
            self._waiting.put(None)
        for running in helpers:
            running.acquire()


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


def _help(waiting: SimpleQueue[_Task | None], work: Work, running: _thread.LockType) -> None:
    try:
        with numpy.errstate(all="ignore"):
            while (task := waiting.get()) is not None:
                task.run(work)
                del task
    finally:
        running.release()
