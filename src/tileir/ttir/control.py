"""Functions, branches and loops.

Functions with early returns have several blocks.  They branch forwards only, so that each block becomes part of the
branch of an `if` that leads to it; one that two branches lead to is translated twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tileir.dialect.ops import CONSTANT
from tileir.ir.core import Block, Operation
from tileir.ir.values import Value
from tileir.ttir.translation import Translation, rule
from tileir.ttir.types import tile_of

Body = Callable[[], list[Value]]


@rule("tt.func")
def function(t: Translation, op: Operation) -> None:
    """A kernel."""
    first = op.regions[0].blocks[0]
    types = []
    for argument in first.arguments:
        type = tile_of(argument.type.text)
        if type is None:
            raise t.error(f"parameters of type '{argument.type.text}' are not supported", op)
        types.append(type)
    scope = t.build.entry(t.attribute(op, "sym_name"), *types)
    with scope as arguments:
        t.bind(first.arguments, arguments)
        blocks(t, first)
    _sink_constants(scope.block)


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
    if last.name == "tt.return":
        return t.operands(last)
    if last.name == "cf.br":
        (target,) = last.successors or []
        return _follow(t, target, t.operands(last))
    if last.name != "cf.cond_br":
        raise t.unsupported(last, "it does not end a block of a function")
    condition, taken, other = t.groups(last)
    yes, no = last.successors or []
    return branch(
        t,
        condition[0],
        lambda: _follow(t, yes, taken),
        lambda: _follow(t, no, other),
        tokens=True,
    )


def _follow(t: Translation, target: Block, arguments: Sequence[Value]) -> list[Value]:
    t.bind(target.arguments, arguments)
    return blocks(t, target)


def branch(t: Translation, condition: Value, then: Body, otherwise: Body, *, tokens: bool) -> list[Value]:
    """Build an `if`; each body translates a branch and returns its values.  With `tokens` it carries them, too."""
    before = t.tokens.state() if tokens else []
    location = t.build.location
    with t.build.if_(condition) as scope:
        count = _yield(t, then, before)
    with scope.else_():
        if before:
            t.tokens.restore(before)
        _yield(t, otherwise, before)
    t.build.location = location
    results = list(scope.results)
    if before:
        t.tokens.restore(results[count:])
    return results[:count]


def _yield(t: Translation, body: Body, tokens: Sequence[Value]) -> int:
    values = body()
    t.build.yield_(*values, *(t.tokens.state() if tokens else []))
    return len(values)


@rule("scf.if")
def if_(t: Translation, op: Operation) -> list[Value]:
    def body(index: int) -> list[Value]:
        region = op.regions[index]
        return t.operands(t.block(region.block)) if region.blocks else []

    return branch(t, t.operands(op)[0], lambda: body(0), lambda: body(1), tokens=t.touches_memory(op))


@rule("scf.for")
def for_(t: Translation, op: Operation) -> list[Value]:
    """A counted loop.  Hints for Triton's own schedule (`tt.num_stages` and others) are dropped."""
    lower, upper, step, *initial = t.operands(op)
    before = t.tokens.state() if t.touches_memory(op) else []
    unsigned = "unsignedCmp" in op.attributes
    location = t.build.location
    with t.build.for_(lower, upper, step, init=[*initial, *before], unsigned=unsigned) as loop:
        body = op.regions[0].block
        t.bind(body.arguments, [loop.index, *loop.values[: len(initial)]])
        t.build.continue_(*_iteration(t, body, loop.values[len(initial) :]))
    t.build.location = location
    return _leave(t, loop.results, len(initial))


@rule("scf.while")
def while_(t: Translation, op: Operation) -> list[Value]:
    """A loop whose first region decides whether to go on with the second."""
    initial = t.operands(op)
    before = t.tokens.state() if t.touches_memory(op) else []
    location = t.build.location
    kinds = [t.type(each) for each in op.results] + [each.type for each in before]
    with t.build.loop(init=[*initial, *before], types=kinds) as loop:
        first, second = op.regions[0].block, op.regions[1].block
        t.bind(first.arguments, loop.values[: len(initial)])
        carried = loop.values[len(initial) :]
        if carried:
            t.tokens.restore(carried)
        condition, *values = t.operands(t.block(first))
        state = t.tokens.state() if carried else []
        with t.build.if_(condition) as scope:
            pass
        with scope.else_():
            t.build.break_(*values, *state)
        t.bind(second.arguments, values)
        t.build.continue_(*_iteration(t, second, state))
    t.build.location = location
    return _leave(t, loop.results, len(op.results))


def _iteration(t: Translation, body: Block, tokens: Sequence[Value]) -> list[Value]:
    """Translate the body of a loop; what its next iteration begins with."""
    if tokens:
        t.tokens.restore(tokens)
    values = t.operands(t.block(body))
    return [*values, *(t.tokens.state() if tokens else [])]


def _leave(t: Translation, results: Sequence[Value], count: int) -> list[Value]:
    """The values of a loop, and the tokens behind it."""
    if len(results) > count:
        t.tokens.restore(results[count:])
    return list(results[:count])


@rule("tt.call")
def call(t: Translation, op: Operation) -> list[Value]:
    """A call of a function that Triton does not inline: it is inlined here."""
    first = t.function(op).regions[0].blocks[0]
    t.bind(first.arguments, t.operands(op))
    return blocks(t, first)
