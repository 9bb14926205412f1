"""Lowering of operations that make, change and rearrange tiles."""

from __future__ import annotations

from functools import partial

from tileir.dialect.ops import BROADCAST, IOTA, PACK, PERMUTE, RESHAPE
from tileir.dialect.types import TOKEN, TileType
from tileir.execute.analysis.values import is_scalar, is_tile, tile_of
from tileir.execute.cpu.ir import expressions as ex
from tileir.execute.cpu.ir.statements import Alias, LoopNest, Repack, ScalarOp, StoreBuffer, StoreScalar, Window
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.lowering.context import Lowering
from tileir.execute.cpu.sanitizer import inspection
from tileir.execute.dtypes import constant_elements
from tileir.execute.errors import LaunchError
from tileir.ir.core import Operation
from tileir.ir.types import F4E2M1FN, I1, I4
from tileir.ir.values import Value


def lower_scalar(lowering: Lowering, operation: Operation) -> None:
    lowering.body.append(ScalarOp(operation))


def lower_nothing(lowering: Lowering, operation: Operation) -> None:
    """Tokens order what is in order anyway."""


def lower_elementwise(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    if is_scalar(result):
        lowering.body.append(ScalarOp(operation))
        return
    inspection.inspect_numbers(lowering, operation)

    def applied() -> ex.Elementwise:
        operands = [lowering.expression(value) for value in operation.operands]
        return ex.Elementwise(operation, operands, fusion.cost_of(operation))

    expression = applied()
    if expression.cost > fusion.LARGEST:
        tiles = [value for value in operation.operands if is_tile(value)]
        lowering.store(max(tiles, key=lambda value: lowering.realized[value].cost))
        expression = applied()
    lowering.wait(result, expression)


def lower_constant(lowering: Lowering, operation: Operation) -> None:
    """`constant` and `iota`."""
    result = operation.results[0]
    if is_scalar(result):
        lowering.body.append(ScalarOp(operation))
    elif operation.declaration is IOTA:
        lowering.realized[result] = ex.Iota(tile_of(result), result)
    else:
        lowering.realized[result] = ex.Table(tile_of(result), result, constant_elements(operation.value_attribute))


def lower_assume(lowering: Lowering, operation: Operation) -> None:
    """The result of `assume` is its operand; `assume_cond` has none, and is of no use here."""
    inspection.inspect_promise(lowering, operation)
    for result in operation.results:
        if isinstance(result.type, TileType):
            _rename(lowering, result, operation.operands[0])
        else:
            lowering.body.append(ScalarOp(operation))


def lower_cast(lowering: Lowering, operation: Operation) -> None:
    sources, results = operation.operands, operation.results
    if [value.type for value in sources] != [value.type for value in results]:
        raise LaunchError(
            "'cuda_tile.unrealized_conversion_cast' stands in for a conversion: replace it before the program runs"
        )
    for source, result in zip(sources, results, strict=True):
        if result.type is not TOKEN:
            _rename(lowering, result, source)


def _rename(lowering: Lowering, result: Value, source: Value) -> None:
    if not isinstance(result.type, TileType) or is_scalar(result):
        lowering.body.append(Alias(result, source))
        return
    expression = lowering.expression(source)
    map_tile(lowering, result, expression, tuple([(axis, None) for axis in range(len(expression.shape))]))


def map_tile(lowering: Lowering, result: Value, source: ex.Expression, mapping: ex.Mapping) -> None:
    """Realize a value as another tile through an index map; a buffer in the same order stays one."""
    type = tile_of(result)
    mapped: ex.Expression = ex.Mapped(type, result, source, mapping)
    if isinstance(source, ex.Splat):
        mapped = ex.Splat(type, result, source.scalar)
    elif isinstance(source, ex.Table) and source.array.size == 1:
        mapped = ex.Table(type, result, source.array)
    elif isinstance(source, ex.BufferRead):
        mapped = mapped.with_operands([source])
    lowering.wait(result, mapped)


def lower_map(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(result):
        lowering.body.append(Alias(result, source))
        return
    expression, type = lowering.expression(source), tile_of(result)
    if operation.declaration is RESHAPE:
        if isinstance(expression, ex.Table) and expression.array.size > 1:
            lowering.realized[result] = ex.Table(type, result, expression.array.reshape(type.shape))
            return
        moves = ex.squeezed(type.shape) != ex.squeezed(expression.shape)
        if moves and not isinstance(expression, (ex.Table, ex.Splat)):
            # Elements move to other rows: only memory has an order that both shapes share.
            stored = expression if isinstance(expression, ex.BufferRead) else lowering.store(source)
            lowering.put(result, ex.BufferRead(type, result, stored.buffer))
            return
    map_tile(lowering, result, expression, _mapping(operation, expression.shape, type.shape))


def _mapping(operation: Operation, source: ex.Shape, target: ex.Shape) -> ex.Mapping:
    if operation.declaration is BROADCAST:
        return tuple([(axis if extent == target[axis] else None, None) for axis, extent in enumerate(source)])
    if operation.declaration is PERMUTE:
        back = {int(axis): position for position, axis in enumerate(operation.permutation)}
        return tuple([(back[axis], None) for axis in range(len(source))])
    axes = iter([axis for axis, extent in enumerate(target) if extent != 1])
    return tuple([(next(axes, None), None) if extent != 1 else (None, None) for extent in source])


def lower_extract(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    lowering.body.append(ScalarOp(operation))
    if is_scalar(source):
        lowering.body.append(Alias(result, source))
        return
    shape, expression = tile_of(result).shape, lowering.expression(source)
    mapping: ex.Mapping = tuple(
        [
            (axis if shape[axis] != 1 else None, index if shape[axis] != expression.shape[axis] else None)
            for axis, index in enumerate(operation.operands[1:])
        ]
    )
    mapped = ex.Mapped(tile_of(result), result, expression, mapping)
    if not is_scalar(result):
        lowering.wait(result, mapped)
        return
    if expression.cost > fusion.CHEAP and not fusion.is_plain_load(expression):
        lowering.store(source)
    lowering.nest(mapped, operation, lambda root: StoreScalar(root, result))


# --- tiles made in a buffer ---


def lower_insert(lowering: Lowering, operation: Operation) -> None:
    source, target, result = operation.operands[0], operation.operands[1], operation.results[0]
    lowering.body.append(ScalarOp(operation))
    if is_scalar(result):
        lowering.body.append(Alias(result, source))
        return
    buffer = lowering.buffer_of(result)
    lowering.nest(lowering.expression(target), operation, lambda root: StoreBuffer(root, buffer))
    window = Window(tile_of(result).shape, tile_of(source).shape, tuple(operation.operands[2:]))
    lowering.nest(lowering.expression(source), operation, lambda root: StoreBuffer(root, buffer, window))
    lowering.stored(result, buffer)


def lower_cat(lowering: Lowering, operation: Operation) -> None:
    result, axis = operation.results[0], operation.dim
    buffer = lowering.buffer_of(result)
    start = 0
    for value in operation.operands:
        part = tile_of(value).shape
        origins = tuple([start if number == axis else 0 for number in range(len(part))])
        window = Window(tile_of(result).shape, part, origins)
        lowering.nest(lowering.expression(value), operation, partial(StoreBuffer, buffer=buffer, window=window))
        start += part[axis]
    lowering.stored(result, buffer)


def lower_repack(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(source) and is_scalar(result):
        lowering.body.append(ScalarOp(operation))
        return
    type = tile_of(result)
    buffer = lowering.buffer_of(result)
    if is_scalar(source):
        held = lowering.buffer_of(source)
        lowering.body.append(LoopNest(tile_of(source).shape, [StoreBuffer(lowering.expression(source), held)]))
        expression = ex.BufferRead(tile_of(source), None, held)
    else:
        expression = lowering.store(source)
    narrow = tile_of(source if operation.declaration is PACK else result).element
    if narrow in (I1, I4, F4E2M1FN):
        lowering.body.append(Repack(operation, expression, buffer))
    else:
        buffer = expression.buffer
    if is_scalar(result):
        lowering.body.append(LoopNest(type.shape, [StoreScalar(ex.BufferRead(type, None, buffer), result)]))
    else:
        lowering.stored(result, buffer)
