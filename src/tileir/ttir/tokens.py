"""The order of memory operations.

TTIR has none: on a GPU the threads of a program run in step, and barriers order what they do.  Tile IR orders memory
operations by tokens, in one of two ways:

"program"   each operation comes after the one before it, which is what a kernel means where it is correct
"barriers"  operations are ordered by barriers only, which shows the sanitizer two operations of a program that touch
            the same memory without one
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tileir.builder import Builder
from tileir.ir.values import Value

MemoryOrder = Literal["program", "barriers"]


class Tokens:
    """The tokens at the insertion point."""

    def __init__(self, build: Builder, order: MemoryOrder) -> None:
        self.build = build
        self.order: MemoryOrder = order
        self._ordered: Value | None = None  # what the next operation waits for
        self._pending: list[Value] = []  # since the last barrier

    def before(self) -> Value:
        """The token that the next memory operation takes."""
        if self._ordered is None:
            self._ordered = self.build.make_token()
        return self._ordered

    def after(self, token: Value) -> None:
        """Note the token that a memory operation returned."""
        if self.order == "program":
            self._ordered = token
        else:
            self._pending.append(token)

    def barrier(self) -> None:
        """Order what follows after all that came before."""
        if self._pending:
            self._ordered = self.build.join_tokens([self.before(), *self._pending])
            self._pending = []

    def state(self) -> list[Value]:
        """The tokens as values that a loop or branch can carry."""
        ordered = self.before()
        if self.order == "program":
            return [ordered]
        if len(self._pending) == 1:
            return [ordered, self._pending[0]]
        return [ordered, self.build.join_tokens(self._pending) if self._pending else ordered]

    def restore(self, state: Sequence[Value]) -> None:
        """Continue with the tokens of a state, or with what a loop or branch made of them."""
        self._ordered = state[0]
        self._pending = list(state[1:])
