"""The findings of sanitized code, reported as the interpreter's sanitizer does.

Compiled code calls when it is in doubt.  Its values become what the interpreter would have passed to its sanitizer (an
`Access`, operands, an error): the same rules, the same messages.  A finding is reported for the lowest tile block, and
findings are in the order of tile blocks, so that the report does not depend on the number of threads.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from math import prod
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy

from tileir.dialect.ops import FOR
from tileir.dialect.types import GatherScatterViewType, TileType, TileViewType
from tileir.execute.analysis.pointer_origins import named_regions
from tileir.execute.analysis.values import pointee_of, tile_of
from tileir.execute.cpu.runtime.launch_record import Callback
from tileir.execute.cpu.sanitizer.sites import ANY_ARRAY, READS, SHADOW_PADDING, WORDS, WRITES, Site, access_kind
from tileir.execute.dtypes import Array, memory_bytes, value_dtype
from tileir.execute.errors import BlockId
from tileir.execute.interpreter.views import TensorView, TileView
from tileir.execute.memory import Memory, Region, bytes_at
from tileir.execute.observing.observer import Access, TileBlock
from tileir.execute.sanitizer.bounds import Bounds
from tileir.execute.sanitizer.conflicts import unwritten
from tileir.execute.sanitizer.promises import check_inbounds, promised_dimensions
from tileir.execute.sanitizer.report import AnyKind, Finding
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.execute.sanitizer.shadow import Cells, Shadow
from tileir.execute.sanitizer.uninitialized import unwritten_bytes
from tileir.execute.schedule import block_at
from tileir.ir.core import Operation
from tileir.ir.traits import ATOMIC

_KINDS: Final = {READS: "read", WRITES: "write", READS | WRITES: "atomic"}
_UNSIGNED: Final = (1 << 64) - 1


class _NoShadow(Shadow):
    """In place of the shadow that `Bounds` fills: compiled code has its own."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.cell = 1

    def box(self, address: int, size: int, counts: tuple[int, ...], strides: tuple[int, ...]) -> Cells:
        return Cells(None)

    def listed(self, offsets: Array, size: int, bits: int) -> Cells:
        return Cells(None)


class _Collector(Sanitizer):
    """Collects findings; not ordered until the end."""

    def __init__(self) -> None:
        super().__init__()
        self.block: int = 0
        self._found: dict[tuple[AnyKind, Operation], tuple[int, int, Finding]] = {}
        self._calls: int = 0

    def shadow(self, region: Region, size: int) -> Shadow:
        return _NoShadow(region)

    def is_lasting(self, region: Region) -> bool:
        return False

    def counted(self, kind: AnyKind, operation: Operation, other: Operation | None) -> bool:
        known = self._found.get((kind, operation))
        if known is None or self.block < known[0]:
            return False
        known[2].count += 1
        return True

    def add(self, finding: Finding) -> None:
        if self.counted(finding.kind, finding.operation, None):
            return
        key = (finding.kind, finding.operation)
        known = self._found.get(key)
        if known is not None:
            finding.count += known[2].count
        self._calls += 1
        self._found[key] = (self.block, self._calls, finding)

    @property
    def findings(self) -> list[Finding]:
        return [finding for _, _, finding in sorted(self._found.values(), key=lambda entry: entry[:2])]


class Inspector:
    """What compiled code calls during one launch, and the tables it searches."""

    def __init__(
        self, sites: list[Site], reserve_count: int, grid: BlockId, memory: Memory, unwritten: list[object]
    ) -> None:
        self._sites: list[Site] = sites
        self._reserve_count: int = reserve_count
        self._grid: BlockId = grid
        self._memory: Memory = memory
        self._collector: _Collector = _Collector()
        self._lock: threading.Lock = threading.Lock()
        self._shadows: dict[int, Array] = {}  # By a region's start: nonzero bytes were never written
        self.error: BaseException | None = None
        self.stop: Callable[[], None] = lambda: None
        for region, offset, chosen in unwritten_bytes(memory, unwritten):
            shadow = self._shadows.setdefault(region.start, numpy.zeros(region.size + SHADOW_PADDING, numpy.uint8))
            shadow[offset : offset + chosen.size] |= chosen
        for site in sites:
            self._collector.watches(site.operation)
        regions = memory.regions
        self.regions: Any = numpy.array([self._words(region) for region in regions] or [[0] * WORDS], numpy.int64)
        self.region_count: int = len(regions)
        self.arrays: Any = self._array_table()
        self.callback: Any = Callback(self._call)

    @property
    def findings(self) -> list[Finding]:
        found = self._collector.findings
        self._collector.advise(found, self._grid)
        return found

    def _words(self, region: Region) -> list[int]:
        shadow = self._shadows.get(region.start)
        address = int(shadow.ctypes.data) if shadow is not None else 0
        return [region.start, region.end, int(region.writable), address]

    def _array_table(self) -> Any:
        named = named_regions(self._memory)
        arrays = [named.get(site.origin) if site.origin else None for site in self._sites]
        rows = [self._words(array) if array is not None else [0, 0, ANY_ARRAY, 0] for array in arrays]
        return numpy.array(rows or [[0] * WORDS], numpy.int64)

    def _call(self, number: int, block: int, table: int) -> None:
        try:
            # One at a time: the report is shared.
            with self._lock, numpy.errstate(all="ignore"):
                self._inspect(self._sites[number], block, table)
        except BaseException as error:
            # Nothing may leave a callback.
            self.error = error
            self.stop()

    def _inspect(self, site: Site, number: int, table: int) -> None:
        index = block_at(number, self._grid)
        words = cast(Any, (ctypes.c_int64 * 96).from_address(table))
        collector = self._collector
        collector.block = number
        memory = self._memory
        reserved = self._reserved(words[0], index)
        try:
            block = TileBlock(index, number, self._grid, memory, lambda text: None, collector)
            if site.kind == "failure":
                assert site.check is not None
                collector.failed(site.check.error(index, words[1], words[2]), block)
            elif site.kind == "numbers":
                collector.before(site.operation, block, self._operands(site.operation, words))
            else:
                self._inspect_access(site, block, words, {**self._shadows, **reserved})
        finally:
            for start in reserved:
                region = memory.find(start)
                assert region is not None
                memory.release(region)

    def _reserved(self, table: int, block: BlockId) -> dict[int, Array]:
        """Add the allocas of the tile block to the known memory; returns the shadow by where it begins."""
        found = {}
        for number in range(self._reserve_count):
            start, end, _, shadow = cast(Any, (ctypes.c_int64 * WORDS).from_address(table + 8 * WORDS * number))
            if end > start:
                self._memory.add(start, end - start, None, f"what 'alloca' reserved in tile block {block}", True)
                found[start] = bytes_at(shadow, end - start, True)
        return found

    def _operands(self, operation: Operation, words: Any) -> list[Any]:
        count = words[1]
        operands: list[Any] = []
        # Of a loop its bounds and its step.
        values = operation.operands[:3] if operation.declaration is FOR else operation.operands
        for number, value in enumerate(values):
            type = value.type
            if not isinstance(type, TileType):
                # A view, of which a promise needs the address.
                operands.append(SimpleNamespace(address=words[2] & _UNSIGNED))
                continue
            dtype = value_dtype(type.element)
            array = bytes_at(words[2 + number], count * dtype.itemsize, False).copy().view(dtype)
            if count == type.count:
                array = array.reshape(type.shape)
            operands.append(array if array.ndim else array[()])
        return operands

    def _inspect_access(self, site: Site, block: TileBlock, words: Any, shadows: dict[int, Array]) -> None:
        access = self._access(site, block, words)
        _, allowed = Bounds(self._collector, self._memory).check(access)
        axes = promised_dimensions(access.operation)
        if axes and access.view is not None:
            check_inbounds(self._collector, access, axes)
        answer = numpy.ones(access.addresses.shape, bool) if allowed is None else numpy.array(allowed)
        touched = answer if access.mask is None else numpy.logical_and(answer, access.mask)
        if access.box is None or 0 not in access.box[1]:
            self._check_written(access, touched, shadows)
        if site.operation.declaration.has_trait(ATOMIC):
            # Machines differ in what an atomic does at an odd address.
            answer &= (access.addresses & numpy.uint64(access.size - 1)) == 0
        bytes_at(words[1], answer.size, True)[...] = answer.reshape(-1)

    def _access(self, site: Site, block: TileBlock, words: Any) -> Access:
        operation = site.operation
        kind = _KINDS[access_kind(operation)]
        if site.kind == "pointers":
            pointers = operation.operands[0]
            listed = _listed(words[3], words[4], tile_of(pointers).shape)
            return Access(kind, operation, block, memory_bytes(pointee_of(pointers)), *listed)
        type = cast(TileViewType, operation.view.type)
        element, size = type.tensor.element, memory_bytes(type.tensor.element)
        rank, behind = len(type.tensor.shape), 3 + 2 * len(type.tensor.shape)
        address, *numbers = [number & _UNSIGNED for number in words[2 : behind + len(type.tile_shape)]]
        extents, strides, index = tuple(numbers[:rank]), tuple(numbers[rank : 2 * rank]), numbers[2 * rank :]
        view = TileView(TensorView(self._memory, element, address, extents, strides), type)
        if isinstance(type, GatherScatterViewType):
            behind += len(type.tile_shape)
            return Access(
                kind, operation, block, size, *_listed(words[behind], words[behind + 1], type.tile_shape), view
            )
        return Access(kind, operation, block, size, lambda: view.addresses(index), None, view, view.box(index), index)

    def _check_written(self, access: Access, touched: Array, shadows: dict[int, Array]) -> None:
        """Report reads of memory that was never written; what is written counts as written from here on."""
        if not shadows:
            return
        flat, chosen = access.addresses.reshape(-1), numpy.flatnonzero(touched)
        regions = self._memory.regions
        owners = self._memory.owners(flat[chosen], access.size)
        wrong: list[tuple[int, Region]] = []
        for number in numpy.unique(owners).tolist():
            region = regions[number]
            shadow = shadows.get(region.start)
            if shadow is None or number < 0:
                continue
            here = chosen[owners == number]
            offsets = (flat[here] - numpy.uint64(region.start)).astype(numpy.int64)
            bytes = offsets[:, None] + numpy.arange(access.size)
            if access.kind != "write":
                unread = shadow[bytes].any(axis=1)
                if unread.any():
                    wrong.append((int(here[int(unread.argmax())]), region))
            if access.kind != "read":
                shadow[bytes] = 0
        if wrong and not self._collector.counted("uninitialized", access.operation, None):
            first, region = min(wrong, key=lambda entry: entry[0])
            shape = access.addresses.shape
            element = tuple([int(each) for each in numpy.unravel_index(first, shape)]) if shape else None
            self._collector.add(unwritten(access, element, region, int(flat[first])))


def _listed(addresses: int, mask: int, shape: tuple[int, ...]) -> tuple[Array, Array | None]:
    """The addresses of elements and their mask, None if all are chosen."""
    count = prod(shape)
    where = bytes_at(addresses, 8 * count, False).view(numpy.uint64).reshape(shape)
    chosen = bytes_at(mask, count, False).view(bool).reshape(shape) if mask else None
    return where, None if chosen is None or chosen.all() else chosen
