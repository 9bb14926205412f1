"""Types that stand in a text."""

from __future__ import annotations

import re
from typing import Final

from tileir.ir.types import Type
from tileir.ir.versions import Version
from tileir.serve.language.document import Document
from tileir.serve.language.forms import TYPE
from tileir.serve.language.names import Name
from tileir.serve.language.statement import ReadStatement
from tileir.text.cursor import SyntaxFailure
from tileir.text.types import TypeCursor

_TYPE: Final = re.compile(
    r"(?:tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view)\s*<.*"
    r"|!?(?:cuda_tile\.)?(?:tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view)\s*<.*"
    r"|(?:!cuda_tile\.)?token|i(?:1|4|8|16|32|64)|f(?:16|32|64)|bf16|tf32|f8\w+|f4\w+|fnv8\w+",
    re.DOTALL,
)


def type_at(document: Document, token: int) -> Type | None:
    """The type that a token is; None where it is none, or a wrong one."""
    syntax = document.syntax
    text = syntax.tokens[token]
    if not _TYPE.fullmatch(text):
        return None
    if text == "token" and syntax.tokens[token + 1] == "=":
        # The clause `token=%t` of an access.
        return None
    return parsed_type(text, document.settings.version)


def parsed_type(text: str, version: Version) -> Type | None:
    try:
        cursor = TypeCursor(text, "-", version)
        type = cursor.parse_type()
        return type if cursor.at_end() else None
    except SyntaxFailure:
        return None


def type_of(document: Document, name: Name) -> Type | None:
    """The type of a value: as it was read, or else as the text that defines it says."""
    return document.analysis.type_of(name) or _said_type(document, name)


def _said_type(document: Document, name: Name) -> Type | None:
    written = name.operation
    definition = name.definition
    if written is None or definition is None or written.declaration is None or written.name < 0:
        return None
    syntax = document.syntax
    if definition not in written.results:
        if syntax.tokens[definition + 1] == ":":
            return parsed_type(syntax.tokens[definition + 2], document.settings.version)
        return None
    results = written.declaration.results
    number = written.results.index(definition)
    if number >= len(results):
        return None
    # A result that has no type of its own has that of an operand.
    wanted = results[number].name
    group = next((group for group in written.declaration.same_types if wanted in group), (wanted,))
    statement = ReadStatement(syntax, written)
    for index, token in enumerate(statement.tokens):
        part = statement.part(index)
        if part is not None and part.kind == TYPE and part.name in group:
            return parsed_type(token, document.settings.version)
    return written.declaration.fixed_types.get(wanted)
