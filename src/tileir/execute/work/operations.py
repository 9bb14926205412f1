"""What one execution of an operation computes, whatever the values are, and where a tile block waits.

Each floating-point operation counts one for each element of its result, a fused multiply-add two; comparisons and
conversions are counted by themselves and are no part of that sum.  A product of an M x K and a K x N matrix is 2 M N K.
A reduction or scan of N elements runs its region N - 1 times.

A tile block waits for memory, for its own warps, and once in each iteration of a loop.  Loads that do not depend on
each other are under way together.  Compilers for GPUs start the loads of a loop some iterations ahead if their
addresses are known by then: those of views, and those that go into matrix products, are not waited for.  A reduction of
a tile with fewer rows than a tile block has warps takes all of them, which then wait for each other; until then each
thread takes in its elements one after the other.
"""

from __future__ import annotations

from math import prod
from typing import Final, NamedTuple, cast

from tileir.dialect.ops import BROADCAST, CMPF, FOR, FTOF, FTOI, ITOF, PERMUTE, REDUCE, RESHAPE, SCAN
from tileir.dialect.types import TOKEN, TileType
from tileir.ir.core import Block, Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ADDITION_COST, MATRIX_PRODUCT, ElementCost
from tileir.ir.types import Type
from tileir.ir.values import Value

Kind = tuple[str, str, str]
"""A group of `GROUPS`, the mnemonic, the element type."""


def cost_of(kind: Kind) -> ElementCost:
    """What an element of the operation of a kind takes."""
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
    mnemonic = declaration.mnemonic
    if declaration.has_trait(MATRIX_PRODUCT):
        left, right = _tile(operation.operands[0]), _tile(operation.operands[1])
        amount = 2 * prod(left.shape) * right.shape[-1]
        _add(
            into,
            (MATRIX, mnemonic, f"{left.element.spelling} -> {_tile(operation.results[0]).element.spelling}"),
            times * amount,
        )
    elif declaration in (REDUCE, SCAN):
        source = _tile(operation.operands[0])
        dim = operation.dim
        rows = prod(source.shape) // source.shape[dim]
        block_computes(operation.regions[0].blocks[0], times * (prod(source.shape) - rows), into)
    elif declaration in _CONVERSIONS:
        names = f"{_element(operation.operands[0]).spelling} -> {_element(operation.results[0]).spelling}"
        _add(into, (CONVERTING, mnemonic, names), times * prod(_tile(operation.results[0]).shape))
    elif declaration is CMPF:
        _add(into, (COMPARING, mnemonic, _element(operation.operands[0]).spelling), times * _count(operation))
    elif declaration.chapter == "Floating point":
        amount = _count(operation) * declaration.cost.flops
        _add(into, (FLOATING, mnemonic, _element(operation.results[0]).spelling), times * amount)
    elif declaration.chapter in ("Integer", "Bitwise"):
        _add(into, (INTEGER, mnemonic, _element(operation.operands[0]).spelling), times * _count(operation))


def block_computes(block: Block, times: int, into: dict[Kind, int]) -> None:
    """Add what executions of the operations that stand in a block compute."""
    for operation in block:
        computed(operation, times, into)


def _element(value: Value) -> Type:
    return _tile(value).element


def _count(operation: Operation) -> int:
    return prod(_tile(operation.results[0]).shape)


def _add(into: dict[Kind, int], kind: Kind, amount: int) -> None:
    into[kind] = into.get(kind, 0) + amount


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
