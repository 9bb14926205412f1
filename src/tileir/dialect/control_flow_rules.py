"""What control flow carries and gives: the types of values that go from block to block."""

from __future__ import annotations

from tileir.dialect.types import TensorViewType, TileViewType
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Invalid
from tileir.ir.types import Type
from tileir.ir.values import BlockArgument, Value


def value_types(values: list[Value]) -> list[Type]:
    return [value.type for value in values]


def result_types(operation: Operation) -> list[Type]:
    return [value.type for value in operation.results]


def quoted(types: list[Type]) -> str:
    return ", ".join([f"'{t.text}'" for t in types])


def _verify_carried_type(what: str, position: int, type: Type) -> None:
    """A view is made where it is used: it is never carried from one block to another."""
    if isinstance(type, TensorViewType):
        raise Invalid(f"{what} {position} is a tensor_view, which is not supported")
    if isinstance(type, TileViewType):
        raise Invalid(f"{what} {position} is a tile view, which is not supported")


def verify_result_types(operation: Operation) -> None:
    for position, value in enumerate(operation.results):
        _verify_carried_type("result type", position, value.type)


def verify_carried_values(operation: Operation, initial: list[Value], carried: list[BlockArgument]) -> None:
    if len(carried) != len(initial):
        raise Invalid(
            f"mismatch in number of region iterator values and loop iterator inits: {len(carried)} vs {len(initial)}"
        )
    for position, argument in enumerate(carried):
        _verify_carried_type("loop-carried value", position, argument.type)
        if initial[position].type is not argument.type:
            raise Invalid(
                f"init value {position} and region iter_value {position} have different type: "
                f"'{initial[position].type.text}' != '{argument.type.text}'"
            )
    verify_result_types(operation)
