"""The operands of a statement: the types that it needs, and the visible values that fit together.

Types that the builder infers (`dialect/inference.py`) come first.  Where it needs more (the shape of a reshape, the
tile of a view), types that the program already uses are tried, and those that the operation's rules refuse are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import count, islice
from typing import Final, NamedTuple

from tileir.analyze.documentation.grammar import legal_keywords
from tileir.dialect.attributes import div_by
from tileir.dialect.construct import gather_scatter_view, partition_view, strided_view
from tileir.dialect.enums import enum_kind_of
from tileir.dialect.inference import Call, inference_of, number_type, result_types
from tileir.dialect.ops import REDUCE, SCAN
from tileir.dialect.types import (
    TOKEN,
    TensorViewType,
    TileType,
    TileViewType,
    pointer_type,
    scalar_tile,
    tensor_view_type,
    tile_type,
    with_element,
)
from tileir.ir.attributes import (
    Attribute,
    array_attribute,
    bool_attribute,
    dense_array_attribute,
    float_attribute,
    integer_attribute,
    string_attribute,
)
from tileir.ir.core import NO_REGIONS, Block, Operation
from tileir.ir.declaration import ONE, OperandDeclaration, OperationDeclaration, VerifyContext
from tileir.ir.diagnostics import Invalid, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.ir.symbols import Symbols
from tileir.ir.traits import ATOMIC, SEGMENTS
from tileir.ir.types import F16, F32, I1, I8, I32, I64, FloatType, Type
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST
from tileir.serve.language.document.statement import VALUE, format_of

_SYMBOLS: Final = Symbols()
# The most types of the program that are tried.
_TRIED: Final = 12
# Element types that numbers are converted to if the program has none.
_USUAL_ELEMENTS: Final[tuple[Type, ...]] = (F32, F16, I32, I64, I8)
_TENSOR: Final = tensor_view_type(F32, (64,), (1,))
# One of each kind, for where the program has none that fits.
USUAL_TYPES: Final[tuple[Type, ...]] = (
    scalar_tile(F32),
    scalar_tile(I32),
    scalar_tile(I1),
    scalar_tile(pointer_type(F32)),
    tile_type((16,), I32),
    TOKEN,
    _TENSOR,
    partition_view((16,), _TENSOR),
    strided_view((16,), _TENSOR, (16,)),
    gather_scatter_view((16,), _TENSOR, 0),
)


@dataclass
class Expectation:
    """What is known of a statement: the types of the operands it has, its attributes, the block it stands in."""

    declaration: OperationDeclaration
    operands: Mapping[str, list[Type]]
    attributes: dict[str, Attribute] = field(default_factory=dict)
    block: Block | None = None
    in_use: list[Type] = field(default_factory=list)

    def of_operand(self, declared: OperandDeclaration, position: int = 0) -> list[Type]:
        """The types that an operand may have, the most likely first; only one where other operands determine it."""
        call = self._call()
        # The operand does not determine its own type.
        call.operands.pop(declared.name, None)
        try:
            found = number_type(call, declared, position)
        except TileIRError:
            found = None
        if found is not None and declared.constraint.accepts(found):
            return [found]
        return [type for type in self.in_use if declared.constraint.accepts(type)]

    def of_result(self, name: str, most: int = _TRIED) -> list[Type]:
        """The types that a result may have, the most likely first, and no more than so many."""
        declaration = self.declaration
        group = next((group for group in declaration.same_types if name in group), ())
        same_typed = [operand.name for operand in declaration.operands if operand.name in group]
        if same_typed and not any(self.operands.get(operand) for operand in same_typed):
            # It has the type of operands, and no type of them is known.
            return []
        found: dict[Type, None] = {}
        for number, declared in [each for each in enumerate(declaration.results) if each[1].name == name][:1]:
            for types in self.all_results():
                several = types[number : number + 1] if declared.count == ONE else types[number:]
                found.update(dict.fromkeys([type for type in several if declared.constraint.accepts(type)]))
                if len(found) >= most:
                    break
        return list(found)

    def is_admitted(self) -> bool:
        """Whether the rules admit the operands with some results, as far as types are known."""
        if self.declaration.results:
            return next(self.all_results(), None) is not None
        return self._admits([])

    def all_results(self) -> Iterator[list[Type]]:
        """Types of all results that the rules admit."""
        inference = inference_of(self.declaration)
        for extras in self._guesses(inference.required):
            call = self._call()
            call.extras.update(extras)
            try:
                types = result_types(call, inference)
            except (TileIRError, TypeError, ValueError):
                continue
            if self._admits(types):
                yield types

    def _guesses(self, required: tuple[str, ...]) -> list[dict[str, object]]:
        """Arguments of the builder besides operands and attributes."""
        source = next((type for each in self.declaration.operands for type in self.operands.get(each.name, ())), None)
        in_use = self.in_use[:_TRIED]
        tiles = [type for type in in_use if isinstance(type, TileType)]
        if "shape" in required and isinstance(source, TileType):
            others = [type for type in tiles if type.element is source.element and type is not source]
            return [{"shape": type} for type in [*others, source]]
        if "tile" in required and isinstance(source, TensorViewType):
            shapes = [type.shape for type in self.in_use if isinstance(type, TileType) and type.rank == source.rank]
            shapes.append((16,) * source.rank)
            return [{"tile": shape, "traversal_strides": shape, "sparse_dim": 0} for shape in dict.fromkeys(shapes)]
        if "type" in required and isinstance(source, TileType):
            elements = [*[type.element for type in tiles], *_USUAL_ELEMENTS]
            return [{"type": type} for type in [*[with_element(source, each) for each in elements], *in_use]]
        if "type" in required:
            return [{"type": type} for type in [*in_use, *USUAL_TYPES]]
        if "types" in required:
            return [{"types": [type]} for type in in_use]
        return [] if required else [{}]

    def _call(self) -> Call:
        call = Call(self.declaration, self.block or Block(), _SYMBOLS)
        call.operands = {name: [Value(type) for type in types] for name, types in self.operands.items()}
        call.given = {name: list(values) for name, values in call.operands.items()}
        call.attributes = self.attributes
        return call

    def _admits(self, results: list[Type]) -> bool:
        """Whether the rules of the operation admit these results, or too little is known to decide."""
        declaration = self.declaration
        if declaration.regions or declaration.has_trait(SEGMENTS):
            return True
        values: list[Value] = []
        for operand in declaration.operands:
            types = self.operands.get(operand.name, [])
            if not types or not all(operand.constraint.accepts(type) for type in types):
                return True
            values.extend([Value(type) for type in types])
        declared = zip(declaration.results, results, strict=False)
        if not all(result.constraint.accepts(type) for result, type in declared if result.count == ONE):
            return False
        operation = Operation(declaration, values, results, self.attributes, NO_REGIONS, UNKNOWN)
        required = {a.name for a in declaration.attributes if not a.optional and a.default is None}
        try:
            if not all(rule.check(operation) for rule in declaration.rules):
                return False
            for verify in (declaration.verify_attributes if self.attributes else None, declaration.verify):
                if verify is not None and required <= self.attributes.keys():
                    verify(operation, VerifyContext())
        except Invalid:
            return False
        return True


# The most combinations of values that are tried for one statement.
_TRIES: Final = 24


class Placeholder(NamedTuple):
    """A part of a statement for the user to replace; an empty one is where the cursor ends up."""

    text: str
    choices: tuple[str, ...] = ()


SnippetPart = str | Placeholder


class Visible(NamedTuple):
    """A value that can be used at a position: its name, and its type where that is known."""

    name: str
    type: Type | None


class Pool:
    """What a statement can be made of: the visible values by type, nearest first, and the symbols of the module."""

    def __init__(self, values: Iterable[Visible], symbols: Iterable[str] = ()) -> None:
        self.values: list[Visible] = list(values)
        self.symbols: list[str] = list(symbols)
        self.by_type: dict[Type, list[str]] = {}
        for name, type in self.values:
            if type is not None:
                self.by_type.setdefault(type, []).append(name)
        self.names: set[str] = {value.name for value in self.values}
        self.types: list[Type] = list(self.by_type)
        # Statements that were made of it.
        self.made: dict[object, list[SnippetPart]] = {}

    def new_name(self, name: str, taken: Iterable[str] = ()) -> str:
        """The name, with a number if a visible value has it already."""
        others = {*self.names, *taken}
        numbered = (f"{name}_{number}" if number else name for number in count())
        return next(candidate for candidate in numbered if candidate not in others)


class Chosen(NamedTuple):
    """Values for the operands that must be written, and their types as far as they are known."""

    names: dict[str, list[str]]
    types: dict[str, list[Type]]


def choose_operands(declaration: OperationDeclaration, pool: Pool) -> Chosen:
    """The nearest visible values that fit together; where there are none, names that have to be replaced."""
    needed = [o for o in declaration.operands if o.name in _required(declaration)]
    for types in islice(_combinations(declaration, pool, needed, {}), _TRIES):
        expectation = Expectation(declaration, types, usual_attributes(declaration, types), in_use=pool.types)
        agree = all(type in expectation.of_operand(each) for each in needed for type in types[each.name][:1])
        if agree and expectation.is_admitted():
            break
    else:
        types = {}
        # Twice, because a later operand may determine the type of an earlier one.
        for declared in (*needed, *needed):
            fitting = Expectation(declaration, types, in_use=pool.types).of_operand(declared)
            fitting = [type for type in fitting if type in pool.by_type] or fitting[:1]
            if fitting:
                types[declared.name] = [fitting[0]] * _values_of(declared, types)
    names: dict[str, list[str]] = {declared.name: [] for declared in needed}
    used: set[str] = set()
    for declared in needed:
        for type in types.get(declared.name, [None]):
            known = pool.by_type.get(type, []) if type is not None else []
            name = next((name for name in known if name not in used), known[0] if known else f"%{declared.name}")
            used.add(name)
            names[declared.name].append(name)
    return Chosen(names, types)


def _combinations(
    declaration: OperationDeclaration, pool: Pool, needed: list[OperandDeclaration], types: dict[str, list[Type]]
) -> Iterator[dict[str, list[Type]]]:
    """Types of visible values for all operands, with those that are chosen already."""
    declared = next((each for each in needed if each.name not in types), None)
    if declared is None:
        yield types
        return
    for type in Expectation(declaration, types, in_use=pool.types).of_operand(declared):
        is_scalar = isinstance(type, TileType) and not type.shape
        if type in pool.by_type and not (declaration in (REDUCE, SCAN) and is_scalar):
            chosen = {**types, declared.name: [type] * _values_of(declared, types)}
            yield from _combinations(declaration, pool, needed, chosen)


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
    return frozenset([part.name for part in format_of(declaration).required if part.kind == VALUE])


def usual_type(declared: OperandDeclaration) -> Type:
    """A type for an operand or a result of which nothing is known."""
    return next((type for type in USUAL_TYPES if declared.constraint.accepts(type)), USUAL_TYPES[0])


def usual_attributes(declaration: OperationDeclaration, types: dict[str, list[Type]]) -> dict[str, Attribute]:
    """What a statement begins with for the attributes that it cannot do without."""
    found: dict[str, Attribute] = {}
    accessed = [type for name in ("arg", "value") for type in types.get(name, ())]
    has_floats = any(isinstance(type, TileType) and isinstance(type.element, FloatType) for type in accessed)
    usual = {"signed", "ordered", "addf" if has_floats else "add", "relaxed" if declaration.has_trait(ATOMIC) else ""}
    for declared in declaration.attributes:
        kind = declared.constraint.kind
        enumeration = enum_kind_of(declared)
        if declared.optional or declared.default is not None:
            continue
        if enumeration is not None:
            words = legal_keywords(declaration, declared, NEWEST)
            found[declared.name] = enumeration[next((word for word in words if word in usual), words[0])]
        elif kind in ("i64", "i32"):
            number = {"dim": 0, "alignment": 16}.get(declared.name, 1)
            found[declared.name] = integer_attribute(I64 if kind == "i64" else I32, number)
        elif kind == "string":
            found[declared.name] = string_attribute(declared.name)
        elif kind == "bool":
            found[declared.name] = bool_attribute(False)
        elif kind == "predicate":
            found[declared.name] = div_by(16)
        elif kind == "i32_array":
            source = types["source"][0] if types.get("source") else None
            rank = source.rank if isinstance(source, TileType) else 2
            found[declared.name] = dense_array_attribute(I32, tuple(reversed(range(rank))))
        elif declared.name == "identities":
            element = element_tile(types).element
            zero = float_attribute(element, 0) if isinstance(element, FloatType) else integer_attribute(element, 0)
            found[declared.name] = array_attribute((zero,))
    return found


def element_tile(types: dict[str, list[Type]]) -> TileType:
    """A scalar of what a reduction combines."""
    operand = types["operands"][0] if types.get("operands") else None
    return scalar_tile(operand.element) if isinstance(operand, TileType) else scalar_tile(F32)
