"""Tile IR for Pygments, which colors the programs of the site."""

from __future__ import annotations

from typing import Final

from pygments import token
from pygments.lexer import RegexLexer
from pygments.lexer import words as any_of

from generators.highlighting import words

# Pygments asks for it.
__all__ = ["TileIRLexer"]

_FOUND: Final = words()
_KINDS: Final = (
    (_FOUND.control + _FOUND.definitions, token.Keyword),
    (_FOUND.operations, token.Name.Function),
    (_FOUND.types + _FOUND.elements, token.Keyword.Type),
    (_FOUND.constants + _FOUND.booleans, token.Keyword.Constant),
    (_FOUND.syntax, token.Name.Builtin),
)


class TileIRLexer(RegexLexer):  # type: ignore[misc]
    """Colors words by what editors take them for."""

    name = "Tile IR"
    aliases = ("mlir", "tileir")
    filenames = ("*.mlir",)
    tokens = {
        "root": [
            (r"//.*", token.Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', token.String),
            (r"[%^][\w.$-]+(?:#\d+)?", token.Name.Variable),
            (r"@[\w.$-]+", token.Name.Label),
            (r"[#!][A-Za-z_][\w.$-]*", token.Name.Decorator),
            (r"\bcuda_tile\.", token.Name.Namespace),
            # Shapes come before numbers: 64x64xf32.
            (r"(?:(?:\d+|\?)x)+", token.Number.Integer),
            *[(any_of(names, suffix=r"\b"), kind) for names, kind in _KINDS],
            (r"-?(?:0x[\dA-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)", token.Number),
            (r"[A-Za-z_]\w*", token.Name),
            (r"\s+", token.Whitespace),
            (r".", token.Punctuation),
        ]
    }
