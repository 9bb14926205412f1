"""What is ordered before what, written out: every token and every released place has the whole set of events.

The plain form of `tileir.execute.sanitizer.events`, slow and easy to trust: for each tile block that came before, a
set of bits for its events.  `FullClocks` is a sanitizer that orders events with it and is the same in all else.
"""

from __future__ import annotations

from typing import Any

from tileir.execute.sanitizer.conflicts import Conflicts
from tileir.execute.sanitizer.events import Events, Token
from tileir.execute.sanitizer.sanitizer import Sanitizer


class FullToken(Token):
    __slots__ = ("others",)

    def __init__(self, token, others):
        super().__init__(token.bits, token.known)
        self.firm, self.masked = token.firm, token.masked
        self.others = others


def union(left, right):
    return {block: left.get(block, 0) | right.get(block, 0) for block in {*left, *right}}


class FullEvents(Events):
    def __init__(self):
        super().__init__()
        self.released = {}

    def token(self, operation, block, tokens):
        others: dict[Any, Any] = {}
        for token in tokens:
            if token is not None:
                others = union(others, token.others)
        given = FullToken(super().token(operation, block, tokens), others)
        if self.semantics(operation).is_access:
            state = self._state(block)
            state.given, state.taken = given, FullToken(state.taken, others)
        return given

    def is_before(self, event, token, block):
        return event.is_among(token.bits if event.block == block.number else token.others.get(event.block, 0))

    def synchronize(self, access):
        semantics, block = self.semantics(access.operation), access.block
        given = self._state(block).given
        addresses = access.touched.tolist()
        if semantics.acquires and access.kind != "write":
            for address in addresses:
                given.others = union(given.others, self.released.get(address, {}))
        if access.kind == "read":
            return
        for address in addresses:
            if access.kind == "write":
                self.released.pop(address, None)
            if semantics.releases:
                left = union(given.others, {block.number: given.bits})
                self.released[address] = union(left, self.released.get(address, {}))


class FullConflicts(Conflicts):
    def check(self, access, touched):
        super().check(access, touched)
        self._events.synchronize(access)

    def _release(self, access, semantics, touched):
        pass


class FullClocks(Sanitizer):
    def _reset(self, memory):
        super()._reset(memory)
        self._events = FullEvents()
        self._conflicts = FullConflicts(self, self._events)
