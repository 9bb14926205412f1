"""Two recordings side by side: two inputs, two schedules, two versions of a kernel.

Of the same program every value is compared, each time it is computed with the same time in the other recording.  Of
different programs arrays are compared when the launches are over, those in the same place with the same shape.
"""

from __future__ import annotations

from typing import Any

import numpy

from tileir.analyze.comparing.block_values import MOST_BYTES, BlockValues, compared_element, times_before
from tileir.analyze.comparing.comparison import ArrayDifference, BlockComparison, Comparison, Moment
from tileir.analyze.comparing.differences import difference_of
from tileir.dialect.types import PointerType
from tileir.execute.dtypes import Array
from tileir.execute.errors import LaunchError
from tileir.execute.recording.recording import Recording
from tileir.ir.types import Type


class RecordingComparison(Comparison):
    """A recording beside another one."""

    def __init__(self, recording: Recording, other: Recording, id: str = "recording", title: str = "") -> None:
        super().__init__(recording)
        self.other: Recording = other
        self._other_values: tuple[int, BlockValues] | None = None
        self.id = id
        self.title = title or "another recording"
        self.same_program: bool = recording.program.lines == other.program.lines
        self.criterion = "Every difference counts."
        if not self.same_program:
            self.notes.append("The programs differ: only arrays at the end are compared.")
        elif recording.grid != other.grid:
            self.notes.append("The grids differ: tile blocks of the same number are compared.")

    def compare_block(self, block: int) -> BlockComparison:
        compared = BlockComparison(block)
        if not self.same_program or self.other.blocks.place(block) is None:
            return compared
        left, right = BlockValues(self.recording, block), self._values(block)
        program = self.recording.program
        moments: list[Moment] = []
        differing = False
        for number, times in left.found.items():
            value, others = program.values[number], right.found.get(number, [])
            element, owner = compared_element(value), value.defining_operation
            assert element is not None and owner is not None
            differing = differing or len(times) != len(others)
            for (step, here), (_, there) in zip(times, others, strict=False):
                difference = difference_of(element, here, there)
                if difference is not None:
                    operation = program.operation_numbers[owner]
                    moments.append(Moment(block, step, operation, number, difference, True))
        for moment in sorted(moments, key=lambda one: (one.step, one.value)):
            compared.add(moment)
        if not left.is_whole or not right.is_whole:
            self.note_once(f"Of long tile blocks the first {MOST_BYTES >> 20} MiB of values are compared.")
        elif differing:
            self.note_once("Some tile blocks take other ways through the program: what both computed is compared.")
        return compared

    def _values(self, block: int) -> BlockValues:
        """The values of a tile block of the other recording."""
        if self._other_values is None or self._other_values[0] != block:
            self._other_values = block, BlockValues(self.other, block)
        return self._other_values[1]

    def pair(self, block: int, step: int, value: int) -> tuple[Type, Array, Type, Array]:
        if not self.same_program:
            raise LaunchError("the programs differ: there is no value to compare")
        name = self.recording.program.name(value)
        element = compared_element(self.recording.program.values[value])
        if element is None:
            raise LaunchError(f"{name} is no tile of numbers")
        here = self.recording.tile(block, step, value)
        time = times_before(self.recording, block, step, value)
        self.other.place(block)
        others = self._values(block).found.get(value, [])
        if not 0 <= time < len(others):
            raise LaunchError(f"{name} is not computed so often in the other recording")
        return element, here, element, numpy.asarray(others[time][1])

    def array_differences(self) -> list[ArrayDifference]:
        found = []
        for left, right in zip(self.recording.arrays, self.other.arrays, strict=False):
            if left.shape != right.shape or left.element is not right.element:
                continue
            here: Any = self.recording.final(left.number)
            there: Any = self.other.final(right.number)
            if not isinstance(left.element, PointerType):
                difference = difference_of(left.element, here, there)
                if difference is not None:
                    found.append(ArrayDifference(left.number, difference))
        return found
