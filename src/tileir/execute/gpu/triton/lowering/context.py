"""The state of lowering a kernel: the values it has lowered, what is known of them, and the text so far.

The threads of a tile block run apart from each other, and only tokens order its accesses.  An access needs a barrier if
its token comes, by whatever way, from another access, one of the two writes, they may reach the same memory, and some
way from one to the other has no barrier.

Accesses may reach the same memory unless they are known not to: only pointers from an allocation of the tile block
reach it.  Around a loop, an access does not conflict with itself where the same thread always writes an element:
through a partition view at an index that each loop around it changes.  Sets of accesses are the bits of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any, Final, NamedTuple, NoReturn

from tileir.dialect import ops
from tileir.dialect.types import TOKEN, PartitionViewType, TileType
from tileir.execute.analysis.aliasing import UNKNOWN, Origins
from tileir.execute.analysis.token_order import TokenOrder
from tileir.execute.errors import is_multimem, why_not_on_gpu
from tileir.execute.gpu.errors import TritonError
from tileir.execute.gpu.triton.code import CodeOptions, Schedule, Slot, Specialization
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue, squeezed, value_type
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.schedule.features import MATMULS, features_of
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.traits import ENDS_ITERATION, TOKEN_ORDERED
from tileir.ir.traversal import pre_order
from tileir.ir.values import BlockArgument, Value
from tileir.rewrite.facts import Facts


def barriers_of(entry: Operation) -> frozenset[Operation]:
    accesses = [
        each
        for each in pre_order(entry)
        if each.declaration.has_trait(TOKEN_ORDERED) and (each.declaration.reads or each.declaration.writes)
    ]
    if not any(operation.declaration.writes for operation in accesses):
        return frozenset()
    return frozenset(_Search(entry, accesses).found)


class _Search:
    """Walks a kernel in the order in which it runs, with the accesses since the last barrier."""

    def __init__(self, entry: Operation, accesses: list[Operation]) -> None:
        self.found: Final[set[Operation]] = set()
        self._bits: Final = {operation: 1 << number for number, operation in enumerate(accesses)}
        self._after: Final = TokenOrder(entry).gathered(self._bits)  # By token, the accesses that it comes after.
        self._origins: Final = Origins(entry, overlapping=True)
        self._reads: Final[dict[frozenset[object], int]] = {}
        self._writes: Final[dict[frozenset[object], int]] = {}
        for operation, bit in self._bits.items():
            origin = self._origin(operation)
            if operation.declaration.writes:
                self._writes[origin] = self._writes.get(origin, 0) | bit
            else:
                self._reads[origin] = self._reads.get(origin, 0) | bit
        self._ended: int = 0  # The accesses since a barrier where some iteration of the loop around ends early.
        self._block(entry.regions[0].blocks[0], 0)

    def _block(self, block: Block, since: int) -> int:
        for operation in block:
            since = self._operation(operation, since)
        return since

    def _operation(self, operation: Operation, since: int) -> int:
        bit = self._bits.get(operation)
        if bit is not None:
            before = reduce(or_, [self._after.get(operand, 0) for operand in operation.operands], 0)
            if before & since & self._conflicts(operation):
                self.found.add(operation)
                since = 0
            return since | bit
        if operation.declaration is ops.MEMORY_FENCE_ALIAS_TKO:
            # A barrier itself.
            return 0
        if operation.declaration.has_trait(ENDS_ITERATION):
            self._ended |= since
        elif operation.declaration.is_loop:
            outer, self._ended = self._ended, 0
            inside = [self._bits.get(each, 0) for each in pre_order(operation)]
            # Any of them may come before the first, an iteration earlier.
            ended = self._block(operation.regions[0].blocks[0], reduce(or_, inside, since))
            since |= ended | self._ended
            self._ended = outer
        elif operation.declaration is ops.IF:
            ends = [self._block(block, since) for region in operation.regions for block in region.blocks]
            for end in ends:
                since |= end
        return since

    def _conflicts(self, operation: Operation) -> int:
        """The accesses that may reach what this one does, of which one writes."""
        origin = self._origin(operation)
        found = 0
        for of, accesses in (*self._writes.items(), *(self._reads.items() if operation.declaration.writes else ())):
            if UNKNOWN in origin or UNKNOWN in of or origin & of:
                found |= accesses
        if _is_no_trouble_to_itself(operation):
            found &= ~self._bits[operation]
        return found

    def _origin(self, operation: Operation) -> frozenset[object]:
        declaration = operation.declaration
        name = declaration.reads or declaration.writes
        assert name is not None
        return self._origins.provenance(operation.operand_group(name)[0])


def _is_no_trouble_to_itself(operation: Operation) -> bool:
    if operation.declaration is not ops.STORE_VIEW_TKO:
        return False
    view = operation.view
    if not isinstance(view.type, PartitionViewType):
        return False
    # What the tensor memory accelerator has under way it may overtake: then the tile has to be another each time.
    indices = operation.index
    parent = operation.parent_operation
    while parent is not None:
        if parent.declaration.is_loop and not any(_varies(index, parent) for index in indices):
            return False
        parent = parent.parent_operation
    return True


def _varies(value: Value, loop: Operation) -> bool:
    """Whether a value is computed of what a loop counts, carries or reads: else it is the same in each iteration."""
    pending, seen = [value], {value}
    while pending:
        each = pending.pop()
        maker = each.block.parent_operation if isinstance(each, BlockArgument) else each.defining_operation
        if maker is None or not loop.is_ancestor_of(maker):
            continue
        if maker is loop or maker.declaration.reads:
            return True
        inner = [operand for end in pre_order(maker) if end.declaration.is_terminator for operand in end.operands]
        sources = [source for source in (*maker.operands, *inner) if source not in seen and source.type is not TOKEN]
        seen.update(sources)
        pending.extend(sources)
    return False


_MOST_ELEMENTS: Final = 1 << 20
_FIRST_WITH_TMA: Final = 90
_ASYNCHRONOUS: Final = "cp.async.bulk.wait_group 0; fence.proxy.async; mov.b32 $0, 0;"
"""Waits for what the accelerator writes for this thread, and has it see what the thread wrote."""
Handler = Callable[["Lowering", Operation], object]
Handlers = Mapping[OperationDeclaration, Handler]


def loop_attributes(entry: Operation, schedule: Schedule) -> dict[Operation, str]:
    features = features_of(entry)
    # Triton does not check whether an iteration loads what the one before stores.
    stages = {loop.operation: 1 for loop in features.loops if not loop.is_early}
    if schedule.row_stages > 1:
        stages.update(dict.fromkeys(features.row_loops, schedule.row_stages))
    return {operation: f"{{tt.num_stages = {count} : i32}}" for operation, count in stages.items()}


class Hidden(NamedTuple):
    """A parameter that the program does not have: what the launcher passes for it, and its type."""

    slot: Slot
    value: TtirValue
    attributes: str


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
        self.hidden: Final[list[Hidden]] = []
        self.loop_attributes: Final = loop_attributes(program.entry, schedule)
        has_matmuls = any(each.declaration in MATMULS for each in pre_order(program.entry))
        self._has_tma: Final = has_matmuls and self.capability >= _FIRST_WITH_TMA
        self._handlers: Final = handlers

    def value(self, value: Value) -> TtirValue:
        return self.values[value]

    def optional(self, value: Value | None) -> TtirValue | None:
        return None if value is None else self.values[value]

    def operands(self, operation: Operation) -> list[TtirValue]:
        return [self.values[value] for value in operation.operands if value in self.values]

    def define(self, value: Value, lowered: TtirValue) -> None:
        """Set what a value is lowered to, which has the type in TTIR of that value."""
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
        """Set the result, given it with all of its dimensions."""
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

    def lower(self, operation: Operation) -> None:
        handler = self._handlers.get(operation.declaration)
        if handler is None:
            if reason := why_not_on_gpu(operation.declaration):
                self.refuse(operation, reason, "backend='cpu'" if is_multimem(operation.declaration) else "no backend")
            self.refuse(operation, "there is no lowering to Triton for it")
        for result in operation.results:
            if isinstance(result.type, TileType) and result.type.count > _MOST_ELEMENTS:
                self.refuse(
                    operation, f"its tile has {result.type.count} elements, and Triton has at most {_MOST_ELEMENTS}"
                )
        before, self.operation = self.operation, operation
        if operation in self.barriers:
            self.fenced_barrier()
        handler(self, operation)
        self.operation = before

    def fenced_barrier(self) -> None:
        """Have all that threads have written seen by all of them, and by the tensor memory accelerator."""
        if self.uses_tma:
            self.effect(_ASYNCHRONOUS, "=r", [], "i32")
        self.barrier()

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
        # Kernels without matmuls are faster by addresses.
        return self.schedule.descriptors and self._has_tma and bool(self.specialization.described)

    def require_ptx(self, operation: Operation, what: str) -> None:
        """Refuse what only NVIDIA's GPUs have an instruction for."""
        if not self.has_ptx:
            self.refuse(operation, f"that GPU has no instruction for {what}", "backend='cpu'")

    def refuse(self, operation: Operation, why: str, instead: str = "backend='tileiras' or 'cpu'") -> NoReturn:
        """Raise an error: why an operation cannot be compiled, and which engine has it."""
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
