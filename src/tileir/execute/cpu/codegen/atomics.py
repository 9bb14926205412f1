"""Atomic updates: element by element in row-major order, each an atomic operation of the machine.

Integers and exchanges are one instruction; floats, and everything with a kernel of its own, are a compare-exchange loop
on the bits, so that results are the interpreter's.  Orderings are at least those of the program.

Where the program ignores the old values and computes its pointers, one 8-byte compare-exchange updates all elements in
those bytes.  One test per vector checks that its lanes are neighbors, aligned to 8 and all updated.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final

import numpy

from tileir.dialect.ops import ATOMIC_CAS_TKO
from tileir.dialect.types import PointerType
from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.codegen import view_access
from tileir.execute.cpu.codegen.bounds import BoundsCheck, check_pointers
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.codegen.loop_nest import NestEmitter, row_major_terms
from tileir.execute.cpu.codegen.pointer_access import at_any_address, neighbors, order_of
from tileir.execute.cpu.ir.statements import EXCHANGED_BYTES, AtomicUpdate, Store, updated_together
from tileir.execute.cpu.vector import instructions
from tileir.execute.cpu.vector.builder import Builder, Loop, Number
from tileir.execute.cpu.vector.casting import from_bits, to_bits
from tileir.execute.cpu.vector.lanes import shuffled
from tileir.execute.cpu.vector.llvm import Register, literal, value_type
from tileir.execute.cpu.vector.tracing import trace
from tileir.execute.dtypes import memory_bytes, memory_dtype, value_dtype
from tileir.execute.interpreter.pointers import atomic_kernel
from tileir.ir.core import Operation
from tileir.ir.types import FloatType, IntegerType, Type

_INSTRUCTIONS: Final = ("and", "or", "xor", "add", "max", "min", "umax", "umin", "xchg")
_WIDE: Final = f"i{8 * EXCHANGED_BYTES}"


def emit_update(emission: Emission, nest: NestEmitter, store: AtomicUpdate) -> None:
    operation, builder = store.operation, emission.builder
    compares = operation.declaration is ATOMIC_CAS_TKO
    value = nest.value(store.expression)
    mask = nest.value(store.mask) if store.mask is not None else None
    others: list[Register] = []
    if store.pointers is not None:
        address = nest.value(store.pointers)
        element = pointee_of(operation.operands[0])
        index = nest.index_for(store.pointers)
        mask, _ = view_access.guarded(nest, operation, store.pointers.shape, index, mask, nest.depth)
        with nest.at_level(nest.depth):
            check = BoundsCheck(operation, memory_bytes(element), store.pointers.shape, index, nest.depth)
            check_pointers(emission, check, address, mask)
        others = [nest.value(other) for other in store.others]
    else:
        access = emission.tile_accesses[operation]
        element = access.view.tensor.element
        address, mask = view_access.element_address(nest, access, store.others, nest.index_for(store.expression))
    index = nest.index_for(store.expression)
    with nest.at_level(nest.depth):
        size, expected = memory_bytes(element), others[0] if compares else None

        def update(address: Register, value: Register) -> str:
            emit, change = _update(builder, operation, element, builder.pointer(address.name), value, expected)
            return at_any_address(emission, address, size, emit, change)

        def one(address: Register, value: Register, mask: Register | None) -> str:
            return builder.where(mask, f"i{8 * size}", lambda: update(address, value))

        if nest.lanes > 1:
            _update_neighbors(nest, operation, address, value, mask, one)
            return
        old_bits = one(address, value, mask)
        if store.pointers is None or not operation.results[0].has_uses:
            return
        old = instructions.from_memory(builder, element, from_bits(builder, old_bits, memory_dtype(element)))
        if mask is not None:
            dtype = value_dtype(element)
            old = view_access.either(builder, mask, old, expected or literal(numpy.zeros((), dtype)[()], dtype))
        if store.buffer is None:
            emission.put(operation.results[0], old)
            return
        terms = row_major_terms(index, store.expression.shape, old.dtype.itemsize)
        nest.store(emission.buffer(store.buffer), terms, old, emission.scratch_suffix)


def _mode(operation: Operation, element: Type) -> str:
    """The mode of an atomic; a multimem reduction adds floats and integers by one name."""
    mode = operation.keyword("mode") or operation.keyword("reduction")
    return "addf" if mode == "add" and isinstance(element, FloatType) else mode


def _update(
    builder: Builder, operation: Operation, element: Type, where: str, value: Register, expected: Register | None
) -> tuple[Callable[[], str], Callable[[str], str]]:
    """Two functions: one emits an atomic update and returns the old bits, one computes the new bits from them."""
    size, order = memory_bytes(element), order_of(operation)
    bits = f"i{8 * size}"
    mode = _mode(operation, element) if expected is None else ""

    def change(old: str) -> str:
        if expected is not None:
            same = builder.emit(f"icmp eq {bits} {old}, {to_bits(builder, expected)}")
            return builder.emit(f"select i1 {same}, {bits} {to_bits(builder, value)}, {bits} {old}")
        operands = [from_bits(builder, old, memory_dtype(element)), value]
        return to_bits(builder, trace(builder, atomic_kernel(mode, element), operands))

    def emit() -> str:
        if expected is not None:
            old, replacement = to_bits(builder, expected), to_bits(builder, value)
            operands = f"ptr {where}, {bits} {old}, {bits} {replacement} {order} {_on_failure(order)}, align {size}"
            return builder.emit(f"extractvalue {{ {bits}, i1 }} {builder.emit(f'cmpxchg {operands}')}, 0")
        if mode == "xchg" or (mode in _INSTRUCTIONS and isinstance(element, (IntegerType, PointerType))):
            operand = to_bits(builder, value)
            return builder.emit(f"atomicrmw {mode} ptr {where}, {bits} {operand} {order}, align {size}")
        return _exchange(builder, where, size, order, change)

    return emit, change


def _on_failure(order: str) -> str:
    return "acquire" if order in ("acquire", "acq_rel") else "monotonic"


def _exchange(builder: Builder, where: str, size: int, order: str, change: Callable[[str], str]) -> str:
    """Replace bytes by what `change` returns for their bits, until no other thread interferes; returns the old bits."""
    bits = f"i{8 * size}"
    loop = Loop(builder)
    old = loop.carry(bits, builder.emit(f"load atomic {bits}, ptr {where} monotonic, align {size}"))
    pair = ""

    def attempt() -> None:
        nonlocal pair
        orders = f"{order} {_on_failure(order)}"
        pair = builder.emit(f"cmpxchg ptr {where}, {bits} {old}, {bits} {change(old)} {orders}, align {size}")

    def failed() -> str:
        loop.becomes(old, builder.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 0"))
        done = builder.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 1")
        return builder.emit(f"xor i1 {done}, true")

    loop.write(attempt, failed)
    return old


def update_lanes(emission: Emission, stores: list[Store]) -> int:
    """The lanes of a loop nest with atomic updates; none where elements go one by one."""
    (store,) = [each for each in stores if isinstance(each, AtomicUpdate)]
    if emission.sanitize or store.pointers is None or prod(store.expression.shape) == 1:
        return 0
    return updated_together(store.operation, store.pointers, emission.target)


def _update_neighbors(
    nest: NestEmitter,
    operation: Operation,
    addresses: Register,
    value: Register,
    mask: Register | None,
    one: Callable[[Register, Register, Register | None], object],
) -> None:
    """Update elements at the addresses of a vector; `one` does it for a single one: address, value and mask."""
    builder, lanes = nest.builder, nest.lanes
    element = pointee_of(operation.operands[0])
    size, dtype = memory_bytes(element), memory_dtype(element)
    addresses, value = builder.splat(addresses, lanes), builder.splat(value, lanes)
    mask = builder.splat(mask, lanes) if mask is not None else None

    def lane(vector: Register, number: Number) -> Register:
        return builder.value(f"extractelement {vector.typed}, i64 {number}", vector.dtype)

    def one_lane(number: Number) -> None:
        address, single = lane(addresses, number), lane(value, number)
        one(address, single, lane(mask, number) if mask is not None else None)

    def each() -> None:
        builder.count(0, lanes, 1, one_lane)

    if lanes * size < EXCHANGED_BYTES:
        each()
        return
    are_near, where = neighbors(nest, addresses, size)
    first = builder.emit(f"extractelement {addresses.typed}, i64 0")
    conditions = [are_near, builder.emit(f"icmp eq i64 {builder.emit(f'and i64 {first}, {EXCHANGED_BYTES - 1}')}, 0")]
    if mask is not None:
        conditions.append(builder.call("i1", f"llvm.vector.reduce.and.v{lanes}i1", [mask.typed]))
    kernel = atomic_kernel(operation.keyword("mode"), element)

    def together() -> None:
        count = EXCHANGED_BYTES // size
        for start in range(0, lanes, count):
            some = shuffled(builder, value, value, list(range(start, start + count)))

            def change(old: str, some: Register = some) -> str:
                type = value_type(dtype, some.width)
                before = builder.value(f"bitcast {_WIDE} {old} to {type}", dtype, some.width)
                return builder.emit(f"bitcast {trace(builder, kernel, [before, some]).typed} to {_WIDE}")

            _exchange(builder, builder.moved(where, start * size), EXCHANGED_BYTES, order_of(operation), change)

    builder.branch(builder.all_of(conditions), together, each, likely=True)
