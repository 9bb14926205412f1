"""A recording beside what it would be in a wider float type: where does f16 go wrong first?

A value differs if it is not the wide value rounded to its type.  Most values of a longer computation differ by a unit
or two in the last place, which nobody minds.  A value is *wrong* once it has lost half of its digits: it is farther
from the wide value than half of the significant bits allow, relative to the largest number of its tile, or it is a NaN
or an infinity where the wide value is a number.  The bits are those of the least precise type that it was computed
with: an f32 that comes from an f16 is not wrong for having an f16's error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy

from tileir.analyze.comparing.comparison import BlockComparison, Comparison, Moment
from tileir.analyze.comparing.recordings import SteppedBlock
from tileir.analyze.comparing.shadow import Shadow, Shadowed
from tileir.analyze.comparing.widened import float_element, wider
from tileir.execute.array_difference import difference_from_exact
from tileir.execute.dtypes import Array
from tileir.execute.errors import LaunchError
from tileir.execute.locations.wording import several
from tileir.execute.recording.recording import Recording
from tileir.ir.core import Operation
from tileir.ir.types import F32, F64, FloatType, Type
from tileir.ir.values import Value

WIDE_TYPES: Final = {"f64": F64, "f32": F32}
_KEPT_BYTES: Final = 1 << 27

_Note: TypeAlias = Callable[[int, int, int, FloatType, Any, Shadowed], None]
"""Told of a step, the operation, the value, its element type, its content and its shadow."""


class PrecisionComparison(Comparison):
    """A recording beside the same run in a wider float type."""

    def __init__(self, recording: Recording, wide: FloatType = F64) -> None:
        super().__init__(recording)
        self.wide: FloatType = wide
        self.id = wide.name
        self.title = f"in {wide.name}"
        self.criterion = (
            f"Each tile block is computed again in {wide.name} from what it reads, and follows the run's decisions. "
            "A value is wrong once it has lost half of the digits of the least precise type it was computed with."
        )
        self._taken: set[Operation] = set()
        # The shadows of the last tile block, by step and value, as far as they are kept.
        self._shadows: tuple[int, dict[tuple[int, int], Array]] = (-1, {})

    def compare_block(self, block: int) -> BlockComparison:
        compared = BlockComparison(block)

        def note(step: int, operation: int, number: int, element: FloatType, content: Any, shadowed: Shadowed) -> None:
            difference = difference_from_exact(element, content, shadowed.numbers)
            if difference is not None:
                # Half of the significant bits are lost.
                wrong = difference.overall > 2.0 ** (-shadowed.bits / 2)
                compared.add(Moment(block, step, operation, number, difference, wrong))

        self._run(block, note)
        return compared

    def pair(self, block: int, step: int, value: int) -> tuple[Type, Array, Type, Array]:
        program = self.recording.program
        left = self.recording.tile(block, step, value)
        newest = self.recording.history(block, step).at(value, step)
        element = float_element(program.values[value])
        if element is None:
            raise LaunchError(f"{program.name(value)} is no tile of floats: it is the same in both runs")
        exact = self._shadow(block, newest[0] if newest is not None else 0, value)
        if exact is None:
            raise LaunchError(f"{program.name(value)} is given, and not computed: there is nothing to compare")
        return element, left, wider(element, self.wide), exact

    def _shadow(self, block: int, step: int, value: int) -> Array | None:
        """What a value is in the wide type when a step has computed it; None if it is given."""
        known, kept = self._shadows
        if known == block and (step, value) in kept:
            return kept[step, value]
        kept = {}
        found: Array | None = None
        room = _KEPT_BYTES

        def note(at: int, operation: int, number: int, element: FloatType, content: Any, shadowed: Shadowed) -> None:
            nonlocal room, found
            numbers = numpy.asarray(shadowed.numbers)
            if at == step and number == value:
                found = numbers
            room -= numbers.nbytes
            if room >= 0:
                kept[at, number] = numbers

        self._run(block, note)
        self._shadows = block, kept
        return found

    def _run(self, block: int, note: _Note) -> None:
        """Run a tile block again with a shadow, and tell `note` of each float that an operation has computed."""
        program = self.recording.program

        def seen(operation: Operation, computed: list[tuple[Value, FloatType, Any, Shadowed]]) -> None:
            number = program.operation_numbers[operation]
            for value, element, content, shadowed in computed:
                note(stepped.step, number, program.value_numbers[value], element, content, shadowed)

        shadow = Shadow(self.wide, seen)
        stepped = SteppedBlock(self.recording, shadow)
        self.recording.watch(block, stepped)
        fresh = set(shadow.taken) - self._taken
        if fresh:
            self._taken |= fresh
            names = sorted({operation.declaration.mnemonic for operation in self._taken})
            count = several(len(self._taken), "operation")
            self.notes = [f"Results of {count} ({', '.join(names)}) are taken as they are, as they work on bits."]
