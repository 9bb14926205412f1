"""Accesses to memory: which array, which elements of it, under which conditions.

An access is one element of the tile that an operation reads or writes, with a local variable for each index of the
tile (its lanes).  Through a view that is a box with strides: `positions` is where in the tensor the element lies.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TileType, TileViewType
from tileir.ir.core import Operation
from tileir.ir.values import Value
from tileir.proofs.symbolic import terms
from tileir.proofs.symbolic.elements import Elements
from tileir.proofs.symbolic.terms import ZERO, Term
from tileir.proofs.symbolic.traversal import subterms, transformed
from tileir.proofs.symbolic.views import View, address_in, base_of, bytes_of, inside_tensor, view_positions
from tileir.proofs.symbolic.walking import Visit, facts_of, walk
from tileir.rewrite.fact import shape_of

READ: Final = "read"
WRITE: Final = "write"
ATOMIC: Final = "atomic"


@dataclass(frozen=True)
class Access:
    """One element that an operation accesses where `facts` and `mask` hold.

    `array` is the base address of the array (`base_of`), None if it is not known; `offset` is in bytes from there,
    `size` the bytes of the element.  `indices` are those of the tile in its view, read as unsigned, None for the sparse
    one.
    """

    visit: Visit
    kind: str
    array: Term | None
    offset: Term
    size: int
    lanes: tuple[Term, ...]
    facts: tuple[Term, ...]
    mask: Term
    view: View | None = None
    positions: tuple[Term, ...] = ()
    indices: tuple[Term | None, ...] = ()

    @property
    def operation(self) -> Operation:
        return self.visit.operation


def accesses(elements: Elements) -> tuple[list[Access], list[tuple[Operation, str]]]:
    """The accesses of a kernel in program order; and the operations whose access has no terms, each with the reason."""
    found: list[Access] = []
    missing: list[tuple[Operation, str]] = []
    for visit in walk(elements.entry):
        operation = visit.operation
        declaration = operation.declaration
        group = declaration.writes or declaration.reads
        if group is None:
            continue
        kind = ATOMIC if declaration.reads and declaration.writes else WRITE if declaration.writes else READ
        if declaration in (ops.ATOMIC_LOAD_TKO, ops.ATOMIC_STORE_TKO):
            kind = ATOMIC
        target = operation.operand(group)
        if target is None:
            missing.append((operation, "it has no operand for its memory"))
        elif isinstance(target.type, TileViewType):
            view = elements.view(target)
            if view is None:
                missing.append((operation, f"the view '{elements.name(target)}' is not made directly from a tensor"))
            else:
                found.append(_view_access(elements, visit, kind, view))
        else:
            element = target.type.element if isinstance(target.type, TileType) else None
            size = bytes_of(element.pointee) if isinstance(element, PointerType) else 0
            if not size:
                missing.append((operation, f"the size of an element of '{target.type.spelling}' is not modeled"))
            else:
                found.append(_pointer_access(elements, visit, kind, target, size))
    return found, missing


def lanes_of(elements: Elements, operation: Operation, shape: tuple[int, ...]) -> tuple[Term, ...]:
    """A local variable for each index of a tile of an operation."""
    number = elements.numbers[operation]
    return tuple(
        [
            ZERO if extent == 1 else terms.variable(f"e{number}.{axis}", 0, extent - 1, True)
            for axis, extent in enumerate(shape)
        ]
    )


def _view_access(elements: Elements, visit: Visit, kind: str, view: View) -> Access:
    operation = visit.operation
    lanes = lanes_of(elements, operation, view.tile)
    positions = view_positions(elements, operation, view, lanes)
    base, offset = base_of(address_in(view, positions))
    indices = tuple([None if n == view.sparse else elements.unsigned(v) for n, v in enumerate(operation.index)])
    path = tuple(facts_of(elements, visit))
    mask = inside_tensor(view, positions)
    return Access(visit, kind, base, offset, view.tensor.size, lanes, path, mask, view, positions, indices)


def _pointer_access(elements: Elements, visit: Visit, kind: str, pointer: Value, size: int) -> Access:
    operation = visit.operation
    shape = shape_of(pointer.type)
    lanes = lanes_of(elements, operation, shape)
    base, offset = base_of(elements.element(pointer, lanes))
    mask = terms.TRUE
    if operation.mask is not None:
        mask = elements.element(operation.mask, lanes if shape_of(operation.mask.type) else ())
    return Access(visit, kind, base, offset, size, lanes, tuple(facts_of(elements, visit)), mask)


def conjuncts(term: Term) -> tuple[Term, ...]:
    return term.arguments if term.operation == "conjunction" else (term,)


def primed(term: Term, kept: Collection[Term] = ()) -> Term:
    """The term in another tile block, iteration and element: with other local variables, but those that are kept."""

    def other(part: Term) -> Term | None:
        if part.operation == "variable" and part.data[3] and part not in kept:
            name, low, high, _ = part.data
            return terms.variable(f"{name}'", low, high, True)
        return None

    return transformed(term, other)


def is_local(term: Term) -> bool:
    """Whether a term may differ between tile blocks, iterations or elements."""
    for part in subterms(term):
        if part.operation == "variable" and part.data[3]:
            return True
        if part.operation == "app" and part.arguments:
            return True
    return False
