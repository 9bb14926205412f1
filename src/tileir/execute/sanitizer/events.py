"""The accesses to memory of a launch, and their order.

An *event* is one access of one tile block.  At run time a token is the set of events before its users: bits of the
events of its own tile block, and what it knows of others.  One event precedes another if the other's tokens have its
bit.  A release leaves the set where it writes; an acquire that reads there adds it to its token.  Knowledge of other
tile blocks is a graph, as sets would take the square of their number: an acquire refers to the releases it read, a
release to what it knew and, if atomic, to the one it found.  A search runs only on demand, and the last one resumes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.observing.observer import TileBlock
from tileir.ir.core import Operation

# What shadow memory holds where no tile block did anything: the caller's data, or nothing at all.
HOST: Final = 0
NOBODY: Final = 1
NO_RELEASE: Final = 0  # What shadow memory holds where there was no release.


@dataclass(slots=True, eq=False)
class Knowledge:
    """What is known of other tile blocks: all that its sources know, and what releases left, by their numbers."""

    sources: tuple[Knowledge, ...] = ()
    releases: tuple[int, ...] = ()
    answers: dict[int, int] = field(default_factory=dict, init=False)  # The events found, by tile block.


NOTHING_KNOWN: Final = Knowledge()


def joined(left: Knowledge, right: Knowledge) -> Knowledge:
    """The union."""
    if left is right or right is NOTHING_KNOWN:
        return left
    return right if left is NOTHING_KNOWN else Knowledge((left, right))


class _Release(NamedTuple):
    """One release per element of a tile: block, earlier events, knowledge; `found`: releases an atomic carries on."""

    block: int
    events: int
    known: Knowledge
    found: Array | None


class _Search:
    """The events that are known, found step by step: by tile block."""

    def __init__(self, known: Knowledge) -> None:
        self.known: Knowledge = known
        self.events: dict[int, int] = {}
        self.waiting: list[Knowledge | int] = [known]
        self.seen: set[Knowledge | int] = {NO_RELEASE}


class Releases:
    """All releases of a launch, by the numbers that shadow memory holds."""

    def __init__(self) -> None:
        self._all: list[_Release] = []
        self._firsts: list[int] = [NO_RELEASE + 1]  # The number of the first element of each, and behind the last.
        self._blocks: set[int] = set()
        self._search: _Search = _Search(NOTHING_KNOWN)

    def acquired(self, known: Knowledge, numbers: Array) -> Knowledge:
        """What an acquire knows that reads these releases, and knew that before."""
        read = tuple([number for number in numbers.tolist() if number != NO_RELEASE])
        # A tile block that waits for a flag mostly reads the same release again.
        return Knowledge((known,), read) if read and read != known.releases else known

    def release(self, known: Knowledge, events: int, block: int) -> int:
        """The number of a release by a tile block that knows this, with these events of its own before it."""
        return self._add(_Release(block, events, known, None), 1)

    def carried_on(self, found: Array, known: Knowledge, events: int, block: int) -> Array:
        """The numbers of releases by an atomic update, one in place of each that it finds."""
        first = self._add(_Release(block, events, known, found), found.size)
        return numpy.arange(first, first + found.size, dtype=numpy.int32)

    def _add(self, release: _Release, count: int) -> int:
        first = self._firsts[-1]
        self._all.append(release)
        self._firsts.append(first + count)
        self._blocks.add(release.block)
        return first

    def knows(self, known: Knowledge, block: int, events: int) -> bool:
        """Whether `known` includes all of some events of a tile block."""
        if known is NOTHING_KNOWN or block not in self._blocks:
            return False
        search = self._search
        if search.known is not known:
            search = self._search = _Search(known)
        while events & ~search.events.get(block, 0) and search.waiting:
            self._step(search, block)
        known.answers[block] = search.events.get(block, 0)
        return not events & ~known.answers[block]

    def _step(self, search: _Search, block: int) -> None:
        """Look at one release, or at what is known in one place."""
        top = search.waiting.pop()
        if top in search.seen:
            return
        search.seen.add(top)
        if isinstance(top, Knowledge):
            search.events[block] = search.events.get(block, 0) | top.answers.get(block, 0)
            search.waiting += (*top.sources, *top.releases)
            return
        index = bisect_right(self._firsts, top) - 1
        release = self._all[index]
        search.events[release.block] = search.events.get(release.block, 0) | release.events
        if release.found is not None:
            search.waiting.append(int(release.found[top - self._firsts[index]]))
        search.waiting.append(release.known)


class AccessSemantics:
    """Kind, ordering, scope and strength of a memory operation; `number` counts the operations of a launch."""

    __slots__ = ("acquires", "is_access", "kind", "number", "operation", "ordering", "releases", "scope", "strong")

    def __init__(self, operation: Operation, number: int = 0) -> None:
        declaration = operation.declaration
        self.operation: Operation = operation
        self.number: int = number
        self.is_access: bool = declaration.accesses_memory
        self.kind: str = "write" if declaration.reads is None else "read" if declaration.writes is None else "atomic"
        self.ordering: str = operation.keyword("memory_ordering_semantics") or "weak"
        self.scope: str = operation.keyword("memory_scope")
        # A scope of one tile block is no promise to others: to them such an access is a weak one.
        self.strong: bool = self.ordering != "weak" and self.scope != "tl_blk"
        self.acquires: bool = self.strong and self.ordering in ("acquire", "acq_rel", "seq_cst")
        self.releases: bool = self.strong and self.ordering in ("release", "acq_rel", "seq_cst")

    @property
    def words(self) -> str:
        return f"{self.ordering} {self.scope}".strip()


class Token:
    """The events that come before the users of this token: bits of its own tile block's events, and of others'.

    `firm` is those whose order does not depend on a load that reads nothing, `masked` such a load (`assembler_notes`).
    """

    __slots__ = ("bits", "firm", "known", "masked")

    def __init__(self, bits: int, known: Knowledge) -> None:
        self.bits: int = bits
        self.known: Knowledge = known
        self.firm: int = bits
        self.masked: Operation | None = None


_NOTHING: Final = Token(0, NOTHING_KNOWN)


class Event(NamedTuple):
    """One access of a tile block."""

    number: int
    block: int
    bit: int
    semantics: AccessSemantics
    also: int  # The bits of earlier reads that this one hides and does not follow.
    layout: object  # Which element of a tile went where; None where no check needs it.

    def is_among(self, bits: int) -> bool:
        """Whether it is one of the events of its tile block that have these bits, with what it hides."""
        return not (1 << self.bit | self.also) & ~bits


@dataclass(slots=True, eq=False)
class _BlockState:
    """What a tile block is at: the number of its events, the tokens of the operation that runs now."""

    bits: int = 0
    taken: Token = _NOTHING
    given: Token = _NOTHING
    by_layout: dict[object, int] = field(default_factory=dict)  # The bits of events, where threads are of interest.


class Events:
    """All events of a launch, in columns, and what was released where."""

    def __init__(self) -> None:
        self._semantics: dict[Operation, AccessSemantics] = {}
        # By the number of the operation, HOST and NOBODY first; the accesses of the caller are strong.
        self._kinds: list[AccessSemantics] = [cast(AccessSemantics, None)] * 2
        self._strong: list[bool] = [True, False]
        self._operations: array[int] = array("i", [HOST, NOBODY])
        self._blocks: array[int] = array("q", [-1, -1])
        self._bits: array[int] = array("i", [0, 0])
        self._also: dict[int, int] = {}
        self._layouts: dict[int, object] = {}
        self._releases: Releases = Releases()
        self._states: dict[int, _BlockState] = {}

    def semantics(self, operation: Operation) -> AccessSemantics:
        found = self._semantics.get(operation)
        if found is None:
            found = self._semantics[operation] = AccessSemantics(operation, len(self._kinds))
            self._kinds.append(found)
            self._strong.append(found.strong)
        return found

    def __getitem__(self, number: int) -> Event:
        also, layout = self._also.get(number, 0), self._layouts.get(number)
        semantics = self._kinds[self._operations[number]]
        return Event(number, self._blocks[number], self._bits[number], semantics, also, layout)

    def _state(self, block: TileBlock) -> _BlockState:
        if block.number not in self._states:
            self._states[block.number] = _BlockState()
        return self._states[block.number]

    def is_before(self, event: Event, token: Token, block: TileBlock) -> bool:
        """Whether everything in a tile block that takes the token comes after an event."""
        if event.block == block.number:
            return event.is_among(token.bits)
        return self._releases.knows(token.known, event.block, 1 << event.bit | event.also)

    def finish(self, block: TileBlock) -> None:
        self._states.pop(block.number, None)

    def weak(self, events: Array) -> Array:
        """Those among events that are not strong."""
        strong = numpy.array(self._strong).take(numpy.frombuffer(self._operations, numpy.int32).take(events))
        return events[:0] if strong.all() else events[~strong]

    def foreign(self, events: Array, block: TileBlock) -> Array:
        blocks = numpy.frombuffer(self._blocks, numpy.int64).take(events)
        found: Array = (blocks != block.number) & (blocks >= 0)
        return found

    def token(self, operation: Operation, block: TileBlock, tokens: list[Token | None]) -> Token:
        """The token that an operation makes; if it accesses memory its event follows."""
        given = [token for token in tokens if token is not None]
        taken = given[0] if given else _NOTHING
        for token in given[1:]:
            taken = Token(taken.bits | token.bits, joined(taken.known, token.known))
        hanging = next((token for token in given if token.masked is not None), None)
        if hanging is not None and taken is not hanging:
            taken.firm = 0
            for token in given:
                taken.firm |= token.firm
            taken.masked = hanging.masked if taken.firm != taken.bits else None
        if not self.semantics(operation).is_access:
            return taken
        state = self._state(block)
        state.taken = taken
        state.given = Token(taken.bits | 1 << state.bits, taken.known)
        if taken.masked is not None:
            state.given.firm = taken.firm | 1 << state.bits
            state.given.masked = taken.masked
        return state.given

    def reads_nothing(self, event: Event, block: TileBlock) -> None:
        """The load that runs now has a mask that is false: what comes before it hangs on it alone."""
        state = self._state(block)
        if state.taken.bits:
            state.given.firm = 1 << event.bit
            state.given.masked = event.semantics.operation

    def begin(
        self, operation: Operation, block: TileBlock, layout: object, has_threads: bool, device: int = 0
    ) -> tuple[Event, Token]:
        """The event of an access, and what comes before it; an operation has one bit for all devices it accesses.

        In a program that has threads the same ones access all tiles whose elements are at the same addresses.
        """
        state = self._state(block)
        if device == 0:
            state.bits += 1
        event = self._add(block.number, state.bits - 1, self.semantics(operation), 0, layout)
        if not has_threads:
            return event, state.taken
        same = state.by_layout.get(layout, 0)
        state.by_layout[layout] = same | 1 << event.bit
        return event, Token(state.taken.bits | same, state.taken.known) if same else state.taken

    def hiding(self, event: Event, hidden: Event) -> Event:
        """An event in place of one that hides an earlier read without following it."""
        also = event.also | hidden.also | 1 << hidden.bit
        return self._add(event.block, event.bit, event.semantics, also, event.layout)

    def _add(self, block: int, bit: int, semantics: AccessSemantics, also: int, layout: object) -> Event:
        number = len(self._blocks)
        self._operations.append(semantics.number)
        self._blocks.append(block)
        self._bits.append(bit)
        if also:
            self._also[number] = also
        if layout is not None:
            self._layouts[number] = layout
        return Event(number, block, bit, semantics, also, layout)

    def acquire(self, block: TileBlock, numbers: Array) -> None:
        """Let an acquire take what releases left, given by their numbers."""
        given = self._state(block).given
        given.known = self._releases.acquired(given.known, numbers)

    def release(self, block: TileBlock) -> int:
        """Leave what comes before a release: its number."""
        given = self._state(block).given
        return self._releases.release(given.known, given.bits, block.number)

    def carry_on(self, block: TileBlock, numbers: Array) -> Array:
        """A release by an atomic update, which carries on those it finds: the numbers in place of theirs."""
        given = self._state(block).given
        return self._releases.carried_on(numbers, given.known, given.bits, block.number)
