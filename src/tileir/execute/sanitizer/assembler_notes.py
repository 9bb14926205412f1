"""Where NVIDIA's assembler seems to lose an order that a program relies on: notes, not findings.

The program is right, and the engines here run it right.  Three patterns were seen to go wrong on a GPU although tokens
order the accesses (docs/nvidia.md has the smallest program for each):

- the order goes through the token of a load whose mask is false, and through nothing else;
- a load and then a store to the same memory in a `loop`, in which other elements of the tile meet;
- a load, then a store to the same memory, and the loaded value is used after the store.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect.ops import LOOP
from tileir.execute.locations.source_locations import user_location
from tileir.execute.locations.wording import OTHER, THIS, phrase
from tileir.execute.observing.observer import Access
from tileir.execute.sanitizer.events import Event, Token
from tileir.execute.sanitizer.ledger import Ledger
from tileir.execute.sanitizer.report import Finding, Place
from tileir.ir.core import Block, Operation
from tileir.ir.diagnostics import location_prefix
from tileir.ir.traversal import ancestors

PAGE: Final = "docs/nvidia.md"
MASKED: Final = "token-of-a-load-whose-mask-is-false"
IN_LOOP: Final = "load-and-store-in-a-loop"
AGAIN: Final = "load-issued-again"

Layout = object


class Doubts:
    """Looks at pairs of accesses of one tile block that tokens order."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger: Ledger = ledger
        self._loops: dict[Operation, list[Operation]] = {}
        self._places: dict[Block, dict[Operation, int]] = {}
        self._later_uses: dict[tuple[Operation, Operation], Operation | None] = {}

    def layout(self, access: Access) -> Layout:
        """Which element of the tile goes where, for accesses in a `loop`; None for others."""
        if not self._loops_around(access.operation):
            return None
        return access.box if access.box is not None else (access.addresses.shape, hash(access.addresses.tobytes()))

    def look(self, access: Access, event: Event, token: Token, earlier: Event) -> str:
        """What is doubtful about a pair that is ordered, as the place on the page; empty if nothing is new."""
        before = earlier.operation
        assert before is not None
        if token.masked is not None and not earlier.is_before_firmly(token):
            return self._new(MASKED, access.operation, before)
        if earlier.kind != "read" or access.kind == "read":
            return ""
        if event.layout != earlier.layout and set(self._loops_around(before)) & set(
            self._loops_around(access.operation)
        ):
            return self._new(IN_LOOP, access.operation, before)
        if self._later_use(before, access.operation) is not None:
            return self._new(AGAIN, access.operation, before)
        return ""

    def _new(self, what: str, operation: Operation, before: Operation) -> str:
        known = self._ledger.notes.get((what, operation, before))
        if known is None:
            return what
        known.count += 1
        return ""

    def tell(self, what: str, place: Place, other: Place, target: str, token: Token) -> None:
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
            use = self._later_use(other.operation, place.operation)
            assert use is not None
            title = f"on a GPU {OTHER} may be issued again after {THIS}"
            details.append(f"what it loads is used later, by {_named(use)}")
            advice = "use it before the store, or store to other memory"
        hint = f"NVIDIA's assembler 13.4 has been observed to do this ({PAGE}#{what}): {advice}"
        pair = place.operation, other.operation
        note = Finding("note", phrase(title, *pair), place, details, phrase(hint, *pair), "after", other)
        self._ledger.notes[what, place.operation, other.operation] = note
        self._ledger.report.add(note)

    # --- the program ---

    def _loops_around(self, operation: Operation) -> list[Operation]:
        found = self._loops.get(operation)
        if found is None:
            found = self._loops[operation] = [around for around in ancestors(operation) if around.declaration is LOOP]
        return found

    def _later_use(self, load: Operation, store: Operation) -> Operation | None:
        """An operation that uses what a load gives, after a store."""
        key = (load, store)
        if key not in self._later_uses:
            users = [user for user in load.results[0].users if user is not store] if load.results else []
            self._later_uses[key] = next((user for user in users if self._runs_after(user, store, load)), None)
        return self._later_uses[key]

    def _runs_after(self, user: Operation, store: Operation, load: Operation) -> bool:
        """Whether an operation can run after a store that follows a load."""
        outer = set(ancestors(load))
        users, stores = [user, *ancestors(user)], [store, *ancestors(store)]
        shared = set(users) & set(stores)
        if any(each.declaration.is_loop and each not in outer for each in shared):
            # In the next iteration, with the same value.
            return True
        for one in users:
            for other in stores:
                if one is not other and one.parent is other.parent and one.parent is not None:
                    places = self._places_in(one.parent)
                    return places[one] > places[other]
        return False

    def _places_in(self, block: Block) -> dict[Operation, int]:
        found = self._places.get(block)
        if found is None:
            found = self._places[block] = {operation: place for place, operation in enumerate(block)}
        return found


def _named(operation: Operation) -> str:
    where = location_prefix(user_location(operation.location)).removesuffix(": ")
    return f"{operation.declaration.mnemonic}{f' at {where}' if where else ''}"
