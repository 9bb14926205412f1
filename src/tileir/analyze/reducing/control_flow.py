"""Passes on control flow: regions inlined, carried values and parameters removed; and loops that cannot end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from tileir.analyze.reducing.program import Edit, Program, at, functions_with_bodies, update_signature
from tileir.analyze.reducing.removal import Replacements, owner_of, remove
from tileir.dialect.ops import BREAK, CONSTANT, CONTINUE, FOR, IF, LOOP, REDUCE, RETURN, SCAN, YIELD
from tileir.ir.attributes import ArrayAttribute, array_attribute
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traversal import ancestors
from tileir.ir.values import Value
from tileir.rewrite.matching import constant_bool, defined_by, ends_of

Node = TypeVar("Node")

# --- regions instead of the operations around them ---


def inlined_regions(program: Program) -> Iterator[Edit]:
    """Every `if`, `for` and `loop` replaced by what is inside it; the outermost first."""
    for position, operation in enumerate(program.operations):
        if operation.declaration.is_loop:
            yield partial(_inline_loop, position=position)
        elif operation.declaration is IF:
            for number, region in enumerate(operation.regions):
                if region.blocks:
                    yield at(position, _inline_branch, number)
            if len(operation.regions) == 2 and operation.regions[1].blocks and not operation.results:
                yield at(position, _drop_else)


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
    breaks = ends_of(loop, BREAK)
    ends = [end for end in (*breaks, *ends_of(loop, CONTINUE)) if end is not last]
    final: list[Value] = list(last.operands)
    if loop.declaration is LOOP and last.declaration is not BREAK:
        final = list(breaks[-1].operands) if breaks else []
    if not remove([next(each for each in ancestors(end) if each.parent is body) for end in ends]):
        return False
    _move_out(body, loop)
    for result, value in zip(loop.results, final, strict=False):
        definition = value.defining_operation
        # What a removed branch defines is gone.
        if definition is None or (definition is not loop and program.module.is_ancestor_of(definition)):
            result.replace_all_uses_with(value)
    return remove([loop])


def _inline_branch(branch: Operation, number: int) -> bool:
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
    # It ends the block around it: what comes after is never reached.
    last.detach()
    operations = outer.operations
    for each in operations[operations.index(branch) + 1 :]:
        each.drop_all_references()
        each.detach()
    if not remove([branch]):
        return False
    outer.append(last)
    return True


def _drop_else(branch: Operation) -> None:
    region = branch.regions[1]
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
                yield at(position, _drop_carried, number, carried)
        if operation.declaration in (REDUCE, SCAN) and len(operation.operands) > 1:
            for number in reversed(range(len(operation.operands))):
                yield at(position, _drop_reduced, number)


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


def _drop_carried(operation: Operation, number: int, carried: _Carried) -> bool:
    """Drop a carried value: its initial value replaces it, or whatever replaces a result."""
    if carried.initial is not None:
        operand, argument = [first + number for first in carried.initial]
        initial = operation.operands[operand]
        operation.regions[0].blocks[0].arguments[argument].replace_all_uses_with(initial)
        if carried.is_result:
            operation.results[number].replace_all_uses_with(initial)
        _drop(operation, operand=operand, arguments=[argument])
    elif not _replace_result(operation, number):
        return False
    for terminator in ends_of(operation, carried.terminator):
        _drop(terminator, operand=number)
    if carried.is_result:
        _drop(operation, result=number)
    return True


def _replace_result(operation: Operation, number: int) -> bool:
    result = operation.results[number]
    other = Replacements({operation: None}).value_for(result) if result.has_uses else None
    if other is not None:
        result.replace_all_uses_with(other)
    return not result.has_uses


def _drop_reduced(operation: Operation, number: int) -> bool:
    """Drop an operand of a reduction or scan, with its result, its two arguments and its identity."""
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
    count = len(function.regions[0].blocks[0].arguments)
    _drop(function, arguments=numbers)
    update_signature(function)
    attributes = function.attributes.get("arg_attrs")
    if isinstance(attributes, ArrayAttribute) and len(attributes.elements) == count:
        function.set_attribute("arg_attrs", array_attribute(tuple(_without(attributes.elements, *numbers))))
    name = function.symbol_name or ""
    origin = program.origins.get(name)
    if origin is not None:
        program.origins[name] = origin._replace(parameters=tuple(_without(origin.parameters, *numbers)))


# --- loops that cannot end ---


def may_not_end(program: Program) -> bool:
    """Whether there is a `loop` that is left in its first iteration or never, since its exits depend on nothing that
    changes.  A test that runs it would only use up its time."""
    for loop in program.operations:
        if loop.declaration is LOOP:
            exits = [*ends_of(loop, BREAK), *[each for each in loop.walk() if each.declaration is RETURN]]
            if not any(_may_be_reached(exit, loop) for exit in exits):
                return True
    return False


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
            handed_on = [end.operands[value.index] for end in ends_of(loop, CONTINUE)]
            steady = (value, *loop.operands)
            if any(each not in steady and defined_by(each, CONSTANT) is None for each in handed_on):
                return True
        elif loop.is_ancestor_of(owner):
            if owner.regions or owner.declaration.reads is not None:
                return True
            pending.extend(owner.operands)
    return False
