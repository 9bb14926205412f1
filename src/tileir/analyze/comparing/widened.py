"""One operation computed again in a wider float type.

The operation is copied with every narrower float type replaced by the wide one, and the copy is run by the interpreter:
so every operation is what it is in the program, only with more digits.  Roundings to other modes and flushing of
subnormal numbers, which belong to the narrow types, are left out.

What works on bits (`bitcast`, `unpack`) and what has such an operation in its body has no wider counterpart: `widened`
returns None, and the result is used unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TileType, tile_type
from tileir.execute.arithmetic.conversion import float_to_float
from tileir.execute.dtypes import Array, constant_elements, to_bits
from tileir.execute.interpreter.frame import Frame, Options
from tileir.execute.interpreter.kernel import OPERATIONS, Program
from tileir.execute.observing.observer import TileBlock
from tileir.ir import floats
from tileir.ir.core import Block, Operation
from tileir.ir.dense import DenseAttribute, dense_attribute
from tileir.ir.traits import PURE
from tileir.ir.traversal import ancestors, clone
from tileir.ir.types import FloatType, Type
from tileir.ir.values import Value

Again = Callable[[object, list[Any]], list[Any]]
"""From the tile block and wide operands to wide results."""

# Beside what is pure: these too have no effect but their results.
_WITHOUT_EFFECT: Final = frozenset([ops.ASSUME, ops.DIVI, ops.FOR, ops.IF, ops.LOOP, ops.REDUCE, ops.SCAN])
_ON_BITS: Final = frozenset([ops.BITCAST, ops.PACK, ops.UNPACK, ops.INT_TO_PTR, ops.PTR_TO_INT, ops.PTR_TO_PTR])


def float_element(value: Value) -> FloatType | None:
    """The element type of a tile of floats; None for any other value."""
    type = value.type
    return type.element if isinstance(type, TileType) and isinstance(type.element, FloatType) else None


def compared_element(value: Value) -> Type | None:
    """The element type of a tile that can be compared; addresses differ from run to run."""
    type = value.type
    return type.element if isinstance(type, TileType) and not isinstance(type.element, PointerType) else None


def in_reduction(operation: Operation) -> bool:
    """Whether an operation is in the body of `reduce` or `scan`, which has no values to compare."""
    return any(each.declaration in (ops.REDUCE, ops.SCAN) for each in ancestors(operation))


def wider(element: Type, wide: FloatType) -> Type:
    """What stands for an element type: the wide one for floats with fewer significant bits."""
    if not isinstance(element, FloatType):
        return element
    return wide if floats.FORMATS[element.name].precision < floats.FORMATS[wide.name].precision else element


def widen_tile(element: FloatType, wide: FloatType, content: Any) -> Any:
    """The numbers of a tile in the wide type, exactly."""
    target = cast(FloatType, wider(element, wide))
    array = numpy.asarray(float_to_float(element, target)(numpy.asarray(content)))
    return array if array.ndim else array[()]


def widened(operation: Operation, wide: FloatType) -> Again | None:
    """What computes the results of an operation again; None if it is nothing that can be computed with more digits."""
    declarations = [inner.declaration for inner in operation.walk()]
    if not all(one.traits & PURE or one.is_terminator or one in _WITHOUT_EFFECT for one in declarations):
        return None
    if not _ON_BITS.isdisjoint(declarations) or _captures(operation):
        return None
    if operation.declaration is ops.MMAF_SCALED:
        return _scaled_product
    inputs = Block([_wide_type(value.type, wide) for value in operation.operands])
    mapping: dict[Value, Value] = dict(zip(operation.operands, inputs.arguments, strict=True))
    copy = clone(operation, mapping)
    # An operand that is used twice is one value in the mapping, and two in the block.
    copy.set_operands(list(inputs.arguments), operation.segments)
    _widen_types(copy, wide)
    program = Program(copy, Options(), {})

    def again(block: object, values: list[Any]) -> list[Any]:
        frame = Frame(program, cast(TileBlock, block))
        frame.assign(copy.operands, values)
        OPERATIONS[copy.declaration](copy, frame)
        return frame.values_of(copy.results)

    return again


def _captures(operation: Operation) -> bool:
    """Whether a body takes values from around the operation, which nobody hands to its copy."""
    blocks = [value.parent_block for inner in operation.walk() if inner is not operation for value in inner.operands]
    owners = [block.parent_operation if block is not None else None for block in blocks]
    return any(owner is None or not operation.is_ancestor_of(owner) for owner in owners)


def _wide_type(type: Type, wide: FloatType) -> Type:
    return tile_type(type.shape, wider(type.element, wide)) if isinstance(type, TileType) else type


def _widen_types(copy: Operation, wide: FloatType) -> None:
    for inner in copy.walk():
        # An operation that is as wide already keeps its rounding.
        is_narrow = any(_wide_type(result.type, wide) is not result.type for result in inner.results)
        blocks = [block for region in inner.regions for block in region.blocks]
        for value in (*inner.results, *[argument for block in blocks for argument in block.arguments]):
            value.type = _wide_type(value.type, wide)
        # These belong to the narrow type.
        for name in ("flush_to_zero", "rounding_mode") if is_narrow else ():
            inner.set_attribute(name, None)
        if inner.declaration is ops.CONSTANT:
            inner.set_attribute("value", _wide_constant(inner.value_attribute, wide))


def _wide_constant(attribute: DenseAttribute, wide: FloatType) -> DenseAttribute:
    element = attribute.element_type
    target = wider(element, wide)
    if target is element or not isinstance(element, FloatType) or not isinstance(target, FloatType):
        return attribute
    elements: Array = numpy.asarray(float_to_float(element, target)(constant_elements(attribute)))
    data = to_bits(target, elements).astype(f"<u{target.width // 8}").tobytes()
    return dense_attribute(tile_type(attribute.shape, target), attribute.shape, target, data)


def _scaled_product(block: object, values: list[Any]) -> list[Any]:
    """`mmaf_scaled`: the interpreter's kernel ends in f32, whatever it is given."""
    left, right, accumulator, left_scale, right_scale = values
    length = left.shape[-1] // left_scale.shape[-1]
    left = left * numpy.repeat(left_scale, length, axis=-1)
    right = right * numpy.repeat(right_scale, length, axis=-2)
    return [numpy.matmul(left, right) + accumulator]
