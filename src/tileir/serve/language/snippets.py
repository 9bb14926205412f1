"""A statement to start with: the form of an operation with everything that must be written filled in.

Values are the nearest ones that are visible and fit, types follow from them, optional parts are left out; each of these
is a placeholder that the editor lets one type over.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from tileir.analyze.documentation.grammar import legal_keywords, spelled
from tileir.dialect.attributes import div_by
from tileir.dialect.enums import ATOMIC_MODE, MEMORY_ORDERING, enum_kind_of
from tileir.dialect.ops import (
    ENTRY,
    FOR,
    GET_GLOBAL,
    GET_INDEX_SPACE_SHAPE,
    GET_TENSOR_SHAPE,
    GLOBAL,
    IF,
    LOOP,
    MAKE_TENSOR_VIEW,
    REDUCE,
    SCAN,
)
from tileir.dialect.types import (
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    scalar_tile,
    tensor_view_type,
    tile_type,
)
from tileir.ir.attributes import (
    Attribute,
    array_attribute,
    bool_attribute,
    dense_array_attribute,
    float_attribute,
    integer_attribute,
)
from tileir.ir.declaration import ATOMIC, NEWEST, VARIADIC, OperandDeclaration, OperationDeclaration, Version
from tileir.ir.types import F32, I32, I64, FloatType, IntegerType, Type
from tileir.serve.language.expected import USUAL_TYPES, Expectation
from tileir.serve.language.forms import (
    ATTRIBUTE,
    REGION,
    SYMBOL,
    TYPE,
    VALUE,
    Choice,
    Node,
    Part,
    Repeated,
    Sequence,
    form_of,
)

# So many combinations of values are tried for one statement.
_TRIES: Final = 24


class Visible(NamedTuple):
    """A value that can be used at a place: its name, and its type where that is known."""

    name: str
    type: Type | None


class Pool:
    """What a statement can be made of: the visible values by type, nearest first, and the symbols of the module."""

    def __init__(self, values: Iterable[Visible], types: Iterable[Type] = (), symbols: Iterable[str] = ()) -> None:
        self.by_type: dict[Type, list[str]] = {}
        self.names: set[str] = set()
        for name, type in values:
            self.names.add(name)
            if type is not None:
                self.by_type.setdefault(type, []).append(name)
        self.types: list[Type] = list(dict.fromkeys([*self.by_type, *types]))
        self.symbols: list[str] = list(symbols)

    def fresh(self, name: str, taken: Iterable[str] = ()) -> str:
        """A name like the wanted one that no visible value has."""
        used = self.names.union(taken)
        candidate, number = name, 0
        while candidate in used:
            number += 1
            candidate = f"{name}_{number}"
        return candidate


class Placeholder(NamedTuple):
    """A piece that is to be typed over; an empty one is where the cursor ends up."""

    text: str
    choices: tuple[str, ...] = ()


Piece = str | Placeholder


def plain_text(pieces: list[Piece]) -> str:
    """The statement with all placeholders as they are."""
    return "".join([piece if isinstance(piece, str) else piece.text for piece in pieces])


def snippet_text(pieces: list[Piece]) -> str:
    """The statement in the protocol's language of snippets."""
    written: list[str] = []
    number = 0
    for piece in pieces:
        if isinstance(piece, str):
            written.append(piece.replace("\\", "\\\\").replace("$", "\\$"))
        elif not piece.text:
            written.append("$0")
        else:
            number += 1
            if piece.choices:
                written.append(f"${{{number}|{','.join(piece.choices)}|}}")
            else:
                escaped = piece.text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")
                written.append(f"${{{number}:{escaped}}}")
    return "".join(written)


def statement_pieces(
    declaration: OperationDeclaration, pool: Pool, with_results: bool, version: Version = NEWEST
) -> list[Piece]:
    """The statement of an operation; its results are named only where they are not in the text already."""
    writer = _Writer(declaration, pool, version)
    form = form_of(declaration)
    if with_results:
        names = result_names(declaration, pool)
        for number, name in enumerate(names):
            writer.pieces.extend([Placeholder(name), ", " if number + 1 < len(names) else " = "])
    writer.pieces.append(spelled(declaration, version))
    writer.write(form.tree)
    return writer.pieces


def result_names(declaration: OperationDeclaration, pool: Pool) -> list[str]:
    """Names for the results that an operation has, none for those of control flow, which need not have any."""
    names: list[str] = []
    for declared in declaration.results:
        count = 1
        if declared.count == VARIADIC:
            count = 0 if declaration in (FOR, IF, LOOP) else 1
            if declaration in (GET_INDEX_SPACE_SHAPE, GET_TENSOR_SHAPE):
                source = choose_operands(declaration, pool).types.get("src", [None])[0]
                count = source.rank if isinstance(source, TensorViewType) else count
                count = source.index_rank if isinstance(source, TileViewType) else count
        wanted = "token" if declared.name == "result_token" else declared.name.removesuffix("s")
        for _ in range(count):
            names.append(pool.fresh(f"%{wanted}", names))
    return names


class _Writer:
    """Writes a form whose operands were chosen before."""

    def __init__(self, declaration: OperationDeclaration, pool: Pool, version: Version) -> None:
        self.declaration = declaration
        self.pool = pool
        self.version = version
        self.pieces: list[Piece] = []
        chosen = choose_operands(declaration, pool)
        self.types = chosen.types
        self.left = {name: list(names) for name, names in chosen.names.items()}
        self.attributes: dict[str, Attribute] = _usual_attributes(declaration, self.types)
        # Names that the statement defines, for the body of a region.
        self.names: dict[str, str] = {}
        # The type of a constant, chosen before it is written.
        self.constant: TileType | None = None

    def write(self, node: Node) -> None:
        if isinstance(node, Sequence):
            for item in node.items:
                self.write(item)
        elif isinstance(node, Choice):
            first = node.items[0]
            if isinstance(first, Part) and first.enumeration is not None:
                words = [item.name for item in node.items if isinstance(item, Part)]
                self._add(first, Placeholder(words[0], tuple(words)))
            else:
                self.write(first)
        elif isinstance(node, Repeated):
            for number in range(self._count(node.item)):
                if number:
                    self.pieces.append(", ")
                self.write(node.item)
        elif isinstance(node, Part):
            self._write_part(node)

    def _add(self, part: Part, piece: Piece) -> None:
        separated = not self.pieces or str(self.pieces[-1])[-1:] == " "
        if part.is_spaced and not separated:
            self.pieces.append(" ")
        self.pieces.append(piece)

    def _count(self, item: Node) -> int:
        if isinstance(item, Part) and item.kind == VALUE:
            return len(self.left.get(item.name, [""]))
        return 1

    def _write_part(self, part: Part) -> None:
        if part.kind == VALUE:
            self._add(part, Placeholder(self._value_text(part)))
        elif part.kind == TYPE:
            self._add(part, Placeholder(self._type_text(part)))
        elif part.kind == ATTRIBUTE:
            self._write_attribute(part)
        elif part.kind == SYMBOL:
            names = self.pool.symbols if self.declaration is GET_GLOBAL else []
            usual = "@kernel" if self.declaration is ENTRY else "@name"
            self._add(part, Placeholder(names[0] if names else usual))
        elif part.kind == REGION:
            self._write_region(part)
        else:
            self._add(part, part.name)

    def _value_text(self, part: Part) -> str:
        left = self.left.get(part.name)
        if left:
            return left.pop(0)
        # A name that the statement defines.
        name = self.names[part.name] = self.pool.fresh(f"%{part.name}")
        return name

    # --- types ---

    def _type_text(self, part: Part) -> str:
        declared = part.operand
        if declared is None:
            return self._argument_type()
        if declared in self.declaration.operands:
            known = self.types.get(declared.name)
            if known:
                return ", ".join([type.spelling for type in dict.fromkeys(known)])
            return _usual(declared).spelling
        return self.result_types(declared)[0].spelling

    def result_types(self, declared: OperandDeclaration) -> list[Type]:
        if self.constant is not None:
            return [self.constant]
        if self.declaration is MAKE_TENSOR_VIEW:
            return [self._tensor_view()]
        expectation = Expectation(self.declaration, self.types, self.attributes, in_use=self.pool.types)
        return expectation.of_result(declared.name) or [_usual(declared)]

    def _tensor_view(self) -> TensorViewType:
        base = self.types["base"][0] if self.types.get("base") else None
        element = base.element if isinstance(base, TileType) else None
        return tensor_view_type(element.pointee if isinstance(element, PointerType) else F32, (64,), (1,))

    def _argument_type(self) -> str:
        """Of an argument of an entry or of the body of a reduction."""
        if self.declaration is ENTRY:
            return "tile<ptr<f32>>"
        if self.declaration in (REDUCE, SCAN):
            return _element_tile(self.types).spelling
        return self._constant_type().spelling if self.declaration is GLOBAL else scalar_tile(I32).spelling

    # --- attributes and regions ---

    def _write_attribute(self, part: Part) -> None:
        declared = part.attribute
        if part.enumeration is None or declared is None:
            self._add(part, Placeholder(self._attribute_text(part)))
            return
        words = legal_keywords(self.declaration, declared, self.version)
        if part.enumeration is ATOMIC_MODE:
            wanted = "addf" if self._combines_floats() else "add"
            words.sort(key=lambda word: word != wanted)
        elif part.enumeration is MEMORY_ORDERING and self.declaration.has_trait(ATOMIC):
            words.sort(key=lambda word: word != "relaxed")
        self._add(part, Placeholder(words[0], tuple(words)))

    def _combines_floats(self) -> bool:
        types = [type for name in ("arg", "value") for type in self.types.get(name, ())]
        return any(isinstance(type, TileType) and isinstance(type.element, FloatType) for type in types)

    def _attribute_text(self, part: Part) -> str:
        declared = part.attribute
        if declared is None:
            if "value" in self.declaration.inherent:
                return self._constant_type().element.spelling
            # An extent, and later a stride.
            return "1" if "strides" in self.pieces else "64"
        if declared.constraint.kind == "dense":
            return _zero(self._constant_type().element)
        known = self.attributes.get(declared.name)
        if known is not None:
            return known.bare_text
        return f'"{part.name}"' if declared.constraint.kind == "string" else "1"

    def _constant_type(self) -> TileType:
        """The type of a constant: the nearest that can be one."""
        if self.constant is None:
            results = self.declaration.results
            found = self.result_types(results[0])[0] if results else tile_type((1,), F32)
            self.constant = found if isinstance(found, TileType) else scalar_tile(F32)
        return self.constant

    def _write_region(self, part: Part) -> None:
        self._add(part, "{")
        self.pieces.extend(["\n  ", Placeholder("")])
        if self.declaration in (REDUCE, SCAN):
            name = self.names.get("element", "%element")
            self.pieces.append(f"yield {name} : {_element_tile(self.types).spelling}")
        elif self.declaration is ENTRY:
            self.pieces.append("\n  return")
        elif self.declaration is LOOP:
            self.pieces.append("\n  break")
        self.pieces.append("\n}")


# --- choosing ---


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
        for declared in wanted:
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
        attributes = _usual_attributes(declaration, types)
        return types if Expectation(declaration, types, attributes, in_use=pool.types).is_admitted() else None
    declared = left[0]
    for type in Expectation(declaration, types, in_use=pool.types).of_operand(declared):
        if type not in pool.by_type:
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


def _usual_attributes(declaration: OperationDeclaration, types: dict[str, list[Type]]) -> dict[str, Attribute]:
    """What a statement begins with for the attributes that it cannot do without."""
    found: dict[str, Attribute] = {}
    for declared in declaration.attributes:
        kind = declared.constraint.kind
        enumeration = enum_kind_of(declared)
        if declared.optional:
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
            found[declared.name] = array_attribute((_zero_attribute(_element_tile(types).element),))
    return found


def _element_tile(types: dict[str, list[Type]]) -> TileType:
    """A scalar of what a reduction combines."""
    operand = types["operands"][0] if types.get("operands") else None
    return scalar_tile(operand.element) if isinstance(operand, TileType) else scalar_tile(F32)


def _zero_attribute(element: Type) -> Attribute:
    return float_attribute(element, 0) if isinstance(element, FloatType) else integer_attribute(element, 0)


def _usual(declared: OperandDeclaration) -> Type:
    return next((type for type in USUAL_TYPES if declared.constraint.accepts(type)), USUAL_TYPES[0])


def _zero(element: Type) -> str:
    if isinstance(element, FloatType):
        return "0.0"
    return "false" if isinstance(element, IntegerType) and element.width == 1 else "0"
