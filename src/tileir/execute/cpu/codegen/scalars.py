"""Emission of operations on scalars and views, and of structured control flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import DYNAMIC, TensorViewType, TileType, TileViewType
from tileir.execute.analysis.values import dtype_of, is_scalar
from tileir.execute.cpu.codegen import bounds
from tileir.execute.cpu.codegen.context import FAR, Emission, EnclosingLoop, TensorView, TileView
from tileir.execute.cpu.codegen.exits import forget_allocas, is_stopped, leave_worker, require
from tileir.execute.cpu.ir.checks import Check
from tileir.execute.cpu.ir.statements import Alias, Branch, LoopStatement, ScalarOp, Terminator
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.vector import casting, instructions
from tileir.execute.cpu.vector.builder import Loop, Number, signed
from tileir.execute.cpu.vector.casting import BOOL, INT32, INT64, UINT64
from tileir.execute.cpu.vector.llvm import Register, literal, scalar_type, wrapped
from tileir.execute.dtypes import constant_elements
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.values import Value


def emit_scalar_op(emission: Emission, statement: ScalarOp) -> None:
    operation = statement.operation
    special = _SPECIAL.get(operation.declaration)
    if special is not None:
        special(emission, operation)
        return
    operands = [emission.scalars[value] for value in operation.operands]
    _inspect(emission, operation, operands)
    emission.scalars[operation.results[0]] = instructions.emit_operation(emission.builder, operation, operands)


def emit_alias(emission: Emission, statement: Alias) -> None:
    if statement.source in emission.views:
        emission.views[statement.value] = emission.views[statement.source]
    else:
        emission.scalars[statement.value] = emission.scalars[statement.source]


def _inspect(emission: Emission, operation: Operation, operands: list[Register]) -> None:
    if emission.sanitize:
        # Imported only under the sanitizer.
        from tileir.execute.cpu.sanitizer.emitted_checks import inspect_scalars

        inspect_scalars(emission, operation, operands)


def _constant(emission: Emission, operation: Operation) -> None:
    result = operation.results[0]
    number = 0 if operation.declaration is ops.IOTA else constant_elements(operation.value_attribute)[0]
    emission.scalars[result] = literal(number, dtype_of(result))


def _assume(emission: Emission, operation: Operation) -> None:
    emission.views[operation.results[0]] = emission.views[operation.operands[0]]


def _block_id(emission: Emission, operation: Operation) -> None:
    for result, name in zip(operation.results, emission.block_id, strict=True):
        emission.scalars[result] = Register(name, INT32)


def _grid(emission: Emission, operation: Operation) -> None:
    for axis, result in enumerate(operation.results):
        extent = emission.frame.record_slot(slots.GRID + axis)
        emission.scalars[result] = emission.builder.value(f"trunc i64 {extent} to i32", INT32)


def _global(emission: Emission, operation: Operation) -> None:
    (name,) = cast(SymbolAttribute, operation.attributes["name"]).path
    # Addresses of globals differ from process to process: they come behind the arguments.
    address = emission.frame.record_slot(emission.layout.slots[name])
    emission.scalars[operation.results[0]] = Register(address, UINT64)


def _tensor_view(emission: Emission, operation: Operation) -> None:
    type = cast(TensorViewType, operation.results[0].type)

    def numbers(dynamic: Sequence[Value], static: tuple[int, ...]) -> list[Number]:
        values = iter(dynamic)
        return [emission.whole(next(values), signed=False) if number == DYNAMIC else number for number in static]

    sizes = numbers(operation.dynamic_shape, type.shape)
    extents = [emission.builder.smaller(size, FAR) for size in sizes]
    strides = [signed(number) for number in numbers(operation.dynamic_strides, type.strides)]
    view = TensorView(emission.scalars[operation.operands[0]].name, type.element, sizes, extents, strides)
    emission.views[operation.results[0]] = view
    if not emission.sanitize:
        bounds.check_tensor(emission, operation, view)


def _tile_view(emission: Emission, operation: Operation) -> None:
    tensor = emission.views[operation.operands[0]]
    assert isinstance(tensor, TensorView)
    emission.views[operation.results[0]] = TileView(tensor, cast(TileViewType, operation.results[0].type))


def _shape(emission: Emission, operation: Operation) -> None:
    builder = emission.builder
    view = emission.views[operation.operands[0]]
    steps = [1] * len(view.sizes) if isinstance(view, TensorView) else view.steps
    for size, step, result in zip(view.sizes, steps, operation.results, strict=True):
        number: Number = size
        if isinstance(size, int):
            number = -(-size // step)
        elif isinstance(view, TileView):
            whole = builder.emit(f"udiv i64 {size}, {step}")
            rest = builder.emit(f"urem i64 {size}, {step}")
            more = builder.emit(f"icmp ne i64 {rest}, 0")
            number = builder.emit(f"add i64 {whole}, {builder.emit(f'zext i1 {more} to i64')}")
        dtype = dtype_of(result)
        if isinstance(number, int):
            emission.scalars[result] = literal(wrapped(number, 1 if dtype == BOOL else 8 * dtype.itemsize), dtype)
        elif dtype.itemsize == 8:
            emission.scalars[result] = Register(number, dtype)
        else:
            emission.scalars[result] = builder.value(f"trunc i64 {number} to {scalar_type(dtype)}", dtype)


def _window(emission: Emission, operation: Operation) -> None:
    """The indices of `extract` and `insert` must name a sub-tile that exists."""
    extracting = operation.declaration is ops.EXTRACT
    whole, part = operation.operands[0], operation.results[0]
    if not extracting:
        whole, part = part, whole
    for axis, index in enumerate(operation.operands[1 if extracting else 2 :]):
        count = cast(TileType, whole.type).shape[axis] // cast(TileType, part.type).shape[axis]
        number = emission.whole(index)
        if isinstance(number, int) and 0 <= number < count:
            continue
        inside = emission.builder.emit(f"icmp ult i64 {number}, {count}")
        require(emission, inside, Check("window", operation, (axis, count)), axis, number)


def _repack(emission: Emission, operation: Operation) -> None:
    source = emission.scalars[operation.operands[0]]
    result = operation.results[0]
    bits = Register(casting.to_bits(emission.builder, source), numpy.dtype(f"u{source.dtype.itemsize}"))
    emission.scalars[result] = casting.reinterpret(emission.builder, bits, dtype_of(result))


_SPECIAL: Final[dict[OperationDeclaration, Callable[[Emission, Operation], None]]] = {
    ops.ASSUME: _assume,
    ops.GET_GLOBAL: _global,
    ops.GET_NUM_TILE_BLOCKS: _grid,
    ops.GET_TILE_BLOCK_ID: _block_id,
    ops.MAKE_TENSOR_VIEW: _tensor_view,
    **dict.fromkeys((ops.CONSTANT, ops.IOTA), _constant),
    **dict.fromkeys((ops.EXTRACT, ops.INSERT), _window),
    **dict.fromkeys((ops.GET_INDEX_SPACE_SHAPE, ops.GET_TENSOR_SHAPE), _shape),
    **dict.fromkeys((ops.MAKE_GATHER_SCATTER_VIEW, ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW), _tile_view),
    **dict.fromkeys((ops.PACK, ops.UNPACK), _repack),
}


def emit_branch(emission: Emission, statement: Branch) -> None:
    operation = statement.operation
    condition = emission.scalars[operation.operands[0]]
    then, otherwise = (*statement.bodies, [], [])[:2]
    emission.builder.branch(condition.name, lambda: emission.statements(then), lambda: emission.statements(otherwise))
    _take_all(emission, operation.results)


def emit_loop(emission: Emission, statement: LoopStatement) -> None:
    builder = emission.builder
    operation = statement.operation
    block = operation.regions[0].blocks[0]
    counted = operation.declaration is ops.FOR
    arguments: list[Value] = list(block.arguments[1:] if counted else block.arguments)
    # What a `for` carries is its result; the result of a `loop` is the operand of its `break`.
    results: list[Value] = arguments if counted else list(operation.results)
    _put_all(emission, operation.operands[3:] if counted else operation.operands, arguments)
    loop = Loop(builder)
    wide, counter, upper, step = _counter(emission, operation, loop) if counted else ("", "", "", "")

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
        forget_allocas(emission, statement.body)
        if counted:
            loop.becomes(counter, builder.emit(f"add {wide} {counter}, {step}"))
        # A tile block that would not end can still be stopped.
        builder.branch(is_stopped(emission), lambda: leave_worker(emission, 2))
        return ""

    loop.write(body, again)
    forget_allocas(emission, statement.body)
    _take_all(emission, results)
    for result, found in zip(operation.results, results, strict=True):
        if is_scalar(result):
            emission.scalars[result] = emission.scalars[found]


def _counter(emission: Emission, operation: Operation, loop: Loop) -> tuple[str, str, str, str]:
    """Of a `for`: a type so wide that adding the step never wraps, the counter, its upper bound and its step."""
    bounds = [emission.scalars[value] for value in operation.operands[:3]]
    unsigned = operation.unsigned_cmp
    _check_step(emission, operation, bounds[2], unsigned)
    _inspect(emission, operation, bounds)
    wide = "i64" if bounds[0].dtype.itemsize <= 4 else "i128"
    extension = "zext" if unsigned else "sext"
    lower, upper, step = (emission.builder.emit(f"{extension} {bound.typed} to {wide}") for bound in bounds)
    return wide, loop.carry(wide, lower), upper, step


def _check_step(emission: Emission, operation: Operation, step: Register, unsigned: bool) -> None:
    is_bool = step.dtype == BOOL
    if not step.name.startswith("%"):
        number = int(step.name == "true") * (1 if unsigned else -1) if is_bool else int(step.name)
        if number > 0 or (unsigned and number != 0):
            return
        condition = "false"
    else:
        zero = "false" if is_bool else "0"
        condition = emission.builder.emit(f"icmp {'ne' if unsigned else 'sgt'} {step.typed}, {zero}")
    wide = casting.cast(emission.builder, step, INT64).name
    if is_bool and not unsigned:
        wide = str(emission.builder.subtract(0, wide))
    require(emission, condition, Check("step", operation), 0, wide)


def emit_terminator(emission: Emission, statement: Terminator) -> None:
    operation = statement.operation
    declaration, values = operation.declaration, operation.operands
    if declaration is ops.RETURN:
        emission.builder.jump(emission.block_end)
    elif declaration is ops.YIELD:
        parent = operation.parent_operation
        if parent is not None and parent.declaration is ops.IF:
            _put_all(emission, values, parent.results)
        else:
            emission.yielded = [emission.scalars[value] for value in values]
    else:
        around = emission.loops[-1]
        continues = declaration is ops.CONTINUE
        _put_all(emission, values, around.arguments if continues else around.results)
        emission.builder.jump(around.loop.again if continues else around.loop.end)


def _put_all(emission: Emission, values: Sequence[Value], targets: Sequence[Value]) -> None:
    for value, target in zip(values, targets, strict=True):
        if is_scalar(target):
            emission.put(target, emission.scalars[value])


def _take_all(emission: Emission, values: Sequence[Value]) -> None:
    for value in values:
        if is_scalar(value):
            emission.take(value)
