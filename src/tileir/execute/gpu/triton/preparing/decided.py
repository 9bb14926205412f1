"""What is known becomes a constant: integers that facts decide, and floats that are computed of constants.

Python's `//` and `%` come as remainders with a correction for signs: chains of comparisons and choices, of which
nothing is left where numbers are known not to be negative (block ids, extents, promises).

Floats are computed by the interpreter's arithmetic.  ptxas before CUDA 13 rounds ties of `add.rn` and `sub.rn` of
constants towards zero, and LLVM crashes on functions of constants that give subnormal numbers.
"""

from __future__ import annotations

from typing import Final, cast

import numpy

from tileir.dialect.enums import COMPARISON_PREDICATE
from tileir.dialect.ops import BROADCAST, CMPI, CONSTANT, PERMUTE, RESHAPE
from tileir.dialect.types import TileType
from tileir.execute.dtypes import Array, constant_elements, to_bits
from tileir.execute.interpreter.kernels import KERNELS
from tileir.ir.core import Operation
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.traversal import is_pure, pre_order
from tileir.ir.types import FloatType, IntegerType
from tileir.ir.values import Value
from tileir.passes.emit import Emit
from tileir.rewrite.facts import Facts

_SHAPES: Final = (BROADCAST, PERMUTE, RESHAPE)
"""Operations that give the elements they are given."""


def run(root: Operation) -> int:
    """Replace what is known; gives how many."""
    facts = Facts()
    count = 0
    # In the order of the program: what comes of constants is one itself.
    for operation in pre_order(root):
        if len(operation.results) != 1 or operation.declaration is CONSTANT or not is_pure(operation):
            continue
        type = operation.result.type
        if not isinstance(type, TileType) or not operation.result.users:
            continue
        number = _computed(operation, type)
        if number is None and isinstance(type.element, IntegerType):
            number = _outcome(operation, facts) if operation.declaration is CMPI else None
            number = facts.integer(operation.result) if number is None else number
        if number is not None:
            operation.replace_with([Emit(operation).bits(type, int(number))])
            count += 1
    return count


def _computed(operation: Operation, type: TileType) -> int | None:
    """The bits of what an operation with floats gives for constants, each of one number."""
    declaration = operation.declaration
    if not declaration.has_trait(ELEMENTWISE) or declaration not in KERNELS:
        return None
    elements = [type.element, *[cast(TileType, operand.type).element for operand in operation.operands]]
    if not any(isinstance(element, FloatType) for element in elements):
        return None
    numbers = [number for operand in operation.operands if (number := _number(operand)) is not None]
    if len(numbers) < len(operation.operands):
        return None
    with numpy.errstate(all="ignore"):
        made = KERNELS[declaration](operation, False)(*numbers)
    return int(to_bits(type.element, made)[0])


def _number(value: Value) -> Array | None:
    """The number that all elements of a constant are, as an array of one."""
    operation = value.defining_operation
    while operation is not None and operation.declaration in _SHAPES:
        operation = operation.operands[0].defining_operation
    if operation is None or operation.declaration is not CONSTANT:
        return None
    elements = constant_elements(operation.value_attribute)
    return elements if len(elements) == 1 else None


def _outcome(operation: Operation, facts: Facts) -> bool | None:
    """Whether a comparison holds for all elements, or for none."""
    signed = operation.keyword("signedness") == "signed"
    left, right = [facts.range(value, signed) for value in operation.operands]
    predicate = operation.attribute("comparison_predicate")
    if predicate is COMPARISON_PREDICATE["greater_than"]:
        return _is_less(right, left)
    if predicate is COMPARISON_PREDICATE["less_than"]:
        return _is_less(left, right)
    if predicate is COMPARISON_PREDICATE["greater_than_or_equal"]:
        return _not(_is_less(left, right))
    if predicate is COMPARISON_PREDICATE["less_than_or_equal"]:
        return _not(_is_less(right, left))
    equal = _is_equal(left, right)
    return equal if predicate is COMPARISON_PREDICATE["equal"] else _not(equal)


def _is_less(left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    if left[1] < right[0]:
        return True
    return False if left[0] >= right[1] else None


def _is_equal(left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    if left[1] < right[0] or right[1] < left[0]:
        return False
    return True if left == right and left[0] == left[1] else None


def _not(outcome: bool | None) -> bool | None:
    return None if outcome is None else not outcome
