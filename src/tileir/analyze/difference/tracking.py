"""Where two programs first compute something else: the values of operations that both have, tile block by tile block.

Both are run in the interpreter, in the same order.  The first time, digests of all values tell in which tile blocks
something is different; those are then looked at, value by value.
"""

from __future__ import annotations

import zlib
from typing import Any, Final, NamedTuple

import numpy

from tileir.analyze.comparing.recordings import MOST_BYTES, compared_element
from tileir.dialect.ops import REDUCE, SCAN
from tileir.execute.arguments.argument_text import LaunchArguments
from tileir.execute.array_difference import Difference, difference_of
from tileir.execute.errors import BlockId, ExecutionError
from tileir.execute.launching.kernel import Kernel
from tileir.execute.observing.observer import Observer, TileBlock
from tileir.ir.core import Operation

MOST_VALUES: Final = 1_000_000
"""Digests that are kept of a run: some hundred megabytes."""
_MOST_BLOCKS: Final = 8
"""Tile blocks that are looked at value by value: digests differ also where only the sign of a zero does."""

Pairs = list[tuple[Operation, Operation]]
_Place = tuple[int, int, int]
"""The number of a pair, how often it was computed before in this tile block, and the number of the result."""


class FirstValue(NamedTuple):
    """The first value that differs."""

    left: Operation
    right: Operation
    result: int
    """The number of the result."""
    block: BlockId
    time: int
    """How often the operation was executed before in this tile block."""
    difference: Difference
    before: str
    """The first element that differs, in the first program."""
    after: str


class _Digests(Observer):
    """A digest of each value of each tile block, in the order in which they are computed."""

    def __init__(self, numbers: dict[Operation, int]) -> None:
        self.found: dict[int, dict[_Place, int]] = {}
        self.is_whole: bool = True
        self._numbers: dict[Operation, int] = numbers
        self._room: int = MOST_VALUES

    def watches(self, operation: Operation) -> bool:
        return operation in self._numbers

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        # What was computed until then is compared.
        return True

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        values = self.found.setdefault(block.number, {})
        number = self._numbers[operation]
        for index, (value, content) in enumerate(zip(operation.results, results, strict=True)):
            if compared_element(value) is not None:
                if self._room <= 0:
                    self.is_whole = False
                    return
                self._room -= 1
                self.keep(values, number, index, content)

    def keep(self, values: dict[_Place, Any], number: int, index: int, content: Any) -> None:
        values[_next(values, number, index)] = zlib.crc32(numpy.asarray(content).tobytes())


class _Values(_Digests):
    """The values themselves, of one tile block."""

    def __init__(self, numbers: dict[Operation, int], block: int) -> None:
        super().__init__(numbers)
        self.block: BlockId = (0, 0, 0)
        self.values: dict[_Place, Any] = {}
        self._block: int = block
        self._bytes: int = MOST_BYTES

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        if block.number == self._block:
            self.block = block.id
            super().after(operation, block, results)

    def keep(self, values: dict[_Place, Any], number: int, index: int, content: Any) -> None:
        self._bytes -= numpy.asarray(content).nbytes
        if self._bytes >= 0:
            self.values[_next(self.values, number, index)] = content


def _next(values: dict[_Place, Any], number: int, index: int) -> _Place:
    # Times are counted where they are kept: a loop goes on counting from the last one.
    time = values.get((number, -1, index), 0)
    values[(number, -1, index)] = time + 1
    return number, time, index


def comparable(pairs: Pairs) -> Pairs:
    """The pairs whose values can be compared: tiles of the same types, outside of reductions, which run on slices.

    Pairs come in program order, each before what it contains.
    """
    sliced: set[Operation | None] = set()
    found: Pairs = []
    for left, right in pairs:
        if left.declaration in (REDUCE, SCAN) or left.parent_operation in sliced:
            sliced.add(left)
        if left.parent_operation in sliced or not left.results:
            continue
        if [value.type for value in left.results] == [value.type for value in right.results]:
            found.append((left, right))
    return found


class Tracker:
    """Runs two kernels and finds the first value that differs."""

    def __init__(self, left: Operation, right: Operation, pairs: Pairs, launch: LaunchArguments) -> None:
        self._kernels: tuple[Kernel, Kernel] = (
            Kernel(left, backend="interpreter"),
            Kernel(right, backend="interpreter"),
        )
        self._pairs: Pairs = comparable(pairs)
        self._launch: LaunchArguments = launch
        self.is_whole: bool = True
        """Whether all values were looked at."""

    def first(self) -> FirstValue | None:
        here, there = [_Digests(numbers) for numbers in self._numbers()]
        self._run(here, there)
        self.is_whole = here.is_whole and there.is_whole
        differing = [
            block
            for block, values in sorted(here.found.items())
            if any(
                place[1] >= 0 and there.found.get(block, {}).get(place, digest) != digest
                for place, digest in values.items()
            )
        ]
        for block in differing[:_MOST_BLOCKS]:
            found = self._first_of(block)
            if found is not None:
                return found
        return None

    def _numbers(self) -> tuple[dict[Operation, int], dict[Operation, int]]:
        return (
            {left: number for number, (left, _) in enumerate(self._pairs)},
            {right: number for number, (_, right) in enumerate(self._pairs)},
        )

    def _run(self, *observers: Observer) -> None:
        for kernel, observer in zip(self._kernels, observers, strict=True):
            kernel.launch(self._launch.grid, *self._launch.copies(), observer=observer, output=lambda text: None)

    def _first_of(self, block: int) -> FirstValue | None:
        here, there = [_Values(numbers, block) for numbers in self._numbers()]
        self._run(here, there)
        for place, content in here.values.items():
            number, time, index = place
            other = there.values.get(place)
            if time < 0 or other is None:
                continue
            left, right = self._pairs[number]
            element = compared_element(left.results[index])
            assert element is not None
            difference = difference_of(element, content, other)
            if difference is not None:
                before, after = element_text(content, difference), element_text(other, difference)
                return FirstValue(left, right, index, here.block, time, difference, before, after)
        return None


def element_text(content: Any, difference: Difference) -> str:
    """The first element that differs, as a number."""
    value = numpy.asarray(content)[difference.place]
    if value.dtype.kind in "biu":
        return str(value.item())
    return f"{float(value):.9g}"
