"""Which operation the assembler means where it fails without a reason.

It often says no more than that it failed.  Then beginnings of the kernel are given to it, by bisection: up to an
operation, with what is not used any more printed, since it would leave out what nobody needs.  The operation that ends
the shortest beginning at which it fails is the one to look at; inside of it, if it is a loop or a branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tileir.dialect.ops import CONTINUE, FOR, FTOF, IF, PRINT_TKO, PTR_TO_INT
from tileir.dialect.types import TOKEN, PointerType, TileType
from tileir.ir.attributes import string_attribute
from tileir.ir.core import Block, Operation
from tileir.ir.symbols import lookup_symbol
from tileir.ir.traversal import clone, pre_order
from tileir.ir.types import BF16, F16, F32, F64, I64, IntegerType
from tileir.ir.values import Value
from tileir.passes.emit import Emit

_PRINTED: Final = (F16, BF16, F32, F64)

Fails = Callable[[Operation], bool]
"""Whether the assembler fails at a module."""


class OutOfTime(Exception):
    """The search takes longer than it may; raised by who is asked."""


def narrowed(module: Operation, kernel: str, fails: Fails) -> Operation | None:
    """The operation of a kernel at which the assembler fails; None if it fails at a kernel without operations too."""
    entry = lookup_symbol(module, kernel)
    if entry is None:
        return None
    found: Operation | None = None
    block: Block | None = entry.regions[0].blocks[0]
    try:
        while block is not None:
            inside = _first_in(module, block, fails)
            if inside is None:
                break
            found = inside
            block = _inner(found)
    except OutOfTime:
        pass
    return found


def _first_in(module: Operation, block: Block, fails: Fails) -> Operation | None:
    """The operation of a block at which the assembler fails; None if without any."""
    operations = list(block)[:-1]
    if not operations or fails(_beginning(module, block, 0)):
        return None
    # It succeeds with the first `good` operations, and fails with the first `bad`.
    good, bad = 0, len(operations)
    while bad - good > 1:
        middle = (good + bad) // 2
        if fails(_beginning(module, block, middle)):
            bad = middle
        else:
            good = middle
    return operations[bad - 1]


def _inner(operation: Operation) -> Block | None:
    """The block to go on with: that of a loop, or of a branch that gives no values."""
    if operation.declaration is FOR:
        return operation.regions[0].blocks[0]
    if operation.declaration is IF and not operation.results:
        return operation.regions[0].blocks[0]
    return None


def _beginning(module: Operation, block: Block, count: int) -> Operation:
    """A copy of a module in which a block has its first operations only, and nothing comes after it."""
    copy = clone(module)
    twins = dict(zip(pre_order(module), pre_order(copy), strict=True))
    first = block.first
    assert first is not None, "a block has a terminator"
    parent = twins[first].parent
    assert parent is not None, "an operation stands in a block"
    _cut(parent, count)
    around = parent.parent_operation
    while around is not None and around.parent_operation is not copy and around is not copy:
        outer = around.parent
        if outer is None:
            break
        _cut(outer, list(outer).index(around) + 1)
        around = outer.parent_operation
    return copy


def _cut(block: Block, count: int) -> None:
    """Leave so many operations of a block, and its terminator."""
    operations = list(block)
    last = operations[-1]
    kept, gone = operations[:count], operations[count:-1]
    if last.declaration is CONTINUE:
        # The values of the iteration before are as good as any.
        carried = block.arguments[len(block.arguments) - len(last.operands) :]
        for index, value in enumerate(carried):
            last.set_operand(index, value)
    for operation in reversed(gone):
        operation.erase()
    emit = Emit(last)
    for operation in kept:
        for result in operation.results:
            if not list(result.users):
                _print(emit, result)


def _print(emit: Emit, value: Value) -> None:
    """Use a value, if it can be printed in any way."""
    type = value.type
    if not isinstance(type, TileType):
        return
    if isinstance(type.element, PointerType):
        value = emit.convert(PTR_TO_INT, value, I64)
    elif not isinstance(type.element, IntegerType) and type.element not in _PRINTED:
        value = emit.convert(FTOF, value, F32)
    conversion = "%d" if isinstance(value.type, TileType) and isinstance(value.type.element, IntegerType) else "%f"
    emit.create(PRINT_TKO, [value], [TOKEN], {"str": string_attribute(conversion)}, segments=(1, 0))
