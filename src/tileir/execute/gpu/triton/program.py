"""A kernel made ready to be lowered: alone in a module, with operations that lowering knows, and views by number.

Two rewrites are Triton's own.  First, Triton overlaps the iterations of `for` alone, so a `loop` that counts becomes
one (`_counted` has the conditions); a counter that is an operand of the `break` is also carried:

    loop iter_values(%i = %a, %x = %x0) {                  for %i in (%a to %n, step %s) iter_values(%x = %x0) {
      %c = cmpi greater_than_or_equal %i, %n                 BODY
      if %c { break %x }                           ->        continue %y
      BODY                                                 }
      continue (addi %i, %s), %y }

Second, known values become constants: integers that facts decide, as what is left of Python's `//` and `%`, and floats
computed of constants, by the interpreter.  ptxas before CUDA 13 rounds ties of `add.rn` and `sub.rn` of constants
toward zero, and LLVM crashes on functions of constants that give subnormal numbers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy

from tileir.dialect import ops
from tileir.dialect.enums import COMPARISON_PREDICATE
from tileir.dialect.types import DYNAMIC, PointerType, TensorViewType, TileType
from tileir.execute.analysis.values import is_inside, scalar_constant, tile_of
from tileir.execute.dtypes import Array, constant_elements, memory_bytes, to_bits
from tileir.execute.gpu.errors import TritonError
from tileir.execute.gpu.triton.code import LaunchValue, LaunchView, argument, constant
from tileir.execute.interpreter.kernels import KERNELS
from tileir.execute.launching.entries import select_entry
from tileir.ir.attributes import UNIT, Attribute
from tileir.ir.core import Block, Operation, Region
from tileir.ir.diagnostics import Diagnostic, PassError
from tileir.ir.traits import ELEMENTWISE
from tileir.ir.traversal import clone, is_pure, post_order, pre_order
from tileir.ir.types import FloatType, IntegerType
from tileir.ir.values import BlockArgument, Value
from tileir.passes import canonicalize, cse, legalize
from tileir.passes.emit import Emit
from tileir.passes.registry import PassSession
from tileir.rewrite.fact import width_of
from tileir.rewrite.facts import Facts
from tileir.rewrite.matching import branch, defined_by, loop_ends

_IS_COUNTER_FIRST: Final[dict[tuple[Attribute | None, bool], bool]] = {
    (COMPARISON_PREDICATE["greater_than_or_equal"], True): True,
    (COMPARISON_PREDICATE["less_than_or_equal"], True): False,
    (COMPARISON_PREDICATE["less_than"], False): True,
    (COMPARISON_PREDICATE["greater_than"], False): False,
}
"""By how the counter is compared with the bound, and whether the loop ends if that holds: the order of operands."""
_PROMISES: Final = {True: ("no_signed_wrap", "no_wrap"), False: ("no_unsigned_wrap", "no_wrap")}
_SHAPES: Final = (ops.BROADCAST, ops.PERMUTE, ops.RESHAPE)  # Operations that give the elements they are given.
_ARITHMETIC: Final = {ops.ADDI: "addi", ops.SUBI: "subi", ops.MULI: "muli"}


class Program:
    def __init__(self, entry: Operation) -> None:
        self.source: Final = entry
        self.warnings: Final[list[Diagnostic]] = []
        module = entry.parent_operation
        assert module is not None, "a kernel stands in a module"
        copy = clone(module)
        for operation in [each for region in copy.regions for block in region.blocks for each in block]:
            if operation.declaration is ops.ENTRY and operation.symbol_name != entry.symbol_name:
                operation.erase()
        self._legalize(copy)
        canonicalize.run(copy, PassSession())
        cse.run(copy)
        folded, counted = fold_known(copy), count_loops(copy)
        if folded + counted:
            canonicalize.run(copy, PassSession())
            cse.run(copy)
        self.changes: Final = {"known values that became constants": folded, "loops that became `for`": counted}
        self.module: Final = copy
        self.entry: Final = select_entry(copy, entry.symbol_name)
        self.parameters: Final = self.entry.regions[0].blocks[0].arguments
        made = [each for each in pre_order(self.entry) if each.declaration is ops.MAKE_TENSOR_VIEW]
        self.views: Final = [_view(each) for each in made]  # The tensor views, in the order in which they stand.
        self.number_of: Final = {operation: number for number, operation in enumerate(made)}

    def _legalize(self, module: Operation) -> None:
        """What only the drafts have, by other operations; what has no equal is refused, with the engine that has it."""
        try:
            legalize.run(module, self.warnings)
        except PassError as error:
            error.diagnostics[0].message += "; backend='cpu' or 'interpreter' has it"
            raise TritonError(error.diagnostics) from None


# --- views as launches know them ---


def _view(operation: Operation) -> LaunchView:
    type = operation.results[0].type
    assert isinstance(type, TensorViewType)

    def values(numbers: tuple[int, ...], given: list[Value]) -> tuple[LaunchValue | None, ...]:
        dynamic = iter(given)
        return tuple([launch_value(next(dynamic)) if n == DYNAMIC else constant(n) for n in numbers])

    shape, strides = values(type.shape, operation.dynamic_shape), values(type.strides, operation.dynamic_strides)
    return LaunchView(launch_value(operation.operands[0]), shape, strides, memory_bytes(type.element))


def launch_value(value: Value) -> LaunchValue | None:
    """A scalar as an expression of the kernel's arguments; None if only the kernel knows it."""
    if isinstance(value, BlockArgument):
        owner = value.block.parent_operation
        return argument(value.index) if owner is not None and owner.declaration is ops.ENTRY else None
    operation = value.defining_operation
    if operation is None or not isinstance(value.type, TileType) or value.type.shape:
        return None
    declaration, element = operation.declaration, value.type.element
    if declaration is ops.CONSTANT:
        number = scalar_constant(value) if isinstance(element, IntegerType) else None
        return None if number is None else constant(number)
    if declaration is ops.ASSUME or (declaration is ops.EXTI and operation.signedness == "signed"):
        return launch_value(operation.operands[0])
    if declaration is not ops.OFFSET and declaration not in _ARITHMETIC:
        return None
    left, right = [launch_value(operand) for operand in operation.operands]
    if left is None or right is None:
        return None
    if isinstance(element, PointerType):
        return ("addi", left, ("muli", right, constant(memory_bytes(element.pointee)), 64), 64)
    return (_ARITHMETIC[declaration], left, right, element.width) if isinstance(element, IntegerType) else None


# --- loops that count ---


class _Counted(NamedTuple):
    exit: Operation
    end: Operation
    counter: BlockArgument
    bound: Value
    step: Value
    is_signed: bool


def count_loops(root: Operation) -> int:
    count = 0
    facts = Facts()
    for operation in post_order(root):
        found = _counted(operation, facts) if operation.declaration is ops.LOOP else None
        if found is not None:
            _rewrite(operation, found)
            facts.invalidate()
            count += 1
    return count


def _counted(loop: Operation, facts: Facts) -> _Counted | None:
    """How a loop counts, if it does.

    The first operation that is not pure is an `if` without results: one branch is a `break`, the other only goes on,
    if `counter < bound`, a carried value and one from outside.  Nothing else breaks or returns.  Each `continue` adds
    one positive value from outside, without wrapping.  The operands of the `break` are carried, or come from outside.
    """
    body = loop.regions[0].block
    exit = next((operation for operation in body if not is_pure(operation)), None)
    if exit is None or exit.declaration is not ops.IF or exit.results:
        return None
    firsts = [block.first if (block := branch(exit, number)) is not None else None for number in (0, 1)]
    end, other = firsts if firsts[0] is not None and firsts[0].declaration is ops.BREAK else firsts[::-1]
    if end is None or loop_ends(loop, ops.BREAK) != [end] or (other and other.declaration is not ops.YIELD):
        return None
    if any(each.declaration is ops.RETURN for each in pre_order(loop)):
        return None
    comparison = defined_by(exit.operands[0], ops.CMPI)
    key = comparison.attribute("comparison_predicate") if comparison is not None else None
    is_counter_first = _IS_COUNTER_FIRST.get((key, end is firsts[0]))
    if comparison is None or is_counter_first is None:
        return None
    counter, bound = comparison.operands if is_counter_first else comparison.operands[::-1]
    if not isinstance(counter, BlockArgument) or counter.parent_block is not body or is_inside(bound, loop):
        return None
    is_signed = comparison.keyword("signedness") == "signed"
    given = [each.operands[counter.index] for each in loop_ends(loop, ops.CONTINUE)]
    additions = [addition for each in given if (addition := defined_by(each, ops.ADDI)) is not None]
    steps = {value for each in additions for value in each.operands if value is not counter}
    step = steps.pop() if len(steps) == 1 else None
    if step is None or len(additions) < len(given) or any(counter not in each.operands for each in additions):
        return None
    if width_of(counter.type) < 8 or is_inside(step, loop) or facts.range(step, is_signed)[0] <= 0:
        return None
    if not all(_fits(addition, bound, step, is_signed, facts) for addition in additions):
        return None
    if any(is_inside(value, loop) and value not in body.arguments for value in end.operands):
        return None
    return _Counted(exit, end, counter, bound, step, is_signed)


def _fits(addition: Operation, bound: Value, step: Value, is_signed: bool, facts: Facts) -> bool:
    """Whether the counter does not wrap before it reaches the bound."""
    if facts.integer(step) == 1 or addition.keyword("overflow") in _PROMISES[is_signed]:
        return True
    width = width_of(step.type)
    greatest = (1 << (width - 1 if is_signed else width)) - 1
    return facts.range(bound, is_signed)[1] + facts.range(step, is_signed)[1] - 1 <= greatest


def _rewrite(loop: Operation, counted: _Counted) -> None:
    body, counter, end = loop.regions[0].block, counted.counter, counted.end
    is_given = any(value is counter and result.users for value, result in zip(end.operands, loop.results, strict=True))
    carried = [argument for argument in body.arguments if argument is not counter or is_given]
    made = Block()
    mapping: dict[Value, Value] = {counter: made.add_argument(counter.type, counter.location)}
    for each in carried:
        mapping.setdefault(each, made.add_argument(each.type, each.location))
    for operation in body:
        if operation is not counted.exit:
            made.append(clone(operation, mapping))
    start = loop.operands[counter.index]
    operands = [start, counted.bound, counted.step, *[loop.operands[argument.index] for argument in carried]]
    attributes: dict[str, Attribute] = {} if counted.is_signed else {"unsignedCmp": UNIT}
    types = [argument.type for argument in carried]
    new = Operation(ops.FOR, operands, types, attributes, [Region([made])], loop.location)
    if not is_given:
        for last in loop_ends(new, ops.CONTINUE):
            last.set_operands([value for number, value in enumerate(last.operands) if number != counter.index])
    assert loop.parent is not None, "a loop stands in a block"
    loop.parent.insert_before(new, loop)
    # A counter that is not carried is an unused result at most: any value will do.
    after: dict[Value, Value] = {counter: start, **dict(zip(carried, new.results, strict=True))}
    loop.replace_with([after.get(value, value) for value in end.operands])


# --- known values ---


def fold_known(root: Operation) -> int:
    """Replace what is known; returns how many."""
    facts = Facts()
    count = 0
    # In the order of the program: what comes of constants is one itself.
    for operation in pre_order(root):
        if len(operation.results) != 1 or operation.declaration is ops.CONSTANT or not is_pure(operation):
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
    """The bits of the result of an operation with floats, if its operands are constants of one number each."""
    declaration = operation.declaration
    if not declaration.has_trait(ELEMENTWISE) or declaration not in KERNELS:
        return None
    elements = [type.element, *[tile_of(operand).element for operand in operation.operands]]
    numbers = [number for operand in operation.operands if (number := _number(operand)) is not None]
    if len(numbers) < len(operation.operands) or not any(isinstance(element, FloatType) for element in elements):
        return None
    with numpy.errstate(all="ignore"):
        made = KERNELS[declaration](operation, False)(*numbers)
    return int(to_bits(type.element, made)[0])


def _number(value: Value) -> Array | None:
    """The number that all elements of a constant are, as an array of one."""
    operation = value.defining_operation
    while operation is not None and operation.declaration in _SHAPES:
        operation = operation.operands[0].defining_operation
    if operation is None or operation.declaration is not ops.CONSTANT:
        return None
    elements = constant_elements(operation.value_attribute)
    return elements if len(elements) == 1 else None
