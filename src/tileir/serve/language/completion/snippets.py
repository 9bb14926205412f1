"""Snippets: the statement of an operation with everything that must be written filled in.

Values are the nearest visible ones that fit, types follow from them, optional parts are left out.  Each of these is a
placeholder, which the editor lets the user type over.
"""

from __future__ import annotations

import re

from tileir.analyze.documentation.grammar import legal_keywords, spelled
from tileir.dialect import ops
from tileir.dialect.enums import ATOMIC_MODE, MEMORY_ORDERING
from tileir.dialect.types import (
    PointerType,
    TensorViewType,
    TileType,
    TileViewType,
    scalar_tile,
    tensor_view_type,
    tile_type,
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

# Control flow whose result the text names already: it goes through the body.  `[name]` is a placeholder.
_IF = "if [condition] -> ([type]) {\n  []yield [value] : type\n} else {\n  []yield [value] : type\n}"
_LOOP = "loop iter_values([carried] = [value]) : [type] -> type {\n  []break carried : type\n}"
_FOR = (
    "for [index] in ([lowerBound] to [upperBound], step [step]) : [step_type] iter_values([carried] = [value]) "
    "-> ([type]) {\n  []continue carried : type\n}"
)


def plain_text(pieces: list[Piece]) -> str:
    """The statement with the texts of its placeholders."""
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
            escaped = piece.text.replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")
            written.append(f"${{{number}|{','.join(piece.choices)}|}}" if piece.choices else f"${{{number}:{escaped}}}")
    return "".join(written)


def statement_pieces(
    declaration: OperationDeclaration, pool: Pool, with_results: bool, version: Version = NEWEST
) -> list[Piece]:
    """The statement of an operation; its results are named only if they are not in the text."""
    key = (declaration, with_results, version)
    if key not in pool.made:
        pool.made[key] = _statement(declaration, pool, with_results, version)
    return pool.made[key]


def _statement(declaration: OperationDeclaration, pool: Pool, with_results: bool, version: Version) -> list[Piece]:
    chosen = choose_operands(declaration, pool)
    if declaration.is_control_flow and not with_results:
        return _control_flow(declaration, pool, chosen)
    writer = _Writer(declaration, pool, version, chosen)
    names = _result_names(declaration, pool, chosen) if with_results else []
    for number, name in enumerate(names):
        writer.pieces.extend([Placeholder(name), ", " if number + 1 < len(names) else " = "])
    writer.pieces.append(spelled(declaration, version))
    writer.write(format_of(declaration).tree)
    return writer.pieces


def missing_results(declaration: OperationDeclaration, pool: Pool, count: int) -> list[str]:
    """Names for the results of an operation behind the first `count`."""
    if declaration.is_control_flow:
        return []
    return _result_names(declaration, pool, choose_operands(declaration, pool))[count:]


def _control_flow(declaration: OperationDeclaration, pool: Pool, chosen: Chosen) -> list[Piece]:
    type = next((type for type in pool.by_type if isinstance(type, TileType)), scalar_tile(F32))
    step = chosen.types["step"][0] if chosen.types.get("step") else scalar_tile(I32)
    texts = {
        "": "",
        "type": type.spelling,
        "value": pool.by_type[type][0] if type in pool.by_type else "%value",
        "carried": pool.fresh("%carried"),
        "index": pool.fresh("%index"),
        "step_type": step.spelling,
        **{name: names[0] for name, names in chosen.names.items()},
    }
    template = _IF if declaration is ops.IF else _LOOP if declaration is ops.LOOP else _FOR
    pieces: list[Piece] = []
    for number, text in enumerate(re.split(r"\[(\w*)\]", template)):
        plain = re.sub(r"\b(?:type|carried)\b", lambda match: texts[match[0]], text)
        pieces.append(Placeholder(texts[text]) if number % 2 else plain)
    return pieces


def clause_pieces(
    declaration: OperationDeclaration, part: Part, pool: Pool, types: dict[str, list[Type]], version: Version
) -> list[Piece]:
    """An optional clause from its first word on, `rounding<zero>`, `token=%t`; or just the word."""
    clause = _clause(format_of(declaration).tree, part)
    if clause is None:
        return [part.name]
    writer = _Writer(declaration, pool, version, Chosen({}, types))
    writer.write(clause)
    return writer.pieces[1:] if writer.pieces[0] == " " else writer.pieces


def _clause(node: Node, first: Part) -> Node | None:
    """The optional node that begins with a part."""
    if isinstance(node, Part):
        return None
    if isinstance(node, (Sequence, Choice)):
        return next((found for item in node.items if (found := _clause(item, first)) is not None), None)
    inner = node.item
    begins = inner is first or (isinstance(inner, Sequence) and inner.items[0] is first)
    return inner if begins and isinstance(node, Optional) else _clause(inner, first)


def _result_names(declaration: OperationDeclaration, pool: Pool, chosen: Chosen) -> list[str]:
    """Names for the results of an operation; none for those of control flow, which need no names."""
    names: list[str] = []
    taken = [name for names in chosen.names.values() for name in names]
    for declared in declaration.results:
        count = 0 if declared.count == VARIADIC and declaration.is_control_flow else 1
        if declaration in (ops.GET_INDEX_SPACE_SHAPE, ops.GET_TENSOR_SHAPE):
            source = chosen.types["src"][0] if chosen.types.get("src") else None
            count = source.rank if isinstance(source, TensorViewType) else count
            count = source.index_rank if isinstance(source, TileViewType) else count
        name = "token" if declared.name == "result_token" else declared.name.removesuffix("s")
        for _ in range(count):
            names.append(pool.fresh(f"%{name}", [*names, *taken]))
    return names


class _Writer:
    """Writes a format whose operands are chosen."""

    def __init__(self, declaration: OperationDeclaration, pool: Pool, version: Version, chosen: Chosen) -> None:
        self.declaration = declaration
        self.pool = pool
        self.version = version
        self.pieces: list[Piece] = []
        self.types = chosen.types
        self.left = {name: list(names) for name, names in chosen.names.items()}
        self.attributes = usual_attributes(declaration, self.types)
        # Names that the statement defines, for the body of a region.
        self.names: dict[str, str] = {}
        # The type of a constant, chosen before it is written.
        self.constant: TileType | None = None

    def write(self, node: Node) -> None:
        if isinstance(node, Part):
            self._write_part(node)
        elif isinstance(node, Sequence):
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
            is_value = isinstance(node.item, Part) and node.item.kind == VALUE
            count = len(self.left.get(node.item.name, [""])) if is_value and isinstance(node.item, Part) else 1
            for number in range(count):
                if number:
                    self.pieces.append(", ")
                self.write(node.item)

    def _add(self, part: Part, piece: Piece) -> None:
        if part.is_spaced and self.pieces and str(self.pieces[-1])[-1:] != " ":
            self.pieces.append(" ")
        self.pieces.append(piece)

    def _write_part(self, part: Part) -> None:
        if part.kind == VALUE:
            self._add(part, Placeholder(self._value_text(part)))
        elif part.kind == TYPE:
            self._add(part, Placeholder(self._type_text(part)))
        elif part.kind == ATTRIBUTE:
            self._write_attribute(part)
        elif part.kind == SYMBOL:
            symbols = self.pool.symbols if self.declaration is ops.GET_GLOBAL else []
            self._add(part, Placeholder([*symbols, "@kernel" if self.declaration is ops.ENTRY else "@name"][0]))
        elif part.kind == REGION:
            self._write_region(part)
        else:
            self._add(part, part.name)

    def _value_text(self, part: Part) -> str:
        left = self.left.get(part.name)
        if left:
            return left.pop(0)
        if part.operand is not None and part.operand in self.declaration.operands:
            # An optional operand of a clause.
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
        if declared not in self.declaration.operands:
            return self._result_type(declared).spelling
        known = self.types.get(declared.name) or [_usual(declared)]
        return ", ".join([type.spelling for type in dict.fromkeys(known)])

    def _result_type(self, declared: OperandDeclaration) -> Type:
        if self.constant is not None:
            return self.constant
        if self.declaration is ops.MAKE_TENSOR_VIEW:
            base = self.types["base"][0] if self.types.get("base") else None
            element = base.element if isinstance(base, TileType) else None
            return tensor_view_type(element.pointee if isinstance(element, PointerType) else F32, (64,), (1,))
        expectation = Expectation(self.declaration, self.types, self.attributes, in_use=self.pool.types)
        return (expectation.of_result(declared.name, most=1) or [_usual(declared)])[0]

    def _argument_type(self) -> str:
        """The type of an argument of an entry or of the body of a reduction."""
        if self.declaration is ops.ENTRY:
            return "tile<ptr<f32>>"
        if self.declaration in (ops.REDUCE, ops.SCAN):
            return element_tile(self.types).spelling
        return self._constant_type().spelling if self.declaration is ops.GLOBAL else scalar_tile(I32).spelling

    def _constant_type(self) -> TileType:
        """The type of a constant: the nearest that can be one."""
        if self.constant is None:
            results = self.declaration.results
            found = self._result_type(results[0]) if results else tile_type((1,), F32)
            self.constant = found if isinstance(found, TileType) else scalar_tile(F32)
        return self.constant

    # --- attributes and regions ---

    def _write_attribute(self, part: Part) -> None:
        declared = part.attribute
        if part.enumeration is None or declared is None:
            self._add(part, Placeholder(self._attribute_text(part)))
            return
        words = legal_keywords(self.declaration, declared, self.version)
        if part.enumeration is ATOMIC_MODE:
            types = [type for name in ("arg", "value") for type in self.types.get(name, ())]
            has_floats = any(isinstance(type, TileType) and isinstance(type.element, FloatType) for type in types)
            words.sort(key=lambda word: word != ("addf" if has_floats else "add"))
        elif part.enumeration is MEMORY_ORDERING and self.declaration.has_trait(ATOMIC):
            words.sort(key=lambda word: word != "relaxed")
        self._add(part, Placeholder(words[0], tuple(words)))

    def _attribute_text(self, part: Part) -> str:
        declared = part.attribute
        if declared is None:
            if "value" in self.declaration.inherent:
                return self._constant_type().element.spelling
            # An extent, and later a stride.
            return "1" if "strides" in self.pieces else "64"
        kind = declared.constraint.kind
        if kind == "dense":
            return _zero(self._constant_type().element)
        if declared.name in self.attributes:
            return self.attributes[declared.name].bare_text
        if kind == "hints":
            return f"sm_100 = {{{'occupancy' if self.declaration is ops.ENTRY else 'latency'} = 2}}"
        if kind == "bool_array":
            view = next((t for types in self.types.values() for t in types if isinstance(t, TileViewType)), None)
            return f"[{', '.join(['true'] * (view.index_rank if view is not None else 1))}]"
        return f'"{part.name}"' if kind == "string" else "1"

    def _write_region(self, part: Part) -> None:
        self._add(part, "{")
        ending = {ops.ENTRY: "\n  return", ops.LOOP: "\n  break"}.get(self.declaration, "")
        if self.declaration in (ops.REDUCE, ops.SCAN):
            ending = f"yield {self.names.get('element', '%element')} : {element_tile(self.types).spelling}"
        self.pieces.extend(["\n  ", Placeholder(""), f"{ending}\n}}"])


def _usual(declared: OperandDeclaration) -> Type:
    return next((type for type in USUAL_TYPES if declared.constraint.accepts(type)), USUAL_TYPES[0])


def _zero(element: Type) -> str:
    if isinstance(element, FloatType):
        return "0.0"
    return "false" if isinstance(element, IntegerType) and element.width == 1 else "0"
