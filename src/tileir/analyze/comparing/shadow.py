"""A second run in a wider float type that goes along with the first: what each value would be with more digits.

Beside each tile of floats stands its shadow, the tile as the wide type has it.  Every operation is computed again on
the shadows of its operands (`widened.py`).  Everything else is the first run's: integers, truth values, addresses, and
with them all control flow and every choice by `select`.  So the two runs never part, and each value can be compared
with its shadow.  (Inside the body of `reduce` and `scan`, comparisons are made anew, as the body has no values to
follow.)

What a tile block reads is taken as it stands in memory, unless the block wrote it itself: then it reads the shadow.
Each tile block is thus compared on its own, in whatever order the blocks ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy

from tileir.analyze.comparing.widened import Again, float_element, in_reduction, widen_tile, widened
from tileir.dialect import ops
from tileir.execute.array_difference import exact_numbers
from tileir.execute.dtypes import Array, from_memory, memory_dtype
from tileir.execute.memory import Memory, Region
from tileir.execute.observing.observer import Access, Observer, TileBlock
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.floats import FORMATS
from tileir.ir.types import FloatType
from tileir.ir.values import Value
from tileir.rewrite.matching import carried_values, receiver

# What changes memory, and the operand it is changed with.
_STORES: Final[dict[OperationDeclaration, str]] = {
    ops.STORE_PTR_TKO: "value",
    ops.ATOMIC_STORE_TKO: "value",
    ops.STORE_VIEW_TKO: "tile",
    ops.ATOMIC_RMW_TKO: "arg",
    ops.ATOMIC_CAS_TKO: "val",
    ops.ATOMIC_RED_VIEW_TKO: "value",
}


class Shadowed(NamedTuple):
    """A value's shadow, and the significant bits of the least precise type that it was computed with."""

    numbers: Any
    bits: int


Seen = Callable[[Operation, "list[tuple[Value, FloatType, Any, Shadowed]]"], None]
"""Called after an operation has run: its float results, their element types, contents and shadows."""


class Shadow(Observer):
    """Computes the shadows of the tile blocks it watches, one after another, and calls `seen` after each operation."""

    def __init__(self, wide: FloatType, seen: Seen) -> None:
        self.wide: FloatType = wide
        self.taken: dict[Operation, None] = {}
        """Operations whose results could not be computed again and are taken as they are."""
        self._seen: Seen = seen
        self._values: dict[Value, Shadowed] = {}
        self._memory: ShadowMemory = ShadowMemory()
        self._again: dict[Operation, Again | None] = {}
        # The operands and the access of the operation that runs now.
        self._operands: list[Any] = []
        self._access: Access | None = None

    def block_started(self, block: TileBlock) -> None:
        self._values = {}
        self._memory = ShadowMemory()

    def watches(self, operation: Operation) -> bool:
        if in_reduction(operation):
            return False
        # Integers are written over floats too.
        values = (*operation.operands, *operation.results)
        return operation.declaration in _STORES or any(float_element(value) is not None for value in values)

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        declaration = operation.declaration
        if declaration.is_loop:
            first = 3 if declaration is ops.FOR else 0
            self._hand_on(operation.operands[first:], operands[first:], carried_values(operation))
        elif declaration.is_terminator and declaration is not ops.RETURN:
            # To the next iteration of a loop, or to the results of what it ends.
            owner = receiver(operation)
            assert owner is not None
            targets: Sequence[Value] = carried_values(owner) if declaration is ops.CONTINUE else owner.results
            self._hand_on(operation.operands, operands, targets)
        else:
            self._operands = operands
            self._access = None

    def access(self, access: Access) -> None:
        self._access = access
        if access.operation.declaration in _STORES:
            self._store(access)

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        declaration = operation.declaration
        if declaration is ops.FOR:
            self._hand_on(carried_values(operation), results, operation.results)
        elif not operation.regions or declaration in (ops.REDUCE, ops.SCAN):
            if declaration.reads is not None:
                self._load(operation, results)
            elif operation.results:
                self._compute(operation, block, results)
        computed: list[tuple[Value, FloatType, Any, Shadowed]] = [
            (value, element, content, self._shadow(value, content))
            for value, content in zip(operation.results, results, strict=True)
            if (element := float_element(value)) is not None
        ]
        if computed:
            self._seen(operation, computed)

    def _shadow(self, value: Value, content: Any) -> Shadowed:
        """The shadow of a float value; one without a shadow is exact as it stands."""
        found = self._values.get(value)
        if found is None:
            element = float_element(value)
            assert element is not None
            found = self._values[value] = self._exact(element, content)
        return found

    def _exact(self, element: FloatType, content: Any) -> Shadowed:
        return Shadowed(widen_tile(element, self.wide, content), FORMATS[element.name].precision)

    def _hand_on(self, sources: Sequence[Value], contents: list[Any], targets: Sequence[Value]) -> None:
        """Hand shadows on all at once, as from one iteration of a loop to the next."""
        found = [
            (target, self._shadow(source, content))
            for source, content, target in zip(sources, contents, targets, strict=True)
            if float_element(source) is not None
        ]
        self._values.update(found)

    def _compute(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        elements = [float_element(result) for result in operation.results]
        if not any(elements):
            return
        if operation not in self._again:
            self._again[operation] = widened(operation, self.wide)
        again = self._again[operation]
        if again is None:
            # A constant is meant as it stands.
            if operation.operands:
                self.taken[operation] = None
            for value, element, content in zip(operation.results, elements, results, strict=True):
                if element is not None:
                    self._values[value] = self._exact(element, content)
            return
        given = list(zip(operation.operands, self._operands, strict=True))
        shadows = {operand: self._shadow(operand, content) for operand, content in given if float_element(operand)}
        bits = [shadowed.bits for shadowed in shadows.values()]
        values = [shadows[operand].numbers if operand in shadows else content for operand, content in given]
        for value, element, numbers in zip(operation.results, elements, again(block, values), strict=True):
            if element is not None:
                self._values[value] = Shadowed(numbers, min([*bits, FORMATS[element.name].precision]))

    def _load(self, operation: Operation, results: list[Any]) -> None:
        value, content = operation.results[0], results[0]
        element = float_element(value)
        if element is None:
            return
        shadowed = self._exact(element, content)
        # What an atomic found in memory is taken as it is.
        known = None if self._access is None or operation.declaration in _STORES else self._memory.load(self._access)
        if known is not None:
            stored, where, bits = known
            numbers = numpy.where(where, stored, shadowed.numbers).astype(shadowed.numbers.dtype)
            shadowed = Shadowed(numbers if numbers.ndim else numbers[()], min(bits, shadowed.bits))
        self._values[value] = shadowed

    def _store(self, access: Access) -> None:
        """Before the operation writes to memory: sums begin with what is there."""
        operation = access.operation
        (value,) = operation.operand_group(_STORES[operation.declaration])
        element = float_element(value)
        # What an atomic does to memory.
        mode = operation.keyword("mode")
        if element is None or operation.declaration is ops.ATOMIC_CAS_TKO or mode not in ("", "xchg", "addf"):
            self._memory.forget(access)
            return
        shadowed = self._shadow(value, self._operands[operation.operands.index(value)])
        self._memory.store(access, element, *shadowed, adds=mode == "addf")


_MOST_BITS: Final = 64


class ShadowMemory:
    """The shadows of what one tile block wrote: a number for each element of a region, and whether it is known.

    A region is divided into elements of the size that was stored there first; a store of another size makes all its
    shadows unknown.
    """

    def __init__(self) -> None:
        self._regions: dict[Region, _ShadowRegion] = {}

    def load(self, access: Access) -> tuple[Array, Array, int] | None:
        """Shadows of what is read, where they are known, and their significant bits; None if none is known."""
        if not self._regions:
            return None
        shape = access.addresses.shape
        numbers: Array = numpy.zeros(access.addresses.size)
        where: Array = numpy.zeros(access.addresses.size, bool)
        bits = _MOST_BITS
        for shadows, chosen, places in self._touched(access):
            if shadows.size == access.size:
                numbers[chosen] = shadows.numbers[places]
                where[chosen] = shadows.known[places]
                bits = min(bits, shadows.bits)
        return (numbers.reshape(shape), where.reshape(shape), bits) if where.any() else None

    def store(self, access: Access, element: FloatType, numbers: Any, bits: int, adds: bool) -> None:
        """Write numbers to memory, or add them; what is there is exact where nothing better is known."""
        flat = numpy.broadcast_to(numbers, access.addresses.shape).reshape(-1)
        for shadows, chosen, places in self._touched(access, is_write=True):
            if adds:
                fresh = numpy.unique(places[~shadows.known[places]])
                # Elements need not be aligned to their size.
                offsets = (fresh * access.size)[:, None] + numpy.arange(access.size)
                contents = shadows.region.data[offsets].reshape(-1).view(memory_dtype(element))
                shadows.numbers[fresh] = exact_numbers(element, from_memory(element, contents))
                # Several elements may go to one place.
                numpy.add.at(shadows.numbers, places, flat[chosen])
            else:
                shadows.numbers[places] = flat[chosen]
            shadows.known[places] = True
            shadows.bits = min(shadows.bits, bits)

    def forget(self, access: Access) -> None:
        """Something was written that has no shadow."""
        for shadows, _, places in self._touched(access):
            if shadows.size == access.size:
                shadows.known[places] = False
            else:
                shadows.known[:] = False

    def _touched(self, access: Access, is_write: bool = False) -> list[tuple[_ShadowRegion, Array, Array]]:
        """For each region that is touched its shadows, which elements of the tile lie there, and where."""
        addresses, mask = access.addresses.reshape(-1), access.mask
        touched = numpy.arange(addresses.size) if mask is None else numpy.flatnonzero(mask)
        if not touched.size:
            return []
        memory: Memory = access.block.memory
        owners = memory.owners(addresses[touched], access.size)
        found = []
        for owner in numpy.unique(owners[owners >= 0]).tolist():
            region, chosen = memory.regions[owner], touched[owners == owner]
            shadows = self._regions.get(region)
            if is_write and (shadows is None or shadows.size != access.size):
                shadows = self._regions[region] = _ShadowRegion(region, access.size)
            if shadows is not None:
                offsets = (addresses[chosen] - numpy.uint64(region.start)).astype(numpy.int64)
                found.append((shadows, chosen, offsets // shadows.size))
        return found


class _ShadowRegion:
    def __init__(self, region: Region, size: int) -> None:
        count = region.size // size + 1
        self.region: Region = region
        self.size: int = size
        # Cleared memory takes no room before it is touched.
        self.numbers: Array = numpy.zeros(count)
        self.known: Array = numpy.zeros(count, bool)
        self.bits: int = _MOST_BITS
