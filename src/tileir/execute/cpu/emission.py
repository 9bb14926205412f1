"""From the loop form to LLVM IR: the worker, its statements and its control flow.

Scalars are registers; those that a region leaves go through slots on the stack, which LLVM turns into registers again.
Buffers are places in the arena.  Loads and stores of the arena and of the caller's memory are told apart by alias
scopes, so that LLVM may move one past the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, cast

import numpy

from tileir.dialect.types import DYNAMIC, PointerType, TensorViewType, TileType, TileViewType
from tileir.execute.cpu import accesses, atomics, casting, instructions, mma, products, reductions
from tileir.execute.cpu import record as slots
from tileir.execute.cpu.accesses import Box, TensorView, TileView
from tileir.execute.cpu.checks import Check
from tileir.execute.cpu.llvm import Builder, Module, Register, literal, scalar_type, storage_type
from tileir.execute.cpu.loops import (
    Branch,
    Buffer,
    CheckAll,
    Expression,
    Gathered,
    Keep,
    Leave,
    Let,
    Multiply,
    Nest,
    Pick,
    Print,
    Program,
    Reduce,
    Repack,
    Repeat,
    Reserve,
    Same,
    Shape,
    Sink,
    Statement,
    Stored,
    StorePointers,
    StoreView,
    Update,
    Viewed,
    nodes,
    statements,
)
from tileir.execute.cpu.nests import BOOL, INT32, INT64, NestEmission, Number, lanes_for
from tileir.execute.cpu.target import Target
from tileir.execute.dtypes import DType, constant_array, memory_bytes, value_dtype
from tileir.execute.errors import LaunchError
from tileir.ir.attributes import DenseAttribute, IntegerAttribute, SymbolAttribute
from tileir.ir.core import Operation, Value
from tileir.ir.types import I1, IntegerType

_UINT8: Final = numpy.dtype(numpy.uint8)
_UINT64: Final = numpy.dtype(numpy.uint64)


def dtype_of(value: Value) -> DType:
    return value_dtype(cast(TileType, value.type).element)


class LoopLabels:
    """Where `continue` and `break` go, and where they leave scalars."""

    __slots__ = ("arguments", "again", "end", "results")

    def __init__(self, again: str, end: str, arguments: list[Value], results: list[Value]) -> None:
        self.again: str = again
        self.end: str = end
        self.arguments: list[Value] = arguments
        self.results: list[Value] = results


class Emission:
    """Emits one kernel."""

    def __init__(self, program: Program, target: Target, globals: dict[str, int], sanitize: bool = False) -> None:
        self.program: Program = program
        self.target: Target = target
        self.globals: dict[str, int] = globals
        self.sanitize: bool = sanitize
        self.module: Module = Module()
        self.module.native_half = target.has_f16c
        self.module.native_fma = target.has_fma
        self.builder: Builder = Builder(self.module)
        self.scalars: dict[Value, Register] = {}
        self.views: dict[Value, TensorView | TileView] = {}
        self.checks: list[Check] = []
        self.prints: list[Operation] = []
        self.arena_suffix: str = ", !alias.scope !2"
        self.memory_suffix: str = ", !noalias !2"
        self._entry: list[str] = []
        self._uses_amx: bool = any(
            isinstance(statement, Multiply) and statement.plan.kind == "amx" for statement in statements(program.body)
        )
        self._slots: dict[Value, str] = {}
        self._buffers: dict[Buffer, str] = {}
        self._boxes: dict[Operation, Box] = {}
        self._loops: list[LoopLabels] = []
        self._ends: list[tuple[str, list[Value]]] = []
        # The values that the body of a reduction yields, while one is being emitted.
        self.yielded: list[Register] | None = None
        self.block_number: str = "%number"
        self.block_id: list[str] = []

    # --- the worker ---

    def run(self) -> str:
        builder = self.builder
        entry = self.program.entry
        if self._uses_amx:
            mma.configure(builder)
        builder.do("br label %take")
        builder.label("take")
        chunk = self._record(slots.CHUNK)
        count = self._record(slots.COUNT)
        first = builder.emit(f"atomicrmw add ptr %record, i64 {chunk} monotonic")
        builder.do(f"br i1 {builder.emit(f'icmp ult i64 {first}, {count}')}, label %chunk, label %finish")
        builder.label("chunk")
        end = builder.emit(f"add i64 {first}, {chunk}")
        end = builder.call("i64", "llvm.umin.i64", [f"i64 {end}", f"i64 {count}"])
        builder.do("br label %block")
        builder.label("block")
        builder.lines.append(f"  %number = phi i64 [ {first}, %chunk ], [ %number.next, %block.end ]")
        self._block_ids()
        self._parameters(entry)
        self.statements(self.program.body)
        builder.do("br label %block.end")
        builder.label("block.end")
        builder.lines.append("  %number.next = add nuw nsw i64 %number, 1")
        stop = builder.emit(f"load atomic i64, ptr {self._slot_pointer(slots.STOP)} monotonic, align 8")
        more = builder.emit(f"icmp ult i64 %number.next, {end}")
        going = builder.emit(f"icmp eq i64 {stop}, 0")
        both = builder.emit(f"and i1 {more}, {going}")
        builder.do(f"br i1 {both}, label %block, label %block.last")
        builder.label("block.last")
        builder.do(f"br i1 {going}, label %take, label %finish")
        builder.label("finish")
        self.leave_worker(0)
        lines = [
            "define i64 @worker(ptr noalias noundef %record, ptr noalias noundef align 64 %arena) nounwind {",
            "entry:",
            *self._entry,
            *builder.lines,
            "}",
            "!0 = distinct !{!0}",
            "!1 = distinct !{!1, !0}",
            "!2 = !{!1}",
        ]
        self.module.functions.append("\n".join(lines))
        return self.module.text()

    def leave_worker(self, code: int) -> None:
        """Return: 0 for nothing left to do, 1 after a failure, 2 when stopped."""
        if self._uses_amx:
            mma.release(self.builder)
        self.builder.do(f"ret i64 {code}")

    def _slot_pointer(self, slot: int) -> str:
        name = f"%slot{slot}"
        line = f"  {name} = getelementptr i64, ptr %record, i64 {slot}"
        if line not in self._entry:
            self._entry.append(line)
        return name

    def _record(self, slot: int) -> str:
        """A slot that does not change during the launch, read at the beginning."""
        name = f"%record{slot}"
        pointer = self._slot_pointer(slot)
        line = f"  {name} = load i64, ptr {pointer}, align 8"
        if line not in self._entry:
            self._entry.append(line)
        return name

    def _block_ids(self) -> None:
        builder = self.builder
        width, height = self._record(slots.GRID), self._record(slots.GRID + 1)
        x = builder.emit(f"urem i64 %number, {width}")
        rest = builder.emit(f"udiv i64 %number, {width}")
        y = builder.emit(f"urem i64 {rest}, {height}")
        z = builder.emit(f"udiv i64 {rest}, {height}")
        self.block_id = [builder.emit(f"trunc i64 {name} to i32") for name in (x, y, z)]

    def _parameters(self, entry: Operation) -> None:
        lines = self.builder.lines
        self.builder.lines = self._entry
        for number, argument in enumerate(entry.regions[0].blocks[0].arguments):
            pointer = self._slot_pointer(slots.ARGUMENTS + number)
            dtype = dtype_of(argument)
            loaded = self.builder.emit(f"load {storage_type(dtype)}, ptr {pointer}, align 8")
            if dtype == BOOL:
                loaded = self.builder.emit(f"trunc i8 {loaded} to i1")
            self.scalars[argument] = Register(loaded, dtype)
        self.builder.lines = lines

    # --- small arithmetic, folded where it can be ---

    def add(self, left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0 or right == 0:
            return right if left == 0 else left
        return self.builder.emit(f"add i64 {left}, {right}")

    def subtract(self, left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        return left if right == 0 else self.builder.emit(f"sub i64 {left}, {right}")

    def multiply(self, left: Number, right: Number) -> Number:
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if left == 0 or right == 0:
            return 0
        if left == 1 or right == 1:
            return right if left == 1 else left
        return self.builder.emit(f"mul i64 {left}, {right}")

    def register(self, number: Number) -> Register:
        return Register(str(number), INT64)

    def whole(self, value: Value, signed: bool = True) -> Number:
        """A scalar integer as an i64."""
        register = self.scalars[value]
        if not register.name.startswith("%"):
            if register.dtype == BOOL:
                number = 1 if register.name == "true" else 0
                return -number if signed else number
            number = int(register.name)
            width = 8 * register.dtype.itemsize
            number &= (1 << width) - 1
            if not signed:
                return number if number < 1 << 62 else 1 << 62
            return number - (1 << width) if number >> (width - 1) else number
        if register.dtype.itemsize == 8:
            return register.name
        extension = "sext" if signed else "zext"
        return self.builder.emit(f"{extension} {register.typed} to i64")

    def shifted(self, pointer: str, offset: Number) -> str:
        """A pointer moved by bytes."""
        return pointer if offset == 0 else self.builder.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def pointer(self, address: str) -> str:
        """An address as a pointer; a pointer stays."""
        return self.builder.emit(f"inttoptr i64 {address} to ptr")

    def address(self, pointer: str) -> Number:
        return self.builder.emit(f"ptrtoint ptr {pointer} to i64")

    def converted(self, register: Register, dtype: DType) -> Register:
        """A value as another dtype: integers keep their number, floats are exact or rounded to nearest even."""
        return register if register.dtype == dtype else casting.cast(self.builder, register, dtype)

    def to_bits(self, register: Register) -> str:
        """A scalar as it lies in memory, an integer."""
        if register.dtype == BOOL:
            return self.builder.emit(f"zext i1 {register.name} to i8")
        kind = scalar_type(register.dtype)
        if kind.startswith("i"):
            return register.name
        return self.builder.emit(f"bitcast {register.typed} to i{8 * register.dtype.itemsize}")

    def from_bits(self, name: str, dtype: DType) -> Register:
        kind = storage_type(dtype)
        if kind.startswith("i"):
            return Register(name, dtype)
        return self.builder.value(f"bitcast i{8 * dtype.itemsize} {name} to {kind}", dtype)

    def conditional(self, mask: Register | None, result: str, emit: Callable[[], str]) -> str:
        """What `emit` makes where a scalar condition holds, else zero; `result` is its type, empty for none."""
        if mask is None:
            return emit()
        builder = self.builder
        name = builder.fresh("if")
        builder.do(f"br label %{name}.test")
        builder.label(f"{name}.test")
        builder.do(f"br i1 {mask.name}, label %{name}.yes, label %{name}.end")
        builder.label(f"{name}.yes")
        found = emit()
        builder.do(f"br label %{name}.yes.end")
        builder.label(f"{name}.yes.end")
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.end")
        if not result:
            return ""
        return builder.emit(f"phi {result} [ {found}, %{name}.yes.end ], [ 0, %{name}.test ]")

    # --- places ---

    def reserve(self, type: str, count: int = 1, align: int = 64) -> str:
        """Room on the stack, one for the whole worker."""
        name = f"%{self.builder.fresh('room')}"
        self._entry.append(f"  {name} = alloca {type}, i64 {count}, align {align}")
        return name

    def slot(self, value: Value) -> str:
        """The slot of a scalar that a region leaves."""
        found = self._slots.get(value)
        if found is None:
            found = self._slots[value] = self.reserve(storage_type(dtype_of(value)), 1, 8)
        return found

    def put(self, value: Value, register: Register) -> None:
        """Leave a scalar in its slot."""
        self.builder.do(f"store {self._stored_form(register).typed}, ptr {self.slot(value)}, align 8")

    def take(self, value: Value) -> None:
        """Get a scalar from its slot."""
        dtype = dtype_of(value)
        loaded = self.builder.emit(f"load {storage_type(dtype)}, ptr {self.slot(value)}, align 8")
        if dtype == BOOL:
            loaded = self.builder.emit(f"trunc i8 {loaded} to i1")
        self.scalars[value] = Register(loaded, dtype)

    def _stored_form(self, register: Register) -> Register:
        if register.dtype != BOOL:
            return register
        return self.builder.value(f"zext i1 {register.name} to i8", _UINT8)

    def buffer(self, buffer: Buffer) -> str:
        """The pointer of a buffer, computed at the beginning."""
        found = self._buffers.get(buffer)
        if found is None:
            found = self._buffers[buffer] = f"%{self.builder.fresh(buffer.name + '.')}"
            self._entry.append(f"  {found} = getelementptr i8, ptr %arena, i64 {buffer.offset}")
        return found

    def box(self, nest: NestEmission, operation: Operation) -> Box:
        return self._boxes[operation]

    def launch_number(self) -> str:
        """The number of the launch, which differs from one to the next."""
        line = f"  %launch = load i64, ptr %arena, align 8{self.arena_suffix}"
        if line not in self._entry:
            self._entry.append(line)
        return "%launch"

    # --- failures ---

    def fail(self, check: Check, element: Number = 0, detail: Number = 0) -> None:
        """Record a failure, unless there is one already, and end the worker.  Ends the basic block."""
        builder = self.builder
        self.checks.append(check)
        failed = self._slot_pointer(slots.FAILED)
        pair = builder.emit(f"cmpxchg ptr {failed}, i64 0, i64 {len(self.checks)} acq_rel monotonic")
        first = builder.emit(f"extractvalue {{ i64, i1 }} {pair}, 1")
        name = builder.fresh("fail")
        builder.do(f"br i1 {first}, label %{name}.note, label %{name}.end")
        builder.label(f"{name}.note")
        for place, number in enumerate((self.block_number, element, detail)):
            pointer = self._slot_pointer(slots.FAILURE + place)
            builder.do(f"store i64 {number}, ptr {pointer}, align 8")
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.end")
        builder.do(f"store atomic i64 1, ptr {self._slot_pointer(slots.STOP)} release, align 8")
        self.leave_worker(1)

    def require(self, condition: str, check: Check, element: Number = 0, detail: Number = 0) -> None:
        """Fail unless a condition holds."""
        builder = self.builder
        name = builder.fresh("need")
        builder.do(f"br i1 {condition}, label %{name}.met, label %{name}.not, !prof !{self._likely()}")
        builder.label(f"{name}.not")
        self.fail(check, element, detail)
        builder.label(f"{name}.met")

    def _likely(self) -> int:
        self.module.likely = True
        return 3

    def loop(self, start: int, extent: int, step: int, body: Callable[[Number], None]) -> None:
        """A loop emitted where the builder stands; one that turns once is none."""
        if start + step >= extent:
            if start < extent:
                body(start)
            return
        builder = self.builder
        name = builder.fresh("l")
        builder.do(f"br label %{name}.before")
        builder.label(f"{name}.before")
        builder.do(f"br label %{name}.head")
        builder.label(f"{name}.head")
        builder.lines.append(f"  %{name} = phi i64 [ {start}, %{name}.before ], [ %{name}.next, %{name}.latch ]")
        body(f"%{name}")
        builder.do(f"br label %{name}.latch")
        builder.label(f"{name}.latch")
        builder.lines.append(f"  %{name}.next = add nuw nsw i64 %{name}, {step}")
        more = builder.emit(f"icmp ult i64 %{name}.next, {extent}")
        builder.do(f"br i1 {more}, label %{name}.head, label %{name}.end")
        builder.label(f"{name}.end")

    @contextmanager
    def new_region(self) -> Iterator[None]:
        """The body of a reduction: what it yields is left in `yielded`."""
        ends, self._ends = self._ends, []
        try:
            yield
        finally:
            self._ends = ends

    # --- statements ---

    def statements(self, body: list[Statement]) -> None:
        for statement in body:
            _EMITTERS[type(statement)](self, statement)

    def is_ordered(self, operation: Operation) -> bool:
        from tileir.execute.cpu.lowering import ordering_of

        return ordering_of(operation) != "weak"

    def versions(self, roots: list[Expression], sinks: list[Sink], emit: Callable[[bool], None]) -> None:
        """Emit code once for tiles within their tensors and once with masks, where there are views."""
        operations: dict[Operation, None] = {}
        for node in nodes(roots):
            if isinstance(node, Viewed):
                operations[node.operation] = None
        for sink in sinks:
            if isinstance(sink, StoreView):
                operations[sink.operation] = None
            if isinstance(sink, Update) and sink.pointers is None:
                operations[sink.operation] = None
        answers = []
        for operation in operations:
            box = self._boxes[operation] = accesses.open_box(self, operation)
            answers.append(accesses.is_inside(self, box))
        self.two_versions(answers, emit)

    def two_versions(self, answers: list[str], emit: Callable[[bool], None]) -> None:
        answers = [answer for answer in answers if answer != "true"]
        if not answers or "false" in answers:
            emit(bool(answers))
            return
        builder = self.builder
        inside = answers[0]
        for answer in answers[1:]:
            inside = builder.emit(f"and i1 {inside}, {answer}")
        name = builder.fresh("tile")
        builder.do(f"br i1 {inside}, label %{name}.inside, label %{name}.edge")
        builder.label(f"{name}.inside")
        emit(False)
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.edge")
        emit(True)
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.end")

    def lanes(self, roots: list[Expression], sinks: list[Sink]) -> int:
        """The lanes of a nest; none where elements go one by one."""
        ordered = [node.operation for node in nodes(roots) if isinstance(node, Gathered)]
        ordered += [sink.operation for sink in sinks if isinstance(sink, StorePointers)]
        if any(self.is_ordered(operation) for operation in ordered):
            return 0
        if any(isinstance(sink, Update) for sink in sinks):
            return 0
        dtypes = [node.dtype for node in nodes(roots) if isinstance(node, (Viewed, Gathered, Stored))]
        dtypes += [sink.expression.dtype for sink in sinks]
        return lanes_for(self.target.vector_bytes, dtypes)


# --- nests ---


def emit_nest(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Nest)
    roots = statement.roots
    lanes = emission.lanes(roots, statement.sinks)
    picks = [sink for sink in statement.sinks if isinstance(sink, Pick)]
    updates = [sink for sink in statement.sinks if isinstance(sink, Update)]

    def emit(masked: bool) -> None:
        nest = NestEmission(emission, statement.shape, lanes, masked)
        # Everything is computed before anything is written.
        for root in roots:
            if not any(isinstance(sink, StoreView) and sink.positions is root for sink in statement.sinks):
                if not any(isinstance(sink, Update) and root in sink.others for sink in statement.sinks):
                    nest.value(root)
        for sink in statement.sinks:
            emit_sink(emission, nest, sink)
        nest.close()

    emission.versions(roots, statement.sinks, emit)
    for pick in picks:
        emission.take(pick.value)
    for update in updates:
        result = update.operation.results[0]
        if update.pointers is not None and isinstance(result.type, TileType) and result.type.count == 1:
            emission.take(result)


def emit_sink(emission: Emission, nest: NestEmission, sink: Sink) -> None:
    if isinstance(sink, Keep):
        window = sink.window
        if window is None:
            nest.keep(sink.expression, sink.buffer, None, sink.expression.shape)
            return
        origin: list[Number] = []
        with nest.at_level(0):
            for place, part in zip(window.origins, window.part, strict=True):
                if isinstance(place, int):
                    origin.append(place)
                else:
                    origin.append(emission.multiply(emission.whole(place), part))
        nest.keep(sink.expression, sink.buffer, origin, window.whole)
    elif isinstance(sink, StoreView):
        accesses.store_view(nest, sink)
    elif isinstance(sink, StorePointers):
        accesses.store_pointers(nest, sink)
    elif isinstance(sink, Pick):
        register = nest.value(sink.expression)
        with nest.at_level(nest.depth):
            emission.put(sink.value, emission.converted(register, dtype_of(sink.value)))
    elif isinstance(sink, CheckAll):
        _emit_check(emission, nest, sink)
    else:
        assert isinstance(sink, Update)
        atomics.emit_update(emission, nest, sink)


def _emit_check(emission: Emission, nest: NestEmission, sink: CheckAll) -> None:
    register = nest.value(sink.expression)
    builder = emission.builder
    terms = [
        (axis, stride) for axis, stride in zip(nest.index, _strides(nest.shape), strict=True)
    ]
    place, _ = nest.sum_of(0, terms)
    with nest.at_level(nest.depth):
        check = Check("assert", sink.operation)
        if not register.width:
            emission.require(register.name, check, place)
            return
        bits = builder.emit(f"bitcast {register.typed} to i{register.width}")
        wrong = builder.emit(f"xor i{register.width} {bits}, -1")
        good = builder.emit(f"icmp eq i{register.width} {wrong}, 0")
        first = builder.call(f"i{register.width}", f"llvm.cttz.i{register.width}", [f"i{register.width} {wrong}", "i1 false"])
        wide = builder.emit(f"zext i{register.width} {first} to i64") if register.width < 64 else first
        emission.require(good, check, emission.add(place, wide))


def _strides(shape: Shape) -> tuple[int, ...]:
    from tileir.execute.cpu.loops import row_major

    return row_major(shape)


# --- scalars ---


def emit_let(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Let)
    operation = statement.operation
    mnemonic = operation.declaration.mnemonic
    special = _LETS.get(mnemonic)
    if special is not None:
        special(emission, operation)
        return
    operands = [emission.scalars[value] for value in operation.operands]
    emission.scalars[operation.results[0]] = instructions.emit_operation(emission.builder, operation, operands)


def _let_constant(emission: Emission, operation: Operation) -> None:
    result = operation.results[0]
    array = constant_array(cast(DenseAttribute, operation.attributes["value"]))
    emission.scalars[result] = literal(array.reshape(-1)[0], dtype_of(result))


def _let_iota(emission: Emission, operation: Operation) -> None:
    result = operation.results[0]
    emission.scalars[result] = literal(0, dtype_of(result))


def _let_assume(emission: Emission, operation: Operation) -> None:
    emission.views[operation.results[0]] = emission.views[operation.operands[0]]


def _let_block_id(emission: Emission, operation: Operation) -> None:
    for result, name in zip(operation.results, emission.block_id, strict=True):
        emission.scalars[result] = Register(name, INT32)


def _let_grid(emission: Emission, operation: Operation) -> None:
    for axis, result in enumerate(operation.results):
        extent = emission._record(slots.GRID + axis)
        emission.scalars[result] = emission.builder.value(f"trunc i64 {extent} to i32", INT32)


def _let_global(emission: Emission, operation: Operation) -> None:
    (name,) = cast(SymbolAttribute, operation.attributes["name"]).path
    number = list(emission.globals).index(name)
    count = len(emission.program.entry.regions[0].blocks[0].arguments)
    # Addresses of globals differ from process to process: they come behind the arguments.
    address = emission._record(slots.ARGUMENTS + count + number)
    emission.scalars[operation.results[0]] = Register(address, _UINT64)


def _numbers(emission: Emission, operation: Operation, name: str, static: tuple[int, ...]) -> list[Number]:
    values = iter(operation.operand_group(name))
    return [emission.whole(next(values), signed=False) if number == DYNAMIC else number for number in static]


def _let_tensor_view(emission: Emission, operation: Operation) -> None:
    type = cast(TensorViewType, operation.results[0].type)
    base = emission.scalars[operation.operands[0]]
    extents = _numbers(emission, operation, "dynamicShape", type.shape)
    strides = _numbers(emission, operation, "dynamicStrides", type.strides)
    emission.views[operation.results[0]] = TensorView(base.name, type.element, extents, strides)


def _let_tile_view(emission: Emission, operation: Operation) -> None:
    tensor = emission.views[operation.operands[0]]
    assert isinstance(tensor, TensorView)
    emission.views[operation.results[0]] = TileView(tensor, cast(TileViewType, operation.results[0].type))


def _let_shape(emission: Emission, operation: Operation) -> None:
    view = emission.views[operation.operands[0]]
    numbers: list[Number] = []
    if isinstance(view, TensorView):
        numbers = list(view.extents)
    else:
        for extent, step in zip(view.extents, view.steps, strict=True):
            if isinstance(extent, int):
                numbers.append(-(-extent // step))
            else:
                more = emission.builder.emit(f"add i64 {extent}, {step - 1}")
                numbers.append(emission.builder.emit(f"udiv i64 {more}, {step}"))
    for number, result in zip(numbers, operation.results, strict=True):
        dtype = dtype_of(result)
        if isinstance(number, int):
            width = 8 * dtype.itemsize
            number &= (1 << width) - 1
            signed = number - (1 << width) if number >> (width - 1) else number
            emission.scalars[result] = literal(signed, dtype)
        elif dtype.itemsize == 8:
            emission.scalars[result] = Register(number, dtype)
        else:
            emission.scalars[result] = emission.builder.value(f"trunc i64 {number} to {scalar_type(dtype)}", dtype)


def _let_window(emission: Emission, operation: Operation) -> None:
    """The indices of `extract` and `insert` must name a sub-tile that is there."""
    extracting = operation.declaration.mnemonic == "extract"
    whole = cast(TileType, (operation.operands[0] if extracting else operation.results[0]).type).shape
    part = cast(TileType, (operation.results[0] if extracting else operation.operands[0]).type).shape
    for axis, index in enumerate(operation.operands[1 if extracting else 2 :]):
        count = whole[axis] // part[axis]
        number = emission.whole(index)
        if isinstance(number, int) and 0 <= number < count:
            continue
        inside = emission.builder.emit(f"icmp ult i64 {number}, {count}")
        emission.require(inside, Check("window", operation, (axis, count)), axis, number)


def _let_repack(emission: Emission, operation: Operation) -> None:
    source = emission.scalars[operation.operands[0]]
    result = operation.results[0]
    bits = Register(emission.to_bits(source), numpy.dtype(f"u{source.dtype.itemsize}"))
    emission.scalars[result] = casting.reinterpret(emission.builder, bits, dtype_of(result))


_LETS: Final[dict[str, Callable[[Emission, Operation], None]]] = {
    "assume": _let_assume,
    "constant": _let_constant,
    "extract": _let_window,
    "get_global": _let_global,
    "get_index_space_shape": _let_shape,
    "get_num_tile_blocks": _let_grid,
    "get_tensor_shape": _let_shape,
    "get_tile_block_id": _let_block_id,
    "insert": _let_window,
    "iota": _let_iota,
    "make_gather_scatter_view": _let_tile_view,
    "make_partition_view": _let_tile_view,
    "make_strided_view": _let_tile_view,
    "make_tensor_view": _let_tensor_view,
    "pack": _let_repack,
    "unpack": _let_repack,
}


def emit_same(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Same)
    if statement.source in emission.views:
        emission.views[statement.value] = emission.views[statement.source]
    else:
        emission.scalars[statement.value] = emission.scalars[statement.source]


# --- control flow ---


def emit_branch(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Branch)
    builder = emission.builder
    operation = statement.operation
    condition = emission.scalars[operation.operands[0]]
    name = builder.fresh("if")
    builder.do(f"br i1 {condition.name}, label %{name}.then, label %{name}.else")
    emission._ends.append((f"{name}.end", list(operation.results)))
    for label, body in zip(("then", "else"), [*statement.branches, [], []], strict=False):
        builder.label(f"{name}.{label}")
        emission.statements(body)
        if not body or not isinstance(body[-1], Leave):
            builder.do(f"br label %{name}.end")
    emission._ends.pop()
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
    arguments = list(block.arguments[1:] if counted else block.arguments)
    initial = operation.operands[3:] if counted else operation.operands
    results = list(operation.results)
    name = builder.fresh("loop")
    for argument, value in zip(arguments, initial, strict=True):
        if _is_scalar(argument):
            emission.put(argument, emission.scalars[value])
        elif not isinstance(argument.type, TileType) and value in emission.views:
            emission.views[argument] = emission.views[value]
    labels = LoopLabels(f"{name}.again", f"{name}.end", arguments, arguments if counted else results)
    if counted:
        lower, upper, step = (emission.scalars[value] for value in operation.operands[:3])
        induction = block.arguments[0]
        unsigned = "unsignedCmp" in operation.attributes
        _check_step(emission, operation, step, unsigned)
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
    emission._loops.append(labels)
    emission.statements(statement.body)
    emission._loops.pop()
    builder.label(f"{name}.again")
    if counted:
        builder.lines.append(f"  %{name}.next = add {wide} %{name}.i, {number[2]}")
    elif True:
        # A loop that never ends can still be interrupted.
        stop = builder.emit(f"load atomic i64, ptr {emission._slot_pointer(slots.STOP)} monotonic, align 8")
        going = builder.emit(f"icmp eq i64 {stop}, 0")
        builder.do(f"br i1 {going}, label %{name}.head, label %{name}.stopped")
        builder.label(f"{name}.stopped")
        emission.leave_worker(2)
    if counted:
        builder.do(f"br label %{name}.head")
    builder.label(f"{name}.end")
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
        if not emission._ends:
            emission.yielded = [emission.scalars[value] for value in values]
            return
        label, results = emission._ends[-1]
        _put_all(emission, values, results)
        builder.do(f"br label %{label}")
    elif mnemonic == "continue":
        _put_all(emission, values, emission._loops[-1].arguments)
        builder.do(f"br label %{emission._loops[-1].again}")
    else:
        _put_all(emission, values, emission._loops[-1].results)
        builder.do(f"br label %{emission._loops[-1].end}")


def _put_all(emission: Emission, values: list[Value], places: list[Value]) -> None:
    for value, place in zip(values, places, strict=True):
        if _is_scalar(place):
            emission.put(place, emission.scalars[value])


# --- the rest ---


def emit_reserve(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Reserve)
    operation = statement.operation
    builder = emission.builder
    alignment = cast(IntegerAttribute, operation.attributes["alignment"]).value
    pointer = emission.buffer(statement.buffer)
    builder.call("void", "llvm.memset.p0.i64", [f"ptr {pointer}", "i8 0", f"i64 {statement.buffer.count}", "i1 false"])
    address = emission.address(pointer)
    if alignment > 64:
        more = builder.emit(f"add i64 {address}, {alignment - 1}")
        address = builder.emit(f"and i64 {more}, {-alignment}")
    emission.scalars[operation.results[0]] = Register(str(address), _UINT64)


def emit_print(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Print)
    builder = emission.builder
    operation = statement.operation
    values = operation.operand_group("args")
    emission.prints.append(operation)
    table = emission.reserve("ptr", max(len(values), 1), 8)
    for number, (value, source) in enumerate(zip(values, statement.sources, strict=True)):
        if source is not None:
            pointer = emission.buffer(source.buffer)
        else:
            register = emission._stored_form(emission.scalars[value])
            pointer = emission.reserve(register.type, 1, 8)
            builder.do(f"store {register.typed}, ptr {pointer}, align 8")
        place = builder.emit(f"getelementptr ptr, ptr {table}, i64 {number}")
        builder.do(f"store ptr {pointer}, ptr {place}, align 8")
    function = emission.pointer(emission._record(slots.CALLBACK))
    builder.do(f"call void {function}(i64 {len(emission.prints) - 1}, i64 {emission.block_number}, ptr {table})")


def emit_repack(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Repack)
    from tileir.execute.cpu import repacking

    repacking.emit_repack(emission, statement)


def emit_reduce(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Reduce)
    reductions.emit_reduce(emission, statement)


def emit_multiply(emission: Emission, statement: Statement) -> None:
    assert isinstance(statement, Multiply)
    products.emit_multiply(emission, statement)


_EMITTERS: Final[dict[type[Statement], Callable[[Emission, Statement], None]]] = {
    Branch: emit_branch,
    Leave: emit_leave,
    Let: emit_let,
    Multiply: emit_multiply,
    Nest: emit_nest,
    Print: emit_print,
    Reduce: emit_reduce,
    Repack: emit_repack,
    Repeat: emit_repeat,
    Reserve: emit_reserve,
    Same: emit_same,
}

_UNUSED = (I1, IntegerType, LaunchError, PointerType, memory_bytes)
