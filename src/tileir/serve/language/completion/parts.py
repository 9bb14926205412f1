"""Completion inside a statement: the parts of its format that may come next, as completion items."""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from tileir.analyze.documentation.grammar import legal_keywords
from tileir.analyze.documentation.meanings import ATTRIBUTES, ELEMENT_TYPES, KEYWORDS, TYPES
from tileir.analyze.documentation.pages import prose
from tileir.dialect.attributes import ARCHITECTURES, HINT_DOCUMENTATION, HINTS_OF_KIND
from tileir.dialect.enums import MEMORY_SCOPE, PADDING
from tileir.dialect.ops import ENTRY
from tileir.dialect.types import ELEMENT_SINCE
from tileir.ir.attributes import Attribute, dense_array_attribute, integer_attribute
from tileir.ir.declaration import OPTIONAL, OperationDeclaration
from tileir.ir.types import I32, I64, Type
from tileir.ir.versions import V13_1
from tileir.serve.language.completion.cursor import NEAREST, Cursor
from tileir.serve.language.completion.operands import Expectation, Placeholder, Pool, SnippetPart
from tileir.serve.language.completion.snippets import clause_pieces, plain_text, snippet_text
from tileir.serve.language.document.statement import ATTRIBUTE, SYMBOL, TYPE, VALUE, WORD, Part, Statement, type_of

Kind = lsp.CompletionItemKind
_TENSOR: Final = "tensor_view<?xf32, strides=[1]>"
_SKELETONS: Final[dict[str, list[SnippetPart]]] = {
    "tile": ["tile<", Placeholder("f32"), ">"],
    "ptr": ["ptr<", Placeholder("f32"), ">"],
    "tensor_view": ["tensor_view<", Placeholder("?xf32"), ", strides=[", Placeholder("1"), "]>"],
    "partition_view": ["partition_view<tile=(", Placeholder("16"), "), ", Placeholder(_TENSOR), ">"],
    "token": ["token"],
}
_PREDICATES: Final[dict[str, list[SnippetPart]]] = {
    "div_by": ["div_by<", Placeholder("16"), ">"],
    "bounded": ["bounded<", Placeholder("0"), ", ", Placeholder("?"), ">"],
    "same_elements": ["same_elements<[", Placeholder("1"), "]>"],
}
_INSIDE_TYPES: Final[dict[str, tuple[str, ...]]] = {
    "tensor_view": ("strides=[",),
    "partition_view": ("tile=(", "padding_value = ", "tensor_view<", "dim_map=["),
    "strided_view": ("tile=(", "traversal_strides=[", "padding_value = ", "tensor_view<", "dim_map=["),
    "gather_scatter_view": ("tile=(", "padding_value = ", "tensor_view<", "sparse_dim="),
}


class Items:
    """Completion items at a cursor, in the order in which they are added."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.found: dict[str, lsp.CompletionItem] = {}
        self.is_incomplete = False

    def add(
        self,
        label: str,
        kind: lsp.CompletionItemKind,
        detail: str = "",
        *,
        pieces: list[SnippetPart] | None = None,
        description: str = "",
        start: int | None = None,
        data: dict[str, str] | None = None,
    ) -> lsp.CompletionItem:
        """Add an item; `pieces` is what it inserts if that is more than its label, from `start` on."""
        known = self.found.get(label)
        if known is not None:
            return known
        cursor = self.cursor
        has_placeholders = pieces is not None and any(not isinstance(piece, str) for piece in pieces)
        is_snippet = has_placeholders and cursor.document.settings.snippets
        text = label if pieces is None else snippet_text(pieces) if is_snippet else plain_text(pieces)
        area = cursor.document.range(cursor.start if start is None else start, cursor.offset)
        item = self.found[label] = lsp.CompletionItem(
            label,
            kind=kind,
            detail=detail or None,
            sort_text=f"{len(self.found):05}",
            text_edit=lsp.TextEdit(area, text),
            insert_text_format=lsp.InsertTextFormat.Snippet if is_snippet else None,
            insert_text_mode=lsp.InsertTextMode.AdjustIndentation if "\n" in text else None,
            label_details=lsp.CompletionItemLabelDetails(description=description) if description else None,
            data=data,
        )
        return item

    def as_list(self) -> lsp.CompletionList:
        return lsp.CompletionList(self.is_incomplete, list(self.found.values()))


def add_parts(items: Items) -> None:
    """What may come next in the statement at hand."""
    statement = items.cursor.statement
    if statement is None or not statement.is_complete:
        if items.cursor.prefix[:1] == "%":
            _add_values(items, None, [])
        return
    if statement.inside is not None:
        _add_inside(items, statement, statement.inside)
        return
    if statement.inside_dictionary:
        for declared in statement.format.declaration.attributes:
            items.add(declared.name, Kind.Property, prose(declared.documentation), pieces=[f"{declared.name} = "])
        return
    expectation = _expectation(items, statement)
    for part in statement.expected:
        _add_part(items, statement, part, expectation)


def add_open_type(items: Items) -> None:
    """Inside the brackets of a type: the types that the statement expects there come first."""
    statement = items.cursor.statement
    part = statement.inside if statement is not None else None
    fitting: list[Type] = []
    if statement is not None and part is not None and part.kind == TYPE:
        fitting = _types_for(part, _expectation(items, statement))
    add_types(items, None, [*fitting, *items.cursor.pool().types])


def _expectation(items: Items, statement: Statement) -> Expectation:
    cursor = items.cursor
    owner = cursor.region.owner
    # The block that the statement stands in, where the text around it could be read.
    around = cursor.document.analysis.operation_of(owner)
    regions = around.regions[owner.regions.index(cursor.region) :] if owner is not None and around is not None else ()
    blocks = [block for region in regions[:1] for block in region.blocks]
    attributes = _attributes(statement)
    block = blocks[0] if blocks else None
    return Expectation(statement.format.declaration, cursor.operand_types(), attributes, block, cursor.pool().types)


def _attributes(statement: Statement) -> dict[str, Attribute]:
    """The attributes that the statement has so far, as far as types depend on them."""
    found: dict[str, Attribute] = {}
    numbers: dict[str, list[int]] = {}
    for token, part in statement.pairs():
        if part.kind != ATTRIBUTE or part.attribute is None:
            continue
        kind = part.attribute.constraint.kind
        if part.enumeration is not None and token in part.enumeration.cases:
            found[part.name] = part.enumeration[token]
        elif token.isdigit() and len(token) < 10:
            numbers.setdefault(part.name, []).append(int(token))
            if kind in ("i64", "i32"):
                found[part.name] = integer_attribute(I64 if kind == "i64" else I32, int(token))
            elif kind == "i32_array":
                found[part.name] = dense_array_attribute(I32, tuple(numbers[part.name]))
    return found


def _add_part(items: Items, statement: Statement, part: Part, expectation: Expectation) -> None:
    declaration = statement.format.declaration
    prefix = items.cursor.prefix
    sigil = prefix[:1] if prefix[:1] in ("%", "@") else ""
    if part.kind == VALUE:
        if part.operand is not None and part.operand in declaration.operands and sigil in ("", "%"):
            written = len(statement.values(part.name))
            _add_values(items, part, expectation.of_operand(part.operand, written))
    elif part.kind == SYMBOL:
        if "name" in declaration.inherent:
            for symbol in items.cursor.document.syntax.globals:
                items.add(symbol, Kind.Constant, "global")
    elif sigil:
        return
    elif part.kind == TYPE:
        rest = _rest_of_types(statement, part, expectation)
        if rest is not None and len(rest) > 1:
            # All types that are still to be written, at once.
            items.add("".join(rest), Kind.Snippet, "the types that follow")
        add_types(items, part, _types_for(part, expectation))
    elif part.enumeration is not None and part.kind == ATTRIBUTE:
        # A weak access has no scope.
        if part.enumeration is not MEMORY_SCOPE or "weak" not in statement.tokens:
            meanings = KEYWORDS[part.enumeration.name]
            version, declared = items.cursor.document.settings.version, part.attribute
            for word in legal_keywords(declaration, declared, version) if declared is not None else meanings:
                items.add(word, Kind.EnumMember, meanings.get(word, ""), description=part.enumeration.name)
    elif part.kind == ATTRIBUTE:
        _add_literals(items, declaration, part)
    elif part.kind == WORD:
        _add_word(items, statement, part, expectation)


def _add_values(items: Items, part: Part | None, fitting: list[Type]) -> None:
    """The visible values, those of an expected type first, then those that the operand takes at all."""
    constraint = part.operand.constraint if part is not None and part.operand is not None else None

    def rank(type: Type | None) -> int:
        if type is not None and type in fitting:
            return 0
        return 1 if constraint is None or type is None or constraint.accepts(type) else 2

    typed = [(name.text, type_of(items.cursor.document, name)) for name in items.cursor.names()]
    for text, type in sorted(typed, key=lambda each: rank(each[1])):
        items.add(text, Kind.Variable, type.spelling if type is not None else "")
    items.is_incomplete = items.is_incomplete or len(typed) >= NEAREST


def _types_for(part: Part, expectation: Expectation) -> list[Type]:
    """The types that may stand for an operand or a result, best first."""
    declared = part.operand
    if declared is None:
        return []
    known = expectation.operands.get(declared.name)
    if known:
        return list(dict.fromkeys(known))
    if declared in expectation.declaration.operands:
        return expectation.of_operand(declared)
    fitting = expectation.of_result(declared.name)
    return fitting or [type for type in expectation.in_use if declared.constraint.accepts(type)]


def add_types(items: Items, part: Part | None, types: list[Type]) -> None:
    """Types that fit and what types begin with; inside the brackets of one also its parts."""
    cursor = items.cursor
    inside = cursor.open_type()
    start = inside[1] if inside is not None else cursor.start
    begun = cursor.document.text[start : cursor.start]
    for type in types:
        if type.spelling.startswith(begun):
            items.add(type.spelling, Kind.Struct, start=start)
    version = cursor.document.settings.version
    if inside is not None:
        _add_in_type(items, inside[0], begun)
        return
    constraint = part.operand.constraint if part is not None and part.operand is not None else None
    for documented in TYPES:
        if documented.since is not None and documented.since <= version and documented.name in _SKELETONS:
            if constraint is None or _takes(constraint.wording(version), documented.name):
                pieces = _SKELETONS[documented.name]
                items.add(documented.name, Kind.Struct, prose(documented.summary), pieces=pieces)


def _add_in_type(items: Items, name: str, begun: str) -> None:
    """The members of a type, and element types."""
    for word in _INSIDE_TYPES.get(name, ()):
        items.add(word.rstrip("<([= "), Kind.Property, pieces=[word])
    if begun.rstrip().endswith("="):
        for keyword, meaning in KEYWORDS[PADDING.name].items():
            items.add(keyword, Kind.EnumMember, meaning)
    since = {type.spelling: version for type, version in ELEMENT_SINCE.items()}
    # After an extent the element type follows its x.
    x = "x" if items.cursor.prefix[:1] == "x" and begun[-1:].isdigit() else ""
    for element, summary in ELEMENT_TYPES.items():
        if since.get(element, V13_1) <= items.cursor.document.settings.version:
            items.add(f"{x}{element}", Kind.TypeParameter, prose(summary))
    if name == "tile":
        items.add(f"{x}ptr", Kind.Struct, pieces=[f"{x}ptr<", Placeholder("f32"), ">"])


def _takes(wording: str, name: str) -> bool:
    """Whether the words for a set of types speak of a kind of type."""
    if name == "tile":
        return "tile" in wording.lower().replace("tileview", "")
    if name == "ptr":
        return False
    return name.split("_")[0] in wording or wording in ("any type", "TileView instance")


def _rest_of_types(statement: Statement, first: Part, expectation: Expectation) -> list[str] | None:
    """The types from one on, with what stands between them; None where one does not follow from what is written."""
    format = statement.format
    written: list[str] = []
    words: list[str] = []
    for part in format.parts[first.index :]:
        if part.kind == WORD:
            words.append(part.name)
            continue
        if part.kind != TYPE or part.operand is None:
            return None
        optional = part.operand.count == OPTIONAL and part.operand in format.declaration.operands
        if optional and part.name not in expectation.operands:
            words = []
            continue
        types = expectation.operands.get(part.name) or expectation.of_result(part.name)
        if not types or (part.operand not in format.declaration.operands and len(types) > 1):
            return None
        spelling = ", ".join([type.spelling for type in dict.fromkeys(types)])
        separator = words[-1] if words else ""
        written.append(f"{', ' if separator == ',' else ' -> ' if separator == '->' else ''}{spelling}")
        words = []
    return written


def _add_literals(items: Items, declaration: OperationDeclaration, part: Part) -> None:
    """What an attribute that is no keyword may be."""
    declared = part.attribute
    kind = declared.constraint.kind if declared is not None else ""
    if kind == "predicate":
        for documented in ATTRIBUTES:
            if documented.name in _PREDICATES:
                items.add(documented.name, Kind.Function, documented.summary, pieces=_PREDICATES[documented.name])
    elif kind == "bool":
        for word in ("false", "true"):
            items.add(word, Kind.Keyword)
    elif kind == "hints":
        _add_hints(items, declaration, False)
    elif not kind and "value" in declaration.inherent:
        for element, summary in ELEMENT_TYPES.items():
            items.add(element, Kind.TypeParameter, prose(summary))


def _add_word(items: Items, statement: Statement, part: Part, expectation: Expectation) -> None:
    """A word of the format, with the clause that it begins; `:` with the types after it."""
    declaration = statement.format.declaration
    if part.name in (":", "->"):
        for follower in statement.format.following(part.index):
            following = statement.format.parts[follower]
            rest = _rest_of_types(statement, following, expectation) if following.kind == TYPE else None
            if rest and not items.cursor.prefix:
                items.add(f"{part.name} {''.join(rest)}", Kind.Snippet, "the types that follow")
        return
    if not part.name[:1].isalpha() or part.name == "attributes":
        return
    cursor = items.cursor
    detail = ""
    if part.enumeration is not None:
        detail = KEYWORDS[part.enumeration.name].get(part.name, "")
    elif part.attribute is not None:
        detail = prose(part.attribute.documentation)
    pool: Pool = cursor.pool()
    pieces = clause_pieces(declaration, part, pool, dict(expectation.operands), cursor.document.settings.version)
    items.add(part.name, Kind.Keyword, detail, pieces=pieces if len(pieces) > 1 else None)


def _add_inside(items: Items, statement: Statement, part: Part) -> None:
    """Inside an open bracket that belongs to one part."""
    declared = part.attribute
    if declared is not None and declared.constraint.kind == "hints":
        depth = sum((token == "{") - (token == "}") for token in statement.tokens)
        if statement.tokens[-1] in ("<", "{", ","):
            _add_hints(items, statement.format.declaration, depth > 0)
    elif declared is not None and declared.constraint.kind == "bool_array":
        for word in ("true", "false"):
            items.add(word, Kind.Keyword)


def _add_hints(items: Items, declaration: OperationDeclaration, is_inside: bool) -> None:
    """Architectures, and in their braces the hints that the operation reads."""
    version = items.cursor.document.settings.version
    if not is_inside:
        for architecture, since in ARCHITECTURES.items():
            if since <= version:
                items.add(architecture, Kind.EnumMember, pieces=[f"{architecture} = {{", Placeholder("hint = 1"), "}"])
        return
    names = [operand.name for operand in declaration.operands]
    kind = "entry" if declaration is ENTRY else "view" if "view" in names else "pointer"
    for hint in HINTS_OF_KIND[kind]:
        usual = "true" if hint == "allow_tma" else "2"
        items.add(hint, Kind.Property, HINT_DOCUMENTATION[hint], pieces=[f"{hint} = ", Placeholder(usual)])
