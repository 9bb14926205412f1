"""The values of one tile block of a recording, as it runs again: told one by one with their steps, or collected."""

from __future__ import annotations

from typing import Any, Final

from tileir.dialect.types import PointerType, TileType
from tileir.execute.dtypes import Array
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.recording.recording import Recording
from tileir.ir.core import Operation
from tileir.ir.types import Type
from tileir.ir.values import Value

MOST_BYTES: Final = 1 << 27
"""So much of the values of a tile block is collected."""


class SteppedBlock(Observer):
    """Tells an observer of a tile block, and counts its steps."""

    def __init__(self, recording: Recording, observer: Observer) -> None:
        self.step: int = 0
        """The step of the operation that the observer is told of; of one with regions that is done, the last inside."""
        self._control = recording.control
        self._observer: Observer = observer
        self._wanted: set[Operation] = set()
        # The steps up to the last operation at which control flow decided something.
        self._steps: int = 0

    def watches(self, operation: Operation) -> bool:
        if self._observer.watches(operation):
            self._wanted.add(operation)
            return True
        return operation in self._control.decisions

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self.step = self._steps + self._control.distances[operation]
        if operation in self._control.decisions:
            self._steps = self.step
        if operation in self._wanted:
            self._observer.before(operation, block, operands)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        if operation in self._wanted:
            inside = 0 if operation in self._control.decisions else self._control.distances[operation]
            self.step = self._steps + inside
            self._observer.after(operation, block, results)

    def access(self, access: Access) -> Array | None:
        return self._observer.access(access)


class _Collector(Observer):
    """Keeps results; they are never changed in place where somebody watches."""

    def __init__(self, recording: Recording) -> None:
        self.found: dict[int, list[tuple[int, Any]]] = {}
        self.is_whole: bool = True
        self.stepped: SteppedBlock = SteppedBlock(recording, self)
        self._numbers = recording.program.value_numbers
        self._in_reductions = recording.program.in_reductions
        self._room: int = MOST_BYTES

    def watches(self, operation: Operation) -> bool:
        if operation in self._in_reductions:
            return False
        return any(compared_element(value) is not None for value in operation.results)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        for value, content in zip(operation.results, results, strict=True):
            if compared_element(value) is not None:
                self._room -= content.nbytes + 100
                if self._room < 0:
                    self.is_whole = False
                    return
                self.found.setdefault(self._numbers[value], []).append((self.stepped.step, content))


class BlockValues:
    """What a tile block computed: of each value, by number, the steps and the contents, one for each time.

    Where they are too many, `is_whole` is false, and those of the first part of the run are there.
    """

    def __init__(self, recording: Recording, block: int) -> None:
        collector = _Collector(recording)
        recording.watch(block, collector.stepped)
        self.found: dict[int, list[tuple[int, Any]]] = collector.found
        self.is_whole: bool = collector.is_whole


def compared_element(value: Value) -> Type | None:
    """The element type of a tile that can be compared; addresses are everybody's own."""
    type = value.type
    if not isinstance(type, TileType) or isinstance(type.element, PointerType):
        return None
    return type.element


def times_before(recording: Recording, block: int, step: int, value: int) -> int:
    """How often a value had been computed before the time that was the newest at a step; -1 if it was not yet."""
    owner = recording.program.values[value].defining_operation
    if owner is None:
        return -1
    number = recording.program.operation_numbers[owner]
    begun = int((recording.steps(block)[:step] == number).sum())
    newest = recording.history(block, step).at(value, step)
    if newest is None:
        return -1
    if owner.regions:
        # It is a step when it begins, and has its results when it ends.
        begun = int((recording.steps(block)[: newest[0]] == number).sum())
    return begun - 1
