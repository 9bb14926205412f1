"""Operations that make, rearrange and pick apart tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.dtypes import Array, constant_array, memory_bytes, value_dtype
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Registers, Step
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.types import I1
from tileir.ir.values import Value


def tile_of(value: Value) -> TileType:
    return cast(TileType, value.type)


def unary_step(kernel: Callable[[Any], Any], source: int, result: int) -> Step:
    def unary(registers: Registers) -> None:
        registers[result] = kernel(registers[source])

    return unary


def compile_constant(compiler: Compiler, operation: Operation) -> None:
    # Before there is an array of it, which may take more dimensions than NumPy has.
    compiler.slot(operation.results[0])
    array = constant_array(operation.value_attribute)
    compiler.define(operation.results[0], array if array.ndim else array[()])


def compile_iota(compiler: Compiler, operation: Operation) -> None:
    type = tile_of(operation.results[0])
    numbers: Array = numpy.arange(type.count, dtype=numpy.int64)
    dtype = value_dtype(type.element)
    array = (numbers % 2 != 0) if type.element is I1 else numbers.astype(dtype)
    array.flags.writeable = False
    compiler.define(operation.results[0], array)


def compile_broadcast(compiler: Compiler, operation: Operation) -> Step:
    source_type, result_type = tile_of(operation.operands[0]), tile_of(operation.results[0])
    shape = result_type.shape
    source, result = compiler.slot(operation.operands[0]), compiler.slot(operation.results[0])
    if source_type.shape == shape:
        return unary_step(lambda value: value, source, result)
    stretched = [wanted != extent for extent, wanted in zip(source_type.shape, shape, strict=True)]
    dtype = value_dtype(result_type.element)
    zeros = (0,) * len(shape)
    make = numpy.ndarray

    if source_type.count == 1:

        def spread(registers: Registers) -> None:
            # A tile all of whose strides are zero: no element is copied, and ufuncs treat it as a scalar.
            registers[result] = make(shape, dtype, registers[source], 0, zeros)

        return spread

    def stretch(registers: Registers) -> None:
        value = registers[source]
        if value.flags.c_contiguous:
            strides = tuple([0 if wide else stride for wide, stride in zip(stretched, value.strides, strict=True)])
            registers[result] = make(shape, dtype, value, 0, strides)
        else:
            registers[result] = numpy.broadcast_to(value, shape)

    return stretch


def compile_reshape(compiler: Compiler, operation: Operation) -> Step:
    shape = tile_of(operation.results[0]).shape
    source, result = compiler.slot(operation.operands[0]), compiler.slot(operation.results[0])
    if not shape:

        def to_scalar(registers: Registers) -> None:
            registers[result] = registers[source].reshape(())[()]

        return to_scalar

    def reshape(registers: Registers) -> None:
        registers[result] = registers[source].reshape(shape)

    return reshape


def compile_permute(compiler: Compiler, operation: Operation) -> Step:
    axes = operation.permutation
    return unary_step(
        lambda value: value.transpose(axes), compiler.slot(operation.operands[0]), compiler.slot(operation.results[0])
    )


def compile_cat(compiler: Compiler, operation: Operation) -> Step:
    axis = operation.dim
    left, right = (compiler.slot(value) for value in operation.operands)
    result = compiler.slot(operation.results[0])

    def join(registers: Registers) -> None:
        registers[result] = numpy.concatenate((registers[left], registers[right]), axis)

    return join


def compile_select(compiler: Compiler, operation: Operation) -> Step:
    condition, first, second = (compiler.slot(value) for value in operation.operands)
    result = compiler.slot(operation.results[0])
    where = numpy.where
    if tile_of(operation.results[0]).shape:

        def select(registers: Registers) -> None:
            registers[result] = where(registers[condition], registers[first], registers[second])

        return select

    def select_scalar(registers: Registers) -> None:
        chosen = registers[condition]
        if chosen.ndim:
            # In the body of a reduction a scalar stands for many elements.
            registers[result] = where(chosen, registers[first], registers[second])
        else:
            registers[result] = registers[first if chosen else second]

    return select_scalar


def _window(
    compiler: Compiler, operation: Operation, indices: list[Value], whole: tuple[int, ...], part: tuple[int, ...]
) -> Callable[[Registers], tuple[slice, ...]]:
    """The slices of the sub-tile that index values name."""
    slots = [compiler.slot(index) for index in indices]
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
    part = tile_of(operation.results[0]).shape
    window = _window(compiler, operation, operation.operands[1:], tile_of(operation.operands[0]).shape, part)

    def extract(registers: Registers) -> None:
        registers[result] = registers[source][window(registers)]

    return extract


def compile_insert(compiler: Compiler, operation: Operation) -> Step:
    source, target = (compiler.slot(value) for value in operation.operands[:2])
    result = compiler.slot(operation.results[0])
    part = tile_of(operation.operands[0]).shape
    window = _window(compiler, operation, operation.operands[2:], tile_of(operation.results[0]).shape, part)

    def insert(registers: Registers) -> None:
        changed = registers[target].copy() if part else registers[target]
        if part:
            changed[window(registers)] = registers[source]
            registers[result] = changed
        else:
            registers[result] = registers[source]

    return insert


# --- pointers as values ---


def compile_offset(compiler: Compiler, operation: Operation) -> Step:
    pointer, offset = (compiler.slot(value) for value in operation.operands)
    result = compiler.slot(operation.results[0])
    type = tile_of(operation.results[0])
    size = memory_bytes(cast(PointerType, type.element).pointee)
    scale = numpy.int64(size)
    element = tile_of(operation.operands[1]).element

    def advance(registers: Registers) -> None:
        amount = registers[offset]
        if element is I1:
            amount = -amount.astype(numpy.int64)
        registers[result] = registers[pointer] + (amount * scale).view(numpy.uint64)

    return advance


def compile_same(compiler: Compiler, operation: Operation) -> Step:
    """A result that is the operand."""
    return unary_step(lambda value: value, compiler.slot(operation.operands[0]), compiler.slot(operation.results[0]))


# --- the grid and the module ---


_SCALAR_COUNT: Final = 1024
_SCALARS: Final = list(numpy.arange(_SCALAR_COUNT, dtype=numpy.int32))
"""The numbers of most tile blocks: a scalar takes NumPy a microsecond to make."""


def compile_block_id(compiler: Compiler, operation: Operation) -> Step:
    results = [compiler.slot(result) for result in operation.results]

    def block_id(registers: Registers) -> None:
        for slot, number in zip(results, registers[BLOCK_SLOT].id, strict=True):
            registers[slot] = _SCALARS[number] if number < _SCALAR_COUNT else numpy.int32(number)

    return block_id


def compile_grid_size(compiler: Compiler, operation: Operation) -> Step:
    results = [compiler.slot(result) for result in operation.results]

    def grid_size(registers: Registers) -> None:
        for slot, number in zip(results, registers[BLOCK_SLOT].grid, strict=True):
            registers[slot] = numpy.int32(number)

    return grid_size


def compile_get_global(compiler: Compiler, operation: Operation) -> None:
    (name,) = cast(SymbolAttribute, operation.attributes["name"]).path
    compiler.define(operation.results[0], numpy.uint64(compiler.globals[name]))
