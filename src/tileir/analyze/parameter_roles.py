"""What the integers that a kernel takes are for: extents and strides of tensors, bounds of loops, sizes.

Read from the program alone.  A parameter is followed through operations that hand its value on; of what is computed
from it, only how it ends is of interest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from tileir.dialect import ops
from tileir.dialect.attributes import BoundedAttribute, DivByAttribute
from tileir.dialect.types import DYNAMIC, PartitionViewType, StridedViewType, TensorViewType, TileViewType
from tileir.ir.core import Operation
from tileir.ir.values import OperationResult, Value

_SAME_VALUE = (ops.ASSUME, ops.EXTI, ops.TRUNCI, ops.RESHAPE, ops.BROADCAST)
_COMPUTED = (ops.ADDI, ops.SUBI, ops.MULI, ops.DIVI, ops.MINI, ops.MAXI)


@dataclass(slots=True, eq=False)
class Role:
    """What is known of an integer parameter."""

    divisor: int = 1
    low: int = 1
    """At least: an extent, a count or a stride of zero shows nothing."""
    high: int | None = None
    tiles: list[int] = field(default_factory=list)
    """The extents of tiles along the dimensions that it is the extent of."""
    used_as_extent: bool = False
    strides: list[tuple[Operation, int]] = field(default_factory=list)
    """The tensors, and the dimensions of them, that it is the stride of."""
    loops: bool = False
    """Whether it is itself the bound of a loop."""
    compared: bool = False

    def allowed(self, number: int) -> int:
        """The nearest number that the program's assumptions allow, if there is one."""
        number = max(number, self.low)
        number += -number % self.divisor
        if self.high is not None and number > self.high:
            number = self.high - self.high % self.divisor
        return number


def role_of(parameter: Value) -> Role:
    """How a kernel uses an integer that it is given."""
    role = Role()
    pending: list[tuple[Value, bool]] = [(parameter, True)]
    seen: set[Value] = {parameter}
    while pending:
        value, itself = pending.pop()
        for user in value.users:
            declaration = user.declaration
            if declaration is ops.ASSUME and itself:
                _assume(role, user)
            elif declaration is ops.MAKE_TENSOR_VIEW:
                _view(role, user, value, itself)
            elif declaration is ops.FOR:
                role.loops |= itself
                role.compared |= not itself
            elif declaration is ops.CMPI:
                role.compared = True
            handed_on = itself and declaration in _SAME_VALUE
            if (handed_on or declaration in (*_SAME_VALUE, *_COMPUTED)) and user.results[0] not in seen:
                seen.add(user.results[0])
                pending.append((user.results[0], handed_on))
    return role


def _assume(role: Role, operation: Operation) -> None:
    predicate = operation.attributes.get("predicate")
    if isinstance(predicate, DivByAttribute):
        role.divisor = max(role.divisor, predicate.divisor)
    elif isinstance(predicate, BoundedAttribute):
        if predicate.lower is not None:
            role.low = max(role.low, predicate.lower + predicate.strict)
        if predicate.upper is not None:
            high = predicate.upper - predicate.strict
            role.high = high if role.high is None else min(role.high, high)


def _view(role: Role, maker: Operation, value: Value, itself: bool) -> None:
    if not itself:
        role.compared = True
        return
    tensor = cast(TensorViewType, maker.results[0].type)
    for axis, extent in zip(_dynamic(tensor.shape), maker.dynamic_shape, strict=True):
        if extent is value:
            role.used_as_extent = True
            role.tiles += tiles_along(maker, axis)
    for axis, stride in zip(_dynamic(tensor.strides), maker.dynamic_strides, strict=True):
        if stride is value:
            role.strides.append((maker, axis))


def _dynamic(numbers: tuple[int, ...]) -> list[int]:
    return [axis for axis, number in enumerate(numbers) if number == DYNAMIC]


def tiles_along(maker: Operation, axis: int) -> list[int]:
    """The extents of tiles along a dimension of a tensor."""
    found: list[int] = []
    for user in maker.results[0].users:
        type = user.results[0].type if user.results else None
        if not isinstance(type, TileViewType):
            continue
        found += [tile for place, tile in enumerate(type.tile_shape) if _tensor_axis(type, place) == axis]
    return found


def _tensor_axis(type: TileViewType, axis: int) -> int:
    """The dimension of the tensor along a dimension of a view's tiles."""
    return type.dim_map[axis] if isinstance(type, (PartitionViewType, StridedViewType)) else axis


def extent_parameter(access: Operation, axis: int) -> Value | None:
    """The parameter that is the extent of the tensor along a dimension of the tiles that an operation accesses."""
    view = next((value for value in access.operands if isinstance(value.type, TileViewType)), None)
    maker = view.defining_operation if view is not None else None
    tensor = maker.operands[0].defining_operation if maker is not None and maker.operands else None
    if view is None or tensor is None or tensor.declaration is not ops.MAKE_TENSOR_VIEW:
        return None
    along = _tensor_axis(cast(TileViewType, view.type), axis)
    dynamic = _dynamic(cast(TensorViewType, tensor.results[0].type).shape)
    if along not in dynamic:
        return None
    return parameter_of(tensor.dynamic_shape[dynamic.index(along)])


def parameter_of(value: Value) -> Value:
    """What a value is another name of."""
    while True:
        operation = value.defining_operation
        if operation is None or operation.declaration not in _SAME_VALUE:
            return value
        value = operation.operands[0]


def block_axis(value: Value) -> int | None:
    """The axis of the grid along which a value is the place of the tile block."""
    source = parameter_of(value)
    if isinstance(source, OperationResult) and source.operation.declaration is ops.GET_TILE_BLOCK_ID:
        return source.index
    return None


def tensor_numbers(maker: Operation, numbers: dict[Value, int]) -> tuple[list[int | None], list[int | None]]:
    """The extents and strides of a tensor as far as they are known, given those of parameters."""
    tensor = cast(TensorViewType, maker.results[0].type)

    def known(fixed: tuple[int, ...], group: str) -> list[int | None]:
        given = iter(maker.operand_group(group))
        return [numbers.get(parameter_of(next(given))) if number == DYNAMIC else number for number in fixed]

    return known(tensor.shape, "dynamicShape"), known(tensor.strides, "dynamicStrides")
