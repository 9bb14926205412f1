"""Access to memory through tiles of pointers: loads, stores, atomics, allocation.

A tile block runs its operations in program order, which satisfies every order that tokens require.
Elements of one operation are taken in row-major order, also by atomics: where pointers of one tile meet, each sees what
the ones before it did.  A masked element of a load without a padding value, or of an atomic, reads as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy

from tileir.dialect import ops
from tileir.execute.analysis.pointer_origins import describe_miss, origin_of_access
from tileir.execute.analysis.values import pointee_of, reserved_bytes
from tileir.execute.arithmetic.elementary import float_binary
from tileir.execute.dtypes import Array, from_memory, memory_bytes, memory_dtype, to_memory, unsigned, value_dtype
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.frame import Frame
from tileir.execute.locations.wording import bracketed
from tileir.execute.memory import OutsideMemory, read_only, reserved_label
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.ir.core import Operation
from tileir.ir.types import FloatType, Type


@contextmanager
def reported_misses(operation: Operation, block: TileBlock, mask: Array) -> Iterator[None]:
    """Report which element of the tile is outside of memory, among those that the mask selects."""
    try:
        yield
    except OutsideMemory as error:
        if error.read_only is not None:
            message = read_only(error.read_only)
        else:
            message = describe_miss(block.memory, error.address, error.size, origin_of_access(operation))
        message += element_text(mask.shape, int(numpy.flatnonzero(mask)[error.index]))
        raise ExecutionError(message, operation, block.id, is_outside=error.read_only is None) from None


def element_text(shape: tuple[int, ...], flat: int) -> str:
    """Which element of a tile it is, in row-major order; nothing where there is but one."""
    index = tuple([int(position) for position in numpy.unravel_index(flat, shape)])
    return f" (element {bracketed(index)} of the tile)" if shape else ""


def _accessed(operation: Operation, frame: Frame, kind: str) -> tuple[Type, Array, Array]:
    """The element type of an access, the addresses of its tile, and which of them mask and observer let it touch."""
    pointers = operation.operands[0]
    element, addresses, mask = pointee_of(pointers), numpy.asarray(frame[pointers]), frame[operation.mask]
    allowed = None
    if frame.program.observes_accesses:
        access = Access(kind, operation, frame.block, memory_bytes(element), addresses, mask)
        allowed = cast(Observer, frame.program.options.observer).access(access)
    touched = numpy.ones(addresses.shape, numpy.bool_)
    for each in (mask, allowed):
        touched = touched if each is None else numpy.logical_and(touched, each)
    return element, addresses, numpy.asarray(touched)


def gather(operation: Operation, frame: Frame, element: Type, addresses: Array, mask: Array) -> Array:
    """The elements at the addresses that the mask has of a tile."""
    with reported_misses(operation, frame.block, mask):
        return from_memory(element, frame.block.memory.gather(addresses, memory_dtype(element)))


def scatter(operation: Operation, frame: Frame, element: Type, addresses: Array, mask: Array, tile: Any) -> None:
    values = to_memory(element, numpy.asarray(tile))
    with reported_misses(operation, frame.block, mask):
        frame.block.memory.scatter(addresses[mask], values[mask])


def run_load(operation: Operation, frame: Frame) -> None:
    element, addresses, mask = _accessed(operation, frame, "read")
    padding = frame[operation.padding_value] if operation.declaration is ops.LOAD_PTR_TKO else None
    tile = numpy.zeros(addresses.shape, value_dtype(element)) if padding is None else numpy.array(padding)
    tile[mask] = gather(operation, frame, element, addresses[mask], mask)
    frame[operation.results[0]] = tile[()]


def run_store(operation: Operation, frame: Frame) -> None:
    scatter(operation, frame, *_accessed(operation, frame, "write"), frame[operation.operands[1]])


def atomic_kernel(mode: str, element: Type) -> Callable[[Any, Any], Any]:
    """What an atomic mode does to an old value and an argument."""
    if mode == "addf":
        return float_binary(ops.ADDF, cast(FloatType, element), "nearest_even", False)
    dtype = value_dtype(element)
    kernels: dict[str, Callable[[Any, Any], Any]] = {
        "and": numpy.bitwise_and,
        "or": numpy.bitwise_or,
        "xor": numpy.bitwise_xor,
        "add": numpy.add,
        "max": numpy.maximum,
        "min": numpy.minimum,
        "umax": lambda old, new: numpy.maximum(unsigned(old), unsigned(new)).view(dtype),
        "umin": lambda old, new: numpy.minimum(unsigned(old), unsigned(new)).view(dtype),
        "xchg": lambda old, new: new,
    }
    return kernels[mode]


def combine_atomically(
    block: TileBlock, element: Type, addresses: Array, values: Array, kernel: Callable[[Any, Any], Any]
) -> Array:
    """Replace values at flat addresses by kernel(old, value), in order where addresses meet; return the old ones.
    One round for the first element at each address, one for the second, and so on."""
    order = numpy.argsort(addresses, kind="stable")
    count = numpy.arange(addresses.size)
    is_first = numpy.append(True, addresses[order][1:] != addresses[order][:-1])
    rounds = numpy.empty_like(count)
    rounds[order] = count - numpy.maximum.accumulate(numpy.where(is_first, count, 0))
    result = numpy.empty(addresses.shape, memory_dtype(element))
    for number in range(rounds.max(initial=-1) + 1):
        (chosen,) = numpy.nonzero(rounds == number)
        try:
            old = block.memory.gather(addresses[chosen], result.dtype)
            block.memory.scatter(addresses[chosen], kernel(old, values[chosen]))
        except OutsideMemory as error:
            error.index = int(chosen[error.index])
            raise
        result[chosen] = old
    return result


def run_atomic_rmw(operation: Operation, frame: Frame) -> None:
    _run_atomic(operation, frame, frame[operation.operands[1]], frame.program.prepared[operation], None)


def run_atomic_cas(operation: Operation, frame: Frame) -> None:
    expected, replacement = frame.values_of(operation.operands[1:3])
    # Compared bit by bit: +0.0 differs from -0.0.
    bits = numpy.dtype(f"u{memory_bytes(pointee_of(operation.operands[0]))}")
    pairs = numpy.empty(expected.shape, numpy.dtype([("expected", bits), ("new", bits)]))
    pairs["expected"], pairs["new"] = expected.view(bits), replacement.view(bits)

    def swap(old: Array, pair: Array) -> Array:
        swapped: Array = numpy.where(old.view(bits) == pair["expected"], pair["new"], old.view(bits)).view(old.dtype)
        return swapped

    _run_atomic(operation, frame, pairs, swap, expected)


def _run_atomic(
    operation: Operation, frame: Frame, values: Any, kernel: Callable[[Any, Any], Any], masked: Any
) -> None:
    """Run an atomic; elements of its result that the mask leaves out are `masked`, or zero."""
    element, addresses, mask = _accessed(operation, frame, "atomic")
    tile = numpy.zeros(addresses.shape, value_dtype(element)) if masked is None else numpy.array(masked)
    with reported_misses(operation, frame.block, mask):
        old = combine_atomically(frame.block, element, addresses[mask], numpy.asarray(values)[mask], kernel)
    tile[mask] = from_memory(element, old)
    frame[operation.results[0]] = tile[()]


def run_alloca(operation: Operation, frame: Frame) -> None:
    size, alignment, block = reserved_bytes(operation), operation.alignment, frame.block
    try:
        region = block.memory.allocate(size, alignment, reserved_label(block.id))
    except MemoryError:
        message = f"requests {size} bytes aligned to {alignment}, more than is available"
        raise ExecutionError(message, operation, block.id, (size, alignment)) from None
    block.allocations.append(region)
    frame[operation.results[0]] = numpy.uint64(region.start)
