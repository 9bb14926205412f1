"""`compare`: a recording beside another run; the comparisons that the page offers; and the one with a wider float type.

In a wider float type: where does f16 go wrong first?  A value differs if it is not the wide value rounded to its type.
Most values of a longer computation differ by a unit or two in the last place, which nobody minds.  A value is *wrong*
once it has lost half of its digits: it is farther from the wide value than half of the significant bits allow, relative
to the largest number of its tile, or it is a NaN or an infinity where the wide value is a number.  The bits are those
of the least precise type it was computed with: an f32 that comes from an f16 is not wrong for having an f16's error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy

from tileir.analyze.comparing.comparison import BlockComparison, Comparison, Part, ValueDifference
from tileir.analyze.comparing.engine_run import EngineComparison, why_not
from tileir.analyze.comparing.recordings import RecordingComparison, SteppedBlock
from tileir.analyze.comparing.shadow import Shadow, Shadowed
from tileir.analyze.comparing.widened import float_element, wider
from tileir.execute.array_difference import difference_from_exact
from tileir.execute.dtypes import Array
from tileir.execute.engine.registry import all_engines, find_engine
from tileir.execute.errors import LaunchError
from tileir.execute.locations.wording import several
from tileir.execute.recording.recording import Recording
from tileir.ir.core import Operation
from tileir.ir.quoting import type_text
from tileir.ir.types import F32, F64, FloatType, Type
from tileir.ir.values import Value

WIDE_TYPES: Final = {"f64": F64, "f32": F32}
_KEPT_BYTES: Final = 1 << 27

_Note: TypeAlias = Callable[[int, int, int, FloatType, Any, Shadowed], None]
"""Called with a step, the operation, the value, its element type, its content and its shadow."""


class PrecisionComparison(Comparison):
    """A recording beside the same run in a wider float type."""

    def __init__(self, recording: Recording, wide: FloatType = F64) -> None:
        super().__init__(recording)
        self.wide: FloatType = wide
        self.id = wide.name
        self.title = f"in {wide.name}"
        self.criterion = (
            f"Each tile block is computed again in {wide.name} from what it reads, and follows the run's decisions. "
            "A value is wrong if it has lost half of the digits of the least precise type in its computation."
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
                compared.add(ValueDifference(block, step, operation, number, difference, wrong))

        self._run(block, note)
        return compared

    def pair(self, block: int, step: int, value: int) -> tuple[Type, Array, Type, Array]:
        program = self.recording.program
        left = self.recording.tile(block, step, value)
        newest = self.recording.history(block, step).at(value, step)
        element = float_element(program.values[value])
        if element is None:
            raise LaunchError(f"{program.name(value)} is not a tile of floats: it is the same in both runs")
        exact = self._shadow(block, newest[0] if newest is not None else 0, value)
        if exact is None:
            raise LaunchError(f"{program.name(value)} is an input: there is nothing to compare")
        return element, left, wider(element, self.wide), exact

    def _shadow(self, block: int, step: int, value: int) -> Array | None:
        """What a value is in the wide type when a step has computed it; None if it is given."""
        if self._shadows[0] != block or (step, value) not in self._shadows[1]:
            kept: dict[tuple[int, int], Array] = {}
            room = _KEPT_BYTES

            def note(at: int, operation: int, number: int, element: FloatType, content: Any, shadow: Shadowed) -> None:
                nonlocal room
                numbers = numpy.asarray(shadow.numbers)
                room -= numbers.nbytes
                if room >= 0 or (at, number) == (step, value):
                    kept[at, number] = numbers

            self._run(block, note)
            self._shadows = block, kept
        return self._shadows[1].get((step, value))

    def _run(self, block: int, note: _Note) -> None:
        """Run a tile block again with a shadow, and call `note` for each float that an operation computes."""
        program = self.recording.program

        def seen(operation: Operation, computed: list[tuple[Value, FloatType, Any, Shadowed]]) -> None:
            number = program.operation_numbers[operation]
            for value, element, content, shadowed in computed:
                note(stepped.step, number, program.value_numbers[value], element, content, shadowed)

        shadow = Shadow(self.wide, seen)
        stepped = SteppedBlock(self.recording, shadow)
        self.recording.watch(block, stepped)
        if not self._taken.issuperset(shadow.taken):
            self._taken.update(shadow.taken)
            names = sorted({operation.declaration.mnemonic for operation in self._taken})
            count = several(len(self._taken), "operation")
            self.notes = [
                f"Results of {count} ({', '.join(names)}) are not computed in the wider type: they work on bits."
            ]


def compare(recording: Recording, other: str | Recording = "f64") -> Comparison:
    """A recording beside another run.

    `other` is a float type with more digits ("f64" or "f32"), in which the run is computed again; the name of a backend
    ("cpu"), on which the launch is run again; or another recording.
    """
    if not isinstance(recording, Recording):
        raise LaunchError(f"compare takes a recording, which tileir.record makes, and not {type_text(recording)}")
    if isinstance(other, Recording):
        return RecordingComparison(recording, other)
    if not isinstance(other, str):
        raise LaunchError(f"compare with 'f64', 'f32', the name of a backend or a recording, not with {other!r}")
    wide = WIDE_TYPES.get(other)
    if wide is not None:
        reason = _why_not_wider(recording, wide)
        if reason:
            raise LaunchError(f"there is nothing to compare in {other}: {reason}")
        return PrecisionComparison(recording, wide)
    find_engine(other)
    return EngineComparison(recording, other)


def _why_not_wider(recording: Recording, wide: FloatType) -> str:
    elements = [float_element(value) for value in recording.program.values]
    if any(element is not None and wider(element, wide) is not element for element in elements):
        return ""
    return f"no value has fewer digits than {wide.name}"


class Comparisons:
    """The comparisons of a recording that a page offers, each made when it is first requested.

    `recordings` are further ones, by the title they have in the page.
    """

    def __init__(self, recording: Recording, recordings: Mapping[str, Recording] | None = None) -> None:
        self._recording: Recording = recording
        self._others: dict[str, tuple[str, Recording]] = {
            f"recording{number}": (title, other) for number, (title, other) in enumerate((recordings or {}).items())
        }
        self._made: dict[str, Comparison] = {}

    @property
    def recordings(self) -> list[Recording]:
        return [self._recording, *[other for _, other in self._others.values()]]

    def listed(self) -> list[dict[str, Any]]:
        """What there is to choose from, each with the reason why it cannot be chosen."""
        found = [(name, f"in {name}", _why_not_wider(self._recording, wide)) for name, wide in WIDE_TYPES.items()]
        for engine in all_engines()[0]:
            if "observer" not in engine.options:
                found.append((engine.name, f"on {engine.called}", why_not(engine, self._recording)))
        found += [(id, title, "") for id, (title, _) in self._others.items()]
        return [{"id": id, "title": title, "reason": reason or None} for id, title, reason in found]

    def find(self, id: str) -> Comparison:
        if id not in self._made:
            if id in self._others:
                title, other = self._others[id]
                self._made[id] = RecordingComparison(self._recording, other, id, title)
            else:
                self._made[id] = compare(self._recording, id)
        return self._made[id]

    def comparison(self, id: str, block: int) -> dict[str, Any]:
        """The answer to `comparison`."""
        return self.find(id).answer(block)

    def compared(
        self, id: str, block: int, step: int, value: int, start: Part | None = None, extents: Part | None = None
    ) -> dict[str, Any]:
        """The answer to `compared`."""
        if not 0 <= value < len(self._recording.program.values):
            raise LaunchError(f"the program has no value {value}")
        return self.find(id).compared(block, step, value, start, extents)
