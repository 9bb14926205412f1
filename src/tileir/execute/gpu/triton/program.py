"""A kernel made ready to be lowered: alone in a module, with operations that lowering knows, and views by number.

It is rewritten in three ways: loops that count become `for`, known values constants, and loads sink.

1. Triton overlaps the iterations of `for` alone.

    loop iter_values(%i = %a, %x = %x0) {                  for %i in (%a to %n, step %s) iter_values(%x = %x0) {
      %c = cmpi greater_than_or_equal %i, %n                 BODY
      if %c { break %x }                           ->        continue %y
      BODY                                                 }
      continue (addi %i, %s), %y
    }

A `loop` is rewritten if

* the first `if` in its body breaks in one branch, with nothing else in it, and does nothing but go on in the other; it
  has no results, and what stands before it is pure;
* nothing else breaks out of the loop, or returns;
* the condition compares a carried value, the counter, with a value from outside: going on is `counter < bound`;
* each `continue` gives the counter plus one and the same value from outside, which is known to be positive;
* that sum does not wrap: it is a step of one, or facts show it, or the addition promises it;
* what the `break` gives is carried, or comes from outside.

A counter that the `break` gives is carried beside.

2. Integers that facts decide: Python's `//` and `%` come as remainders with a correction for signs, chains of
comparisons and selects, of which nothing is left where numbers are known not to be negative (block ids, extents,
assumptions).  Floats that are computed of constants, by the interpreter's arithmetic: ptxas before CUDA 13 rounds ties
of `add.rn` and `sub.rn` of constants towards zero, and LLVM crashes on functions of constants that give subnormal
numbers.

3. Triton keeps the order of loads.  A norm that reads its weights first waits for them, and holds them in registers,
before it has added up the row: on an H200, rows of 4096 are normalized 5 % faster with the weights loaded last.  A weak
load moves in front of the first operation of its block that needs its result or token if a reduction stands in between,
no matmul does in the kernel (loops with matmuls are laid out by Triton), and nothing in between may change memory.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy

from tileir.dialect import ops
from tileir.dialect.enums import COMPARISON_PREDICATE
from tileir.dialect.ops import (
    ADDI,
    ASSUME,
    BROADCAST,
    CONSTANT,
    ENTRY,
    EXTI,
    MAKE_TENSOR_VIEW,
    MULI,
    OFFSET,
    PERMUTE,
    RESHAPE,
    SUBI,
)
from tileir.dialect.types import DYNAMIC, PointerType, TensorViewType, TileType
from tileir.execute.analysis.values import scalar_constant, tile_of
from tileir.execute.dtypes import Array, constant_elements, memory_bytes, to_bits
from tileir.execute.gpu.errors import TritonError
from tileir.execute.gpu.triton.code import LaunchValue, LaunchView, argument, constant
from tileir.execute.interpreter.kernels import KERNELS
from tileir.execute.launching.entries import select_entry
from tileir.ir.attributes import UNIT, Attribute
from tileir.ir.core import Block, Operation, Region
from tileir.ir.diagnostics import Diagnostic, PassError
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ELEMENTWISE, MATRIX_PRODUCT
from tileir.ir.traversal import clone, is_pure, memory_changes, post_order, pre_order
from tileir.ir.types import FloatType, IntegerType
from tileir.ir.values import BlockArgument, Value
from tileir.passes import canonicalize, cse, legalize
from tileir.passes.emit import Emit
from tileir.passes.registry import PassSession
from tileir.rewrite.fact import width_of
from tileir.rewrite.facts import Facts

# What the counter is to the bound where the loop goes on, by what it is compared as, where it ends (true) or goes on.
_GOES_ON: Final = {
    ("greater_than_or_equal", True): "counter first",
    ("less_than_or_equal", True): "bound first",
    ("less_than", False): "counter first",
    ("greater_than", False): "bound first",
}
_PROMISES: Final = {True: ("no_signed_wrap", "no_wrap"), False: ("no_unsigned_wrap", "no_wrap")}

_SHAPES: Final = (BROADCAST, PERMUTE, RESHAPE)
"""Operations that give the elements they are given."""
_LOADS: Final = (ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO)
_MATMULS: Final = REGISTRY.with_traits(MATRIX_PRODUCT)
_REDUCTIONS: Final = (ops.REDUCE, ops.SCAN)


class Counted(NamedTuple):
    """What makes a loop one that counts."""

    exit: Operation
    end: Operation
    """The `break`."""
    counter: BlockArgument
    bound: Value
    step: Value
    is_signed: bool


def count_loops(root: Operation) -> int:
    """Rewrite the loops that count; gives how many."""
    count = 0
    facts = Facts()
    for operation in post_order(root):
        if operation.declaration is ops.LOOP:
            found = _counted(operation, facts)
            if found is not None:
                _rewrite(operation, found)
                facts.invalidate()
                count += 1
    return count


# --- which loops count ---


def _counted(loop: Operation, facts: Facts) -> Counted | None:
    body = loop.regions[0].block
    exit = next((operation for operation in body if not is_pure(operation)), None)
    if exit is None or exit.declaration is not ops.IF or exit.results:
        return None
    found = _break_of(exit)
    ends = _ends(body)
    if found is None or any(each.declaration is not ops.CONTINUE and each is not found[0] for each in ends):
        return None
    end, ends_on_true = found
    compared = _compared(loop, exit.operands[0], ends_on_true)
    if compared is None:
        return None
    counter, bound, is_signed = compared
    steps = {_step(loop, each.operands[counter.index], counter) for each in ends if each is not end}
    step = steps.pop() if len(steps) == 1 else None
    if step is None or facts.range(step, is_signed)[0] <= 0:
        return None
    additions = [each.operands[counter.index].defining_operation for each in ends if each is not end]
    if not all(addition is not None and _fits(addition, bound, step, is_signed, facts) for addition in additions):
        return None
    if any(_is_inside(value, loop) and value not in body.arguments for value in end.operands):
        return None
    return Counted(exit, end, counter, bound, step, is_signed)


def _break_of(exit: Operation) -> tuple[Operation, bool] | None:
    """The `break` of an `if`, and whether it is in the first branch; the other branch only goes on."""
    blocks = [region.block if region.blocks else None for region in exit.regions]
    for number, block in enumerate(blocks):
        if block is not None and block.first is not None and block.first.declaration is ops.BREAK:
            other = blocks[1 - number] if len(blocks) > 1 else None
            goes_on = other is None or other.first is None or other.first.declaration is ops.YIELD
            return (block.first, number == 0) if goes_on else None
    return None


def _ends(block: Block) -> list[Operation]:
    """All that end an iteration, the loop or the kernel."""
    found: list[Operation] = []
    for operation in block:
        if operation.declaration.is_terminator and operation.declaration is not ops.YIELD:
            found.append(operation)
        elif operation.declaration is ops.IF:
            for region in operation.regions:
                for inner in region.blocks:
                    found += _ends(inner)
        elif operation.declaration is ops.LOOP:
            found += [each for each in post_order(operation) if each.declaration is ops.RETURN]
    return found


def _compared(loop: Operation, condition: Value, ends_on_true: bool) -> tuple[BlockArgument, Value, bool] | None:
    comparison = condition.defining_operation
    if comparison is None or comparison.declaration is not ops.CMPI:
        return None
    predicate = comparison.attribute("comparison_predicate")
    keyword = next((each for each, _ in _GOES_ON if predicate is COMPARISON_PREDICATE[each]), "")
    order = _GOES_ON.get((keyword, ends_on_true))
    if order is None:
        return None
    counter, bound = comparison.operands if order == "counter first" else comparison.operands[::-1]
    if not isinstance(counter, BlockArgument) or counter.parent_block is not loop.regions[0].block:
        return None
    if _is_inside(bound, loop) or width_of(counter.type) < 8:
        return None
    return counter, bound, comparison.keyword("signedness") == "signed"


def _step(loop: Operation, value: Value, counter: BlockArgument) -> Value | None:
    addition = value.defining_operation
    if addition is None or addition.declaration is not ops.ADDI or counter not in addition.operands:
        return None
    step = addition.operands[1] if addition.operands[0] is counter else addition.operands[0]
    return None if _is_inside(step, loop) else step


def _fits(addition: Operation, bound: Value, step: Value, is_signed: bool, facts: Facts) -> bool:
    if facts.integer(step) == 1 or addition.keyword("overflow") in _PROMISES[is_signed]:
        return True
    width = width_of(step.type)
    greatest = (1 << (width - 1 if is_signed else width)) - 1
    return facts.range(bound, is_signed)[1] + facts.range(step, is_signed)[1] - 1 <= greatest


def _is_inside(value: Value, loop: Operation) -> bool:
    block = value.parent_block
    owner = block.parent_operation if block is not None else None
    return owner is not None and loop.is_ancestor_of(owner)


# --- rewriting ---


def _rewrite(loop: Operation, counted: Counted) -> None:
    body = loop.regions[0].block
    counter = counted.counter
    is_given = any(
        value is counter and result.users for value, result in zip(counted.end.operands, loop.results, strict=True)
    )
    carried = [argument for argument in body.arguments if argument is not counter or is_given]
    made = Block()
    mapping: dict[Value, Value] = {counter: made.add_argument(counter.type, counter.location)}
    for each in carried:
        mapping.setdefault(each, made.add_argument(each.type, each.location))
    for operation in body:
        if operation is not counted.exit:
            made.append(clone(operation, mapping))
    if not is_given:
        for end in _ends(made):
            end.set_operands([value for number, value in enumerate(end.operands) if number != counter.index])
    start = loop.operands[counter.index]
    operands = [start, counted.bound, counted.step, *[loop.operands[argument.index] for argument in carried]]
    attributes: dict[str, Attribute] = {} if counted.is_signed else {"unsignedCmp": UNIT}
    types = [argument.type for argument in carried]
    new = Operation(ops.FOR, operands, types, attributes, [Region([made])], loop.location)
    assert loop.parent is not None, "a loop stands in a block"
    loop.parent.insert_before(new, loop)
    after: dict[Value, Value] = dict(zip(carried, new.results, strict=True))
    # A counter that nobody asks for is nothing behind the loop.
    after.setdefault(counter, start)
    loop.replace_with([after.get(value, value) for value in counted.end.operands])


# --- known values ---


def fold_known(root: Operation) -> int:
    """Replace what is known; gives how many."""
    facts = Facts()
    count = 0
    # In the order of the program: what comes of constants is one itself.
    for operation in pre_order(root):
        if len(operation.results) != 1 or operation.declaration is CONSTANT or not is_pure(operation):
            continue
        type = operation.result.type
        if not isinstance(type, TileType) or not operation.result.users:
            continue
        number = _computed(operation, type)
        if number is None and isinstance(type.element, IntegerType):
            number = facts.integer(operation.result)
        if number is not None:
            operation.replace_with([Emit(operation).bits(type, int(number))])
            count += 1
    return count


def _computed(operation: Operation, type: TileType) -> int | None:
    """The bits of what an operation with floats gives for constants, each of one number."""
    declaration = operation.declaration
    if not declaration.has_trait(ELEMENTWISE) or declaration not in KERNELS:
        return None
    elements = [type.element, *[tile_of(operand).element for operand in operation.operands]]
    if not any(isinstance(element, FloatType) for element in elements):
        return None
    numbers = [number for operand in operation.operands if (number := _number(operand)) is not None]
    if len(numbers) < len(operation.operands):
        return None
    with numpy.errstate(all="ignore"):
        made = KERNELS[declaration](operation, False)(*numbers)
    return int(to_bits(type.element, made)[0])


def _number(value: Value) -> Array | None:
    """The number that all elements of a constant are, as an array of one."""
    operation = value.defining_operation
    while operation is not None and operation.declaration in _SHAPES:
        operation = operation.operands[0].defining_operation
    if operation is None or operation.declaration is not CONSTANT:
        return None
    elements = constant_elements(operation.value_attribute)
    return elements if len(elements) == 1 else None


# --- loads ---


def sink_loads(root: Operation) -> int:
    """Move loads; gives how many."""
    operations = pre_order(root)
    if any(operation.declaration in _MATMULS for operation in operations):
        return 0
    changes = memory_changes(root)
    moved = 0
    # From the last to the first, so that loads keep their order among each other.
    for operation in reversed(operations):
        if operation.declaration in _LOADS and operation.memory_ordering_semantics == "weak":
            moved += _move(operation, changes)
    return moved


def _move(load: Operation, changes: set[Operation]) -> bool:
    block = load.parent
    assert block is not None, "a load stands in a block"
    users = {_within(user, block) for result in load.results for user in result.users}
    has_reduction = False
    operation = load.next
    while operation is not None and operation not in users:
        if operation in changes:
            return False
        has_reduction = has_reduction or operation.declaration in _REDUCTIONS
        operation = operation.next
    if not has_reduction or operation is None:
        return False
    load.detach()
    block.insert_before(load, operation)
    return True


def _within(operation: Operation, block: Block) -> Operation | None:
    """The operation of a block that another one stands in, or is."""
    found: Operation | None = operation
    while found is not None and found.parent is not block:
        found = found.parent_operation
    return found


_ARITHMETIC: Final = {ADDI: "addi", SUBI: "subi", MULI: "muli"}


class Program:
    """What is lowered."""

    def __init__(self, entry: Operation) -> None:
        self.source: Final = entry
        self.warnings: Final[list[Diagnostic]] = []
        module = entry.parent_operation
        assert module is not None, "a kernel stands in a module"
        copy = clone(module)
        for operation in [each for region in copy.regions for block in region.blocks for each in block]:
            if operation.declaration is ENTRY and operation.symbol_name != entry.symbol_name:
                operation.erase()
        self._legalize(copy)
        canonicalize.run(copy, PassSession())
        cse.run(copy)
        folded, counted = fold_known(copy), count_loops(copy)
        if folded + counted:
            canonicalize.run(copy, PassSession())
            cse.run(copy)
        self.changes: Final = {
            "known values that became constants": folded,
            "loops that became `for`": counted,
            "loads moved behind reductions": sink_loads(copy),
        }
        """How many of each there are, for the dump of decisions."""
        self.module: Final = copy
        self.entry: Final = select_entry(copy, entry.symbol_name)
        self.parameters: Final = self.entry.regions[0].blocks[0].arguments
        made = [each for each in pre_order(self.entry) if each.declaration is MAKE_TENSOR_VIEW]
        self.views: Final = [_view(each) for each in made]
        """The tensor views, in the order in which they stand."""
        self.number_of: Final = {operation: number for number, operation in enumerate(made)}

    def _legalize(self, module: Operation) -> None:
        """What only the drafts have, by other operations; what has no equal is refused, with the engine that has it."""
        try:
            legalize.run(module, self.warnings)
        except PassError as error:
            first = error.diagnostics[0]
            first.message += "; backend='cpu' or 'interpreter' has it"
            raise TritonError(error.diagnostics) from None


def _view(operation: Operation) -> LaunchView:
    type = operation.results[0].type
    assert isinstance(type, TensorViewType)
    dynamic_shape = iter(operation.dynamic_shape)
    dynamic_strides = iter(operation.dynamic_strides)
    return LaunchView(
        launch_value(operation.operands[0]),
        tuple([launch_value(next(dynamic_shape)) if n == DYNAMIC else constant(n) for n in type.shape]),
        tuple([launch_value(next(dynamic_strides)) if n == DYNAMIC else constant(n) for n in type.strides]),
        memory_bytes(type.element),
    )


def launch_value(value: Value) -> LaunchValue | None:
    """A scalar as an expression of the kernel's arguments; None if only the kernel knows it."""
    if isinstance(value, BlockArgument):
        block = value.parent_block
        owner = None if block is None or block.parent is None else block.parent.parent
        return argument(value.index) if owner is not None and owner.declaration is ENTRY else None
    operation = value.defining_operation
    if operation is None or not isinstance(value.type, TileType) or value.type.shape:
        return None
    declaration = operation.declaration
    if declaration is ASSUME:
        return launch_value(operation.operands[0])
    if declaration is CONSTANT:
        number = scalar_constant(value) if isinstance(value.type.element, IntegerType) else None
        return None if number is None else constant(number)
    if declaration is EXTI and operation.signedness == "signed":
        return launch_value(operation.operands[0])
    if declaration is OFFSET and isinstance(value.type.element, PointerType):
        base, index = [launch_value(operand) for operand in operation.operands]
        if base is None or index is None:
            return None
        size = memory_bytes(value.type.element.pointee)
        return ("addi", base, ("muli", index, constant(size), 64), 64)
    kind = _ARITHMETIC.get(declaration)
    if kind is not None and isinstance(value.type.element, IntegerType):
        left, right = [launch_value(operand) for operand in operation.operands]
        if left is not None and right is not None:
            return (kind, left, right, value.type.element.width)
    return None
