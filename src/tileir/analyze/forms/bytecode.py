"""The bytecode of a program, every byte explained, with the operation that each is of."""

from __future__ import annotations

from tileir.analyze.bytecode_listing import Listing
from tileir.analyze.forms.form import MOST_LINES, Form, operations_of
from tileir.bytecode.annotated import Node, annotate
from tileir.dialect.ops import CONSTANT
from tileir.execute.launching.entries import select_entry
from tileir.ir.core import Operation
from tileir.text.listing import FirstLinePrinter


def bytecode_form(data: bytes, entry: str | None) -> Form:
    """The bytes of a module as a form; those of one of its kernels are linked."""
    found = annotate(data)
    assert found.module is not None, "it was written just now"
    listing = Listing(found, FirstLinePrinter(found.module, generic=False))
    # One more tells that there are more.
    lines = listing.lines(MOST_LINES + 1)
    # What is read has the order of what was written.
    numbers = {operation: number for number, operation in enumerate(operations_of(select_entry(found.module, entry)))}
    constants = _constant_users(listing, numbers)
    links = [[] if node is None else _numbers_of(node, listing, numbers, constants) for node in listing.nodes]
    is_cut = len(lines) > MOST_LINES
    notes = [f"The first {MOST_LINES:,} lines are shown."] if is_cut else []
    lines, links = lines[:MOST_LINES], links[:MOST_LINES]
    return Form("bytecode", f"Bytecode, {len(data):,} bytes", "bytecode", lines, links, notes=notes)


def _numbers_of(
    node: Node, listing: Listing, numbers: dict[Operation, int], constants: dict[str, list[int]]
) -> list[int]:
    """The operation that a node is in, or those that use the constant that it is of."""
    cursor: Node | None = node
    while cursor is not None:
        if cursor.operation is not None:
            number = numbers.get(cursor.operation)
            return [] if number is None else [number]
        if cursor.name in constants:
            return constants[cursor.name]
        cursor = listing.around.get(cursor)
    return []


def _constant_users(listing: Listing, numbers: dict[Operation, int]) -> dict[str, list[int]]:
    """The operations that each entry of the table of constants is the value of, by the name of its group."""
    found: dict[str, list[int]] = {}
    for node, group in listing.around.items():
        operation = group.operation
        if operation is not None and operation.declaration is CONSTANT and node.name == "value":
            number = numbers.get(operation)
            if number is not None:
                found.setdefault(f"constant {node.value}", []).append(number)
    return found
