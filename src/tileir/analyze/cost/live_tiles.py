"""How many registers the tiles of a kernel take that must exist at the same time, before anything is compiled.

The model, of what NVIDIA's assembler makes; `benchmarks/lint_registers.py` holds it against compiled kernels:

1. Elementwise operations in a row are done a part of the tile at a time.  Reductions, scans, matmuls, transpositions
   and loops need whole tiles, so the tiles that count are those that live across such an operation.
2. A tile lives from its definition to its last use; where a loop uses it that does not define it, to the loop's end.
3. What is cheap to compute again takes nothing: constants, `iota`, broadcasts, and integers computed from those.
4. Operands of matmuls that are loaded go through shared memory.  Accumulators are in registers, except on GPUs that
   have a memory for them; where tensor cores keep too few bits of accumulators of f8, there are two of each.
5. Matmuls without tensor cores take the rows and columns that a thread multiplies in addition.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from math import isqrt
from typing import Final, NamedTuple

from tileir.analyze.cost.occupancy import MOST_REGISTERS, USUAL_WARPS
from tileir.dialect import ops
from tileir.dialect.constraints import tile_type_of
from tileir.dialect.types import PointerType, TileType
from tileir.execute.gpu.gpus import REGISTERS, WARP_SIZE
from tileir.execute.gpu.targets import Architecture
from tileir.execute.work.evaluation import element_size
from tileir.execute.work.operations import goes_into_products
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE, MATRIX_PRODUCT
from tileir.ir.traversal import pre_order
from tileir.ir.types import F8E4M3FN, F8E5M2, F32, IntegerType, Type
from tileir.ir.values import Value

PRODUCTS: Final = REGISTRY.with_traits(MATRIX_PRODUCT)
_WHOLE: Final = (*PRODUCTS, ops.REDUCE, ops.SCAN, ops.PERMUTE, ops.CAT, ops.FOR, ops.LOOP, ops.CONTINUE)
"""Operations that need whole tiles."""
_SAME: Final = (ops.ASSUME, ops.BITCAST, ops.BROADCAST, ops.RESHAPE)
"""Their result is what they are given, seen in another way."""
_LOADING_WARPS: Final = 4
"""Beside those that compute, on GPUs with TMA."""
_ACCUMULATORS: Final = 512 * 128
"""Elements of 32 bits in the tensor memory: 512 columns of 128 lanes."""
LEAST_ROWS, LEAST_COLUMNS = 16, 8
"""The smallest matmul on tensor cores."""


class LiveTiles(NamedTuple):
    """The point of a kernel at which most is in registers."""

    registers: int
    """Registers of 32 bits, in all threads of a tile block together."""
    operation: Operation
    """The operation across which they live."""
    tiles: tuple[tuple[Value, int], ...]
    """The largest first, each with its registers."""
    factors: int
    """Registers, of all those, that a matmul without tensor cores has for its operands."""


def register_capacity(architecture: Architecture, warps: int = 0, occupancy: int = 0) -> int:
    """Registers that a tile block has for tiles, with as many warps that compute, and where so many tile blocks are to
    fit on a multiprocessor; 0 for what the assembler chooses itself."""
    threads = (warps or USUAL_WARPS) * WARP_SIZE
    taken = threads + (_LOADING_WARPS * WARP_SIZE if architecture.has_tma and warps > USUAL_WARPS else 0)
    return threads * min(MOST_REGISTERS, REGISTERS // (taken * max(occupancy, 1)))


def registers_of(type: TileType) -> int:
    """The registers of 32 bits of a tile, in all threads; narrower elements share one."""
    return -(-type.count * _bits(type.element) // 32)


def multiplies_on_tensor_cores(operation: Operation, architecture: Architecture) -> bool:
    """Whether the assembler runs a matmul of this type and size on tensor cores."""
    left, total = tile_type_of(operation.operands[0]), tile_type_of(operation.acc)
    if operation.declaration is ops.MMAF_SCALED:
        return architecture.has_scaled_products
    is_large = total.shape[-2] >= LEAST_ROWS and total.shape[-1] >= LEAST_COLUMNS
    return is_large and left.element.text in architecture.factors


def live_tiles(entry: Operation, architecture: Architecture) -> LiveTiles | None:
    """Where a kernel needs the most registers; None if it has no tiles that count."""
    operations = pre_order(entry)
    if not any(operation.declaration in _WHOLE for operation in operations):
        return None
    # Two positions for each operation: one with regions makes its results after them.
    place = {operation: 2 * position for position, operation in enumerate(operations)}
    # The position of the last operation inside of each, or its own.
    ends = dict(place)
    for operation in reversed(operations):
        parent = operation.parent_operation
        if parent in ends:
            ends[parent] = max(ends[parent], ends[operation])
    roots: dict[Value, Value] = {}
    made: dict[Value, int] = {}
    last: dict[Value, int] = {}
    depths: dict[Value | Operation | None, int] = {}
    # The depths and ends of the loops around, the outermost first.
    loops: list[tuple[int, int]] = []
    for operation in operations:
        while loops and loops[-1][1] < place[operation]:
            loops.pop()
        depth = depths[operation] = depths.get(operation.parent_operation, -1) + 1
        for operand in operation.operands:
            root = roots.get(operand, operand)
            if root in made:
                # A loop around this use, and not around the definition, needs the tile up to its end.
                around = bisect_left(loops, (depths[root],))
                end = loops[around][1] if around < len(loops) else place[operation]
                last[root] = max(last.get(root, -1), end)
        for argument in [each for region in operation.regions for block in region.blocks for each in block.arguments]:
            made[argument], depths[argument] = place[operation], depth + 1
        if operation.declaration.is_loop:
            loops.append((depth, ends[operation]))
        for result in operation.results:
            is_same = operation.declaration in _SAME
            roots[result] = roots.get(operation.operands[0], operation.operands[0]) if is_same else result
            if not is_same:
                made[result], depths[result] = ends[operation] + bool(operation.regions), depth
    sizes = _sizes(made, roots, architecture)
    spans = [(value, made[value], last[value], size) for value, size in sizes.items() if value in last]
    return _fullest(operations, spans, architecture)


def _fullest(
    operations: list[Operation], spans: list[tuple[Value, int, int, int]], architecture: Architecture
) -> LiveTiles | None:
    # Before an operation there are its operands, after it its results: it may write over what it reads.
    before = _totals(2 * len(operations), [(first + 1, end + 1, size) for _, first, end, size in spans])
    after = _totals(2 * len(operations), [(first, end, size) for _, first, end, size in spans])
    best, at, factors = 0, -1, 0
    for position, operation in zip(range(0, 2 * len(operations), 2), operations, strict=True):
        extra = _taken_by_product(operation, architecture) if operation.declaration in PRODUCTS else 0
        total = max(before[position], after[position]) + extra
        if operation.declaration in _WHOLE and total > best:
            best, at, factors = total, position, extra
    if at < 0:
        return None
    is_before = before[at] >= after[at]
    largest = sorted([span for span in spans if span[3]], key=lambda span: -span[3])
    alive = [(value, size) for value, first, end, size in largest if first + is_before <= at < end + is_before]
    return LiveTiles(best, operations[at // 2], tuple(alive), factors)


def _totals(count: int, spans: Iterable[tuple[int, int, int]]) -> list[int]:
    """The sum at each position of amounts that span from one position up to another."""
    changes = [0] * (count + 2)
    for first, end, amount in spans:
        if first < end:
            changes[first] += amount
            changes[end] -= amount
    return list(accumulate(changes))


def _sizes(values: Iterable[Value], roots: dict[Value, Value], architecture: Architecture) -> dict[Value, int]:
    """The registers of each value; makers come before what is made of them."""
    found: dict[Value, int] = {}
    cheap: set[Value] = set()
    for value in values:
        type = value.type
        if not isinstance(type, TileType):
            continue
        maker = value.defining_operation
        if type.count == 1 or _is_cheap(maker, cheap, roots):
            cheap.add(value)
        elif not _is_elsewhere(value, maker, architecture):
            # Reductions take halves one by one; what is only added and multiplied stays packed.
            users = value.users if _bits(type.element) == 16 else ()
            is_split = any(user.declaration in (ops.REDUCE, ops.SCAN) for user in users)
            found[value] = type.count if is_split else registers_of(type)
    return found


def _is_cheap(maker: Operation | None, cheap: set[Value], roots: dict[Value, Value]) -> bool:
    if maker is None:
        return False
    if maker.declaration in (ops.CONSTANT, ops.IOTA):
        return True
    result = maker.results[0].type
    if not maker.declaration.traits & ELEMENTWISE or not isinstance(result, TileType):
        return False
    is_integer = isinstance(result.element, (IntegerType, PointerType))
    return is_integer and all(roots.get(each, each) in cheap for each in maker.operands)


def _is_elsewhere(value: Value, maker: Operation | None, architecture: Architecture) -> bool:
    """Whether a tile is in shared memory, or in the memory of accumulators."""
    if maker is not None and maker.declaration.reads is not None:
        return goes_into_products(value)
    if not architecture.has_tensor_memory or registers_of(tile_type_of(value)) > _ACCUMULATORS:
        return False
    if maker is not None:
        return maker.declaration in PRODUCTS and all(user.declaration is ops.CONTINUE for user in value.users)
    sums = [user for user in value.users if user.declaration in PRODUCTS and user.acc is value]
    is_sum = value.has_uses and len(sums) == len(value.users)
    return is_sum and all(multiplies_on_tensor_cores(user, architecture) for user in sums)


def _taken_by_product(operation: Operation, architecture: Architecture) -> int:
    """What a product takes beside the tiles of the program."""
    left, total = tile_type_of(operation.operands[0]), tile_type_of(operation.acc)
    if multiplies_on_tensor_cores(operation, architecture):
        is_short = left.element in (F8E4M3FN, F8E5M2) and total.element is F32 and operation.declaration is ops.MMAF
        if is_short and architecture.has_short_accumulators and "fast_acc" not in operation.attributes:
            return registers_of(total)
        return 0
    threads = USUAL_WARPS * WARP_SIZE
    lines = 2 * max(isqrt(total.count // threads), 1)
    return threads * lines * left.shape[-1] * max(_bits(total.element), 32) // 32


def _bits(element: Type) -> int:
    return 64 if isinstance(element, PointerType) else 8 * element_size(element)
