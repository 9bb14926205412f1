"""What a statement can be made of: the visible values that fit the operands of an operation together."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from tileir.analyze.documentation.grammar import legal_keywords
from tileir.dialect.attributes import div_by
from tileir.dialect.enums import enum_kind_of
from tileir.dialect.ops import REDUCE, SCAN
from tileir.dialect.types import TileType, TileViewType, scalar_tile
from tileir.ir.attributes import (
    Attribute,
    array_attribute,
    bool_attribute,
    dense_array_attribute,
    float_attribute,
    integer_attribute,
)
from tileir.ir.declaration import OperandDeclaration, OperationDeclaration
from tileir.ir.types import F32, I32, I64, FloatType, Type
from tileir.ir.versions import NEWEST
from tileir.serve.language.expected import Expectation
from tileir.serve.language.forms import VALUE, Choice, Node, Part, Repeated, Sequence, form_of

# So many combinations of values are tried for one statement.
_TRIES: Final = 24


class Placeholder(NamedTuple):
    """A piece of a statement that is to be typed over; an empty one is where the cursor ends up."""

    text: str
    choices: tuple[str, ...] = ()


Piece = str | Placeholder


class Visible(NamedTuple):
    """A value that can be used at a place: its name, and its type where that is known."""

    name: str
    type: Type | None


class Pool:
    """What a statement can be made of: the visible values by type, nearest first, and the symbols of the module."""

    def __init__(self, values: Iterable[Visible], types: Iterable[Type] = (), symbols: Iterable[str] = ()) -> None:
        self.values: list[Visible] = list(values)
        self.by_type: dict[Type, list[str]] = {}
        self.names: set[str] = set()
        # Statements that were made of it.
        self.made: dict[object, list[Piece]] = {}
        for name, type in self.values:
            self.names.add(name)
            if type is not None:
                self.by_type.setdefault(type, []).append(name)
        self.types: list[Type] = list(dict.fromkeys([*self.by_type, *types]))
        self.symbols: list[str] = list(symbols)

    def fresh(self, name: str, taken: Iterable[str] = ()) -> str:
        """A name like the wanted one that no visible value has."""
        others = set(taken)
        candidate, number = name, 0
        while candidate in self.names or candidate in others:
            number += 1
            candidate = f"{name}_{number}"
        return candidate


class Chosen(NamedTuple):
    """Values for the operands that must be written, and their types as far as they are known."""

    names: dict[str, list[str]]
    types: dict[str, list[Type]]


def choose_operands(declaration: OperationDeclaration, pool: Pool) -> Chosen:
    """The nearest visible values that fit together; where there are none, names that have to be replaced."""
    wanted = [o for o in declaration.operands if o.name in _required(declaration)]
    tries = [_TRIES]
    found = _choose(declaration, pool, wanted, {}, tries)
    types: dict[str, list[Type]] = found if found is not None else {}
    if found is None:
        # Twice, because what is chosen later may say what an earlier one has to be.
        for declared in (*wanted, *wanted):
            fitting = Expectation(declaration, types, in_use=pool.types).of_operand(declared)
            fitting = [type for type in fitting if type in pool.by_type] or fitting[:1]
            if fitting:
                types[declared.name] = [fitting[0]] * _values_of(declared, types)
    names: dict[str, list[str]] = {}
    used: set[str] = set()
    for declared in wanted:
        names[declared.name] = []
        for type in types.get(declared.name, [None]):
            known = pool.by_type.get(type, []) if type is not None else []
            name = next((name for name in known if name not in used), known[0] if known else f"%{declared.name}")
            used.add(name)
            names[declared.name].append(name)
    return Chosen(names, types)


def _choose(
    declaration: OperationDeclaration,
    pool: Pool,
    wanted: list[OperandDeclaration],
    types: dict[str, list[Type]],
    tries: list[int],
) -> dict[str, list[Type]] | None:
    """Types of visible values for all operands that the rules admit together; None if there are none, or too many."""
    left = [declared for declared in wanted if declared.name not in types]
    if not left:
        tries[0] -= 1
        expectation = Expectation(declaration, types, usual_attributes(declaration, types), in_use=pool.types)
        agree = all(type in expectation.of_operand(each) for each in wanted for type in types[each.name][:1])
        return types if agree and expectation.is_admitted() else None
    declared = left[0]
    for type in Expectation(declaration, types, in_use=pool.types).of_operand(declared):
        if type not in pool.by_type or (declaration in (REDUCE, SCAN) and _is_scalar(type)):
            continue
        found = _choose(
            declaration, pool, wanted, {**types, declared.name: [type] * _values_of(declared, types)}, tries
        )
        if found is not None or tries[0] <= 0:
            return found
    return None


def _values_of(declared: OperandDeclaration, types: dict[str, list[Type]]) -> int:
    """An access takes as many indices as the view or the tile has dimensions, and two tokens are the fewest to join."""
    if declared.name == "index":
        views = [type for known in types.values() for type in known if isinstance(type, TileViewType)]
        return views[0].index_rank if views else 1
    if declared.name == "indices":
        tiles = [type for known in types.values() for type in known if isinstance(type, TileType)]
        return tiles[-1].rank if tiles else 1
    return 2 if declared.name == "tokens" else 1


@cache
def _required(declaration: OperationDeclaration) -> frozenset[str]:
    """The operands that a statement cannot do without."""
    found: set[str] = set()
    pending: list[Node] = [form_of(declaration).tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Sequence):
            pending.extend(node.items)
        elif isinstance(node, Choice):
            pending.append(node.items[0])
        elif isinstance(node, Repeated):
            pending.append(node.item)
        elif isinstance(node, Part) and node.kind == VALUE:
            found.add(node.name)
    return frozenset(found)


def usual_attributes(declaration: OperationDeclaration, types: dict[str, list[Type]]) -> dict[str, Attribute]:
    """What a statement begins with for the attributes that it cannot do without."""
    found: dict[str, Attribute] = {}
    for declared in declaration.attributes:
        kind = declared.constraint.kind
        enumeration = enum_kind_of(declared)
        if declared.optional or declared.default is not None:
            continue
        if enumeration is not None:
            found[declared.name] = enumeration[legal_keywords(declaration, declared, NEWEST)[0]]
        elif kind in ("i64", "i32"):
            number = {"dim": 0, "alignment": 16}.get(declared.name, 1)
            found[declared.name] = integer_attribute(I64 if kind == "i64" else I32, number)
        elif kind == "bool":
            found[declared.name] = bool_attribute(False)
        elif kind == "predicate":
            found[declared.name] = div_by(16)
        elif kind == "i32_array":
            source = types["source"][0] if types.get("source") else None
            rank = source.rank if isinstance(source, TileType) else 2
            found[declared.name] = dense_array_attribute(I32, tuple(reversed(range(rank))))
        elif declared.name == "identities":
            found[declared.name] = array_attribute((_zero_attribute(element_tile(types).element),))
    return found


def element_tile(types: dict[str, list[Type]]) -> TileType:
    """A scalar of what a reduction combines."""
    operand = types["operands"][0] if types.get("operands") else None
    return scalar_tile(operand.element) if isinstance(operand, TileType) else scalar_tile(F32)


def _zero_attribute(element: Type) -> Attribute:
    return float_attribute(element, 0) if isinstance(element, FloatType) else integer_attribute(element, 0)


def _is_scalar(type: Type) -> bool:
    return isinstance(type, TileType) and not type.shape
