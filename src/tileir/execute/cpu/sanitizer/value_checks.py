"""Checks of the operands of an operation.

The rules about integer operations are those of `tileir.execute.sanitizer.integer_checks`: traced, they are the code
here.  Promises (`assume`) are a comparison each; those about groups of elements compare each with the first one.
"""

from __future__ import annotations

import numpy

from tileir.dialect.attributes import BoundedAttribute, DivByAttribute, SameElementsAttribute
from tileir.dialect.ops import ASSUME, ASSUME_COND
from tileir.execute.cpu.codegen.context import Emission, TensorView
from tileir.execute.cpu.codegen.edge_versions import lanes_of
from tileir.execute.cpu.codegen.exits import call_inspector, new_site
from tileir.execute.cpu.codegen.loop_nest import Axis, Index, NestEmitter
from tileir.execute.cpu.ir.expressions import BufferRead, Expression
from tileir.execute.cpu.ir.statements import Inspect
from tileir.execute.cpu.sanitizer.access_checks import go_on_if_all
from tileir.execute.cpu.sanitizer.sites import Site
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.cpu.vector.tracing import Tracer
from tileir.execute.sanitizer.integer_checks import number_checks
from tileir.execute.sanitizer.promises import is_about_groups, step_of
from tileir.ir.core import Operation


def emit_values(emission: Emission, statement: Inspect) -> None:
    """Check the tiles that an operation takes."""
    operation, sources = statement.operation, statement.sources
    site = new_site(emission, Site("numbers", operation))
    if not sources:
        _emit_address(emission, operation, site)
        return

    def check(doubt: str) -> None:
        grouped = is_about_groups(operation)
        nest = NestEmitter(emission, statement.shape, 0 if grouped else lanes_of(emission, sources, []), False)
        if grouped:
            good = _grouped(emission, nest, operation, sources[0])
        else:
            registers = [nest.value(source) for source in sources]
            with nest.at_level(nest.depth):
                good = _good(emission, operation, registers)
        with nest.at_level(nest.depth):
            go_on_if_all(emission, good, doubt)
        nest.close()

    def report() -> None:
        nest = NestEmitter(emission, statement.shape, lanes_of(emission, sources, []), False)
        for source, copy in zip(sources, statement.copies, strict=True):
            if not (isinstance(source, BufferRead) and source.buffer is copy):
                nest.keep(source, copy)
        nest.close()
        pointers = [f"ptr {emission.buffer(copy)}" for copy in statement.copies]
        call_inspector(emission, site, [str(statement.copies[0].count), *pointers])

    emission.builder.attempt(check, report)


def _emit_address(emission: Emission, operation: Operation, site: int) -> None:
    """A promise about the address of a view."""
    predicate = operation.attributes.get("predicate")
    if not isinstance(predicate, DivByAttribute):
        return
    builder = emission.builder
    view = emission.views[operation.operands[0]]
    address = view.address if isinstance(view, TensorView) else view.tensor.address
    low = builder.emit(f"and i64 {address}, {predicate.divisor - 1}")
    good = builder.emit(f"icmp eq i64 {low}, 0")
    builder.branch(good, None, lambda: call_inspector(emission, site, ["0", address]), likely=True)


def inspect_scalars(emission: Emission, operation: Operation, operands: list[Register]) -> None:
    """Check the scalars that an operation takes; vectors in the body of a reduction."""
    if not number_checks(operation):
        return
    builder = emission.builder
    width = max([operand.width for operand in operands])
    operands = [builder.splat(operand, width) for operand in operands]
    site = new_site(emission, Site("numbers", operation))

    def report() -> None:
        pointers = []
        for number, operand in enumerate(operands):
            # Enough for an operand of any type.
            pointer = emission.frame.stack("i8", 512, 64, f"inspect.operand{number}")
            builder.do(f"store {casting.to_storage(builder, operand).typed}, ptr {pointer}, align 64")
            pointers.append(f"ptr {pointer}")
        call_inspector(emission, site, [str(max(width, 1)), *pointers])

    builder.attempt(lambda doubt: go_on_if_all(emission, _good(emission, operation, operands), doubt), report)


# --- conditions ---


def _good(emission: Emission, operation: Operation, operands: list[Register]) -> Register:
    """Whether an operation may take these operands, in each lane."""
    builder = emission.builder
    if operation.declaration is ASSUME_COND:
        return operands[0]
    if operation.declaration is ASSUME:
        return _promise(emission, operation, operands[0])
    width = max([operand.width for operand in operands])
    operands = [builder.splat(operand, width) for operand in operands]
    wrong = casting.constant(False, operands[0], BOOL)
    for check in number_checks(operation):
        with numpy.errstate(all="ignore"):
            found = check.wrong(*[Tracer(builder, operand) for operand in operands])
        if found is not None:
            wrong = casting.binary(builder, "or", wrong, found.register)
    return casting.binary(builder, "xor", wrong, casting.constant(True, wrong))


def _promise(emission: Emission, operation: Operation, value: Register) -> Register:
    builder = emission.builder
    predicate = operation.attributes.get("predicate")
    if isinstance(predicate, DivByAttribute):
        return _divisible(emission, casting.cast(builder, value, INT64), predicate.divisor)
    good = casting.constant(True, value, BOOL)
    if not isinstance(predicate, BoundedAttribute):
        return good
    number = casting.cast(builder, value, INT64)
    if value.dtype == BOOL:
        # Read as signed, as everywhere.
        number = casting.binary(builder, "sub", casting.constant(0, number), number)
    suffix = "t" if predicate.strict else "e"
    for bound, comparison in ((predicate.lower, f"icmp sg{suffix}"), (predicate.upper, f"icmp sl{suffix}")):
        if bound is not None:
            holds = casting.compare(builder, comparison, number, casting.constant(bound, number))
            good = casting.binary(builder, "and", good, holds)
    return good


def _divisible(emission: Emission, number: Register, divisor: int) -> Register:
    builder = emission.builder
    low = casting.binary(builder, "and", number, casting.constant(divisor - 1, number))
    return casting.compare(builder, "icmp eq", low, casting.constant(0, low))


# --- promises about groups ---


def _grouped(emission: Emission, nest: NestEmitter, operation: Operation, source: Expression) -> Register:
    """Each element against the first of its group, in a loop nest without lanes."""
    builder = emission.builder
    predicate = operation.attributes.get("predicate")
    index = nest.index_for(source)
    value = nest.value(source)
    every = 1
    if isinstance(predicate, SameElementsAttribute):
        sizes: tuple[int, ...] = tuple(predicate.values)
    else:
        assert isinstance(predicate, DivByAttribute)
        # In groups of none, each element is the first.
        every = predicate.every or 1
        sizes = tuple([every if axis == predicate.along else 1 for axis in range(len(index))])
    first, _ = nest.at(source, _first_of_group(emission, nest, index, sizes))
    with nest.at_level(nest.depth):
        number, leader = (casting.cast(builder, register, INT64) for register in (value, first))
        if isinstance(predicate, SameElementsAttribute):
            return casting.compare(builder, "icmp eq", number, leader)
        assert predicate.along is not None
        base = index[predicate.along].base
        rest = str(base % every) if isinstance(base, int) else builder.emit(f"urem i64 {base}, {every}")
        distance = builder.emit(f"mul i64 {rest}, {step_of(operation.operands[0].type)}")
        expected = builder.value(f"add i64 {leader.name}, {distance}", INT64)
        follows = casting.compare(builder, "icmp eq", number, expected)
        leads = builder.value(f"icmp eq i64 {rest}, 0", BOOL)
        return casting.choose(builder, leads, _divisible(emission, number, predicate.divisor), follows)


def _first_of_group(emission: Emission, nest: NestEmitter, index: Index, sizes: tuple[int, ...]) -> Index:
    axes = []
    for axis, size in zip(index, sizes, strict=True):
        if size > 1:
            with nest.at_level(axis.level):
                if isinstance(axis.base, int):
                    axis = Axis(axis.base - axis.base % size, False, axis.level)
                else:
                    rest = emission.builder.emit(f"urem i64 {axis.base}, {size}")
                    axis = Axis(emission.builder.subtract(axis.base, rest), False, axis.level)
        axes.append(axis)
    return tuple(axes)
