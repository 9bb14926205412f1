"""Lowering of `permute`, and of those that loops carry.

Triton's choice of layouts does not end where a loop carries the transpose of a small tile: that of the value and that
of its transpose replace each other for ever (3.5 to 3.9).  There elements are gathered by their places.
"""

from __future__ import annotations

from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.lowering.constants import places
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.shapes import as_bits, from_bits
from tileir.execute.gpu.triton.ttir.values import TtirValue, squeezed_axis
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ENDS_ITERATION, MATRIX_PRODUCT
from tileir.ir.traversal import is_memory_effect_free
from tileir.ir.values import BlockArgument, Value

_MOST_GATHERED: Final = 512
"""Tiles of more elements have layouts that are found."""
_PRODUCTS: Final = REGISTRY.with_traits(MATRIX_PRODUCT)
"""These choose layouts, whatever those of their operands are."""


def lower_permute(lowering: Lowering, operation: Operation) -> None:
    order = operation.permutation
    shape = cast(TileType, operation.operands[0].type).shape
    kept = [squeezed_axis(shape, axis) for axis in order if shape[axis] != 1]
    value = lowering.value(operation.operands[0])
    is_small = cast(TileType, operation.result.type).count <= _MOST_GATHERED
    if is_small and kept != sorted(kept) and _is_carried(operation):
        lowering.result(operation, _gathered(lowering, value, kept))
    else:
        lowering.result(operation, lowering.build.transpose(value, kept))


def _gathered(lowering: Lowering, value: TtirValue, order: list[int]) -> TtirValue:
    build = lowering.build
    bits = as_bits(lowering, value)
    wanted = build.transpose(places(lowering, value.shape), order)
    count = 1
    for extent in value.shape:
        count *= extent
    found = build.gather(build.reshape(bits, (count,)), build.reshape(wanted, (count,)))
    return from_bits(lowering, build.reshape(found, wanted.shape), value.element)


def _is_carried(operation: Operation) -> bool:
    """Whether what a loop carries is transposed, and carried on."""
    return _comes_from_loop(operation.operands[0], set()) and _goes_to_loop(operation.result, set())


def _comes_from_loop(value: Value, seen: set[Value]) -> bool:
    pending = [value]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, BlockArgument):
            owner = current.parent_block.parent_operation if current.parent_block is not None else None
            if owner is not None and owner.declaration.is_loop:
                return True
        elif current.defining_operation is not None:
            if current.defining_operation.regions:
                return True
            pending += _moved(current.defining_operation)
    return False


def _moved(operation: Operation) -> list[Value]:
    """The operands that the layout of the result comes from; what is loaded has one of its own."""
    if operation.declaration in _PRODUCTS or not is_memory_effect_free(operation):
        return []
    return [value for value in operation.operands if isinstance(value.type, TileType) and value.type.count > 1]


def _goes_to_loop(value: Value, seen: set[Value]) -> bool:
    pending = [value]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        for user in current.users:
            if user.declaration.has_trait(ENDS_ITERATION) or user.regions:
                return True
            if user.declaration is ops.YIELD:
                parent = user.parent_operation
                pending += list(parent.results) if parent is not None else []
            elif user.declaration not in _PRODUCTS:
                pending += list(user.results)
    return False
