"""Emission of structured control flow."""

from __future__ import annotations

from tileir.dialect.ops import CONTINUE, FOR, IF, RETURN, YIELD
from tileir.execute.analysis.values import dtype_of, is_scalar
from tileir.execute.cpu.emission.context import Emission, EnclosingLoop
from tileir.execute.cpu.emission.exits import is_stopped, leave_worker, require
from tileir.execute.cpu.emission.reservations import forget
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.statements import Branch, Repeat, Terminator
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.builder import Loop
from tileir.execute.cpu.vector.casting import BOOL, INT64
from tileir.execute.cpu.vector.llvm import Register, scalar_type
from tileir.ir.core import Operation
from tileir.ir.values import Value


def emit_branch(emission: Emission, statement: Branch) -> None:
    operation = statement.operation
    condition = emission.scalars[operation.operands[0]]
    then, otherwise = (*statement.branches, [], [])[:2]
    emission.builder.branch(condition.name, lambda: emission.statements(then), lambda: emission.statements(otherwise))
    _take_all(emission, list(operation.results))


def emit_repeat(emission: Emission, statement: Repeat, first: Register | None = None) -> None:
    """Emit a loop; a `for` may begin at another number than its lower bound."""
    builder = emission.builder
    operation = statement.operation
    block = operation.regions[0].blocks[0]
    counted = operation.declaration is FOR
    arguments: list[Value] = list(block.arguments[1:] if counted else block.arguments)
    # What a `for` carries is its result; a `loop` gives what its `break` does.
    results: list[Value] = arguments if counted else list(operation.results)
    _put_all(emission, operation.operands[3:] if counted else operation.operands, arguments)
    loop = Loop(builder)
    wide, counter, upper, step = _counter(emission, operation, loop, first) if counted else ("", "", "", "")

    def body() -> None:
        if counted:
            below = "ult" if operation.unsigned_cmp else "slt"
            builder.go_on(builder.emit(f"icmp {below} {wide} {counter}, {upper}"), loop.end)
            dtype = dtype_of(block.arguments[0])
            number = builder.value(f"trunc {wide} {counter} to {scalar_type(dtype)}", dtype)
            emission.scalars[block.arguments[0]] = number
        _take_all(emission, arguments)
        emission.loops.append(EnclosingLoop(loop, arguments, results))
        emission.statements(statement.body)
        emission.loops.pop()

    def again() -> str:
        forget(emission, statement.body)
        if counted:
            loop.becomes(counter, builder.emit(f"add {wide} {counter}, {step}"))
        # A tile block that would not end can still be stopped.
        builder.branch(is_stopped(emission), lambda: leave_worker(emission, 2))
        return ""

    loop.write(body, again)
    forget(emission, statement.body)
    _take_all(emission, results)
    for result, found in zip(operation.results, results, strict=True):
        if is_scalar(result):
            emission.scalars[result] = emission.scalars[found]


def _counter(emission: Emission, operation: Operation, loop: Loop, first: Register | None) -> tuple[str, str, str, str]:
    """Of a `for`: a type so wide that adding the step never wraps, the counter, its upper bound and its step."""
    bounds = [emission.scalars[value] for value in operation.operands[:3]]
    if first is not None:
        bounds[0] = first
    unsigned = operation.unsigned_cmp
    _check_step(emission, operation, bounds[2], unsigned)
    if emission.sanitize:
        from tileir.execute.cpu.emission import inspecting_values

        inspecting_values.inspect_scalars(emission, operation, bounds)
    width = 1 if bounds[0].dtype == BOOL else 8 * bounds[0].dtype.itemsize
    wide = "i64" if width <= 32 else "i128"
    extension = "zext" if unsigned else "sext"
    lower, upper, step = (emission.builder.emit(f"{extension} {bound.typed} to {wide}") for bound in bounds)
    return wide, loop.carry(wide, lower), upper, step


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
        zero = "false" if step.dtype == BOOL else "0"
        condition = emission.builder.emit(f"icmp {'ne' if unsigned else 'sgt'} {step.typed}, {zero}")
    wide = casting.cast(emission.builder, step, INT64).name
    if step.dtype == BOOL and not unsigned:
        wide = str(emission.builder.subtract(0, wide))
    require(emission, condition, Check("step", operation), 0, wide)


def emit_terminator(emission: Emission, statement: Terminator) -> None:
    operation = statement.operation
    declaration, values = operation.declaration, operation.operands
    if declaration is RETURN:
        emission.builder.jump(emission.block_end)
    elif declaration is YIELD:
        parent = operation.parent_operation
        if parent is not None and parent.declaration is IF:
            _put_all(emission, values, list(parent.results))
        else:
            emission.yielded = [emission.scalars[value] for value in values]
    else:
        around = emission.loops[-1]
        continues = declaration is CONTINUE
        _put_all(emission, values, around.arguments if continues else around.results)
        emission.builder.jump(around.loop.again if continues else around.loop.end)


def _put_all(emission: Emission, values: list[Value], places: list[Value]) -> None:
    for value, place in zip(values, places, strict=True):
        if is_scalar(place):
            emission.put(place, emission.scalars[value])


def _take_all(emission: Emission, values: list[Value]) -> None:
    for value in values:
        if is_scalar(value):
            emission.take(value)
