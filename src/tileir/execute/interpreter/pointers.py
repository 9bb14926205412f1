"""Access to memory through tiles of pointers: loads, stores, atomics, allocation; tokens.

A tile block runs its operations in program order, which satisfies every order that tokens ask for: a token is None.
Elements of one operation are taken in row-major order, also by atomics: where pointers of one tile meet, each sees what
the ones before it did.  A masked element of a load without a padding value, or of an atomic, reads as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, cast

import numpy

from tileir.dialect import ops
from tileir.dialect.types import PointerType
from tileir.execute.analysis.pointer_origins import describe_miss, origin_of_access
from tileir.execute.arithmetic import float_binary
from tileir.execute.dtypes import Array, from_memory, memory_bytes, memory_dtype, plain_memory, to_memory, value_dtype
from tileir.execute.errors import ExecutionError
from tileir.execute.interpreter.compiler import BLOCK_SLOT, Compiler, Registers, Step
from tileir.execute.interpreter.shapes import tile_of
from tileir.execute.locations.wording import bracketed
from tileir.execute.memory import OutsideMemory, read_only, reserved_label
from tileir.execute.observing.observer import Access, TileBlock, overrides
from tileir.ir.core import Operation
from tileir.ir.types import FloatType, Type

Watch = Callable[[TileBlock, Any, "Array | None"], "Array | None"]


def pointee(operation: Operation, operand: int) -> Type:
    return cast(PointerType, tile_of(operation.operands[operand]).element).pointee


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


def watcher(compiler: Compiler, operation: Operation, kind: str, element: Type) -> Watch | None:
    """What asks the observer about an access, and gives the mask with which it may happen."""
    observer = compiler.options.observer
    if observer is None or not overrides(observer, "access"):
        return None
    size = memory_bytes(element)
    ask = observer.access

    def watch(block: TileBlock, addresses: Any, mask: Array | None) -> Array | None:
        allowed = ask(Access(kind, operation, block, size, numpy.asarray(addresses), mask))
        if allowed is None:
            return mask
        return allowed if mask is None else numpy.logical_and(mask, allowed)

    return watch


def compile_load(compiler: Compiler, operation: Operation) -> Step:
    source = compiler.slot(operation.operands[0])
    mask_slot = compiler.optional_slot(operation.mask)
    has_padding = "paddingValue" in [declared.name for declared in operation.declaration.operands]
    padding_slot = compiler.optional_slot(operation.padding_value) if has_padding else None
    result = compiler.slot(operation.results[0])
    element = pointee(operation, 0)
    shape = tile_of(operation.operands[0]).shape
    dtype, value = memory_dtype(element), value_dtype(element)
    plain = plain_memory(element)
    watch = watcher(compiler, operation, "read", element)

    def read(block: TileBlock, addresses: Any) -> Any:
        if shape:
            found = block.memory.gather(addresses, dtype)
            return found if plain else from_memory(element, found)
        scalar = block.memory.read(int(addresses), dtype)
        return scalar if plain else from_memory(element, numpy.asarray(scalar))[()]

    if mask_slot is None and watch is None:

        def load(registers: Registers) -> None:
            block: TileBlock = registers[BLOCK_SLOT]
            try:
                registers[result] = read(block, registers[source])
            except OutsideMemory as error:
                missed(error, operation, block, shape, None)

        return load

    def load_masked(registers: Registers) -> None:
        block: TileBlock = registers[BLOCK_SLOT]
        addresses = registers[source]
        mask = registers[mask_slot] if mask_slot is not None else None
        if watch is not None:
            mask = watch(block, addresses, mask)
        try:
            if mask is None or mask.all():
                registers[result] = read(block, addresses)
                return
            if padding_slot is not None:
                filled = numpy.array(registers[padding_slot])
            else:
                filled = numpy.zeros(shape, value)
            if shape and mask.any():
                filled[mask] = read(block, addresses[mask])
            registers[result] = filled if shape else filled[()]
        except OutsideMemory as error:
            missed(error, operation, block, shape, mask)

    return load_masked


def compile_store(compiler: Compiler, operation: Operation) -> Step:
    target, source = (compiler.slot(value) for value in operation.operands[:2])
    mask_slot = compiler.optional_slot(operation.mask)
    element = pointee(operation, 0)
    shape = tile_of(operation.operands[0]).shape
    plain = plain_memory(element)
    watch = watcher(compiler, operation, "write", element)

    def store(registers: Registers) -> None:
        block: TileBlock = registers[BLOCK_SLOT]
        addresses, value = registers[target], registers[source]
        mask = registers[mask_slot] if mask_slot is not None else None
        if watch is not None:
            mask = watch(block, addresses, mask)
        if not plain:
            value = to_memory(element, value)
        try:
            if not shape:
                if mask is None or mask:
                    block.memory.write(int(addresses), value)
            elif mask is None or mask.all():
                block.memory.scatter(addresses, value)
            elif mask.any():
                block.memory.scatter(addresses[mask], value[mask])
        except OutsideMemory as error:
            missed(error, operation, block, shape, mask)

    return store


# --- atomics ---


def atomic_kernel(mode: str, element: Type) -> Callable[[Any, Any], Any]:
    """What an atomic mode does to an old value and an argument."""
    if mode == "addf":
        return float_binary(ops.ADDF, cast(FloatType, element), "nearest_even", False)
    if mode in ("umax", "umin"):
        choose = numpy.maximum if mode == "umax" else numpy.minimum
        unsigned = numpy.dtype(f"u{value_dtype(element).itemsize}")
        dtype = value_dtype(element)
        return lambda old, new: choose(old.view(unsigned), new.view(unsigned)).view(dtype)
    kernels: dict[str, Callable[[Any, Any], Any]] = {
        "and": numpy.bitwise_and,
        "or": numpy.bitwise_or,
        "xor": numpy.bitwise_xor,
        "add": numpy.add,
        "max": numpy.maximum,
        "min": numpy.minimum,
        "xchg": lambda old, new: new,
    }
    return kernels[mode]


def combine_atomically(
    block: TileBlock, element: Type, addresses: Array, values: Array, kernel: Callable[[Any, Any], Any]
) -> Array:
    """Old values at flat addresses; each is replaced by kernel(old, value), in order where addresses meet."""
    dtype = memory_dtype(element)
    memory = block.memory
    if numpy.unique(addresses).size == addresses.size:
        old = memory.gather(addresses, dtype)
        memory.scatter(addresses, kernel(old, values))
        return old
    # Rounds: the first element at each address, then the second, and so on.  Each round has distinct addresses, and
    # the elements of one address are taken in order.
    order = numpy.argsort(addresses, kind="stable")
    sorted_addresses = addresses[order]
    starts = numpy.flatnonzero(numpy.concatenate(([True], sorted_addresses[1:] != sorted_addresses[:-1])))
    lengths = numpy.diff(numpy.append(starts, addresses.size))
    rank = numpy.arange(addresses.size) - numpy.repeat(starts, lengths)
    rounds = numpy.empty(addresses.size, numpy.int64)
    rounds[order] = rank
    result = numpy.empty(addresses.shape, dtype)
    by_round = numpy.argsort(rounds, kind="stable")
    ends = numpy.cumsum(numpy.bincount(rounds))
    start = 0
    for end in ends.tolist():
        chosen = by_round[start:end]
        old = memory.gather(addresses[chosen], dtype)
        memory.scatter(addresses[chosen], kernel(old, values[chosen]))
        result[chosen] = old
        start = end
    return result


def compile_atomic_rmw(compiler: Compiler, operation: Operation) -> Step:
    pointers, argument = (compiler.slot(value) for value in operation.operands[:2])
    mode = operation.mode
    element = pointee(operation, 0)
    kernel = atomic_kernel(mode, element)

    def update(registers: Registers, block: TileBlock, addresses: Array, chosen: Any) -> Array:
        values = numpy.asarray(registers[argument]).reshape(-1)
        return combine_atomically(block, element, addresses, values if chosen is None else values[chosen], kernel)

    return _atomic_step(compiler, operation, pointers, element, update, None)


def compile_atomic_cas(compiler: Compiler, operation: Operation) -> Step:
    pointers, expected, replacement = (compiler.slot(value) for value in operation.operands[:3])
    element = pointee(operation, 0)
    size = memory_bytes(element)
    bits = numpy.dtype(f"u{size}")

    def update(registers: Registers, block: TileBlock, addresses: Array, chosen: Any) -> Array:
        # Compared bit by bit: +0.0 differs from -0.0.
        wanted = numpy.ascontiguousarray(registers[expected]).reshape(-1).view(bits)
        new = numpy.ascontiguousarray(registers[replacement]).reshape(-1).view(bits)
        if chosen is not None:
            wanted, new = wanted[chosen], new[chosen]
        both = numpy.empty(wanted.size, numpy.dtype([("wanted", bits), ("new", bits)]))
        both["wanted"], both["new"] = wanted, new

        def swap(old: Array, pair: Array) -> Array:
            old_bits = old.view(bits)
            swapped: Array = numpy.where(old_bits == pair["wanted"], pair["new"], old_bits).view(old.dtype)
            return swapped

        return combine_atomically(block, element, addresses, both, swap)

    return _atomic_step(compiler, operation, pointers, element, update, expected)


def _atomic_step(
    compiler: Compiler,
    operation: Operation,
    pointers: int,
    element: Type,
    update: Callable[[Registers, TileBlock, Array, Any], Array],
    masked_result: int | None,
) -> Step:
    """An atomic with its mask; masked elements of the result come from a register, or are zero."""
    mask_slot = compiler.optional_slot(operation.mask)
    result = compiler.slot(operation.results[0])
    shape = tile_of(operation.operands[0]).shape
    value = value_dtype(element)
    watch = watcher(compiler, operation, "atomic", element)

    def step(registers: Registers) -> None:
        block: TileBlock = registers[BLOCK_SLOT]
        addresses = numpy.asarray(registers[pointers])
        mask = registers[mask_slot] if mask_slot is not None else None
        if watch is not None:
            mask = watch(block, addresses, mask)
        try:
            if mask is None or mask.all():
                old = from_memory(element, update(registers, block, addresses.reshape(-1), None)).reshape(shape)
                registers[result] = old if shape else old[()]
                return
            flat_mask = numpy.asarray(mask).reshape(-1)
            if masked_result is not None:
                filled = numpy.array(registers[masked_result]).reshape(-1)
            else:
                filled = numpy.zeros(addresses.size, value)
            if flat_mask.any():
                filled[flat_mask] = from_memory(
                    element, update(registers, block, addresses.reshape(-1)[flat_mask], flat_mask)
                )
            filled = filled.reshape(shape)
            registers[result] = filled if shape else filled[()]
        except OutsideMemory as error:
            missed(error, operation, block, shape, mask)

    return step


# --- allocation and tokens ---


def compile_alloca(compiler: Compiler, operation: Operation) -> Step:
    count = operation.num_elem
    alignment = operation.alignment
    element = cast(PointerType, tile_of(operation.results[0]).element).pointee
    size = count * memory_bytes(element)
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


def compile_token(compiler: Compiler, operation: Operation) -> None:
    """Tokens order what is in order anyway."""
    for result in operation.results:
        compiler.define(result, None)
