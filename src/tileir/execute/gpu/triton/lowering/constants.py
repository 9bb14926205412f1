"""Lowering of constants, of `iota` and of `assume`.

A tile of one number is a constant of TTIR, others are a hidden parameter whose elements are loaded: Triton compiles no
such constants before 3.9, and then element by element.  Triton moves sixteen bytes at once where addresses, extents and
strides are known multiples.  Parameters have an attribute for that; a computed number that the program assumes to be
a multiple of 16 is shifted right and left again, which changes nothing.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.dialect.ops import ASSUME
from tileir.dialect.types import TileType
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import Array, constant_elements, unsigned
from tileir.execute.gpu.triton.code import Slot
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_values import (
    Shape,
    TtirValue,
    bits_of,
    pointer_to,
    squeezed,
    value_element,
    value_type,
)
from tileir.ir.core import Operation
from tileir.ir.types import I1, Type
from tileir.ir.values import BlockArgument, Value
from tileir.rewrite.matching import defined_by

_ENOUGH: Final = 16


def lower_constant(build: Lowering, operation: Operation) -> None:
    type = tile_of(operation.results[0])
    element, shape = value_type(type)
    # As values have them: four bits in a byte, tf32 in 32.
    bits = unsigned(constant_elements(operation.value_attribute))
    if (bits == bits[0]).all():
        build.result(operation, build.pattern(int(bits[0]), element, shape))
    else:
        build.result(operation, _several(build, bits.reshape(shape), type.element))


def _several(build: Lowering, bits: Array, element: Type) -> TtirValue:
    # What is the same along a dimension is made once.
    for axis in range(bits.ndim):
        first = bits.take([0], axis)
        if (bits == first).all():
            made = _several(build, first.reshape(squeezed(first.shape)), element)
            return build.broadcast(build.expand(made, axis), bits.shape)
    # Of the others, a table comes with the code.
    lowered = value_element(element)
    in_memory = "i8" if element is I1 else lowered
    data = numpy.ascontiguousarray(bits).astype(bits.dtype.newbyteorder("<")).tobytes()
    table = build.parameter(Slot("table", data), pointer_to(in_memory), " {tt.divisibility = 16 : i32}")
    loaded = build.load(build.advance(build.splat(table, bits.shape), places(build, bits.shape)))
    return build.compare("ne", loaded, 0) if element is I1 else loaded


def places(build: Lowering, shape: Shape) -> TtirValue:
    """The number of each element, row after row."""
    total: TtirValue | None = None
    stride = 1
    for axis in range(len(shape) - 1, -1, -1):
        along = build.range(shape[axis])
        if stride > 1:
            along = build.apply("arith.muli", along, stride)
        along = build.along(along, axis, shape)
        total = along if total is None else build.apply("arith.addi", total, along)
        stride *= shape[axis]
    assert total is not None, "a tile of several elements"
    return total


def lower_iota(build: Lowering, operation: Operation) -> None:
    element, shape = value_type(tile_of(operation.results[0]))
    made = build.range(shape[0]) if shape else build.integer(0)
    build.result(operation, build.convert("arith.extsi" if bits_of(element) > 32 else "arith.trunci", made, element))


def lower_assume(build: Lowering, operation: Operation) -> None:
    """Lower an `assume`; elsewhere, `build.facts` has what is known from it."""
    given, result = operation.operands[0], operation.results[0]
    if not isinstance(result.type, TileType):
        build.views[result] = build.views[given]
        return
    value = build.value(given)
    if not value.shape and not value.is_float:
        divisor, known = [min(build.facts.divisor(each), _ENOUGH) for each in (result, given)]
        if divisor > max(known, _launch_divisor(build, given)):
            value = _divisible(build, value, divisor)
    build.result(operation, value)


def _launch_divisor(build: Lowering, value: Value) -> int:
    """What is known of a parameter, about which promises may be made one after the other, at launches of this kind."""
    while (promise := defined_by(value, ASSUME)) is not None:
        value = promise.operands[0]
    known = dict(zip(build.program.parameters, build.specialization.divisors, strict=False))
    return known.get(value, 1) if isinstance(value, BlockArgument) else 1


def _divisible(build: Lowering, value: TtirValue, divisor: int) -> TtirValue:
    places = divisor.bit_length() - 1
    if value.element.startswith("!tt.ptr"):
        # The shifts keep Triton from folding the conversions, and the attribute with them.
        number = _divisible(build, build.reinterpret("tt.ptr_to_int", value, "i64"), divisor)
        attribute = f" {{tt.divisibility = dense<{divisor}> : tensor<1xi32>}}"
        return build.reinterpret("tt.int_to_ptr", number, value.element, attribute)
    if value.bits <= places:
        return value
    return build.apply("arith.shli", build.apply("arith.shrsi", value, places), places)
