"""Statements of a body in the place of others, with their operations in its block."""

from __future__ import annotations

from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation
from tileir.ir.location import SourceText, TextLocation
from tileir.text.recording import Body, Statement


def take_out(statements: list[Statement]) -> None:
    """Take the operations of statements out of their block."""
    for statement in statements:
        operation, last = statement.first, statement.last
        while operation is not None:
            following = operation.next if operation is not last else None
            operation.drop_all_references()
            operation.detach()
            operation = following


def put_in(body: Body, first: int, last: int, found: list[Statement], operations: Block, source: SourceText) -> None:
    """Have other statements instead of those from one number to another, whose operations were taken out; theirs are
    in a block of their own."""
    block = body.block
    at_end = last == len(body.statements)
    if at_end and body.terminator is not None:
        body.terminator.detach()
        body.terminator = None
    behind: Operation | None = None
    for statement in body.statements[last:]:
        if statement.first is not None:
            behind = statement.first
            break
    if behind is None:
        behind = body.terminator
    operation = operations.first
    while operation is not None:
        following = operation.next
        operation.previous = operation.next = None
        block.insert_before(operation, behind)
        operation = following
    body.statements[first:last] = found
    if at_end and body.implied is not None:
        end = block.last
        if end is None or not (end.declaration.is_terminator or end.declaration.unregistered):
            _imply(body, source)


def _imply(body: Body, source: SourceText) -> None:
    """Add the terminator that the text leaves out."""
    assert body.implied is not None
    owner = body.owner.last if body.owner is not None else None
    location = owner.location if owner is not None else TextLocation(source, body.start)
    if isinstance(location, TextLocation):
        location = TextLocation(location.source, location.token)
        if body.owner is not None:
            body.owner.anchors.append(location)
    terminator = Operation(body.implied, [], [], NO_ATTRIBUTES, NO_REGIONS, location)
    body.block.append(terminator)
    body.terminator = terminator
