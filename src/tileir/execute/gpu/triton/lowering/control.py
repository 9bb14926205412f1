"""Lowering of control flow.

TTIR has structured control flow only: a region ends in one place.  Where a branch of an `if` ends a loop, an iteration
or the kernel, what follows the `if` goes into the other branch.  Where both branches may go on, and somewhere in them
something ends early, a bit records whether it did.

    if %a { break %x }                     %r = scf.if %a { yield false, %x }
    REST                          ->            else { REST; yield true, %y }
    continue %y

The region of a frame yields the same values whatever ended it: a kernel nothing, a `for` the carried values, a `loop`
its slots, whether the kernel has ended (where it may), and whether to go on.  The slots hold the carried values, and
after a `break` the results, which take over slots of their type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.gpu.triton.lowering.context import Lowering
from tileir.execute.gpu.triton.lowering.ttir_builder import TtirBuilder
from tileir.execute.gpu.triton.lowering.ttir_values import Shape, TtirValue
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import pre_order
from tileir.ir.types import IntegerType
from tileir.ir.values import Value
from tileir.rewrite.matching import branch

Types = list[tuple[str, Shape]]


def tiles(values: Iterable[Value]) -> list[Value]:
    """Those that are values in TTIR: not tokens."""
    return [value for value in values if isinstance(value.type, TileType)]


def lowered(build: Lowering, values: Iterable[Value]) -> list[TtirValue]:
    return [build.value(each) for each in tiles(values)]


def any_value(build: TtirBuilder, type: tuple[str, Shape]) -> TtirValue:
    element, shape = type
    if element.startswith("!tt.ptr"):
        return build.reinterpret("tt.int_to_ptr", build.integer(0, "i64", shape), element)
    return build.zero(element, shape)


def _types_of(values: Iterable[TtirValue]) -> Types:
    return [(value.element, value.shape) for value in values]


class Frame(NamedTuple):
    """What `continue`, `break` and `return` end: the body of a loop, or the kernel itself."""

    types: Types = []  # Of what its region yields.
    given: Callable[[Operation], list[TtirValue]] = lambda terminator: []  # What it yields where an operation ends it.
    ended_kernel: Callable[[], list[TtirValue]] = list  # What it yields where the kernel ends.
    unimportant: Callable[[], list[TtirValue]] = list  # Values of these types, available where it has not ended.


class Path(NamedTuple):
    """Where the operations of a region lead to: values of these types, from whatever ends it."""

    types: Types
    ended: Callable[[list[TtirValue]], list[TtirValue]] = lambda values: values
    """What they are where the frame ends, given what the frame yields then."""
    went_on: Callable[[Operation], list[TtirValue]] = lambda terminator: []
    """What they are where the region ends in a `yield`, which the body of a loop or kernel never does."""


def lower_kernel(build: Lowering, block: Block) -> None:
    lower_from(build, block.first, Frame(), Path([]))
    build.write("tt.return")


def lower_from(build: Lowering, operation: Operation | None, frame: Frame, path: Path) -> list[TtirValue]:
    while operation is not None:
        declaration = operation.declaration
        if declaration is ops.YIELD:
            return path.went_on(operation)
        if declaration.is_terminator:
            return path.ended(frame.given(operation))
        if declaration is ops.IF and _ends_early(operation):
            return _lower_ending_if(build, operation, frame, path)
        if declaration is ops.LOOP and _returns(operation):
            return _lower_returning_loop(build, operation, frame, path)
        build.lower(operation)
        operation = operation.next
    raise AssertionError("a block has a terminator")


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
    return any(inner.declaration is ops.RETURN for inner in pre_order(operation))


def _goes_on(block: Block | None) -> bool:
    if block is None:
        return True
    if block.last is None or block.last.declaration is not ops.YIELD:
        return False
    return all(
        inner.declaration is not ops.IF or any(_goes_on(branch(inner, index)) for index in (0, 1)) for inner in block
    )


def lower_if(build: Lowering, operation: Operation) -> None:
    """An `if` whose branches both end in a yield."""
    condition = build.value(operation.operands[0])
    types = [build.type_of(result) for result in tiles(operation.results)]
    path = Path(types, went_on=lambda last: lowered(build, last.operands))

    def side(number: int) -> list[TtirValue]:
        block = branch(operation, number)
        return [] if block is None else lower_from(build, block.first, Frame(), path)

    if build.is_combining:
        # Combiners have no regions: both sides are computed.
        chosen = list(map(build.select, [condition] * len(types), side(0), side(1)))
    else:
        chosen = build.choose(condition, types, lambda: side(0), lambda: side(1))
    _bind(build, operation.results, chosen)


def _lower_ending_if(build: Lowering, operation: Operation, frame: Frame, path: Path) -> list[TtirValue]:
    """An `if` that may end what is around it, with all that follows."""
    build.operation = operation
    condition = build.value(operation.operands[0])
    blocks = [branch(operation, 0), branch(operation, 1)]
    following = operation.next
    assert following is not None, "an if is no terminator"

    def side(block: Block | None, way: Path) -> list[TtirValue]:
        return way.went_on(operation) if block is None else lower_from(build, block.first, frame, way)

    if not all(map(_goes_on, blocks)) or following.declaration.is_terminator:

        def follow(last: Operation) -> list[TtirValue]:
            given = [] if last is operation else lowered(build, last.operands)
            _bind(build, operation.results, given)
            return lower_from(build, following, frame, path)

        way = Path(path.types, path.ended, follow)
        return build.choose(condition, path.types, lambda: side(blocks[0], way), lambda: side(blocks[1], way))

    results = [build.type_of(result) for result in tiles(operation.results)]

    def ended(values: list[TtirValue]) -> list[TtirValue]:
        return [build.integer(1, "i1"), *values, *[any_value(build, type) for type in results]]

    def went_on(last: Operation) -> list[TtirValue]:
        given = [] if last is operation else lowered(build, last.operands)
        return [build.integer(0, "i1"), *frame.unimportant(), *given]

    flagged = Path([("i1", ()), *frame.types, *results], ended, went_on)
    made = build.choose(condition, flagged.types, lambda: side(blocks[0], flagged), lambda: side(blocks[1], flagged))
    outcome, given = made[1 : 1 + len(frame.types)], made[1 + len(frame.types) :]

    def rest() -> list[TtirValue]:
        _bind(build, operation.results, given)
        return lower_from(build, following, frame, path)

    return build.choose(made[0], path.types, lambda: path.ended(outcome), rest)


def _bind(build: Lowering, results: Sequence[Value], values: list[TtirValue]) -> None:
    for result, value in zip(tiles(results), values, strict=True):
        build.define(result, value)


def lower_for(build: Lowering, operation: Operation) -> None:
    block = operation.regions[0].blocks[0]
    counter = block.arguments[0]
    initial = lowered(build, operation.operands[3:])
    arguments = tiles(block.arguments[1:])
    start, end, step, back = _bounds(build, operation)
    attributes = build.loop_attributes.get(operation, "")
    with build.for_loop(start, end, step, initial, attributes) as (number, carried, results):
        build.define(counter, back(number))
        for argument, value in zip(arguments, carried, strict=True):
            build.define(argument, value)
        # A kernel does not end in a `for`.
        frame = Frame(_types_of(carried), lambda end: lowered(build, end.operands), unimportant=lambda: carried)
        build.yields(lower_from(build, block.first, frame, Path(frame.types)))
    _bind(build, operation.results, results)


def _bounds(
    build: Lowering, operation: Operation
) -> tuple[TtirValue, TtirValue, TtirValue, Callable[[TtirValue], TtirValue]]:
    """The bounds of a loop as signed numbers of 32 or 64 bits, and how its counter comes of them."""
    bounds = operation.operands[:3]
    start, end, step = [build.value(bound) for bound in bounds]
    type = bounds[0].type
    assert isinstance(type, TileType) and isinstance(type.element, IntegerType)
    width, element = type.element.width, start.element
    unsigned = operation.unsigned_cmp
    if width < 32:
        name = "arith.extui" if unsigned else "arith.extsi"
        start, end, step = [build.convert(name, value, "i32") for value in (start, end, step)]
        return start, end, step, lambda number: build.convert("arith.trunci", number, element)
    if not unsigned or all(build.facts.range(bound, signed=False)[1] < 1 << (width - 1) for bound in bounds[:2]):
        return start, end, step, lambda number: number
    # Unsigned less-than is signed less-than of the numbers with the first bit flipped.
    turn = build.integer(1 << (width - 1), element)
    start, end = build.apply("arith.xori", start, turn), build.apply("arith.xori", end, turn)
    return start, end, step, lambda number: build.apply("arith.xori", number, turn)


def lower_loop(build: Lowering, operation: Operation) -> TtirValue | None:
    """A `loop`; returns the bit that is set if it ended the kernel, where it may."""
    block = operation.regions[0].blocks[0]
    initial = lowered(build, operation.operands)
    types, count = _types_of(initial), len(initial)
    places: list[int] = []
    for result in tiles(operation.results):
        type = build.type_of(result)
        free = [place for place in range(len(types)) if types[place] == type and place not in places]
        places.append(free[0] if free else len(types))
        types += [] if free else [type]
    initial += [any_value(build, type) for type in types[count:]]
    no, yes = build.integer(0, "i1"), build.integer(1, "i1")
    # Where the kernel may end, a bit: it has not ended.
    on = [no] if _returns(operation) else []
    with build.while_loop(yes, [*initial, *on]) as (carried, results):
        slots = carried[: len(types)]

        def given(terminator: Operation) -> list[TtirValue]:
            if terminator.declaration is ops.RETURN:
                return [*slots, yes, no]
            is_break = terminator.declaration is ops.BREAK
            found, values = list(slots), lowered(build, terminator.operands)
            for place, value in zip(places if is_break else range(count), values, strict=True):
                found[place] = value
            return [*found, *on, no if is_break else yes]

        for argument, value in zip(tiles(block.arguments), slots[:count], strict=True):
            build.define(argument, value)
        bits: Types = [("i1", ())] * (1 + len(on))
        frame = Frame([*types, *bits], given, lambda: [*slots, yes, no], lambda: [*slots, *on, yes])
        build.yields(lower_from(build, block.first, frame, Path(frame.types)))
    _bind(build, operation.results, [results[place] for place in places])
    return results[-1] if on else None


def _lower_returning_loop(build: Lowering, operation: Operation, frame: Frame, path: Path) -> list[TtirValue]:
    build.operation = operation
    returned = lower_loop(build, operation)
    assert returned is not None
    return build.choose(
        returned,
        path.types,
        lambda: path.ended(frame.ended_kernel()),
        lambda: lower_from(build, operation.next, frame, path),
    )


def lower_block_ids(build: Lowering, operation: Operation, name: str) -> None:
    for axis, result in zip("xyz", operation.results, strict=True):
        build.define(result, build.emit(f"{name} {axis} : i32", "i32"))
