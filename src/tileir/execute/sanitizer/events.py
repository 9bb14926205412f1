"""Who did what to memory, and what is ordered before what.

An *event* is one access of one tile block.  The memory model orders two events only through tokens, and two tile blocks
only where one releases and the other acquires.  So what stands for a token at run time is the set of events that come
before whoever takes it: a set of bits, one for each event of its own tile block, and what is known of others
(`releases`).  A release leaves the set at the place it writes; an acquire that reads there adds it to its own token.

An event comes before another if the set of the other's tokens has its bit.  That is the only rule; everything else
here is bookkeeping.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Final

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.observing.observer import TileBlock
from tileir.execute.sanitizer.releases import EMPTY_CLOCK, Left, Releases, VectorClock, joined
from tileir.ir.core import Operation

# What shadow memory holds where no tile block did anything: the caller's data, or nothing at all.
HOST: Final = 0
NOBODY: Final = 1


class AccessSemantics:
    """Ordering, scope and strength of a memory operation, read from its attributes once."""

    __slots__ = ("acquires", "is_access", "ordering", "releases", "scope", "strong")

    def __init__(self, operation: Operation) -> None:
        self.is_access: bool = operation.declaration.accesses_memory
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
    """The events that come before whoever takes this token: bits of its own tile block's events, and of others'.

    `firm` is those whose order does not depend on a load that reads nothing, `masked` such a load (`assembler_notes`).
    """

    __slots__ = ("bits", "firm", "known", "masked")

    def __init__(self, bits: int, known: VectorClock) -> None:
        self.bits: int = bits
        self.known: VectorClock = known
        self.firm: int = bits
        self.masked: Operation | None = None


_NOTHING: Final = Token(0, EMPTY_CLOCK)


@dataclass(slots=True, eq=False)
class Event:
    """One access of a tile block.  `also` has the bits of earlier reads that this one hides and does not follow."""

    number: int
    block: TileBlock | None
    bit: int
    kind: str
    operation: Operation | None
    semantics: AccessSemantics | None
    left: Left
    """What the tile block released, also after this event."""
    also: int = field(default=0, init=False)
    layout: object = field(default=None, init=False)
    """Which element of a tile went where, where somebody wants to know."""

    def is_before_firmly(self, token: Token) -> bool:
        """The same for a token of the same tile block, without loads that read nothing."""
        return bool(token.firm >> self.bit & 1) and not self.also & ~token.firm

    def is_before(self, token: Token, block: TileBlock) -> bool:
        """Whether everything in a tile block that takes the token comes after this event."""
        bits = token.bits if self.block is block else self.left.known_to(token.known)
        return bool(bits >> self.bit & 1) and not self.also & ~bits


class _BlockState:
    """What a tile block is at: the number of its events, the tokens of the operation that runs now, what it left."""

    __slots__ = ("bits", "given", "left", "taken")

    def __init__(self) -> None:
        self.bits: int = 0
        self.taken: Token = _NOTHING
        self.given: Token = _NOTHING
        self.left: Left = Left()


class Events:
    """All events of a launch, and what was released where."""

    def __init__(self) -> None:
        nobody = Left()
        self.all: list[Event] = [Event(number, None, 0, "", None, None, nobody) for number in (HOST, NOBODY)]
        # For each event whether it is strong, as the caller's are, which conflict with nothing; and its tile block.
        self._strong: bytearray = bytearray([True, False])
        self._blocks: array[int] = array("q", [-1, -1])
        self.releases: Releases = Releases()
        self._states: dict[int, _BlockState] = {}
        self._semantics: dict[Operation, AccessSemantics] = {}

    def semantics(self, operation: Operation) -> AccessSemantics:
        if operation not in self._semantics:
            self._semantics[operation] = AccessSemantics(operation)
        return self._semantics[operation]

    def _state(self, block: TileBlock) -> _BlockState:
        if block.number not in self._states:
            self._states[block.number] = _BlockState()
        return self._states[block.number]

    def finish(self, block: TileBlock) -> None:
        state = self._states.pop(block.number, None)
        if state is not None:
            state.left.finish()

    def weak(self, events: Array) -> Array:
        """Those among events that are not strong."""
        strong = numpy.frombuffer(self._strong, numpy.bool_).take(events)
        return events[:0] if strong.all() else events[~strong]

    def foreign(self, events: Array, block: TileBlock) -> Array:
        """Which of some events are of other tile blocks than this one."""
        blocks = numpy.frombuffer(self._blocks, numpy.int64).take(events)
        found: Array = (blocks != block.number) & (blocks >= 0)
        return found

    def keep(self, numbers: Array, releases: Array) -> None:
        """Drop all other events and releases, and number these anew."""
        self.all = [self.all[number] for number in numbers.tolist()]
        for number, event in enumerate(self.all):
            event.number = number
        self._strong = bytearray(numpy.frombuffer(self._strong, numpy.bool_)[numbers])
        self._blocks = array("q", numpy.frombuffer(self._blocks, numpy.int64)[numbers].tobytes())
        self.releases.keep(releases)

    def token(self, operation: Operation, block: TileBlock, tokens: list[Token | None]) -> Token:
        """The token an operation gives; if it accesses memory its event is about to follow."""
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

    def reads_nothing(self, event: Event) -> None:
        """The load that runs now has a mask that is false: what comes before it hangs on it alone."""
        assert event.block is not None
        state = self._state(event.block)
        if state.taken.bits:
            state.given.firm = 1 << event.bit
            state.given.masked = event.operation

    def begin(self, operation: Operation, block: TileBlock, kind: str) -> tuple[Event, Token]:
        """The event of an access, and what comes before it."""
        state = self._state(block)
        semantics = self.semantics(operation)
        event = Event(len(self.all), block, state.bits, kind, operation, semantics, state.left)
        self.all.append(event)
        self._strong.append(semantics.strong)
        self._blocks.append(block.number)
        state.bits += 1
        return event, state.taken

    def hiding(self, event: Event, hidden: Event) -> Event:
        """An event in place of one that hides an earlier read without following it."""
        group = Event(len(self.all), event.block, event.bit, event.kind, event.operation, event.semantics, event.left)
        group.also = event.also | hidden.also | 1 << hidden.bit
        group.layout = event.layout
        self.all.append(group)
        self._strong.append(self._strong[event.number])
        self._blocks.append(self._blocks[event.number])
        return group

    # --- releases and acquires ---

    def acquire(self, block: TileBlock, numbers: Array) -> None:
        """Let an acquire take what releases left, given by their numbers."""
        given = self._state(block).given
        given.known = self.releases.acquired(given.known, numbers)

    def release(self, block: TileBlock) -> int:
        """Leave what comes before a release: its number."""
        state = self._state(block)
        return self.releases.release(state.given.known, state.given.bits, state.left)

    def carry_on(self, block: TileBlock, numbers: Array) -> Array:
        """A release by an atomic update, which carries on those it finds: the numbers in place of theirs."""
        state = self._state(block)
        return self.releases.carried_on(numbers, state.given.known, state.given.bits, state.left)
