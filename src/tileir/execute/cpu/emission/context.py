"""What the emitters of a kernel share: the function they write, and what is known where they stand.

Scalars are registers, buffers are places in the arena.  Loads and stores of the arena and of the caller's memory are
kept apart by alias scopes, so that LLVM may move one past the other.  Everything above this module is functions that
take an `Emission`; how each statement is emitted stands in `statements`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from tileir.dialect.ops import GLOBAL
from tileir.execute.analysis.aliasing import Origins
from tileir.execute.analysis.values import dtype_of
from tileir.execute.cpu.emission.frame import Frame
from tileir.execute.cpu.emission.provenance import ProvenanceBuilder, ProvenanceModule
from tileir.execute.cpu.emission.views import Box, TensorView, TileView
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.expressions import Buffer
from tileir.execute.cpu.loops.options import Options
from tileir.execute.cpu.loops.repeatable import is_repeatable
from tileir.execute.cpu.loops.sites import Site
from tileir.execute.cpu.loops.statements import (
    Matmul,
    Program,
    Reserve,
    Statement,
    operations_of,
    statements,
)
from tileir.execute.cpu.runtime import launch_record as slots
from tileir.execute.cpu.runtime.target import Target
from tileir.execute.cpu.vector.builder import Builder, Loop, Module, Number
from tileir.execute.cpu.vector.casting import BOOL, from_storage, to_storage
from tileir.execute.cpu.vector.llvm import Register, storage_type, wrapped
from tileir.ir.core import Operation
from tileir.ir.values import Value

Emitters = Mapping[type[Statement], Callable[["Emission", Any], None]]
"""By kind of statement: what emits one."""


@dataclass(eq=False, repr=False, slots=True)
class Guard:
    """What the sanitizer says about an access: `fine` is an i1, `buffer` has an answer for each element where not.

    `whole` is another i1, if there is one: the tile as such lies in its memory, and no index in it wraps (`ranges`);
    `unmasked` says that its mask is true everywhere then.
    """

    buffer: Buffer
    fine: str
    whole: str = ""
    unmasked: bool = False


@dataclass(eq=False, repr=False, slots=True)
class EnclosingLoop:
    """A loop around the statement at hand, and the scalars that `continue` and `break` set."""

    loop: Loop
    arguments: list[Value]
    results: list[Value]


class Emission:
    """One kernel being emitted; `emitters` say how each statement is, `provenance` has lines remember operations."""

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
        self.module: Module = ProvenanceModule() if provenance else Module()
        self.module.fast = options.fast
        self.module.native_half = target.has_f16c
        self.module.native_fma = target.has_fma
        self.module.native_scale = target.has_avx512
        self.module.native_bf16 = target.has_avx512_bf16
        self.module.native_range = target.has_avx512
        self.module.widened_lanes = target.vector_bytes // 8 if target.is_x86 else 0
        self.module.native_extremes = target.is_aarch64
        self.provenance: ProvenanceBuilder | None = ProvenanceBuilder(self.module) if provenance else None
        """The builder, where its lines are to remember what they do the work of."""
        self.builder: Builder = Builder(self.module) if self.provenance is None else self.provenance
        self.frame: Frame = Frame(self.builder)
        self.builder.stack = self.frame.stack
        self.arena_suffix: str = ", !alias.scope !2"
        self.memory_suffix: str = ", !noalias !2"
        body = list(statements(program.body))
        self.uses_amx: bool = any(isinstance(each, Matmul) and each.plan.kind == "amx" for each in body)
        self.block_number: str = ""
        self.block_id: list[str] = []
        self.block_end: str = ""
        """The label that ends a tile block."""
        # What is known at this point of the program.
        self.scalars: dict[Value, Register] = {}
        self.views: dict[Value, TensorView | TileView] = {}
        self.boxes: dict[Operation, Box] = {}
        self.loops: list[EnclosingLoop] = []
        self.done: dict[Statement, str] = {}
        """By nest an i1: its work is done already."""
        self.yielded: list[Register] | None = None
        """The values that the body of a reduction has yielded."""
        self.sure: dict[Operation, bool] = {}
        """The accesses through pointers that are known to stay in their arrays, in the version of a nest that is being
        emitted; and whether their masks are true everywhere."""
        self.ahead: dict[Operation, Number] = {}
        """Of loads through pointers how far away in bytes the next turn is, to be fetched; 0 where nothing is."""
        self.doubtful: set[Operation] = set()
        """Those that are known not to be sure."""
        self.guards: dict[Operation, Guard] = {}
        """What the sanitizer says about each access, from where it was looked at on."""
        self.may_restart: bool = False
        """Whether code was emitted that leaves the launch to another version."""
        self._positions: dict[Operation, int] = {}
        self._slots: dict[Value, str] = {}
        self._buffers: dict[Buffer, str] = {}
        # Where pointers to buffers are computed, if not at the beginning.
        self._start: tuple[list[str], int] | None = None
        # What the launch has to know about the code.
        self.checks: list[Check] = []
        self.sites: list[Site] = []
        self.prints: list[Operation] = []
        # Bounds: what checked code shares.
        self.origins: Origins = Origins(program.entry, options.overlapping)
        """For what is known of views that are the same for the whole launch."""
        parent = program.entry.parent_operation
        self.constant_globals: set[str] = {
            f"@{each.symbol_name}"
            for each in (parent.regions[0].blocks[0] if parent is not None and parent.regions else ())
            if each.declaration is GLOBAL and each.constant
        }
        self.function_count: int = -1
        """How many functions the kernel computes, once somebody has asked."""
        self.called: set[str] = set()
        """The functions of `bounds_functions` that code calls."""
        reserves = [each.operation for each in body if isinstance(each, Reserve)]
        self.reserves: dict[Operation, int] = {operation: number for number, operation in enumerate(reserves)}
        """The number of each `alloca`."""
        self.caches_operands: bool = any(
            isinstance(each, Matmul) and (each.a_cache or each.b_cache) is not None for each in body
        )
        """Whether packed operands are kept from tile block to tile block."""
        self.restarts: bool = options.restarts and is_repeatable(program, self.origins, options.unchecked)
        """Whether what a k-loop is not made for is left to another version, which begins again."""

    def position(self, operation: Operation) -> int:
        """The place of an operation in the program."""
        if not self._positions:
            self._positions = {each: number for number, each in enumerate(self.program.entry.walk())}
        return self._positions[operation]

    def statements(self, body: list[Statement]) -> None:
        """Emit statements in order."""
        emitters = self.emitters
        for statement in body:
            if self.provenance is not None:
                with self.provenance.working_for(operations_of(statement)):
                    emitters[type(statement)](self, statement)
                continue
            if not self.sanitize:
                emitters[type(statement)](self, statement)
                continue
            # There are many buffers for what is hardly ever used: pointers to them must not stay in registers.
            outer = (self._buffers, self._start)
            self._buffers, self._start = {}, (self.builder.lines, len(self.builder.lines))
            emitters[type(statement)](self, statement)
            self._buffers, self._start = outer

    def working_for(self, operation: Operation) -> AbstractContextManager[None]:
        """While this is entered, lines are for an operation, should somebody ask."""
        return nullcontext() if self.provenance is None else self.provenance.working_for([operation])

    # --- scalars ---

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
        extension = "sext" if signed else "zext"
        return self.builder.emit(f"{extension} {register.typed} to i64")

    def slot(self, value: Value) -> str:
        """The slot of a scalar that a region hands on."""
        found = self._slots.get(value)
        if found is None:
            found = self._slots[value] = self.frame.stack(storage_type(dtype_of(value)), 1, 8)
        return found

    def put(self, value: Value, register: Register) -> None:
        """Store a scalar in its slot."""
        self.builder.do(f"store {to_storage(self.builder, register).typed}, ptr {self.slot(value)}, align 8")

    def take(self, value: Value) -> None:
        """Load a scalar from its slot."""
        dtype = dtype_of(value)
        loaded = self.builder.emit(f"load {storage_type(dtype)}, ptr {self.slot(value)}, align 8")
        self.scalars[value] = from_storage(self.builder, loaded, dtype)

    # --- buffers ---

    def buffer(self, buffer: Buffer) -> str:
        """The pointer of a buffer, computed at the beginning of the worker, or of the statement under the sanitizer."""
        found = self._buffers.get(buffer)
        if found is None:
            found = self._buffers[buffer] = f"%{self.builder.fresh(buffer.name + '.')}"
            text = f"{found} = getelementptr i8, ptr %arena, i64 {buffer.offset}"
            if self._start is None:
                self.frame.add(text)
            else:
                lines, place = self._start
                lines.insert(place, f"  {text}")
        return found

    # --- another function ---

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
