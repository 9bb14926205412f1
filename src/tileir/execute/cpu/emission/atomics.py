"""Atomic updates: element by element in row-major order, each an atomic operation of the machine.

Integers and exchanges are one instruction; floats, and everything with a kernel of its own, are a loop around compare
and exchange on the bits, so that results are the interpreter's.  Orderings are at least those the program asks for.
Neighbours are updated together where nobody wants their old values (`neighbouring_atomics`).
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.dialect.ops import ATOMIC_CAS_TKO
from tileir.dialect.types import PointerType
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.emission import accesses, pointers
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.neighbouring_atomics import exchange, update_neighbours
from tileir.execute.cpu.emission.nests import LoopNest, row_major_terms
from tileir.execute.cpu.emission.pointer_bounds import Look, look_at_pointers
from tileir.execute.cpu.emission.unaligned import at_any_address
from tileir.execute.cpu.loops.sinks import Update
from tileir.execute.cpu.vector import instructions
from tileir.execute.cpu.vector.casting import from_bits, to_bits
from tileir.execute.cpu.vector.llvm import Register, literal
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.dtypes import memory_bytes, memory_dtype, value_dtype
from tileir.execute.interpreter.pointers import atomic_kernel
from tileir.ir.types import IntegerType, Type

_INSTRUCTIONS: Final = ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg")
_COMPARED: Final = {"max": "sgt", "min": "slt", "umax": "ugt", "umin": "ult"}


def emit_update(emission: Emission, nest: LoopNest, sink: Update) -> None:
    operation = sink.operation
    compares = operation.declaration is ATOMIC_CAS_TKO
    value = nest.value(sink.expression)
    mask = nest.value(sink.mask) if sink.mask is not None else None
    if sink.pointers is not None:
        address = nest.value(sink.pointers)
        element = pointee_of(operation.operands[0])
        index = nest.index_for(sink.pointers)
        mask, _ = accesses.guarded(nest, operation, sink.pointers.shape, index, mask, nest.depth)
        with nest.at_level(nest.depth):
            look = Look(operation, memory_bytes(element), sink.pointers.shape, index, nest.depth)
            look_at_pointers(emission, look, address, mask)
    else:
        box = emission.boxes[operation]
        element = box.view.tensor.element
        address, mask = accesses.element_address(nest, box, sink.others, nest.index_for(sink.expression))
    others = [nest.value(other) for other in sink.others] if sink.pointers is not None else []
    index = nest.index_for(sink.expression)
    with nest.at_level(nest.depth):
        size = memory_bytes(element)
        order = pointers.order_of(operation)

        def update(address: Register, value: Register) -> str:
            where = emission.builder.pointer(address.name)
            if compares:
                return at_any_address(
                    emission,
                    address,
                    size,
                    lambda: _swap(emission, where, others[0], value, size, order),
                    lambda old: _swapped(emission, old, others[0], value, size),
                )
            mode = operation.keyword("mode")
            return at_any_address(
                emission,
                address,
                size,
                lambda: _modify(emission, where, value, mode, element, order),
                lambda old: _modified(emission, old, value, mode, element),
            )

        def one(address: Register, value: Register, mask: Register | None) -> str:
            return emission.builder.where(mask, f"i{8 * size}", lambda: update(address, value))

        if nest.lanes > 1:
            update_neighbours(nest, sink, address, value, mask, one)
            return
        old_bits = one(address, value, mask)
        if sink.pointers is None:
            return
        result = operation.results[0]
        if not result.has_uses:
            return
        old = instructions.from_memory(
            emission.builder, element, from_bits(emission.builder, old_bits, memory_dtype(element))
        )
        if mask is not None:
            dtype = value_dtype(element)
            masked = others[0] if compares else literal(numpy.zeros((), dtype)[()], dtype)
            old = accesses.either(emission.builder, mask, old, masked)
        if sink.buffer is None:
            emission.put(result, old)
            return
        terms = row_major_terms(index, sink.expression.shape, old.dtype.itemsize)
        nest.store(emission.buffer(sink.buffer), terms, old, emission.arena_suffix)


def _swap(emission: Emission, where: str, expected: Register, new: Register, size: int, order: str) -> str:
    bits = f"i{8 * size}"
    wanted, replacement = to_bits(emission.builder, expected), to_bits(emission.builder, new)
    failure = "acquire" if order in ("acquire", "acq_rel") else "monotonic"
    pair = emission.builder.emit(
        f"cmpxchg ptr {where}, {bits} {wanted}, {bits} {replacement} {order} {failure}, align {size}"
    )
    return emission.builder.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 0")


def _swapped(emission: Emission, old: str, expected: Register, new: Register, size: int) -> str:
    """What is in memory after a comparison and exchange."""
    bits = f"i{8 * size}"
    same = emission.builder.emit(f"icmp eq {bits} {old}, {to_bits(emission.builder, expected)}")
    return emission.builder.emit(f"select i1 {same}, {bits} {to_bits(emission.builder, new)}, {bits} {old}")


def _instruction(mode: str, element: Type) -> str | None:
    """The instruction that does the whole of an update, if there is one."""
    if isinstance(element, (IntegerType, PointerType)) or mode == "xchg":
        return mode if mode in _INSTRUCTIONS else None
    return None


def _modified(emission: Emission, old: str, value: Register, mode: str, element: Type) -> str:
    """What is in memory after an update."""
    builder = emission.builder
    bits = f"i{8 * memory_bytes(element)}"
    instruction = _instruction(mode, element)
    if instruction is None:
        changed = trace(
            builder, atomic_kernel(mode, element), [from_bits(emission.builder, old, memory_dtype(element)), value]
        )
        return to_bits(emission.builder, changed)
    operand = to_bits(emission.builder, value)
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
        operand = to_bits(emission.builder, value)
        return builder.emit(f"atomicrmw {instruction} ptr {where}, {bits} {operand} {order}, align {size}")
    return exchange(builder, where, size, order, lambda old: _modified(emission, old, value, mode, element))
