"""What an editor adds to a text: semantic tokens, by which it colors, and inlay hints.

A word of a statement is looked up among those of its operation's format, without matching the statement: an editor
requests all tokens of a file at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Final

from lsprotocol import types as lsp

from tileir.analyze.documentation.meanings import ELEMENT_TYPES
from tileir.dialect.attributes import ARCHITECTURES, HINT_DOCUMENTATION
from tileir.dialect.enums import PADDING
from tileir.dialect.ops import BUILTIN_MODULE, MODULE
from tileir.dialect.types import DYNAMIC, TOKEN, PartitionViewType, StridedViewType
from tileir.ir.declaration import OperationDeclaration
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.scanner import OperationNode
from tileir.serve.language.document.statement import ATTRIBUTE, TYPE, WORD, format_of
from tileir.serve.language.document.tree import Name
from tileir.text.lexer import TYPES_WITH_PARAMETERS

_TYPES: Final = [each.value for each in lsp.SemanticTokenTypes]
_MODIFIERS: Final = ("declaration", "deprecated", "unused")
LEGEND: Final = lsp.SemanticTokensLegend(_TYPES, list(_MODIFIERS))
_NUMBER_OF: Final = {name: number for number, name in enumerate(_TYPES)}
_DECLARATION, _DEPRECATED, _UNUSED = 1, 2, 4

_BY_CHARACTER: Final = {'"': "string", "^": "label", "#": "macro", "!": "type"}
_COMMENT: Final = re.compile(r"//[^\n\r]*")
_PIECE: Final = re.compile(r"(?<=[\d?])x|[A-Za-z_]\w*|\d+|\?")
_WORDS_OF_TYPES: Final = frozenset(["cuda_tile", *TYPES_WITH_PARAMETERS, TOKEN.spelling])

# A semantic token: where it begins, its length, its type and its modifiers.
Span = tuple[int, int, str, int]


def semantic_tokens(document: Document, shown: lsp.Range | None = None) -> lsp.SemanticTokens:
    """The semantic tokens in the lines of a range, or of a whole document.

    The protocol has five numbers for each: positions are distances from the token before.
    """
    start, end = (document.offset(shown.start), document.offset(shown.end)) if shown else (0, len(document.text))
    data: list[int] = []
    plain = document.text.isascii()
    last_line, last_column = 0, 0
    for word, length, kind, modifiers in sorted(_words(document, start, end)):
        if start <= word < end:
            line = document.line_of(word)
            column = word - document.line_start(line)
            if not plain:
                first, last = document.position(word), document.position(word + length)
                column, length = first.character, last.character - first.character
            distance = column - last_column if line == last_line else column
            data += (line - last_line, distance, length, _NUMBER_OF[kind], modifiers)
            last_line, last_column = line, column
    return lsp.SemanticTokens(data)


def _words(document: Document, start: int, end: int) -> Iterator[Span]:
    """The spans of the tokens that begin between two offsets, and of the one before; of comments there."""
    syntax, tokens = document.syntax, document.syntax.tokens
    operation: OperationNode | None = None
    known: dict[str, str] = {}
    for match in _COMMENT.finditer(document.text, start, end):
        before = syntax.token_before(match.start() + 1)
        if before < 0 or syntax.end(before) <= match.start():
            yield match.start(), match.end() - match.start(), "comment", 0
    for token in range(max(syntax.token_before(start), 0), syntax.token_before(end) + 1):
        text, place = tokens[token], syntax.starts[token]
        head = text[:1]
        if len(text) == 1 and not head.isalnum():
            continue
        if "<" in text and head not in ('"', "%", "@"):
            yield from [(place + at, length, kind, 0) for at, length, kind in _type_spans(text)]
            continue
        if operation is None or not operation.first <= token <= operation.last or operation.regions:
            operation = syntax.operation_of_token(token)
            known = _kinds_of(operation.declaration) if operation is not None else {}
        kind, modifiers = known.get(text, _GENERAL.get(text, "")), 0
        if head == "%":
            kind, modifiers = _value_kind(syntax.name_at(token), token)
        elif head == "@":
            kind, modifiers = _symbol_kind(syntax.name_at(token), token)
        elif operation is not None and token == operation.name:
            kind, modifiers = _operation_kind(operation.declaration)
        elif head.isdigit() or head in _BY_CHARACTER:
            kind = _BY_CHARACTER.get(head, "number")
        elif text == TOKEN.spelling and tokens[token + 1] == "=":
            kind = "property"
        if kind:
            yield place, len(text), kind, modifiers


def _value_kind(name: Name | None, token: int) -> tuple[str, int]:
    if name is None or name.operation is None or name.definition is None:
        return "variable", 0
    results = name.operation.results
    kind = "variable" if name.definition in results else "parameter"
    modifiers = _DECLARATION if token == name.definition else 0
    return kind, modifiers | (0 if name.uses else _UNUSED)


def _symbol_kind(name: Name | None, token: int) -> tuple[str, int]:
    declaration = name.operation.declaration if name is not None and name.operation is not None else None
    kind = "variable" if declaration is None or not declaration.regions else "function"
    if declaration in (MODULE, BUILTIN_MODULE):
        kind = "namespace"
    return kind, _DECLARATION if name is not None and token == name.definition else 0


def _operation_kind(declaration: OperationDeclaration | None) -> tuple[str, int]:
    if declaration is None:
        return "function", 0
    kind = "keyword" if declaration.regions or declaration.is_terminator else "function"
    return kind, _DEPRECATED if declaration.draft_only else 0


@cache
def _kinds_of(declaration: OperationDeclaration | None) -> dict[str, str]:
    """The kind of each keyword in the syntax of an operation."""
    if declaration is None:
        return {}
    known: dict[str, str] = {}
    form = format_of(declaration)
    for part, following in zip_longest(form.parts, form.parts[1:]):
        if part.enumeration is not None:
            words = part.enumeration.values if part.kind == ATTRIBUTE else [part.name]
            known |= dict.fromkeys([*words, *part.enumeration.aliases], "enumMember")
        elif part.kind == WORD and part.name[:1].isalpha():
            is_property = following is not None and following.name in ("=", "<")
            kind = "property" if is_property else "keyword" if part.attribute is None else "modifier"
            known[part.name] = kind
    return known


_GENERAL: Final[dict[str, str]] = {
    **dict.fromkeys(HINT_DOCUMENTATION, "property"),
    **dict.fromkeys(ARCHITECTURES, "enumMember"),
    **dict.fromkeys([*ELEMENT_TYPES, *_WORDS_OF_TYPES], "type"),
    **dict.fromkeys(["div_by", "bounded", "same_elements", "dense"], "macro"),
    **dict.fromkeys(["true", "false", "loc", "else", "attributes", "unit", "every", "along"], "keyword"),
}


@lru_cache(maxsize=4096)
def _type_spans(text: str) -> tuple[tuple[int, int, str], ...]:
    """The words and numbers of a type that is one token."""
    found: list[tuple[int, int, str]] = []
    for match in _PIECE.finditer(text):
        part, (start, end) = match[0], match.span()
        if part == "x":
            # Between the extents of `4x8xf32`.
            continue
        if part.isdigit() or part == "?":
            kind = "number"
        elif part in PADDING.values:
            kind = "enumMember"
        elif part in ELEMENT_TYPES or (part in _WORDS_OF_TYPES and text[end : end + 1] != "="):
            kind = "type"
        else:
            kind = "property"
        found.append((start, len(part), kind))
    return tuple(found)


def inlay_hints(document: Document, shown: lsp.Range) -> list[lsp.InlayHint]:
    settings = document.settings
    if not (settings.inlay_types or settings.inlay_shapes):
        return []
    start, end = document.offset(shown.start), document.offset(shown.end)
    syntax = document.syntax
    hints: list[lsp.InlayHint] = []
    for token in range(max(syntax.token_before(start), 0), syntax.token_before(end) + 1):
        name = syntax.name_at(token) if syntax.tokens[token][:1] == "%" else None
        if name is None or name.definition != token or name.operation is None:
            continue
        type, label = document.analysis.type_of(name), ""
        if settings.inlay_types and not _is_stated(document, name, name.operation):
            label = type.spelling if type is not None else ""
        elif settings.inlay_shapes and isinstance(type, (PartitionViewType, StridedViewType)):
            label = f"{_grid(type)} tiles"
        if label:
            place = document.position(syntax.end(token))
            hints.append(lsp.InlayHint(place, f": {label}", kind=lsp.InlayHintKind.Type))
    return hints


def _is_stated(document: Document, name: Name, written: OperationNode) -> bool:
    """Whether the type of a value is plain from the line that defines it."""
    tokens = document.syntax.tokens
    definition = name.definition
    declaration = written.declaration
    assert definition is not None
    if definition not in written.results:
        # An argument has its type after it, the variable of a `for` in the same line; carried values do not.
        return tokens[definition + 1] != "="
    if declaration is None or tokens[written.name][:1] == '"':
        return True
    if declaration.is_control_flow:
        # With several results, the written types are hard to match to them.
        return len(written.results) == 1 and tokens[definition + 1] != ":"
    return any(
        part.kind == TYPE and (part.operand is None or part.operand in declaration.results)
        for part in format_of(declaration).parts
    )


def _grid(type: PartitionViewType | StridedViewType) -> str:
    """How many tiles a view has along each index; `?` where that is known only when the program runs."""
    sizes = [type.tensor.shape[dimension] for dimension in type.dim_map]
    counts = ["?" if size == DYNAMIC else str(-(-size // step)) for size, step in zip(sizes, type.steps, strict=True)]
    return "x".join(counts)
