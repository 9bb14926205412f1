"""The observer that looks for mistakes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy

from tileir.execute.arguments import buffer_of
from tileir.execute.dtypes import Array
from tileir.execute.errors import BlockId, ExecutionError
from tileir.execute.memory import Memory, Region
from tileir.execute.observer import Access, Observer, TileBlock
from tileir.execute.sanitizer.bounds import Bounds
from tileir.execute.sanitizer.conflicts import Conflicts
from tileir.execute.sanitizer.events import HOST, NOBODY, Events, Token
from tileir.execute.sanitizer.failures import finding_of
from tileir.execute.sanitizer.numbers import NumberCheck, first_element, number_checks
from tileir.execute.sanitizer.promises import check_assumption, check_inbounds, promised_dimensions
from tileir.execute.sanitizer.report import Finding, Kind, Place, Report, WatchKind
from tileir.execute.sanitizer.shadow import Shadow
from tileir.ir.core import Operation

# With more events than these, those that no shadow holds are dropped.
MOST_EVENTS = 1 << 17


class Sanitizer(Observer):
    """Finds mistakes in a launch; `report` has them.

    `kernel.launch(.., sanitize=True)` makes one and raises `SanitizerError` if it finds anything.  To look at the
    report instead, or to name arrays whose contents do not count as written (`uninitialized`), pass one as observer:

        sanitizer = tileir.Sanitizer(uninitialized=[c])
        kernel.launch(8, a, b, c, observer=sanitizer)
        print(sanitizer.report)
    """

    def __init__(self, *, uninitialized: Iterable[object] = ()) -> None:
        self.report: Report = Report()
        self._unwritten: list[object] = list(uninitialized)
        self._known: dict[tuple[Kind | WatchKind, Operation, Operation | None], Finding] = {}
        self._numbers: dict[Operation, list[NumberCheck]] = {}
        self._inbounds: dict[Operation, tuple[int, ...]] = {}
        self._reset(Memory())

    def _reset(self, memory: Memory) -> None:
        self._memory: Memory = memory
        self._given: set[int] = {id(region) for region in memory.regions}
        self._shadows: dict[int, Shadow] = {}
        self._events: Events = Events()
        self._most_events: int = MOST_EVENTS
        self._bounds: Bounds = Bounds(self, memory)
        self._conflicts: Conflicts = Conflicts(self, self._events)

    # --- findings ---

    def counted(self, kind: Kind | WatchKind, operation: Operation, other: Operation | None) -> bool:
        """Count a finding that is known already; False if it is not."""
        known = self._known.get((kind, operation, other))
        if known is None and kind == "race" and other is not None:
            # Which of the two comes second is a matter of the schedule.
            known = self._known.get((kind, other, operation))
        if known is None:
            return False
        known.count += 1
        return True

    def take(self, finding: Finding) -> None:
        """Add a finding that another engine made, with how often it was seen."""
        other = finding.other.operation if finding.other is not None else None
        known = self._known.get((finding.kind, finding.operation, other))
        if known is not None:
            known.count += finding.count
        else:
            self.add(finding)

    @property
    def unwritten(self) -> list[object]:
        """The arrays whose contents do not count as written."""
        return self._unwritten

    def add(self, finding: Finding) -> None:
        """Add a finding, or count it if the operation has one of its kind."""
        other = finding.other.operation if finding.other is not None else None
        if self.counted(finding.kind, finding.operation, other):
            return
        self._known[finding.kind, finding.operation, other] = finding
        self.report.add(finding)

    # --- memory ---

    def shadow(self, region: Region, size: int) -> Shadow:
        """The shadow of a region, made when it is first accessed."""
        found = self._shadows.get(id(region))
        if found is None:
            first = HOST if id(region) in self._given else NOBODY
            found = self._shadows[id(region)] = Shadow(region, size, first)
        return found

    def is_lasting(self, region: Region) -> bool:
        """Whether a region is there for the whole launch."""
        return id(region) in self._given

    def launch_started(self, grid: BlockId, memory: Memory) -> None:
        self.report.grid = grid
        self._reset(memory)
        for array in self._unwritten:
            buffer = buffer_of(array, "an element of `uninitialized`")
            region = memory.find(buffer.low)
            if region is not None and buffer.high > buffer.low:
                shadow = self.shadow(region, 1)
                shadow.writers[buffer.low - region.start : buffer.high - region.start] = NOBODY
                shadow.written = True

    def block_finished(self, block: TileBlock) -> None:
        self._events.finish(block)
        if len(self._events.all) > self._most_events:
            self._forget()
        # What the block reserved is gone; another block may get the same place.
        for key in [key for key, shadow in self._shadows.items() if key not in self._given]:
            if self._memory.find(self._shadows[key].region.start) is not self._shadows[key].region:
                del self._shadows[key]

    def _forget(self) -> None:
        """Drop the events no shadow holds any more, so that memory does not grow with the grid."""
        kept = sorted({HOST, NOBODY}.union(*[shadow.events() for shadow in self._shadows.values()]))
        numbers = numpy.zeros(len(self._events.all), numpy.int32)
        numbers[kept] = numpy.arange(len(kept))
        self._events.keep(kept)
        for shadow in self._shadows.values():
            shadow.renumber(numbers)
        self._most_events = max(MOST_EVENTS, 2 * len(kept))

    def token(self, operation: Operation, block: TileBlock, tokens: list[Any]) -> Token:
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

    # --- values ---

    def watches(self, operation: Operation) -> bool:
        if operation.declaration.mnemonic in ("assume", "assume_cond"):
            return True
        checks = number_checks(operation)
        if checks:
            self._numbers[operation] = checks
        return bool(checks)

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        checks = self._numbers.get(operation)
        if checks is None:
            check_assumption(self, operation, block, operands)
            return
        for check in checks:
            wrong = check.wrong(*operands)
            if wrong is not None and not self.counted(check.kind, operation, None):
                place = Place(operation, block.id, first_element(numpy.asarray(wrong)))
                self.add(check.finding(operation, place, operands, wrong))

    def failed(self, error: ExecutionError, block: TileBlock) -> bool:
        self.add(finding_of(error, block))
        return True
