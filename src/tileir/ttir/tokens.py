"""The order of memory operations.

TTIR has none: on a GPU the threads of a program run in step, and barriers order what they do.  Tile IR orders memory
operations by tokens, in one of three ways:

"program"    each operation comes after the one before it, which is what a kernel means where it is correct
"arguments"  each operation comes after those before it that access the array of the same argument; arrays that are only
             read are not ordered.  This is for GPUs, where order costs time.
"barriers"   operations are ordered by barriers, and those on the same pointers, which the same threads execute; this
             shows the sanitizer two operations of a program that touch the same memory without a barrier between them
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final, Literal, NamedTuple

from tileir.builder import Builder
from tileir.ir.core import Operation
from tileir.ir.values import Value
from tileir.ttir.origins import Origins

MemoryOrder = Literal["program", "arguments", "barriers"]
MEMORY_ORDERS: Final[tuple[MemoryOrder, ...]] = ("program", "arguments", "barriers")

_DEEPEST = 64  # How many operations are followed on the way to a pointer.


class State(NamedTuple):
    """The tokens at a place of the program."""

    ordered: Value  # what the next operation waits for
    pending: tuple[Value, ...]  # since the last barrier
    last: dict[int | None, tuple[Value, Value]]  # by pointers, or arguments: the last operation, and what it waited for


class Tokens:
    """The tokens at the insertion point.

    `leaf` says what stands for a value of TTIR from which pointers are computed, None if the value is computed itself.
    `origins` is there for the order "arguments".
    """

    def __init__(
        self, build: Builder, order: MemoryOrder, leaf: Callable[[Value], Hashable | None], origins: Origins | None
    ) -> None:
        self.build = build
        self.order: MemoryOrder = order
        self._leaf = leaf
        self._origins = origins
        self._numbers: dict[Hashable, int] = {}
        self._state: State | None = None

    def before(self, pointer: Value | None = None) -> Value | None:
        """The token that the next memory operation takes; `pointer` is the value of TTIR through which it accesses."""
        if self.is_only_read(pointer):
            return self._state.ordered if self._state is not None else None
        number = self._number(pointer) if pointer is not None and self.order != "program" else None
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
        number = self._number(pointer) if pointer is not None and self.order != "program" else None
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

    def carried(self, accesses: Sequence[Value], region: Operation) -> list[int]:
        """The numbers among those of these pointers that mean the same throughout a region."""
        numbers = [self._number(each, region) for each in accesses]
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

    # --- pointers ---

    def _number(self, pointer: Value, region: Operation | None = None) -> int | None:
        """A number for all pointers that are computed alike from the same values, None if one of these is inside a
        region; in the order "arguments", for all that come from one argument, None if that is not known."""
        if self._origins is not None:
            return self._origins.of(pointer)
        known: dict[Value, int | None] = {}

        def number(value: Value, depth: int) -> int | None:
            if value not in known:
                known[value] = find(value, depth)
            return known[value]

        def find(value: Value, depth: int) -> int | None:
            leaf = self._leaf(value) if depth else value
            operation = value.defining_operation
            key: Hashable = leaf
            if leaf is None and operation is not None:
                operands = [number(each, depth - 1) for each in operation.operands]
                if None in operands:
                    return None
                key = (operation.name, *operation.attributes.items(), value.type, *operands)
            elif region is not None and _is_inside(value, region):
                return None
            return self._numbers.setdefault(key, len(self._numbers))

        return number(pointer, _DEEPEST)


def _is_inside(value: Value, region: Operation) -> bool:
    block = value.parent_block
    owner = block.parent_operation if block is not None else None
    return owner is not None and region.is_ancestor_of(owner)
