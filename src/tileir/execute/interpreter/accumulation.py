"""Matrix products that accumulate around a loop reuse two tiles instead of making new ones.

Values are never changed in place: a closure gives a new array.  The exception is a product in the body of a `for`
whose accumulator is an argument of the body and whose result is carried to that argument, with no other use of either:

    for ... iter_values(%acc = %initial) { ...  %r = mmaf %x, %y, %acc  ...  continue %r }

There the accumulator is dead as soon as the product is done, so the products of one run of the loop write to two tiles
in turn: the one holds the accumulator while the other takes the result.  The initial value belongs to somebody else
and is only read; each run of the loop begins with two new tiles, since the result of the last run may still be in use.
Nothing is shared between tile blocks.  Where an observer watches the product or the `continue`, and may hold on to the
values, they are new as usual.
The tiles begin at a cache line, which NumPy's own do not: vectors that cross lines take twice as long to load.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final, cast

import numpy

from tileir.dialect.ops import CONTINUE, FOR
from tileir.dialect.types import TileType
from tileir.execute.arithmetic.matrix import matrix_float_into
from tileir.execute.dtypes import Array, DType, value_dtype
from tileir.execute.interpreter.compiler import Compiler, Registers, Step
from tileir.execute.interpreter.elementwise import compile_elementwise
from tileir.ir.core import Operation
from tileir.ir.types import F16, FloatType
from tileir.ir.values import BlockArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

_CACHE_LINE: Final = 64
_BYTE: Final = numpy.dtype(numpy.uint8)


def compile_product(compiler: Compiler, operation: Operation) -> Step:
    """The step of an `mmaf`."""
    factor, accumulator = (cast(TileType, operation.operands[number].type) for number in (0, 2))
    if compiler.options.exact or accumulator.element is F16 or not accumulates(compiler, operation):
        return compile_elementwise(compiler, operation)
    kernel = matrix_float_into(cast(FloatType, factor.element), cast(FloatType, accumulator.element))
    left, right, before = (compiler.slot(value) for value in operation.operands)
    result = compiler.slot(operation.results[0])
    shape, dtype = accumulator.shape, value_dtype(accumulator.element)
    pair = compiler.new_slot()
    compiler.loops[-1].scratch.append(pair)

    def accumulate(registers: Registers) -> None:
        tiles = registers[pair]
        if tiles is None:
            tiles = registers[pair] = list(aligned_tiles(2, shape, dtype))
        tiles.reverse()
        target = tiles[0]
        kernel(registers[left], registers[right], registers[before], target)
        registers[result] = target

    return accumulate


def accumulates(compiler: Compiler, operation: Operation) -> bool:
    """Whether the product is the only step of a value carried around the innermost `for`."""
    block = operation.parent
    accumulator, result = operation.operands[2], operation.results[0]
    if block is None or not isinstance(accumulator, BlockArgument) or accumulator.block is not block:
        return False
    loop = block.parent_operation
    if loop is None or loop.declaration is not FOR or accumulator.use_count != 1 or result.use_count != 1:
        return False
    last = block.last
    return (
        last is not None
        and last.declaration is CONTINUE
        # The first argument is the counter, which is not carried.
        and accumulator.index >= 1
        and last.operands[accumulator.index - 1] is result
        and not compiler.watches(operation)
        and not compiler.watches(last)
    )


def aligned_tiles(count: int, shape: Sequence[int], dtype: DType) -> Array:
    """New tiles one after the other, the first of which begins at a cache line."""
    room = numpy.empty(count * prod(shape) * dtype.itemsize + _CACHE_LINE, _BYTE)
    start = -room.__array_interface__["data"][0] % _CACHE_LINE
    return numpy.ndarray((count, *shape), dtype, room, start)
