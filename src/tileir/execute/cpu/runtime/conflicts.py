"""What memory launches work in, and which of them must therefore wait for which.

Memory is divided where arrays of launches begin and end.  A reader of a part waits for its last writer, a writer also
for those who have read it since.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from tileir.dialect.ops import GET_GLOBAL, INT_TO_PTR
from tileir.execute.analysis.aliasing import Origins
from tileir.execute.binder import pointee_of
from tileir.execute.cpu.runtime.launch_record import Span
from tileir.execute.memory import Region
from tileir.ir.core import Operation

Who = TypeVar("Who")


@dataclass(slots=True)
class _Part(Generic[Who]):
    """Bytes that have the same history."""

    low: int
    high: int
    writer: Who | None
    readers: list[Who]


class Accesses(Generic[Who]):
    """The accesses of launches, in the order in which they are added."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._parts: list[_Part[Who]] = []

    def add(self, who: Who, spans: list[Span]) -> dict[Who, None]:
        """Add the accesses of a launch; returns who must be over before it begins."""
        found: dict[Who, None] = {}
        for low, high, writes in spans:
            for part in self._between(low, high):
                if part.writer is not None:
                    found[part.writer] = None
                if writes:
                    found.update(dict.fromkeys(part.readers))
                    part.writer, part.readers = who, []
                else:
                    part.readers.append(who)
        # Its own arrays may share memory.
        found.pop(who, None)
        return found

    def _between(self, low: int, high: int) -> list[_Part[Who]]:
        """The parts of a span, divided where it begins and ends."""
        first = index = self._cut(low)
        while low < high:
            following = self._starts[index] if index < len(self._starts) else high
            if following > low:
                self._insert(index, _Part(low, min(high, following), None, []))
            self._cut(high)
            low = self._parts[index].high
            index += 1
        return self._parts[first:index]

    def _cut(self, at: int) -> int:
        """Divide the part around an address, if there is one; the index of the first part from there on."""
        index = bisect_left(self._starts, at)
        if index and self._parts[index - 1].high > at:
            part = self._parts[index - 1]
            self._insert(index, _Part(at, part.high, part.writer, [*part.readers]))
            part.high = at
        return index

    def _insert(self, index: int, part: _Part[Who]) -> None:
        self._starts.insert(index, part.low)
        self._parts.insert(index, part)


class ReachableMemory:
    """What a kernel may access beside its arguments, derived from the program."""

    def __init__(self, entry: Operation, globals: Mapping[str, Region]) -> None:
        self.is_known: bool = True  # False if it makes pointers of numbers or of what is in memory
        self.may_leave_arrays: bool = False  # Whether its pointers, or views made per tile block, may write anywhere
        self.spans: list[Span] = []  # Global variables.
        origins = Origins(entry, False)
        for operation in entry.walk():
            declaration = operation.declaration
            if declaration.writes is not None:
                target = operation.operand_group(declaration.writes)[0]
                self.may_leave_arrays = self.may_leave_arrays or not origins.stays_in_array(target)
            if declaration is GET_GLOBAL:
                region = globals[str(operation.attributes["name"]).removeprefix("@")]
                self.spans.append((region.start, region.end, True))
            elif declaration is INT_TO_PTR or (
                declaration.reads is not None and any(pointee_of(each.type) is not None for each in operation.results)
            ):
                self.is_known = False
