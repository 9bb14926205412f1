"""Lowering under the sanitizer: the checks in front of operations.

An access is checked at its position in the program, and happens there too: loads do not wait to be fused, so that
findings and writes come in the order of the program.
"""

from __future__ import annotations

from math import prod
from typing import cast

import numpy

from tileir.dialect.types import TileType, TileViewType
from tileir.execute.analysis.values import dtype_of, is_tile, tile_of
from tileir.execute.cpu.ir.expressions import Buffer, BufferRead, Expression, Shape
from tileir.execute.cpu.ir.statements import Inspect
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.sanitizer.sites import SHADOW_PADDING
from tileir.ir.core import Operation

_BYTE = numpy.dtype(numpy.uint8)
_BOOL = numpy.dtype(numpy.bool_)
_ADDRESS = numpy.dtype(numpy.uint64)


def inspect_pointers(lowering: Lowering, operation: Operation) -> Buffer | None:
    """Check an access through pointers; returns the buffer for which elements may be touched."""
    if not lowering.options.sanitize:
        return None
    pointers = operation.operands[0]
    mask = operation.mask if "mask" in [each.name for each in operation.declaration.operands] else None
    sources = [lowering.expression(value) for value in (pointers, mask) if value is not None]
    guard, statement = _inspect_access(lowering, operation, tile_of(pointers).shape, sources, mask is not None)
    lowering.ready(sources, statement.shape, [])
    lowering.body.append(statement)
    return guard


def inspect_view(lowering: Lowering, operation: Operation, positions: Expression | None) -> Buffer | None:
    """Check an access through a view; `positions` are those of a gather."""
    if not lowering.options.sanitize:
        return None
    shape = cast(TileViewType, operation.view.type).tile_shape
    sources = lowering.resolved([positions]) if positions is not None else []
    guard, statement = _inspect_access(lowering, operation, shape, sources, True)
    lowering.body.append(statement)
    return guard


def _inspect_access(
    lowering: Lowering, operation: Operation, shape: Shape, sources: list[Expression], has_mask: bool
) -> tuple[Buffer, Inspect]:
    dtypes = [_ADDRESS, _BOOL] if has_mask else [_ADDRESS]
    copies = [lowering.new_buffer(dtype, prod(shape)) for dtype in dtypes]
    guard = lowering.new_buffer(_BOOL, prod(shape))
    return guard, Inspect(operation, shape, sources, copies, guard)


def inspect_numbers(lowering: Lowering, operation: Operation) -> None:
    """Check the operands of an elementwise operation on tiles, if it is not defined for all numbers."""
    if not lowering.options.sanitize:
        return
    from tileir.execute.sanitizer.integer_checks import number_checks

    if number_checks(operation):
        _inspect_values(lowering, operation)


def inspect_promise(lowering: Lowering, operation: Operation) -> None:
    if not lowering.options.sanitize:
        return
    operand = operation.operands[0]
    if not isinstance(operand.type, TileType):
        lowering.body.append(Inspect(operation, (), [], [], None))
        return
    from tileir.execute.sanitizer.promises import is_about_groups

    if is_about_groups(operation) and is_tile(operand):
        # Elements are compared with others of the same tile.
        lowering.store(operand)
    _inspect_values(lowering, operation)


def _inspect_values(lowering: Lowering, operation: Operation) -> None:
    shape = tile_of(operation.operands[0]).shape
    for value in operation.operands:
        if is_tile(value) and lowering.expression(value).cost > fusion.CHEAP:
            lowering.store(value)
    sources = [lowering.expression(value) for value in operation.operands]
    lowering.ready(sources, shape, [])
    copies = [
        source.buffer if isinstance(source, BufferRead) else lowering.new_buffer(dtype_of(value), prod(shape))
        for source, value in zip(sources, operation.operands, strict=True)
    ]
    lowering.body.append(Inspect(operation, shape, sources, copies, None))


def shadow_buffer(lowering: Lowering, size: int) -> Buffer | None:
    if not lowering.options.sanitize:
        return None
    shadow = lowering.new_buffer(_BYTE, size + SHADOW_PADDING)
    shadow.persistent = True
    return shadow
