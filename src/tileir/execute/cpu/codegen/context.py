"""What the emitters of a kernel share: the function they write, and what is known at this point of the program.

Scalars are registers, buffers are offsets in scratch memory.  Loads and stores of scratch memory and of the caller's
memory are kept apart by alias scopes, so that LLVM may move one past the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from tileir.dialect.ops import GLOBAL
from tileir.dialect.types import TileViewType
from tileir.execute.analysis.aliasing import Origins
from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.codegen.provenance import ProvenanceBuilder
from tileir.execute.cpu.ir.checks import Check
from tileir.execute.cpu.ir.expressions import Buffer
from tileir.execute.cpu.ir.options import Options
from tileir.execute.cpu.ir.statements import Alloca, Matmul, PackCache, Program, Statement, operations_of, statements
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.runtime.llvm_compile import AS_WRITTEN
from tileir.execute.cpu.runtime.target import Target
from tileir.execute.cpu.sanitizer.sites import Site
from tileir.execute.cpu.vector.builder import Builder, Loop, Number
from tileir.execute.cpu.vector.casting import BOOL, from_storage, to_storage
from tileir.execute.cpu.vector.llvm import Register, storage_type, wrapped
from tileir.execute.cpu.vector.module import Module
from tileir.forking import cached_property
from tileir.ir.core import Operation
from tileir.ir.types import Type
from tileir.ir.values import Value

Emitters = Mapping[type[Any], Callable[..., Any]]  # By kind of statement or load: what emits one.

FAR = 1 << 62  # Extents and positions are clamped to this, as the interpreter does, so that no sum wraps.


@dataclass(eq=False, repr=False, slots=True)
class TensorView:
    """Memory as a tensor: an address, extents and strides in elements.  `sizes` are the program's extents; accesses
    clamp them to `FAR`.  Three i1s: it lies in its array, in memory, and in writable memory (`bounds`)."""

    address: str
    element: Type
    sizes: list[Number]
    extents: list[Number]
    strides: list[Number]
    in_array: str = "true"
    readable: str = "true"
    writable: str = "true"

    def fits(self, operation: Operation) -> str:
        """Whether it lies in memory that an access may touch, an i1."""
        return self.readable if operation.declaration.writes is None else self.writable


class TileView:
    """Tiles over a tensor, by dimension of the tile: extents and strides of the tensor, steps between tiles."""

    def __init__(self, tensor: TensorView, type: TileViewType) -> None:
        self.type: TileViewType = type
        self.tensor: TensorView = tensor
        self.shape: tuple[int, ...] = type.tile_shape
        self.steps: tuple[int, ...] = type.steps
        self.sparse: int = type.sparse_dim
        self.sizes: list[Number] = [tensor.sizes[axis] for axis in type.dim_map]
        self.extents: list[Number] = [tensor.extents[axis] for axis in type.dim_map]
        self.strides: list[Number] = [tensor.strides[axis] for axis in type.dim_map]

    @property
    def is_zero_outside(self) -> bool:
        """Whether a tile has zeros where it lies over an edge of the tensor."""
        return self.type.padding is None or self.type.padding.keyword == "zero"


@dataclass(eq=False, repr=False, slots=True)
class TileAccess:
    """One access through a view: where its tile begins in each dimension."""

    operation: Operation
    view: TileView
    starts: list[Number]
    pointer: str
    prefetch_distance: Number = 0  # How far away in bytes the tile to prefetch begins; 0 for none.


_MANY_ARRAYS: Final = 48


class _LoadedWhereUsed(dict[Value, Register]):
    """Scalars, without the arguments of the kernel."""

    def __init__(self, load: Callable[[Value], Register]) -> None:
        super().__init__()
        self._load: Callable[[Value], Register] = load

    def __missing__(self, argument: Value) -> Register:
        return self._load(argument)


class Frame:
    """Instructions at the beginning of a function that takes the launch record, each once."""

    def __init__(self, builder: Builder, has_many_arrays: bool) -> None:
        self._builder: Builder = builder
        self._has_many_arrays: bool = has_many_arrays
        self._lines: dict[str, None] = {}

    @property
    def lines(self) -> list[str]:
        return list(self._lines)

    def add(self, instruction: str) -> None:
        self._lines[f"  {instruction}"] = None

    def value(self, name: str, instruction: str) -> str:
        """A value of the launch, computed once; with many arrays where it is used, as LLVM spills in quadratic time."""
        if self._has_many_arrays:
            return self._builder.emit(instruction)
        self.add(f"%{name} = {instruction}")
        return f"%{name}"

    def slot_pointer(self, slot: int) -> str:
        return self.value(f"slot{slot}", f"getelementptr i64, ptr %record, i64 {slot}")

    def record_slot(self, slot: int) -> str:
        """A slot of the record that does not change during the launch."""
        return self.value(f"record{slot}", f"load i64, ptr {self.slot_pointer(slot)}, align 8")

    def stack(self, type: str, count: int = 1, align: int = 64, name: str = "") -> str:
        """Memory on the stack, allocated once for the whole function; each use of a name is the same memory."""
        name = f"%{name or self._builder.fresh('stack')}"
        self.add(f"{name} = alloca {type}, i64 {count}, align {align}")
        return name

    def cleared_words(self, count: int, name: str = "") -> str:
        """Some i64s on the stack, which are 0 at first."""
        pointer = self.stack("i64", count, 8, name)
        self._builder.module.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.add(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {8 * count}, i1 false)")
        return pointer

    def parameters(self, arguments: Sequence[Value]) -> dict[Value, Register]:

        def load(argument: Value) -> Register:
            pointer = self.slot_pointer(slots.ARGUMENTS + arguments.index(argument))
            dtype = dtype_of(argument)
            loaded = self._builder.emit(f"load {storage_type(dtype)}, ptr {pointer}, align 8")
            return from_storage(self._builder, loaded, dtype)

        if self._has_many_arrays:
            return _LoadedWhereUsed(load)
        with self._builder.into([]) as lines:
            found = {argument: load(argument) for argument in arguments}
        # The pointers are there already.
        self._lines |= dict.fromkeys(lines)
        return found

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Begin the frame of another function; the present one comes back afterwards."""
        before, self._lines = self._lines, {}
        yield
        self._lines = before


@dataclass(eq=False, repr=False, slots=True)
class Guard:
    """What the sanitizer found for an access: an i1 `fine`, and per element in `buffer` where that is false.  If not
    empty, an i1 `whole`: the tile lies in its memory, no index wraps (`affine_tiles`), and if `unmasked`, its mask is
    true."""

    buffer: Buffer
    fine: str
    whole: str = ""
    unmasked: bool = False


@dataclass(eq=False, repr=False, slots=True)
class EnclosingLoop:
    """A loop around the present statement, and the scalars that `continue` and `break` set."""

    loop: Loop
    arguments: list[Value]
    results: list[Value]


class Emission:
    """One kernel being emitted; with `provenance` lines remember the operations they are from."""

    def __init__(
        self,
        program: Program,
        target: Target,
        layout: slots.Layout,
        emitters: Emitters,
        options: Options,
        provenance: bool = False,
    ) -> None:
        self.program: Program = program
        self.emitters: Emitters = emitters
        self.target: Target = target
        self.layout: slots.Layout = layout
        self.options: Options = options
        self.sanitize: bool = options.sanitize
        self.module: Module = Module()
        self.module.fast = options.fast
        self.module.native_half = target.has_f16c
        self.module.native_fma = target.has_fma
        self.module.native_scale = target.has_avx512
        self.module.native_bf16 = target.has_avx512_bf16
        self.module.native_range = target.has_avx512
        self.module.widened_lanes = target.vector_bytes // 8 if target.is_x86 else 0
        self.module.native_extremes = target.is_aarch64
        self.provenance: ProvenanceBuilder | None = ProvenanceBuilder(self.module) if provenance else None
        self.builder: Builder = Builder(self.module) if self.provenance is None else self.provenance
        parameters = program.entry.regions[0].blocks[0].arguments
        self.frame: Frame = Frame(self.builder, len(parameters) > _MANY_ARRAYS)
        self.builder.stack = self.frame.stack
        self.scratch_suffix: str = ", !alias.scope !2"
        self.memory_suffix: str = ", !noalias !2"
        self.block_number: str = ""
        self.block_id: list[str] = []
        self.block_end: str = ""  # The label that ends a tile block.
        # What is known at this point of the program.
        self.scalars: dict[Value, Register] = {}
        self.views: dict[Value, TensorView | TileView] = {}
        self.tile_accesses: dict[Operation, TileAccess] = {}
        self.loops: list[EnclosingLoop] = []
        self.done: dict[Statement, str] = {}  # By loop nest an i1: its work is done already.
        self.yielded: list[Register] | None = None  # The values that the body of a reduction has yielded.
        self.proven: dict[Operation, bool] = {}  # Accesses proven in their arrays, in this version; whether unmasked
        self.unproven: set[Operation] = set()  # Those that were tried without success.
        self.prefetch_distances: dict[Operation, Number] = {}  # Bytes to the next iteration's load; 0 for none
        self.guards: dict[Operation, Guard] = {}
        self._slots: dict[Value, str] = {}
        self._buffers: dict[Buffer, str] = {}
        # Where pointers to buffers are computed, if not at the beginning.
        self._start: tuple[list[str], int] | None = None
        # What the launch has to know about the code.
        self.checks: list[Check] = []
        self.sites: list[Site] = []
        self.prints: list[Operation] = []
        self.origins: Origins = Origins(program.entry, options.overlapping)
        parent = program.entry.parent_operation
        self.constant_globals: set[str] = {
            f"@{each.symbol_name}"
            for each in (parent.regions[0].blocks[0] if parent is not None and parent.regions else ())
            if each.declaration is GLOBAL and each.constant
        }
        self.called: set[str] = set()  # The functions of `bounds_runtime` that code calls.
        self.function_count: int = -1  # How many functions the kernel computes, once it has been counted.
        body = list(statements(program.body))
        allocas = [each.operation for each in body if isinstance(each, Alloca)]
        self.allocas: dict[Operation, int] = {operation: number for number, operation in enumerate(allocas)}
        matmuls = [each for each in body if isinstance(each, Matmul)]
        self.uses_amx: bool = any(each.plan.kind == "amx" for each in matmuls)
        self.caches_operands: bool = any(isinstance(packed, PackCache) for each in matmuls for packed in each.packed)

    @cached_property
    def positions(self) -> dict[Operation, int]:
        return {each: number for number, each in enumerate(self.program.entry.walk())}

    def statements(self, body: list[Statement]) -> None:
        for statement in body:
            emit = self.emitters[type(statement)]
            if self.provenance is not None:
                with self.provenance.working_for(operations_of(statement)):
                    emit(self, statement)
            elif self.sanitize:
                # There are many buffers for what is hardly ever used: pointers to them must not stay in registers.
                outer = (self._buffers, self._start)
                self._buffers, self._start = {}, (self.builder.lines, len(self.builder.lines))
                emit(self, statement)
                self._buffers, self._start = outer
            else:
                emit(self, statement)

    def working_for(self, *operations: Operation | None) -> AbstractContextManager[None]:
        """While this is entered, lines are for some operations."""
        if self.provenance is None:
            return nullcontext()
        return self.provenance.working_for([each for each in operations if each is not None])

    def whole(self, value: Value, signed: bool = True) -> Number:
        """A scalar integer as an i64."""
        register = self.scalars[value]
        if not register.name.startswith("%"):
            if register.dtype == BOOL:
                number = 1 if register.name == "true" else 0
                return -number if signed else number
            number, width = int(register.name), 8 * register.dtype.itemsize
            return wrapped(number, width) if signed else number % (1 << width)
        if register.dtype.itemsize == 8:
            return register.name
        return self.builder.emit(f"{'sext' if signed else 'zext'} {register.typed} to i64")

    def slot(self, value: Value) -> str:
        """The slot of a scalar that a region passes on."""
        if value not in self._slots:
            self._slots[value] = self.frame.stack(storage_type(dtype_of(value)), 1, 8)
        return self._slots[value]

    def put(self, value: Value, register: Register) -> None:
        self.builder.do(f"store {to_storage(self.builder, register).typed}, ptr {self.slot(value)}, align 8")

    def take(self, value: Value) -> None:
        dtype = dtype_of(value)
        loaded = self.builder.emit(f"load {storage_type(dtype)}, ptr {self.slot(value)}, align 8")
        self.scalars[value] = from_storage(self.builder, loaded, dtype)

    def buffer(self, buffer: Buffer) -> str:
        """The pointer of a buffer, computed at the beginning of the worker, or of the statement under the sanitizer."""
        found = self._buffers.get(buffer)
        if found is None:
            found = self._buffers[buffer] = f"%{self.builder.fresh(buffer.name + '.')}"
            text = f"{found} = getelementptr i8, ptr %scratch, i64 {buffer.offset}"
            if self._start is None:
                self.frame.add(text)
            else:
                lines, position = self._start
                lines.insert(position, f"  {text}")
        return found

    @contextmanager
    def aside(self) -> Iterator[list[str]]:
        """Emit into a function of its own that takes the record; the list gets its lines."""
        before = (self.scalars, self.views)
        self.views = {}
        found: list[str] = []
        with self.frame.aside():
            self.scalars = self.frame.parameters(self.program.entry.regions[0].blocks[0].arguments)
            with self.builder.into([]) as lines:
                yield found
            found += [*self.frame.lines, *lines]
        self.scalars, self.views = before

    def call_as_written(
        self,
        name: str,
        parameters: Mapping[str, tuple[str, Number]],
        write: Callable[[], str | None],
        overlap: tuple[str, ...] = (),
    ) -> str:
        """Call a function beside the worker, written at its first call; returns the i1 that it returns, if any.
        Parameters are types and arguments by name; of pointers only some may `overlap`.

        LLVM's passes leave it alone: matmuls are 1.2 times as fast, and compile in a fraction of the time."""
        builder, module, name = self.builder, self.module, f"{AS_WRITTEN}{name}"
        if name not in module.symbols:
            with builder.into([]) as lines:
                found = write() or "false"
                builder.do("ret void" if found == "false" else f"ret i1 {found}")
            module.symbols |= {name, f"{name}.i1"} if found != "false" else {name}
            listed = [
                f"{kind}{' noalias' if kind == 'ptr' and each not in overlap else ''} {each}"
                for each, (kind, _) in parameters.items()
            ]
            result = "void" if found == "false" else "i1"
            head = f"define internal {result} @{name}({', '.join(listed)}) noinline nounwind"
            module.define(head, lines)
        arguments = ", ".join([f"{kind} {value}" for kind, value in parameters.values()])
        if f"{name}.i1" in module.symbols:
            return builder.emit(f"call i1 @{name}({arguments})")
        builder.do(f"call void @{name}({arguments})")
        return "false"

    @property
    def launch_number(self) -> str:
        """A pointer to what tags of the pack cache begin with: a number that differs from one launch to the next."""
        pointer = self.frame.stack("i64", 1, 8, "launch")
        self.frame.add(f"%launch.first = load i64, ptr %scratch, align 8{self.scratch_suffix}")
        self.frame.add(f"store i64 %launch.first, ptr {pointer}, align 8")
        return pointer
