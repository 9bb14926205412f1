"""Two runs of a kernel side by side: at which moments values differ, how far, and where it begins.

A `Comparison` has a recording on its left.  What is on its right is a subclass: the same run with more digits
(`compare.py`), another engine (`engine_run.py`), another recording (`recordings.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, Final

import numpy

from tileir import notebook
from tileir.dialect.types import PointerType
from tileir.execute.array_difference import Difference, difference_of, same_numbers
from tileir.execute.dtypes import Array
from tileir.execute.locations.wording import bracketed, parenthesized, several
from tileir.execute.recording.arrays import RecordedArray
from tileir.execute.recording.recording import Recording
from tileir.execute.recording.tiles import numbers_of, tile_answer
from tileir.execute.schedule import block_at
from tileir.ir.types import F64, Type

MOST_MOMENTS: Final = 5_000
"""Of one tile block so many moments that differ are kept, the first ones; the others are counted."""
SEARCHED_STEPS: Final = 2_000
"""The page looks for the first wrong value in tile blocks of so many steps together: it does not wait for long."""

Part = Sequence[int]
"""Where the part of a tile that is shown starts, or its extents."""


@dataclass(slots=True, eq=False, repr=False)
class Moment:
    """A value that differs when it has been computed."""

    block: int
    step: int
    operation: int
    """The operation that computed it, by its number in `Recording.program`."""
    value: int
    difference: Difference
    wrong: bool
    """Whether the difference is one that counts: `Comparison.criterion` says which do."""

    def __repr__(self) -> str:
        return f"<Moment: tile block {self.block}, step {self.step}, value {self.value}: {self.difference!r}>"


@dataclass(eq=False, repr=False)
class BlockComparison:
    """The moments of one tile block at which values differ, in order."""

    block: int
    moments: list[Moment] = field(default_factory=list)
    total: int = 0
    """How many there are; no more than `MOST_MOMENTS` are kept."""
    first: Moment | None = None
    """The first that is wrong."""

    def add(self, moment: Moment) -> None:
        self.total += 1
        if len(self.moments) < MOST_MOMENTS:
            self.moments.append(moment)
        if moment.wrong and self.first is None:
            self.first = moment

    def __iter__(self) -> Iterator[Moment]:
        return iter(self.moments)

    def __len__(self) -> int:
        return len(self.moments)


@dataclass(slots=True, eq=False)
class ArrayDifference:
    """An array that differs when the launch is over; `array` is its number in `Recording.arrays`."""

    array: int
    difference: Difference


def differing_arrays(pairs: Iterable[tuple[RecordedArray, Array, Array]]) -> list[ArrayDifference]:
    """The differences of arrays with two contents; addresses differ from run to run."""
    return [
        ArrayDifference(array.number, difference)
        for array, left, right in pairs
        if not isinstance(array.element, PointerType)
        and (difference := difference_of(array.element, left, right)) is not None
    ]


class Comparison(ABC):
    """A recording and another run; made by `tileir.recording.compare`."""

    id: str
    """What the page calls it."""
    title: str
    criterion: str
    """What the other run is, and when a difference is wrong, in sentences."""

    def __init__(self, recording: Recording) -> None:
        self.recording: Recording = recording
        self.notes: list[str] = []
        """What could not be compared, in sentences."""
        self._blocks: dict[int, BlockComparison] = {}
        self._first: Moment | None = None
        self._searched: int = 0

    @abstractmethod
    def compare_block(self, block: int) -> BlockComparison:
        """Compare the values of a tile block."""

    @abstractmethod
    def pair(self, block: int, step: int, value: int) -> tuple[Type, Array, Type, Array]:
        """A value at a moment in both runs, each with its element type."""

    def array_differences(self) -> list[ArrayDifference]:
        """Arrays that differ when the launch is over."""
        return []

    def block(self, block: int) -> BlockComparison:
        """The moments of a tile block, by number, at which values differ."""
        found = self._blocks.get(block)
        if found is None:
            self.recording.place(block)
            found = self._blocks[block] = self.compare_block(block)
            while len(self._blocks) > 64:
                del self._blocks[next(iter(self._blocks))]
        return found

    @property
    def first(self) -> Moment | None:
        """The first wrong value of the launch, in the order in which tile blocks began; None if none is."""
        return self.search(None)

    def search(self, steps: int | None) -> Moment | None:
        """The same among the first tile blocks that have so many steps together, at least one (None: all)."""
        blocks, counts = self.recording.blocks.number, self.recording.blocks.steps
        done = int(counts[: self._searched].sum())
        most = len(blocks) if steps is None else min(len(blocks), self.searched_blocks())
        while self._first is None and self._searched < most:
            done += int(counts[self._searched])
            if steps is not None and self._searched and done > steps:
                break
            self._first = self.block(int(blocks[self._searched])).first
            self._searched += 1
        return self._first

    def searched_blocks(self) -> int:
        """In how many tile blocks the page looks for the first wrong value, at most."""
        return len(self.recording.blocks)

    def note_once(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def describe(self, moment: Moment) -> str:
        """A moment in words: where it is, the line of the program, and how far off it is."""
        program, difference = self.recording.program, moment.difference
        place = parenthesized(block_at(moment.block, self.recording.grid))
        lines = [f"tile block {place}, step {moment.step}: {program.text(moment.operation)}"]
        script = program.script_line(moment.operation)
        if script is not None:
            lines.append(f"  at {script.file}:{script.line}: {script.text}")
        name = program.script_name(moment.value) or program.name(moment.value)
        lines.append(f"  {name}: {distance_words(difference)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = [f"{self.title}: {self.criterion}"]
        first = self.first
        lines += ["no value is wrong"] if first is None else ["the first wrong value:", self.describe(first)]
        for one in self.array_differences():
            name = self.recording.arrays[one.array].name
            lines.append(f"array {name} at the end: {distance_words(one.difference)}")
        return "\n".join([*lines, *[f"note: {note}" for note in self.notes]])

    def _repr_html_(self) -> str:
        return notebook.report("", [str(self)])

    def answer(self, block: int) -> dict[str, Any]:
        """The answer to `comparison`."""
        compared = self.block(block)
        first = self.search(SEARCHED_STEPS)
        # Differences are found before the notes about them.
        arrays = [_answer(one, ["array"]) for one in self.array_differences()]
        notes = list(self.notes)
        count = len(self.recording.blocks)
        if first is None and self._searched < count:
            notes.append(f"Looked for the first wrong value in {self._searched} of {count} tile blocks.")
        if compared.total > len(compared.moments):
            notes.append(f"The first {len(compared.moments)} of {compared.total} moments are listed.")
        return {
            "id": self.id,
            "title": self.title,
            "criterion": self.criterion,
            "block": block,
            "differences": [_answer(moment, ["step", "operation", "value", "wrong"]) for moment in compared.moments],
            "total": compared.total,
            "first": None if first is None else {"block": first.block, "step": first.step, "value": first.value},
            "arrays": arrays,
            "notes": notes,
        }

    def compared(
        self, block: int, step: int, value: int, start: Part | None = None, extents: Part | None = None
    ) -> dict[str, Any]:
        """The answer to `compared`: a value in both runs, and how far apart they are."""
        left_element, left, right_element, right = self.pair(block, step, value)
        with numpy.errstate(all="ignore"):
            one = numbers_of(left_element, left).astype(numpy.float64)
            other = numbers_of(right_element, right).astype(numpy.float64)
            apart = numpy.where(same_numbers(one, other), 0.0, one - other)
        return {
            "left": tile_answer(left_element, left, start, extents),
            "right": tile_answer(right_element, right, start, extents),
            "difference": tile_answer(F64, apart, start, extents),
        }


def distance_words(difference: Difference) -> str:
    """How far apart two tiles are."""
    count = several(difference.count, "element")
    words = [f"{difference.different} of {count}" if difference.count > 1 else "it"]
    if not isfinite(difference.largest):
        words.append("a NaN or an infinity against another number")
    else:
        words.append(f"by {difference.largest:.4g} at most, relative {difference.relative:.3g}")
        if difference.ulps is not None:
            words.append(f"{difference.ulps:.4g} ulps")
    if difference.place:
        words.append(f"first {bracketed(difference.place)}")
    return ", ".join(words)


def _answer(one: Moment | ArrayDifference, names: list[str]) -> dict[str, Any]:
    """Some fields of what differs, and its difference; what JSON has no number for is null."""
    answer = {name: getattr(one, name) for name in names}
    for name, value in asdict(one.difference).items():
        if name != "overall":
            answer[name] = None if isinstance(value, float) and not isfinite(value) else value
    return {**answer, "place": list(one.difference.place)}
