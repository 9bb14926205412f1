"""The launch that a recording has, and the memory that it owns.

Pointers are real addresses, and a tile block that runs again must compute the same ones: the launch runs on copies.  A
copy keeps the sharing of memory and the distance from a page boundary.  Addresses are translated: in the arguments, and
in 64-bit integers in memory if the launch names arrays behind such tables (`memory=`).  Each block under way has an
area for `alloca`, so that a reservation has the same address whenever the block runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy

from tileir.dialect.ops import ALLOCA
from tileir.dialect.types import PointerType, TileType
from tileir.execute.analysis.values import reserved_bytes
from tileir.execute.arguments.binding import ArgumentLabel, Buffer
from tileir.execute.arguments.multicast import MulticastRange
from tileir.execute.dtypes import Array
from tileir.execute.engine.interface import Progress
from tileir.execute.errors import BlockId
from tileir.execute.interpreter.frame import Options
from tileir.execute.interpreter.kernel import Program, block_runner
from tileir.execute.memory import Memory, Region, available_memory
from tileir.execute.observing.observer import Observer, TileBlock
from tileir.execute.recording.arrays import RecordedArray, arrays_of
from tileir.execute.recording.program import ControlFlow, NumberedProgram
from tileir.execute.schedule import Order, RunBlock, block_order, run_interleaved
from tileir.ir.core import Operation

_PAGE: Final = 4096


class Move:
    """Where ranges of memory went: the start and the end of each before, and its new start."""

    def __init__(self, moved: list[tuple[int, int, int]]) -> None:
        self._moved: list[tuple[int, int, int]] = sorted(moved)
        self._starts, self._ends, new = numpy.array(self._moved, numpy.uint64).reshape(-1, 3).T
        self._distances: Array = new - self._starts

    @property
    def back(self) -> Move:
        return Move([(new, new + end - start, start) for start, end, new in self._moved])

    def address(self, address: int) -> int:
        """Where an address is now; one at the end of a region goes with it, unless another begins there."""
        last = address
        for start, end, new in self._moved:
            if start <= address < end:
                return address - start + new
            if address == end:
                last = address - start + new
        return last

    def words(self, words: Array) -> None:
        """Translate those of some 64-bit numbers that are addresses in the memory that moved."""
        if not len(self._starts):
            return
        values = words.view(numpy.uint64)
        number = numpy.searchsorted(self._starts, values, "right") - 1
        inside = (number >= 0) & (values < self._ends[number])
        if inside.any():
            values[inside] += self._distances[number[inside]]


class Source(NamedTuple):
    """Memory to be copied: where it was, its bytes, whose it is."""

    start: int
    data: Array
    labels: tuple[object, ...]
    writable: bool


class OwnedMemory(Memory):
    """Copies of all regions of a launch, in the order of their sources, and areas for what tile blocks reserve."""

    def __init__(
        self,
        sources: list[Source],
        entry: Operation,
        has_tables: bool,
        areas: dict[str, int] | None = None,
        multicasts: Sequence[MulticastRange] = (),
    ) -> None:
        super().__init__()
        self.copies: list[Region] = []
        self.has_tables: bool = has_tables
        rooms = [_room(len(source.data), source.start % _PAGE) for source in sources]
        ends = [source.start + len(source.data) for source in sources]
        self.move: Move = Move(
            [(source.start, end, start) for source, end, (start, _) in zip(sources, ends, rooms, strict=True)]
        )
        self.multicasts = [
            each._replace(members=tuple([self.move.address(member) for member in each.members])) for each in multicasts
        ]
        for source, (start, room) in zip(sources, rooms, strict=True):
            copy = Region(start, len(source.data), room, (), True)
            copy.data[:] = source.data
            copy.writable = source.writable
            copy.labels = tuple([self._label(label, copy) for label in source.labels])
            self.copies.append(copy)
            self._insert(copy)
        # The most that one tile block can have reserved: each `alloca` once, as a loop frees what it has reserved.
        reserved = [each for each in entry.walk() if each.declaration is ALLOCA]
        self._needed: int = sum([max(reserved_bytes(each), 1) + each.alignment for each in reserved])
        self._areas: list[tuple[Array, int]] = []
        # The areas of blocks under way, and what they hold, the last reservation at the end.
        self._used: dict[str, int] = {}
        self._held: dict[str, list[Region]] = {}
        # The areas of tile blocks that had another one than the first, by what their reservations are called.
        self.areas: dict[str, int] = {} if areas is None else areas
        if has_tables:
            for copy in self.copies:
                if _holds_words(copy):
                    self.move.words(copy.typed(numpy.dtype(numpy.uint64)))

    def _label(self, label: object, copy: Region) -> object:
        if not isinstance(label, ArgumentLabel):
            return label
        found = label.buffer
        address = self.move.address(found.address)
        moved = Buffer(address, found.shape, found.strides, found.dtype, found.writable, copy.owner, found.kind)
        return ArgumentLabel(label.what, moved, label.number)

    @property
    def nbytes(self) -> int:
        return sum([copy.size for copy in self.copies]) + sum([len(room) for room, _ in self._areas])

    def values(self, entry: Operation, given: list[Any]) -> list[Any]:
        """The values of the parameters, with pointers into the copies."""
        found: list[Any] = []
        for parameter, value in zip(entry.regions[0].blocks[0].arguments, given, strict=True):
            type = parameter.type
            if isinstance(type, TileType) and isinstance(type.element, PointerType):
                value = numpy.uint64(self.move.address(int(value)))
            elif self.has_tables and isinstance(value, numpy.int64):
                value = numpy.uint64(self.move.address(int(value) % (1 << 64))).view(numpy.int64)
            found.append(value)
        return found

    def copy_of(self, region: Region) -> Region:
        found = self.find(self.move.address(region.start))
        assert found is not None
        return found

    def hand_back(self, region: Region) -> None:
        """Give the caller what the launch made of a region."""
        if not region.writable:
            return
        copy = self.copy_of(region)
        data = copy.data
        if self.has_tables and _holds_words(copy):
            data = data.copy()
            self.move.back.words(data[: data.size // 8 * 8].view(numpy.uint64))
        region.data[:] = data

    def allocate(self, size: int, alignment: int, name: str) -> Region:
        if size + alignment > available_memory():
            raise MemoryError
        size = max(size, 1)
        room, base = self._area(name)
        held = self._held.setdefault(name, [])
        top = held[-1].end if held else base
        start = top + -top % alignment
        assert start + size <= base + self._needed, "each 'alloca' has one reservation at a time"
        region = Region(start, size, room, (name,), True)
        region.data[:] = 0
        held.append(region)
        self._insert(region)
        return region

    def release(self, region: Region) -> None:
        super().release(region)
        name = str(region.labels[0])
        held = self._held.get(name)
        if held and held[-1] is region:
            held.pop()
            if not held:
                del self._held[name], self._used[name]

    def _area(self, name: str) -> tuple[Array, int]:
        """The area of a tile block: the one it had before, or the first that no other one uses."""
        number = self._used.get(name)
        if number is None:
            used = set(self._used.values())
            number = self.areas.get(name, -1)
            if number < 0:
                number = next(one for one in range(len(used) + 1) if one not in used)
                if number:
                    self.areas[name] = number
            while number >= len(self._areas):
                start, room = _room(self._needed, 0)
                self._areas.append((room, start))
            self._used[name] = number
        return self._areas[number]


def _room(size: int, offset: int) -> tuple[int, Array]:
    """Memory for so many bytes that lie so far behind a page boundary: their address, and what keeps it."""
    room: Array = numpy.empty(size + 2 * _PAGE, numpy.uint8)
    base = int(room.ctypes.data)
    return base + -base % _PAGE + offset, room


def _holds_words(region: Region) -> bool:
    dtypes = [label.buffer.dtype for label in region.labels if isinstance(label, ArgumentLabel)]
    return any(dtype.kind in "iu" and dtype.itemsize == 8 for dtype in dtypes)


@dataclass(slots=True, eq=False)
class RecordedLaunch:
    """What a recording runs: the kernel, memory, the values of the parameters, global variables."""

    program: NumberedProgram
    grid: BlockId
    schedule: str
    exact: bool
    memory: OwnedMemory
    values: list[Any]
    globals: dict[str, Region]
    progress: Progress | None = None
    """Called with the number of finished tile blocks and of all."""
    control: ControlFlow = field(init=False)
    arrays: list[RecordedArray] = field(init=False)

    def __post_init__(self) -> None:
        self.control = ControlFlow(self.program)
        self.arrays = arrays_of(self.program, self.memory, self.memory.copies)

    @property
    def entry(self) -> Operation:
        return self.program.entry

    @property
    def is_interleaved(self) -> bool:
        return self.schedule == "interleaved"

    @property
    def order(self) -> Order:
        return block_order(self.schedule, self.grid)

    def compiled(self, observer: Observer, is_interleaved: bool) -> Program:
        """The kernel for an observer."""
        return Program(self.entry, Options(self.exact, observer, is_interleaved), self.globals)

    def runner(self, program: Program, observer: Observer, write: Callable[[str], object]) -> RunBlock:
        """What runs the tile block of a number."""
        first = TileBlock((0, 0, 0), 0, self.grid, self.memory, write, observer)
        return block_runner(program, self.values, first)

    def run(self, run: RunBlock, first: int = 0) -> None:
        """Run the tile blocks from position `first` of their order on; interleaved ones all."""
        order = self.order
        if self.is_interleaved:
            run_interleaved(order, run, self.progress)
            return
        for done, number in enumerate(islice(order.numbers, first, None), first):
            if self.progress is not None:
                self.progress(done, order.count)
            run(number, None)
