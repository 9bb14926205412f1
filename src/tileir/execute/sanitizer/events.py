"""Who did what to memory, and what is ordered before what.

An *event* is one access of one tile block.  The memory model orders two events only through tokens, and two tile blocks
only where one releases and the other acquires.  So what stands for a token at run time is the set of events that come
before whoever takes it: for each tile block a set of bits, one for each of its events.  A release leaves the set at the
address it writes, and an acquire that reads there adds it to its own token.

An event comes before another if the set of the other's tokens has its bit.  That is the only rule; everything else
here is bookkeeping.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.observer import TileBlock
from tileir.ir.attributes import EnumAttribute
from tileir.ir.core import Operation

# What shadow memory holds where no tile block did anything: the caller's data, or nothing at all.
HOST: Final = 0
NOBODY: Final = 1


def keyword_of(operation: Operation, name: str) -> str:
    """The keyword of an enumeration attribute, empty where there is none."""
    attribute = operation.attribute(name)
    return attribute.keyword if isinstance(attribute, EnumAttribute) else ""


class Manner:
    """How an operation accesses memory, read off its attributes once."""

    __slots__ = ("acquires", "is_access", "ordering", "releases", "scope", "strong")

    def __init__(self, operation: Operation) -> None:
        self.is_access: bool = operation.declaration.accesses_memory
        self.ordering: str = keyword_of(operation, "memory_ordering_semantics") or "weak"
        self.scope: str = keyword_of(operation, "memory_scope")
        # A scope of one tile block is no promise to others: to them such an access is a weak one.
        self.strong: bool = self.ordering != "weak" and self.scope != "tl_blk"
        self.acquires: bool = self.strong and self.ordering in ("acquire", "acq_rel", "seq_cst")
        self.releases: bool = self.strong and self.ordering in ("release", "acq_rel", "seq_cst")

    @property
    def words(self) -> str:
        return f"{self.ordering} {self.scope}".strip()


Others = dict[int, int]


class Token:
    """The events that come before whoever takes this token: bits of its own tile block's events, and of others'.

    `firm` is those whose order does not hang on a load that reads nothing, `masked` such a load (see `assembler`).
    """

    __slots__ = ("bits", "firm", "masked", "others")

    def __init__(self, bits: int, others: Others) -> None:
        self.bits: int = bits
        self.others: Others = others
        self.firm: int = bits
        self.masked: Operation | None = None


_NOTHING: Final = Token(0, {})


def _joined(left: Others, right: Others) -> Others:
    """The union; what is given is never changed, so that tokens can share it."""
    if not right or left is right:
        return left
    union = dict(left)
    for block, bits in right.items():
        union[block] = union.get(block, 0) | bits
    return union


def _firmly(tokens: list[Token]) -> int:
    firm = 0
    for token in tokens:
        firm |= token.firm
    return firm


class Event:
    """One access of a tile block.  `also` has the bits of earlier reads that this one hides and does not follow."""

    __slots__ = ("also", "bit", "block", "kind", "layout", "manner", "number", "operation")

    def __init__(
        self,
        number: int,
        block: TileBlock | None,
        bit: int,
        kind: str,
        operation: Operation | None,
        manner: Manner | None,
    ) -> None:
        self.number: int = number
        self.block: TileBlock | None = block
        self.bit: int = bit
        self.also: int = 0
        self.kind: str = kind
        self.operation: Operation | None = operation
        self.manner: Manner | None = manner
        self.layout: object = None
        """Which element of a tile went where, where somebody wants to know."""

    def is_before_firmly(self, token: Token) -> bool:
        """The same for a token of the same tile block, without loads that read nothing."""
        return bool(token.firm >> self.bit & 1) and not self.also & ~token.firm

    def is_before(self, token: Token, block: TileBlock) -> bool:
        """Whether everything in a tile block that takes the token comes after this event."""
        assert self.block is not None
        bits = token.bits if self.block is block else token.others.get(self.block.number, 0)
        return bool(bits >> self.bit & 1) and not self.also & ~bits


class _BlockState:
    """What a tile block is at: the number of its events, the tokens of the operation that runs now."""

    __slots__ = ("bits", "given", "taken")

    def __init__(self) -> None:
        self.bits: int = 0
        self.taken: Token = _NOTHING
        self.given: Token = _NOTHING


class Events:
    """All events of a launch, and what was released where."""

    def __init__(self) -> None:
        self.all: list[Event] = [Event(HOST, None, 0, "", None, None), Event(NOBODY, None, 0, "", None, None)]
        self._states: dict[int, _BlockState] = {}
        self._manners: dict[Operation, Manner] = {}
        # By address: what an acquire that reads there comes after.
        self._released: dict[int, Others] = {}

    def manner(self, operation: Operation) -> Manner:
        found = self._manners.get(operation)
        if found is None:
            found = self._manners[operation] = Manner(operation)
        return found

    def _state(self, block: TileBlock) -> _BlockState:
        found = self._states.get(block.number)
        if found is None:
            found = self._states[block.number] = _BlockState()
        return found

    def finish(self, block: TileBlock) -> None:
        self._states.pop(block.number, None)

    def keep(self, numbers: list[int]) -> None:
        """Drop all other events, and number these anew."""
        self.all = [self.all[number] for number in numbers]
        for number, event in enumerate(self.all):
            event.number = number

    def token(self, operation: Operation, block: TileBlock, tokens: list[Token | None]) -> Token:
        """The token an operation gives; if it accesses memory its event is about to follow."""
        taken = _NOTHING
        for token in tokens:
            if token is not None:
                if taken is _NOTHING:
                    taken = token
                else:
                    taken = Token(taken.bits | token.bits, _joined(taken.others, token.others))
        hanging = next((token for token in tokens if token is not None and token.masked is not None), None)
        if hanging is not None and taken is not hanging:
            taken.firm = _firmly([token for token in tokens if token is not None])
            taken.masked = hanging.masked if taken.firm != taken.bits else None
        if not self.manner(operation).is_access:
            return taken
        state = self._state(block)
        state.taken = taken
        state.given = Token(taken.bits | 1 << state.bits, taken.others)
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
        event = Event(len(self.all), block, state.bits, kind, operation, self.manner(operation))
        self.all.append(event)
        state.bits += 1
        return event, state.taken

    def hiding(self, event: Event, hidden: Event) -> Event:
        """An event in place of one that hides an earlier read without following it."""
        group = Event(len(self.all), event.block, event.bit, event.kind, event.operation, event.manner)
        group.also = event.also | hidden.also | 1 << hidden.bit
        group.layout = event.layout
        self.all.append(group)
        return group

    def synchronize(self, event: Event, addresses: list[int]) -> None:
        """Let an acquire take what was released at its addresses, and a release leave what comes before it."""
        manner, block = event.manner, event.block
        assert manner is not None and block is not None
        state = self._state(block)
        if manner.acquires and event.kind != "write":
            for address in addresses:
                found = self._released.get(address)
                if found is not None:
                    state.given.others = _joined(state.given.others, found)
        if event.kind == "read":
            return
        for address in addresses:
            if event.kind == "write":
                # A plain store ends what an earlier release started; an atomic update carries it on.
                self._released.pop(address, None)
            if manner.releases:
                left = _joined(state.given.others, {block.number: state.given.bits})
                self._released[address] = _joined(left, self._released.get(address, {}))

    @property
    def has_releases(self) -> bool:
        return bool(self._released)
