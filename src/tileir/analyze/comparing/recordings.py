"""Comparisons value by value, each time a value is computed; and two recordings side by side.

Of two recordings of the same program every value is compared.  Of different programs arrays are compared when the
launches are over, those with the same number and shape.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from typing import Any, Final

import numpy

from tileir.analyze.comparing.comparison import (
    ArrayDifference,
    BlockComparison,
    Comparison,
    ValueDifference,
    differing_arrays,
)
from tileir.analyze.comparing.widened import compared_element
from tileir.execute.array_difference import difference_of
from tileir.execute.dtypes import Array
from tileir.execute.errors import LaunchError
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.execute.recording.recording import Recording
from tileir.ir.core import Operation
from tileir.ir.types import Type

MOST_BYTES: Final = 1 << 27
"""So much of the values of a tile block is collected."""


class SteppedBlock(Observer):
    """Notifies an observer of a tile block, and counts its steps."""

    def __init__(self, recording: Recording, observer: Observer) -> None:
        self.step: int = 0
        """The step of the operation that the observer is notified of; after one with regions, the last inside."""
        self._control = recording.control
        self._observer: Observer = observer
        self._watched: set[Operation] = set()
        # The steps up to the last operation at which control flow decided something.
        self._steps: int = 0

    def watches(self, operation: Operation) -> bool:
        if self._observer.watches(operation):
            self._watched.add(operation)
            return True
        return operation in self._control.decisions

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self.step = self._steps + self._control.distances[operation]
        if operation in self._control.decisions:
            self._steps = self.step
        if operation in self._watched:
            self._observer.before(operation, block, operands)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        if operation in self._watched:
            inside = 0 if operation in self._control.decisions else self._control.distances[operation]
            self.step = self._steps + inside
            self._observer.after(operation, block, results)

    def access(self, access: Access) -> Array | None:
        return self._observer.access(access)


class BlockValues(Observer):
    """What a tile block of a recording computed, as it runs again.

    `found` has of each value, by number, the steps and the contents, one for each time.  Where they are too many,
    `is_whole` is false, and those of the first part of the run are there.
    """

    def __init__(self, recording: Recording, block: int) -> None:
        self.found: dict[int, list[tuple[int, Any]]] = {}
        self.is_whole: bool = True
        self._program = recording.program
        self._room: int = MOST_BYTES
        self._stepped: SteppedBlock = SteppedBlock(recording, self)
        recording.watch(block, self._stepped)

    def watches(self, operation: Operation) -> bool:
        if operation in self._program.in_reductions:
            return False
        return any(compared_element(value) is not None for value in operation.results)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        for value, content in zip(operation.results, results, strict=True):
            if compared_element(value) is not None:
                self._room -= content.nbytes + 100
                self.is_whole = self._room >= 0
                if not self.is_whole:
                    return
                number = self._program.value_numbers[value]
                self.found.setdefault(number, []).append((self._stepped.step, content))


class ValueComparison(Comparison):
    """A recording beside a run whose values are known too; every difference is wrong."""

    missing: str
    """Why a value has no counterpart."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording)
        # For each recording the last requested tile block, and its values.
        self._collected: dict[Recording, tuple[int, BlockValues]] = {}

    @abstractmethod
    def other_values(self, block: int) -> dict[int, list[Array]]:
        """What the other run computed in a tile block: of each value, by number, what it was each time."""

    def compare_block(self, block: int) -> BlockComparison:
        compared = BlockComparison(block)
        program = self.recording.program
        here, there = self.values_of(self.recording, block), self.other_values(block)
        differences: list[ValueDifference] = []
        for number, contents in there.items():
            value = program.values[number]
            element, owner = compared_element(value), value.defining_operation
            assert element is not None and owner is not None
            operation = program.operation_numbers[owner]
            for (step, content), other in zip(here.found.get(number, []), contents, strict=False):
                difference = difference_of(element, content, other)
                if difference is not None:
                    differences.append(ValueDifference(block, step, operation, number, difference, True))
        for each in sorted(differences, key=lambda one: (one.step, one.value)):
            compared.add(each)
        if not here.is_whole:
            self.note_once(f"Of long tile blocks the first {MOST_BYTES >> 20} MiB of values are compared.")
        return compared

    def pair(self, block: int, step: int, value: int) -> tuple[Type, Array, Type, Array]:
        program = self.recording.program
        element = compared_element(program.values[value])
        if element is None:
            raise LaunchError(f"{program.name(value)} is no tile of numbers")
        here = self.recording.tile(block, step, value)
        steps = [at for at, _ in self.values_of(self.recording, block).found.get(value, [])]
        time = bisect_right(steps, step) - 1
        others = self.other_values(block).get(value, [])
        if not 0 <= time < len(others):
            raise LaunchError(f"{program.name(value)} {self.missing}")
        return element, here, element, numpy.asarray(others[time])

    def values_of(self, recording: Recording, block: int) -> BlockValues:
        if recording not in self._collected or self._collected[recording][0] != block:
            self._collected[recording] = block, BlockValues(recording, block)
        return self._collected[recording][1]


class RecordingComparison(ValueComparison):
    """A recording beside another one."""

    missing = "is computed fewer times in the other recording"

    def __init__(self, recording: Recording, other: Recording, id: str = "recording", title: str = "") -> None:
        super().__init__(recording)
        self.other: Recording = other
        self.id = id
        self.title = title or "another recording"
        self.same_program: bool = recording.program.lines == other.program.lines
        self.criterion = "Every difference counts."
        if not self.same_program:
            self.notes.append("The programs differ: only arrays at the end are compared.")
        elif recording.grid != other.grid:
            self.notes.append("The grids differ: tile blocks of the same number are compared.")

    def other_values(self, block: int) -> dict[int, list[Array]]:
        self.other.place(block)
        found = self.values_of(self.other, block).found
        return {number: [content for _, content in times] for number, times in found.items()}

    def compare_block(self, block: int) -> BlockComparison:
        if not self.same_program or self.other.blocks.place(block) is None:
            return BlockComparison(block)
        compared = super().compare_block(block)
        left, right = self.values_of(self.recording, block), self.values_of(self.other, block)
        is_whole = left.is_whole and right.is_whole
        if is_whole and any(len(times) != len(right.found.get(number, [])) for number, times in left.found.items()):
            self.note_once(
                "Some tile blocks take different branches: only the values that both runs computed are compared."
            )
        return compared

    def pair(self, block: int, step: int, value: int) -> tuple[Type, Array, Type, Array]:
        if not self.same_program:
            raise LaunchError("the programs differ: there is no value to compare")
        return super().pair(block, step, value)

    def array_differences(self) -> list[ArrayDifference]:
        return differing_arrays(
            (left, self.recording.final(left.number), self.other.final(right.number))
            for left, right in zip(self.recording.arrays, self.other.arrays, strict=False)
            if left.shape == right.shape and left.element is right.element
        )
