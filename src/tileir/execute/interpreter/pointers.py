"""Access to memory through tiles of pointers: loads, stores, atomics, allocation.

A tile block runs its operations in program order, which satisfies every order that tokens require.
Elements of one operation are taken in row-major order, also by atomics: where pointers of one tile meet, each sees what
the ones before it did.  A masked element of a load without a padding value, or of an atomic, reads as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, cast

import numpy

from tileir.dialect import ops
from tileir.execute.analysis.pointer_origins import describe_miss, origin_of_access
from tileir.execute.analysis.values import pointee_of, reserved_bytes, tile_of
from tileir.execute.arithmetic.elementary import float_binary
from tileir.execute.dtypes import Array, from_memory, memory_bytes, memory_dtype, to_memory, unsigned, value_dtype
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Registers, Step
from tileir.execute.locations.wording import bracketed
from tileir.execute.memory import OutsideMemory, read_only, reserved_label
from tileir.execute.observing.observer import Access, TileBlock, overrides
from tileir.ir.core import Operation
from tileir.ir.types import FloatType, Type

Mask = Callable[[Registers, TileBlock, Array], "Array | None"]


def missed(error: OutsideMemory, operation: Operation, block: TileBlock, shape: tuple[int, ...], mask: Any) -> NoReturn:
    """Say which element of the tile went outside of memory."""
    flat = error.index if mask is None or not shape else int(numpy.flatnonzero(mask)[error.index])
    if error.read_only is not None:
        message = read_only(error.read_only)
    else:
        message = describe_miss(block.memory, error.address, error.size, origin_of_access(operation))
    message += element_text(shape, flat)
    raise ExecutionError(message, operation, block.id, is_outside=error.read_only is None) from None


def element_text(shape: tuple[int, ...], flat: int) -> str:
    """Which element of a tile it is, in row-major order; nothing where there is but one."""
    if not shape:
        return ""
    index = tuple([int(position) for position in numpy.unravel_index(flat, shape)])
    return f" (element {bracketed(index)} of the tile)"


def _mask(compiler: Compiler, operation: Operation, kind: str, element: Type) -> Mask:
    """Which elements an access touches, by its mask and by its observer; None for all."""
    slot = compiler.optional_slot(operation.mask)
    size = memory_bytes(element)
    observer = compiler.options.observer
    if observer is not None and not overrides(observer, "access"):
        observer = None

    def touched(registers: Registers, block: TileBlock, addresses: Array) -> Array | None:
        mask = registers[slot] if slot is not None else None
        if observer is not None:
            allowed = observer.access(Access(kind, operation, block, size, addresses, mask))
            if allowed is not None:
                mask = allowed if mask is None else numpy.logical_and(mask, allowed)
        return None if mask is None or mask.all() else mask

    return touched


def compile_load(compiler: Compiler, operation: Operation) -> Step:
    source, result = compiler.slot(operation.operands[0]), compiler.slot(operation.results[0])
    has_padding = "paddingValue" in [declared.name for declared in operation.declaration.operands]
    padding_slot = compiler.optional_slot(operation.padding_value) if has_padding else None
    element, shape = pointee_of(operation.operands[0]), tile_of(operation.operands[0]).shape
    mask_of = _mask(compiler, operation, "read", element)

    def load(registers: Registers) -> None:
        block: TileBlock = registers[BLOCK_SLOT]
        addresses = numpy.asarray(registers[source])
        mask = mask_of(registers, block, addresses)
        try:
            if mask is None:
                tile = from_memory(element, block.memory.gather(addresses, memory_dtype(element)))
            else:
                zeros = numpy.zeros(shape, value_dtype(element))
                tile = zeros if padding_slot is None else numpy.array(registers[padding_slot])
                tile[mask] = from_memory(element, block.memory.gather(addresses[mask], memory_dtype(element)))
        except OutsideMemory as error:
            missed(error, operation, block, shape, mask)
        registers[result] = tile[()]

    return load


def compile_store(compiler: Compiler, operation: Operation) -> Step:
    target, source = compiler.slots_of(operation.operands[:2])
    element, shape = pointee_of(operation.operands[0]), tile_of(operation.operands[0]).shape
    mask_of = _mask(compiler, operation, "write", element)

    def store(registers: Registers) -> None:
        block: TileBlock = registers[BLOCK_SLOT]
        addresses = numpy.asarray(registers[target])
        values = to_memory(element, numpy.asarray(registers[source]))
        mask = mask_of(registers, block, addresses)
        try:
            if mask is None:
                block.memory.scatter(addresses, values)
            else:
                block.memory.scatter(addresses[mask], values[mask])
        except OutsideMemory as error:
            missed(error, operation, block, shape, mask)

    return store


# --- atomics ---


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
    """Old values at flat addresses; each is replaced by kernel(old, value), in order where addresses meet.

    In rounds: the first element at each address, then the second, and so on.
    """
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


def compile_atomic_rmw(compiler: Compiler, operation: Operation) -> Step:
    argument = compiler.slot(operation.operands[1])
    kernel = atomic_kernel(operation.mode, pointee_of(operation.operands[0]))
    return _atomic_step(compiler, operation, lambda registers: registers[argument], kernel, None)


def compile_atomic_cas(compiler: Compiler, operation: Operation) -> Step:
    expected, replacement = compiler.slots_of(operation.operands[1:3])
    # Compared bit by bit: +0.0 differs from -0.0.
    bits = numpy.dtype(f"u{memory_bytes(pointee_of(operation.operands[0]))}")

    def pairs(registers: Registers) -> Array:
        old = numpy.asarray(registers[expected])
        both = numpy.empty(old.shape, numpy.dtype([("expected", bits), ("new", bits)]))
        both["expected"], both["new"] = old.view(bits), registers[replacement].view(bits)
        return both

    def swap(old: Array, pair: Array) -> Array:
        swapped: Array = numpy.where(old.view(bits) == pair["expected"], pair["new"], old.view(bits)).view(old.dtype)
        return swapped

    return _atomic_step(compiler, operation, pairs, swap, expected)


def _atomic_step(
    compiler: Compiler,
    operation: Operation,
    values_of: Callable[[Registers], Any],
    kernel: Callable[[Any, Any], Any],
    masked_result: int | None,
) -> Step:
    """An atomic with its mask; masked elements of the result come from a register, or are zero."""
    pointers, result = compiler.slot(operation.operands[0]), compiler.slot(operation.results[0])
    element, shape = pointee_of(operation.operands[0]), tile_of(operation.operands[0]).shape
    mask_of = _mask(compiler, operation, "atomic", element)

    def step(registers: Registers) -> None:
        block: TileBlock = registers[BLOCK_SLOT]
        addresses, values = numpy.asarray(registers[pointers]), numpy.asarray(values_of(registers))
        mask = mask_of(registers, block, addresses)
        touched: Any = slice(None) if mask is None else numpy.asarray(mask).reshape(-1)
        if masked_result is not None:
            tile = numpy.array(registers[masked_result]).reshape(-1)
        else:
            tile = numpy.zeros(addresses.size, value_dtype(element))
        try:
            old = combine_atomically(
                block, element, addresses.reshape(-1)[touched], values.reshape(-1)[touched], kernel
            )
        except OutsideMemory as error:
            missed(error, operation, block, shape, mask)
        tile[touched] = from_memory(element, old)
        registers[result] = tile.reshape(shape)[()]

    return step


def compile_alloca(compiler: Compiler, operation: Operation) -> Step:
    size, alignment = reserved_bytes(operation), operation.alignment
    result = compiler.slot(operation.results[0])

    def reserve(registers: Registers) -> None:
        block: TileBlock = registers[BLOCK_SLOT]
        try:
            region = block.memory.allocate(size, alignment, reserved_label(block.id))
        except MemoryError:
            message = f"asks for {size} bytes aligned to {alignment}, more than is available"
            raise ExecutionError(message, operation, block.id, (size, alignment)) from None
        block.allocations.append(region)
        registers[result] = numpy.uint64(region.start)

    return reserve
