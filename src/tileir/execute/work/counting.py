"""`count_work`: which tile blocks are walked, and what their counts come to.

Where walking all of them would take long, some are: along each axis the first and the last for themselves, and others
in even distances for those around them.  What grows evenly with the number of a block, and what is special at the
edges, comes out right; the choice follows from the grid and the program alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tileir.execute.errors import BlockId
from tileir.execute.work.evaluation import Known, Root
from tileir.execute.work.operations import (
    AccessTraffic,
    ArrayTraffic,
    Kind,
    WaitCounts,
    Work,
    block_computes,
    wait_counts,
)
from tileir.execute.work.walker import TooLong, Walker, argument_known, strata
from tileir.ir.core import Operation
from tileir.ir.values import Value

_STEPS: Final = 20_000  # About how many operations are walked, over all tile blocks.
_FEWEST: Final = 32  # Tile blocks that are walked also if they are long, where there are as many.
_MOST_STEPS: Final = 400_000  # Operations walked for those, about a second; beyond, three tile blocks do.


def count_work(entry: Operation, grid: BlockId, arguments: Sequence[object]) -> Work:
    """What a launch of a kernel moves and computes.

    Only the size of an array matters (`nbytes`), so anything may stand for one; of a scalar its value, None for one
    that is not known.
    """
    parameters = entry.regions[0].blocks[0].arguments
    known: dict[Value, Known] = {}
    for index, (parameter, given) in enumerate(zip(parameters, arguments, strict=True)):
        found = argument_known(parameter, index, given)
        if found is not None:
            known[parameter] = found
    walker = Walker(entry, grid, known)
    walked = 0
    try:
        for block, weight in _chosen(walker, grid):
            walker.walk(block, weight)
            walked += 1
    except TooLong:
        walker.unknown["a loop runs for too long to be followed: what comes after is not counted"] = None
    return _result(walker, grid, walked, arguments)


def _chosen(walker: Walker, grid: BlockId) -> Iterator[tuple[BlockId, int]]:
    """The tile blocks to walk, each with the number of those that it stands for."""
    probe = Walker(walker.entry, grid, walker.arguments)
    try:
        probe.walk((grid[0] // 2, grid[1] // 2, grid[2] // 2), 1)
        steps = max(probe.steps, 1)
        most = max(_STEPS // steps, _FEWEST if _FEWEST * steps <= _MOST_STEPS else 1)
    except TooLong:
        most = 1
    sizes = list(grid)
    blocks = grid[0] * grid[1] * grid[2]
    if most < _FEWEST and blocks > 3:
        yield (0, 0, 0), 1
        yield (grid[0] // 2, grid[1] // 2, grid[2] // 2), blocks - 2
        yield (grid[0] - 1, grid[1] - 1, grid[2] - 1), 1
        return
    if blocks > most:
        # The shortest axes are walked whole, and the rest is shared evenly.
        left = most
        for rank, axis in enumerate(sorted(range(3), key=lambda axis: grid[axis])):
            share = max(int(left ** (1 / (3 - rank)) + 1e-9), 3)
            sizes[axis] = min(grid[axis], share)
            left = max(left // sizes[axis], 1)
    for z, deep in strata(grid[2], sizes[2]):
        for y, high in strata(grid[1], sizes[1]):
            for x, wide in strata(grid[0], sizes[0]):
                yield (x, y, z), wide * high * deep


def _result(walker: Walker, grid: BlockId, walked: int, arguments: Sequence[object]) -> Work:
    computed: dict[Kind, int] = {}
    for block, times in walker.executions.items():
        block_computes(block, times, computed)
    stops = [[each * times for each in wait_counts(block)] for block, times in walker.executions.items()]
    accesses: dict[str, AccessTraffic] = {}
    for operation, traffic in walker.traffic.items():
        found = accesses.setdefault(operation.declaration.mnemonic, AccessTraffic())
        found.count += traffic.count
        found.read += traffic.bytes if operation.declaration.reads else 0
        found.written += traffic.bytes if operation.declaration.writes else 0
    notes: list[str] = []
    if walked < grid[0] * grid[1] * grid[2]:
        notes.append(f"{walked} of {grid[0] * grid[1] * grid[2]} tile blocks were counted: the others are like them")
    if walker.sampled:
        notes.append("some iterations of long loops stand for those around them")
    return Work(
        walker.entry.symbol_name or "",
        grid,
        walked,
        accesses,
        _arrays(walker, arguments),
        computed,
        WaitCounts(*[sum(each) for each in zip(*stops, strict=True)]),
        walker.imbalance(grid[0] * grid[1] * grid[2]),
        list(walker.unknown),
        notes + list(walker.assumed),
    )


def _arrays(walker: Walker, arguments: Sequence[object]) -> list[ArrayTraffic]:
    """The traffic of each array; one that is given twice counts once."""
    owners: dict[int, int] = {}
    read: dict[Root | None, int] = {}
    written: dict[Root | None, int] = {}
    tensors: dict[Root | None, int] = {}
    for operation, traffic in walker.traffic.items():
        for root, bytes in traffic.roots.items():
            whose: Root | None = root
            if isinstance(root, int):
                whose = owners.setdefault(id(arguments[root]), root)
            if operation.declaration.reads:
                read[whose] = read.get(whose, 0) + bytes
            if operation.declaration.writes:
                written[whose] = written.get(whose, 0) + bytes
            size = traffic.sizes.get(root, -1) if root is not None else -1
            known = tensors.get(whose, 0)
            tensors[whose] = -1 if size < 0 or known < 0 else max(known, size)
    found: list[ArrayTraffic] = []
    for whose in sorted({*read, *written}, key=lambda root: (not isinstance(root, int), str(root).zfill(4))):
        if whose == "alloca":
            continue  # Scratch memory of a tile block: no more than a cache has to hold.
        given = getattr(arguments[whose], "nbytes", None) if isinstance(whose, int) else None
        nbytes = given if isinstance(given, int) else None
        most = [bytes for bytes in (nbytes, tensors[whose]) if bytes is not None and bytes >= 0]
        one, other = read.get(whose, 0), written.get(whose, 0)
        name = f"argument {whose}" if isinstance(whose, int) else str(whose or "unknown memory")
        found.append(ArrayTraffic(name, nbytes, one, other, min([one, *most]), min([other, *most])))
    return found
