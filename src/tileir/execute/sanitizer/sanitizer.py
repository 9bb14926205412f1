"""The observer that looks for errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy

from tileir.dialect.ops import ALLOCA, ASSUME, ASSUME_COND, ENTRY, EXTRACT, FOR, INSERT
from tileir.dialect.types import TileType
from tileir.execute.analysis.aliasing import Origins
from tileir.execute.arguments.binding import checked_arrays
from tileir.execute.dtypes import Array
from tileir.execute.errors import AssertionFailedError, BlockId, ExecutionError
from tileir.execute.locations.wording import THIS, phrase
from tileir.execute.memory import Memory
from tileir.execute.observing.observer import Access, TileBlock
from tileir.execute.sanitizer.bounds import Bounds
from tileir.execute.sanitizer.conflicts import Conflicts
from tileir.execute.sanitizer.events import NOBODY, Events
from tileir.execute.sanitizer.integer_checks import NumberCheck, first_element, number_checks
from tileir.execute.sanitizer.ledger import Ledger
from tileir.execute.sanitizer.promises import check_assumption, check_inbounds, promised_dimensions
from tileir.execute.sanitizer.report import Finding, FindingLocation
from tileir.execute.sanitizer.uninitialized import unwritten_bytes
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors

WIDEST_ELEMENT = 8  # Bytes.


class Sanitizer(Ledger):
    """Finds errors in a launch; `report` has them.

    `kernel.launch(.., sanitize=True)` makes one and raises `SanitizerError` if it finds anything.  To look at the
    report instead, or to name arrays whose contents do not count as written (`uninitialized`), pass one as observer:

        sanitizer = tileir.sanitizer.Sanitizer(uninitialized=[c])
        kernel.launch(8, (a, b, c), observer=sanitizer)
        print(sanitizer.report)
    """

    def __init__(self, *, uninitialized: Iterable[object] = ()) -> None:
        super().__init__()
        self._unwritten: list[object] = checked_arrays(uninitialized, "uninitialized")
        self._numbers: dict[Operation, list[NumberCheck]] = {}
        self._inbounds: dict[Operation, tuple[int, ...]] = {}
        self._lasting: set[Operation] = set()
        self._reset(Memory())

    def _reset(self, memory: Memory) -> None:
        self._memory: Memory = memory
        self.begin(memory)
        self._events: Events = Events()
        self._kept: set[Operation] = set()  # Promises that hold in every tile block of the launch, as they do in one.
        self._bounds: Bounds = Bounds(self, memory)
        self._conflicts: Conflicts = Conflicts(self, self._events)

    @property
    def unwritten(self) -> list[object]:
        """The arrays whose contents do not count as written."""
        return self._unwritten

    def launch_started(self, grid: BlockId, memory: Memory) -> None:
        self.report.grid = grid
        self._reset(memory)
        for region, offset, unwritten in unwritten_bytes(memory, self._unwritten):
            edges = offset + numpy.flatnonzero(unwritten[1:] != unwritten[:-1]) + 1
            bits = int(numpy.bitwise_or.reduce(edges)) | offset | offset + unwritten.size
            shadow = self.shadow(region, min(bits & -bits, WIDEST_ELEMENT))
            shadow.fit(bits)
            cells = unwritten[:: shadow.cell]
            first = offset // shadow.cell
            shadow.writers[first : first + cells.size][cells] = NOBODY
            shadow.written = shadow.weakly_written = True

    def launch_finished(self) -> None:
        self.advise(self.report.findings, self.report.grid)

    def block_finished(self, block: TileBlock) -> None:
        self._events.finish(block)
        # What the block reserved is freed; another block may get the same addresses.
        for key in [key for key, shadow in self._shadows.items() if key not in self._given]:
            if self._memory.find(self._shadows[key].region.start) is not self._shadows[key].region:
                del self._shadows[key]

    def token(self, operation: Operation, block: TileBlock, tokens: list[Any]) -> object:
        return self._events.token(operation, block, tokens)

    def access(self, access: Access) -> Array | None:
        touched, allowed = self._bounds.check(access)
        if access.view is not None:
            operation = access.operation
            axes = self._inbounds.get(operation)
            if axes is None:
                axes = self._inbounds[operation] = promised_dimensions(operation)
            if axes:
                check_inbounds(self, access, axes)
        self._conflicts.check(access, touched)
        return allowed

    def watches(self, operation: Operation) -> bool:
        if operation.declaration in (ASSUME, ASSUME_COND):
            entry = next((each for each in ancestors(operation) if each.declaration is ENTRY), operation)
            if Origins(entry, False).is_launch_constant(operation.operands[0]):
                self._lasting.add(operation)
            return True
        checks = number_checks(operation)
        if checks:
            self._numbers[operation] = checks
        return bool(checks)

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        checks = self._numbers.get(operation)
        if checks is None:
            if operation in self._kept:
                return
            # One that does not hold is counted in each tile block.
            if check_assumption(self, operation, block, operands) and operation in self._lasting:
                self._kept.add(operation)
            return
        for check in checks:
            wrong = check.wrong(*operands)
            if wrong is not None and not self.counted(check.kind, operation, None):
                location = FindingLocation(operation, block.id, first_element(numpy.asarray(wrong)))
                self.add(check.finding(operation, location, operands, wrong))

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        self.add(finding_of(error, block))
        return True


def finding_of(error: ExecutionError, block: TileBlock) -> Finding:
    """The finding for an error that ended a tile block; the others go on."""
    operation = error.operation
    location = FindingLocation(operation, block.id)
    details = ["the tile block ended here"]
    if isinstance(error, AssertionFailedError):
        location.element = error.numbers or None
        text = f": {operation.message}" if operation.message else ""
        title = phrase(f"{THIS} failed{text}", operation)
        return Finding("assert", title, location, details, "the program itself states that this must not happen")
    title = phrase(f"{THIS} {error.message}", operation)
    if operation.declaration in (EXTRACT, INSERT):
        return Finding("index", title, location, details, _index_hint(operation, error.numbers))
    hint = "the behavior is undefined"
    if operation.declaration is FOR:
        hint += ": guard the loop with `if`, or compute a step that is at least 1"
    elif operation.declaration is ALLOCA:
        size, alignment = error.numbers
        hint = "reserve less" if size > alignment else "reserve it with a smaller alignment"
    return Finding("error", title, location, details, hint)


def _index_hint(operation: Operation, numbers: tuple[int, ...]) -> str:
    index, axis, count = numbers
    part = operation.results[0] if operation.declaration is EXTRACT else operation.operands[0]
    extent = cast(TileType, part.type).shape[axis]
    if extent > 1 and index % extent == 0 and 0 <= index // extent < count:
        return f"indices count sub-tiles, not elements: element {index} is in sub-tile {index // extent}"
    return f"there are sub-tiles 0 to {count - 1}: guard with `if`, or correct the index"
