"""Loads and stores through tiles of pointers, inside loop nests.

An access through pointers is a gather or scatter, unless the pointers of neighboring lanes look like neighbors in the
program (an `iota` plus something uniform).  Where no integer wraps on the way (`affine_tiles`) they are; elsewhere a
test at run time, made for every vector, chooses between one vector access and the gather.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

import numpy

from tileir.dialect.ops import ADDI, EXTI, MULI, OFFSET, REMI, SUBI
from tileir.execute.analysis.values import ordering_of, pointee_of, scalar_constant
from tileir.execute.cpu.codegen import bounds, nontemporal, view_access
from tileir.execute.cpu.codegen.bounds import BasedPointers, BoundsCheck, accessed_array
from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.codegen.loop_nest import FIRST, Axis, Index, NestEmitter
from tileir.execute.cpu.ir.expressions import (
    BufferRead,
    Elementwise,
    Expression,
    Iota,
    Mapped,
    PointerLoad,
    Splat,
    Table,
)
from tileir.execute.cpu.ir.statements import StorePointers
from tileir.execute.cpu.vector import instructions
from tileir.execute.cpu.vector.builder import Loop
from tileir.execute.cpu.vector.casting import BOOL, INT64, from_bits, to_bits
from tileir.execute.cpu.vector.llvm import Register, literal, storage_type
from tileir.execute.dtypes import DType, memory_bytes, memory_dtype
from tileir.ir.core import Operation


def load_pointers(nest: NestEmitter, expression: PointerLoad, index: Index) -> tuple[Register, int]:
    element = expression.element
    access = _PointerAccess(nest, expression, index, 0)
    mask, level = access.mask, access.level
    with nest.at_level(level):
        if mask is not None and mask.width and not access.is_run and not is_ordered(expression.operation):
            access.pointers = nest.builder.splat(access.pointers, nest.lanes)
        loaded = access.emit(memory_dtype(element))
    padding = literal(numpy.zeros((), expression.dtype)[()], expression.dtype)
    if mask is not None and expression.padding is not None:
        padding, padding_level = nest.at(expression.padding, index)
        level = max(level, padding_level)
    with nest.at_level(level):
        value = instructions.from_memory(nest.builder, element, loaded)
        return value if mask is None else view_access.either(nest.builder, mask, value, padding), level


def store_pointers(nest: NestEmitter, store: StorePointers) -> None:
    index = nest.index_for(store.pointers)
    access = _PointerAccess(nest, store, index, nest.depth)
    register = nest.value(store.expression)
    with nest.at_level(nest.depth):
        stored = instructions.to_memory(nest.builder, store.expression.element, register)
        if not is_ordered(store.operation) and not access.is_run and any(axis.lanes for axis in index):
            access.pointers = nest.builder.splat(access.pointers, nest.lanes)
            stored = nest.builder.splat(stored, nest.lanes)
        access.emit(stored.dtype, stored)


class _PointerAccess:
    """The access of one vector, or of one element, at an index and a level that is at least the given one."""

    def __init__(self, nest: NestEmitter, access: PointerLoad | StorePointers, index: Index, level: int) -> None:
        operation, proven = access.operation, nest.emission.proven
        self.nest: NestEmitter = nest
        self.emission: Emission = nest.emission
        self.expression: Expression = access.pointers
        size = memory_bytes(pointee_of(operation.operands[0]))
        step = lane_step(access.pointers, index)
        self.looks_contiguous: bool = step == size
        self.is_run: bool = operation in proven and step == size  # Lanes are neighbors: one pointer is computed
        self.pointers, known = nest.at(access.pointers, first_lanes(index) if self.is_run else index)
        level = max(level, known)
        mask: Register | None = None
        if access.mask is not None and not proven.get(operation, False):
            mask, known = nest.at(access.mask, index)
            level = max(level, known)
        self.mask, self.level = view_access.guarded(nest, operation, access.pointers.shape, index, mask, level)
        self.check: BoundsCheck = BoundsCheck(operation, size, access.pointers.shape, index, self.level)
        self.based: BasedPointers | None = None
        self.stored: Register | None = None

    def emit(self, dtype: DType, stored: Register | None = None) -> Register:
        """The loaded value, or the stored one."""
        self.dtype: DType = dtype
        self.stored = stored
        operation, builder = self.check.operation, self.nest.builder
        if is_ordered(operation):
            self._check()
            return self._atomic()
        if self.is_run:
            where = builder.pointer(self.pointers.name)
            loaded = self._contiguous(where)
            distance = self.emission.prefetch_distances.get(operation, 0)
            if stored is None and distance != 0:
                nontemporal.prefetch(self.nest, where, distance, self.check.size)
            return loaded
        if not self.looks_contiguous or not self.pointers.width:
            self.based = self._based_pointers()
            return self._scattered()
        # Without a base array they may be anywhere: checked before all.
        unchecked = bounds.is_unchecked(self.emission, operation)
        has_array = accessed_array(self.emission, operation) is not None
        if not unchecked and not has_array:
            self._check()
        near, where = neighbors(self.nest, self.pointers, self.check.size)
        if has_array and not unchecked:
            inside = bounds.is_in_array(
                self.emission, operation, builder.address(where), self.nest.lanes * self.check.size
            )
            near = builder.emit(f"and i1 {near}, {inside}")

        def far() -> Register:
            if has_array:
                self._check()
            return self._vector(self.mask)

        return self._either(near, lambda: self._contiguous(where), far)

    def _check(self) -> None:
        bounds.check_pointers(self.emission, self.check, self.pointers, self.mask, self.based)

    def _contiguous(self, where: str) -> Register:
        size, suffix = self.check.size, self.emission.memory_suffix
        if self.stored is None:
            return self.nest.load_at(where, size, self.dtype, suffix, self.mask)
        self.nest.store_at(where, size, self.stored, suffix, self.mask)
        return self.stored

    def _vector(self, mask: Register | None) -> Register:
        return view_access.access_vector(self.nest, self.pointers, self.stored or self.dtype, mask, self.based)

    def _either(
        self, condition: str, then: Callable[[], Register], otherwise: Callable[[], Register], likely: bool = False
    ) -> Register:
        """One way where an i1 holds, another elsewhere; vectors as they lie in memory."""
        type = f"<{self.nest.lanes} x {storage_type(self.dtype)}>"

        def part(way: Callable[[], Register]) -> list[str]:
            found = way()
            return [f"{type} {found.name}"] if self.stored is None else []

        found = self.nest.builder.branch(condition, lambda: part(then), lambda: part(otherwise), likely)
        return Register(found[0], self.dtype, self.nest.lanes) if self.stored is None else self.stored

    def _based_pointers(self) -> BasedPointers | None:
        expression = self.expression
        if not isinstance(expression, Elementwise) or expression.operation.declaration is not OFFSET:
            return None
        base, numbers = expression.operands
        if not isinstance(base, Splat):
            return None
        found, _ = self.nest.at(numbers, self.check.index)
        if not found.width or found.dtype == BOOL:
            return None
        return BasedPointers(self.nest, self.emission.scalars[base.scalar], found)

    def _scattered(self) -> Register:
        """A gather or scatter.  Without an instruction for it, LLVM tests the mask lane by lane: so one test before
        checks whether all lanes are accessed and in their array."""

        def some() -> Register:
            self._check()
            return self._vector(self.mask)

        mask, builder, target = self.mask, self.nest.builder, self.emission.target
        has_instruction = "avx2" in target.enabled if self.stored is None else target.has_avx512
        if has_instruction or mask is None or not mask.width or not self.pointers.width:
            return some()
        plain = mask
        if not bounds.is_unchecked(self.emission, self.check.operation):
            in_array = bounds.are_in_array(self.emission, self.check, self.pointers, self.based)
            if in_array is None:
                return some()
            plain = builder.value(f"and {mask.typed}, {in_array.name}", BOOL, mask.width)
        all_plain = builder.call("i1", f"llvm.vector.reduce.and.v{mask.width}i1", [plain.typed])
        return self._either(all_plain, lambda: self._vector(None), some, likely=True)

    def _atomic(self) -> Register:
        builder, stored, size = self.nest.builder, self.stored, self.check.size
        order, type = order_of(self.check.operation), f"i{8 * size}"
        bits = to_bits(builder, stored) if stored is not None else ""
        where = builder.pointer(self.pointers.name)

        def access() -> str:
            if stored is None:
                return builder.emit(f"load atomic {type}, ptr {where} {order}, align {size}")
            builder.do(f"store atomic {type} {bits}, ptr {where} {order}, align {size}")
            return "0"

        def anywhere() -> str:
            return at_any_address(self.emission, self.pointers, size, access, lambda old: bits or None)

        found = builder.where(self.mask, type if stored is None else "", anywhere)
        return from_bits(builder, found, self.dtype) if stored is None else stored


def first_lanes(index: Index) -> Index:
    return tuple([Axis(axis.base, False, axis.level) if axis.lanes else axis for axis in index])


def lane_step(expression: Expression, index: Index) -> int | None:
    """How far values of neighboring lanes are apart, if no integer wraps and remainders change nothing; None where that
    is not known."""
    if not any(axis.lanes for axis in index):
        return 0
    if isinstance(expression, Splat) or (isinstance(expression, Table) and expression.array.size == 1):
        return 0
    if isinstance(expression, Iota):
        return 1
    if isinstance(expression, Mapped):
        axes = [index[axis] if axis is not None else FIRST for axis, _ in expression.mapping]
        return lane_step(expression.source, tuple(axes))
    if isinstance(expression, BufferRead) and expression.counted is not None:
        return lane_step(expression.counted, index)
    if not isinstance(expression, Elementwise):
        return None
    declaration = expression.operation.declaration
    steps = [lane_step(operand, index) for operand in expression.operands]
    if None in steps:
        return None
    if declaration is EXTI or not any(steps):
        return steps[0] if declaration is EXTI else 0
    first, second = (cast(int, steps[0]), cast(int, steps[1])) if len(steps) == 2 else (0, 0)
    if declaration is ADDI:
        return first + second
    if declaration is SUBI:
        return first - second
    if declaration is REMI:
        return first if second == 0 else None
    if declaration is MULI:
        factor = _uniform_constant(expression.operands[1 if first else 0])
        return None if factor is None or (first and second) else (first + second) * factor
    if declaration is OFFSET:
        return first + second * memory_bytes(pointee_of(expression.operation.results[0]))
    return None


def _uniform_constant(expression: Expression) -> int | None:
    if isinstance(expression, Table) and expression.array.size == 1:
        return int(expression.array.reshape(-1)[0])
    if isinstance(expression, Mapped):
        return _uniform_constant(expression.source)
    return scalar_constant(expression.scalar) if isinstance(expression, Splat) else None


def neighbors(nest: NestEmitter, pointers: Register, size: int) -> tuple[str, str]:
    """An i1: lanes are neighbors in memory; and the pointer of the first."""
    builder, lanes = nest.builder, nest.lanes
    first = builder.emit(f"extractelement {pointers.typed}, i64 0")
    where = builder.pointer(first)
    spread = builder.splat(Register(first, INT64), lanes)
    text = ", ".join([f"i64 {lane * size}" for lane in range(lanes)])
    expected = builder.emit(f"add {spread.typed}, <{text}>")
    differs = builder.emit(f"icmp ne <{lanes} x i64> {pointers.name}, {expected}")
    bits = builder.emit(f"bitcast <{lanes} x i1> {differs} to i{lanes}")
    return builder.emit(f"icmp eq i{lanes} {bits}, 0"), where


_ORDERS: Final = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}


def order_of(operation: Operation) -> str:
    return _ORDERS.get(ordering_of(operation), "monotonic")


def is_ordered(operation: Operation) -> bool:
    """Whether elements are accessed one by one, each atomically."""
    return ordering_of(operation) != "weak"


def at_any_address(
    emission: Emission, address: Register, size: int, emit: Callable[[], str], change: Callable[[str], str | None]
) -> str:
    """Emit an atomic access that returns the old bits.  At a misaligned address, a lock guards `change` instead."""
    if size == 1:
        return emit()
    builder = emission.builder
    bits = f"i{8 * size}"
    rest = builder.emit(f"and i64 {address.name}, {size - 1}")
    is_aligned = builder.emit(f"icmp eq i64 {rest}, 0")

    def locked() -> list[str]:
        lock = emission.frame.slot_pointer(emission.layout.lock)

        def busy() -> str:
            pair = builder.emit(f"cmpxchg ptr {lock}, i64 0, i64 1 acquire monotonic, align 8")
            taken = builder.emit(f"extractvalue {{ i64, i1 }} {pair}, 1")
            return builder.emit(f"xor i1 {taken}, true")

        Loop(builder).write(lambda: None, busy)
        where = builder.pointer(address.name)
        old = builder.emit(f"load {bits}, ptr {where}, align 1")
        new = change(old)
        if new is not None:
            builder.do(f"store {bits} {new}, ptr {where}, align 1")
        builder.do(f"store atomic i64 0, ptr {lock} release, align 8")
        return [f"{bits} {old}"]

    (found,) = builder.branch(is_aligned, lambda: [f"{bits} {emit()}"], locked, likely=True)
    return found
