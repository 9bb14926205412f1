"""Functions, branches and loops.

Functions with early returns have several blocks.  They branch forwards only, so that each block becomes part of the
branch of an `if` that leads to it; one that two branches lead to is translated twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileir.dialect.attributes import div_by
from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType
from tileir.ir.attributes import ArrayAttribute, DictionaryAttribute, IntegerAttribute
from tileir.ir.core import Block, Operation
from tileir.ir.values import Value
from tileir.ttir.translation import Translation, rule
from tileir.ttir.types import descriptor_of, tile_of

Body = Callable[[], list[Value]]


@rule("tt.func")
def function(t: Translation, op: Operation) -> None:
    """A kernel."""
    first = op.regions[0].blocks[0]
    types: list[TileType] = []
    for argument in first.arguments:
        text = argument.type.text
        type, descriptor = tile_of(text), descriptor_of(text)
        if descriptor is not None:
            types += descriptor.parts[:2]
        elif type is not None:
            types.append(type)
        else:
            raise t.error(f"parameters of type '{text}' are not supported", op)
    scope = t.build.entry(t.attribute(op, "sym_name"), *types)
    with scope as arguments:
        _bind_parameters(t, first.arguments, list(arguments))
        _assume_divisors(t, op)
        blocks(t, first)
    _sink_constants(scope.block)


def _bind_parameters(t: Translation, parameters: Sequence[Value], arguments: list[Value]) -> None:
    """Bind the parameters of a kernel; the extents and strides of a descriptor are parameters of their own."""
    values = []
    for each in parameters:
        descriptor = descriptor_of(each.type.text)
        values += arguments[: 1 if descriptor is None else len(descriptor.parts)]
        del arguments[: 1 if descriptor is None else 2]
    t.bind(parameters, values)


def _sink_constants(body: Block) -> None:
    """Move each constant before its first use: Triton has all of them at the top, far from their statements."""
    numbers = {each: number for number, each in enumerate(body)}
    for constant in [each for each in numbers if each.declaration is CONSTANT and each.result.users]:
        first = min([_in_body(user, body) for user in constant.result.users], key=numbers.__getitem__)
        constant.detach()
        body.insert_before(constant, first)


def _in_body(operation: Operation, body: Block) -> Operation:
    """The operation of a block that an operation is, or is in."""
    while operation.parent is not body:
        outer = operation.parent_operation
        assert outer is not None
        operation = outer
    return operation


def _assume_divisors(t: Translation, op: Operation) -> None:
    """What Triton has specialized a kernel for: arguments that are multiples of 16."""
    attributes = op.attributes.get("arg_attrs")
    if not isinstance(attributes, ArrayAttribute):
        return
    for argument, each in zip(op.regions[0].blocks[0].arguments, attributes.elements, strict=True):
        found = each.get("tt.divisibility") if isinstance(each, DictionaryAttribute) else None
        if isinstance(found, IntegerAttribute) and found.value.bit_count() == 1:
            t.values[argument] = t.build.assume(t.values[argument], div_by(found.value))


def blocks(t: Translation, block: Block) -> list[Value]:
    """Translate a block and those that follow it; the operands of the return they end with."""
    if block in t.open_blocks:
        raise t.error("recursive functions and loops of branches are not supported")
    t.open_blocks.add(block)
    try:
        return _follow_last(t, t.block(block))
    finally:
        t.open_blocks.remove(block)


def _follow_last(t: Translation, last: Operation) -> list[Value]:
    if last.name in ("tt.return", *[f"tt.{each}.return" for each in ("reduce", "scan", "map_elementwise")]):
        return t.operands(last)
    if last.name == "cf.br":
        (target,) = last.successors or []
        return _follow(t, target, t.operands(last))
    if last.name != "cf.cond_br":
        raise t.unsupported(last, "it does not end a block of a function")
    condition, taken, other = t.groups(last)
    yes, no = last.successors or []
    then, otherwise = lambda: _follow(t, yes, taken), lambda: _follow(t, no, other)
    return branch(t, condition[0], then, otherwise, _Carried(t, last))


def _follow(t: Translation, target: Block, arguments: Sequence[Value]) -> list[Value]:
    t.bind(target.arguments, arguments)
    return blocks(t, target)


class _Carried:
    """The tokens that a loop or branch carries, if there is memory to be ordered in it."""

    def __init__(self, t: Translation, region: Operation) -> None:
        """`region` is the loop or branch; a branch to blocks may access what its function does."""
        self.tokens = t.tokens
        is_known = bool(region.regions)
        around = region if is_known else region.parent_operation
        assert around is not None
        self.is_needed = t.touches_memory(around)
        self.state = t.tokens.state() if self.is_needed else None
        self.pointers: list[int] = []
        if is_known and self.is_needed and t.tokens.order != "program":
            self.pointers = t.tokens.carried(t.accesses(region))

    def values(self) -> list[Value]:
        """The tokens at the current place."""
        return self.tokens.values(self.pointers) if self.is_needed else []

    def enter(self, values: Sequence[Value]) -> None:
        """Continue in a body, or after all of them, with the tokens that it has."""
        if self.state is not None:
            self.tokens.restore(self.state, self.pointers, values)


def branch(t: Translation, condition: Value, then: Body, otherwise: Body, carried: _Carried) -> list[Value]:
    """Build an `if`; each body translates a branch and returns its values.

    In a function of elements, which has no effects, both are computed, and selected from.
    """
    if t.element_shape:
        both = zip(then(), otherwise(), strict=True)
        return [t.build.select(condition, yes, no) for yes, no in both]
    location = t.build.location
    with t.build.if_(condition) as scope:
        count = _yield(t, then, carried)
    carried.enter(())
    with scope.else_():
        _yield(t, otherwise, carried)
    t.build.location = location
    return _leave(carried, scope.results, count)


def _yield(t: Translation, body: Body, carried: _Carried) -> int:
    values = body()
    t.build.yield_(*values, *carried.values())
    return len(values)


@rule("scf.if")
def if_(t: Translation, op: Operation) -> list[Value]:
    def body(index: int) -> list[Value]:
        region = op.regions[index]
        return t.operands(t.block(region.block)) if region.blocks else []

    return branch(t, t.operands(op)[0], lambda: body(0), lambda: body(1), _Carried(t, op))


@rule("scf.for")
def for_(t: Translation, op: Operation) -> list[Value]:
    """A counted loop.  Hints for Triton's own schedule (`tt.num_stages` and others) are dropped."""
    lower, upper, step, *initial = t.operands(op)
    carried = _Carried(t, op)
    unsigned = "unsignedCmp" in op.attributes
    location = t.build.location
    with t.build.for_(lower, upper, step, init=[*initial, *carried.values()], unsigned=unsigned) as loop:
        body = op.regions[0].block
        t.bind(body.arguments, [loop.index, *loop.values[: len(initial)]])
        carried.enter(loop.values[len(initial) :])
        t.build.continue_(*t.operands(t.block(body)), *carried.values())
    t.build.location = location
    return _leave(carried, loop.results, len(initial))


@rule("scf.while")
def while_(t: Translation, op: Operation) -> list[Value]:
    """A loop whose first region decides whether to go on with the second."""
    initial = t.operands(op)
    carried = _Carried(t, op)
    before = carried.values()
    location = t.build.location
    kinds = [*t.types(op.results), *[each.type for each in before]]
    with t.build.loop(init=[*initial, *before], types=kinds) as loop:
        first, second = op.regions[0].block, op.regions[1].block
        t.bind(first.arguments, loop.values[: len(initial)])
        carried.enter(loop.values[len(initial) :])
        condition, *values = t.operands(t.block(first))
        tokens = carried.values()
        with t.build.if_(condition) as scope:
            pass
        with scope.else_():
            t.build.break_(*values, *tokens)
        t.bind(second.arguments, values)
        t.build.continue_(*t.operands(t.block(second)), *carried.values())
    t.build.location = location
    return _leave(carried, loop.results, len(kinds) - len(before))


def _leave(carried: _Carried, results: Sequence[Value], count: int) -> list[Value]:
    """The values of a loop or branch; the tokens after it come last."""
    carried.enter(results[count:])
    return list(results[:count])


@rule("tt.call")
def call(t: Translation, op: Operation) -> list[Value]:
    """A call of a function that Triton does not inline: it is inlined here."""
    first = t.function(op).regions[0].blocks[0]
    t.bind(first.arguments, t.operands(op))
    return blocks(t, first)
