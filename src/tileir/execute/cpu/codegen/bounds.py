"""Bounds: what checked code tests before it touches memory, so that a kernel cannot leave the memory of its launch.

- Each thread checks a view that is the same for the whole launch once, before its first tile block.  If it leaves the
  array it is made from, the version for arguments that share memory runs instead (`record.UNSUITED`).
- Any other view is checked where it is made.  One that leaves its array is no error as long as nothing touches what is
  outside: its tiles count as lying over an edge, and there each is checked (`@bounds.box`).
- Pointers are compared, a vector at a time, with the array that they most likely point into (their base array), and
  only if they are outside with all memory of the launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from tileir.dialect.ops import ASSUME, MAKE_TENSOR_VIEW
from tileir.dialect.types import TensorViewType
from tileir.execute.analysis.aliasing import RENAMED, likely_origin
from tileir.execute.analysis.values import pointee_of, reserved_bytes
from tileir.execute.cpu.codegen.affine_tiles import AffineReader
from tileir.execute.cpu.codegen.context import FAR, Emission, TensorView, TileAccess
from tileir.execute.cpu.codegen.exits import FAILED, call_function, leave_to_general
from tileir.execute.cpu.codegen.loop_nest import Index, NestEmitter
from tileir.execute.cpu.ir.checks import Check
from tileir.execute.cpu.ir.expressions import PointerLoad, Shape, row_major
from tileir.execute.cpu.ir.statements import ScalarOp, StorePointers
from tileir.execute.cpu.vector.builder import Builder, Number, signed
from tileir.execute.cpu.vector.casting import BOOL, to_storage
from tileir.execute.cpu.vector.llvm import Register, index_register
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation
from tileir.ir.values import BlockArgument, Value

READABLE: Final = 1
WRITABLE: Final = 3  # The results of `@bounds.find` for memory, and what an access needs.


def _needed(operation: Operation) -> int:
    return WRITABLE if operation.declaration.writes is not None else READABLE


@dataclass(eq=False, repr=False, slots=True)
class BaseArray:
    """The array that pointers most likely stay in: where it begins, its bytes, and whether it may be written to."""

    low: Number
    bytes: Number
    writable: bool


def base_array(emission: Emission, value: Value) -> BaseArray | None:
    """The array that a pointer, or the pointer behind a view, most likely stays in."""
    source = likely_origin(emission.program.entry, value)
    if source is None:
        return None
    if isinstance(source, Operation):
        register = emission.scalars.get(source.results[0])
        return BaseArray(register.name, max(reserved_bytes(source), 1), True) if register is not None else None
    if isinstance(source, BlockArgument):
        slot = emission.layout.slots[source.index]
    else:
        slot = emission.layout.slots[str(source).removeprefix("@")]
    frame = emission.frame
    low, high = frame.record_slot(slot), frame.record_slot(slot + 1)
    size = frame.value(f"array{slot}.bytes", f"sub i64 {high}, {low}")
    # An argument that a kernel may write through has to be writable in every launch.
    return BaseArray(low, size, source not in emission.constant_globals)


def accessed_array(emission: Emission, operation: Operation) -> BaseArray | None:
    """The base array of an access through pointers, if the access may do what it does there."""
    array = base_array(emission, operation.operands[0])
    return array if array is not None and (array.writable or operation.declaration.writes is None) else None


def places_in(emission: Emission, array: BaseArray, size: int) -> Number:
    """At how many addresses so many bytes may begin in an array."""
    if isinstance(array.bytes, int):
        return max(array.bytes - (size - 1), 0)
    emission.module.declare("declare i64 @llvm.usub.sat.i64(i64, i64)")
    text = f"call i64 @llvm.usub.sat.i64(i64 {array.bytes}, i64 {size - 1})"
    return emission.frame.value(f"{array.bytes[1:]}.{size}", text)


def emit_suitability(emission: Emission) -> None:
    """Test once for each thread whether the views that are the same in all tile blocks lie in their arrays."""
    builder, program = emission.builder, list(emission.program.entry.walk())
    uniform = [
        each for each in program if each.declaration is MAKE_TENSOR_VIEW and emission.origins.is_uniform_view(each)
    ]
    if not uniform:
        return
    needed, pending = set(uniform), list(uniform)
    while pending:
        sources = [operand.defining_operation for operand in pending.pop().operands]
        found = [source for source in sources if source is not None and source not in needed]
        needed.update(found)
        pending += found
    with emission.aside() as lines:
        for operation in [each for each in program if each in needed]:
            with emission.working_for(operation):
                if operation.declaration in (ASSUME, *RENAMED) and operation.operands[0] not in emission.views:
                    emission.scalars[operation.results[0]] = emission.scalars[operation.operands[0]]
                else:
                    emission.emitters[ScalarOp](emission, ScalarOp(operation))
        conditions = [
            _is_in_array(emission, _tensor(emission, each), base_array(emission, each.results[0]))[0]
            for each in uniform
        ]
        builder.do(f"ret i1 {builder.all_of(conditions)}")
    emission.module.define("define internal i1 @suits(ptr %record) noinline optnone nounwind", lines)
    suits = builder.emit("call i1 @suits(ptr %record)")
    builder.branch(suits, None, lambda: leave_to_general(emission), likely=True)


def wide(builder: Builder, number: Number) -> str:
    """An unsigned number as an i128, where sums and products of a few do not wrap."""
    return str(number % (1 << 64)) if isinstance(number, int) else builder.emit(f"zext i64 {number} to i128")


def span_bytes(emission: Emission, counts: Sequence[Number], strides: Sequence[Number], size: int) -> str:
    """The bytes from the first element to the last, in dimensions of so many elements, as an i128."""
    builder, total = emission.builder, "1"
    for count, stride in zip(counts, strides, strict=True):
        if count != 1:
            # More than any memory has.
            factor = builder.smaller(stride % (1 << 64) if isinstance(stride, int) else stride, FAR >> 2)
            steps = wide(builder, builder.subtract(count, 1))
            total = builder.emit(f"add i128 {total}, {builder.emit(f'mul i128 {steps}, {wide(builder, factor)}')}")
    return builder.emit(f"mul i128 {total}, {size}")


def _tensor(emission: Emission, operation: Operation) -> TensorView:
    view = emission.views[operation.results[0]]
    assert isinstance(view, TensorView)
    return view


def _is_in_array(emission: Emission, view: TensorView, array: BaseArray | None) -> tuple[str, Number]:
    """Whether a tensor lies in an array, an i1; and its bytes, -1 for more than there are."""
    builder = emission.builder
    if 0 in view.extents:
        return "true", 0
    span = span_bytes(emission, view.extents, view.strides, memory_bytes(view.element))
    least = builder.call("i128", "llvm.umin.i128", [f"i128 {span}", f"i128 {(1 << 64) - 1}"])
    total = builder.emit(f"trunc i128 {least} to i64")
    conditions = [builder.emit(f"icmp eq i64 {each}, 0") for each in view.extents if not isinstance(each, int)]
    if array is not None:
        offset = builder.emit(f"sub i64 {view.address}, {array.low}")
        left = builder.remaining(array.bytes, offset)
        conditions.append(builder.emit(f"icmp ule i64 {total}, {left}"))
    return builder.any_of(conditions), total


def check_tensor(emission: Emission, operation: Operation, view: TensorView) -> None:
    """Compute of a tensor view just made whether it lies in its array, in memory, in memory to be written."""
    # Multicast memory is in no array: its accesses check that of each device.
    type = cast(TensorViewType, operation.results[0].type)
    if emission.origins.is_uniform_view(operation) or type.attribute == "multicast":
        return
    check_memory(emission, view, base_array(emission, operation.results[0]))


def check_memory(emission: Emission, view: TensorView, array: BaseArray | None = None) -> None:
    """Compute whether a tensor lies in the array that it is expected in, if any, or in other memory."""
    in_array, total = _is_in_array(emission, view, array)
    view.in_array = "false" if array is None and emission.options.unchecked else in_array
    if emission.options.unchecked or in_array == "true":
        return
    builder = emission.builder

    def elsewhere() -> list[str]:
        # In other memory it is as good.
        return [f"i64 {call_function(emission, 'i64', 'find', [f'i64 {view.address}', f'i64 {total}'])}"]

    own = WRITABLE if array is not None and array.writable else READABLE
    (known,) = builder.branch(in_array, lambda: [f"i64 {own}"], elsewhere, likely=True)
    view.readable = builder.emit(f"icmp uge i64 {known}, {READABLE}")
    view.writable = builder.emit(f"icmp uge i64 {known}, {WRITABLE}")


def check_tile(emission: Emission, access: TileAccess) -> None:
    """Check the elements of a tile that lie in their tensor, where the tensor does not lie in memory."""
    fits = access.view.tensor.fits(access.operation)
    if fits != "true" and access.view.sparse < 0:
        emission.builder.branch(fits, None, lambda: _check_tile(emission, access), likely=True)


def _check_tile(emission: Emission, access: TileAccess) -> None:
    builder, operation, view = emission.builder, access.operation, access.view
    size = memory_bytes(view.tensor.element)
    rank = len(view.shape)
    words = emission.frame.stack("i64", 4 * max(rank, 1), 8, f"box{rank}.words")
    for axis in range(rank):
        distance = builder.multiply(view.strides[axis], size)
        for word, number in enumerate((access.starts[axis], view.extents[axis], distance, view.shape[axis])):
            pointer = builder.moved(words, 8 * (4 * axis + word))
            builder.do(f"store i64 {signed(number)}, ptr {pointer}, align 8")
    emission.checks.append(Check("outside", operation, (size, *view.shape)))
    numbers = (rank, size, _needed(operation), len(emission.checks), emission.block_number)
    values = [f"i64 {view.tensor.address}", f"ptr {words}", *[f"i64 {number}" for number in numbers]]
    builder.go_on(call_function(emission, "i1", "box", values), FAILED)


@dataclass(eq=False, repr=False, slots=True)
class BoundsCheck:
    """A check of elements of so many bytes, of a tile of this shape, at an index and a level of a loop nest."""

    operation: Operation
    size: int
    shape: Shape
    index: Index
    level: int


@dataclass(eq=False, repr=False, slots=True)
class BasedPointers:
    """Addresses that are one address plus a number of elements in each lane."""

    nest: NestEmitter
    base: Register
    numbers: Register


def is_unchecked(emission: Emission, operation: Operation) -> bool:
    """Whether the elements of an access through pointers need no check."""
    options = emission.options
    if operation in emission.proven:
        return True
    return options.sanitize or (options.unchecked and not _invalidates_cache(emission, operation))


def _invalidates_cache(emission: Emission, operation: Operation) -> bool:
    """Whether a write that leaves its array may change operands in the pack cache."""
    return emission.caches_operands and operation.declaration.writes is not None


def prove_in_bounds(
    emission: Emission, access: PointerLoad | StorePointers, proven: dict[Operation, bool]
) -> list[str] | None:
    """Conditions under which an access stays in its array, None if unknown; `proven` gets whether its mask is true."""
    array = accessed_array(emission, access.operation)
    if array is None:
        return None
    reader = AffineReader(emission)
    found = reader.of(access.pointers)
    if found is None or "false" in reader.conditions:
        return None
    proven[access.operation] = access.mask is not None and reader.is_true(access.mask)
    places = places_in(emission, array, memory_bytes(pointee_of(access.operation.operands[0])))
    reader.lie_in(reader.ends_of(found, access.pointers.shape), array.low, places)
    return reader.conditions


def is_in_array(emission: Emission, operation: Operation, first: Number, size: int) -> str:
    """Whether so many bytes from an address on lie in the array of an access, an i1."""
    array = accessed_array(emission, operation)
    if array is None:
        return "false"
    builder = emission.builder
    moved = builder.emit(f"sub i64 {first}, {array.low}")
    return builder.emit(f"icmp ult i64 {moved}, {places_in(emission, array, size)}")


def check_pointers(
    emission: Emission,
    check: BoundsCheck,
    addresses: Register,
    mask: Register | None,
    based: BasedPointers | None = None,
) -> None:
    """Check the elements of an access through pointers: all together, and each where that fails."""
    operation, size = check.operation, check.size
    if is_unchecked(emission, operation):
        return
    builder = emission.builder
    width = max(addresses.width, mask.width if mask is not None else 0)
    spread = builder.splat(addresses, width)
    good = are_in_array(emission, check, spread, based)
    last = ""
    if good is None:
        # Where the memory of the last access begins, and the addresses in it.
        last = emission.frame.cleared_words(2)
        low = builder.emit(f"load i64, ptr {last}, align 8")
        places = builder.emit(f"load i64, ptr {builder.moved(last, 8)}, align 8")
        good = _are_between(emission, low, places, spread)
    if mask is not None:
        chosen = builder.splat(mask, width)
        masked = builder.emit(f"xor {chosen.typed}, {'splat (i1 true)' if width else 'true'}")
        good = builder.value(f"or {good.typed}, {masked}", BOOL, width)
    inside = good.name
    if width:
        inside = builder.call("i1", f"llvm.vector.reduce.and.v{width}i1", [good.typed])

    def outside() -> None:
        if not emission.options.unchecked:
            _check_each(emission, check, addresses, mask, width)
        if last:
            first = builder.emit(f"extractelement {spread.typed}, i64 0") if width else spread.name
            values = [f"i64 {first}", f"i64 {size}", f"i64 {_needed(operation)}", f"ptr {last}"]
            call_function(emission, "void", "remember", values)
        if _invalidates_cache(emission, operation):
            pointer = emission.launch_number
            number = builder.emit(f"load i64, ptr {pointer}, align 8")
            builder.do(f"store i64 {builder.add(number, 1 << 40)}, ptr {pointer}, align 8")

    builder.branch(inside, None, outside, likely=True)


def are_in_array(
    emission: Emission, check: BoundsCheck, addresses: Register, based: BasedPointers | None
) -> Register | None:
    """Which lanes of an access lie in its base array; None where that is not known."""
    array = accessed_array(emission, check.operation)
    if array is None:
        return None
    if based is not None and based.numbers.width == addresses.width:
        # Numbers of elements are narrower than addresses, and so quicker to compare.
        return _are_near(emission, based, array, check.size)
    return _are_between(emission, array.low, places_in(emission, array, check.size), addresses)


def _are_between(emission: Emission, low: Number, places: Number, addresses: Register) -> Register:
    builder = emission.builder
    begin, limit = (builder.splat(index_register(number), addresses.width) for number in (low, places))
    moved = builder.emit(f"sub {addresses.typed}, {begin.name}")
    return builder.value(f"icmp ult {addresses.type} {moved}, {limit.name}", BOOL, addresses.width)


def _are_near(emission: Emission, based: BasedPointers, array: BaseArray, size: int) -> Register:
    """Whether elements, counted from an address, lie in an array."""
    builder, numbers = emission.builder, based.numbers
    width = 8 * numbers.dtype.itemsize
    with based.nest.at_level(0):
        # So many before the address, and so many from it on; none if it is outside.
        offset = builder.emit(f"sub i64 {based.base.name}, {array.low}")
        inside = builder.emit(f"icmp ule i64 {offset}, {array.bytes}")
        rest = builder.emit(f"sub i64 {array.bytes}, {offset}")
        before, after = (builder.emit(f"lshr i64 {number}, {size.bit_length() - 1}") for number in (offset, rest))
        before, after = (str(builder.smaller(each, (1 << (width - 1)) - 1)) for each in (before, after))
        total = builder.emit(f"add i64 {before}, {after}")
        limits = [before, builder.emit(f"select i1 {inside}, i64 {total}, i64 0")]
        if width < 64:
            limits = [builder.emit(f"trunc i64 {number} to i{width}") for number in limits]
        first, count = (builder.splat(Register(number, numbers.dtype), numbers.width) for number in limits)
    moved = builder.emit(f"add {numbers.typed}, {first.name}")
    return builder.value(f"icmp ult {numbers.type} {moved}, {count.name}", BOOL, numbers.width)


def check_elements(
    emission: Emission, check: BoundsCheck, addresses: Register, mask: Register | None, unless: str
) -> None:
    """Check the elements at some addresses one by one, unless an i1 holds."""
    if unless == "true" or emission.options.unchecked or emission.sanitize:
        return
    width = max(addresses.width, mask.width if mask is not None else 0)
    emission.builder.branch(unless, None, lambda: _check_each(emission, check, addresses, mask, width), likely=True)


def _check_each(emission: Emission, check: BoundsCheck, addresses: Register, mask: Register | None, width: int) -> None:
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
    for axis, stride in zip(check.index, row_major(check.shape), strict=True):
        # The access does not depend on loops further in: there the first element is as good as any.
        if axis.level <= check.level:
            element = builder.add(element, builder.multiply(axis.base, stride))
            step = stride if axis.lanes else step
    emission.checks.append(Check("outside", check.operation, (check.size, *check.shape)))
    numbers: list[Number] = [count, check.size, _needed(check.operation)]
    numbers += [len(emission.checks), emission.block_number, element, step]
    values = [f"ptr {listed}", f"ptr {masks}", *[f"i64 {number}" for number in numbers]]
    builder.go_on(call_function(emission, "i1", "elements", values), FAILED)
