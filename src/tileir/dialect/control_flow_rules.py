"""The rules of structured control flow: where each terminator may stand, what loops carry, what branches yield."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.types import TensorViewType, TileViewType
from tileir.ir.attributes import TypeAttribute
from tileir.ir.core import Block, BlockArgument, Operation, Value
from tileir.ir.declaration import V13_4
from tileir.ir.diagnostics import Invalid, note
from tileir.ir.types import FunctionType, Type
from tileir.ir.verifier import VerifyContext

_ENTRY: Final = "cuda_tile.entry"
_FOR: Final = "cuda_tile.for"
_FUNCTION: Final = "cuda_tile.testing$func"
_IF: Final = "cuda_tile.if"
_LOOP: Final = "cuda_tile.loop"
_BREAK: Final = "cuda_tile.break"
CONTINUE_NAME: Final = "cuda_tile.continue"
_RETURN: Final = "cuda_tile.return"
YIELD_NAME: Final = "cuda_tile.yield"


def _types(values: list[Value]) -> list[Type]:
    return [value.type for value in values]


def _result_types(operation: Operation) -> list[Type]:
    return [value.type for value in operation.results]


def _quoted(types: list[Type]) -> str:
    return ", ".join([f"'{t.text}'" for t in types])


# --- terminators ---


def _verify_parent(operation: Operation, parents: tuple[str, ...]) -> None:
    parent = operation.parent_operation
    if parent is None or parent.name not in parents:
        raise Invalid(f"expects parent op to be one of '{', '.join(parents)}'")


def _enclosing_loop(operation: Operation, loops: tuple[str, ...]) -> Operation:
    """The loop that a break or continue leaves; only ifs may stand in between."""
    ancestor = operation.parent_operation
    while ancestor is not None and ancestor.name not in loops:
        if ancestor.name != _IF:
            break
        ancestor = ancestor.parent_operation
    if ancestor is None or ancestor.name not in loops:
        chain = "', '".join([*loops, _IF])
        notes = [note("see unexpected ancestor operation", ancestor.location)] if ancestor is not None else None
        raise Invalid(f"can only be nested within a ancestor chain of '{chain}' operations", notes=notes)
    return ancestor


def verify_break(operation: Operation, context: VerifyContext) -> None:
    _verify_parent(operation, (_IF, _LOOP))
    found = _types(operation.operands)
    expected = _result_types(_enclosing_loop(operation, (_LOOP,)))
    if found != expected:
        raise Invalid(
            f"operand types must correspond to the parent loop result types: ({_quoted(found)}) vs ({_quoted(expected)})"
        )


def verify_continue(operation: Operation, context: VerifyContext) -> None:
    _verify_parent(operation, (_FOR, _IF, _LOOP))
    loop = _enclosing_loop(operation, (_FOR, _LOOP))
    found = _types(operation.operands)
    # A for gives back what its last iteration carried; a loop carries one set of values and gives back another.
    if loop.name == _LOOP:
        expected = _types(loop.operands)
        what = "iter_values"
    else:
        expected = _result_types(loop)
        what = "return types"
    if found != expected:
        raise Invalid(
            f"`{loop.declaration.mnemonic}` is missing a valid terminator. `continue` op should have operand types that "
            f"match the parent loop {what}: ({_quoted(expected)}), but found: ({_quoted(found)})",
            bare=True,
        )


def verify_yield(operation: Operation, context: VerifyContext) -> None:
    _verify_parent(operation, (_IF, "cuda_tile.reduce", "cuda_tile.scan"))


def verify_return(operation: Operation, context: VerifyContext) -> None:
    # 13.4 lets a kernel end from inside a loop (not from inside a for).
    inner = (_IF, _LOOP) if context.version >= V13_4 else (_IF,)
    parent = operation.parent_operation
    if parent is None or parent.name != _FUNCTION:
        _verify_parent(operation, (_ENTRY, *inner))
    while parent is not None and parent.name in inner:
        parent = parent.parent_operation
    if parent is None or parent.name not in (_ENTRY, _FUNCTION):
        if len(inner) == 1:
            raise Invalid("must be used within a cuda_tile.entry, or cuda_tile.if operation")
        raise Invalid("must be used within a cuda_tile.entry, cuda_tile.if, or cuda_tile.loop operation")
    function_type = parent.attributes.get("function_type")
    if not isinstance(function_type, TypeAttribute) or not isinstance(function_type.type, FunctionType):
        return  # The function itself is in error.
    expected = function_type.type.results
    name = parent.symbol_name
    if len(operation.operands) != len(expected):
        raise Invalid(
            f"has {len(operation.operands)} operands, but enclosing function (@{name}) returns {len(expected)}"
        )
    if parent.name == _ENTRY and expected:
        raise Invalid(f"has {len(expected)} operands, but entry function must return 0 operands")
    for position, value in enumerate(operation.operands):
        if value.type is not expected[position]:
            raise Invalid(
                f"type of return operand {position} ('{value.type.text}') doesn't match function result type "
                f"('{expected[position].text}') in function @{name}",
                bare=True,
            )


# --- if, for, loop ---


def _verify_carried_type(what: str, position: int, type: Type) -> None:
    """A view is made where it is used: it is never carried from one block to another."""
    if isinstance(type, TensorViewType):
        raise Invalid(f"{what} {position} is a tensor_view, which is not supported")
    if isinstance(type, TileViewType):
        raise Invalid(f"{what} {position} is a tile view, which is not supported")


def _verify_result_types(operation: Operation) -> None:
    for position, value in enumerate(operation.results):
        _verify_carried_type("result type", position, value.type)


def _verify_terminator(operation: Operation, block: Block, allowed: tuple[str, ...]) -> None:
    """The first of `allowed` is the one that stands where the text has none."""
    last = block.last
    if last is not None and last.name not in allowed:
        implied = f"in custom textual format, the absence of terminator implies '{allowed[0]}'"
        raise Invalid(
            f"expects regions to end with '{allowed[0]}', found '{last.name}'",
            notes=[note(implied, operation.location)],
        )


def _verify_branch(operation: Operation, block: Block, name: str) -> None:
    last = block.last
    if last is None or last.name != YIELD_NAME:
        return  # The branch leaves the if for good.
    found = _types(last.operands)
    expected = _result_types(operation)
    if expected and not found:
        raise Invalid(f"has return type of {_quoted(expected)} but {name} branch does not yield anything")
    if found and not expected:
        raise Invalid(f"does not return a value, but {name} branch yields {_quoted(found)}")
    if found != expected:
        raise Invalid(
            f"type does not match yield type, {name} branch yields {_quoted(found)} "
            f"but op result type is {_quoted(expected)}"
        )


def verify_if(operation: Operation, context: VerifyContext) -> None:
    for number, region in enumerate(operation.regions):
        if region.blocks and region.blocks[0].arguments:
            raise Invalid(f"region #{number} should have no arguments")
    _verify_result_types(operation)
    if not operation.regions or not operation.regions[0].blocks:
        raise Invalid("must define then branch")
    _verify_branch(operation, operation.regions[0].blocks[0], "then")
    if len(operation.regions) < 2 or not operation.regions[1].blocks:
        if operation.results:
            raise Invalid("has non-empty return type, must define else branch")
        return
    _verify_branch(operation, operation.regions[1].blocks[0], "else")


def verify_if_regions(operation: Operation, context: VerifyContext) -> None:
    for region in operation.regions:
        for block in region.blocks:
            _verify_terminator(operation, block, (YIELD_NAME, _BREAK, CONTINUE_NAME, _RETURN))


def _verify_carried_values(operation: Operation, initial: list[Value], carried: list[BlockArgument]) -> None:
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
    _verify_result_types(operation)


def verify_for_regions(operation: Operation, context: VerifyContext) -> None:
    if not operation.regions[0].blocks or len(operation.operands) < 3:
        return  # Reported already.
    body = operation.regions[0].blocks[0]
    _verify_terminator(operation, body, (CONTINUE_NAME,))
    if not body.arguments:
        raise Invalid("expected at least one block argument for induction variable")
    bound = operation.operands[0].type
    if body.arguments[0].type is not bound:
        raise Invalid(
            "expected induction variable to be same type as bounds and step: "
            f"'{body.arguments[0].type.text}' vs '{bound.text}'"
        )
    _verify_carried_values(operation, operation.operands[3:], body.arguments[1:])


def verify_loop_regions(operation: Operation, context: VerifyContext) -> None:
    if not operation.regions[0].blocks:
        return  # Reported already.
    body = operation.regions[0].blocks[0]
    allowed = (CONTINUE_NAME, _BREAK, _RETURN) if context.version >= V13_4 else (CONTINUE_NAME, _BREAK)
    _verify_terminator(operation, body, allowed)
    _verify_carried_values(operation, operation.operands, body.arguments)
