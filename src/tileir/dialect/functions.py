"""Rules that operations with regions share: functions, their terminators, values carried between blocks."""

from __future__ import annotations

from tileir.dialect.types import TensorViewType, TileViewType
from tileir.ir.attributes import ArrayAttribute, DictionaryAttribute, TypeAttribute
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Invalid, note
from tileir.ir.symbols import verify_symbol
from tileir.ir.traits import TERMINATOR
from tileir.ir.types import FunctionType, Type, function_type
from tileir.ir.values import BlockArgument, Value


def signature(function: Operation) -> FunctionType:
    """The function type of a function."""
    found = function.attributes.get("function_type")
    if isinstance(found, TypeAttribute) and isinstance(found.type, FunctionType):
        return found.type
    return function_type((), ())


def verify_function(function: Operation) -> None:
    """What MLIR asks of every function: a symbol whose entry block has the arguments its type says."""
    verify_symbol(function)
    inputs = signature(function).inputs
    for index, type in enumerate(inputs):
        if not type.is_portable:
            raise Invalid(f"argument #{index} must have a portable type, but got '{type.text}'")
    _verify_dictionaries(function, "arg_attrs", "argument", len(inputs))
    _verify_dictionaries(function, "res_attrs", "result", len(signature(function).results))
    if not function.regions or not function.regions[0].blocks:
        return
    arguments = function.regions[0].blocks[0].arguments
    if len(arguments) != len(inputs):
        raise Invalid(f"entry block must have {len(inputs)} arguments to match function signature")
    for index, argument in enumerate(arguments):
        if argument.type is not inputs[index]:
            raise Invalid(
                f"type of entry block argument #{index}('{argument.type.text}') must match the type of the "
                f"corresponding argument in function signature('{inputs[index].text}')"
            )


def _verify_dictionaries(function: Operation, name: str, noun: str, count: int) -> None:
    found = function.attributes.get(name)
    if not isinstance(found, ArrayAttribute):
        return
    if len(found.elements) != count:
        raise Invalid(
            f"expects {noun} attribute array to have the same number of elements as the number of function {noun}s, "
            f"got {len(found.elements)}, but expected {count}"
        )
    for element in found.elements:
        if isinstance(element, DictionaryAttribute) and any("." not in key for key, _ in element.entries):
            raise Invalid(f"{noun}s may only have dialect attributes")


def verify_terminator(operation: Operation) -> None:
    """The only region of an operation with an implicit terminator ends in that one and no other."""
    implied = operation.declaration.regions[0].implicit_terminator
    assert implied is not None
    name = implied.name
    for region in operation.regions:
        last = region.blocks[0].last if region.blocks else None
        # An operation that is no terminator at all was reported with its block.
        if last is not None and last.declaration is not implied and last.declaration.traits & TERMINATOR:
            raise Invalid(
                f"expects regions to end with '{name}', found '{last.name}'",
                notes=[
                    note(f"in custom textual format, the absence of terminator implies '{name}'", operation.location)
                ],
            )


# --- control flow ---


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
