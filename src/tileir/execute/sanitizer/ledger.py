"""What all checks of a launch write to: findings, the shadow of each region, and hints that need all findings.

A smaller grid removes an index outside of a view's index space where tile blocks beyond some extent of the grid do
nothing but access tiles that are not there, and no other tile block does.  A transposed index and a loop that runs once
too often often look the same at a single access, and a smaller grid would hide them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import prod

from tileir.dialect.ops import ENTRY, FOR, GET_TILE_BLOCK_ID
from tileir.dialect.types import TokenType
from tileir.execute.errors import BlockId
from tileir.execute.locations.wording import parenthesized
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Observer
from tileir.execute.sanitizer.events import HOST, NOBODY
from tileir.execute.sanitizer.report import AnyKind, Finding, SanitizerReport
from tileir.execute.sanitizer.shadow import Shadow
from tileir.execute.sanitizer.store_patterns import is_within
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors
from tileir.ir.values import Value
from tileir.rewrite.matching import carried_sources, ends_of


class Ledger(Observer):
    """The part of the sanitizer that the families of checks know; `report` has what was found."""

    def __init__(self) -> None:
        self.report: SanitizerReport = SanitizerReport()
        self._findings: dict[tuple[AnyKind, Operation, Operation | None], Finding] = {}
        self.notes: dict[tuple[str, Operation, Operation], Finding] = {}  # By subject and operations.
        self.begin(Memory())

    def begin(self, memory: Memory) -> None:
        """Forget the shadows of another launch; findings stay."""
        self._given: set[int] = {id(region) for region in memory.regions}
        self._shadows: dict[int, Shadow] = {}
        self.outside: Outside = {}  # The tile blocks in which an access has an index outside of its view's space.

    def counted(self, kind: AnyKind, operation: Operation, other: Operation | None) -> bool:
        """Count a finding that is earlier already; False if it is not."""
        earlier = self._findings.get((kind, operation, other))
        if earlier is None and kind == "race" and other is not None:
            # Which of the two comes second is a matter of the schedule.
            earlier = self._findings.get((kind, other, operation))
        if earlier is None:
            return False
        earlier.count += 1
        return True

    def take(self, finding: Finding) -> None:
        """Add a finding that another engine made, with how often it was seen."""
        other = finding.other.operation if finding.other is not None else None
        earlier = self._findings.get((finding.kind, finding.operation, other))
        if earlier is not None:
            earlier.count += finding.count
        else:
            self.add(finding)

    def add(self, finding: Finding) -> None:
        """Add a finding, or count it if the operation has one of its kind."""
        other = finding.other.operation if finding.other is not None else None
        if self.counted(finding.kind, finding.operation, other):
            return
        self._findings[finding.kind, finding.operation, other] = finding
        self.report.add(finding)

    def advise(self, findings: list[Finding], grid: BlockId) -> None:
        """At the end of a launch: give the hints that need to know all of it."""
        smaller = smaller_grids(self.outside, grid)
        for finding in findings:
            if finding.kind == "index-space" and finding.operation in smaller:
                smaller_grid = parenthesized(smaller[finding.operation])
                finding.help = f"launch a grid of {smaller_grid}, or guard the access with `if`"

    def shadow(self, region: Region, size: int) -> Shadow:
        found = self._shadows.get(id(region))
        if found is None:
            first = HOST if id(region) in self._given else NOBODY
            found = self._shadows[id(region)] = Shadow(region, size, first)
        return found

    def is_lasting(self, region: Region) -> bool:
        """Whether a region is there for the whole launch."""
        return id(region) in self._given


Outside = dict[Operation, set[BlockId]]  # For each access the tile blocks in which it has an index outside.


def smaller_grids(outside: Outside, grid: BlockId) -> dict[Operation, BlockId]:
    """For each access the grid without the blocks that index outside, unless these do more or others do it too."""
    found: dict[Operation, BlockId] = {}
    needless: dict[BlockId, bool] = {}
    for operation, blocks in outside.items():
        # Along each axis of the grid up to the first that is among those.
        firsts = [[block[axis] for block in blocks if sum(block) == block[axis]] for axis in range(3)]
        width, height, depth = [min(numbers, default=extent) for numbers, extent in zip(firsts, grid, strict=True)]
        extents = (width, height, depth)
        if 0 in extents or len(blocks) != prod(grid) - prod(extents) or any(is_within(one, extents) for one in blocks):
            continue
        if extents not in needless:
            needless[extents] = _does_nothing_beyond(extents, operation, outside, grid)
        if needless[extents]:
            found[operation] = extents
    return found


def _does_nothing_beyond(extents: BlockId, operation: Operation, outside: Outside, grid: BlockId) -> bool:
    """Whether blocks beyond a smaller grid only access tiles outside, apart from reads that others make too.

    An access in a loop is outside in all iterations if what depends on the tile block is the same in each.
    """
    entry = next((each for each in ancestors(operation) if each.declaration is ENTRY), None)
    if entry is None:
        return False
    for axis, extent in enumerate(extents):
        if extent == grid[axis]:
            continue
        blocks = [each.results[axis] for each in entry.walk() if each.declaration is GET_TILE_BLOCK_ID]
        dependent = _dependents(entry, blocks)
        dropped = prod(grid) // grid[axis] * (grid[axis] - extent)
        for access in [each for each in entry.walk() if each.declaration.accesses_memory]:
            depending = [operand for operand in access.operands if operand in dependent]
            loops = [each.regions[0].blocks[0] for each in ancestors(access) if each.declaration.is_loop]
            varying = _dependents(entry, [argument for body in loops for argument in body.arguments])
            if not varying.isdisjoint(depending):
                return False
            if depending or access.declaration.writes is not None:
                if sum(block[axis] >= extent for block in outside.get(access, ())) != dropped:
                    return False
    return True


def _dependents(entry: Operation, values: Iterable[Value]) -> set[Value]:
    """Some values, and those that may differ with them."""
    found = {value for value in values if not isinstance(value.type, TokenType)}
    ends = cache(ends_of)
    before = -1
    while len(found) != before:
        before = len(found)
        for operation in entry.walk():
            declaration = operation.declaration
            inner = [each for region in operation.regions for block in region.blocks for each in block.arguments]
            affected = [each for each in (*operation.results, *inner) if not isinstance(each.type, TokenType)]
            # A loop carries its operands; only the bounds of a `for` decide about all that it carries.
            deciding = operation.operands
            if declaration.is_loop:
                deciding = operation.operands[:3] if declaration is FOR else []
            if not found.isdisjoint(deciding):
                found.update(affected)
            elif declaration.is_control_flow:
                found.update([each for each in affected if not found.isdisjoint(carried_sources(each, ends) or ())])
    return found
