"""Lowering of operations that make, change and rearrange tiles."""

from __future__ import annotations

from functools import partial

from tileir.dialect.ops import PACK
from tileir.dialect.types import TOKEN, TileType
from tileir.execute.analysis.values import is_scalar, is_tile, tile_of
from tileir.execute.cpu.loops.expressions import (
    Applied,
    Count,
    Expression,
    Mapped,
    Mapping,
    Splat,
    Stored,
    Table,
    squeezed,
)
from tileir.execute.cpu.loops.sinks import StoreBuffer, StoreScalar, Window
from tileir.execute.cpu.loops.statements import Alias, Let, Nest, Repack
from tileir.execute.cpu.lowering import fusion, inspection
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.dtypes import constant_elements
from tileir.execute.errors import LaunchError
from tileir.ir.core import Operation
from tileir.ir.types import F4E2M1FN, I1, I4
from tileir.ir.values import Value


def lower_let(lowering: Lowering, operation: Operation) -> None:
    lowering.body.append(Let(operation))


def lower_nothing(lowering: Lowering, operation: Operation) -> None:
    """Tokens order what is in order anyway."""


def lower_elementwise(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    if is_scalar(result):
        lowering.body.append(Let(operation))
        return
    inspection.inspect_numbers(lowering, operation)
    arguments = [lowering.expression(value) for value in operation.operands]
    expression = Applied(operation, arguments, fusion.cost_of(operation))
    if expression.cost > fusion.LARGEST:
        costliest = max(
            [value for value in operation.operands if is_tile(value)], key=lambda value: lowering.places[value].cost
        )
        lowering.store(costliest)
        arguments = [lowering.expression(value) for value in operation.operands]
        expression = Applied(operation, arguments, fusion.cost_of(operation))
    lowering.wait(result, expression)


def lower_constant(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    if is_scalar(result):
        lowering.body.append(Let(operation))
        return
    elements = constant_elements(operation.value_attribute)
    lowering.places[result] = Table(tile_of(result), result, elements)


def lower_iota(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    if is_scalar(result):
        lowering.body.append(Let(operation))
        return
    lowering.places[result] = Count(tile_of(result), result)


def lower_assume(lowering: Lowering, operation: Operation) -> None:
    """`assume`: the result is the operand."""
    inspection.inspect_promise(lowering, operation)
    source, result = operation.operands[0], operation.results[0]
    if isinstance(result.type, TileType):
        _rename(lowering, result, source)
    else:
        lowering.body.append(Let(operation))


def _rename(lowering: Lowering, result: Value, source: Value) -> None:
    if is_scalar(result):
        lowering.body.append(Alias(result, source))
        return
    expression = lowering.expression(source)
    mapping: Mapping = tuple([(axis, None) for axis in range(len(expression.shape))])
    see_through(lowering, result, expression, mapping)


def lower_assume_cond(lowering: Lowering, operation: Operation) -> None:
    """`assume_cond`: nothing is made of it here."""
    inspection.inspect_promise(lowering, operation)


def lower_cast(lowering: Lowering, operation: Operation) -> None:
    sources, results = operation.operands, operation.results
    if [value.type for value in sources] != [value.type for value in results]:
        raise LaunchError(
            "'cuda_tile.unrealized_conversion_cast' stands in for a conversion: replace it before the program runs"
        )
    for source, result in zip(sources, results, strict=True):
        if isinstance(result.type, TileType):
            _rename(lowering, result, source)
        elif result.type is not TOKEN:
            lowering.body.append(Alias(result, source))


def see_through(lowering: Lowering, result: Value, source: Expression, mapping: Mapping) -> None:
    """Realize a value as another tile seen through an index map.

    A map of an index map is one itself; of a buffer in the same order, the buffer in another shape.
    """
    type = tile_of(result)
    place: Expression = Mapped(type, result, source, mapping)
    if isinstance(source, Splat):
        place = Splat(type, result, source.scalar)
    elif isinstance(source, Table) and source.array.size == 1:
        place = Table(type, result, source.array)
    elif isinstance(source, Stored):
        place = place.with_operands([source])
    lowering.wait(result, place)


def lower_broadcast(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(result):
        lowering.body.append(Alias(result, source))
        return
    type = tile_of(result)
    if is_scalar(source):
        lowering.places[result] = Splat(type, result, source)
        return
    expression = lowering.expression(source)
    mapping: Mapping = tuple(
        [(axis if extent == type.shape[axis] else None, None) for axis, extent in enumerate(expression.shape)]
    )
    see_through(lowering, result, expression, mapping)


def lower_reshape(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(result):
        lowering.body.append(Alias(result, source))
        return
    type = tile_of(result)
    expression = lowering.expression(source)
    if isinstance(expression, Table):
        array = expression.array.reshape(type.shape) if expression.array.size > 1 else expression.array
        lowering.places[result] = Table(type, result, array)
        return
    if isinstance(expression, Splat):
        lowering.places[result] = Splat(type, result, expression.scalar)
        return
    if squeezed(type.shape) != squeezed(expression.shape):
        # Elements move to other rows: only memory has an order that both shapes share.
        stored = expression if isinstance(expression, Stored) else lowering.store(source)
        lowering.put(result, Stored(type, result, stored.buffer))
        return
    targets = iter([axis for axis, extent in enumerate(type.shape) if extent != 1])
    mapping: Mapping = tuple([(next(targets), None) if extent != 1 else (None, None) for extent in expression.shape])
    see_through(lowering, result, expression, mapping)


def lower_permute(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(result):
        lowering.body.append(Alias(result, source))
        return
    axes = operation.permutation
    expression = lowering.expression(source)
    back = {int(axis): place for place, axis in enumerate(axes)}
    mapping: Mapping = tuple([(back[axis], None) for axis in range(len(expression.shape))])
    see_through(lowering, result, expression, mapping)


def lower_extract(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(source):
        lowering.body.append(Let(operation))
        lowering.body.append(Alias(result, source))
        return
    type = tile_of(result)
    expression = lowering.expression(source)
    mapping: Mapping = tuple(
        [
            (axis if type.shape[axis] != 1 else None, index if type.shape[axis] != expression.shape[axis] else None)
            for axis, index in enumerate(operation.operands[1:])
        ]
    )
    lowering.body.append(Let(operation))
    place = Mapped(type, result, expression, mapping)
    if not is_scalar(result):
        lowering.wait(result, place)
        return
    if expression.cost > fusion.CHEAP and not fusion.is_plain_load(expression):
        lowering.store(source)
    lowering.nest(place, operation, lambda root: StoreScalar(root, result))


def lower_insert(lowering: Lowering, operation: Operation) -> None:
    source, target, result = operation.operands[0], operation.operands[1], operation.results[0]
    lowering.body.append(Let(operation))
    if is_scalar(result):
        lowering.body.append(Alias(result, source))
        return
    type = tile_of(result)
    part = tile_of(source).shape
    buffer = lowering.buffer_of(result)
    lowering.nest(lowering.expression(target), operation, lambda root: StoreBuffer(root, buffer))
    window = Window(type.shape, part, tuple(operation.operands[2:]))
    lowering.nest(lowering.expression(source), operation, lambda root: StoreBuffer(root, buffer, window))
    lowering.stored(result, buffer)


def lower_cat(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    axis = operation.dim
    type = tile_of(result)
    buffer = lowering.buffer_of(result)
    start = 0
    for value in operation.operands:
        part = tile_of(value).shape
        origins = tuple([start if place == axis else 0 for place in range(len(part))])
        window = Window(type.shape, part, origins)
        lowering.nest(lowering.expression(value), operation, partial(StoreBuffer, buffer=buffer, window=window))
        start += part[axis]
    lowering.stored(result, buffer)


def lower_repack(lowering: Lowering, operation: Operation) -> None:
    """`pack` and `unpack`: the same bits as elements of another width."""
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(source) and is_scalar(result):
        lowering.body.append(Let(operation))
        return
    type = tile_of(result)
    buffer = lowering.buffer_of(result)
    if is_scalar(source):
        held = lowering.buffer_of(source)
        lowering.body.append(Nest(tile_of(source).shape, [StoreBuffer(lowering.expression(source), held)]))
        expression = Stored(tile_of(source), None, held)
    else:
        expression = lowering.store(source)
    packing = operation.declaration is PACK
    narrow = tile_of(source if packing else result).element
    if narrow in (I1, I4, F4E2M1FN):
        lowering.body.append(Repack(operation, expression, buffer))
    else:
        buffer = expression.buffer
    if is_scalar(result):
        place = Stored(type, None, buffer)
        lowering.body.append(Nest(type.shape, [StoreScalar(place, result)]))
    else:
        lowering.stored(result, buffer)
