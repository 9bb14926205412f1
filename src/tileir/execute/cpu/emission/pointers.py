"""Loads and stores through tiles of pointers, inside nests.

An access through pointers is a gather or scatter, unless the pointers of neighbouring lanes look like neighbours in
the program (an `iota` plus something uniform).  Where it is known that no integer wraps on the way (`ranges`) they are;
elsewhere a test at run time, made for every vector, chooses between one vector access and the gather.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy

from tileir.dialect.ops import ADDI, EXTI, MULI, OFFSET, SUBI
from tileir.execute.analysis.values import ordering_of, pointee_of, scalar_constant
from tileir.execute.cpu.emission import accesses, streaming
from tileir.execute.cpu.emission.likely_arrays import accessed_array
from tileir.execute.cpu.emission.nests import FIRST, Axis, Index, LoopNest
from tileir.execute.cpu.emission.pointer_bounds import (
    Based,
    Look,
    are_in_array,
    is_in_array,
    is_silent,
    look_at_pointers,
)
from tileir.execute.cpu.emission.unaligned import at_any_address
from tileir.execute.cpu.loops.expressions import Applied, Count, Expression, Gathered, Mapped, Splat, Table
from tileir.execute.cpu.loops.sinks import StorePointers
from tileir.execute.cpu.vector import instructions
from tileir.execute.cpu.vector.casting import BOOL, INT64, from_bits, to_bits
from tileir.execute.cpu.vector.llvm import Register, literal, storage_type
from tileir.execute.dtypes import DType, memory_bytes, memory_dtype
from tileir.ir.core import Operation
from tileir.ir.types import Type


def load_pointers(nest: LoopNest, expression: Gathered, index: Index) -> tuple[Register, int]:
    element = expression.element
    step = lane_step(expression.pointers, index)
    is_run = expression.operation in nest.emission.sure and step == memory_bytes(element)
    # The pointers of lanes that are known to be neighbours need not be computed, but for the first.
    pointers, level = nest.at(expression.pointers, first_lanes(index) if is_run else index)
    mask: Register | None = None
    if expression.mask is not None and not nest.emission.sure.get(expression.operation, False):
        mask, mask_level = nest.at(expression.mask, index)
        level = max(level, mask_level)
    mask, level = accesses.guarded(nest, expression.operation, expression.shape, index, mask, level)
    operation, size = expression.operation, memory_bytes(element)
    look = Look(operation, size, expression.shape, index, level)
    if is_ordered(operation):
        with nest.at_level(level):
            look_at_pointers(nest.emission, look, pointers, mask)
            loaded = _load_atomically(nest, operation, pointers, mask, element)
    else:
        with nest.at_level(level):
            if not is_run and mask is not None and mask.width and not pointers.width:
                pointers = nest.builder.splat(pointers, nest.lanes)
            if is_run:
                where = nest.builder.pointer(pointers.name)
                suffix = nest.emission.memory_suffix
                loaded = nest.load_at(where, size, memory_dtype(element), suffix, mask)
                ahead = nest.emission.ahead.get(operation, 0)
                if ahead != 0:
                    streaming.fetch(nest, where, ahead, size)
            elif step == size and pointers.width:
                loaded = _load_neighbours(nest, pointers, mask, element, look)
            else:
                based = _based(nest, expression.pointers, index)
                loaded = _load_scattered(nest, pointers, mask, memory_dtype(element), look, based)
    padding: Register | None = None
    if mask is not None:
        if expression.padding is not None:
            padding, padding_level = nest.at(expression.padding, index)
            level = max(level, padding_level)
        else:
            padding = literal(numpy.zeros((), expression.dtype)[()], expression.dtype)
    with nest.at_level(level):
        value = instructions.from_memory(nest.builder, element, loaded)
        if mask is not None and padding is not None:
            value = accesses.either(nest.builder, mask, value, padding)
        return value, level


def _based(nest: LoopNest, expression: Expression, index: Index) -> Based | None:
    """Pointers that are offsets from one pointer."""
    if not isinstance(expression, Applied) or expression.operation.declaration is not OFFSET:
        return None
    base, numbers = expression.arguments
    if not isinstance(base, Splat):
        return None
    found, _ = nest.at(numbers, index)
    if not found.width or found.dtype == BOOL:
        return None
    return Based(nest, nest.emission.scalars[base.scalar], found)


# Where a machine has no instruction for it, LLVM makes a gather or scatter of its lanes, and asks the mask before each.
# Whether all lanes are wanted and in their array is asked once, then; only where they are not is there more to ask.


def _are_all_plain(
    nest: LoopNest, pointers: Register, mask: Register | None, look: Look, based: Based | None, has_one: bool
) -> str | None:
    """An i1: all lanes are accessed, and lie in their array; None where asking for it gains nothing."""
    if has_one or mask is None or not mask.width or not pointers.width:
        return None
    wanted = mask
    if not is_silent(nest.emission, look.operation):
        in_array = are_in_array(nest.emission, look, pointers, based)
        if in_array is None:
            return None
        wanted = nest.builder.value(f"and {mask.typed}, {in_array.name}", BOOL, mask.width)
    return nest.builder.call("i1", f"llvm.vector.reduce.and.v{mask.width}i1", [wanted.typed])


def _load_scattered(
    nest: LoopNest, pointers: Register, mask: Register | None, dtype: DType, look: Look, based: Based | None
) -> Register:
    def some() -> Register:
        look_at_pointers(nest.emission, look, pointers, mask, based)
        return accesses.load_vector(nest, pointers, mask, dtype, based)

    plain = _are_all_plain(nest, pointers, mask, look, based, "avx2" in nest.emission.target.enabled)
    if plain is None:
        return some()
    return _either_loaded(
        nest, plain, lambda: accesses.load_vector(nest, pointers, None, dtype, based), some, dtype, likely=True
    )


def _either_loaded(
    nest: LoopNest,
    condition: str,
    then: Callable[[], Register],
    otherwise: Callable[[], Register],
    dtype: DType,
    likely: bool = False,
) -> Register:
    """Vectors that are loaded in one way where an i1 holds, in another elsewhere; as they lie in memory."""
    type = f"<{nest.lanes} x {storage_type(dtype)}>"
    ways = [lambda way=way: [f"{type} {way().name}"] for way in (then, otherwise)]
    (found,) = nest.builder.branch(condition, ways[0], ways[1], likely)
    return Register(found, dtype, nest.lanes)


def _store_scattered(
    nest: LoopNest, pointers: Register, stored: Register, mask: Register | None, look: Look, based: Based | None
) -> None:
    def some() -> None:
        look_at_pointers(nest.emission, look, pointers, mask, based)
        accesses.store_vector(nest, pointers, stored, mask, based)

    plain = _are_all_plain(nest, pointers, mask, look, based, nest.emission.target.has_avx512)
    if plain is None:
        some()
        return
    nest.builder.branch(plain, lambda: accesses.store_vector(nest, pointers, stored, None, based), some, likely=True)


def first_lanes(index: Index) -> Index:
    """An index at the first of its lanes."""
    return tuple([Axis(axis.base, False, axis.level) if axis.lanes else axis for axis in index])


def _look_at_far(nest: LoopNest, pointers: Register, mask: Register | None, look: Look) -> None:
    """Look at what is not known to be in its array, unless that was done before."""
    if accessed_array(nest.emission, look.operation) is not None:
        look_at_pointers(nest.emission, look, pointers, mask)


def lane_step(expression: Expression, index: Index) -> int | None:
    """How far values of neighbouring lanes are apart, if no integer wraps; None where that is not known."""
    if not any(axis.lanes for axis in index):
        return 0
    if isinstance(expression, Splat) or (isinstance(expression, Table) and expression.array.size == 1):
        return 0
    if isinstance(expression, Count):
        return 1
    if isinstance(expression, Mapped):
        axes = [index[axis] if axis is not None else FIRST for axis, _ in expression.mapping]
        return lane_step(expression.source, tuple(axes))
    if not isinstance(expression, Applied):
        return None
    declaration = expression.operation.declaration
    steps = [lane_step(argument, index) for argument in expression.arguments]
    if any(step is None for step in steps):
        return None
    if declaration is EXTI or all(step == 0 for step in steps):
        return steps[0] if declaration is EXTI else 0
    first, second = (cast(int, steps[0]), cast(int, steps[1])) if len(steps) == 2 else (0, 0)
    if declaration is ADDI:
        return first + second
    if declaration is SUBI:
        return first - second
    if declaration is MULI:
        factor = _uniform_constant(expression.arguments[1 if first else 0])
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


def neighbours(nest: LoopNest, pointers: Register, size: int) -> tuple[str, str]:
    """An i1: lanes are neighbours in memory; and the pointer of the first."""
    builder = nest.builder
    first = builder.emit(f"extractelement {pointers.typed}, i64 0")
    where = builder.pointer(first)
    spread = builder.splat(Register(first, INT64), nest.lanes)
    text = ", ".join([f"i64 {lane * size}" for lane in range(nest.lanes)])
    expected = builder.emit(f"add {spread.typed}, <{text}>")
    vector = f"<{nest.lanes} x i64>"
    differs = builder.emit(f"icmp ne {vector} {pointers.name}, {expected}")
    bits = builder.emit(f"bitcast <{nest.lanes} x i1> {differs} to i{nest.lanes}")
    return builder.emit(f"icmp eq i{nest.lanes} {bits}, 0"), where


def _are_neighbours_in_array(nest: LoopNest, pointers: Register, mask: Register | None, look: Look) -> tuple[str, str]:
    """An i1: lanes are neighbours in memory, in the array they are meant for; and the pointer of the first."""
    emission, operation, size = nest.emission, look.operation, look.size
    if not is_silent(emission, operation) and accessed_array(emission, operation) is None:
        # They may be anywhere: looked at before all.
        look_at_pointers(nest.emission, look, pointers, mask)
        return neighbours(nest, pointers, size)
    even, where = neighbours(nest, pointers, size)
    if not is_silent(emission, operation):
        inside = is_in_array(emission, operation, nest.builder.address(where), nest.lanes * size)
        even = nest.builder.emit(f"and i1 {even}, {inside}")
    return even, where


def _load_neighbours(nest: LoopNest, pointers: Register, mask: Register | None, element: Type, look: Look) -> Register:
    dtype = memory_dtype(element)
    even, where = _are_neighbours_in_array(nest, pointers, mask, look)

    def near() -> Register:
        return nest.load_at(where, dtype.itemsize, dtype, nest.emission.memory_suffix, mask)

    def far() -> Register:
        _look_at_far(nest, pointers, mask, look)
        return accesses.load_vector(nest, pointers, mask, dtype)

    return _either_loaded(nest, even, near, far, dtype)


def store_pointers(nest: LoopNest, sink: StorePointers) -> None:
    index = nest.index_for(sink.pointers)
    element = sink.expression.element
    size = memory_bytes(element)
    step = lane_step(sink.pointers, index)
    sure = nest.emission.sure
    is_run = sink.operation in sure and step == size
    pointers, _ = nest.at(sink.pointers, first_lanes(index) if is_run else index)
    mask = nest.value(sink.mask) if sink.mask is not None and not sure.get(sink.operation, False) else None
    mask, _ = accesses.guarded(nest, sink.operation, sink.pointers.shape, index, mask, nest.depth)
    register = nest.value(sink.expression)
    with nest.at_level(nest.depth):
        stored = instructions.to_memory(nest.builder, element, register)
        look = Look(sink.operation, size, sink.pointers.shape, index, nest.depth)
        if is_ordered(sink.operation):
            look_at_pointers(nest.emission, look, pointers, mask)
            _store_atomically(nest, sink.operation, pointers, stored, mask)
            return
        if is_run:
            nest.store_at(nest.builder.pointer(pointers.name), size, stored, nest.emission.memory_suffix, mask)
            return
        if any(axis.lanes for axis in index):
            pointers = nest.builder.splat(pointers, nest.lanes)
            stored = nest.builder.splat(stored, nest.lanes)
        if step != size or not pointers.width:
            _store_scattered(nest, pointers, stored, mask, look, _based(nest, sink.pointers, index))
            return
        even, where = _are_neighbours_in_array(nest, pointers, mask, look)

        def near() -> None:
            nest.store_at(where, size, stored, nest.emission.memory_suffix, mask)

        def far() -> None:
            _look_at_far(nest, pointers, mask, look)
            accesses.store_vector(nest, pointers, stored, mask)

        nest.builder.branch(even, near, far)


# --- ordered accesses: one element at a time, each atomic ---

_ORDERS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}


def order_of(operation: Operation) -> str:
    """LLVM's name for the ordering of an operation."""
    return _ORDERS.get(ordering_of(operation), "monotonic")


def is_ordered(operation: Operation) -> bool:
    """Whether elements are accessed one by one, each atomically."""
    return ordering_of(operation) != "weak"


def _load_atomically(
    nest: LoopNest, operation: Operation, address: Register, mask: Register | None, element: Type
) -> Register:
    emission, builder = nest.emission, nest.builder
    dtype = memory_dtype(element)
    bits = f"i{8 * dtype.itemsize}"
    where = emission.builder.pointer(address.name)

    def load() -> str:
        return builder.emit(f"load atomic {bits}, ptr {where} {order_of(operation)}, align {dtype.itemsize}")

    def load_anywhere() -> str:
        return at_any_address(emission, address, dtype.itemsize, load, lambda old: None)

    loaded = builder.where(mask, bits, load_anywhere)
    return from_bits(builder, loaded, dtype)


def _store_atomically(
    nest: LoopNest, operation: Operation, address: Register, stored: Register, mask: Register | None
) -> None:
    emission, builder = nest.emission, nest.builder
    size = stored.dtype.itemsize
    bits = to_bits(builder, stored)
    where = emission.builder.pointer(address.name)

    def store() -> str:
        builder.do(f"store atomic i{8 * size} {bits}, ptr {where} {order_of(operation)}, align {size}")
        return "0"

    builder.where(mask, "", lambda: at_any_address(emission, address, size, store, lambda old: bits))
