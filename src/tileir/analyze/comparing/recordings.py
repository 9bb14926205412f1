"""Two recordings side by side: two inputs, two schedules, two versions of a kernel.

Of the same program every value is compared, each time it is computed with the same time in the other recording.  Of
different programs arrays are compared when the launches are over, those in the same place with the same shape.
"""

from __future__ import annotations

from typing import Any

import numpy

from tileir.analyze.comparing.comparison import ArrayDifference, BlockComparison, Comparison, Moment
from tileir.analyze.comparing.differences import difference_of
from tileir.dialect.types import PointerType, TileType
from tileir.execute.dtypes import Array
from tileir.execute.errors import LaunchError
from tileir.execute.recording.recording import Recording
from tileir.ir.types import Type
from tileir.ir.values import Value


class RecordingComparison(Comparison):
    """A recording beside another one."""

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

    def compare_block(self, block: int) -> BlockComparison:
        compared = BlockComparison(block)
        if not self.same_program or self.other.blocks.place(block) is None:
            return compared
        program = self.recording.program
        left, right = self.recording.history(block), self.other.history(block)
        moments: list[Moment] = []
        shorter = False
        for number, value in enumerate(program.values):
            element = compared_element(value)
            owner = value.defining_operation
            if element is None or owner is None:
                continue
            steps, others = left.steps(number), right.steps(number)
            shorter = shorter or len(steps) != len(others)
            for step, step_there in zip(steps, others, strict=False):
                here, there = left.at(number, step), right.at(number, step_there)
                assert here is not None and there is not None
                difference = difference_of(element, here[1], there[1])
                if difference is not None:
                    operation = program.operation_numbers[owner]
                    moments.append(Moment(block, step, operation, number, difference, True))
        for moment in sorted(moments, key=lambda one: (one.step, one.value)):
            compared.add(moment)
        if shorter:
            note = "Some tile blocks take other ways through the program: what both computed is compared."
            if note not in self.notes:
                self.notes.append(note)
        return compared

    def pair(self, block: int, step: int, value: int) -> tuple[Type, Array, Type, Array]:
        if not self.same_program:
            raise LaunchError("the programs differ: there is no value to compare")
        element = compared_element(self.recording.program.values[value])
        if element is None:
            raise LaunchError(f"{self.recording.program.name(value)} is no tile of numbers")
        history = self.recording.history(block)
        newest = history.at(value, step)
        if newest is None:
            raise LaunchError(f"{self.recording.program.name(value)} is not computed yet at step {step}")
        time = history.steps(value).index(newest[0])
        there = self.other.history(block)
        steps = there.steps(value)
        if time >= len(steps):
            raise LaunchError(f"{self.recording.program.name(value)} is not computed so often in the other recording")
        other = there.at(value, steps[time])
        assert other is not None
        return element, numpy.asarray(newest[1]), element, numpy.asarray(other[1])

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


def compared_element(value: Value) -> Type | None:
    """The element type of a tile that can be compared; addresses are everybody's own."""
    type = value.type
    if not isinstance(type, TileType) or isinstance(type.element, PointerType):
        return None
    return type.element
