"""Bounds of accesses through pointers, and of elements at listed positions (`bounds`)."""

from __future__ import annotations

from dataclasses import dataclass

from tileir.execute.analysis.values import pointee_of
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.exits import FAILED, call_function, restart_unless
from tileir.execute.cpu.emission.likely_arrays import LikelyArray, accessed_array, places_in, pointers_of, wanted_of
from tileir.execute.cpu.emission.nests import Index, LoopNest
from tileir.execute.cpu.emission.ranges import Ranges
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.expressions import Gathered, Shape, row_major
from tileir.execute.cpu.loops.sinks import StorePointers
from tileir.execute.cpu.matmul.functions import clear_pack_cache
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.casting import BOOL, to_storage
from tileir.execute.cpu.vector.llvm import Register, index_register
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation


@dataclass(eq=False, repr=False, slots=True)
class Look:
    """An access whose elements are to be looked at: the bytes of one, where in a nest the access stands (an index into
    the tile, of this shape), and the level at which it happens."""

    operation: Operation
    size: int
    shape: Shape
    index: Index
    level: int


@dataclass(eq=False, repr=False, slots=True)
class Based:
    """Addresses that are one address and so many elements more, or less, in each lane."""

    nest: LoopNest
    base: Register
    numbers: Register


def is_silent(emission: Emission, operation: Operation) -> bool:
    """Whether nobody looks at the elements of an access through pointers."""
    options = emission.options
    if operation in emission.sure:
        return True
    return options.sanitize or (options.unchecked and not _is_noticed(emission, operation))


def _is_noticed(emission: Emission, operation: Operation) -> bool:
    """Whether it has to be known that a write leaves the array it is meant for: operands are cached in the
    belief that it does not."""
    return emission.caches_operands and operation.declaration.writes is not None


def judge_pointers(
    emission: Emission, access: Gathered | StorePointers, sure: dict[Operation, bool]
) -> list[str] | None:
    """Conditions under which all elements of an access stay in their array; None if nothing is known of them.

    Notes in `sure` that it does then, and whether the conditions have made its mask true everywhere.
    """
    array = accessed_array(emission, access.operation)
    if array is None:
        return None
    ranges = Ranges(emission)
    found = ranges.of(access.pointers)
    if found is None or "false" in ranges.conditions:
        return None
    sure[access.operation] = access.mask is not None and ranges.is_true(access.mask)
    places = places_in(emission, array, memory_bytes(pointee_of(pointers_of(access.operation))))
    for end in dict.fromkeys((found.low, found.high)):
        moved = emission.builder.emit(f"sub i64 {end}, {array.low}")
        ranges.conditions.append(emission.builder.emit(f"icmp ult i64 {moved}, {places}"))
    return ranges.conditions


def is_in_array(emission: Emission, operation: Operation, first: str, size: int) -> str:
    """Whether so many bytes from an address on lie in the array of an access, an i1."""
    array = accessed_array(emission, operation)
    if array is None:
        return "false"
    builder = emission.builder
    moved = builder.emit(f"sub i64 {first}, {array.low}")
    return builder.emit(f"icmp ult i64 {moved}, {places_in(emission, array, size)}")


def look_at_pointers(
    emission: Emission, look: Look, addresses: Register, mask: Register | None, based: Based | None = None
) -> None:
    """Look at the elements of an access through pointers: all together, and where that leaves a doubt each."""
    operation, size = look.operation, look.size
    if is_silent(emission, operation):
        return
    builder = emission.builder
    width = max(addresses.width, mask.width if mask is not None else 0)
    spread = builder.splat(addresses, width)
    array = accessed_array(emission, operation)
    last = ""
    if array is not None:
        good = _are_in(emission, array, size, spread, based)
    else:
        # Where the memory that it last went to begins, and the places in it.
        last = emission.frame.cleared_words(2)
        low = builder.emit(f"load i64, ptr {last}, align 8")
        places = builder.emit(f"load i64, ptr {builder.moved(last, 8)}, align 8")
        good = _are_between(emission, low, places, spread)
    if mask is not None:
        chosen = builder.splat(mask, width)
        masked = builder.emit(f"xor {chosen.typed}, {'splat (i1 true)' if width else 'true'}")
        good = builder.value(f"or {good.typed}, {masked}", BOOL, width)
    answer = good.name
    if width:
        answer = builder.call("i1", f"llvm.vector.reduce.and.v{width}i1", [good.typed])

    if emission.restarts:
        restart_unless(emission, answer)
        return

    def doubt() -> None:
        if not emission.options.unchecked:
            _look_at_each(emission, look, addresses, mask, width)
        if last:
            first = builder.emit(f"extractelement {spread.typed}, i64 0") if width else spread.name
            values = [f"i64 {first}", f"i64 {size}", f"i64 {wanted_of(operation)}", f"ptr {last}"]
            call_function(emission, "void", "remember", values)
        if _is_noticed(emission, operation):
            clear_pack_cache(emission)

    builder.branch(answer, None, doubt, likely=True)


def are_in_array(emission: Emission, look: Look, addresses: Register, based: Based | None) -> Register | None:
    """Which lanes of an access lie in the array it is most likely to; None where it is not known which that is."""
    array = accessed_array(emission, look.operation)
    return _are_in(emission, array, look.size, addresses, based) if array is not None else None


def _are_in(emission: Emission, array: LikelyArray, size: int, addresses: Register, based: Based | None) -> Register:
    if based is not None and based.numbers.width == addresses.width:
        # Numbers of elements are narrower than addresses, and so quicker to compare.
        return _are_near(emission, based, array, size)
    return _are_between(emission, array.low, places_in(emission, array, size), addresses)


def _are_between(emission: Emission, low: Number, places: Number, addresses: Register) -> Register:
    builder = emission.builder
    begin, limit = (builder.splat(index_register(number), addresses.width) for number in (low, places))
    moved = builder.emit(f"sub {addresses.typed}, {begin.name}")
    return builder.value(f"icmp ult {addresses.type} {moved}, {limit.name}", BOOL, addresses.width)


def _are_near(emission: Emission, based: Based, array: LikelyArray, size: int) -> Register:
    """Whether elements, counted from an address, lie in an array."""
    builder = emission.builder
    numbers = based.numbers
    width = 8 * numbers.dtype.itemsize
    shift = size.bit_length() - 1
    with based.nest.at_level(0):
        # So many before the address, and so many from it on; none if it is outside.
        offset = builder.emit(f"sub i64 {based.base.name}, {array.low}")
        inside = builder.emit(f"icmp ule i64 {offset}, {array.bytes}")
        rest = builder.emit(f"sub i64 {array.bytes}, {offset}")
        before, after = (builder.emit(f"lshr i64 {number}, {shift}") for number in (offset, rest))
        before = builder.call("i64", "llvm.umin.i64", [f"i64 {before}", f"i64 {(1 << (width - 1)) - 1}"])
        after = builder.call("i64", "llvm.umin.i64", [f"i64 {after}", f"i64 {(1 << (width - 1)) - 1}"])
        total = builder.emit(f"add i64 {before}, {after}")
        total = builder.emit(f"select i1 {inside}, i64 {total}, i64 0")
        limits = [before, total]
        if width < 64:
            limits = [builder.emit(f"trunc i64 {number} to i{width}") for number in limits]
        first, count = (builder.splat(Register(number, numbers.dtype), numbers.width) for number in limits)
    moved = builder.emit(f"add {numbers.typed}, {first.name}")
    return builder.value(f"icmp ult {numbers.type} {moved}, {count.name}", BOOL, numbers.width)


def look_at_elements(emission: Emission, look: Look, addresses: Register, mask: Register | None, unless: str) -> None:
    """Look at the elements at some addresses one by one, unless an i1 says that there is no need."""
    if unless == "true" or emission.options.unchecked or emission.sanitize:
        return
    width = max(addresses.width, mask.width if mask is not None else 0)
    emission.builder.branch(unless, None, lambda: _look_at_each(emission, look, addresses, mask, width), likely=True)


def _look_at_each(emission: Emission, look: Look, addresses: Register, mask: Register | None, width: int) -> None:
    """Compare each address with all memory of the launch."""
    builder = emission.builder
    count = max(width, 1)
    listed = emission.frame.stack("i64", count, 64, f"looked{count}.addresses")
    masks = emission.frame.stack("i8", count, 64, f"looked{count}.masks")
    builder.do(f"store {builder.splat(addresses, width).typed}, ptr {listed}, align 8")
    chosen = builder.splat(mask if mask is not None else Register("true", BOOL), width)
    builder.do(f"store {to_storage(builder, chosen).typed}, ptr {masks}, align 1")
    element: Number = 0
    step = 0
    for axis, stride in zip(look.index, row_major(look.shape), strict=True):
        # On what is further in it does not depend: there the first is as good as any.
        if axis.level <= look.level:
            element = builder.add(element, builder.multiply(axis.base, stride))
            step = stride if axis.lanes else step
    emission.checks.append(Check("outside", look.operation, (look.size, *look.shape)))
    numbers: list[Number] = [count, look.size, wanted_of(look.operation)]
    numbers += [len(emission.checks), emission.block_number, element, step]
    values = [f"ptr {listed}", f"ptr {masks}", *[f"i64 {number}" for number in numbers]]
    builder.go_on(call_function(emission, "i1", "elements", values), FAILED)
