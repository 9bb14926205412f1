"""A statement to start with: the form of an operation with everything that must be written filled in.

Values are the nearest ones that are visible and fit, types follow from them, optional parts are left out; each of these
is a placeholder that the editor lets one type over.
"""

from __future__ import annotations

from tileir.analyze.documentation.grammar import legal_keywords, spelled
from tileir.dialect.enums import ATOMIC_MODE, MEMORY_ORDERING
from tileir.dialect.ops import (
    ENTRY,
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
)
from tileir.ir.declaration import VARIADIC, OperandDeclaration, OperationDeclaration
from tileir.ir.traits import ATOMIC
from tileir.ir.types import F32, I32, FloatType, IntegerType, Type
from tileir.ir.versions import NEWEST, Version
from tileir.serve.language.completion.operands import (
    USUAL_TYPES,
    Chosen,
    Expectation,
    Piece,
    Placeholder,
    Pool,
    choose_operands,
    element_tile,
    usual_attributes,
)
from tileir.serve.language.document.operation_format import (
    ATTRIBUTE,
    REGION,
    SYMBOL,
    TYPE,
    VALUE,
    Choice,
    Node,
    Optional,
    Part,
    Repeated,
    Sequence,
    format_of,
)


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
    key = (declaration, with_results, version)
    found = pool.made.get(key)
    if found is None:
        found = pool.made[key] = _made_statement(declaration, pool, with_results, version)
    return found


def _made_statement(declaration: OperationDeclaration, pool: Pool, with_results: bool, version: Version) -> list[Piece]:
    chosen = choose_operands(declaration, pool)
    if declaration.is_control_flow and not with_results:
        return _control_flow(declaration, pool, chosen)
    writer = _Writer(declaration, pool, version, chosen)
    format = format_of(declaration)
    if with_results:
        names = result_names(declaration, pool, chosen)
        for number, name in enumerate(names):
            writer.pieces.extend([Placeholder(name), ", " if number + 1 < len(names) else " = "])
    writer.pieces.append(spelled(declaration, version))
    writer.write(format.tree)
    return writer.pieces


def missing_results(declaration: OperationDeclaration, pool: Pool, count: int) -> list[str]:
    """Names for the results of an operation behind the first so many."""
    if declaration.is_control_flow:
        return []
    return result_names(declaration, pool, choose_operands(declaration, pool))[count:]


def _control_flow(declaration: OperationDeclaration, pool: Pool, chosen: Chosen) -> list[Piece]:
    """Control flow with one result, which the text names already: it goes through the body."""
    type = next((type for type in pool.by_type if isinstance(type, TileType)), scalar_tile(F32))
    value = pool.by_type[type][0] if type in pool.by_type else "%value"
    spelling = type.spelling
    if declaration is IF:
        (condition,) = chosen.names["condition"]
        branch: list[Piece] = ["yield ", Placeholder(value), f" : {spelling}\n}}"]
        pieces: list[Piece] = [
            "if ",
            Placeholder(condition),
            " -> (",
            Placeholder(spelling),
            ") {\n  ",
            Placeholder(""),
        ]
        return [*pieces, *branch, " else {\n  ", *branch]
    carried = pool.fresh("%carried")
    if declaration is LOOP:
        pieces = ["loop iter_values(", Placeholder(carried), " = ", Placeholder(value), ") : ", Placeholder(spelling)]
        return [*pieces, f" -> {spelling} {{\n  ", Placeholder(""), f"break {carried} : {spelling}\n}}"]
    bounds = [chosen.names[name][0] for name in ("lowerBound", "upperBound", "step")]
    pieces = [
        "for ",
        Placeholder(pool.fresh("%index")),
        " in (",
        Placeholder(bounds[0]),
        " to ",
        Placeholder(bounds[1]),
    ]
    step = chosen.types["step"][0].spelling if chosen.types.get("step") else scalar_tile(I32).spelling
    pieces.extend([", step ", Placeholder(bounds[2]), ") : ", Placeholder(step), " iter_values("])
    pieces.extend([Placeholder(carried), " = ", Placeholder(value), ") -> (", Placeholder(spelling), ") {\n  "])
    return [*pieces, Placeholder(""), f"continue {carried} : {spelling}\n}}"]


def clause_pieces(
    declaration: OperationDeclaration, part: Part, pool: Pool, types: dict[str, list[Type]], version: Version
) -> list[Piece]:
    """A clause that may be left out, from its first word on: `rounding<zero>`, `token=%t`; or just the word."""
    clause = _clause(format_of(declaration).tree, part)
    writer = _Writer(declaration, pool, version, Chosen({}, types))
    if clause is None:
        return [part.name]
    writer.write(clause)
    return writer.pieces[1:] if writer.pieces[0] == " " else writer.pieces


def _clause(node: Node, first: Part) -> Node | None:
    """The optional piece that begins with a part."""
    if isinstance(node, Optional):
        inner = node.item
        if inner is first or (isinstance(inner, Sequence) and inner.items[0] is first):
            return inner
        return _clause(inner, first)
    if isinstance(node, Repeated):
        return _clause(node.item, first)
    if isinstance(node, (Sequence, Choice)):
        return next((found for item in node.items if (found := _clause(item, first)) is not None), None)
    return None


def result_names(declaration: OperationDeclaration, pool: Pool, chosen: Chosen) -> list[str]:
    """Names for the results that an operation has, none for those of control flow, which need not have any."""
    names: list[str] = []
    taken = [name for names in chosen.names.values() for name in names]
    for declared in declaration.results:
        count = 1
        if declared.count == VARIADIC:
            count = 0 if declaration.is_control_flow else 1
            if declaration in (GET_INDEX_SPACE_SHAPE, GET_TENSOR_SHAPE):
                source = chosen.types["src"][0] if chosen.types.get("src") else None
                count = source.rank if isinstance(source, TensorViewType) else count
                count = source.index_rank if isinstance(source, TileViewType) else count
        wanted = "token" if declared.name == "result_token" else declared.name.removesuffix("s")
        for _ in range(count):
            names.append(pool.fresh(f"%{wanted}", [*names, *taken]))
    return names


class _Writer:
    """Writes a form whose operands were chosen before."""

    def __init__(self, declaration: OperationDeclaration, pool: Pool, version: Version, chosen: Chosen) -> None:
        self.declaration = declaration
        self.pool = pool
        self.version = version
        self.pieces: list[Piece] = []
        self.types = chosen.types
        self.left = {name: list(names) for name, names in chosen.names.items()}
        self.attributes: dict[str, Attribute] = usual_attributes(declaration, self.types)
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
        if part.operand in self.declaration.operands:
            # An optional one, which somebody wants all the same.
            assert part.operand is not None
            fitting = Expectation(self.declaration, self.types, in_use=self.pool.types).of_operand(part.operand)
            return next((self.pool.by_type[type][0] for type in fitting if type in self.pool.by_type), f"%{part.name}")
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
        return expectation.of_result(declared.name, most=1) or [_usual(declared)]

    def _tensor_view(self) -> TensorViewType:
        base = self.types["base"][0] if self.types.get("base") else None
        element = base.element if isinstance(base, TileType) else None
        return tensor_view_type(element.pointee if isinstance(element, PointerType) else F32, (64,), (1,))

    def _argument_type(self) -> str:
        """Of an argument of an entry or of the body of a reduction."""
        if self.declaration is ENTRY:
            return "tile<ptr<f32>>"
        if self.declaration in (REDUCE, SCAN):
            return element_tile(self.types).spelling
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
        if declared.constraint.kind == "hints":
            return "sm_100 = {latency = 2}" if self.declaration is not ENTRY else "sm_100 = {occupancy = 2}"
        if declared.constraint.kind == "bool_array":
            view = next((t for types in self.types.values() for t in types if isinstance(t, TileViewType)), None)
            return f"[{', '.join(['true'] * (view.index_rank if view is not None else 1))}]"
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
            self.pieces.append(f"yield {name} : {element_tile(self.types).spelling}")
        elif self.declaration is ENTRY:
            self.pieces.append("\n  return")
        elif self.declaration is LOOP:
            self.pieces.append("\n  break")
        self.pieces.append("\n}")


def _usual(declared: OperandDeclaration) -> Type:
    return next((type for type in USUAL_TYPES if declared.constraint.accepts(type)), USUAL_TYPES[0])


def _zero(element: Type) -> str:
    if isinstance(element, FloatType):
        return "0.0"
    return "false" if isinstance(element, IntegerType) and element.width == 1 else "0"
