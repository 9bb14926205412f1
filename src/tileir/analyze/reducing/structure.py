"""Control flow made straight: a branch in place of its `if`, a body in place of its loop; and what they carry."""

from __future__ import annotations

from collections.abc import Callable

from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.removal import Edit, remove
from tileir.analyze.reducing.replacing import Stand
from tileir.dialect.ops import BREAK, CONTINUE, FOR, IF, LOOP, REDUCE, SCAN, YIELD
from tileir.dialect.rules import signature
from tileir.ir.attributes import ArrayAttribute, array_attribute, type_attribute
from tileir.ir.core import Block, Operation
from tileir.ir.traits import ENDS_ITERATION
from tileir.ir.traversal import is_function
from tileir.ir.types import function_type
from tileir.ir.values import Value


def straightenings(program: Program) -> list[Edit]:
    """Every `if`, `for` and `loop` replaced by what is inside it; the outermost first."""
    edits: list[Edit] = []
    for position, operation in enumerate(program.operations):
        if operation.declaration.is_loop:
            edits.append(_at(position, _straighten_loop))
        elif operation.declaration is IF:
            for number, region in enumerate(operation.regions):
                if region.blocks:
                    edits.append(lambda p, at=position, n=number: _take_branch(p.operations[at], n))  # type: ignore[misc]
            if len(operation.regions) == 2 and operation.regions[1].blocks and not operation.results:
                edits.append(_at(position, _drop_else))
    return edits


def carried_removals(program: Program) -> list[Edit]:
    """Every value that control flow carries or gives, and every operand of a reduction, by itself."""
    edits: list[Edit] = []
    for position, operation in reversed(list(enumerate(program.operations))):
        declaration = operation.declaration
        if declaration is FOR:
            for number in reversed(range(len(operation.results))):
                edits.append(_numbered(position, number, _drop_carried))
        elif declaration is LOOP:
            for number in reversed(range(len(operation.results))):
                edits.append(_numbered(position, number, _drop_loop_result))
            for number in reversed(range(len(operation.operands))):
                edits.append(_numbered(position, number, _drop_loop_value))
        elif declaration is IF:
            for number in reversed(range(len(operation.results))):
                edits.append(_numbered(position, number, _drop_branch_result))
        elif declaration in (REDUCE, SCAN) and len(operation.operands) > 1:
            for number in reversed(range(len(operation.operands))):
                edits.append(_numbered(position, number, _drop_reduced))
    return edits


def parameter_removals(program: Program) -> list[Edit]:
    """Parameters of functions that nothing uses: all of a function at once, then each by itself."""
    edits: list[Edit] = []
    for position, operation in enumerate(program.operations):
        if is_function(operation) and operation.regions and operation.regions[0].blocks:
            unused = [
                number
                for number, argument in enumerate(operation.regions[0].blocks[0].arguments)
                if not argument.has_uses
            ]
            for chosen in [unused, *([number] for number in unused)] if len(unused) > 1 else [unused]:
                if chosen:
                    edits.append(lambda p, at=position, n=tuple(chosen): _drop_parameters(p, at, n))  # type: ignore[misc]
    return edits


def _at(position: int, change: Callable[[Operation], bool]) -> Edit:
    return lambda program: change(program.operations[position])


def _numbered(position: int, number: int, change: Callable[[Operation, int], bool]) -> Edit:
    return lambda program: change(program.operations[position], number)


# --- loops and branches ---


def _move_out(block: Block, before: Operation) -> None:
    """Move the operations of a block, but for its terminator, in front of another one."""
    target = before.parent
    assert target is not None
    for operation in block.operations[:-1]:
        operation.detach()
        target.insert_before(operation, before)


def _straighten_loop(loop: Operation) -> bool:
    """One iteration in place of a loop.  Ways out inside branches go, with the branches."""
    body = loop.regions[0].blocks[0]
    last = body.last
    if last is None:
        return False
    initial = loop.operands[:1] + loop.operands[3:] if loop.declaration is FOR else loop.operands
    if len(initial) != len(body.arguments):
        return False
    for argument, value in zip(body.arguments, initial, strict=True):
        argument.replace_all_uses_with(value)
    final: list[Value | None] = list(last.operands)
    exits = [operation for operation in body.operations[:-1] if _leaves(operation, loop)]
    if loop.declaration is LOOP and last.declaration is not BREAK:
        final = _broken_out(exits, body)
    if len(final) != len(loop.results):
        final = [None] * len(loop.results)
    if not remove(exits):
        return False
    _move_out(body, loop)
    for result, given in zip(loop.results, final, strict=True):
        if given is not None and _is_alive(given, loop):
            result.replace_all_uses_with(given)
    return remove([loop])


def _is_alive(value: Value, before: Operation) -> bool:
    definition = value.defining_operation
    return definition is None or (definition.parent is not None and definition is not before)


def _leaves(operation: Operation, loop: Operation) -> bool:
    """Whether a branch has a break or continue of the loop."""
    if operation.declaration is not IF:
        return False
    pending = [operation]
    while pending:
        for region in pending.pop().regions:
            for block in region.blocks:
                for inner in block:
                    if inner.declaration.has_trait(ENDS_ITERATION):
                        return True
                    if inner.declaration is IF:
                        pending.append(inner)
    return False


def _broken_out(exits: list[Operation], body: Block) -> list[Value | None]:
    """What the first break gives, as far as it is there without the branch."""
    for branch in exits:
        for inner in branch.walk():
            if inner.declaration is BREAK:
                return [value if value.parent_block is not inner.parent else None for value in inner.operands]
    return []


def _take_branch(branch: Operation, number: int) -> bool:
    block = branch.regions[number].blocks[0]
    last = block.last
    outer = branch.parent
    if last is None or outer is None:
        return False
    if last.declaration is YIELD:
        _move_out(block, branch)
        values: list[Value] = list(last.operands)
        last.set_operands([])
        branch.replace_with(values)
        return True
    # It leaves what is around: what comes behind is never reached.
    behind: list[Operation] = []
    cursor = branch.next
    while cursor is not None:
        behind.append(cursor)
        cursor = cursor.next
    _move_out(block, branch)
    last.detach()
    for operation in behind:
        operation.drop_all_references()
    for operation in behind:
        operation.detach()
    if not remove([branch]):
        return False
    outer.append(last)
    return True


def _drop_else(branch: Operation) -> bool:
    region = branch.regions[1]
    for block in region.blocks:
        for operation in block:
            operation.drop_all_references()
    region.blocks = []
    return True


# --- what is carried ---


def _terminators(operation: Operation, kinds: tuple[object, ...]) -> list[Operation]:
    """The terminators of some kinds that belong to an operation, through the branches inside it."""
    found: list[Operation] = []
    pending = [operation]
    while pending:
        for region in pending.pop().regions:
            for block in region.blocks:
                for inner in block:
                    if inner.declaration in kinds:
                        found.append(inner)
                    elif inner.declaration is IF and operation.declaration is not IF:
                        pending.append(inner)
    return found


def _without(values: list[Value], number: int) -> list[Value]:
    return values[:number] + values[number + 1 :]


def _drop_argument(block: Block, number: int) -> None:
    del block.arguments[number]
    for index, argument in enumerate(block.arguments):
        argument.index = index


def _drop_result(operation: Operation, number: int) -> None:
    operation.results = operation.results[:number] + operation.results[number + 1 :]
    for index, result in enumerate(operation.results):
        result.index = index


def _drop_carried(loop: Operation, number: int) -> bool:
    """A value that a `for` carries: it stays what it is at first."""
    initial = loop.operands[3 + number]
    body = loop.regions[0].blocks[0]
    loop.results[number].replace_all_uses_with(initial)
    body.arguments[1 + number].replace_all_uses_with(initial)
    for terminator in _terminators(loop, (CONTINUE,)):
        terminator.set_operands(_without(terminator.operands, number))
    loop.set_operands(_without(loop.operands, 3 + number), loop.segments)
    _drop_argument(body, 1 + number)
    _drop_result(loop, number)
    return True


def _drop_loop_value(loop: Operation, number: int) -> bool:
    body = loop.regions[0].blocks[0]
    body.arguments[number].replace_all_uses_with(loop.operands[number])
    for terminator in _terminators(loop, (CONTINUE,)):
        terminator.set_operands(_without(terminator.operands, number))
    loop.set_operands(_without(loop.operands, number), loop.segments)
    _drop_argument(body, number)
    return True


def _drop_loop_result(loop: Operation, number: int) -> bool:
    if not _replace_result(loop, number):
        return False
    for terminator in _terminators(loop, (BREAK,)):
        terminator.set_operands(_without(terminator.operands, number))
    _drop_result(loop, number)
    return True


def _drop_branch_result(branch: Operation, number: int) -> bool:
    if not _replace_result(branch, number):
        return False
    for terminator in _terminators(branch, (YIELD,)):
        terminator.set_operands(_without(terminator.operands, number))
    _drop_result(branch, number)
    return True


def _replace_result(operation: Operation, number: int) -> bool:
    """Let something else stand for a result that is used."""
    result = operation.results[number]
    if not result.has_uses:
        return True
    other = Stand({operation: None}).value_for(result)
    if other is None:
        return False
    result.replace_all_uses_with(other)
    return True


def _drop_reduced(operation: Operation, number: int) -> bool:
    """One operand of a reduction or scan, with its result, its two arguments and its identity."""
    identities = operation.attributes.get("identities")
    body = operation.regions[0].blocks[0]
    last = body.last
    if not isinstance(identities, ArrayAttribute) or last is None or not _replace_result(operation, number):
        return False
    count = len(operation.operands)
    if len(last.operands) != count or len(body.arguments) != 2 * count or len(identities.elements) != count:
        return False
    last.set_operands(_without(last.operands, number))
    # An argument that is still used is the same one of another operand, if its type is the same.
    other = 0 if number else 1
    for which in (1, 0):
        argument, replacement = body.arguments[2 * number + which], body.arguments[2 * other + which]
        if argument.has_uses:
            if replacement.type is not argument.type:
                return False
            argument.replace_all_uses_with(replacement)
    _drop_argument(body, 2 * number)
    _drop_argument(body, 2 * number)
    operation.set_operands(_without(operation.operands, number), operation.segments)
    elements = identities.elements
    operation.set_attribute("identities", array_attribute(elements[:number] + elements[number + 1 :]))
    _drop_result(operation, number)
    return True


# --- parameters ---


def _drop_parameters(program: Program, position: int, numbers: tuple[int, ...]) -> bool:
    function = program.operations[position]
    block = function.regions[0].blocks[0]
    name = function.symbol_name or ""
    known = program.origins.get(name)
    attributes = function.attributes.get("arg_attrs")
    for number in reversed(numbers):
        _drop_argument(block, number)
    kept = [n for n in range(len(signature(function).inputs)) if n not in numbers]
    old = signature(function)
    inputs = tuple([old.inputs[n] for n in kept])
    function.set_attribute("function_type", type_attribute(function_type(inputs, old.results)))
    if isinstance(attributes, ArrayAttribute) and len(attributes.elements) == len(old.inputs):
        function.set_attribute("arg_attrs", array_attribute(tuple([attributes.elements[n] for n in kept])))
    if known is not None:
        program.origins[name] = known._replace(parameters=tuple([known.parameters[n] for n in kept]))
    return True
