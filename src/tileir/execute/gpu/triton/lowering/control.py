"""Lowering of control flow.

TTIR has structured control flow only: a region ends in one place.  Where a branch of an `if` ends a loop, an iteration
or the kernel, what follows the `if` goes into the other branch.  Where both branches may go on, and somewhere in them
something ends early, a bit says whether it did.

    if %a { break %x }                     %r = scf.if %a { yield false, %x }
    REST                          ->            else { REST; yield true, %y }
    continue %y

A frame is what `continue`, `break` and `return` end: the body of a loop, or the kernel.  Its region yields the same
values whatever ended it:

    kernel   nothing
    for      the carried values
    loop     the slots, whether the kernel has ended (where it may), and whether to go on

The slots of a `loop` hold the carried values, and after its `break` the results: these take over slots of their type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.ttir.builder import TtirBuilder
from tileir.execute.gpu.triton.ttir.values import Shape, TtirValue
from tileir.ir.core import Block, Operation
from tileir.ir.types import IntegerType
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


class Frame:
    """The kernel itself, or what is around a part of it: a class for each kind."""

    def __init__(self, types: Types) -> None:
        self.types: Final = types
        """Of what its region yields."""

    def given(self, terminator: Operation) -> list[TtirValue]:
        """What it yields where this ends it."""
        return []

    def ended_kernel(self, build: TtirBuilder) -> list[TtirValue]:
        """What it yields where the kernel ends."""
        return []

    def unimportant(self, build: TtirBuilder) -> list[TtirValue]:
        """Values of these types, available where it has not ended."""
        return []


class ForFrame(Frame):
    """The body of a `for`, in which a kernel does not end."""

    def __init__(self, lowering: Lowering, carried: list[TtirValue]) -> None:
        super().__init__([(value.element, value.shape) for value in carried])
        self._lowering: Final = lowering
        self._carried: Final = carried

    def given(self, terminator: Operation) -> list[TtirValue]:
        return [self._lowering.value(each) for each in tiles(terminator.operands)]

    def unimportant(self, build: TtirBuilder) -> list[TtirValue]:
        return self._carried


class LoopFrame(Frame):
    """The body of a `loop`."""

    def __init__(self, lowering: Lowering, operation: Operation, may_return: bool) -> None:
        build = lowering.build
        self._lowering: Final = lowering
        self._may_return: Final = may_return
        initial = [lowering.value(each) for each in tiles(operation.operands)]
        self._count: Final = len(initial)
        slots: Types = [(value.element, value.shape) for value in initial]
        self._places: Final = _result_slots(lowering, operation, slots)
        for result, place in zip(tiles(operation.results), self._places, strict=True):
            if place >= len(slots):
                slots.append(lowering.type_of(result))
        extra = [any_value(build, type) for type in slots[self._count :]]
        bits = [build.integer(0, "i1")] if may_return else []
        self.initial: Final = [*initial, *extra, *bits]
        """What the loop begins with, beside the bit that it goes on."""
        super().__init__([*slots, *[("i1", ()) for _ in bits], ("i1", ())])
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


def _result_slots(lowering: Lowering, operation: Operation, slots: Types) -> list[int]:
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


class Path(NamedTuple):
    """Where the operations of a region lead to: values of these types, from whatever ends it."""

    types: Types
    ended: Callable[[list[TtirValue]], list[TtirValue]]
    """What they are where the frame ends, given what the frame gives then."""
    went_on: Callable[[Operation], list[TtirValue]]
    """What they are where the region ends in a `yield`."""


def lower_kernel(lowering: Lowering, block: Block) -> None:
    """The body of a kernel."""
    lower_from(lowering, block.first, Frame([]), _straight(Frame([])))
    lowering.build.write("tt.return")


def _straight(frame: Frame) -> Path:
    """The body of a loop or kernel itself."""

    def nowhere(terminator: Operation) -> list[TtirValue]:
        raise AssertionError("the body of a loop ends in continue, break or return")

    return Path(frame.types, lambda values: values, nowhere)


def lower_from(lowering: Lowering, operation: Operation | None, frame: Frame, path: Path) -> list[TtirValue]:
    """Lower an operation and all that follow in its block."""
    while operation is not None:
        declaration = operation.declaration
        if declaration is ops.YIELD:
            return path.went_on(operation)
        if declaration.is_terminator:
            return path.ended(frame.given(operation))
        if declaration is ops.IF and _ends_early(operation):
            return _lower_ending_if(lowering, operation, frame, path)
        if declaration is ops.LOOP and _returns(operation):
            return _lower_returning_loop(lowering, operation, frame, path)
        lowering.operation(operation)
        operation = operation.next
    raise AssertionError("a block has a terminator")


# --- what ends early ---


def _ends_early(operation: Operation) -> bool:
    """Whether an `if` holds something that ends what is around it."""
    for region in operation.regions:
        for block in region.blocks:
            if block.last is not None and block.last.declaration is not ops.YIELD:
                return True
            for inner in block:
                if inner.declaration is ops.IF and _ends_early(inner):
                    return True
                if inner.declaration is ops.LOOP and _returns(inner):
                    return True
    return False


def _returns(operation: Operation) -> bool:
    """Whether an operation holds a `return`."""
    return any(
        inner.declaration is ops.RETURN or (inner.declaration in (ops.IF, ops.LOOP) and _returns(inner))
        for region in operation.regions
        for block in region.blocks
        for inner in block
    )


def _goes_on(block: Block | None) -> bool:
    """Whether the end of a branch may be reached."""
    if block is None:
        return True
    if block.last is None or block.last.declaration is not ops.YIELD:
        return False
    return all(inner.declaration is not ops.IF or any(map(_goes_on, branches(inner))) for inner in block)


def branches(operation: Operation) -> list[Block | None]:
    """The two blocks of an `if`; the second may be missing."""
    found = [region.blocks[0] if region.blocks else None for region in operation.regions]
    return [*found, None][:2]


# --- if ---


def lower_if(lowering: Lowering, operation: Operation) -> None:
    """An `if` whose branches both end in a yield."""
    build = lowering.build
    condition = lowering.value(operation.operands[0])
    types = [lowering.type_of(result) for result in tiles(operation.results)]

    def side(block: Block | None) -> list[TtirValue]:
        if block is None:
            return []
        path = Path(types, lambda values: values, lambda last: [lowering.value(each) for each in tiles(last.operands)])
        return lower_from(lowering, block.first, Frame([]), path)

    then, otherwise = branches(operation)
    if build.is_combining:
        # Combiners have no regions: both sides are computed.
        chosen = list(map(build.select, [condition] * len(types), side(then), side(otherwise)))
    else:
        chosen = build.choose(condition, types, lambda: side(then), lambda: side(otherwise))
    _bind(lowering, operation.results, chosen)


def _lower_ending_if(lowering: Lowering, operation: Operation, frame: Frame, path: Path) -> list[TtirValue]:
    """An `if` that may end what is around it, with all that follows."""
    build = lowering.build
    build.operation = operation
    condition = lowering.value(operation.operands[0])
    blocks = branches(operation)
    following = operation.next
    assert following is not None, "an if is no terminator"

    def side(block: Block | None, way: Path) -> list[TtirValue]:
        if block is None:
            return way.went_on(operation)
        return lower_from(lowering, block.first, frame, way)

    if not all(map(_goes_on, blocks)) or following.declaration.is_terminator:

        def follow(last: Operation) -> list[TtirValue]:
            given = [] if last is operation else [lowering.value(each) for each in tiles(last.operands)]
            _bind(lowering, operation.results, given)
            return lower_from(lowering, following, frame, path)

        way = Path(path.types, path.ended, follow)
        return build.choose(condition, path.types, lambda: side(blocks[0], way), lambda: side(blocks[1], way))

    results = [lowering.type_of(result) for result in tiles(operation.results)]

    def ended(values: list[TtirValue]) -> list[TtirValue]:
        return [build.integer(1, "i1"), *values, *[any_value(build, type) for type in results]]

    def went_on(last: Operation) -> list[TtirValue]:
        given = [] if last is operation else [lowering.value(each) for each in tiles(last.operands)]
        return [build.integer(0, "i1"), *frame.unimportant(build), *given]

    flagged = Path([("i1", ()), *frame.types, *results], ended, went_on)
    made = build.choose(condition, flagged.types, lambda: side(blocks[0], flagged), lambda: side(blocks[1], flagged))
    outcome, given = made[1 : 1 + len(frame.types)], made[1 + len(frame.types) :]

    def rest() -> list[TtirValue]:
        _bind(lowering, operation.results, given)
        return lower_from(lowering, following, frame, path)

    return build.choose(made[0], path.types, lambda: path.ended(outcome), rest)


def _bind(lowering: Lowering, results: Sequence[Value], values: list[TtirValue]) -> None:
    for result, value in zip(tiles(results), values, strict=True):
        lowering.define(result, value)


# --- loops ---


def lower_for(lowering: Lowering, operation: Operation) -> None:
    block = operation.regions[0].blocks[0]
    counter = block.arguments[0]
    initial = [lowering.value(given) for given in tiles(operation.operands[3:])]
    arguments = tiles(block.arguments[1:])
    start, end, step, back = _bounds(lowering, operation)
    attributes = lowering.loop_attributes.get(operation, "")
    with lowering.build.for_loop(start, end, step, initial, attributes) as (number, carried, results):
        lowering.define(counter, back(number))
        for argument, value in zip(arguments, carried, strict=True):
            lowering.define(argument, value)
        frame = ForFrame(lowering, carried)
        lowering.build.yields(lower_from(lowering, block.first, frame, _straight(frame)))
    _bind(lowering, operation.results, results)


def _bounds(
    lowering: Lowering, operation: Operation
) -> tuple[TtirValue, TtirValue, TtirValue, Callable[[TtirValue], TtirValue]]:
    """The bounds of a loop as signed numbers of 32 or 64 bits, and how its counter comes of them."""
    build = lowering.build
    bounds = operation.operands[:3]
    start, end, step = [lowering.value(bound) for bound in bounds]
    type = bounds[0].type
    assert isinstance(type, TileType) and isinstance(type.element, IntegerType)
    width, element = type.element.width, start.element
    unsigned = operation.unsigned_cmp
    if width < 32:
        name = "arith.extui" if unsigned else "arith.extsi"
        start, end, step = [build.convert(name, value, "i32") for value in (start, end, step)]
        return start, end, step, lambda number: build.convert("arith.trunci", number, element)
    if not unsigned or all(lowering.facts.range(bound, signed=False)[1] < 1 << (width - 1) for bound in bounds[:2]):
        return start, end, step, lambda number: number
    # Less than, unsigned, is less than, signed, of numbers with the first bit turned.
    turn = build.integer(1 << (width - 1), element)
    start, end = build.binary("arith.xori", start, turn), build.binary("arith.xori", end, turn)
    return start, end, step, lambda number: build.binary("arith.xori", number, turn)


def lower_loop(lowering: Lowering, operation: Operation) -> None:
    _lower_loop(lowering, operation)


def _lower_loop(lowering: Lowering, operation: Operation) -> TtirValue | None:
    """A `loop`; gives the bit that says whether it ended the kernel, where it may."""
    build = lowering.build
    block = operation.regions[0].blocks[0]
    frame = LoopFrame(lowering, operation, _returns(operation))
    with build.while_loop(build.integer(1, "i1"), frame.initial) as (carried, results):
        frame.enter(carried)
        for argument, value in zip(tiles(block.arguments), frame.arguments, strict=True):
            lowering.define(argument, value)
        build.yields(lower_from(lowering, block.first, frame, _straight(frame)))
    frame.enter(results)
    _bind(lowering, operation.results, frame.results)
    return frame.returned


def _lower_returning_loop(lowering: Lowering, operation: Operation, frame: Frame, path: Path) -> list[TtirValue]:
    build = lowering.build
    build.operation = operation
    returned = _lower_loop(lowering, operation)
    assert returned is not None
    return build.choose(
        returned,
        path.types,
        lambda: path.ended(frame.ended_kernel(build)),
        lambda: lower_from(lowering, operation.next, frame, path),
    )


def lower_block_ids(lowering: Lowering, operation: Operation) -> None:
    name = "tt.get_program_id" if operation.declaration is ops.GET_TILE_BLOCK_ID else "tt.get_num_programs"
    for axis, result in zip("xyz", operation.results, strict=True):
        lowering.define(result, lowering.build.emit(f"{name} {axis} : i32", "i32"))
