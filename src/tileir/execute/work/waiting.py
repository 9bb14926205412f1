"""Where a tile block has to stop: for memory, for its own warps, and once in each iteration of a loop.

Loads that do not depend on each other are under way together.  Compilers for GPUs start the loads of a loop some
iterations ahead if their places are known by then: those of views, and those that go into matrix products, are not
waited for.  A reduction of a tile with fewer rows than a tile block has warps takes all of them, which then wait for
each other; until then each thread takes in its elements one after the other.
"""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple, cast

from tileir.dialect.ops import BROADCAST, FOR, FTOF, PERMUTE, REDUCE, RESHAPE, SCAN
from tileir.dialect.types import TOKEN, TileType
from tileir.ir.core import Block, Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import MATRIX_PRODUCT
from tileir.ir.values import Value

_PRODUCTS: Final = REGISTRY.with_traits(MATRIX_PRODUCT)
_PASSED_ON: Final = (BROADCAST, FTOF, PERMUTE, RESHAPE)
_WARPS: Final = 4
"""Of a tile block, in what NVIDIA's assembler makes of most kernels."""


class Stops(NamedTuple):
    """How often a tile block stops, in one execution of a block of the program or in a whole launch."""

    waits: int
    """For what it reads."""
    exchanges: int
    """For its own warps, in reductions and scans."""
    chained: int
    """For the element before: how many elements such reductions and scans take in."""
    iterations: int
    """For the next iteration of a loop that accesses memory for more than matrix products."""


def stops_of(block: Block) -> Stops:
    """Those of one execution of a block, without those of blocks within it."""
    owner = block.parent_operation
    in_loop = owner is not None and owner.declaration is FOR
    # How many waits come before a value, for all that are made from what was read.
    depths: dict[Value, int] = {}
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
    return Stops(longest, exchanges, chained, int(is_loop and accesses > 0))


def _is_waited_for(operation: Operation, in_loop: bool, is_late: bool) -> bool:
    """Whether anything of what is read is used, and the load cannot be started ahead; one that is late has its place
    from memory."""
    loaded = operation.results[0]
    if not loaded.has_uses:
        return False
    if not in_loop or is_late:
        return True
    return operation.declaration.reads != "view" and not goes_into_products(loaded)


def goes_into_products(value: Value) -> bool:
    """Whether a tile is used for nothing but factors of matrix products."""
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
    shape = cast(TileType, operation.operands[0].type).shape
    dim = operation.dim
    return prod(shape), prod(shape) // shape[dim]
