"""Which values decide what is counted: those that loops, branches and accesses depend on, and what they come from."""

from __future__ import annotations

from tileir.dialect.ops import CONTINUE, FOR, IF, RETURN, YIELD
from tileir.execute.work.evaluation import EVALUATED
from tileir.ir.core import Operation
from tileir.ir.values import BlockArgument, Value

PLACES = ("source", "destination", "pointers", "ptr", "mask", "view", "index")
"""The operands of accesses that say where they are."""


def deciding_values(entry: Operation) -> set[Value]:
    """The values of a kernel that are to be evaluated."""
    pending: list[Value] = []
    ends: dict[Operation, list[Operation]] = {}
    for operation in entry.walk():
        declaration = operation.declaration
        if declaration is FOR:
            pending.extend(operation.operands[:3])
        elif declaration is IF:
            pending.append(operation.operands[0])
        elif declaration.accesses_memory:
            for part in declaration.operands:
                if part.name in PLACES:
                    pending.extend(operation.operand_group(part.name))
        elif declaration.is_terminator and declaration is not RETURN:
            target = _target(operation)
            if target is not None:
                ends.setdefault(target, []).append(operation)
    found: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        if isinstance(value, BlockArgument):
            _add_carried(value, ends, pending)
            continue
        maker = value.defining_operation
        if maker is None:
            continue
        if maker.declaration in EVALUATED:
            pending.extend(maker.operands)
        elif maker.declaration.is_control_flow:
            place = list(maker.results).index(value)  # type: ignore[arg-type]
            if maker.declaration is FOR:
                pending.append(maker.operands[3 + place])
                pending.append(maker.regions[0].blocks[0].arguments[1 + place])
            for end in ends.get(maker, ()):
                if end.declaration is not CONTINUE or maker.declaration is FOR:
                    pending.append(end.operands[place])
    return found


def _target(end: Operation) -> Operation | None:
    """The operation that a terminator gives its operands to: a `yield` to the one around it, others to the loop."""
    around = end.parent_operation
    if end.declaration is YIELD:
        return around
    while around is not None and around.declaration is IF:
        around = around.parent_operation
    return around


def _add_carried(argument: BlockArgument, ends: dict[Operation, list[Operation]], pending: list[Value]) -> None:
    owner = argument.block.parent_operation
    if owner is None or not owner.declaration.is_loop:
        return
    place = argument.index - (1 if owner.declaration is FOR else 0)
    if place < 0:
        # The number of the iteration, which the bounds decide.
        return
    pending.append(owner.operands[place + (3 if owner.declaration is FOR else 0)])
    pending.extend([end.operands[place] for end in ends.get(owner, ()) if end.declaration is CONTINUE])
