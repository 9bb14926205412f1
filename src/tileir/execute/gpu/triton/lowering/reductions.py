"""Lowering of reductions and scans, with any body.

A combiner of TTIR is a block of operations on scalars.  Which of its operands is the earlier one is as the dialect has
it; in which order elements are combined is open.  Elements that Triton does not combine go by their bits.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.analysis.values import tile_of
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.shapes import as_bits, from_bits
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue, squeezed_axis
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import pre_order

_BY_BITS: Final = ("f8E4M3FN", "f8E5M2", "!tt.ptr")
_NOT_COMBINING: Final = (ops.FOR, ops.LOOP, ops.REDUCE, ops.SCAN, ops.ASSERT, ops.PRINT_TKO)


def lower_reduce(build: Lowering, operation: Operation) -> None:
    axis = _axis(operation)
    values = build.operands(operation)
    if axis is None:
        # Of one element, it is that element.
        made = values
    else:
        _check(build, operation)
        bits = _all_as_bits(build, values)
        if axis == 1 and len(bits[0].shape) == 3 and _is_product(build, operation):
            bits = [build.assembly(f"mov.b{value.bits}", [value], value.element) for value in bits]
        # Triton reorders the elements of a reshaped vector that is reduced, and forgets those reduced along with it.
        is_apart = len(bits) > 1 and len(bits[0].shape) == 1 and any(map(build.is_reshaped, bits))
        if is_apart:
            bits, axis = [build.expand(value, 0) for value in bits], 1
        made = build.reduce(
            bits,
            axis,
            # The body has for each operand the current element, and what came before.
            lambda before, element: _combine(build, operation, element, before),
        )
        if is_apart:
            made = [build.reshape(value, ()) for value in made]
    _give(build, operation, values, made)


def lower_scan(build: Lowering, operation: Operation) -> None:
    axis = _axis(operation)
    values = build.operands(operation)
    reverse = operation.reverse
    if axis is None:
        made = values
    else:
        _check(build, operation)
        made = build.scan(
            _all_as_bits(build, values),
            axis,
            reverse,
            # Here it is the other way round (docs/conflicts.md C13).
            lambda before, element: _combine(build, operation, before, element),
        )
    _give(build, operation, values, made)


def _is_product(build: Lowering, operation: Operation) -> bool:
    """Whether Triton would take a sum of products of two broadcast tiles for a matrix product, which rounds less."""
    definition = operation.operands[0].defining_operation
    is_multiplied = definition is not None and definition.declaration is ops.MULF
    return is_multiplied and len(operation.operands) == 1 and build.has_ptx and not build.options.fast


def _axis(operation: Operation) -> int | None:
    """The dimension in TTIR; None where it has one element."""
    shape = tile_of(operation.operands[0]).shape
    dim = operation.dim
    return None if shape[dim] == 1 else squeezed_axis(shape, dim)


def _check(build: Lowering, operation: Operation) -> None:
    """Refuse what cannot stand in a combiner."""
    for inner in pre_order(operation):
        if inner is operation:
            continue
        tiles = [each.type for each in (*inner.operands, *inner.results) if isinstance(each.type, TileType)]
        if inner.declaration in _NOT_COMBINING or any(type.count > 1 for type in tiles):
            build.refuse(inner, f"it stands in the body of a '{operation.name}', which has operations on scalars only")


def _combine(build: Lowering, operation: Operation, first: list[TtirValue], second: list[TtirValue]) -> list[TtirValue]:
    """The body: its first and second argument for each operand."""
    block: Block = operation.regions[0].blocks[0]
    for number, pair in enumerate(zip(first, second, strict=True)):
        for argument, value in zip(block.arguments[2 * number : 2 * number + 2], pair, strict=True):
            element, _ = build.type_of(argument)
            build.define(argument, from_bits(build, value, element))
    given: list[TtirValue] = []
    for inner in block:
        if inner.declaration is ops.YIELD:
            given = build.operands(inner)
        else:
            build.lower(inner)
    return _all_as_bits(build, given)


def _all_as_bits(build: Lowering, values: list[TtirValue]) -> list[TtirValue]:
    return [as_bits(build, value) if value.element.startswith(_BY_BITS) else value for value in values]


def _give(build: Lowering, operation: Operation, values: list[TtirValue], made: list[TtirValue]) -> None:
    for result, value, lowered in zip(operation.results, values, made, strict=True):
        build.define(result, from_bits(build, lowered, value.element))
