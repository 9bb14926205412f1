"""`reduce` and `scan` with any body.

The order is fixed, and every engine keeps to it; docs/execution.md states it.  Along the dimension of n elements
(a power of two):

reduce: with more than 64 elements there are 64 lanes.  Lane j starts with element j and takes elements j + 64,
j + 128, and so on, in this order, each as `body(current = element, previous = lane)`.  What remains, lanes or elements,
is halved until one is left: items j and j + half become `body(current = item j + half, previous = item j)`.

scan: the first result is the first element, each further one is the body of the result before it, as first argument,
and the element, as second: the order NVIDIA's compiler gives a scan (docs/conflicts.md C13).  With `reverse` it goes
from the last element to the first.

Identities are never an operand: a tile has at least one element, and an identity that is one changes nothing.

The body runs on whole slices at once where all its operations are elementwise; otherwise (it may hold an `if`) element
by element, in the same order, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy

from tileir.dialect.ops import (
    ADDF,
    ADDI,
    ANDI,
    CONSTANT,
    GET_TILE_BLOCK_ID,
    MAXF,
    MAXI,
    MAXIMUMF,
    MINF,
    MINI,
    MINIMUMF,
    MULF,
    MULI,
    ORI,
    XORI,
)
from tileir.execute.dtypes import Array, value_dtype
from tileir.execute.interpreter.compiler import Compiler, Registers, Step
from tileir.execute.interpreter.elementwise import kernel_of
from tileir.execute.interpreter.kernels import KERNELS
from tileir.execute.interpreter.shapes import tile_of
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.types import F16, F32, F64, I8, I16, I32, I64

LANES: Final = 64

Combine = Callable[[Registers, "list[Any]", "list[Any]"], "list[Any]"]


def _is_elementwise(block: Block) -> bool:
    """Whether the body may run on slices: each operation looks at each element alone."""
    for operation in block:
        if operation is block.last or operation.declaration in (CONSTANT, GET_TILE_BLOCK_ID):
            continue
        if not operation.declaration.has_trait(ELEMENTWISE):
            return False
        if any(tile_of(value).shape for value in operation.operands):
            return False
    return True


def _single_operation(compiler: Compiler, operation: Operation) -> Operation | None:
    """The only operation of a body that combines its two arguments with one elementwise operation.

    None where there is more to a body, or somebody watches its operations.
    """
    block = operation.regions[0].block
    only = block.first
    if len(block.arguments) != 2 or only is None or only.next is not block.last or compiler.watches(only):
        return None
    if only.declaration not in KERNELS or not only.declaration.has_trait(ELEMENTWISE):
        return None
    if set(only.operands) != set(block.arguments) or len(only.operands) != 2:
        return None
    assert block.last is not None
    return only if block.last.operands == [only.results[0]] else None


def _combination(compiler: Compiler, operation: Operation) -> Combine:
    """The body as a function from its first and second arguments to new values, on slices of any shape."""
    block = operation.regions[0].block
    only = _single_operation(compiler, operation)
    if only is not None:
        kernel = kernel_of(only, compiler.options.exact)
        if only.operands[0] is block.arguments[0]:
            return lambda registers, newer, older: [kernel(newer[0], older[0])]
        return lambda registers, newer, older: [kernel(older[0], newer[0])]
    arguments = [compiler.slot(argument) for argument in block.arguments]
    results = [compiler.new_slot() for _ in operation.results]
    compiler.yields.append(results)
    steps, _ = compiler.block(block)
    compiler.yields.pop()
    current, previous = arguments[0::2], arguments[1::2]

    def combine(registers: Registers, newer: list[Any], older: list[Any]) -> list[Any]:
        for slot, value in zip(current, newer, strict=True):
            registers[slot] = value
        for slot, value in zip(previous, older, strict=True):
            registers[slot] = value
        for step in steps:
            step(registers)
        return [registers[slot] for slot in results]

    if _is_elementwise(block):

        def combine_slices(registers: Registers, newer: list[Any], older: list[Any]) -> list[Any]:
            shape = newer[0].shape
            # A yield of a constant or of an outer value is smaller than the slice.
            return [
                value if value.shape == shape else numpy.broadcast_to(value, shape)
                for value in combine(registers, newer, older)
            ]

        return combine_slices

    dtypes = [value_dtype(tile_of(result).element) for result in operation.results]

    def combine_elements(registers: Registers, newer: list[Any], older: list[Any]) -> list[Any]:
        shape = newer[0].shape
        outputs = [numpy.empty(shape, dtype) for dtype in dtypes]
        for index in numpy.ndindex(shape):
            values = combine(registers, [value[index] for value in newer], [value[index] for value in older])
            for output, value in zip(outputs, values, strict=True):
                output[index] = value
        return outputs

    return combine_elements


def _axis_first(rank: int, axis: int) -> tuple[int, ...]:
    """The permutation that puts a dimension in front."""
    return (axis, *range(axis), *range(axis + 1, rank))


def _axis_back(rank: int, axis: int) -> tuple[int, ...]:
    """The permutation that puts the first dimension back where it was."""
    return (*range(1, axis + 1), 0, *range(axis + 1, rank))


# What gives the same bits in every order: integers, and the extremes of floats, where zeros are ordered by their sign
# and a NaN result is the canonical one (docs/numerics.md).
_INTEGER_REDUCTIONS: Final = (ADDI, MULI, ANDI, ORI, XORI, MAXI, MINI)
_FLOAT_EXTREMES: Final[dict[OperationDeclaration, Any]] = {
    MAXF: numpy.maximum,
    MINF: numpy.minimum,
    MAXIMUMF: numpy.maximum,
    MINIMUMF: numpy.minimum,
}

Quick = Callable[[Array], "Array | None"]


def _quick_reduction(compiler: Compiler, operation: Operation, axis: int) -> Quick | None:
    """A reduction by one NumPy call that gives the bits of the documented order; None where there is none.

    The function itself gives None for values it cannot do.
    """
    only = _single_operation(compiler, operation)
    type = tile_of(operation.operands[0])
    extent = type.shape[axis]
    if only is None or extent == 1 or type.element not in (I8, I16, I32, I64, F16, F32, F64):
        return None
    kernel = kernel_of(only, compiler.options.exact)
    dtype = value_dtype(type.element)
    if only.declaration in _INTEGER_REDUCTIONS and isinstance(kernel, numpy.ufunc):
        return lambda value: kernel.reduce(value, axis=axis, dtype=dtype)
    if only.declaration in _FLOAT_EXTREMES and "flush_to_zero" not in only.attributes:
        extreme = _FLOAT_EXTREMES[only.declaration]

        def by_extreme(value: Array) -> Array | None:
            # NumPy's fmax and fmin forget what came before a signalling NaN.
            found: Array = extreme.reduce(value, axis=axis)
            # It takes either of two zeros, and NaN where an element is one: then the body decides.
            if numpy.equal(found, 0).any() or numpy.isnan(found).any():
                return None
            return kernel(found, found)  # type: ignore[no-any-return]

        return by_extreme
    if (
        only.declaration in (ADDF, MULF)
        and isinstance(kernel, numpy.ufunc)
        and type.element is not F16
        and extent > LANES
    ):
        shape = (*type.shape[:axis], extent // LANES, LANES, *type.shape[axis + 1 :])
        first = _axis_first(len(type.shape), axis)
        # NumPy may begin with its own identity of a sum, 0, which makes 0 of a lane of -0.
        identity = -0.0 if only.declaration is ADDF else 1.0

        def by_lanes(value: Array) -> Array:
            # Lanes are closer together in memory than the elements of one lane, so NumPy goes along the lanes and adds
            # up each in order; it would add up in pairs only along the innermost dimension.
            pieces = numpy.ascontiguousarray(value).reshape(shape)
            lanes: Array = kernel.reduce(pieces, axis=axis, initial=identity)
            items = lanes.transpose(first)
            count = LANES
            while count > 1:
                count //= 2
                items = kernel(items[count:], items[:count])
            found: Array = items[0]
            return found

        return by_lanes
    return None


def compile_reduce(compiler: Compiler, operation: Operation) -> Step:
    operands = [compiler.slot(value) for value in operation.operands]
    results = [compiler.slot(result) for result in operation.results]
    axis = operation.dim
    extent = tile_of(operation.operands[0]).shape[axis]
    scalar = not tile_of(operation.results[0]).shape
    combine = _combination(compiler, operation)
    quick = _quick_reduction(compiler, operation, axis)
    first = _axis_first(len(tile_of(operation.operands[0]).shape), axis)

    def reduce(registers: Registers) -> None:
        if quick is not None:
            found = quick(registers[operands[0]])
            if found is not None:
                registers[results[0]] = found[()]
                return
        values = [registers[slot].transpose(first) for slot in operands]
        count = extent
        if count > LANES:
            lanes = [value[:LANES] for value in values]
            for start in range(LANES, count, LANES):
                lanes = combine(registers, [value[start : start + LANES] for value in values], lanes)
            values, count = lanes, LANES
        while count > 1:
            count //= 2
            values = combine(registers, [value[count:] for value in values], [value[:count] for value in values])
        for slot, value in zip(results, values, strict=True):
            registers[slot] = value[0][()] if scalar else value[0]

    return reduce


def compile_scan(compiler: Compiler, operation: Operation) -> Step:
    operands = [compiler.slot(value) for value in operation.operands]
    results = [compiler.slot(result) for result in operation.results]
    axis = operation.dim
    reverse = operation.reverse
    extent = tile_of(operation.operands[0]).shape[axis]
    combine = _combination(compiler, operation)
    only = _single_operation(compiler, operation)
    kernel = kernel_of(only, compiler.options.exact) if only is not None else None
    if isinstance(kernel, numpy.ufunc) and only is not None and only.declaration in (ADDF, MULF, ADDI):
        accumulate = kernel.accumulate
        dtype = value_dtype(tile_of(operation.results[0]).element)
        backwards = tuple([slice(None)] * axis + [slice(None, None, -1)])

        def scan_quickly(registers: Registers) -> None:
            # NumPy accumulates one by one, each rounded, as the documented order has it.
            value = registers[operands[0]]
            if reverse:
                registers[results[0]] = accumulate(value[backwards], axis, dtype)[backwards]
            else:
                registers[results[0]] = accumulate(value, axis, dtype)

        if dtype.kind in "fi":
            return scan_quickly

    rank = len(tile_of(operation.operands[0]).shape)
    first, back = _axis_first(rank, axis), _axis_back(rank, axis)

    def scan(registers: Registers) -> None:
        values = [registers[slot].transpose(first) for slot in operands]
        outputs = [numpy.empty(value.shape, value.dtype) for value in values]
        order = range(extent - 1, -1, -1) if reverse else range(extent)
        last: list[Any] = []
        for place in order:
            items = [value[place] for value in values]
            last = combine(registers, last, items) if last else items
            for output, value in zip(outputs, last, strict=True):
                output[place] = value
        for slot, output in zip(results, outputs, strict=True):
            registers[slot] = output.transpose(back)

    return scan
