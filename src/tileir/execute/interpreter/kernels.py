"""Which function of `tileir.execute.arithmetic` an elementwise operation or a matmul calls; operations on shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy

from tileir.dialect import ops
from tileir.execute.analysis.values import pointee_of, tile_of
from tileir.execute.arithmetic import conversion, elementary, functions, integer
from tileir.execute.dtypes import Array, constant_array, memory_bytes, signed, value_dtype
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Registers, Step, function_step
from tileir.execute.observing.observer import TileBlock
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import I1, FloatType, IntegerType, Type
from tileir.ir.values import Value

Kernel = Callable[..., Any]
Factory = Callable[[Operation, bool], Kernel]
"""From an operation, and whether matmuls are exact, to its kernel."""


def compile_elementwise(compiler: Compiler, operation: Operation) -> Step:
    return function_step(compiler, operation, KERNELS[operation.declaration](operation, compiler.options.exact))


def _element(op: Operation, operand: int = 0) -> Type:
    return tile_of(op.operands[operand]).element


def _float(op: Operation, operand: int = 0) -> FloatType:
    return cast(FloatType, _element(op, operand))


def _integer(op: Operation) -> IntegerType:
    return cast(IntegerType, _element(op))


def _target(op: Operation) -> Any:
    return tile_of(op.results[0]).element


def _rounding(op: Operation) -> str:
    return op.keyword("rounding_mode") or "nearest_even"


def _flushes(op: Operation) -> bool:
    return "flush_to_zero" in op.attributes


def _float_unary(op: Operation, exact: bool) -> Kernel:
    return functions.float_unary(op.declaration, _float(op), _rounding(op), _flushes(op))


KERNELS: Final[dict[OperationDeclaration, Factory]] = {
    **dict.fromkeys(
        (ops.ADDF, ops.SUBF, ops.MULF, ops.DIVF),
        lambda op, exact: elementary.float_binary(op.declaration, _float(op), _rounding(op), _flushes(op)),
    ),
    **dict.fromkeys((ops.ABSF, ops.NEGF, ops.CEIL, ops.FLOOR, ops.SQRT, ops.RECIPF), _float_unary),
    **dict.fromkeys((*functions.FUNCTIONS, *functions.DRAFT_FUNCTIONS), _float_unary),
    ops.FMA: lambda op, exact: elementary.float_fma(_float(op), _rounding(op), _flushes(op)),
    ops.REMF: lambda op, exact: elementary.float_remainder(_float(op)),
    **dict.fromkeys(
        (ops.MAXF, ops.MINF, ops.MAXIMUMF, ops.MINIMUMF),
        lambda op, exact: elementary.float_minmax(
            op.declaration, _float(op), "propagate_nan" in op.attributes, _flushes(op)
        ),
    ),
    ops.CMPF: lambda op, exact: elementary.float_compare(
        op.comparison_predicate, op.comparison_ordering or "", _float(op)
    ),
    ops.POW: lambda op, exact: functions.float_power(_float(op)),
    ops.FPOWI: lambda op, exact: functions.float_integer_power(_float(op)),
    ops.ATAN2: lambda op, exact: functions.float_atan2(_float(op)),
    **dict.fromkeys(
        (ops.ADDI, ops.SUBI, ops.MULI, ops.MULHII, ops.ANDI, ops.ORI, ops.XORI, ops.SHLI),
        lambda op, exact: integer.integer_binary(op.declaration, _integer(op)),
    ),
    **dict.fromkeys(
        (ops.REMI, ops.MAXI, ops.MINI, ops.SHRI),
        lambda op, exact: integer.integer_signed_binary(op.declaration, _integer(op), op.signedness),
    ),
    ops.DIVI: lambda op, exact: integer.integer_division(_integer(op), op.signedness, op.rounding),
    **dict.fromkeys(
        (ops.NEGI, ops.ABSI, ops.NOTI, ops.POPCNT, ops.CLZ, ops.CTZ, ops.BREV),
        lambda op, exact: integer.integer_unary(op.declaration, _integer(op)),
    ),
    ops.CMPI: lambda op, exact: integer.integer_compare(op.comparison_predicate, _integer(op), op.signedness),
    ops.FTOF: lambda op, exact: conversion.float_to_float(_float(op), _target(op), _rounding(op)),
    ops.FTOI: lambda op, exact: conversion.float_to_integer(_float(op), _target(op), op.signedness, _rounding(op)),
    ops.ITOF: lambda op, exact: conversion.integer_to_float(_integer(op), _target(op), op.signedness, _rounding(op)),
    ops.EXTI: lambda op, exact: conversion.extend_integer(_integer(op), _target(op), op.signedness),
    ops.TRUNCI: lambda op, exact: conversion.truncate_integer(_integer(op), _target(op)),
    **dict.fromkeys(
        (ops.BITCAST, ops.INT_TO_PTR, ops.PTR_TO_INT, ops.PTR_TO_PTR),
        lambda op, exact: conversion.bitcast(_element(op), _target(op)),
    ),
    ops.PACK: lambda op, exact: conversion.pack(_element(op)),
    ops.UNPACK: lambda op, exact: conversion.unpack(_target(op)),
    ops.MMAF: lambda op, exact: elementary.matrix_float(_float(op), _float(op, 2), exact),
    ops.MMAI: lambda op, exact: elementary.matrix_integer(op.signedness_lhs, op.signedness_rhs),
    ops.MMAF_SCALED: lambda op, exact: elementary.matrix_scaled(_float(op), _float(op, 3), exact),
}


# Operations that make and rearrange tiles; the grid and the module.  `SHAPES` has those without an effect or an error,
# each as a function from the operation to a function of its operands.  `[()]` makes a scalar of an array without
# dimensions, and leaves others alone.

Function = Callable[..., Any]


def compile_shape(compiler: Compiler, operation: Operation) -> Step:
    # Slots come first: a constant array may have more dimensions than NumPy allows.
    compiler.slot(operation.results[0])
    return function_step(compiler, operation, SHAPES[operation.declaration](operation))


def _constant(operation: Operation) -> Function:
    value = constant_array(operation.value_attribute)[()]
    return lambda: value


def _iota(operation: Operation) -> Function:
    type = tile_of(operation.results[0])
    numbers = numpy.arange(type.count, dtype=numpy.int64)
    value = numbers % 2 != 0 if type.element is I1 else numbers.astype(value_dtype(type.element))
    value.flags.writeable = False
    return lambda: value


def _broadcast(operation: Operation) -> Function:
    type = tile_of(operation.results[0])
    shape, dtype = type.shape, value_dtype(type.element)

    def broadcast(value: Any) -> Any:
        # A tenth of the time of `numpy.broadcast_to`.
        tile: Array = numpy.empty(shape, dtype)
        tile[...] = value
        return tile[()]

    return broadcast


def _reshape(operation: Operation) -> Function:
    shape = tile_of(operation.results[0]).shape
    return lambda value: value.reshape(shape)[()]


def _offset(operation: Operation) -> Function:
    scale = numpy.int64(memory_bytes(pointee_of(operation.results[0])))

    def advance(pointer: Any, offset: Any) -> Any:
        return pointer + (signed(offset).astype(numpy.int64) * scale).view(numpy.uint64)

    return advance


SHAPES: Final[dict[OperationDeclaration, Callable[[Operation], Function]]] = {
    # A promise; only the sanitizer checks it.
    ops.ASSUME: lambda operation: lambda value: value,
    ops.BROADCAST: _broadcast,
    ops.CAT: lambda operation: lambda left, right: numpy.concatenate((left, right), operation.dim),
    ops.CONSTANT: _constant,
    ops.IOTA: _iota,
    ops.OFFSET: _offset,
    ops.PERMUTE: lambda operation: lambda value: value.transpose(operation.permutation),
    ops.RESHAPE: _reshape,
    ops.SELECT: lambda operation: lambda condition, *values: numpy.asarray(numpy.where(condition, *values))[()],
}


# --- parts of tiles ---


def _window(
    compiler: Compiler, operation: Operation, indices: list[Value], whole: tuple[int, ...], part: tuple[int, ...]
) -> Callable[[Registers], tuple[slice, ...]]:
    """The slices of the sub-tile that index values name."""
    slots = compiler.slots_of(indices)
    counts = [extent // step for extent, step in zip(whole, part, strict=True)]

    def window(registers: Registers) -> tuple[slice, ...]:
        slices = []
        for axis, slot in enumerate(slots):
            index = int(registers[slot])
            if not 0 <= index < counts[axis]:
                raise ExecutionError(
                    f"has index {index} in dimension {axis}: there are {counts[axis]} sub-tiles",
                    operation,
                    registers[BLOCK_SLOT].id,
                    (index, axis, counts[axis]),
                )
            slices.append(slice(index * part[axis], (index + 1) * part[axis]))
        return tuple(slices)

    return window


def compile_extract(compiler: Compiler, operation: Operation) -> Step:
    source, result = compiler.slot(operation.operands[0]), compiler.slot(operation.results[0])
    whole, part = tile_of(operation.operands[0]).shape, tile_of(operation.results[0]).shape
    window = _window(compiler, operation, operation.operands[1:], whole, part)

    def extract(registers: Registers) -> None:
        registers[result] = registers[source][window(registers)]

    return extract


def compile_insert(compiler: Compiler, operation: Operation) -> Step:
    source, target = compiler.slots_of(operation.operands[:2])
    result = compiler.slot(operation.results[0])
    whole, part = tile_of(operation.results[0]).shape, tile_of(operation.operands[0]).shape
    window = _window(compiler, operation, operation.operands[2:], whole, part)

    def insert(registers: Registers) -> None:
        changed = numpy.array(registers[target])
        changed[window(registers)] = registers[source]
        registers[result] = changed[()]

    return insert


# --- the grid and the module ---


def compile_numbers(
    compiler: Compiler, operation: Operation, numbers: Callable[[TileBlock], tuple[int, int, int]]
) -> Step:
    """Three numbers about the tile block."""
    results = compiler.slots_of(operation.results)

    def assign(registers: Registers) -> None:
        for slot, number in zip(results, numbers(registers[BLOCK_SLOT]), strict=True):
            registers[slot] = numpy.int32(number)

    return assign


def compile_get_global(compiler: Compiler, operation: Operation) -> Step:
    (name,) = cast(SymbolAttribute, operation.attributes["name"]).path
    address = numpy.uint64(compiler.globals[name])
    return function_step(compiler, operation, lambda: address)
