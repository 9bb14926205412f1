"""What the program promises of its values, said so that Triton sees it.

Triton moves sixteen bytes at once where it knows that addresses, extents and strides are multiples of enough.  Of
parameters an attribute says so.  Of what a kernel computes it has to follow from how that is computed: a number of
which the program promises that 16 divides it is shifted right and left again, which changes nothing.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect.ops import ASSUME, RETURN
from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.values import TtirValue
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import pre_order
from tileir.ir.values import BlockArgument, Value

_ENOUGH: Final = 16


def lower_assume(lowering: Lowering, operation: Operation) -> None:
    """A promise: other than here, what is known by it is asked of `lowering.facts`."""
    given, result = operation.operands[0], operation.results[0]
    if not isinstance(result.type, TileType):
        lowering.views[result] = lowering.views[given]
        return
    value = lowering.value(given)
    if not value.shape and not value.is_float and not _is_parameter(given):
        divisor = _divisor(lowering, result)
        if divisor > _divisor(lowering, given):
            value = _divisible(lowering, value, divisor)
    lowering.result(operation, value)


def promised_divisor(lowering: Lowering, parameter: BlockArgument) -> int:
    """What the program promises to divide a parameter, wherever it is used."""
    best = 1
    pending: list[Value] = [parameter]
    while pending:
        for user in pending.pop().users:
            # One inside of a branch, or behind one that may end the kernel, is promised only where it is come to.
            if user.declaration is ASSUME and _is_always_reached(user, parameter.block):
                best = max(best, _divisor(lowering, user.results[0]))
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
    return operation is None and isinstance(value, BlockArgument) and _is_of_kernel(value)


def _is_of_kernel(value: BlockArgument) -> bool:
    owner = value.block.parent_operation
    return owner is not None and owner.parent_operation is not None and owner.parent_operation.parent_operation is None


def _divisor(lowering: Lowering, value: Value) -> int:
    return min(lowering.facts.divisor(value), _ENOUGH)


def _divisible(lowering: Lowering, value: TtirValue, divisor: int) -> TtirValue:
    build = lowering.build
    places = divisor.bit_length() - 1
    if value.element.startswith("!tt.ptr"):
        # The shifts keep Triton from folding the conversions, and the attribute with them.
        number = _divisible(lowering, build.reinterpret("tt.ptr_to_int", value, "i64"), divisor)
        attribute = f" {{tt.divisibility = dense<{divisor}> : tensor<1xi32>}}"
        return build.reinterpret("tt.int_to_ptr", number, value.element, attribute)
    if value.bits <= places:
        return value
    return build.immediate("arith.shli", build.immediate("arith.shrsi", value, places), places)
