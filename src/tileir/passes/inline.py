"""Inlining: put a copy of a function's body where it is called.

The dialect has no operation that calls, so no pass can find work by itself; this is what frontends that have functions
of their own use to get rid of them, and what says how a body with early returns becomes straight code.  The model:

1. The body is one block that ends in `return`.  Its arguments become the values given.
2. Without any other `return` inside, the operations are copied to the place, and the operands of the last `return` are
   the values the call gives.
3. With an early `return` (inside an `if`), the copy is wrapped in a `loop` that runs once: every `return` becomes a
   `break` with the same operands, and the results of the loop are the values of the call.
4. Two things cannot be said with rule 3 and are refused: a `return` inside a loop (13.4 allows it; a `break` would only
   leave the inner loop), and early returns of a view, which no loop may give back.
5. With a call location, each copy is located at `callsite(own location at call location)`.  It is needed where
   functions have debug scopes, because an operation may only be in the scope of the function it stands in.
"""

from __future__ import annotations

from tileir.dialect.ops import BREAK, IF, LOOP, RETURN
from tileir.dialect.types import TensorViewType, TileViewType
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation, Region
from tileir.ir.diagnostics import PassError, note
from tileir.ir.location import UNKNOWN, Location, call_site_location, resolved
from tileir.ir.traversal import clone, pre_order
from tileir.ir.values import Value


def run(root: Operation) -> int:
    """The pass: there is no operation that calls, so there is nothing to inline."""
    return 0


def inline_region(
    body: Region,
    arguments: list[Value],
    block: Block,
    before: Operation | None = None,
    call_location: Location | None = None,
) -> list[Value]:
    """Copy a function's body to a place (in front of `before`, or at the end of `block`); gives the values it returns.

    `body` is not changed.  What cannot be inlined is a `PassError`, and then nothing was.
    """
    source = body.block
    last = source.last
    if last is None or last.declaration is not RETURN:
        where = last if last is not None else body.parent
        location = where.location if where is not None else UNKNOWN
        raise PassError("only a body that ends in 'return' can be inlined", location)
    if [value.type for value in arguments] != [argument.type for argument in source.arguments]:
        given = ", ".join([value.type.spelling for value in arguments])
        wanted = ", ".join([argument.type.spelling for argument in source.arguments])
        raise PassError(f"the body takes ({wanted}) and was given ({given})", call_location or last.location)
    early = _early_returns(source, last)
    mapping: dict[Value, Value] = dict(zip(source.arguments, arguments, strict=True))
    copies = [clone(operation, mapping) for operation in source if operation is not last]
    if call_location is not None:
        _relocate(copies, call_location)
    values: list[Value] = [mapping.get(value, value) for value in last.operands]
    if not early:
        for copy in copies:
            block.insert_before(copy, before)
        return values
    return _wrap(copies, values, last, block, before, call_location)


def _early_returns(source: Block, last: Operation) -> bool:
    """Whether there is any `return` but the last; rule 4."""
    found = False
    for top in source:
        if top is last:
            break
        for operation in pre_order(top):
            if operation.declaration is not RETURN:
                continue
            found = True
            around = operation.parent_operation
            while around is not None and around.declaration is IF and around is not top:
                around = around.parent_operation
            if around is not None and around.declaration is not IF:
                raise PassError(
                    f"cannot inline a 'return' inside '{around.name}'",
                    operation.location,
                    [note("the loop it would have to leave", around.location)],
                )
    if found:
        for value in last.operands:
            if isinstance(value.type, (TensorViewType, TileViewType)):
                raise PassError(f"cannot inline early returns of '{value.type.text}'", last.location)
    return found


def _wrap(
    copies: list[Operation],
    values: list[Value],
    last: Operation,
    block: Block,
    before: Operation | None,
    call_location: Location | None,
) -> list[Value]:
    """Rule 3."""
    inner = Block()
    for copy in copies:
        inner.append(copy)
    for copy in copies:
        for operation in pre_order(copy):
            if operation.declaration is RETURN:
                _replace_by_break(operation)
    inner.append(_break(values, _at_call(last.location, call_location)))
    location = call_location if call_location is not None else copies[0].location
    types = [value.type for value in values]
    loop = Operation(LOOP, [], types, NO_ATTRIBUTES, [Region([inner])], location)
    block.insert_before(loop, before)
    return list(loop.results)


def _break(values: list[Value], location: Location) -> Operation:
    return Operation(BREAK, values, [], NO_ATTRIBUTES, NO_REGIONS, location)


def _replace_by_break(operation: Operation) -> None:
    block = operation.parent
    if block is not None:
        block.insert_before(_break(list(operation.operands), operation.location), operation)
        operation.erase()


def _at_call(location: Location, call_location: Location | None) -> Location:
    return location if call_location is None else call_site_location(resolved(location), resolved(call_location))


def _relocate(copies: list[Operation], call_location: Location) -> None:
    """Rule 5."""
    caller = resolved(call_location)
    known: dict[Location, Location] = {}
    for copy in copies:
        for operation in pre_order(copy):
            found = known.get(operation.location)
            if found is None:
                found = known[operation.location] = call_site_location(resolved(operation.location), caller)
            operation.location = found
