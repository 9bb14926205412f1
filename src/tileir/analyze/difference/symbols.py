"""The functions and globals of two programs: which go together, by name and then by what is in them."""

from __future__ import annotations

from collections import Counter

from tileir.dialect.ops import BUILTIN_MODULE
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration

_SIMILAR = 0.5
"""How much of two functions must be the same for one to be the other, renamed."""
_MOST_PAIRS = 1 << 14
"""So many pairs of functions without a partner are compared at most."""


def unwrapped(module: Operation) -> Operation:
    """The module inside of one that has nothing else in it: MLIR's tools put one around every file."""
    while module.declaration is BUILTIN_MODULE and module.regions and len(module.regions[0].blocks) == 1:
        block = module.regions[0].blocks[0]
        if block.first is None or block.first is not block.last or not block.first.regions:
            break
        if "function_type" in block.first.declaration.inherent:
            break
        module = block.first
    return module


def symbols_of(module: Operation) -> list[Operation]:
    """What has a name in a module: functions, globals, modules inside; each before what it contains."""
    found: list[Operation] = []
    pending = [module]
    while pending:
        operation = pending.pop()
        if operation is not module:
            found.append(operation)
            if "function_type" in operation.declaration.inherent:
                continue
        for region in reversed(operation.regions):
            for block in reversed(region.blocks):
                pending.extend(reversed(list(block)))
    return found


def paired_symbols(left: Operation, right: Operation) -> list[tuple[Operation, Operation]]:
    """The pairs, in the order of the left program."""
    mine, theirs = symbols_of(left), symbols_of(right)
    by_name: dict[tuple[OperationDeclaration, str], list[Operation]] = {}
    for operation in reversed(theirs):
        by_name.setdefault(_name(operation), []).append(operation)
    found: dict[Operation, Operation] = {}
    for operation in mine:
        candidates = by_name.get(_name(operation))
        if candidates:
            found[operation] = candidates.pop()
    partners = set(found.values())
    lonely = [each for each in mine if each not in found]
    others = [each for each in theirs if each not in partners]
    for one, other in _similar(lonely, others):
        found[one] = other
    return [(operation, found[operation]) for operation in mine if operation in found]


def _name(operation: Operation) -> tuple[OperationDeclaration, str]:
    return operation.declaration, operation.symbol_name or ""


def _similar(mine: list[Operation], theirs: list[Operation]) -> list[tuple[Operation, Operation]]:
    """Pairs of functions that have at least half of their operations in common, the most similar first."""
    if len(mine) * len(theirs) > _MOST_PAIRS:
        return []
    counts = {operation: Counter([_line(each) for each in operation.walk()]) for operation in [*mine, *theirs]}
    scores = sorted(
        [
            (-_similarity(counts[one], counts[other]), place, there)
            for place, one in enumerate(mine)
            for there, other in enumerate(theirs)
            if one.declaration is other.declaration
        ]
    )
    found: list[tuple[Operation, Operation]] = []
    paired: set[Operation] = set()
    for score, place, there in scores:
        if -score >= _SIMILAR and not paired & {mine[place], theirs[there]}:
            paired |= {mine[place], theirs[there]}
            found.append((mine[place], theirs[there]))
    return found


def _line(operation: Operation) -> object:
    """What an operation says, without its name, operands and regions."""
    attributes = {name: value for name, value in operation.attributes.items() if name != "sym_name"}
    return operation.declaration, frozenset(attributes.items()), tuple([result.type for result in operation.results])


def _similarity(left: Counter[object], right: Counter[object]) -> float:
    return 2 * sum((left & right).values()) / (left.total() + right.total())
