"""The watch for numbers: which operations make a NaN or an infinity, and where others come from.

An operation *makes* one if nothing that the element is computed from has it: the same element of each operand, or of a
matmul the row, the column and the accumulator's element.  A NaN of infinities, as in inf - inf, is made.  Operations in
`reduce` and `scan` are watched one by one, on slices.  What comes from memory or padding was *given*, which is only
noted; what is moved, chosen, reinterpreted, a constant or an identity is not made either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TileType, TileViewType
from tileir.execute.dtypes import Array, from_memory, memory_dtype
from tileir.execute.errors import BlockId
from tileir.execute.locations.wording import SYMBOL, THIS, phrase, several, spelled_number
from tileir.execute.memory import Memory, OutsideMemory
from tileir.execute.observing.observer import Access, TileBlock
from tileir.execute.sanitizer.integer_checks import first_element
from tileir.execute.sanitizer.ledger import Ledger
from tileir.execute.sanitizer.report import Finding, FindingLocation, SanitizerReport, WatchKind
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ATOMIC, MATRIX_PRODUCT, OPEN_BITS
from tileir.ir.traversal import ancestors
from tileir.ir.types import FloatType
from tileir.ir.values import Value

# These compute nothing: each element of a result is one of an operand, or its bits read as another type.
HANDS_ON: Final = frozenset([
    ops.ASSUME, ops.BITCAST, ops.BROADCAST, ops.CAT, ops.EXTRACT, ops.INSERT, ops.PACK, ops.PERMUTE, ops.RESHAPE,
    ops.SELECT, ops.UNPACK,
])  # fmt: skip
MEANT: Final = frozenset([ops.CONSTANT])
# Floating-point matmuls: engines add in their own order.
PRODUCTS: Final = REGISTRY.with_traits(MATRIX_PRODUCT | OPEN_BITS)

Test = Callable[[Array], Array]
_TESTS: Final[tuple[tuple[WatchKind, str, Test], ...]] = (
    ("nan", "a NaN", numpy.isnan),
    ("infinity", "an infinity", numpy.isinf),
)


class NumberWatch(Ledger):
    """Finds every operation that makes a NaN or an infinity; `report` has them, once for each operation.

    `report.notes` has those that come from outside: read from memory, or padding.
    """

    def __init__(self) -> None:
        super().__init__()
        self.report = SanitizerReport("watch", "no NaN and no infinity is made")
        self._operands: list[Any] = []
        self._given_notes: dict[tuple[str, str, Operation], tuple[Finding, int]] = {}
        # The access of the operation that runs now, and for an atomic what it found in memory.
        self._access: Access | None = None
        self._before: Array | None = None

    def launch_started(self, grid: BlockId, memory: Memory) -> None:
        self.report.grid = grid

    def watches(self, operation: Operation) -> bool:
        declaration = operation.declaration
        if operation.regions or declaration in HANDS_ON or declaration in MEANT:
            return False
        if declaration.has_trait(ATOMIC) and _memory_type(operation) is not None:
            return True
        return any(is_float(result) for result in operation.results)

    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        self._operands = operands

    def access(self, access: Access) -> None:
        self._access = access
        self._before = self._contents(access) if access.kind == "atomic" else None

    def after(self, operation: Operation, block: TileBlock, results: list[Any]) -> None:
        declaration = operation.declaration
        reads = declaration.reads is not None
        for value, content in zip(operation.results, results, strict=True):
            if is_float(value):
                wide = _wide(content)
                if not numpy.isfinite(wide).all():
                    (self._report_given if reads else self._report_made)(operation, block, wide)
        if self._before is not None:
            self._report_updated(operation, block)
        self._access = self._before = None

    def _report_made(self, operation: Operation, block: TileBlock, wide: Array) -> None:
        for kind, name, test in _TESTS:
            wrong = test(wide)
            if wrong.any():
                wrong = wrong & ~self._had(operation, wrong.shape, test)
                if wrong.any():
                    self._add(kind, name, operation, block, wrong, self._computed(operation, wide, wrong))

    def _had(self, operation: Operation, shape: tuple[int, ...], test: Test) -> Array:
        """Which elements of a result are computed from one already."""
        found: Array = numpy.zeros(shape, bool)
        product = operation.declaration in PRODUCTS
        for number, (value, content) in enumerate(zip(operation.operands, self._operands, strict=True)):
            if not is_float(value):
                continue
            had = test(_wide(content))
            if not had.any():
                continue
            if product and number != _ACCUMULATOR:
                # A row of the left matrix or its scales, a column of the right one.
                along = -1 if number in _LEFT else -2
                had = numpy.any(had, axis=along, keepdims=True)
            found = found | had
        return found

    def _computed(self, operation: Operation, wide: Array, wrong: Array) -> str:
        """The first such element, as in `divf of 1, 0 is inf`."""
        index = numpy.unravel_index(int(wrong.reshape(-1).argmax()), wrong.shape)
        result = spelled_number(wide[index])
        if operation.declaration in PRODUCTS:
            left, right, added = (_wide(self._operands[number]) for number in (0, 1, _ACCUMULATOR))
            batch, row, column = [int(number) for number in index[:-2]], int(index[-2]), int(index[-1])
            factors = left[(*batch, row)], numpy.swapaxes(right, -1, -2)[(*batch, column)]
            largest = [spelled_number(numpy.abs(numbers).max()) for numbers in factors]
            return phrase(
                f"{THIS} of a row with numbers up to {largest[0]}, a column with numbers up to {largest[1]} and "
                f"{spelled_number(added[index])} is {result}",
                operation,
            )
        given = [
            spelled_number(numpy.asarray(content)[index])
            for value, content in zip(operation.operands, self._operands, strict=True)
            if isinstance(value.type, TileType) and numpy.asarray(content).shape == wrong.shape
        ]
        infix = f"{f' {SYMBOL} '.join(given)} is {result}" if len(given) == 2 else ""
        return phrase(f"{THIS} of {', '.join(given)} is {result}", operation, infix=infix)

    def _add(
        self, kind: WatchKind, name: str, operation: Operation, block: TileBlock, wrong: Array, computed: str
    ) -> None:
        if self.counted(kind, operation, None):
            return
        details = [computed]
        around = [each for each in ancestors(operation) if each.declaration in (ops.REDUCE, ops.SCAN)]
        location = FindingLocation(operation, block.id)
        if around:
            details.append(f"it happens while {around[0].declaration.mnemonic} combines elements")
        else:
            location.element = first_element(wrong)
            if wrong.ndim:
                total = int(wrong.sum())
                details.append(
                    f"{total} of the {several(wrong.size, 'element')} {'is' if total == 1 else 'are'} like this"
                )
        title = phrase(f"{THIS} makes {name}", operation)
        hint = f"nothing it is computed from is {name}: it begins here"
        self.add(Finding(kind, title, location, details, hint))

    def _contents(self, access: Access) -> Array | None:
        """What memory holds where an atomic is about to update floats."""
        element = _memory_type(access.operation)
        if element is None:
            return None
        addresses = access.touched
        try:
            return _wide(from_memory(element, access.block.memory.gather(addresses, memory_dtype(element))))
        except (OutsideMemory, IndexError):
            return None  # Nothing is touched, or the operation is about to report the error.

    def _report_updated(self, operation: Operation, block: TileBlock) -> None:
        access, before = self._access, self._before
        assert access is not None and before is not None
        after = self._contents(access)
        if after is None or numpy.isfinite(after).all():
            return
        shape, mask, addresses = access.addresses.shape, access.mask, access.touched
        for kind, name, test in _TESTS:
            wrong = test(after) & ~test(before)
            for value, content in zip(operation.operands, self._operands, strict=True):
                if is_float(value):
                    stored = numpy.broadcast_to(test(_wide(content)), shape)
                    stored = stored.reshape(-1) if mask is None else stored[mask]
                    # Several elements may go to one place.
                    wrong = wrong & ~numpy.isin(addresses, addresses[stored])
            if not wrong.any():
                continue
            first = int(wrong.argmax())
            index = first if mask is None else int(numpy.flatnonzero(mask)[first])
            given = [
                spelled_number(numpy.asarray(content).reshape(-1)[index])
                for value, content in zip(operation.operands, self._operands, strict=True)
                if is_float(value)
            ]
            old, new = spelled_number(before[first]), spelled_number(after[first])
            text = phrase(f"{THIS} of {', '.join([old, *given])} leaves {new} in memory", operation)
            whole = numpy.zeros(shape, bool)
            whole[numpy.ones(shape, bool) if mask is None else mask] = wrong
            self._add(kind, name, operation, block, whole, text)

    def _report_given(self, operation: Operation, block: TileBlock, wide: Array) -> None:
        access = self._access
        mask = access.mask if access is not None and access.operation is operation else None
        for kind, name, test in _TESTS:
            found = test(wide)
            read = found if mask is None else found & mask
            self._note("reads", " from memory", kind, name, operation, block, read)
            # A compare-and-swap hands on an operand where it is masked.
            if mask is not None and not operation.declaration.has_trait(ATOMIC):
                self._note("pads with", "", kind, name, operation, block, found & ~mask)

    def _note(
        self, verb: str, source: str, kind: WatchKind, name: str, operation: Operation, block: TileBlock, found: Array
    ) -> None:
        total = int(found.sum())
        if not total:
            return
        known = self._given_notes.get((verb, kind, operation))
        if known is None:
            title = phrase(f"{THIS} {verb} {name}{source}", operation)
            note = Finding("note", title, FindingLocation(operation, block.id, first_element(found)), [], "")
            self.report.add(note)
        else:
            note, before = known
            note.count += 1
            total += before
        self._given_notes[verb, kind, operation] = (note, total)
        note.details = [f"{several(total, 'element')} in all: given to the program, not made by it"]


_ACCUMULATOR: Final = 2
_LEFT: Final = (0, 3)


def _memory_type(operation: Operation) -> FloatType | None:
    """The float type of what an atomic updates; None for integers."""
    type: Any = operation.operands[0].type if operation.operands else None
    if isinstance(type, TileType) and isinstance(type.element, PointerType):
        element = type.element.pointee
    elif isinstance(type, TileViewType):
        element = type.tensor.element
    else:
        return None
    return element if isinstance(element, FloatType) else None


def _wide(content: Any) -> Array:
    """A tile of floats in a type that NumPy has tests for."""
    array = numpy.asarray(content)
    return array.astype(numpy.float64 if array.dtype.itemsize == 8 else numpy.float32)


def is_float(value: Value) -> bool:
    return isinstance(value.type, TileType) and isinstance(value.type.element, FloatType)
