"""Lowering of loads and stores: through tiles of pointers, and through views by descriptors or addresses."""

from __future__ import annotations

from typing import Final, cast

from tileir.dialect.ops import ALLOCA
from tileir.execute.analysis.values import pointee_of, reserved_bytes
from tileir.execute.gpu.triton.code import Slot
from tileir.execute.gpu.triton.lowering import descriptors
from tileir.execute.gpu.triton.lowering.accesses import access_of
from tileir.execute.gpu.triton.lowering.addresses import addresses, from_memory, inside, memory_zero, padding, to_memory
from tileir.execute.gpu.triton.lowering.atomics import ordered_load, ordered_store, wait_for_others
from tileir.execute.gpu.triton.lowering.context import Lowering, block_number
from tileir.execute.gpu.triton.lowering.ttir_values import TtirValue
from tileir.ir.attributes import SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.traversal import pre_order

_MOST_ALIGNMENT: Final = 256
"""Bytes; what the driver aligns memory to."""


def lower_offset(build: Lowering, operation: Operation) -> None:
    pointers, offsets = build.operands(operation)
    build.result(operation, build.advance(pointers, _counted(build, offsets)))


def _counted(build: Lowering, offsets: TtirValue) -> TtirValue:
    """Offsets, which are signed, in at least the 32 bits that Triton counts in."""
    return build.convert("arith.extsi", offsets, "i32") if offsets.bits < 32 else offsets


def lower_load_pointers(build: Lowering, operation: Operation) -> None:
    wait_for_others(build, operation)
    pointers = build.value(operation.operands[0])
    element = pointee_of(operation.operands[0])
    mask = build.optional(operation.mask)
    given = build.optional(operation.padding_value)
    other: TtirValue | None = None
    if mask is not None:
        zero = memory_zero(build, element, pointers.shape)
        other = zero if given is None else to_memory(build, element, given)
    if operation.memory_ordering_semantics == "weak":
        loaded = build.load(pointers, mask, other)
    else:
        loaded = ordered_load(build, operation, pointers, mask, other)
    build.result(operation, from_memory(build, element, loaded))


def lower_store_pointers(build: Lowering, operation: Operation) -> None:
    wait_for_others(build, operation)
    pointers, value = [build.value(operand) for operand in operation.operands[:2]]
    mask = build.optional(operation.mask)
    stored = to_memory(build, pointee_of(operation.operands[0]), value)
    if operation.memory_ordering_semantics == "weak":
        build.store(pointers, stored, mask)
    else:
        ordered_store(build, operation, pointers, stored, mask)


# --- memory that is no argument ---


def lower_alloca(build: Lowering, operation: Operation) -> None:
    """A part, of the tile block's own, of a buffer that the launcher has for all of them."""
    places, size = _reserved(build.program.entry)
    base = build.parameter(
        Slot("scratch", (size, _MOST_ALIGNMENT)), "!tt.ptr<i8>", f" {{tt.divisibility = {_MOST_ALIGNMENT} : i32}}"
    )
    distance = build.apply("arith.muli", block_number(build), size)
    pointer = build.advance(base, build.apply("arith.addi", distance, places[operation]))
    alignment = operation.alignment
    if alignment > _MOST_ALIGNMENT:
        number = build.apply("arith.addi", build.reinterpret("tt.ptr_to_int", pointer, "i64"), alignment - 1)
        pointer = build.reinterpret("tt.int_to_ptr", build.apply("arith.andi", number, -alignment), "!tt.ptr<i8>")
    build.result(operation, build.bitcast(pointer, build.type_of(operation.results[0])[0]))


def _reserved(entry: Operation) -> tuple[dict[Operation, int], int]:
    """Where each `alloca` has its memory, and how much a tile block has in all.

    One in a loop has the same each time around: what it had is free by then.
    """
    places: dict[Operation, int] = {}
    size = 0
    for operation in pre_order(entry):
        if operation.declaration is ALLOCA:
            alignment = operation.alignment
            size = -(-size // min(alignment, _MOST_ALIGNMENT)) * min(alignment, _MOST_ALIGNMENT)
            places[operation] = size
            size += max(reserved_bytes(operation), 1) + (alignment if alignment > _MOST_ALIGNMENT else 0)
    return places, -(-size // _MOST_ALIGNMENT) * _MOST_ALIGNMENT


def lower_global(build: Lowering, operation: Operation) -> None:
    (name,) = cast(SymbolAttribute, operation.attributes["name"]).path
    element = build.type_of(operation.results[0])[0]
    build.result(operation, build.parameter(Slot("global", name), element, " {tt.divisibility = 16 : i32}"))


def lower_load_view(build: Lowering, operation: Operation) -> None:
    wait_for_others(build, operation)
    access = access_of(build, operation)
    by = descriptors.described(build, operation, access)
    if by is not None:
        value = descriptors.load(build, access, by)
    else:
        pointers, mask = addresses(build, access), inside(build, access)
        other = padding(build, access.type, pointers.shape) if mask is not None else None
        if operation.memory_ordering_semantics == "weak":
            loaded = build.load(pointers, mask, other)
        else:
            loaded = ordered_load(build, operation, pointers, mask, other)
        value = from_memory(build, access.type.tensor.element, loaded)
    build.result(operation, value)


def lower_store_view(build: Lowering, operation: Operation) -> None:
    wait_for_others(build, operation)
    access = access_of(build, operation)
    value = build.value(operation.tile)
    by = descriptors.described(build, operation, access)
    if by is not None:
        descriptors.store(build, access, by, value)
        return
    stored = to_memory(build, access.type.tensor.element, value)
    pointers, mask = addresses(build, access), inside(build, access)
    if operation.memory_ordering_semantics == "weak":
        build.store(pointers, stored, mask)
    else:
        ordered_store(build, operation, pointers, stored, mask)
