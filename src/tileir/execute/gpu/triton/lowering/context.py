"""The state of lowering a kernel: the values it has lowered, what is known of them, and the text so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from tileir.dialect.types import TileType
from tileir.execute.gpu.errors import TritonError
from tileir.execute.gpu.triton.code import CodeOptions, Schedule, Slot, Specialization
from tileir.execute.gpu.triton.lowering.barriers import barriers_of
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, squeezed, value_type
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.schedule.features import features_of
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.values import Value
from tileir.rewrite.facts import Facts

_MOST_ELEMENTS: Final = 1 << 20
_FIRST_WITH_TMA: Final = 90
Handler = Callable[["Lowering", Operation], None]
Handlers = Mapping[OperationDeclaration, Handler]


def loop_attributes(entry: Operation, schedule: Schedule) -> dict[Operation, str]:
    """The attributes of the loops of a kernel, where they have some."""
    features = features_of(entry)
    found: dict[Operation, list[str]] = {}
    for loop in features.loops:
        if not loop.is_early:
            # Triton does not ask whether an iteration loads what the one before stores.
            found.setdefault(loop.operation, []).append("tt.num_stages = 1 : i32")
    if schedule.flatten and features.persistent is not None and features.loops[0].is_early:
        found.setdefault(features.persistent, []).append("tt.flatten")
    if schedule.row_stages > 1:
        for operation in features.row_loops:
            found.setdefault(operation, []).append(f"tt.num_stages = {schedule.row_stages} : i32")
    return {operation: f"{{{', '.join(marks)}}}" for operation, marks in found.items() if marks}


class Hidden:
    """A parameter that the program does not have: what the launcher passes for it, and its type."""

    __slots__ = ("attributes", "slot", "value")

    def __init__(self, slot: Slot, value: TtirValue, attributes: str) -> None:
        self.slot: Slot = slot
        self.value: TtirValue = value
        self.attributes: str = attributes


class Lowering(TtirBuilder):
    """The lowering of one kernel: the builder of its text, and what is known of its values."""

    def __init__(
        self,
        program: Program,
        target: str,
        schedule: Schedule,
        specialization: Specialization,
        options: CodeOptions,
        version: tuple[int, ...],
        handlers: Handlers,
    ) -> None:
        super().__init__(version)
        self.program: Final = program
        self.target: Final = target
        self.schedule: Final = schedule
        self.specialization: Final = specialization
        self.options: Final = options
        self.facts: Final = Facts()
        self.values: Final[dict[Value, TtirValue]] = {}
        """Tiles, without their dimensions of one element (`value_type`); tokens have none."""
        self.views: Final[dict[Value, Any]] = {}
        """What is known of views while lowering (`accesses.py`): they are no values in TTIR."""
        self.barriers: Final = barriers_of(program.entry)
        """The accesses before which the threads of a tile block wait for each other."""
        self.hidden: Final[list[Hidden]] = []
        self.loop_attributes: Final = loop_attributes(program.entry, schedule)
        self._handlers: Final = handlers

    # --- values ---

    def value(self, value: Value) -> TtirValue:
        return self.values[value]

    def optional(self, value: Value | None) -> TtirValue | None:
        return None if value is None else self.values[value]

    def operands(self, operation: Operation) -> list[TtirValue]:
        """Those that are tiles."""
        return [self.values[value] for value in operation.operands if value in self.values]

    def define(self, value: Value, lowered: TtirValue) -> None:
        """Say what a value is; of the type that its own becomes."""
        assert isinstance(value.type, TileType)
        assert (lowered.element, lowered.shape) == value_type(value.type), f"{lowered} is no {value.type.text}"
        self.values[value] = lowered

    def result(self, operation: Operation, lowered: TtirValue) -> None:
        self.define(operation.results[0], lowered)

    def whole(self, value: Value) -> TtirValue:
        """A tile with all of its dimensions, for operations that count them."""
        assert isinstance(value.type, TileType)
        lowered = self.values[value]
        for axis, extent in enumerate(value.type.shape):
            if extent == 1:
                lowered = self.expand(lowered, axis)
        return lowered

    def whole_result(self, operation: Operation, lowered: TtirValue) -> None:
        """Say what the result is, given it with all of its dimensions."""
        self.define(operation.results[0], self.reshape(lowered, squeezed(lowered.shape)))

    def type_of(self, value: Value) -> tuple[str, Shape]:
        assert isinstance(value.type, TileType)
        return value_type(value.type)

    def parameter(self, slot: Slot, element: str, attributes: str = "") -> TtirValue:
        """A hidden parameter, the same for the same slot."""
        for each in self.hidden:
            if each.slot == slot:
                return each.value
        value = TtirValue(f"%hidden{len(self.hidden)}", element)
        self.hidden.append(Hidden(slot, value, attributes))
        return value

    # --- operations ---

    def lower(self, operation: Operation) -> None:
        handler = self._handlers.get(operation.declaration)
        if handler is None:
            self.refuse(operation, "there is no lowering to Triton for it")
        for result in operation.results:
            if isinstance(result.type, TileType) and result.type.count > _MOST_ELEMENTS:
                self.refuse(
                    operation, f"its tile has {result.type.count} elements, and Triton has at most {_MOST_ELEMENTS}"
                )
        before, self.operation = self.operation, operation
        handler(self, operation)
        self.operation = before

    @property
    def has_ptx(self) -> bool:
        """Whether the code is NVIDIA's, which instructions can be written into."""
        return self.target.startswith("sm_")

    @property
    def capability(self) -> int:
        """What NVIDIA calls it: 90 of `sm_90`; 0 of the GPUs of others."""
        return int("".join([letter for letter in self.target[3:] if letter.isdecimal()])) if self.has_ptx else 0

    @property
    def uses_tma(self) -> bool:
        """Whether the code may use the tensor memory accelerator at all."""
        return self.capability >= _FIRST_WITH_TMA and self.schedule.descriptors and bool(self.specialization.described)

    def require_ptx(self, operation: Operation, what: str) -> None:
        """Refuse what only NVIDIA's GPUs have an instruction for."""
        if not self.has_ptx:
            self.refuse(operation, f"that GPU has no instruction for {what}", "backend='cpu'")

    def refuse(self, operation: Operation, why: str, instead: str = "backend='tileiras' or 'cpu'") -> NoReturn:
        """Say that an operation cannot be had, why, and which engine has it."""
        words = f"'{operation.name}' cannot be compiled by Triton for {self.target}: {why}; {instead} has it"
        raise TritonError([Diagnostic("error", words, user_location(operation.location))])


def block_number(build: Lowering) -> TtirValue:
    """The number of the tile block among all of the grid, x the fastest, as i64."""
    x, y, z = [
        build.convert("arith.extui", build.emit(f"tt.get_program_id {axis} : i32", "i32"), "i64") for axis in "xyz"
    ]
    columns, rows = [
        build.convert("arith.extui", build.emit(f"tt.get_num_programs {axis} : i32", "i32"), "i64") for axis in "xy"
    ]
    row = build.apply("arith.addi", build.apply("arith.muli", z, rows), y)
    return build.apply("arith.addi", build.apply("arith.muli", row, columns), x)
