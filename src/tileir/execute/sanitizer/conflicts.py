"""Accesses to the same bytes that nothing orders, and reads of bytes nobody wrote.

Two accesses of which at least one writes must be ordered: within a tile block by a path of tokens, between tile blocks
by a release that an acquire reads, unless both are strong (relaxed or stronger, with a scope that holds both).  Each
access is compared with what the shadow holds, then recorded there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from tileir.execute.dtypes import Array
from tileir.execute.observer import Access
from tileir.execute.sanitizer.bounds import element_of, where_in
from tileir.execute.sanitizer.events import HOST, NOBODY, Event, Events, Token
from tileir.execute.sanitizer.report import Finding, Place
from tileir.execute.sanitizer.shadow import Cells, Shadow, distinct

if TYPE_CHECKING:
    from tileir.execute.sanitizer.sanitizer import Sanitizer

_PAST = {"read": "read", "write": "wrote", "atomic": "updated"}
_PRESENT = {"read": "reads", "write": "writes", "atomic": "updates"}


class Conflicts:
    """Compares accesses with the shadow."""

    def __init__(self, sanitizer: Sanitizer, events: Events) -> None:
        self._sanitizer: Sanitizer = sanitizer
        self._events: Events = events

    def check(self, access: Access, touched: list[tuple[Shadow, Cells]]) -> None:
        event, token = self._events.begin(access.operation, access.block, access.kind)
        manner = event.manner
        assert manner is not None
        for shadow, cells in touched:
            if access.kind == "read":
                self._read(access, event, token, shadow, cells)
            else:
                self._write(access, event, token, shadow, cells)
        if manner.acquires or manner.releases or (access.kind == "write" and self._events.has_releases):
            self._events.synchronize(event, access.touched.tolist())

    def _read(self, access: Access, event: Event, token: Token, shadow: Shadow, cells: Cells) -> None:
        if shadow.touched:
            self._compare(access, event, token, shadow, "writers", cells)
        readers = shadow.readers
        known = cells.of(readers)
        replaced: Array | None = None
        for number in distinct(known):
            if number == HOST:
                continue
            earlier = self._events.all[number]
            assert earlier.block is not None
            if earlier.block is not access.block:
                if shadow.other_readers is None:
                    shadow.other_readers = numpy.zeros(readers.size, numpy.int32)
                others = cells.of(shadow.other_readers)
                numpy.copyto(others, known, where=known == number)
                cells.put(shadow.other_readers, others)
            elif not earlier.is_before(token):
                if replaced is None:
                    replaced = numpy.full(known.shape, event.number, numpy.int32)
                replaced[known == number] = self._events.hiding(event, earlier).number
        cells.put(readers, event.number if replaced is None else replaced)

    def _write(self, access: Access, event: Event, token: Token, shadow: Shadow, cells: Cells) -> None:
        if shadow.touched:
            self._compare(access, event, token, shadow, "writers", cells)
        self._compare(access, event, token, shadow, "readers", cells)
        if shadow.touched:
            known = cells.of(shadow.writers)
            manner = event.manner
            assert manner is not None
            for number in distinct(known):
                earlier = self._events.all[number]
                if earlier.block is None or earlier.block is access.block or not manner.strong:
                    continue
                if shadow.other_writers is None:
                    shadow.other_writers = numpy.zeros(shadow.writers.size, numpy.int32)
                others = cells.of(shadow.other_writers)
                numpy.copyto(others, known, where=known == number)
                cells.put(shadow.other_writers, others)
        shadow.touched = True
        cells.put(shadow.writers, event.number)
        cells.put(shadow.readers, HOST)
        if shadow.other_readers is not None:
            cells.put(shadow.other_readers, HOST)

    def _compare(self, access: Access, event: Event, token: Token, shadow: Shadow, plane: str, cells: Cells) -> None:
        """Compare with the last writers or readers, and with the last ones of another tile block."""
        for name in (plane, f"other_{plane}"):
            numbers = getattr(shadow, name)
            if numbers is None:
                continue
            for number in distinct(cells.of(numbers)):
                if number == HOST:
                    continue
                if number == NOBODY:
                    if access.kind != "write":
                        self._nobody_wrote(access, shadow, numbers)
                    continue
                self._compare_with(access, event, token, shadow, numbers, self._events.all[number])

    def _compare_with(
        self, access: Access, event: Event, token: Token, shadow: Shadow, numbers: Array, earlier: Event
    ) -> None:
        assert event.manner is not None and earlier.manner is not None and earlier.block is not None
        assert earlier.operation is not None
        if event.manner.ordering != "weak" and earlier.manner.ordering != "weak":
            # A scope of one tile block is enough within it.
            if earlier.block is access.block or (event.manner.strong and earlier.manner.strong):
                return
        if earlier.is_before(token):
            return
        race = earlier.block is not access.block
        kind = "race" if race else "unordered"
        if self._sanitizer.counted(kind, access.operation, earlier.operation):
            return
        element, address = self._locate(access, shadow, numbers, earlier.number)
        place = Place(access.operation, access.block.id, element)
        other = Place(earlier.operation, earlier.block.id)
        target = where_in(shadow.region, address)
        if race:
            finding = _race(access, event, earlier, place, other, target)
        else:
            finding = _unordered(access, earlier, place, other, target)
        self._sanitizer.add(finding)

    def _locate(self, access: Access, shadow: Shadow, numbers: Array, number: int) -> tuple[tuple[int, ...] | None, int]:
        """The first element whose cells hold an event, and its address."""
        flat = access.touched
        offsets = (flat - numpy.uint64(shadow.region.start)).view(numpy.int64)
        inside = (offsets >= 0) & (offsets <= shadow.region.size - access.size)
        rows = shadow.at(numbers, numpy.where(inside, offsets, 0), access.size)
        chosen = (rows == number).any(axis=1) & inside
        first = int(chosen.argmax())
        return element_of(access, first), int(flat[first])

    def _nobody_wrote(self, access: Access, shadow: Shadow, numbers: Array) -> None:
        if self._sanitizer.counted("uninitialized", access.operation, None):
            return
        element, address = self._locate(access, shadow, numbers, NOBODY)
        place = Place(access.operation, access.block.id, element)
        mnemonic = access.operation.declaration.mnemonic
        title = f"{mnemonic} reads memory nobody wrote"
        details = [f"nothing was stored to {where_in(shadow.region, address)} before"]
        hint = "store to it first, on every path that leads here"
        self._sanitizer.add(Finding("uninitialized", title, place, details, hint))


def _race(access: Access, event: Event, earlier: Event, place: Place, other: Place, target: str) -> Finding:
    assert event.manner is not None and earlier.manner is not None
    now, before = access.kind, earlier.kind
    what = "write" if now != "read" and before != "read" else "access"
    title = f"two tile blocks {what} the same memory, and nothing orders them"
    details = [
        f"both touch {target}",
        f"one {_PRESENT[now]} ({event.manner.words}), the other {_PAST[before]} ({earlier.manner.words})",
    ]
    narrow = [manner for manner in (event.manner, earlier.manner) if manner.scope == "tl_blk"]
    if narrow and event.manner.ordering != "weak" and earlier.manner.ordering != "weak":
        hint = "scope tl_blk holds one tile block only: use device"
    elif "atomic" in (now, before) and now != before:
        hint = "an atomic is no protection against a weak access: make both atomic, or order them by release and acquire"
    elif what == "write":
        hint = "give each tile block its own part, or use atomic_rmw_tko"
    else:
        hint = "which value is read depends on the schedule: split the kernel, or order by release and acquire"
    return Finding("race", title, place, details, hint, "against", other)


def _unordered(access: Access, earlier: Event, place: Place, other: Place, target: str) -> Finding:
    title = f"{access.operation.declaration.mnemonic} {_PRESENT[access.kind]} what {_PAST[earlier.kind]} before it "
    assert earlier.operation is not None
    before = earlier.operation.declaration.mnemonic
    title = f"no token orders {access.operation.declaration.mnemonic} after {before}"
    details = [
        f"both touch {target}: one {_PRESENT[access.kind]}, the other {_PAST[earlier.kind]}",
        "program order does not order memory operations, only tokens do",
    ]
    hint = f"pass the token of {before} on, as in token=%t (join_tokens joins several)"
    return Finding("unordered", title, place, details, hint, "after", other)
