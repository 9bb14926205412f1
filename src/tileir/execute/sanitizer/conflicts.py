"""Unordered accesses to the same bytes, and reads of unwritten bytes.

Two accesses of which at least one writes must be ordered: within a tile block by a path of tokens, between tile blocks
by a release that an acquire reads, unless both are strong (relaxed or stronger, with a scope that holds both).  Each
access is compared with what the shadow holds, then recorded there.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.dialect.ops import LOOP
from tileir.execute.analysis.pointer_origins import where_in
from tileir.execute.dtypes import Array
from tileir.execute.locations.source_locations import user_location
from tileir.execute.locations.wording import (
    CUTILE_ORDER,
    CUTILE_ORDER_HINT,
    CUTILE_SCOPE_HINT,
    OTHER,
    THIS,
    in_script,
    is_of_triton,
    phrase,
)
from tileir.execute.memory import Region
from tileir.execute.observing.observer import Access
from tileir.execute.sanitizer.bounds import element_of
from tileir.execute.sanitizer.events import HOST, NO_RELEASE, NOBODY, AccessSemantics, Event, Events, Token
from tileir.execute.sanitizer.ledger import Ledger
from tileir.execute.sanitizer.report import ATOMIC_ADD, Finding, FindingLocation, Kind
from tileir.execute.sanitizer.shadow import MOST_BOXES, Cells, Shadow, distinct
from tileir.execute.sanitizer.uninitialized import ALLOCATIONS
from tileir.execute.schedule import block_at
from tileir.ir.core import Operation
from tileir.ir.diagnostics import location_prefix
from tileir.ir.traversal import ancestors

_PAST = {"read": "read", "write": "wrote", "atomic": "updated"}
_PRESENT = {"read": "reads", "write": "writes", "atomic": "updates"}


class Conflicts:
    def __init__(self, ledger: Ledger, events: Events) -> None:
        self._ledger: Ledger = ledger
        self._events: Events = events
        self._doubts: OrderNotes = OrderNotes(ledger)
        self._has_threads: bool | None = None  # Whether a tile block is a program of Triton's.

    def check(self, access: Access, touched: list[tuple[Shadow, Cells]]) -> None:
        if self._has_threads is None:
            self._has_threads = is_of_triton(access.operation)
        layout = _layout(access) if self._has_threads or _loops_around(access.operation) else None
        event, token = self._events.begin(access.operation, access.block, layout, self._has_threads, access.device)
        semantics = event.semantics
        if not touched and access.kind == "read" and access.view is None:
            mask = access.mask
            if mask is not None and not mask.any():
                self._events.reads_nothing(event, access.block)
        for shadow, cells in touched:
            if access.kind == "read":
                self._read(access, event, token, shadow, cells)
            else:
                self._write(access, event, token, shadow, cells)
        if semantics.acquires and access.kind != "write":
            # Take what releases left at the start of each element.
            for shadow, cells in touched:
                if shadow.released is not None:
                    starts = cells.starts(access.size // shadow.cell)
                    self._events.acquire(access.block, distinct(starts.of(shadow.released)))
        if access.kind != "read":
            self._release(access, semantics, touched)

    def _release(self, access: Access, semantics: AccessSemantics, touched: list[tuple[Shadow, Cells]]) -> None:
        """Leave what precedes a release at each element's start; a store ends an earlier one, an atomic goes on."""
        if access.kind == "atomic" and not semantics.releases:
            return
        number = NO_RELEASE
        for shadow, cells in touched:
            if shadow.released is None:
                if not semantics.releases:
                    continue
                shadow.released = shadow.plane()
            starts = cells.starts(access.size // shadow.cell)
            if access.kind == "write" or semantics.acquires:
                # An update that acquires took what was there: nothing is left to carry on.
                if semantics.releases and number == NO_RELEASE:
                    number = self._events.release(access.block)
                starts.put(shadow.released, number)
                continue
            before = starts.of(shadow.released)
            numbers = distinct(before)
            after = self._events.carry_on(access.block, numbers)
            starts.put(shadow.released, after[numpy.searchsorted(numbers, before)])

    def _read(self, access: Access, event: Event, token: Token, shadow: Shadow, cells: Cells) -> None:
        if shadow.written:
            self._compare_with_writers(access, event, token, shadow, cells)
        elif cells.indices is None:
            self._read_box(access, event, token, shadow, cells)
            return
        if shadow.readers is None:
            shadow.readers = shadow.plane()
        known = cells.of(shadow.readers)
        found = distinct(known)
        shadow.other_readers = self._kept(shadow, shadow.other_readers, access, cells, known, found)
        replaced: Array | None = None
        for number in found.tolist():
            if number == HOST:
                continue
            earlier = self._events[number]
            if earlier.block == access.block.number and not self._events.is_before(earlier, token, access.block):
                if replaced is None:
                    replaced = numpy.full(known.shape, event.number, numpy.int32)
                replaced[known == number] = self._events.hiding(event, earlier).number
        cells.put(shadow.readers, event.number if replaced is None else replaced)

    def _read_box(self, access: Access, event: Event, token: Token, shadow: Shadow, cells: Cells) -> None:
        """A box of a region without writers: the same by box instead of by cell."""
        key = (cells.offset, cells.shape, cells.strides)
        known = shadow.boxes.get(key)
        reader, other = event.number, HOST
        if known is not None:
            _, number, other = known
            earlier = self._events[number]
            if earlier.block != access.block.number:
                other = number
            elif not self._events.is_before(earlier, token, access.block):
                reader = self._events.hiding(event, earlier).number
        elif len(shadow.boxes) >= MOST_BOXES:
            shadow.flush()
        shadow.boxes[key] = (cells, reader, other)

    def _kept(
        self, shadow: Shadow, plane: Array | None, access: Access, cells: Cells, known: Array, found: Array
    ) -> Array | None:
        """The plane of the others plus replaced events of other blocks; `found` are the distinct ones of `known`."""
        foreign = self._events.foreign(found, access.block)
        if not foreign.any():
            return plane
        if plane is None:
            plane = shadow.plane()
        if not foreign.all():
            known = numpy.where(self._events.foreign(known, access.block), known, cells.of(plane))
        cells.put(plane, known)
        return plane

    def _write(self, access: Access, event: Event, token: Token, shadow: Shadow, cells: Cells) -> None:
        semantics = event.semantics
        if shadow.boxes:
            shadow.flush()
        if shadow.written:
            self._compare_with_writers(access, event, token, shadow, cells)
            if semantics.strong:
                known = cells.of(shadow.writers)
                others = self._kept(shadow, shadow.other_writers, access, cells, known, distinct(known))
                shadow.other_writers = others
        for readers in (shadow.readers, shadow.other_readers):
            if readers is not None and cells.of(readers).any():
                self._compare(access, event, token, shadow, readers, cells)
                cells.put(readers, HOST)
        shadow.written = True
        if not semantics.strong:
            shadow.weakly_written = True
        cells.put(shadow.writers, event.number)

    def _compare_with_writers(self, access: Access, event: Event, token: Token, shadow: Shadow, cells: Cells) -> None:
        """Compare with the last writes, and with those of other tile blocks before them."""
        if event.semantics.strong and not shadow.weakly_written:
            return
        self._compare(access, event, token, shadow, shadow.writers, cells)
        if shadow.other_writers is not None:
            self._compare(access, event, token, shadow, shadow.other_writers, cells)

    def _compare(self, access: Access, event: Event, token: Token, shadow: Shadow, plane: Array, cells: Cells) -> None:
        found = cells.of(plane)
        if event.semantics.strong:
            # Mostly other atomics, and many of them.
            found = self._events.weak(found)
            if not found.size:
                return
        for number in distinct(found).tolist():
            if number == NOBODY:
                if access.kind != "write":
                    self._nobody_wrote(access, shadow, plane)
            elif number != HOST:
                self._compare_with(access, event, token, shadow, plane, self._events[number])

    def _compare_with(
        self, access: Access, event: Event, token: Token, shadow: Shadow, numbers: Array, earlier: Event
    ) -> None:
        if event.semantics.ordering != "weak" and earlier.semantics.ordering != "weak":
            # A scope of one tile block is enough within it.
            if earlier.block == access.block.number or (event.semantics.strong and earlier.semantics.strong):
                return
        if self._events.is_before(earlier, token, access.block):
            if earlier.block == access.block.number and (doubt := self._doubts.look(access, event, token, earlier)):
                location, other, target = self._parties(access, shadow, numbers, earlier)
                self._doubts.report(doubt, location, other, target, token)
            return
        race = earlier.block != access.block.number
        kind: Kind = "race" if race else "unordered"
        if self._ledger.counted(kind, access.operation, earlier.semantics.operation):
            return
        location, other, target = self._parties(access, shadow, numbers, earlier)
        if race:
            finding = _race(access, event, earlier, location, other, target)
        else:
            finding = _unordered(access, earlier, location, other, target)
        self._ledger.add(finding)

    def _parties(
        self, access: Access, shadow: Shadow, numbers: Array, earlier: Event
    ) -> tuple[FindingLocation, FindingLocation, str]:
        element, address = self._locate(access, shadow, numbers, earlier.number)
        other = FindingLocation(earlier.semantics.operation, block_at(earlier.block, access.block.grid))
        return FindingLocation(access.operation, access.block.id, element), other, where_in(shadow.region, address)

    def _locate(
        self, access: Access, shadow: Shadow, numbers: Array, number: int
    ) -> tuple[tuple[int, ...] | None, int]:
        """The first element whose cells hold an event, and its address."""
        flat = access.touched
        offsets = (flat - numpy.uint64(shadow.region.start)).view(numpy.int64)
        inside = (offsets >= 0) & (offsets <= shadow.region.size - access.size)
        rows = shadow.at(numbers, numpy.where(inside, offsets, 0), access.size)
        chosen = (rows == number).any(axis=1) & inside
        first = int(chosen.argmax())
        return element_of(access, first), int(flat[first])

    def _nobody_wrote(self, access: Access, shadow: Shadow, numbers: Array) -> None:
        if self._ledger.counted("uninitialized", access.operation, None):
            return
        element, address = self._locate(access, shadow, numbers, NOBODY)
        self._ledger.add(unwritten(access, element, shadow.region, address))


def unwritten(access: Access, element: tuple[int, ...] | None, region: Region, address: int) -> Finding:
    """The finding for an element that is read before anybody wrote it."""
    location = FindingLocation(access.operation, access.block.id, element)
    title = phrase(f"{THIS} reads uninitialized memory", access.operation)
    details = [f"nothing was stored to {where_in(region, address)} before"]
    hint = "store to it first, on every path that leads here"
    allocation = ALLOCATIONS.at(address)
    if allocation is not None:
        details.append(f"it was allocated {allocation.where}")
        hint = "write to it before this launch, or allocate it with zeros"
    return Finding("uninitialized", title, location, details, hint)


def _race(
    access: Access, event: Event, earlier: Event, location: FindingLocation, other: FindingLocation, target: str
) -> Finding:
    now, before = access.kind, earlier.semantics.kind
    what = "write" if now != "read" and before != "read" else "access"
    title = f"two tile blocks {what} the same memory, and nothing orders them"
    details = [
        f"both touch {target}",
        phrase(
            f"one {_PRESENT[now]} ({event.semantics.words}), the other {_PAST[before]} ({earlier.semantics.words})",
            script=f"one {_PRESENT[now]}{_stated(event)}, the other {_PAST[before]}{_stated(earlier)}",
        ),
    ]
    narrow = [semantics for semantics in (event.semantics, earlier.semantics) if semantics.scope == "tl_blk"]
    if narrow and event.semantics.ordering != "weak" and earlier.semantics.ordering != "weak":
        hint: str = phrase("scope tl_blk covers only one tile block: use device", script=CUTILE_SCOPE_HINT)
    elif "atomic" in (now, before) and now != before:
        hint = (
            "an atomic is no protection against a weak access: make both atomic, or order them by release and acquire"
        )
    elif what == "write":
        advice = "give each tile block its own part, or use an atomic"
        hint = phrase(f"{advice} {ATOMIC_ADD}", script=f"{advice} {in_script(ATOMIC_ADD)}")
    else:
        hint = "which value is read depends on the schedule: split the kernel, or order by release and acquire"
    return Finding("race", title, location, details, hint, "against", other)


def _stated(event: Event) -> str:
    """The ordering of an access as a script states it, which leaves `weak` out."""
    return "" if event.semantics.words == "weak" else f" ({event.semantics.words})"


def _unordered(
    access: Access, earlier: Event, location: FindingLocation, other: FindingLocation, target: str
) -> Finding:
    this, before = access.operation, earlier.semantics.operation
    title = phrase(f"no token orders {THIS} after {OTHER}", this, before, script=f"nothing orders {THIS} after {OTHER}")
    details = [
        f"both touch {target}: one {_PRESENT[access.kind]}, the other {_PAST[earlier.semantics.kind]}",
        phrase(
            "program order does not order memory operations, only tokens do",
            script=CUTILE_ORDER,
        ),
    ]
    hint = phrase(
        f"pass the token of {OTHER} on, as in token=%t (join_tokens joins several)",
        this,
        before,
        script=CUTILE_ORDER_HINT,
    )
    return Finding("unordered", title, location, details, hint, "after", other)


# Where NVIDIA's assembler seems to lose the order of tokens (docs/internals/nvidia.md); notes, as the program is right:
# - the order goes through the token of a load whose mask is false, and through nothing else;
# - a load and then a store to the same memory in a `loop`, in which other elements of the tile meet;
# - a load, then a store to the same memory, and the loaded value is used after the store.

PAGE: Final = "docs/internals/nvidia.md"
MASKED: Final = "token-of-a-load-whose-mask-is-false"
IN_LOOP: Final = "load-and-store-in-a-loop"
AGAIN: Final = "load-issued-again"


class OrderNotes:
    """Looks at pairs of accesses of one tile block that tokens order."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger: Ledger = ledger
        self._later_uses: dict[tuple[Operation, Operation], Operation | None] = {}

    def look(self, access: Access, event: Event, token: Token, earlier: Event) -> str:
        """What is doubtful about an ordered pair, as an anchor of the documentation; empty if nothing is new."""
        before, what = earlier.semantics.operation, ""
        if token.masked is not None and not earlier.is_among(token.firm):
            what = MASKED
        elif earlier.semantics.kind == "read" and access.kind != "read":
            if event.layout != earlier.layout and set(_loops_around(before)) & set(_loops_around(access.operation)):
                what = IN_LOOP
            elif self._later_use(before, access.operation) is not None:
                what = AGAIN
        known = self._ledger.notes.get((what, access.operation, before))
        if known is None:
            return what
        known.count += 1
        return ""

    def report(self, what: str, location: FindingLocation, other: FindingLocation, target: str, token: Token) -> None:
        """Add the note; `target` is the memory both touch."""
        details = [f"both touch {target}, and tokens order them: the program is right"]
        if what == MASKED:
            assert token.masked is not None
            title = f"on a GPU {THIS} may not wait for {OTHER}: the order goes through a load whose mask is false"
            details.append(f"that load is {_named(token.masked)}")
            advice = f"pass the token of {OTHER} on directly, too (join_tokens)"
        elif what == IN_LOOP:
            title = f"on a GPU {THIS} may overtake {OTHER}, which it follows in a `loop`"
            details.append("the elements of the tile are in another order: one thread writes what another reads")
            advice = "store to other memory, or load and store in the same order"
        else:
            use = self._later_use(other.operation, location.operation)
            assert use is not None
            title = f"on a GPU {OTHER} may be issued again after {THIS}"
            details.append(f"what it loads is used later, by {_named(use)}")
            advice = "use it before the store, or store to other memory"
        hint = f"NVIDIA's assembler 13.4 has been observed to do this ({PAGE}#{what}): {advice}"
        pair = location.operation, other.operation
        note = Finding("note", phrase(title, *pair), location, details, phrase(hint, *pair), "after", other)
        self._ledger.notes[what, location.operation, other.operation] = note
        self._ledger.report.add(note)

    def _later_use(self, load: Operation, store: Operation) -> Operation | None:
        """An operation that uses the result of a load after a store."""
        key = (load, store)
        if key not in self._later_uses:
            users = [user for user in load.results[0].users if user is not store] if load.results else []
            self._later_uses[key] = next((user for user in users if self._runs_after(user, store, load)), None)
        return self._later_uses[key]

    def _runs_after(self, user: Operation, store: Operation, load: Operation) -> bool:
        outer = set(ancestors(load))
        users, stores = [user, *ancestors(user)], [store, *ancestors(store)]
        shared = set(users) & set(stores)
        if any(each.declaration.is_loop and each not in outer for each in shared):
            return True  # In the next iteration, with the same value.
        for one in users:
            for other in stores:
                if one is not other and one.parent is other.parent and one.parent is not None:
                    return other.is_before(one)
        return False


def _layout(access: Access) -> object:
    """Which element of the tile goes where."""
    return access.box if access.box is not None else (access.addresses.shape, hash(access.addresses.tobytes()))


def _loops_around(operation: Operation) -> list[Operation]:
    return [around for around in ancestors(operation) if around.declaration is LOOP]


def _named(operation: Operation) -> str:
    where = location_prefix(user_location(operation.location)).removesuffix(": ")
    return f"{operation.declaration.mnemonic}{f' at {where}' if where else ''}"
