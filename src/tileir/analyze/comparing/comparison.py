"""Two runs of a kernel side by side: which values differ, by how much, and which differs first.

A `Comparison` has a recording on its left.  What is on its right is a subclass: the same run with more digits
(`compare.py`), another backend (`engine_run.py`), another recording (`recordings.py`).
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

MOST_DIFFERENCES: Final = 5_000
"""How many values that differ are kept for one tile block, the first ones; the others are counted."""
SEARCHED_STEPS: Final = 2_000
"""The page searches tile blocks with this many steps in total for the first wrong value, so that it answers soon."""

Part = Sequence[int]
"""Where the part of a tile that is shown starts, or its extents."""


@dataclass(slots=True, eq=False, repr=False)
class ValueDifference:
    """A value that differs between the runs, at the step that computed it."""

    block: int
    step: int
    operation: int
    """The operation that computed it, by its number in `Recording.program`."""
    value: int
    difference: Difference
    wrong: bool
    """Whether the difference counts by `Comparison.criterion`."""

    def __repr__(self) -> str:
        return f"<ValueDifference: tile block {self.block}, step {self.step}, value {self.value}: {self.difference!r}>"


@dataclass(eq=False, repr=False)
class BlockComparison:
    """The values of one tile block that differ, in the order in which they are computed."""

    block: int
    differences: list[ValueDifference] = field(default_factory=list)
    total: int = 0
    """How many differ; at most `MOST_DIFFERENCES` are kept."""
    first: ValueDifference | None = None
    """The first that is wrong."""

    def add(self, found: ValueDifference) -> None:
        self.total += 1
        if len(self.differences) < MOST_DIFFERENCES:
            self.differences.append(found)
        if found.wrong and self.first is None:
            self.first = found

    def __iter__(self) -> Iterator[ValueDifference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)


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
        self._first: ValueDifference | None = None
        self._searched: int = 0

    @abstractmethod
    def compare_block(self, block: int) -> BlockComparison:
        """Compare the values of a tile block."""

    @abstractmethod
    def pair(self, block: int, step: int, value: int) -> tuple[Type, Array, Type, Array]:
        """A value at a step of both runs, each with its element type."""

    def array_differences(self) -> list[ArrayDifference]:
        """Arrays that differ when the launch is over."""
        return []

    def block(self, block: int) -> BlockComparison:
        """The values of a tile block, by number, that differ."""
        found = self._blocks.get(block)
        if found is None:
            self.recording.place(block)
            found = self._blocks[block] = self.compare_block(block)
            while len(self._blocks) > 64:
                del self._blocks[next(iter(self._blocks))]
        return found

    @property
    def first(self) -> ValueDifference | None:
        """The first wrong value of the launch, in the order in which tile blocks began; None if none is."""
        return self.search(None)

    def search(self, steps: int | None) -> ValueDifference | None:
        """The same among the first tile blocks, at least one, that have `steps` steps in total (None: all)."""
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

    def describe(self, found: ValueDifference) -> str:
        """The step that computed a value, its line in the program, and how much the value differs."""
        program = self.recording.program
        block = parenthesized(block_at(found.block, self.recording.grid))
        lines = [f"tile block {block}, step {found.step}: {program.text(found.operation)}"]
        script = program.script_line(found.operation)
        if script is not None:
            lines.append(f"  --> {script.file}:{script.line}: {script.text}")
        name = program.script_name(found.value) or program.name(found.value)
        lines.append(f"  {name} {difference_text(found.difference)}")
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = [f"{self.title}: {self.criterion}"]
        first = self.first
        lines += ["no value is wrong"] if first is None else ["first wrong value:", self.describe(first)]
        for one in self.array_differences():
            name = self.recording.arrays[one.array].name
            lines.append(f"after the launch, array {name} {difference_text(one.difference)}")
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
            notes.append(f"Searched for the first wrong value in {self._searched} of {count} tile blocks.")
        if compared.total > len(compared.differences):
            notes.append(f"The first {len(compared.differences)} of {compared.total} values that differ are listed.")
        return {
            "id": self.id,
            "title": self.title,
            "criterion": self.criterion,
            "block": block,
            "differences": [_answer(each, ["step", "operation", "value", "wrong"]) for each in compared.differences],
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


def difference_text(difference: Difference) -> str:
    """A predicate: `differs by 8.492 (relative 0.31)`, `differs in 3 of 64 elements, first at [0, 1], by at most 2`."""
    if difference.count == 1:
        text = "differs"
    else:
        text = f"differs in {difference.different} of {several(difference.count, 'element')}"
        text += f", first at {bracketed(difference.index)}," if difference.index else ","
    if not isfinite(difference.largest):
        return f"{text.removesuffix(',')}: a NaN or an infinity in one run, another number in the other"
    most = "" if difference.count == 1 else "at most "
    ulps = "" if difference.ulps is None else f", {difference.ulps:.4g} ulps"
    return f"{text} by {most}{difference.largest:.4g} (relative {difference.relative:.3g}{ulps})"


def _answer(one: ValueDifference | ArrayDifference, names: list[str]) -> dict[str, Any]:
    """Some fields of what differs, and its difference; what JSON has no number for is null."""
    answer = {name: getattr(one, name) for name in names}
    for name, value in asdict(one.difference).items():
        if name != "overall":
            answer[name] = None if isinstance(value, float) and not isfinite(value) else value
    return {**answer, "index": list(one.difference.index)}
