"""Operations that make, rearrange and pick apart tiles; the grid and the module.

`SHAPES` has those without an effect or an error, each as a function from the operation to a function of its operands.
`[()]` makes a scalar of an array without dimensions, and leaves others alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy

from tileir.dialect import ops
from tileir.execute.analysis.values import pointee_of, tile_of
from tileir.execute.dtypes import Array, constant_array, memory_bytes, signed, value_dtype
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Registers, Step, function_step
from tileir.execute.observing.observer import TileBlock
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import I1
from tileir.ir.values import Value

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
