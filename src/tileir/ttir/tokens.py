"""The order of memory operations.

TTIR has none: on a GPU the threads of a program run in step, and barriers order what they do.  Tile IR orders memory
operations by tokens, in one of three ways:

"program"    each operation comes after the one before it, which is what a kernel means where it is correct
"arguments"  each operation comes after those before it that access the array of the same argument; arrays that are only
             read are not ordered.  This is for GPUs, where order costs time.
"barriers"   operations are ordered by barriers only, so that the sanitizer sees two operations of a program that touch
             the same memory without a barrier between them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from tileir.builder import Builder
from tileir.ir.values import Value
from tileir.ttir.origins import Origins

MemoryOrder = Literal["program", "arguments", "barriers"]
MEMORY_ORDERS: Final[tuple[MemoryOrder, ...]] = ("program", "arguments", "barriers")


class State(NamedTuple):
    """The tokens at a point of the program."""

    ordered: Value  # what the next operation waits for
    pending: tuple[Value, ...]  # since the last barrier
    last: dict[int | None, tuple[Value, Value]]  # by arguments: the last operation, and what it waited for


class Tokens:
    """The tokens at the insertion point; `origins` is there for the order "arguments"."""

    def __init__(self, build: Builder, order: MemoryOrder, origins: Origins | None) -> None:
        self.build = build
        self.order: MemoryOrder = order
        self._origins = origins
        self._state: State | None = None

    def before(self, pointer: Value | None = None) -> Value | None:
        """The token that the next memory operation takes; `pointer` is the value of TTIR through which it accesses."""
        if self.is_only_read(pointer):
            return self._state.ordered if self._state is not None else None
        number = self._argument(pointer)
        if self.order == "arguments" and number is None:
            self.barrier()
        if number is None:
            return self.state().ordered
        return self._last(number)

    def after(self, token: Value, pointer: Value | None = None) -> None:
        """Note the token that a memory operation returned."""
        if self.is_only_read(pointer):
            return
        state = self.state()
        number = self._argument(pointer)
        if self.order == "program" or (self.order == "arguments" and number is None):
            self._state = state._replace(ordered=token)
            return
        last = state.last
        if number is not None:
            last = {**last, number: (token, state.ordered)}
        self._state = State(state.ordered, (*state.pending, token), last)

    def is_only_read(self, pointer: Value | None) -> bool:
        """Whether accesses through a pointer need no order."""
        if self._origins is None or pointer is None:
            return False
        found = self._origins.of(pointer)
        return found is not None and self._origins.is_only_read(found)

    def barrier(self) -> None:
        """Order what follows after all that came before."""
        state = self.state()
        if state.pending:
            self._state = State(self.build.join_tokens([state.ordered, *state.pending]), (), {})

    def _last(self, number: int | None) -> Value:
        """What an operation on pointers waits for."""
        state = self.state()
        token, ordered = state.last.get(number, (state.ordered, state.ordered))
        return token if ordered is state.ordered else self.build.join_tokens([token, state.ordered])

    # --- regions: loops and branches carry tokens ---

    def state(self) -> State:
        if self._state is None:
            self._state = State(self.build.make_token(), (), {})
        return self._state

    def carried(self, accesses: Sequence[Value]) -> list[int]:
        """The arguments that these pointers come from."""
        numbers = [self._argument(each) for each in accesses]
        return sorted({each for each in numbers if each is not None})

    def values(self, carried: Sequence[int]) -> list[Value]:
        """The tokens as values that a region takes or returns."""
        state = self.state()
        if self.order == "program":
            return [state.ordered]
        pending = (
            self.build.join_tokens(state.pending) if len(state.pending) > 1 else (*state.pending, state.ordered)[0]
        )
        return [state.ordered, pending, *[self._last(each) for each in carried]]

    def restore(self, state: State, carried: Sequence[int] = (), values: Sequence[Value] = ()) -> None:
        """Continue with the state in front of a region, and with the values that it passes on."""
        if values:
            ordered, *others = values
            last = dict(state.last)
            for number, token in zip(carried, others[1:], strict=True):
                last[number] = (token, ordered)
            state = State(ordered, tuple(others[:1]), last)
        self._state = state

    def _argument(self, pointer: Value | None) -> int | None:
        """The number of the argument that a pointer comes from, None if it is unknown or not needed."""
        return None if self._origins is None or pointer is None else self._origins.of(pointer)
