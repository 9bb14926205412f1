"""Lowering of constants, of `iota` and of `assume`.

A tile of one number is a constant of TTIR.  One of several is made of a sequence where it is one, or of few selects;
else it is a table: a hidden parameter, whose elements are loaded.  (Triton compiles no constant tensor of several
numbers before its version 3.9, and then element by element.)

Triton moves sixteen bytes at once where it knows that addresses, extents and strides are multiples of enough.  Of
parameters an attribute says so.  Of what a kernel computes it has to follow from how that is computed: a number that
the program assumes to be a multiple of 16 is shifted right and left again, which changes nothing.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.dialect.ops import ASSUME, ENTRY, RETURN
from tileir.dialect.types import TileType
from tileir.execute.analysis.values import tile_of
from tileir.execute.dtypes import Array, constant_elements, unsigned
from tileir.execute.gpu.triton.code import Slot
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_values import (
    Shape,
    TtirValue,
    bits_of,
    is_float,
    pointer_to,
    squeezed,
    value_element,
    value_type,
)
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import pre_order
from tileir.ir.types import I1, Type
from tileir.ir.values import BlockArgument, Value

_MOST_CHOICES: Final = 8
"""With more elements than this, a load is less than to choose one after the other."""

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
    lowered = value_element(element)
    if bits.ndim == 1:
        if not is_float(lowered) and bits_of(lowered) > 1:
            sequence = _sequence(build, bits, lowered)
            if sequence is not None:
                return sequence
        if bits.size <= _MOST_CHOICES:
            return _chosen(build, bits, lowered)
    return _loaded(build, bits, element)


def _sequence(build: Lowering, bits: Array, element: str) -> TtirValue | None:
    """Numbers that are the same distance apart."""
    whole = 1 << bits_of(element)
    first = int(bits[0])
    step = (int(bits[1]) - first) % whole
    if any((first + step * place) % whole != int(number) for place, number in enumerate(bits)):
        return None
    made = counted(build, bits.size, element)
    if step != 1:
        made = build.apply("arith.muli", made, step)
    if first:
        made = build.apply("arith.addi", made, first)
    return made


def _chosen(build: Lowering, bits: Array, element: str) -> TtirValue:
    """Few numbers, each by its place."""
    shape = bits.shape
    places = build.range(bits.size)
    made = build.pattern(int(bits[-1]), element, shape)
    for place in range(bits.size - 2, -1, -1):
        if bits[place] != bits[place + 1]:
            before = build.compare("sle", places, place)
            made = build.select(before, build.pattern(int(bits[place]), element, shape), made)
    return made


def _loaded(build: Lowering, bits: Array, element: Type) -> TtirValue:
    """Numbers out of a table that comes with the code."""
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
    type = tile_of(operation.results[0])
    element, shape = value_type(type)
    made = counted(build, shape[0], element) if shape else build.integer(0, element)
    build.result(operation, made)


def counted(build: Lowering, count: int, element: str) -> TtirValue:
    """0, 1, .. modulo two to the number of bits."""
    made = build.range(count)
    return build.convert("arith.extsi" if bits_of(element) > 32 else "arith.trunci", made, element)


def lower_assume(build: Lowering, operation: Operation) -> None:
    """A promise: other than here, what is known by it is asked of `build.facts`."""
    given, result = operation.operands[0], operation.results[0]
    if not isinstance(result.type, TileType):
        build.views[result] = build.views[given]
        return
    value = build.value(given)
    if not value.shape and not value.is_float and not _is_parameter(given):
        divisor = _divisor(build, result)
        if divisor > _divisor(build, given):
            value = _divisible(build, value, divisor)
    build.result(operation, value)


def promised_divisor(build: Lowering, parameter: BlockArgument) -> int:
    """What the program promises to divide a parameter, wherever it is used."""
    best = 1
    pending: list[Value] = [parameter]
    while pending:
        for user in pending.pop().users:
            # One inside of a branch, or behind one that may end the kernel, is promised only where it is come to.
            if user.declaration is ASSUME and _is_always_reached(user, parameter.block):
                best = max(best, _divisor(build, user.results[0]))
                pending.append(user.results[0])
    return best


def _is_always_reached(operation: Operation, block: Block) -> bool:
    """Whether an operation is one of the kernel itself, and run whatever branches are taken."""
    if operation.parent is not block:
        return False
    for each in block:
        if each is operation:
            return True
        if each.regions and any(inner.declaration is RETURN for inner in pre_order(each)):
            break
    return False


def _is_parameter(value: Value) -> bool:
    """Whether a value is a parameter, about which promises may be made one after the other."""
    operation = value.defining_operation
    while operation is not None and operation.declaration is ASSUME:
        value = operation.operands[0]
        operation = value.defining_operation
    owner = value.block.parent_operation if isinstance(value, BlockArgument) else None
    return owner is not None and owner.declaration is ENTRY


def _divisor(build: Lowering, value: Value) -> int:
    return min(build.facts.divisor(value), _ENOUGH)


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
