"""Which function of `tileir.execute.arithmetic` an elementwise operation or a matmul calls; operations on shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.analysis.values import pointee_of, tile_of
from tileir.execute.arithmetic import conversion, elementary, functions, integer
from tileir.execute.dtypes import Array, constant_array, memory_bytes, signed, value_dtype
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.frame import Frame
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import I1
from tileir.ir.values import Value

Function = Callable[..., Any]
Factory = Callable[[Operation, bool], Any]
"""From an operation, and whether matmuls are exact, to what runs it: mostly a function of its operands."""


def run_function(operation: Operation, frame: Frame) -> None:
    frame[operation.results[0]] = frame.program.prepared[operation](*frame.values_of(operation.operands))


def _element(op: Operation, operand: int = 0) -> Any:
    return tile_of(op.operands[operand]).element


def _target(op: Operation) -> Any:
    return tile_of(op.results[0]).element


def _rounding(op: Operation) -> str:
    return op.keyword("rounding_mode") or "nearest_even"


def _flushes(op: Operation) -> bool:
    return "flush_to_zero" in op.attributes


def _float_unary(op: Operation, exact: bool) -> Function:
    return functions.float_unary(op.declaration, _element(op), _rounding(op), _flushes(op))


KERNELS: Final[dict[OperationDeclaration, Factory]] = {
    **dict.fromkeys(
        (ops.ADDF, ops.SUBF, ops.MULF, ops.DIVF),
        lambda op, exact: elementary.float_binary(op.declaration, _element(op), _rounding(op), _flushes(op)),
    ),
    **dict.fromkeys((ops.ABSF, ops.NEGF, ops.CEIL, ops.FLOOR, ops.SQRT, ops.RECIPF), _float_unary),
    **dict.fromkeys((*functions.FUNCTIONS, *functions.DRAFT_FUNCTIONS), _float_unary),
    ops.FMA: lambda op, exact: elementary.float_fma(_element(op), _rounding(op), _flushes(op)),
    ops.REMF: lambda op, exact: elementary.float_remainder(_element(op)),
    **dict.fromkeys(
        (ops.MAXF, ops.MINF, ops.MAXIMUMF, ops.MINIMUMF),
        lambda op, exact: elementary.float_minmax(
            op.declaration, _element(op), "propagate_nan" in op.attributes, _flushes(op)
        ),
    ),
    ops.CMPF: lambda op, exact: elementary.float_compare(
        op.comparison_predicate, op.comparison_ordering or "", _element(op)
    ),
    ops.POW: lambda op, exact: functions.float_power(_element(op)),
    ops.FPOWI: lambda op, exact: functions.float_integer_power(_element(op)),
    ops.ATAN2: lambda op, exact: functions.float_atan2(_element(op)),
    **dict.fromkeys(
        (ops.ADDI, ops.SUBI, ops.MULI, ops.MULHII, ops.ANDI, ops.ORI, ops.XORI, ops.SHLI),
        lambda op, exact: integer.integer_binary(op.declaration, _element(op)),
    ),
    **dict.fromkeys(
        (ops.REMI, ops.MAXI, ops.MINI, ops.SHRI),
        lambda op, exact: integer.integer_signed_binary(op.declaration, _element(op), op.signedness),
    ),
    ops.DIVI: lambda op, exact: integer.integer_division(_element(op), op.signedness, op.rounding),
    **dict.fromkeys(
        (ops.NEGI, ops.ABSI, ops.NOTI, ops.POPCNT, ops.CLZ, ops.CTZ, ops.BREV),
        lambda op, exact: integer.integer_unary(op.declaration, _element(op)),
    ),
    ops.CMPI: lambda op, exact: integer.integer_compare(op.comparison_predicate, _element(op), op.signedness),
    ops.FTOF: lambda op, exact: conversion.float_to_float(_element(op), _target(op), _rounding(op)),
    ops.FTOI: lambda op, exact: conversion.float_to_integer(_element(op), _target(op), op.signedness, _rounding(op)),
    ops.ITOF: lambda op, exact: conversion.integer_to_float(_element(op), _target(op), op.signedness, _rounding(op)),
    ops.EXTI: lambda op, exact: conversion.extend_integer(_element(op), _target(op), op.signedness),
    ops.TRUNCI: lambda op, exact: conversion.truncate_integer(_element(op), _target(op)),
    **dict.fromkeys(
        (ops.BITCAST, ops.INT_TO_PTR, ops.PTR_TO_INT, ops.PTR_TO_PTR),
        lambda op, exact: conversion.bitcast(_element(op), _target(op)),
    ),
    ops.PACK: lambda op, exact: conversion.pack(_element(op)),
    ops.UNPACK: lambda op, exact: conversion.unpack(_target(op)),
    ops.MMAF: lambda op, exact: elementary.matrix_float(_element(op), _element(op, 2), exact),
    ops.MMAI: lambda op, exact: elementary.matrix_integer(op.signedness_lhs, op.signedness_rhs),
    ops.MMAF_SCALED: lambda op, exact: elementary.matrix_scaled(_element(op), _element(op, 3), exact),
}


# Operations that make and rearrange tiles, each as a function from the operation to a function of its operands.  `[()]`
# makes a scalar of an array without dimensions, and leaves others alone.


def _constant(operation: Operation, exact: bool) -> Function:
    value = constant_array(operation.value_attribute)[()]
    return lambda: value


def _iota(operation: Operation, exact: bool) -> Function:
    type = tile_of(operation.results[0])
    numbers = numpy.arange(type.count, dtype=numpy.int64)
    value = numbers % 2 != 0 if type.element is I1 else numbers.astype(value_dtype(type.element))
    value.flags.writeable = False
    return lambda: value


def _broadcast(operation: Operation, exact: bool) -> Function:
    type = tile_of(operation.results[0])
    shape, dtype = type.shape, value_dtype(type.element)

    def broadcast(value: Any) -> Any:
        # A tenth of the time of `numpy.broadcast_to`.
        tile: Array = numpy.empty(shape, dtype)
        tile[...] = value
        return tile[()]

    return broadcast


def _reshape(operation: Operation, exact: bool) -> Function:
    shape = tile_of(operation.results[0]).shape
    return lambda value: value.reshape(shape)[()]


def _offset(operation: Operation, exact: bool) -> Function:
    scale = numpy.int64(memory_bytes(pointee_of(operation.results[0])))

    def advance(pointer: Any, offset: Any) -> Any:
        return pointer + (signed(offset).astype(numpy.int64) * scale).view(numpy.uint64)

    return advance


SHAPES: Final[dict[OperationDeclaration, Factory]] = {
    # A promise; only the sanitizer checks it.
    ops.ASSUME: lambda operation, exact: lambda value: value,
    ops.BROADCAST: _broadcast,
    ops.CAT: lambda operation, exact: lambda left, right: numpy.concatenate((left, right), operation.dim),
    ops.CONSTANT: _constant,
    ops.IOTA: _iota,
    ops.OFFSET: _offset,
    ops.PERMUTE: lambda operation, exact: lambda value: value.transpose(operation.permutation),
    ops.RESHAPE: _reshape,
    ops.SELECT: lambda operation, exact: lambda condition, *values: numpy.asarray(numpy.where(condition, *values))[()],
}


# --- parts of tiles, the grid and the module ---


def _window(operation: Operation, frame: Frame, indices: list[Value], whole: TileType, part: TileType) -> Any:
    """The slices of the sub-tile that index values name."""
    slices = []
    for axis, index in enumerate([int(value) for value in frame.values_of(indices)]):
        count = whole.shape[axis] // part.shape[axis]
        if not 0 <= index < count:
            message = f"has index {index} in dimension {axis}: there are {count} sub-tiles"
            raise ExecutionError(message, operation, frame.block.id, (index, axis, count))
        slices.append(slice(index * part.shape[axis], (index + 1) * part.shape[axis]))
    return tuple(slices)


def run_extract(operation: Operation, frame: Frame) -> None:
    (source, *indices), (result,) = operation.operands, operation.results
    frame[result] = frame[source][_window(operation, frame, indices, tile_of(source), tile_of(result))]


def run_insert(operation: Operation, frame: Frame) -> None:
    source, target, *indices = operation.operands
    changed = numpy.array(frame[target])
    changed[_window(operation, frame, indices, tile_of(target), tile_of(source))] = frame[source]
    frame[operation.results[0]] = changed[()]


def run_grid(operation: Operation, frame: Frame) -> None:
    numbers = frame.block.id if operation.declaration is ops.GET_TILE_BLOCK_ID else frame.block.grid
    frame.assign(operation.results, [numpy.int32(number) for number in numbers])


def run_get_global(operation: Operation, frame: Frame) -> None:
    (name,) = cast(SymbolAttribute, operation.attributes["name"]).path
    frame[operation.results[0]] = numpy.uint64(frame.program.globals[name].start)
