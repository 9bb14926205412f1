"""Types that stand in a text."""

from __future__ import annotations

import re
from typing import Final

from tileir.ir.declaration import Version
from tileir.ir.types import Type
from tileir.serve.language.document import Document
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
