"""What is carried around loops, and what ends them.

A frame is what `continue`, `break` and `return` end: the body of a loop, or the kernel.  In TTIR the region of a loop
ends in one place and gives the same values whatever ended it:

    kernel   nothing
    for      the carried values
    loop     the slots, whether the kernel has ended (where it may), and whether to go on

The slots of a `loop` hold the carried values, and after its `break` the results: these take over slots of their type.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.builder import TtirBuilder
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue
from tileir.ir.core import Operation
from tileir.ir.values import BlockArgument, Value

Types = list[tuple[str, Shape]]


def tiles(values: Iterable[Value]) -> list[Value]:
    """Those that are values in TTIR: not tokens."""
    return [value for value in values if isinstance(value.type, TileType)]


def any_value(build: TtirBuilder, type: tuple[str, Shape]) -> TtirValue:
    """A value that does not count."""
    element, shape = type
    if element.startswith("!tt.ptr"):
        return build.reinterpret("tt.int_to_ptr", build.integer(0, "i64", shape), element)
    return build.zero(element, shape)


class Frame(Protocol):
    types: Types
    """Of what its region gives."""

    def given(self, terminator: Operation) -> list[TtirValue]:
        """What it gives where this ends it."""

    def ended_kernel(self, build: TtirBuilder) -> list[TtirValue]:
        """What it gives where the kernel ends."""

    def unimportant(self, build: TtirBuilder) -> list[TtirValue]:
        """Values of these types, at hand where it has not ended."""


class KernelFrame:
    """The kernel itself."""

    def __init__(self) -> None:
        self.types: Types = []

    def given(self, terminator: Operation) -> list[TtirValue]:
        return []

    def ended_kernel(self, build: TtirBuilder) -> list[TtirValue]:
        return []

    def unimportant(self, build: TtirBuilder) -> list[TtirValue]:
        return []


class ForFrame:
    """The body of a `for`."""

    def __init__(self, lowering: Lowering, carried: list[TtirValue]) -> None:
        self.types: Types = [(value.element, value.shape) for value in carried]
        self._lowering: Final = lowering
        self._carried: Final = carried

    def given(self, terminator: Operation) -> list[TtirValue]:
        return [self._lowering.value(each) for each in tiles(terminator.operands)]

    def ended_kernel(self, build: TtirBuilder) -> list[TtirValue]:
        raise AssertionError("a kernel does not end inside a for")

    def unimportant(self, build: TtirBuilder) -> list[TtirValue]:
        return self._carried


class LoopFrame:
    """The body of a `loop`."""

    def __init__(self, lowering: Lowering, operation: Operation, may_return: bool) -> None:
        build = lowering.build
        self._lowering: Final = lowering
        self._may_return: Final = may_return
        initial = [lowering.value(each) for each in tiles(operation.operands)]
        self._count: Final = len(initial)
        slots: Types = [(value.element, value.shape) for value in initial]
        self._places: Final = _places(lowering, operation, slots)
        for result, place in zip(tiles(operation.results), self._places, strict=True):
            if place >= len(slots):
                slots.append(lowering.type_of(result))
        extra = [any_value(build, type) for type in slots[self._count :]]
        bits = [build.integer(0, "i1")] if may_return else []
        self.initial: Final = [*initial, *extra, *bits]
        """What the loop begins with, beside the bit that it goes on."""
        self.types: Types = [*slots, *[("i1", ()) for _ in bits], ("i1", ())]
        self._slots: list[TtirValue] = []
        self.returned: TtirValue | None = None
        """Whether the kernel has ended, where it may."""

    def enter(self, carried: list[TtirValue]) -> None:
        """Say where the values are: inside of the loop, and behind it."""
        self.returned = carried[-1] if self._may_return else None
        self._slots = carried[:-1] if self._may_return else carried

    @property
    def arguments(self) -> list[TtirValue]:
        return self._slots[: self._count]

    @property
    def results(self) -> list[TtirValue]:
        return [self._slots[place] for place in self._places]

    def given(self, terminator: Operation) -> list[TtirValue]:
        build = self._lowering.build
        if terminator.declaration is ops.RETURN:
            return self.ended_kernel(build)
        values = [self._lowering.value(each) for each in tiles(terminator.operands)]
        slots = list(self._slots)
        is_break = terminator.declaration is ops.BREAK
        for place, value in zip(self._places if is_break else range(len(values)), values, strict=True):
            slots[place] = value
        return [*slots, *self._not_returned(build), build.integer(not is_break, "i1")]

    def ended_kernel(self, build: TtirBuilder) -> list[TtirValue]:
        return [*self._slots, build.integer(1, "i1"), build.integer(0, "i1")]

    def unimportant(self, build: TtirBuilder) -> list[TtirValue]:
        return [*self._slots, *self._not_returned(build), build.integer(1, "i1")]

    def _not_returned(self, build: TtirBuilder) -> list[TtirValue]:
        return [build.integer(0, "i1")] if self._may_return else []


def _places(lowering: Lowering, operation: Operation, slots: Types) -> list[int]:
    """The slot of each result: that of a carried value of its type, best of the one that all breaks give for it."""
    arguments = tiles(operation.regions[0].blocks[0].arguments)
    breaks = [tiles(each.operands) for each in _breaks(operation)]
    results = tiles(operation.results)
    taken: dict[int, int] = {}
    for number in range(len(results)):
        given = {each[number] for each in breaks}
        if len(given) == 1:
            (only,) = given
            if isinstance(only, BlockArgument) and only in arguments and arguments.index(only) not in taken.values():
                taken[number] = arguments.index(only)
    count = len(slots)
    for number, result in enumerate(results):
        if number in taken:
            continue
        type = lowering.type_of(result)
        free = [place for place in range(len(slots)) if slots[place] == type and place not in taken.values()]
        taken[number] = free[0] if free else count
        count += not free
    return [taken[number] for number in range(len(results))]


def _breaks(operation: Operation) -> list[Operation]:
    """All that leave a `loop`."""
    found: list[Operation] = []
    for region in operation.regions:
        for block in region.blocks:
            for inner in block:
                if inner.declaration is ops.BREAK:
                    found.append(inner)
                elif inner.declaration is ops.IF:
                    found += _breaks(inner)
    return found
