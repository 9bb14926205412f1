"""Moving what stands behind an edit: statements and places in the text go by the numbers of tokens."""

from __future__ import annotations

from bisect import bisect_right

from tileir.annotations import Iterable
from tileir.ir.location import CharacterLocation
from tileir.text.recording import Body, Scope, Statement
from tileir.text.token_text import TokenChange


def renumber(change: TokenChange, body: Body, last: int) -> None:
    """Move the statements of a body from one on, what is behind the body, and the ends of what is around it."""
    tokens = change.new_end - change.old_end
    if not tokens:
        return
    rows: list[tuple[list[Statement], int]] = [(body.statements, last)]
    inner = body
    inner.end += tokens
    while inner.owner is not None:
        owner = inner.owner
        owner.end += tokens
        for anchor in owner.anchors:
            if anchor.token >= change.old_end:
                anchor.token += tokens
        for each in owner.bodies:
            if each.start >= change.old_end:
                each.start += tokens
                each.end += tokens
                rows.append((each.statements, 0))
        inner = owner.body
        inner.end += tokens
        rows.append((inner.statements, bisect_right(inner.statements, owner.start, key=_start)))
    while rows:
        statements, start = rows.pop()
        for statement in statements[start:]:
            statement.start += tokens
            statement.end += tokens
            for anchor in statement.anchors:
                anchor.token += tokens
            for each in statement.bodies:
                each.start += tokens
                each.end += tokens
                rows.append((each.statements, 0))


def renumber_diagnostics(change: TokenChange, diagnosed: Iterable[Statement]) -> None:
    """Move the places that diagnostics of statements point at, wherever these stand."""
    tokens = change.new_end - change.old_end
    for statement in diagnosed:
        for pointer in statement.pointers:
            if pointer.token >= change.old_end:
                pointer.token += tokens
                if isinstance(pointer, CharacterLocation):
                    pointer.offset += change.characters


def renumber_names(change: TokenChange, scopes: Iterable[Scope], aliases: dict[str, int]) -> None:
    """Move the first uses of names that wait for a definition, and the definitions of aliases."""
    tokens = change.new_end - change.old_end
    for scope in scopes:
        for waiting in scope.waiting.values():
            if waiting.token >= change.old_end:
                waiting.token += tokens
    for name, place in aliases.items():
        if place >= change.old_end:
            aliases[name] = place + tokens


def _start(statement: Statement) -> int:
    return statement.start
