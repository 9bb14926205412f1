"""Emission of structured control flow."""

from __future__ import annotations

from tileir.dialect.types import TileType
from tileir.execute.cpu.analysis.values import dtype_of
from tileir.execute.cpu.emission.worker import Emission, LoopLabels
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.statements import Branch, Leave, Repeat, Statement
from tileir.execute.cpu.native import record as slots
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Register, scalar_type
from tileir.ir.core import Operation, Value


def emit_branch(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Branch)
    builder = emission.builder
    operation = statement.operation
    condition = emission.scalars[operation.operands[0]]
    name = builder.fresh("if")
    builder.do(f"br i1 {condition.name}, label %{name}.then, label %{name}.else")
    emission.ends.append((f"{name}.end", list(operation.results)))
    for label, body in zip(("then", "else"), [*statement.branches, [], []], strict=False):
        builder.label(f"{name}.{label}")
        emission.statements(body)
        if not body or not isinstance(body[-1], Leave):
            builder.do(f"br label %{name}.end")
    emission.ends.pop()
    builder.label(f"{name}.end")
    for result in operation.results:
        if isinstance(result.type, TileType) and result.type.count == 1:
            emission.take(result)


def emit_repeat(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Repeat)
    builder = emission.builder
    operation = statement.operation
    block = operation.regions[0].blocks[0]
    counted = operation.declaration.mnemonic == "for"
    arguments: list[Value] = list(block.arguments[1:] if counted else block.arguments)
    initial = operation.operands[3:] if counted else operation.operands
    results: list[Value] = list(operation.results)
    name = builder.fresh("loop")
    for argument, value in zip(arguments, initial, strict=True):
        if _is_scalar(argument):
            emission.put(argument, emission.scalars[value])
    labels = LoopLabels(f"{name}.again", f"{name}.end", arguments, arguments if counted else results)
    if counted:
        lower, upper, step = (emission.scalars[value] for value in operation.operands[:3])
        induction = block.arguments[0]
        unsigned = "unsignedCmp" in operation.attributes
        _check_step(emission, operation, step, unsigned)
        if emission.sanitize:
            from tileir.execute.cpu.emission import inspecting_values

            inspecting_values.inspect_scalars(emission, operation, [lower, upper, step])
        below = "icmp ult" if unsigned else "icmp slt"
        wide, number = _wide_bounds(emission, [lower, upper, step], unsigned)
        builder.do(f"br label %{name}.before")
        builder.label(f"{name}.before")
        builder.do(f"br label %{name}.head")
        builder.label(f"{name}.head")
        builder.lines.append(
            f"  %{name}.i = phi {wide} [ {number[0]}, %{name}.before ], [ %{name}.next, %{name}.again ]"
        )
        more = builder.emit(f"{below} {wide} %{name}.i, {number[1]}")
        builder.do(f"br i1 {more}, label %{name}.body, label %{name}.end")
        builder.label(f"{name}.body")
        dtype = dtype_of(induction)
        narrow = scalar_type(dtype)
        emission.scalars[induction] = builder.value(f"trunc {wide} %{name}.i to {narrow}", dtype)
    else:
        builder.do(f"br label %{name}.head")
        builder.label(f"{name}.head")
    for argument in arguments:
        if _is_scalar(argument):
            emission.take(argument)
    emission.loops.append(labels)
    emission.statements(statement.body)
    emission.loops.pop()
    builder.label(f"{name}.again")
    emission.forget(statement.body)
    if counted:
        builder.lines.append(f"  %{name}.next = add {wide} %{name}.i, {number[2]}")
    # A tile block that would not end can still be stopped.
    stop = builder.emit(f"load atomic i64, ptr {emission.slot_pointer(slots.STOP)} monotonic, align 8")
    going = builder.emit(f"icmp eq i64 {stop}, 0")
    builder.do(f"br i1 {going}, label %{name}.head, label %{name}.stopped")
    builder.label(f"{name}.stopped")
    emission.leave_worker(2)
    builder.label(f"{name}.end")
    emission.forget(statement.body)
    for result, argument in zip(results, arguments if counted else results, strict=True):
        if not _is_scalar(result):
            continue
        emission.take(argument)
        if counted:
            emission.scalars[result] = emission.scalars[argument]


def _is_scalar(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.count == 1


def _check_step(emission: Emission, operation: Operation, step: Register, unsigned: bool) -> None:
    if not step.name.startswith("%"):
        if step.dtype == BOOL:
            positive = step.name == "true" and unsigned
        else:
            number = int(step.name)
            positive = number > 0 or (unsigned and number != 0)
        if positive:
            return
        condition = "false"
    else:
        condition = emission.builder.emit(f"icmp {'ne' if unsigned else 'sgt'} {step.typed}, {_zero(step)}")
    number_of_step = Register(step.name, step.dtype)
    wide = casting.cast(emission.builder, number_of_step, INT64)
    if step.dtype == BOOL and not unsigned:
        wide = Register(str(emission.subtract(0, wide.name)), INT64)
    emission.require(condition, Check("step", operation), 0, wide.name)


def _zero(register: Register) -> str:
    return "false" if register.dtype == BOOL else "0"


def _wide_bounds(emission: Emission, bounds: list[Register], unsigned: bool) -> tuple[str, list[str]]:
    """Bounds in a type so wide that adding the step never wraps."""
    width = 1 if bounds[0].dtype == BOOL else 8 * bounds[0].dtype.itemsize
    wide = "i64" if width <= 32 else "i128"
    extension = "zext" if unsigned else "sext"
    return wide, [emission.builder.emit(f"{extension} {bound.typed} to {wide}") for bound in bounds]


def emit_leave(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Leave)
    operation = statement.operation
    mnemonic = operation.declaration.mnemonic
    builder = emission.builder
    values = operation.operands
    if mnemonic == "return":
        builder.do("br label %block.end")
    elif mnemonic == "yield":
        if not emission.ends:
            emission.yielded = [emission.scalars[value] for value in values]
            return
        label, results = emission.ends[-1]
        _put_all(emission, values, results)
        builder.do(f"br label %{label}")
    elif mnemonic == "continue":
        _put_all(emission, values, emission.loops[-1].arguments)
        builder.do(f"br label %{emission.loops[-1].again}")
    else:
        _put_all(emission, values, emission.loops[-1].results)
        builder.do(f"br label %{emission.loops[-1].end}")


def _put_all(emission: Emission, values: list[Value], places: list[Value]) -> None:
    for value, place in zip(values, places, strict=True):
        if _is_scalar(place):
            emission.put(place, emission.scalars[value])
