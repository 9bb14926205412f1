"""Loops that cannot end: candidates that would only use up the time of a test that runs them.

A `loop` ends by a `break` or `return` whose conditions change from one iteration to the next, or hold from the start
because they are constants.  One where all conditions stay what they are is left in the first iteration or never; either
way it is not needed to see what a program computes.
"""

from __future__ import annotations

from tileir.analyze.reducing.program import Program
from tileir.dialect.ops import BREAK, CONSTANT, CONTINUE, IF, LOOP, RETURN
from tileir.ir.core import Block, Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.values import Value


def may_not_end(program: Program) -> bool:
    """Whether there is a loop of which no exit is ever reached if it is not in the first iteration."""
    return any(operation.declaration is LOOP and not _has_exit(operation) for operation in program.operations)


def _has_exit(loop: Operation) -> bool:
    changing = _changing_values(loop)
    pending: list[Block] = list(loop.regions[0].blocks)
    while pending:
        for operation in pending.pop():
            if operation.declaration in (BREAK, RETURN):
                if _belongs_to(operation, loop):
                    return True
            elif operation.declaration is IF:
                condition = operation.operands[0]
                known = _known(condition)
                for number, region in enumerate(operation.regions):
                    if condition in changing or known is (number == 0):
                        pending.extend(region.blocks)
            elif operation.declaration.is_loop:
                # What leaves the kernel from inside of them leaves this loop, too.
                if any(inner.declaration is RETURN for inner in operation.walk()):
                    return True
    return False


def _belongs_to(operation: Operation, loop: Operation) -> bool:
    around = operation.parent_operation
    while around is not None and around.declaration is IF:
        around = around.parent_operation
    return around is loop


def _known(condition: Value) -> bool | None:
    definition = condition.defining_operation
    if definition is None or definition.declaration is not CONSTANT:
        return None
    value = definition.attributes.get("value")
    return bool(value.bits(0)) if isinstance(value, DenseAttribute) else None


def _changing_values(loop: Operation) -> set[Value]:
    """Values inside a loop that may be others in the next iteration."""
    body = loop.regions[0].blocks[0]
    inside = list(loop.walk())[1:]
    changing: set[Value] = set()
    for operation in inside:
        if operation.declaration is CONTINUE and _belongs_to(operation, loop):
            for argument, value in zip(body.arguments, operation.operands, strict=False):
                if value is not argument and value not in loop.operands and not _is_constant(value):
                    changing.add(argument)
    # In program order, and again for what a loop inside carries.
    for _ in range(2):
        for operation in inside:
            reads = operation.declaration.reads is not None or operation.regions
            if reads or any(value in changing for value in operation.operands):
                changing.update(operation.results)
                for region in operation.regions:
                    for block in region.blocks:
                        changing.update(block.arguments)
    return changing


def _is_constant(value: Value) -> bool:
    return value.defining_operation is not None and value.defining_operation.declaration is CONSTANT
