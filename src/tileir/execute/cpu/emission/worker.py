"""From the loop form to LLVM IR: the worker, its places, its small arithmetic.

Scalars are registers; those that a region leaves go through slots on the stack, which LLVM turns into registers again.
Buffers are places in the arena.  Loads and stores of the arena and of the caller's memory are told apart by alias
scopes, so that LLVM may move one past the other.  How each statement is emitted stands in `statements`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tileir.execute.cpu.analysis.values import dtype_of, ordering_of
from tileir.execute.cpu.emission import accesses, pointers, streaming
from tileir.execute.cpu.emission.accesses import Box, TensorView, TileView
from tileir.execute.cpu.emission.bounds import Bounds
from tileir.execute.cpu.emission.nests import Guard, Index, NestEmission, Number, lanes_for
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.expressions import Buffer, Expression, Gathered, Stored, Viewed, nodes
from tileir.execute.cpu.loops.options import Options
from tileir.execute.cpu.loops.order import PLAIN, order_of
from tileir.execute.cpu.loops.sinks import Sink, StorePointers, StoreView, Update
from tileir.execute.cpu.loops.sites import Site
from tileir.execute.cpu.loops.statements import Apart, Multiply, Program, Statement, statements
from tileir.execute.cpu.matrix import microkernel as mma
from tileir.execute.cpu.native import record as slots
from tileir.execute.cpu.native.target import Target
from tileir.execute.cpu.vector import casting
from tileir.execute.cpu.vector.casting import BOOL, INT64, UINT8
from tileir.execute.cpu.vector.llvm import Builder, Module, Register, scalar_type, storage_type
from tileir.execute.dtypes import DType
from tileir.ir.core import Operation, Value

if TYPE_CHECKING:
    from tileir.execute.cpu.emission.inspecting import Inspection


class LoopLabels:
    """Where `continue` and `break` go, and where they leave scalars."""

    __slots__ = ("again", "arguments", "end", "results")

    def __init__(self, again: str, end: str, arguments: list[Value], results: list[Value]) -> None:
        self.again: str = again
        self.end: str = end
        self.arguments: list[Value] = arguments
        self.results: list[Value] = results


Emitters = Mapping[type[Statement], Callable[["Emission", Statement], None]]


class Emission:
    """Emits one kernel; `emitters` say how each statement is."""

    def __init__(
        self, program: Program, target: Target, layout: slots.Layout, emitters: Emitters, options: Options
    ) -> None:
        self.program: Program = program
        self.emitters: Emitters = emitters
        self.target: Target = target
        self.layout: slots.Layout = layout
        self.options: Options = options
        self.sanitize: bool = options.sanitize
        self.module: Module = Module()
        self.module.native_half = target.has_f16c
        self.module.native_fma = target.has_fma
        self.module.native_scale = target.has_avx512
        self.module.native_extremes = target.is_aarch64
        self.builder: Builder = Builder(self.module)
        self.scalars: dict[Value, Register] = {}
        self.views: dict[Value, TensorView | TileView] = {}
        self.checks: list[Check] = []
        self.guards: dict[Operation, Guard] = {}
        """What the sanitizer says about each access, from where it was looked at on."""
        self.sites: list[Site] = []
        self._inspection: Inspection | None = None
        self.prints: list[Operation] = []
        self.arena_suffix: str = ", !alias.scope !2"
        self.memory_suffix: str = ", !noalias !2"
        self._entry: list[str] = []
        self._uses_amx: bool = any(
            isinstance(statement, Multiply) and statement.plan.kind == "amx" for statement in statements(program.body)
        )
        self._slots: dict[Value, str] = {}
        self._buffers: dict[Buffer, str] = {}
        # Where pointers to buffers are computed, if not at the beginning.
        self._start: tuple[list[str], int] | None = None
        self._boxes: dict[Operation, Box] = {}
        self.loops: list[LoopLabels] = []
        self.ends: list[tuple[str, list[Value]]] = []
        # The values that the body of a reduction yields, while one is being emitted.
        self.yielded: list[Register] | None = None
        self.block_number: str = "%number"
        self.order: tuple[int, int, int] = order_of(program)
        self.block_id: list[str] = []
        self.bounds: Bounds = Bounds(self)
        self.sure: dict[Operation, bool] = {}
        """The accesses through pointers that are known to stay in their arrays, in the version of a nest that is being
        emitted; and whether their masks are true everywhere."""
        self._doubtful: set[Operation] = set()
        self._positions: dict[Operation, int] = {}

    # --- the worker ---

    def run(self) -> str:
        builder = self.builder
        entry = self.program.entry
        if not self.sanitize:
            self.bounds.emit_suitability()
        if self._uses_amx:
            mma.configure(builder)
        first, end = self._take_chunk()
        builder.do("br label %block")
        builder.label("block")
        builder.lines.append(f"  %number = phi i64 [ {first}, %chunk ], [ %number.next, %block.end ]")
        self._block_ids()
        self._parameters(entry)
        self.forget(self.program.body)
        self.statements(self.program.body)
        builder.do("br label %block.end")
        builder.label("block.end")
        builder.lines.append("  %number.next = add nuw nsw i64 %number, 1")
        stop = builder.emit(f"load atomic i64, ptr {self.slot_pointer(slots.STOP)} monotonic, align 8")
        more = builder.emit(f"icmp ult i64 %number.next, {end}")
        going = builder.emit(f"icmp eq i64 {stop}, 0")
        both = builder.emit(f"and i1 {more}, {going}")
        builder.do(f"br i1 {both}, label %block, label %block.last")
        builder.label("block.last")
        builder.do(f"br i1 {going}, label %take, label %finish")
        builder.label("finish")
        self.leave_worker(0)
        if self.bounds.called:
            builder.label("failed")
            self.leave_worker(1)
            self.module.functions.append(self.bounds.text())
        lines = [
            "define i64 @worker(ptr noalias noundef %record, ptr noalias noundef align 64 %arena) nounwind {",
            "entry:",
            *self.bounds.rooms(),
            *self._entry,
            *builder.lines,
            "}",
            "!0 = distinct !{!0}",
            "!1 = distinct !{!1, !0}",
            "!2 = !{!1}",
        ]
        if self.program.streams:
            lines.append(f"!{streaming.NONTEMPORAL} = !{{i32 1}}")
        self.module.functions.append("\n".join(lines))
        return self.module.text()

    def _take_chunk(self) -> tuple[str, str]:
        """Take the next tile blocks, from the first to one before the end; to `finish` if there are none."""
        builder = self.builder
        chunk = self.record_slot(slots.CHUNK)
        tail = self.record_slot(slots.TAIL)
        count = self.record_slot(slots.COUNT)
        builder.do("br label %take")
        builder.label("take")
        seen = builder.emit("load atomic i64, ptr %record monotonic, align 8")
        builder.do("br label %try")
        builder.label("try")
        builder.lines.append(f"  %first = phi i64 [ {seen}, %take ], [ %first.now, %try.take ]")
        builder.do(f"br i1 {builder.emit(f'icmp ult i64 %first, {count}')}, label %try.take, label %finish")
        builder.label("try.take")
        is_whole = builder.emit(f"icmp ult i64 {builder.emit(f'add i64 %first, {tail}')}, {count}")
        part = builder.emit(f"lshr i64 {chunk}, {slots.TAIL_SHIFT}")
        part = builder.call("i64", "llvm.umax.i64", [f"i64 {part}", "i64 1"])
        size = builder.emit(f"select i1 {is_whole}, i64 {chunk}, i64 {part}")
        end = builder.emit(f"add i64 %first, {size}")
        exchange = builder.emit(f"cmpxchg ptr %record, i64 %first, i64 {end} monotonic monotonic, align 8")
        builder.lines.append(f"  %first.now = extractvalue {{ i64, i1 }} {exchange}, 0")
        taken = builder.emit(f"extractvalue {{ i64, i1 }} {exchange}, 1")
        builder.do(f"br i1 {taken}, label %chunk, label %try")
        builder.label("chunk")
        return "%first", builder.call("i64", "llvm.umin.i64", [f"i64 {end}", f"i64 {count}"])

    def leave_worker(self, code: int) -> None:
        """Return: 0 for nothing left to do, 1 after a failure, 2 when stopped."""
        if self._uses_amx:
            mma.release(self.builder)
        if self.program.streams:
            # Whoever waits for the worker sees what it streamed.
            self.builder.call("void", "llvm.x86.sse.sfence", [])
        self.builder.do(f"ret i64 {code}")

    def slot_pointer(self, slot: int) -> str:
        name = f"%slot{slot}"
        line = f"  {name} = getelementptr i64, ptr %record, i64 {slot}"
        if line not in self._entry:
            self._entry.append(line)
        return name

    def record_slot(self, slot: int) -> str:
        """A slot that does not change during the launch, read at the beginning."""
        name = f"%record{slot}"
        pointer = self.slot_pointer(slot)
        line = f"  {name} = load i64, ptr {pointer}, align 8"
        if line not in self._entry:
            self._entry.append(line)
        return name

    def _block_ids(self) -> None:
        """The place of the tile block in the grid, from its number in the order of handing out."""
        builder = self.builder
        order = self.order
        extents = [self.record_slot(slots.GRID + axis) for axis in range(3)]
        first = builder.emit(f"urem i64 %number, {extents[order[0]]}")
        rest = builder.emit(f"udiv i64 %number, {extents[order[0]]}")
        second = builder.emit(f"urem i64 {rest}, {extents[order[1]]}")
        third = builder.emit(f"udiv i64 {rest}, {extents[order[1]]}")
        place = dict(zip(order, (first, second, third), strict=True))
        self.block_id = [builder.emit(f"trunc i64 {place[axis]} to i32") for axis in range(3)]
        if order != PLAIN:
            plane = builder.emit(f"mul i64 {place[2]}, {extents[1]}")
            line = builder.emit(f"add i64 {plane}, {place[1]}")
            start = builder.emit(f"mul i64 {line}, {extents[0]}")
            self.block_number = builder.emit(f"add i64 {start}, {place[0]}")

    def _parameters(self, entry: Operation) -> None:
        lines = self.builder.lines
        self.builder.lines = self._entry
        for number, argument in enumerate(entry.regions[0].blocks[0].arguments):
            pointer = self.slot_pointer(slots.ARGUMENTS + number)
            dtype = dtype_of(argument)
            loaded = self.builder.emit(f"load {storage_type(dtype)}, ptr {pointer}, align 8")
            if dtype == BOOL:
                loaded = self.builder.emit(f"trunc i8 {loaded} to i1")
            self.scalars[argument] = Register(loaded, dtype)
        self.builder.lines = lines

    @property
    def inspection(self) -> Inspection:
        """What code that is sanitized shares."""
        if self._inspection is None:
            from tileir.execute.cpu.emission.inspecting import Inspection

            self._inspection = Inspection(self)
        return self._inspection

    def forget(self, body: list[Statement]) -> None:
        """What `alloca` reserved inside is given back."""
        if self.sanitize:
            self.inspection.forget(body)
        else:
            self.bounds.forget(body)

    @contextmanager
    def elsewhere(self) -> Iterator[list[str]]:
        """Emit into a function of its own that takes the record; what is emitted comes in the list."""
        before = (self._entry, self.scalars, self.views, self.builder.lines)
        self._entry, self.scalars, self.views, self.builder.lines = [], {}, {}, []
        self._parameters(self.program.entry)
        found: list[str] = []
        yield found
        found += [*self._entry, *self.builder.lines]
        self._entry, self.scalars, self.views, self.builder.lines = before

    def at_entry(self, line: str) -> None:
        """An instruction at the beginning of the worker."""
        self._entry.append(f"  {line}")

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
                return number
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

    def conditional(self, mask: Register | None, result: str, emit: Callable[[], str | None]) -> str:
        """What `emit` makes where a scalar condition holds, else zero; `result` is its type, empty for none."""
        if mask is None:
            return emit() or ""
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
        zero = "0.0" if result in ("half", "float", "double") else "0"
        return builder.emit(f"phi {result} [ {found}, %{name}.yes.end ], [ {zero}, %{name}.test ]")

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
        self.builder.do(f"store {self.stored_form(register).typed}, ptr {self.slot(value)}, align 8")

    def take(self, value: Value) -> None:
        """Get a scalar from its slot."""
        dtype = dtype_of(value)
        loaded = self.builder.emit(f"load {storage_type(dtype)}, ptr {self.slot(value)}, align 8")
        if dtype == BOOL:
            loaded = self.builder.emit(f"trunc i8 {loaded} to i1")
        self.scalars[value] = Register(loaded, dtype)

    def stored_form(self, register: Register) -> Register:
        if register.dtype != BOOL:
            return register
        return self.builder.value(f"zext i1 {register.name} to i8", UINT8)

    def buffer(self, buffer: Buffer) -> str:
        """The pointer of a buffer, computed at the beginning of the worker, or of the statement under the sanitizer."""
        found = self._buffers.get(buffer)
        if found is None:
            found = self._buffers[buffer] = f"%{self.builder.fresh(buffer.name + '.')}"
            lines, place = self._start if self._start is not None else (self._entry, len(self._entry))
            lines.insert(place, f"  {found} = getelementptr i8, ptr %arena, i64 {buffer.offset}")
        return found

    def box(self, operation: Operation) -> Box:
        return self._boxes[operation]

    def launch_number(self) -> str:
        """What the tags of remembered panels begin with: a number that differs from one launch to the next."""
        self._have_launch_number()
        return self.builder.emit("load i64, ptr %launch, align 8")

    def _have_launch_number(self) -> None:
        if "  %launch = alloca i64, align 8" not in self._entry:
            self._entry.append("  %launch = alloca i64, align 8")
            self._entry.append(f"  %launch.first = load i64, ptr %arena, align 8{self.arena_suffix}")
            self._entry.append("  store i64 %launch.first, ptr %launch, align 8")

    def forget_panels(self) -> None:
        """The memory behind remembered panels may have changed."""
        self._have_launch_number()
        number = self.builder.emit("load i64, ptr %launch, align 8")
        self.builder.do(f"store i64 {self.builder.emit(f'add i64 {number}, {1 << 40}')}, ptr %launch, align 8")

    # --- failures ---

    def fail(self, check: Check, element: Number = 0, detail: Number = 0) -> None:
        """Record a failure, unless there is one already, and end the worker.  Ends the basic block."""
        builder = self.builder
        if self.sanitize:
            site = self.inspection.site("failure", check.operation, check=check)
            self.inspection.call(site, [str(element), str(detail)])
            builder.do("br label %block.end")
            return
        self.bounds.fail(check, element, detail)

    def require(self, condition: str, check: Check, element: Number = 0, detail: Number = 0) -> None:
        """Fail unless a condition holds."""
        builder = self.builder
        name = builder.fresh("need")
        builder.do(f"br i1 {condition}, label %{name}.met, label %{name}.not, !prof !{self.likely()}")
        builder.label(f"{name}.not")
        self.fail(check, element, detail)
        builder.label(f"{name}.met")

    def likely(self) -> int:
        self.module.likely = True
        return 3

    def loop(self, start: int, extent: int, step: int, body: Callable[[Number], None]) -> None:
        """A loop emitted where the builder stands; one that turns once is none."""
        if start + step < extent:
            self._turns(start, extent, step, body)
        elif start < extent:
            body(start)

    def count_loop(self, count: Number, body: Callable[[Number], None]) -> None:
        """A loop over 0, 1, 2 and on up to a number known at run time, one at least."""
        self._turns(0, count, 1, body)

    def _turns(self, start: int, extent: Number, step: int, body: Callable[[Number], None]) -> None:
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
        ends, self.ends = self.ends, []
        try:
            yield
        finally:
            self.ends = ends

    # --- statements ---

    def statements(self, body: list[Statement]) -> None:
        emitters = self.emitters
        for statement in body:
            if not self.sanitize:
                emitters[type(statement)](self, statement)
                continue
            # There are many buffers for what is hardly ever used: pointers to them must not stay in registers.
            outer = (self._buffers, self._start)
            self._buffers, self._start = {}, (self.builder.lines, len(self.builder.lines))
            emitters[type(statement)](self, statement)
            self._buffers, self._start = outer

    def load(self, nest: NestEmission, expression: Viewed | Gathered, index: Index) -> tuple[Register, int]:
        """An expression that reads the caller's memory, at an index of a nest."""
        if isinstance(expression, Viewed):
            return accesses.load_view(nest, expression, index)
        return pointers.load_pointers(nest, expression, index)

    def is_ordered(self, operation: Operation) -> bool:
        return ordering_of(operation) != "weak"

    def versions(
        self,
        roots: list[Expression],
        sinks: list[Sink],
        emit: Callable[[bool], None],
        statement: Statement | None = None,
    ) -> None:
        """Emit code once for tiles within their tensors and once with masks, where there are views.

        Loads of the statement fetch ahead, if the program says so.
        """
        fetches = self.program.fetches.get(statement, {}) if statement is not None else {}
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
            if operation in fetches:
                box.ahead = streaming.distance_ahead(self, box.view, fetches[operation])
            answers.append(accesses.is_inside(self, box))
        if self.guards:
            answers += self._guard_answers(roots, sinks)
        sure: dict[Operation, bool] = {}
        if not self.sanitize:
            answers += self._pointer_answers(roots, sinks, sure)

        def emit_version(masked: bool) -> None:
            before, self.sure = self.sure, self.sure if masked else {**self.sure, **sure}
            emit(masked)
            self.sure = before

        boxes = sorted([self._boxes[each] for each in operations], key=lambda box: self._position(box.operation))
        self.two_versions(answers, emit_version, boxes)

    def _pointer_answers(self, roots: list[Expression], sinks: list[Sink], sure: dict[Operation, bool]) -> list[str]:
        """Whether all accesses through pointers that can be judged as a whole stay in their arrays; fills in which."""
        found: list[str] = []
        accesses_made: list[Gathered | StorePointers] = [node for node in nodes(roots) if isinstance(node, Gathered)]
        accesses_made += [sink for sink in sinks if isinstance(sink, StorePointers)]
        for access in accesses_made:
            operation = access.operation
            if operation in self.sure or operation in sure or operation in self._doubtful:
                continue
            if not self.is_ordered(operation):
                answer = self.bounds.judge_pointers(access, sure)
                found += answer if answer is not None else []
        return found

    def emit_apart(self, statement: Apart) -> None:
        """Emit a nest at once where its accesses are seen to stay in their arrays, and else in parts."""
        sure: dict[Operation, bool] = {}
        answers: list[str] | None = [] if statement.fused is not None else None
        for access in statement.accesses:
            more: list[str] | None = None
            if isinstance(access, (Gathered, StorePointers)):
                more = self.bounds.judge_pointers(access, sure)
            elif isinstance(access, (Viewed, StoreView)):
                view = self.views[access.operation.operand_group("view")[0]]
                assert isinstance(view, TileView)
                more = [view.tensor.at_home]
            answers = [*answers, *more] if answers is not None and more is not None else None
        if answers is None or "false" in answers or statement.fused is None:
            self.statements(statement.parts)
            return
        builder = self.builder
        together = "true"
        for answer in answers:
            together = answer if together == "true" else builder.emit(f"and i1 {together}, {answer}")
        name = builder.fresh("apart")
        builder.do(f"br i1 {together}, label %{name}.fused, label %{name}.parts")
        builder.label(f"{name}.fused")
        before, self.sure = self.sure, {**self.sure, **sure}
        self.statements([statement.fused])
        self.sure = before
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.parts")
        doubtful, self._doubtful = self._doubtful, self._doubtful | set(sure)
        self.statements(statement.parts)
        self._doubtful = doubtful
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.end")

    def _position(self, operation: Operation) -> int:
        """The place of an operation in the program, so that the first of several mistakes is reported."""
        if not self._positions:
            self._positions = {each: number for number, each in enumerate(self.program.entry.walk())}
        return self._positions[operation]

    def _guard_answers(self, roots: list[Expression], sinks: list[Sink]) -> list[str]:
        accessed = [node.operation for node in nodes(roots) if isinstance(node, (Gathered, Viewed))]
        accessed += [sink.operation for sink in sinks if isinstance(sink, (StorePointers, StoreView, Update))]
        return [self.guards[operation].fine for operation in dict.fromkeys(accessed) if operation in self.guards]

    def two_versions(self, answers: list[str], emit: Callable[[bool], None], boxes: Sequence[Box] = ()) -> None:
        """Emit code without masks, for where all answers are yes, and with masks; that looks at some boxes first."""
        answers = [answer for answer in answers if answer != "true"]
        if not answers or "false" in answers:
            if answers:
                self._look_at_boxes(boxes)
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
        self._look_at_boxes(boxes)
        emit(True)
        builder.do(f"br label %{name}.end")
        builder.label(f"{name}.end")

    def _look_at_boxes(self, boxes: Sequence[Box]) -> None:
        for box in boxes:
            self.bounds.look_at_box(box)

    def lanes(self, roots: list[Expression], sinks: list[Sink]) -> int:
        """The lanes of a nest; none where elements go one by one."""
        scattered = [node.operation for node in nodes(roots) if isinstance(node, Gathered)]
        scattered += [sink.operation for sink in sinks if isinstance(sink, StorePointers)]
        if any(self.is_ordered(operation) for operation in scattered):
            return 0
        if any(isinstance(sink, Update) for sink in sinks):
            return 0
        dtypes = [node.dtype for node in nodes(roots) if isinstance(node, (Viewed, Gathered, Stored))]
        dtypes += [sink.expression.dtype for sink in sinks]
        found = lanes_for(self.target.vector_bytes, dtypes)
        # Pointers are looked at once for all lanes, which costs as much as a short vector of them.
        return 2 * found if scattered and sinks and self.target.vector_bytes == 16 else found
