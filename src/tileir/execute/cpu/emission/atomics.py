"""Atomic updates: element by element in row-major order, each an atomic operation of the machine.

Integers and exchanges are one instruction; floats, and everything with a kernel of its own, are a loop around compare
and exchange on the bits, so that results are the interpreter's.  Orderings are at least those the program asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.cpu.emission import accesses, pointers
from tileir.execute.cpu.emission.nests import NestEmission, Term
from tileir.execute.cpu.emission.unaligned import at_any_address
from tileir.execute.cpu.loops.expressions import row_major
from tileir.execute.cpu.loops.sinks import Update
from tileir.execute.cpu.vector import instructions
from tileir.execute.cpu.vector.llvm import Register, literal
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.dtypes import memory_bytes, memory_dtype, value_dtype
from tileir.execute.interpreter.pointers import atomic_kernel
from tileir.ir.attributes import EnumAttribute
from tileir.ir.types import IntegerType, Type

if TYPE_CHECKING:
    from tileir.execute.cpu.emission.worker import Emission

_INSTRUCTIONS: Final = {
    "and": "and", "or": "or", "xor": "xor", "add": "add", "max": "max", "min": "min", "umax": "umax", "umin": "umin",
    "xchg": "xchg",
}  # fmt: skip
_COMPARED: Final = {"max": "sgt", "min": "slt", "umax": "ugt", "umin": "ult"}


def emit_update(emission: Emission, nest: NestEmission, sink: Update) -> None:
    operation = sink.operation
    mnemonic = operation.declaration.mnemonic
    value = nest.value(sink.expression)
    mask = nest.value(sink.mask) if sink.mask is not None else None
    if sink.pointers is not None:
        address = nest.value(sink.pointers)
        element = cast(PointerType, cast(TileType, operation.operands[0].type).element).pointee
        index = nest.index_for(sink.pointers)
        mask, _ = accesses.guarded(nest, operation, sink.pointers.shape, index, mask, nest.depth)
        with nest.at_level(nest.depth):
            look = accesses.Look(operation, memory_bytes(element), sink.pointers.shape, index, nest.depth)
            emission.bounds.look_at_pointers(look, address, mask)
    else:
        box = emission.box(operation)
        element = box.view.tensor.element
        address, mask = _view_address(emission, nest, sink)
    others = [nest.value(other) for other in sink.others] if sink.pointers is not None else []
    index = nest.index_for(sink.expression)
    with nest.at_level(nest.depth):
        where = emission.pointer(address.name)
        size = memory_bytes(element)
        order = pointers.order_of(operation)

        def update() -> str:
            if mnemonic == "atomic_cas_tko":
                return at_any_address(
                    emission,
                    address,
                    size,
                    lambda: _swap(emission, where, others[0], value, size, order),
                    lambda old: _swapped(emission, old, others[0], value, size),
                )
            mode = cast(EnumAttribute, operation.attributes["mode"]).keyword
            return at_any_address(
                emission,
                address,
                size,
                lambda: _modify(emission, where, value, mode, element, order),
                lambda old: _modified(emission, old, value, mode, element),
            )

        old_bits = emission.conditional(mask, f"i{8 * size}", update)
        if sink.pointers is None:
            return
        result = operation.results[0]
        if not result.has_uses:
            return
        old = instructions.from_memory(emission.builder, element, emission.from_bits(old_bits, memory_dtype(element)))
        if mask is not None:
            dtype = value_dtype(element)
            masked = others[0] if mnemonic == "atomic_cas_tko" else literal(numpy.zeros((), dtype)[()], dtype)
            old = accesses.either(emission.builder, mask, old, masked)
        if sink.buffer is None:
            emission.put(result, old)
            return
        terms: list[Term] = [
            (axis, stride * old.dtype.itemsize)
            for axis, stride in zip(index, row_major(sink.expression.shape), strict=True)
        ]
        place, _, _ = nest.place(emission.buffer(sink.buffer), terms)
        nest.store_at(place, None, old, emission.arena_suffix)


def _view_address(emission: Emission, nest: NestEmission, sink: Update) -> tuple[Register, Register | None]:
    """The address of an element through a view, and whether it lies in the tensor."""
    box = emission.box(sink.operation)
    return accesses.element_address(nest, box, sink.others, nest.index_for(sink.expression))


def _swap(emission: Emission, where: str, expected: Register, new: Register, size: int, order: str) -> str:
    bits = f"i{8 * size}"
    wanted, replacement = emission.to_bits(expected), emission.to_bits(new)
    failure = "acquire" if order in ("acquire", "acq_rel") else "monotonic"
    pair = emission.builder.emit(
        f"cmpxchg ptr {where}, {bits} {wanted}, {bits} {replacement} {order} {failure}, align {size}"
    )
    return emission.builder.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 0")


def _swapped(emission: Emission, old: str, expected: Register, new: Register, size: int) -> str:
    """What is in memory after a comparison and exchange."""
    bits = f"i{8 * size}"
    same = emission.builder.emit(f"icmp eq {bits} {old}, {emission.to_bits(expected)}")
    return emission.builder.emit(f"select i1 {same}, {bits} {emission.to_bits(new)}, {bits} {old}")


def _instruction(mode: str, element: Type) -> str | None:
    """The instruction that does the whole of an update, if there is one."""
    if isinstance(element, (IntegerType, PointerType)) or mode == "xchg":
        return _INSTRUCTIONS.get(mode)
    return None


def _modified(emission: Emission, old: str, value: Register, mode: str, element: Type) -> str:
    """What is in memory after an update."""
    builder = emission.builder
    bits = f"i{8 * memory_bytes(element)}"
    instruction = _instruction(mode, element)
    if instruction is None:
        changed = trace(builder, atomic_kernel(mode, element), [emission.from_bits(old, memory_dtype(element)), value])
        return emission.to_bits(changed)
    operand = emission.to_bits(value)
    if instruction == "xchg":
        return operand
    if instruction in _COMPARED:
        greater = builder.emit(f"icmp {_COMPARED[instruction]} {bits} {old}, {operand}")
        return builder.emit(f"select i1 {greater}, {bits} {old}, {bits} {operand}")
    return builder.emit(f"{instruction} {bits} {old}, {operand}")


def _modify(emission: Emission, where: str, value: Register, mode: str, element: Type, order: str) -> str:
    builder = emission.builder
    size = memory_bytes(element)
    bits = f"i{8 * size}"
    instruction = _instruction(mode, element)
    if instruction is not None:
        operand = emission.to_bits(value)
        return builder.emit(f"atomicrmw {instruction} ptr {where}, {bits} {operand} {order}, align {size}")
    kernel = atomic_kernel(mode, element)
    name = builder.fresh("cas")
    first = builder.emit(f"load atomic {bits}, ptr {where} monotonic, align {size}")
    builder.do(f"br label %{name}.before")
    builder.label(f"{name}.before")
    builder.do(f"br label %{name}.head")
    builder.label(f"{name}.head")
    builder.lines.append(f"  %{name}.old = phi {bits} [ {first}, %{name}.before ], [ %{name}.seen, %{name}.latch ]")
    dtype = memory_dtype(element)
    old = emission.from_bits(f"%{name}.old", dtype)
    new = trace(builder, kernel, [old, value])
    changed = emission.to_bits(new)
    failure = "acquire" if order in ("acquire", "acq_rel") else "monotonic"
    pair = builder.emit(f"cmpxchg ptr {where}, {bits} %{name}.old, {bits} {changed} {order} {failure}, align {size}")
    builder.do(f"br label %{name}.latch")
    builder.label(f"{name}.latch")
    builder.lines.append(f"  %{name}.seen = extractvalue {{ {bits}, i1 }} {pair}, 0")
    done = builder.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 1")
    builder.do(f"br i1 {done}, label %{name}.end, label %{name}.head")
    builder.label(f"{name}.end")
    return f"%{name}.old"
