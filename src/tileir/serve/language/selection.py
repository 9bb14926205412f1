"""Selections that grow: a word, what is in the brackets around it, the operation, its block, its region, .."""

from __future__ import annotations

from bisect import bisect_right

from lsprotocol import types as lsp

from tileir.serve.language.document import Document
from tileir.serve.language.syntax import Syntax, WrittenOperation

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
# An answer holds its selections in one another, and nobody grows one so often: of more, the outermost are left out.
_MOST = 64


def selection_ranges(document: Document, positions: list[lsp.Position]) -> list[lsp.SelectionRange]:
    """For each position the selections around it, the innermost first."""
    return [_selection(document, document.offset(position)) for position in positions]


def _selection(document: Document, offset: int) -> lsp.SelectionRange:
    syntax = document.syntax
    found: list[tuple[int, int]] = [(offset, offset)]
    token = syntax.token_at(offset)
    if token is not None:
        start = syntax.starts[token]
        found.append((start, start + len(syntax.tokens[token])))
    operation = syntax.operation_at(offset)
    while operation is not None and len(found) < _MOST:
        found.extend(_in_operation(syntax, operation, offset))
        found.append(_span(syntax, operation.first, operation.last))
        operation = operation.parent
    del found[_MOST:]
    found.append((0, len(syntax.text)))
    # From the outside in: each is in the one before, or it is left out.
    selection: lsp.SelectionRange | None = None
    area: tuple[int, int] | None = None
    for start, end in reversed(found):
        around = start <= offset <= end
        if area is None or (around and area[0] <= start and end <= area[1] and (start, end) != area):
            selection = lsp.SelectionRange(document.range(start, end), selection)
            area = (start, end)
    assert selection is not None
    return selection


def _in_operation(syntax: Syntax, operation: WrittenOperation, offset: int) -> list[tuple[int, int]]:
    """What an operation has around a place: brackets and what is in them; in a region all that it holds."""
    for region in operation.regions:
        opening, end = region.opening, min(region.closing, operation.last)
        if syntax.starts[opening] < offset <= syntax.starts[end]:
            inner = _span(syntax, opening + 1, end - 1) if end > opening + 1 else None
            outer = _span(syntax, opening, end)
            return [outer] if inner is None else [inner, outer]
    # Brackets of the head that are open at the place.
    head = operation.regions[0].opening - 1 if operation.regions else operation.last
    if not syntax.starts[operation.first] <= offset <= _span(syntax, head, head)[1]:
        return []
    open_at: list[int] = []
    last = bisect_right(syntax.starts, offset, 0, head + 1) - 1
    for index in range(operation.first, last + 1):
        text = syntax.tokens[index]
        if text in _CLOSING and syntax.starts[index] < offset:
            open_at.append(index)
        elif text in _CLOSING.values() and open_at and syntax.starts[index] < offset:
            open_at.pop()
    found: list[tuple[int, int]] = []
    for opening in reversed(open_at[-_MOST:]):
        end = _closing(syntax, opening, head)
        if end > opening + 1:
            found.append(_span(syntax, opening + 1, end - 1))
        found.append(_span(syntax, opening, end))
    # What the operation computes, without its results.
    if operation.name > operation.first:
        found.append(_span(syntax, operation.name, operation.last))
    return found


def _closing(syntax: Syntax, opening: int, last: int) -> int:
    depth = 0
    for index in range(opening, last + 1):
        if syntax.tokens[index] in _CLOSING:
            depth += 1
        elif syntax.tokens[index] in _CLOSING.values():
            depth -= 1
            if not depth:
                return index
    return last


def _span(syntax: Syntax, first: int, last: int) -> tuple[int, int]:
    return syntax.starts[first], syntax.starts[last] + len(syntax.tokens[last])
