"""Emission of operations on scalars and views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import DYNAMIC, TensorViewType, TileType, TileViewType
from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.emission import bounds
from tileir.execute.cpu.emission.accesses import cut_off
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.exits import require
from tileir.execute.cpu.emission.views import FAR, TensorView, TileView
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.statements import Alias, Let
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.vector import casting, instructions
from tileir.execute.cpu.vector.builder import Number, signed
from tileir.execute.cpu.vector.casting import BOOL, INT32, UINT64
from tileir.execute.cpu.vector.llvm import Register, literal, scalar_type, wrapped
from tileir.execute.dtypes import constant_elements
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value


def emit_let(emission: Emission, statement: Let) -> None:
    operation = statement.operation
    special = _LETS.get(operation.declaration)
    if special is not None:
        special(emission, operation)
        return
    operands = [emission.scalars[value] for value in operation.operands]
    if emission.sanitize:
        from tileir.execute.cpu.emission import inspecting_values

        inspecting_values.inspect_scalars(emission, operation, operands)
    emission.scalars[operation.results[0]] = instructions.emit_operation(emission.builder, operation, operands)


def _let_constant(emission: Emission, operation: Operation) -> None:
    result = operation.results[0]
    elements = constant_elements(operation.value_attribute)
    emission.scalars[result] = literal(elements[0], dtype_of(result))


def _let_iota(emission: Emission, operation: Operation) -> None:
    result = operation.results[0]
    emission.scalars[result] = literal(0, dtype_of(result))


def _let_assume(emission: Emission, operation: Operation) -> None:
    emission.views[operation.results[0]] = emission.views[operation.operands[0]]


def _let_block_id(emission: Emission, operation: Operation) -> None:
    for result, name in zip(operation.results, emission.block_id, strict=True):
        emission.scalars[result] = Register(name, INT32)


def _let_grid(emission: Emission, operation: Operation) -> None:
    for axis, result in enumerate(operation.results):
        extent = emission.frame.record_slot(slots.GRID + axis)
        emission.scalars[result] = emission.builder.value(f"trunc i64 {extent} to i32", INT32)


def _let_global(emission: Emission, operation: Operation) -> None:
    (name,) = cast(SymbolAttribute, operation.attributes["name"]).path
    # Addresses of globals differ from process to process: they come behind the arguments.
    address = emission.frame.record_slot(emission.layout.of_global(name))
    emission.scalars[operation.results[0]] = Register(address, UINT64)


def _numbers(emission: Emission, given: list[Value], static: tuple[int, ...]) -> list[Number]:
    values = iter(given)
    return [emission.whole(next(values), signed=False) if number == DYNAMIC else number for number in static]


def _let_tensor_view(emission: Emission, operation: Operation) -> None:
    type = cast(TensorViewType, operation.results[0].type)
    base = emission.scalars[operation.operands[0]]
    sizes = _numbers(emission, operation.dynamic_shape, type.shape)
    extents = [cut_off(emission, size, FAR) for size in sizes]
    strides = [signed(number) for number in _numbers(emission, operation.dynamic_strides, type.strides)]
    view = TensorView(base.name, type.element, sizes, extents, strides)
    emission.views[operation.results[0]] = view
    if not emission.sanitize:
        view.in_array, view.readable, view.writable = bounds.judge(emission, operation)


def _let_tile_view(emission: Emission, operation: Operation) -> None:
    tensor = emission.views[operation.operands[0]]
    assert isinstance(tensor, TensorView)
    emission.views[operation.results[0]] = TileView(tensor, cast(TileViewType, operation.results[0].type))


def _let_shape(emission: Emission, operation: Operation) -> None:
    builder = emission.builder
    view = emission.views[operation.operands[0]]
    numbers: list[Number] = []
    if isinstance(view, TensorView):
        numbers = list(view.sizes)
    else:
        for size, step in zip(view.sizes, view.steps, strict=True):
            if isinstance(size, int):
                numbers.append(-(-size // step))
            else:
                whole = builder.emit(f"udiv i64 {size}, {step}")
                rest = builder.emit(f"urem i64 {size}, {step}")
                more = builder.emit(f"icmp ne i64 {rest}, 0")
                one = builder.emit(f"zext i1 {more} to i64")
                numbers.append(builder.emit(f"add i64 {whole}, {one}"))
    for number, result in zip(numbers, operation.results, strict=True):
        dtype = dtype_of(result)
        if isinstance(number, int):
            width = 1 if dtype == BOOL else 8 * dtype.itemsize
            emission.scalars[result] = literal(wrapped(number, width), dtype)
        elif dtype.itemsize == 8:
            emission.scalars[result] = Register(number, dtype)
        else:
            emission.scalars[result] = builder.value(f"trunc i64 {number} to {scalar_type(dtype)}", dtype)


def _let_window(emission: Emission, operation: Operation) -> None:
    """The indices of `extract` and `insert` must name a sub-tile that is there."""
    extracting = operation.declaration is ops.EXTRACT
    whole = cast(TileType, (operation.operands[0] if extracting else operation.results[0]).type).shape
    part = cast(TileType, (operation.results[0] if extracting else operation.operands[0]).type).shape
    for axis, index in enumerate(operation.operands[1 if extracting else 2 :]):
        count = whole[axis] // part[axis]
        number = emission.whole(index)
        if isinstance(number, int) and 0 <= number < count:
            continue
        inside = emission.builder.emit(f"icmp ult i64 {number}, {count}")
        require(emission, inside, Check("window", operation, (axis, count)), axis, number)


def _let_repack(emission: Emission, operation: Operation) -> None:
    source = emission.scalars[operation.operands[0]]
    result = operation.results[0]
    bits = Register(casting.to_bits(emission.builder, source), numpy.dtype(f"u{source.dtype.itemsize}"))
    emission.scalars[result] = casting.reinterpret(emission.builder, bits, dtype_of(result))


_LETS: Final[dict[OperationDeclaration, Callable[[Emission, Operation], None]]] = {
    ops.ASSUME: _let_assume,
    ops.CONSTANT: _let_constant,
    ops.EXTRACT: _let_window,
    ops.GET_GLOBAL: _let_global,
    ops.GET_INDEX_SPACE_SHAPE: _let_shape,
    ops.GET_NUM_TILE_BLOCKS: _let_grid,
    ops.GET_TENSOR_SHAPE: _let_shape,
    ops.GET_TILE_BLOCK_ID: _let_block_id,
    ops.INSERT: _let_window,
    ops.IOTA: _let_iota,
    ops.MAKE_GATHER_SCATTER_VIEW: _let_tile_view,
    ops.MAKE_PARTITION_VIEW: _let_tile_view,
    ops.MAKE_STRIDED_VIEW: _let_tile_view,
    ops.MAKE_TENSOR_VIEW: _let_tensor_view,
    ops.PACK: _let_repack,
    ops.UNPACK: _let_repack,
}


def emit_alias(emission: Emission, statement: Alias) -> None:
    if statement.source in emission.views:
        emission.views[statement.value] = emission.views[statement.source]
    else:
        emission.scalars[statement.value] = emission.scalars[statement.source]
