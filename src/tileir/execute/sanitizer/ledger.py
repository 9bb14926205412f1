"""What all checks of a launch write to: the findings so far, and the shadow of each region."""

from __future__ import annotations

from tileir.execute.errors import BlockId
from tileir.execute.locations.wording import parenthesized
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Observer
from tileir.execute.sanitizer.events import HOST, NOBODY
from tileir.execute.sanitizer.report import AnyKind, Finding, SanitizerReport
from tileir.execute.sanitizer.shadow import Shadow
from tileir.execute.sanitizer.smaller_grids import Outside, smaller_grids
from tileir.ir.core import Operation


class Ledger(Observer):
    """The part of the sanitizer that the families of checks know; `report` has what was found."""

    def __init__(self) -> None:
        self.report: SanitizerReport = SanitizerReport()
        self._known: dict[tuple[AnyKind, Operation, Operation | None], Finding] = {}
        self.notes: dict[tuple[str, Operation, Operation], Finding] = {}
        """The notes on pairs of operations, by what they are about."""
        self.begin(Memory())

    def begin(self, memory: Memory) -> None:
        """Forget the shadows of another launch; findings stay."""
        self._given: set[int] = {id(region) for region in memory.regions}
        self._shadows: dict[int, Shadow] = {}
        self.outside: Outside = {}
        """The tile blocks of this launch in which an access has an index outside of a view's index space."""

    # --- findings ---

    def counted(self, kind: AnyKind, operation: Operation, other: Operation | None) -> bool:
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

    def add(self, finding: Finding) -> None:
        """Add a finding, or count it if the operation has one of its kind."""
        other = finding.other.operation if finding.other is not None else None
        if self.counted(finding.kind, finding.operation, other):
            return
        self._known[finding.kind, finding.operation, other] = finding
        self.report.add(finding)

    def advise(self, findings: list[Finding], grid: BlockId) -> None:
        """At the end of a launch: give the hints that need to know all of it."""
        smaller = smaller_grids(self.outside, grid)
        for finding in findings:
            if finding.kind == "index-space" and finding.operation in smaller:
                smaller_grid = parenthesized(smaller[finding.operation])
                finding.hint = f"launch a grid of {smaller_grid}, or guard the access with `if`"

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
