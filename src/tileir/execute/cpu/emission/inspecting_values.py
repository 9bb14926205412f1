"""Emission under the sanitizer: looking at numbers before an operation is given them.

What is wrong with the operands of an integer operation is said once, by `sanitizer.numbers`: its rules, traced, are the
code here.  Promises (`assume`) are a comparison each; those about groups of elements compare each with the first one.
"""

from __future__ import annotations

import numpy

from tileir.dialect.attributes import BoundedAttribute, DivByAttribute, SameElementsAttribute
from tileir.dialect.ops import ASSUME, ASSUME_COND
from tileir.execute.cpu.emission import inspection
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.evaluation import NestEmission
from tileir.execute.cpu.emission.inspecting import address_of, go_on_if_all
from tileir.execute.cpu.emission.nests import Axis, Index, LoopNest
from tileir.execute.cpu.emission.versions import lanes_of
from tileir.execute.cpu.loops.expressions import Expression, Stored
from tileir.execute.cpu.loops.statements import Inspect
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Register
from tileir.execute.cpu.vector.tracing import Tracer
from tileir.execute.sanitizer.integer_checks import number_checks
from tileir.execute.sanitizer.promises import is_about_groups, step_of
from tileir.ir.core import Operation


def emit_values(emission: Emission, statement: Inspect) -> None:
    """Look at the tiles an operation is given."""
    operation = statement.operation
    site = inspection.new_site(emission, "numbers", operation)
    if not statement.sources:
        _emit_address(emission, operation, site)
        return

    def look(doubt: str) -> None:
        grouped = is_about_groups(operation)
        lanes = 0 if grouped else lanes_of(emission, statement.sources, [])
        nest = NestEmission(emission, statement.shape, lanes, False)
        if grouped:
            good = _grouped(emission, nest, operation, statement.sources[0])
        else:
            registers = [nest.value(source) for source in statement.sources]
            with nest.at_level(nest.depth):
                good = _good(emission, operation, registers)
        with nest.at_level(nest.depth):
            go_on_if_all(emission, good, doubt)
        nest.close()

    def report() -> None:
        nest = NestEmission(emission, statement.shape, lanes_of(emission, statement.sources, []), False)
        for source, copy in zip(statement.sources, statement.copies, strict=True):
            if not (isinstance(source, Stored) and source.buffer is copy):
                nest.keep(source, copy, None, source.shape)
        nest.close()
        places = [f"ptr {emission.buffer(copy)}" for copy in statement.copies]
        inspection.call(emission, site, [str(statement.copies[0].count), *places])

    emission.builder.attempt(look, report)


def _emit_address(emission: Emission, operation: Operation, site: int) -> None:
    """A promise about the address of a view."""
    predicate = operation.attributes.get("predicate")
    if not isinstance(predicate, DivByAttribute):
        return
    builder = emission.builder
    address = address_of(emission, operation)
    low = builder.emit(f"and i64 {address}, {predicate.divisor - 1}")
    good = builder.emit(f"icmp eq i64 {low}, 0")
    builder.branch(good, None, lambda: inspection.call(emission, site, ["0", address]), likely=True)


def inspect_scalars(emission: Emission, operation: Operation, operands: list[Register]) -> None:
    """Look at the scalars an operation is given; vectors in the body of a reduction."""
    if not number_checks(operation):
        return
    builder = emission.builder
    width = max([operand.width for operand in operands])
    operands = [builder.splat(operand, width) for operand in operands]
    site = inspection.new_site(emission, "numbers", operation)

    def report() -> None:
        places = []
        for number, operand in enumerate(operands):
            place = inspection.operand_memory(emission, number)
            builder.do(f"store {casting.to_storage(builder, operand).typed}, ptr {place}, align 64")
            places.append(f"ptr {place}")
        inspection.call(emission, site, [str(max(width, 1)), *places])

    builder.attempt(lambda doubt: go_on_if_all(emission, _good(emission, operation, operands), doubt), report)


# --- conditions ---


def _good(emission: Emission, operation: Operation, operands: list[Register]) -> Register:
    """Whether an operation may be given these operands, in each lane."""
    builder = emission.builder
    width = max([operand.width for operand in operands])
    if operation.declaration is ASSUME_COND:
        return operands[0]
    if operation.declaration is ASSUME:
        return _promise(emission, operation, operands[0])
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


def _grouped(emission: Emission, nest: LoopNest, operation: Operation, source: Expression) -> Register:
    """Each element against the first of its group, in a nest without lanes."""
    builder = emission.builder
    predicate = operation.attributes.get("predicate")
    index = nest.index_for(source)
    value = nest.value(source)
    if isinstance(predicate, SameElementsAttribute):
        sizes: tuple[int, ...] = tuple(predicate.values)
    else:
        assert isinstance(predicate, DivByAttribute) and predicate.every is not None
        sizes = tuple([_every(predicate) if axis == predicate.along else 1 for axis in range(len(index))])
    first, _ = nest.at(source, _first_of_group(emission, nest, index, sizes))
    with nest.at_level(nest.depth):
        number, leader = (casting.cast(builder, register, INT64) for register in (value, first))
        if isinstance(predicate, SameElementsAttribute):
            return casting.compare(builder, "icmp eq", number, leader)
        assert predicate.every is not None and predicate.along is not None
        base = index[predicate.along].base
        if isinstance(base, int):
            place = str(base % _every(predicate))
        else:
            place = builder.emit(f"urem i64 {base}, {_every(predicate)}")
        distance = builder.emit(f"mul i64 {place}, {step_of(operation.operands[0].type)}")
        expected = builder.value(f"add i64 {leader.name}, {distance}", INT64)
        follows = casting.compare(builder, "icmp eq", number, expected)
        leads = builder.value(f"icmp eq i64 {place}, 0", BOOL)
        return casting.choose(builder, leads, _divisible(emission, number, predicate.divisor), follows)


def _every(predicate: DivByAttribute) -> int:
    """The size of groups; in groups of none, each element is the first."""
    return predicate.every or 1


def _first_of_group(emission: Emission, nest: LoopNest, index: Index, sizes: tuple[int, ...]) -> Index:
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
