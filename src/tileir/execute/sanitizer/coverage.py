"""What a kernel's stores leave out, and what one store writes twice.

For each array: the elements that no store wrote, as ranges of indices, and the tile block they belong to by the rule of
the others (`store_patterns`).  So a grid or count that is too small shows.  Two elements of one store with one address
are reported too: which of them stays is undefined.  What several stores write is only counted, as a loop may accumulate
in memory.  An array that only atomics write is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from math import prod
from typing import Any, Final

import numpy

from tileir.dialect.ops import ENTRY
from tileir.execute.analysis.parameters import writers_of
from tileir.execute.analysis.pointer_origins import where_in
from tileir.execute.arguments.binding import ArgumentLabel, buffer_of
from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId
from tileir.execute.locations.wording import (
    ARRAY,
    THIS,
    bracketed,
    in_script,
    parenthesized,
    phrase,
    python_shape,
    several,
    spelled_number,
)
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Access, TileBlock
from tileir.execute.sanitizer.bounds import Bounds, element_of
from tileir.execute.sanitizer.ledger import Ledger
from tileir.execute.sanitizer.report import ATOMIC_ADD, Finding, FindingLocation, SanitizerReport
from tileir.execute.sanitizer.store_patterns import Pattern, is_within, tile_of_pointers, tile_of_view
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors

# What the shadow holds for each cell: the tile block that stored there last, and what else happened.
_BLOCK: Final = (1 << 28) - 1
_UPDATED: Final = 1 << 28
_AGAIN: Final = 1 << 29
_SHARED: Final = 1 << 30

_MOST_BOXES: Final = 3

Range = tuple[int, int]


class ArrayCoverage:
    """How much of an array a launch stored: the numbers of its elements."""

    def __init__(self, name: str, shape: tuple[int, ...], events: Array) -> None:
        self.name: str = name
        self.shape: tuple[int, ...] = shape
        self.size: int = int(events.size)
        stored = (events & _BLOCK) != 0
        updated = (events & _UPDATED) != 0
        self.unwritten: Array = ~(stored | updated)  # Which elements nobody wrote, in the shape of the array.
        self.updated: int = int(updated.sum())  # How many elements atomics updated.
        self.again: int = int(((events & _AGAIN) != 0).sum())  # How many elements a tile block stored more than once.
        self.shared: int = int(((events & _SHARED) != 0).sum())  # How many elements several tile blocks stored.

    @property
    def written(self) -> int:
        """How many elements were written."""
        return self.size - int(self.unwritten.sum())

    def __repr__(self) -> str:
        return f"ArrayCoverage({self.name}: {self.written} of {several(self.size, 'element')} written)"


class Coverage(Ledger):
    """Finds elements that no store of a launch writes, and elements that one store writes twice.

    `kernel.launch(.., sanitize="all")` looks for them and for everything else.  Alone:

        coverage = tileir.sanitizer.Coverage(arrays=[c])          # of all arrays, without `arrays`
        kernel.launch(8, (a, b, c), observer=coverage)
        print(coverage.report)

    `arrays` has the numbers for each array that the last launch wrote.
    """

    def __init__(self, *, arrays: Iterable[object] = (), report: SanitizerReport | None = None) -> None:
        super().__init__()
        self.report = report if report is not None else SanitizerReport("coverage", "every element is written")
        self._only: list[object] = list(arrays)
        self._entry: Operation | None = None
        self._operands: list[Any] = []
        self._reset((1, 1, 1), Memory())

    def _reset(self, grid: BlockId, memory: Memory) -> None:
        self.arrays: list[ArrayCoverage] = []
        self._grid: BlockId = grid
        self._memory: Memory = memory
        self.begin(memory)
        self._bounds: Bounds = Bounds(self, memory)
        self._patterns: dict[object, Pattern] = {}
        self._executions: dict[int, dict[Operation, int]] = {}  # By tile block that runs.
        self._outside: set[Operation] = set()  # The stores that had an index outside of a view's index space.
        # The stores to each region, in the order in which they were first seen there.
        self._stored: dict[int, dict[Operation, None]] = {}
        self._failed: bool = False

    def launch_started(self, grid: BlockId, memory: Memory) -> None:
        self.report.grid = grid
        self._reset(grid, memory)

    def add(self, finding: Finding) -> None:
        # The sanitizer reports those of the bounds check.
        if finding.kind in ("unwritten", "written-twice"):
            super().add(finding)

    def watches(self, operation: Operation) -> bool:
        if not _is_store(operation):
            return False
        self._entry = next((each for each in ancestors(operation) if each.declaration is ENTRY), None)
        return True

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self._operands = operands

    def block_finished(self, block: TileBlock) -> None:
        self._executions.pop(block.number, None)

    def failed(self, error: object, block: TileBlock) -> bool:
        self._failed = True  # What a tile block that ended early leaves out follows from another error.
        return False

    def access(self, access: Access) -> None:
        if access.kind == "read":
            return
        touched, _ = self._bounds.check(access)
        if access.box is not None and 0 in access.box[1]:
            self._outside.add(access.operation)
        mine = access.block.number % _BLOCK + 1
        for shadow, cells in touched:
            if not self.is_lasting(shadow.region):
                continue
            known = cells.of(shadow.writers)
            if access.kind == "atomic":
                cells.put(shadow.writers, known | _UPDATED)
                continue
            self._stored.setdefault(id(shadow.region), {})[access.operation] = None
            if known.any():
                before = known & _BLOCK
                flags = numpy.where(before == 0, 0, numpy.where(before == mine, _AGAIN, _SHARED))
                cells.put(shadow.writers, (known & ~_BLOCK | flags | mine).astype(numpy.int32))
            else:
                cells.put(shadow.writers, mine)
        if access.kind == "write":
            self._look_for_meetings(access)
            self._remember(access)

    def _remember(self, access: Access) -> None:
        """Where the tile begins, masked or not."""
        executions = self._executions.setdefault(access.block.number, {})
        execution = executions[access.operation] = executions.get(access.operation, 0) + 1
        tile = tile_of_view(access) if access.box is not None else tile_of_pointers(access)
        if tile is None:
            return
        address = tile.address
        key = (access.operation, execution, tile[1:])
        pattern = self._patterns.get(key)
        if pattern is None:
            view: Any = access.view
            if view is not None:
                origin = view.tensor.address
            else:
                region = self._memory.find(address)
                origin = region.start if region is not None else address
            pattern = self._patterns[key] = Pattern(access.operation, origin, tile, self._grid)
        pattern.add(access.block.number, address)

    def _look_for_meetings(self, access: Access) -> None:
        view: Any = access.view
        if access.box is not None and view.is_distinct():
            return
        touched = access.touched
        if touched.size < 2 or bool((touched[1:] > touched[:-1]).all()):
            return
        order = numpy.argsort(touched, kind="stable")
        again = touched[order[1:]] == touched[order[:-1]]
        if not again.any() or self.counted("written-twice", access.operation, None):
            return
        # The first element that goes where an earlier one went, and the one before it there.
        seconds, firsts = order[1:][again], order[:-1][again]
        chosen = int(seconds.argmin())
        self.add(self._meeting(access, int(firsts[chosen]), int(seconds[chosen]), int(seconds.size), int(touched.size)))

    def _meeting(self, access: Access, first: int, second: int, count: int, total: int) -> Finding:
        address = int(access.touched[second])
        region = self._memory.find(address)
        where = f": {where_in(region, address)}" if region is not None else ""
        details = [f"element {bracketed(element_of(access, first) or ())} of the tile goes there too{where}"]
        values = [spelled_number(value) for value in self._values(access, (first, second))]
        if values[0] == values[1]:
            details.append(f"both store {values[0]}")
        else:
            details.append(f"they store {values[0]} and {values[1]}: it is undefined which one stays")
        go = "goes" if count == 1 else "go"
        details.append(f"{count} of the {several(total, 'element')} it writes {go} to the address of an earlier one")
        location = FindingLocation(access.operation, access.block.id, element_of(access, second))
        advice = "give each its own address, or combine them with an atomic"
        hint = phrase(f"{advice} {ATOMIC_ADD}", script=f"{advice} {in_script(ATOMIC_ADD)}")
        title = phrase(f"one {THIS} writes an element twice", access.operation)
        return Finding("written-twice", title, location, details, hint)

    def _values(self, access: Access, numbers: tuple[int, ...]) -> list[Any]:
        operation = access.operation
        names = [declared.name for declared in operation.declaration.operands]
        value = operation.tile if "tile" in names else operation.value
        content = numpy.asarray(self._operands[[operand is value for operand in operation.operands].index(True)])
        mask = access.mask
        flat = content.reshape(-1) if mask is None else content[numpy.broadcast_to(mask, content.shape)]
        return [flat[number] for number in numbers]

    def launch_finished(self) -> None:
        if self._failed:
            return
        selected = {buffer_of(array, "an element of `arrays`").address for array in self._only}
        seen: set[object] = set()
        for region in self._memory.regions:
            for label in region.labels:
                if not isinstance(label, ArgumentLabel) or 0 in label.buffer.shape:
                    continue
                buffer = label.buffer
                if (selected and buffer.address not in selected) or (key := (buffer.address, buffer.shape)) in seen:
                    continue
                seen.add(key)
                self._conclude(region, label)

    def _conclude(self, region: Region, label: ArgumentLabel) -> None:
        buffer = label.buffer
        if id(region) in self._shadows:
            shadow = self.shadow(region, buffer.dtype.itemsize)
            # The stride of a dimension with one position means nothing.
            steps = [stride if extent > 1 else 0 for extent, stride in zip(buffer.shape, buffer.strides, strict=True)]
            cells = shadow.box(buffer.address, buffer.dtype.itemsize, buffer.shape, tuple(steps))
            events = cells.of(shadow.writers)
            if events.ndim > len(buffer.shape):
                # An element is written when all of its bytes are.
                events = numpy.where((events == 0).any(axis=-1), 0, numpy.bitwise_or.reduce(events, axis=-1))
        else:
            events = numpy.broadcast_to(numpy.int32(0), buffer.shape)
        # One that nothing was stored to counts if the kernel has a store to it.
        if not (events & _BLOCK).any() and (events.any() or not self._stores_to(label)):
            return
        found = ArrayCoverage(str(label), buffer.shape, events)
        self.arrays.append(found)
        if found.unwritten.any():
            self.report.add(self._left_out(region, label, found))

    def _stores_to(self, label: ArgumentLabel) -> list[Operation]:
        """The stores of the kernel that may write to an array."""
        if self._entry is None or label.number < 0:
            return []
        return [operation for operation in writers_of(self._entry, label.number) if _is_store(operation)]

    def _left_out(self, region: Region, label: ArgumentLabel, found: ArrayCoverage) -> Finding:
        missing = found.size - found.written
        if found.size == 1:
            title = f"{label} is never written"
        elif missing == found.size:
            title = f"no element of {label} is ever written"
        else:
            is_or_are = "is" if missing == 1 else "are"
            title = f"{missing} of the {found.size} elements of {label} {is_or_are} never written"
        details, listed, explained = [], 0, True
        needed: list[int] = list(self._grid)
        # Shown at a store that stored there, or else at one that might have.
        stored = self._stored.get(id(region), {})
        operation = next(iter(stored)) if stored else self._stores_to(label)[0]
        for box in islice(boxes(found.unwritten, _MOST_BOXES), _MOST_BOXES):
            listed += prod([high - low + 1 for low, high in box])
            first, last = (
                label.buffer.address
                + sum([bounds[end] * stride for bounds, stride in zip(box, label.buffer.strides, strict=True)])
                for end in (0, 1)
            )
            words, blocks = self._belonging(region, first, last)
            details.append(phrase(f"{_spelled(box)}{words}", script=f"{_spelled(box)}{in_script(words)}"))
            explained = explained and bool(blocks)
            for block in blocks:
                needed = [max(extent, number + 1) for extent, number in zip(needed, block, strict=True)]
        if listed < missing:
            details.append(f"and {several(missing - listed, 'element')} more")
        explained = explained and listed == missing and self._outside.isdisjoint(stored)
        if explained and tuple(needed) != self._grid:
            hint = f"launch a grid of {parenthesized(tuple(needed))}: round up, as in -(-n // tile)"
        else:
            hint = "check the number of elements that is passed in, the indices, and the mask"
        return Finding("unwritten", title, FindingLocation(operation, None), details, hint)

    def _belonging(self, region: Region, first: int, last: int) -> tuple[str, list[BlockId]]:
        """Which tile blocks the first and the last element of a box belong to, in words."""
        stored, grid = self._stored.get(id(region), {}), parenthesized(self._grid)
        patterns = [pattern for pattern in self._patterns.values() if pattern.operation in stored]
        for pattern, start in self._candidates(patterns, first)[:1]:
            end = next((block for _, block in self._candidates(patterns, last)), None)
            blocks = [start] if end is None or end == start else [start, end]
            one = len(blocks) == 1
            many = f"tile block{'' if one else 's'} {' to '.join([parenthesized(block) for block in blocks])}"
            inside = [is_within(block, self._grid) for block in blocks]
            has, leaves = ("has", "leaves") if one else ("have", "leave")
            if pattern.is_outside(first):
                start_of = f": {many} {has} it in the tile, but" if all(inside) else ":"
                shapes = bracketed(pattern.tile.tensor), python_shape(pattern.tile.tensor)
                words = f"{start_of} the tensor view of shape {shapes[0]} ends before it"
                return phrase(words, script=f"{start_of} {ARRAY} of shape {shapes[1]} ends before it"), []
            if not any(inside):
                return f": {many} would write it, and the grid is {grid}", blocks
            if all(inside):
                return f": {many} {has} it in the tile and {leaves} it out", []
            return f": {many} would write it, and some of them are not in the grid, which is {grid}", blocks
        count = self._grid[0]
        for pattern in patterns:
            if pattern.is_outside(first) or pattern.rule is not None:
                continue
            # In an order of its own, but each block a tile.
            if pattern.tile_count > len(pattern.blocks) == count == pattern.distinct and self._grid == (count, 1, 1):
                tiles = f"{pattern.tile_count} tiles, and the grid is {grid}"
                words = phrase(
                    f": each tile block writes one of the view's {tiles}",
                    script=f": each tile block writes one of {tiles}",
                )
                return words, [(pattern.tile_count - 1, 0, 0)]
        return "", []

    def _candidates(self, patterns: list[Pattern], address: int) -> list[tuple[Pattern, BlockId]]:
        known = [(one, block) for one in patterns if (block := one.block_of(address)) is not None]

        def distance(entry: tuple[Pattern, BlockId]) -> int:
            return sum([max(number - extent + 1, 0) for number, extent in zip(entry[1], self._grid, strict=True)])

        # A tile block that ran comes first, then one close to the grid: a kernel may loop over many tiles.
        return sorted(known, key=distance)


def _is_store(operation: Operation) -> bool:
    declaration = operation.declaration
    return declaration.accesses_memory and declaration.writes is not None and declaration.reads is None


def boxes(chosen: Array, most: int) -> Iterator[tuple[Range, ...]]:
    """The chosen elements as boxes of first and last indices, at least the first `most`; equal rows are one box."""
    if chosen.ndim == 0:
        if chosen:
            yield ()
        return
    count = chosen.shape[0]
    rows = chosen.reshape(count, -1)
    changes = numpy.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
    # Of two groups of rows that follow each other at least one has a box: more groups than these are not needed.
    ends = [*changes[: 2 * most].tolist(), count] if changes.size < 2 * most else changes[: 2 * most].tolist()
    for start, end in zip([0, *ends], ends, strict=False):
        for box in boxes(chosen[start], most):
            yield ((start, end - 1), *box)


def _spelled(box: tuple[Range, ...]) -> str:
    """As in `[0..3, 96]`."""
    return f"[{', '.join([str(low) if low == high else f'{low}..{high}' for low, high in box])}]"
