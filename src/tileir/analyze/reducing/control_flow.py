"""Passes on control flow: regions inlined, carried values and parameters removed; and loops that cannot end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from tileir.analyze.reducing.program import Edit, Program, functions_with_bodies
from tileir.analyze.reducing.removal import Replacements, owner_of, remove
from tileir.dialect.ops import BREAK, CONSTANT, CONTINUE, FOR, IF, LOOP, REDUCE, RETURN, SCAN, YIELD
from tileir.dialect.rules import signature
from tileir.ir.attributes import ArrayAttribute, array_attribute, type_attribute
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import function_type
from tileir.ir.values import Value
from tileir.rewrite.matching import constant_bool, defined_by

Node = TypeVar("Node")


def _terminators(operation: Operation, *kinds: OperationDeclaration) -> list[Operation]:
    """Terminators of some kinds that belong to an operation; all but `yield` may be in branches inside it."""
    found: list[Operation] = []
    pending = [operation]
    while pending:
        for region in pending.pop().regions:
            for block in region.blocks:
                for inner in block:
                    if inner.declaration in kinds:
                        found.append(inner)
                    elif inner.declaration is IF and YIELD not in kinds:
                        pending.append(inner)
    return found


# --- regions instead of the operations around them ---


def inlined_regions(program: Program) -> Iterator[Edit]:
    """Every `if`, `for` and `loop` replaced by what is inside it; the outermost first."""
    for position, operation in enumerate(program.operations):
        if operation.declaration.is_loop:
            yield partial(_inline_loop, position=position)
        elif operation.declaration is IF:
            for number, region in enumerate(operation.regions):
                if region.blocks:
                    yield partial(_inline_branch, position=position, number=number)
            if len(operation.regions) == 2 and operation.regions[1].blocks and not operation.results:
                yield partial(_drop_else, position=position)


def _move_out(block: Block, before: Operation) -> None:
    """Move the operations of a block, but for its terminator, in front of another one."""
    target = before.parent
    assert target is not None
    for operation in block.operations[:-1]:
        operation.detach()
        target.insert_before(operation, before)


def _inline_loop(program: Program, position: int) -> bool:
    """One iteration in place of a loop.  Branches with a `break` or `continue` are removed."""
    loop = program.operations[position]
    body = loop.regions[0].blocks[0]
    last = body.last
    initial = loop.operands[:1] + loop.operands[3:] if loop.declaration is FOR else loop.operands
    if last is None or len(initial) != len(body.arguments):
        return False
    for argument, value in zip(body.arguments, initial, strict=True):
        argument.replace_all_uses_with(value)
    exits = [each for each in body if each.declaration is IF and _terminators(each, BREAK, CONTINUE)]
    final: list[Value] = list(last.operands)
    if loop.declaration is LOOP and last.declaration is not BREAK:
        breaks = [each for branch in exits for each in _terminators(branch, BREAK)]
        final = list(breaks[0].operands) if breaks else []
    if not remove(exits):
        return False
    _move_out(body, loop)
    for result, value in zip(loop.results, final, strict=False):
        definition = value.defining_operation
        # What a removed branch defines is gone.
        if definition is None or (definition is not loop and program.module.is_ancestor_of(definition)):
            result.replace_all_uses_with(value)
    return remove([loop])


def _inline_branch(program: Program, position: int, number: int) -> bool:
    branch = program.operations[position]
    block = branch.regions[number].blocks[0]
    last, outer = block.last, branch.parent
    if last is None or outer is None:
        return False
    _move_out(block, branch)
    if last.declaration is YIELD:
        values: list[Value] = list(last.operands)
        last.set_operands([])
        branch.replace_with(values)
        return True
    # It ends the block around it: what comes behind is never reached.
    last.detach()
    operations = outer.operations
    behind = operations[operations.index(branch) + 1 :]
    for each in behind:
        each.drop_all_references()
        each.detach()
    if not remove([branch]):
        return False
    outer.append(last)
    return True


def _drop_else(program: Program, position: int) -> None:
    region = program.operations[position].regions[1]
    for operation in [each for block in region.blocks for each in block]:
        operation.drop_all_references()
    region.blocks = []


# --- carried values ---


class _Carried(NamedTuple):
    """One kind of value that control flow carries, and where its parts are."""

    terminator: OperationDeclaration
    initial: tuple[int, int] | None
    """The index of the first operand that is carried in, and of its block argument."""
    is_result: bool


_CARRIED: Final[dict[OperationDeclaration, tuple[_Carried, ...]]] = {
    FOR: (_Carried(CONTINUE, (3, 1), True),),
    LOOP: (_Carried(BREAK, None, True), _Carried(CONTINUE, (0, 0), False)),
    IF: (_Carried(YIELD, None, True),),
}


def carried_removals(program: Program) -> Iterator[Edit]:
    """Every value that control flow carries or returns, and every operand of a reduction, by itself."""
    for position, operation in reversed(list(enumerate(program.operations))):
        for carried in _CARRIED.get(operation.declaration, ()):
            for number in reversed(range(len(operation.results if carried.is_result else operation.operands))):
                yield partial(_drop_carried, position=position, number=number, carried=carried)
        if operation.declaration in (REDUCE, SCAN) and len(operation.operands) > 1:
            for number in reversed(range(len(operation.operands))):
                yield partial(_drop_reduced, position=position, number=number)


def _without(values: Sequence[Node], *numbers: int) -> list[Node]:
    return [value for number, value in enumerate(values) if number not in numbers]


def _drop(
    operation: Operation, *, operand: int | None = None, result: int | None = None, arguments: Sequence[int] = ()
) -> None:
    """Drop operands, results and block arguments, and number those that are left."""
    if operand is not None:
        operation.set_operands(_without(operation.operands, operand), operation.segments)
    if result is not None:
        operation.results = tuple(_without(operation.results, result))
    if arguments:
        block = operation.regions[0].blocks[0]
        block.arguments = _without(block.arguments, *arguments)
    for values in (operation.results, *[block.arguments for region in operation.regions for block in region.blocks]):
        for index, value in enumerate(values):
            value.index = index


def _drop_carried(program: Program, position: int, number: int, carried: _Carried) -> bool:
    """Drop a carried value: its initial value takes its place, or whatever replaces a result."""
    operation = program.operations[position]
    if carried.initial is not None:
        operand, argument = [first + number for first in carried.initial]
        initial = operation.operands[operand]
        operation.regions[0].blocks[0].arguments[argument].replace_all_uses_with(initial)
        if carried.is_result:
            operation.results[number].replace_all_uses_with(initial)
        _drop(operation, operand=operand, arguments=[argument])
    elif not _replace_result(operation, number):
        return False
    for terminator in _terminators(operation, carried.terminator):
        _drop(terminator, operand=number)
    if carried.is_result:
        _drop(operation, result=number)
    return True


def _replace_result(operation: Operation, number: int) -> bool:
    """Replace a result that is used by another value."""
    result = operation.results[number]
    other = Replacements({operation: None}).value_for(result) if result.has_uses else None
    if other is not None:
        result.replace_all_uses_with(other)
    return not result.has_uses


def _drop_reduced(program: Program, position: int, number: int) -> bool:
    """Drop an operand of a reduction or scan, with its result, its two arguments and its identity."""
    operation = program.operations[position]
    identities = operation.attributes.get("identities")
    body = operation.regions[0].blocks[0]
    last = body.last
    if not isinstance(identities, ArrayAttribute) or last is None or not _replace_result(operation, number):
        return False
    count = len(operation.operands)
    if len(last.operands) != count or len(body.arguments) != 2 * count or len(identities.elements) != count:
        return False
    _drop(last, operand=number)
    # An argument that is still used becomes the same one of another operand, if its type is the same.
    other = 0 if number else 1
    for which in (1, 0):
        argument, replacement = body.arguments[2 * number + which], body.arguments[2 * other + which]
        if argument.has_uses:
            if replacement.type is not argument.type:
                return False
            argument.replace_all_uses_with(replacement)
    operation.set_attribute("identities", array_attribute(tuple(_without(identities.elements, number))))
    _drop(operation, operand=number, result=number, arguments=[2 * number, 2 * number + 1])
    return True


# --- parameters ---


def parameter_removals(program: Program) -> Iterator[Edit]:
    """Unused parameters: all of a function at once, then each by itself."""
    for position, function in functions_with_bodies(program):
        arguments = function.regions[0].blocks[0].arguments
        unused = [number for number, argument in enumerate(arguments) if not argument.has_uses]
        if unused:
            yield partial(_drop_parameters, position=position, numbers=unused)
        if len(unused) > 1:
            for number in unused:
                yield partial(_drop_parameters, position=position, numbers=[number])


def _drop_parameters(program: Program, position: int, numbers: list[int]) -> None:
    function = program.operations[position]
    _drop(function, arguments=numbers)
    old = signature(function)
    inputs = tuple(_without(old.inputs, *numbers))
    function.set_attribute("function_type", type_attribute(function_type(inputs, old.results)))
    attributes = function.attributes.get("arg_attrs")
    if isinstance(attributes, ArrayAttribute) and len(attributes.elements) == len(old.inputs):
        function.set_attribute("arg_attrs", array_attribute(tuple(_without(attributes.elements, *numbers))))
    name = function.symbol_name or ""
    origin = program.origins.get(name)
    if origin is not None:
        program.origins[name] = origin._replace(parameters=tuple(_without(origin.parameters, *numbers)))


# --- loops that cannot end ---


def may_not_end(program: Program) -> bool:
    """Whether there is a `loop` that is left in its first iteration or never, since its exits depend on nothing that
    changes.  A test that runs it would only use up its time."""
    return any(operation.declaration is LOOP and not _has_exit(operation) for operation in program.operations)


def _has_exit(loop: Operation) -> bool:
    exits = [*_terminators(loop, BREAK), *[each for each in loop.walk() if each.declaration is RETURN]]
    return any(_may_be_reached(exit, loop) for exit in exits)


def _may_be_reached(operation: Operation, loop: Operation) -> bool:
    """Whether the branches between a loop and an operation in it may be taken, or always are."""
    while operation is not loop:
        around, block = operation.parent_operation, operation.parent
        assert around is not None and block is not None
        if around.declaration is IF and not _may_change(around.operands[0], loop):
            if constant_bool(around.operands[0]) is not (block.parent is around.regions[0]):
                return False
        operation = around
    return True


def _may_change(value: Value, loop: Operation) -> bool:
    """Whether a value may be another one in the next iteration."""
    pending = [value]
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        owner = owner_of(value)
        if value in seen or owner is None:
            continue
        seen.add(value)
        if owner is loop:
            handed_on = [end.operands[value.index] for end in _terminators(loop, CONTINUE)]
            steady = (value, *loop.operands)
            if any(each not in steady and defined_by(each, CONSTANT) is None for each in handed_on):
                return True
        elif loop.is_ancestor_of(owner):
            if owner.regions or owner.declaration.reads is not None:
                return True
            pending.extend(owner.operands)
    return False
