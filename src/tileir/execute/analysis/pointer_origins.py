"""Names the array that an access belongs to, and what an access outside of memory missed."""

from __future__ import annotations

from math import prod

import numpy

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TensorViewType, TileType, TileViewType
from tileir.execute.arguments.binding import ArgumentLabel
from tileir.execute.locations.wording import bracketed, script_name, several
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Access
from tileir.ir.core import Block, Operation
from tileir.ir.values import BlockArgument, Value

_SAME_ARRAY = (ops.OFFSET, ops.BROADCAST, ops.RESHAPE, ops.PERMUTE, ops.ASSUME, ops.EXTRACT, ops.PTR_TO_PTR)
_MAKERS = (ops.MAKE_TENSOR_VIEW, ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW, ops.MAKE_GATHER_SCATTER_VIEW)
NEAR = 1 << 24  # In bytes: an address further away has nothing to do with the array that happens to be nearest.


def is_moved_at_end(carried: BlockArgument) -> bool:
    """Whether the next iteration gets the pointers that a `for` carries moved, if this one comes to its end."""
    end = carried.block.last
    if carried.index == 0 or end is None or end.declaration is not ops.CONTINUE:
        return False
    following = end.operands[carried.index - 1].defining_operation
    return following is not None and following.declaration is ops.OFFSET and following.operands[0] is carried


def may_end_early(body: Block) -> bool:
    for operation in body:
        if operation.declaration is ops.IF and any(each.declaration is ops.CONTINUE for each in operation.walk()):
            return True
    return False


def origin_of(pointer: Value) -> str:
    """What a pointer is computed from by offsets alone: "argument 2", "global @g", or nothing we know."""
    value = pointer
    while True:
        if isinstance(value, BlockArgument):
            parent = value.block.parent_operation
            if parent is not None and parent.declaration is ops.ENTRY:
                return f"argument {value.index}"
            if parent is None or parent.declaration is not ops.FOR:
                return ""
            if not is_moved_at_end(value) or may_end_early(value.block):
                return ""
            value = parent.operands[2 + value.index]
            continue
        operation = value.defining_operation
        if operation is None:
            return ""
        if operation.declaration is ops.FOR:
            (number,) = [place for place, result in enumerate(operation.results) if result is value]
            value = operation.regions[0].blocks[0].arguments[1 + number]
            continue
        if operation.declaration is ops.GET_GLOBAL:
            return f"global {operation.attributes['name'].text}"
        if operation.declaration not in _SAME_ARRAY:
            return ""
        value = operation.operands[0]


def origin_of_access(operation: Operation) -> str:
    """The same for what a memory operation accesses, through pointers or through a view."""
    views = [operand for operand in operation.operands if isinstance(operand.type, TileViewType)]
    value = [*views, operation.operands[0]][0]
    while isinstance(value.type, (TileViewType, TensorViewType)):
        maker = value.defining_operation
        if maker is None or maker.declaration not in _MAKERS:
            return ""
        value = maker.operands[0]
    return origin_of(value)


def has_cast(pointer: Value) -> bool:
    """Whether a pointer may have pointed to another type before."""
    return any(operation.declaration in (ops.PTR_TO_PTR, ops.INT_TO_PTR) for operation in _pointer_operations(pointer))


def is_from_memory(pointer: Value) -> bool:
    """Whether a pointer may be an address that the caller wrote to memory, or passed as a number."""
    declarations = [operation.declaration for operation in _pointer_operations(pointer)]
    return any(each.accesses_memory or each is ops.INT_TO_PTR for each in declarations)


def _pointer_operations(pointer: Value) -> set[Operation]:
    """The operations that a pointer may come through, as pointers: also those of other iterations and branches."""
    found: set[Operation] = set()
    pending, known = [pointer], {pointer}
    while pending:
        value = pending.pop()
        owner = value.block.parent_operation if isinstance(value, BlockArgument) else value.defining_operation
        if owner is None or owner.declaration is ops.ENTRY:
            continue
        found.add(owner)
        ends = [each for each in owner.walk() if each.declaration.is_terminator] if owner.regions else []
        for operand in [each for operation in (owner, *ends) for each in operation.operands]:
            is_pointer = isinstance(operand.type, TileType) and isinstance(operand.type.element, PointerType)
            if is_pointer and operand not in known and not owner.declaration.accesses_memory:
                known.add(operand)
                pending.append(operand)
    return found


def named_regions(memory: Memory) -> dict[str, Region]:
    """The regions of a launch by the names that origins have."""
    named: dict[str, Region] = {}
    for region in memory.regions:
        for label in region.labels:
            name = f"argument {label.number}" if isinstance(label, ArgumentLabel) else str(label)
            named.setdefault(name, region)
    return named


def _covering_label(region: Region, low: int, high: int) -> ArgumentLabel | None:
    """The first argument of a region whose elements have indices there, from the first address to the last."""
    for label in region.labels:
        if isinstance(label, ArgumentLabel):
            buffer = label.buffer
            if buffer.low <= low and high < buffer.high and buffer.contiguous and buffer.shape:
                return label
    return None


def where_in(region: Region, address: int) -> str:
    """An address as an element of an array, as in `argument 1 (array float32[4, 4]) at [1, 3]`."""
    label = _covering_label(region, address, address)
    if label is not None:
        number = (address - label.buffer.low) // label.buffer.dtype.itemsize
        index = tuple([int(position) for position in numpy.unravel_index(number, label.buffer.shape)])
        return f"{label} at {bracketed(index)}"
    return f"{' or '.join(region.names)} at byte {address - region.start}"


def slice_in(memory: Memory, access: Access, origin: str) -> str:
    """The elements of an array that an access touches, as in `y[0:1, 0:10]`; of others how many, and the first."""
    touched = access.touched
    if not touched.size:
        home = named_regions(memory).get(origin)
        return f"nothing of {script_name(home.names[0])}" if home is not None else "nothing"
    low, high = int(touched.min()), int(touched.max())
    region = memory.find(low)
    if region is None:
        return f"{several(touched.size, 'element')} outside of all arrays"
    label = _covering_label(region, low, high)
    if label is not None:
        buffer = label.buffer
        name = script_name(label.what)
        numbers = numpy.unique((touched - numpy.uint64(buffer.low)).view(numpy.int64) // buffer.dtype.itemsize)
        index = numpy.unravel_index(numbers, buffer.shape)
        first = tuple([int(along[0]) for along in index])
        if touched.size == 1:
            return f"{name}{bracketed(first)}"
        spans = [(int(along.min()), int(along.max()) + 1) for along in index]
        if prod([end - start for start, end in spans]) == touched.size == numbers.size:
            return f"{name}[{', '.join([f'{start}:{end}' for start, end in spans])}]"
        return f"{several(touched.size, 'element')} of {name}, the first at {bracketed(first)}"
    return f"{several(touched.size, 'element')} of {' or '.join([script_name(name) for name in region.names])}"


def past_or_before(region: Region, address: int, size: int) -> str:
    """Where an access that leaves a region lies, as in `right past the end of argument 0 (..), where [6] would be`."""
    name = " or ".join(region.names)
    if address - region.start >= 1 << 63:
        address -= 1 << 64  # An offset that is less than zero leads below the address 0: it wraps around.
    if address < region.start:
        return f"{several(region.start - address, 'byte')} before {name}"
    if address < region.end:
        return f"{several(address + size - region.end, 'byte')} of the element past the end of {name}"
    distance = several(address - region.end, "byte") if address > region.end else "right"
    return f"{distance} past the end of {name}{_next_index(region, address)}"


def _next_index(region: Region, address: int) -> str:
    """The index that an array would have at an address behind it, if it went on."""
    label = region.labels[0]
    if len(region.labels) > 1 or not isinstance(label, ArgumentLabel):
        return ""
    buffer = label.buffer
    number, rest = divmod(address - buffer.low, buffer.dtype.itemsize)
    if rest or not buffer.contiguous or not buffer.shape:
        return ""
    index: list[int] = []
    for extent in reversed(buffer.shape[1:]):
        number, position = divmod(number, extent)
        index.insert(0, position)
    return f", where {bracketed((number, *index))} would be"


def describe_miss(memory: Memory, address: int, size: int, origin: str = "") -> str:
    """What an access outside of all memory missed: the array it comes from, if known, else the nearest one."""
    text = f"accesses {several(size, 'byte')} at address {address:#x}, which is in no array of the launch"
    if memory.multicast_addresses(address):
        return f"accesses the multicast address {address:#x}, which only multimem operations do"
    home = named_regions(memory).get(origin)
    if home is not None:
        return f"{text}: it is {past_or_before(home, address, size)}"
    if origin.startswith("argument") and not memory.multicasts:
        # A number among the arguments, mostly by a slip: what happens to lie near it has nothing to do with it.
        return f"{text}: {origin}, from which the pointer comes, is a bare address or an empty array"
    nearest: list[tuple[int, str]] = []
    for region in memory.regions:
        distance = max(region.start - address, address - region.end, 0)
        if distance < NEAR:
            nearest.append((distance, past_or_before(region, address, size)))
    return f"{text}: it is {min(nearest)[1]}" if nearest else text
