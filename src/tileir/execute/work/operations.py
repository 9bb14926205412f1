"""What one execution of an operation computes, whatever the values are, where a tile block waits, and the counts.

Each floating-point operation counts one per element of its result, a fused multiply-add two, a matmul 2 M N K, and a
reduction or scan of N elements N - 1 runs of its region.  Comparisons and conversions are counted separately.  A tile
block waits for memory, for its warps, and once per iteration of a loop.  Independent loads overlap, and GPU compilers
start loads of views and of matmul operands iterations ahead: these cost no wait.  A reduction of fewer rows than warps
takes all warps, which wait for each other; until then each thread takes its elements one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Final, NamedTuple, cast

from tileir.dialect.ops import BROADCAST, CMPF, FOR, FTOF, FTOI, ITOF, PERMUTE, REDUCE, RESHAPE, SCAN
from tileir.dialect.types import TOKEN, TileType
from tileir.execute.errors import BlockId
from tileir.ir.core import Block, Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ADDITION_COST, MATRIX_PRODUCT, ElementCost
from tileir.ir.values import Value

Kind = tuple[str, str, str]  # A group of `GROUPS`, the mnemonic, the element type.


def cost_of(kind: Kind) -> ElementCost:
    found = REGISTRY.find(f"cuda_tile.{kind[1]}")
    return found.cost if found is not None else ADDITION_COST


FLOATING: Final = "floating"
MATRIX: Final = "matrix"
INTEGER: Final = "integer"
COMPARING: Final = "comparing"
CONVERTING: Final = "converting"

_CONVERSIONS: Final = (FTOF, FTOI, ITOF)


def _tile(value: Value) -> TileType:
    return cast(TileType, value.type)


def computed(operation: Operation, times: int, into: dict[Kind, int]) -> None:
    """Add what executions of an operation compute; control flow and what is in it are left out."""
    declaration = operation.declaration
    if declaration in (REDUCE, SCAN):
        elements, rows = _extents(operation)
        block_computes(operation.regions[0].blocks[0], times * (elements - rows), into)
        return
    chapter = declaration.chapter
    is_product, is_conversion = declaration.has_trait(MATRIX_PRODUCT), declaration in _CONVERSIONS
    if not is_product and not is_conversion and chapter not in ("Floating point", "Integer", "Bitwise"):
        return
    given, result = _tile(operation.operands[0]), _tile(operation.results[0])
    group, types, amount = INTEGER, given.element.spelling, prod(result.shape)
    if is_product:
        amount = 2 * prod(given.shape) * _tile(operation.operands[1]).shape[-1]
    if is_product or is_conversion:
        group, types = MATRIX if is_product else CONVERTING, f"{types} -> {result.element.spelling}"
    elif declaration is CMPF:
        group = COMPARING
    elif chapter == "Floating point":
        group, types, amount = FLOATING, result.element.spelling, amount * declaration.cost.flops
    kind = (group, declaration.mnemonic, types)
    into[kind] = into.get(kind, 0) + times * amount


def block_computes(block: Block, times: int, into: dict[Kind, int]) -> None:
    """Add what executions of the operations that stand in a block compute."""
    for operation in block:
        computed(operation, times, into)


_PRODUCTS: Final = REGISTRY.with_traits(MATRIX_PRODUCT)
_PASSED_ON: Final = (BROADCAST, FTOF, PERMUTE, RESHAPE)
_WARPS: Final = 4  # Of a tile block, in what NVIDIA's assembler makes of most kernels.


class WaitCounts(NamedTuple):
    """How often a tile block waits, in one execution of a block of the program or in a whole launch."""

    waits: int  # For what it reads.
    exchanges: int  # For its own warps, in reductions and scans.
    chained: int  # For the element before: how many elements such reductions and scans take in.
    iterations: int  # For the next iteration of a loop that accesses memory for more than matmuls.


def wait_counts(block: Block) -> WaitCounts:
    """Those of one execution of a block, without those of blocks within it."""
    owner = block.parent_operation
    in_loop = owner is not None and owner.declaration is FOR
    depths: dict[Value, int] = {}  # How many waits come before a value, for all that are made from what was read.
    longest = exchanges = chained = accesses = 0
    for operation in block:
        declaration = operation.declaration
        depth = -1
        for operand in operation.operands:
            if operand.type is not TOKEN:
                depth = max(depth, depths.get(operand, -1))
        if declaration.accesses_memory:
            accesses += not (declaration.reads and goes_into_products(operation.results[0]))
            if declaration.reads:
                is_late = depth >= 0
                depth = max(depth, 0) + _is_waited_for(operation, in_loop, is_late)
                longest = max(longest, depth)
        elif declaration in (REDUCE, SCAN):
            elements, rows = _extents(operation)
            if rows < _WARPS:
                exchanges += 1
                chained += elements - rows
        if depth >= 0:
            for result in operation.results:
                depths[result] = depth
    is_loop = owner is not None and owner.declaration.is_loop
    return WaitCounts(longest, exchanges, chained, int(is_loop and accesses > 0))


def _is_waited_for(operation: Operation, in_loop: bool, is_late: bool) -> bool:
    """Whether something uses what is read and the load cannot start ahead; the address of a late load is itself
    read."""
    loaded = operation.results[0]
    if not loaded.has_uses:
        return False
    if not in_loop or is_late:
        return True
    return operation.declaration.reads != "view" and not goes_into_products(loaded)


def goes_into_products(value: Value) -> bool:
    """Whether a tile is used only as an operand of matmuls."""
    pending = [value]
    if not value.has_uses:
        return False
    while pending:
        for user in pending.pop().users:
            if user.declaration in _PASSED_ON:
                pending.extend(user.results)
            elif user.declaration not in _PRODUCTS:
                return False
    return True


def _extents(operation: Operation) -> tuple[int, int]:
    """The elements of a reduction or scan, and how many rows of them lie side by side."""
    shape = _tile(operation.operands[0]).shape
    return prod(shape), prod(shape) // shape[operation.dim]


@dataclass(slots=True, eq=False)
class ArrayTraffic:
    """What a launch does with the memory of one argument or global variable, in bytes.

    `read` and `written` are what tile blocks access; `least_read` and `least_written` what a perfect cache would have
    to move: each byte of the array once, at most.
    """

    name: str
    size: int | None
    read: int
    written: int
    least_read: int
    least_written: int


@dataclass(slots=True, eq=False)
class AccessTraffic:
    """What one kind of memory operation comes to: how many tiles, and bytes."""

    count: int = 0
    read: int = 0
    written: int = 0


@dataclass(eq=False, repr=False)
class Work:
    """What a launch moves and computes; made by `Kernel.work`."""

    kernel: str
    grid: BlockId
    walked: int  # How many tile blocks were walked; the others are like them.
    accesses: dict[str, AccessTraffic]  # By the mnemonic of the memory operation.
    arrays: list[ArrayTraffic]
    computed: dict[Kind, int]
    waits: WaitCounts  # How often tile blocks wait for memory and for their own warps, all of them together.
    imbalance: float  # How much more the heaviest tile block that was walked does than the average.
    unknown: list[str]  # Why the counts are only a lower bound; empty if they are not.
    notes: list[str]  # How else they may differ from what runs.

    @property
    def blocks(self) -> int:
        return prod(self.grid)

    @property
    def bytes_read(self) -> int:
        """What tile blocks read, from memory or from a cache."""
        return sum(each.read for each in self.accesses.values())

    @property
    def bytes_written(self) -> int:
        return sum(each.written for each in self.accesses.values())

    @property
    def bytes_moved(self) -> int:
        """What tile blocks read and write, to and from memory or a cache."""
        return self.bytes_read + self.bytes_written

    @property
    def footprint(self) -> int:
        """What a perfect cache would move between memory and the processor, in bytes."""
        return sum(each.least_read + each.least_written for each in self.arrays)

    @property
    def flops(self) -> int:
        """Floating-point operations outside of matmuls."""
        return self._sum(FLOATING)

    @property
    def matrix_flops(self) -> dict[str, int]:
        """Operations of matmuls, by the type of their operands."""
        found: dict[str, int] = {}
        for (group, _, types), amount in self.computed.items():
            if group == MATRIX:
                source = types.partition(" ")[0]
                found[source] = found.get(source, 0) + amount
        return found

    @property
    def total_flops(self) -> int:
        """All floating-point operations, and those of integer matmuls."""
        return self.flops + sum(self.matrix_flops.values())

    @property
    def integer_operations(self) -> int:
        """Operations on integers outside of matmuls, including those on addresses."""
        return self._sum(INTEGER)

    @property
    def intensity(self) -> float:
        """Floating-point operations for each byte of the footprint."""
        return self.total_flops / self.footprint if self.footprint else float("inf") if self.total_flops else 0.0

    def _sum(self, group: str) -> int:
        return sum(amount for kind, amount in self.computed.items() if kind[0] == group)

    def by_kind(self, group: str) -> dict[str, int]:
        """The operations of a group, as in {"addf f32": 4096}; see `to_dict` for the groups."""
        return {f"{name} {types}": amount for (of, name, types), amount in self.computed.items() if of == group}

    def to_dict(self) -> dict[str, Any]:
        """All of it, of plain values for JSON."""
        return {
            "kernel": self.kernel,
            "grid": list(self.grid),
            "tile_blocks": self.blocks,
            "tile_blocks_walked": self.walked,
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "footprint": self.footprint,
            "flops": self.flops,
            "matrix_flops": self.matrix_flops,
            "integer_operations": self.integer_operations,
            "waits": self.waits._asdict(),
            "imbalance": self.imbalance,
            "accesses": {
                name: {"tiles": each.count, "bytes_read": each.read, "bytes_written": each.written}
                for name, each in self.accesses.items()
            },
            "arrays": [
                {
                    "name": each.name,
                    "size": each.size,
                    "bytes_read": each.read,
                    "bytes_written": each.written,
                    "least_read": each.least_read,
                    "least_written": each.least_written,
                }
                for each in self.arrays
            ],
            "operations": {group: self.by_kind(group) for group in (FLOATING, MATRIX, INTEGER, COMPARING, CONVERTING)},
            "unknown": self.unknown,
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        at_least = "at least " if self.unknown else ""
        return (
            f"<Work of {self.kernel}, grid {self.grid}: {at_least}{quantity(self.footprint, 'B')} footprint, "
            f"{quantity(self.bytes_moved, 'B')} moved, {quantity(self.total_flops, 'FLOP')}>"
        )


def quantity(number: float, unit: str) -> str:
    """A number with a decimal prefix: `2.15 GB`."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.4g} {prefix}{unit}"
    return f"{number:g} {unit}"
