"""How far apart the tokens of an operation stand: as the printer spaces them (docs/printing.md).

The printer writes two spaces where a default is left out (`addf %a, %b  : tile<f32>`, `global  @g`), and hardly anyone
who writes by hand does; both are left as they are.
"""

from __future__ import annotations

import re

from tileir.dialect.ops import GLOBAL, PERMUTE, REDUCE, SCAN, UNREALIZED_CONVERSION_CAST
from tileir.ir.declaration import OperationDeclaration
from tileir.text.lexer import TOKEN
from tileir.text.types import DIALECT_TYPES

# Brackets of what is spelled by other dialects, or as one type: what stands in them is left alone.
_OPAQUE = "opaque <"
# Brackets of a location, where `"file":3:4` is written without blanks.
_LOCATION = "location ("
_OPENING = frozenset("([{<")
_CLOSING = frozenset(")]}>")
_TIGHT_WORDS = re.compile(r"'(\w+)' ~ '='")
_LOCATIONS = frozenset(("loc", "callsite", "fused"))
_BUILTIN_TYPES = frozenset(("tensor", "vector", "memref", "complex", "tuple", "array"))
# Operations with a directive of their own for all of their text, and the clauses that it prints without blanks.
_OWN_TIGHT_WORDS = {"print-arguments": frozenset(("token",)), "function": frozenset(("optimization_hints",))}

_tight_words: dict[str, frozenset[str]] = {}


def tight_words(declaration: OperationDeclaration | None) -> frozenset[str]:
    """The clauses of an operation that have no blanks around their `=`: `dim=0`, but `shape = [4]`."""
    if declaration is None:
        return frozenset()
    syntax = declaration.syntax
    found = _tight_words.get(syntax)
    if found is None:
        found = _tight_words[syntax] = _OWN_TIGHT_WORDS.get(syntax) or frozenset(_TIGHT_WORDS.findall(syntax))
    return found


class Spacing:
    """The gaps of one operation (or alias definition), told token by token from its first on."""

    __slots__ = ("_brackets", "_declaration", "_label", "_name", "_tight", "_tokens", "_wide")

    def __init__(
        self, tokens: list[str], name: int, declaration: OperationDeclaration | None, label: bool = False
    ) -> None:
        self._tokens = tokens
        # The token of the operation's name, before which its results are named.
        self._name = name
        self._declaration = declaration
        self._tight = tight_words(declaration)
        self._wide = declaration in (GLOBAL, UNREALIZED_CONVERSION_CAST) or _has_rounding(declaration)
        self._label = label
        self._brackets: list[str] = []

    def step(self, token: int) -> None:
        """Note a token that is not the brace of a region."""
        text = self._tokens[token]
        if text in _OPENING:
            before = self._tokens[token - 1] if token else ""
            inside_opaque = bool(self._brackets) and self._brackets[-1] is _OPAQUE
            named = before[:1] in ("#", "!") or before in _BUILTIN_TYPES
            if inside_opaque or (text == "<" and named):
                text = _OPAQUE
            elif text == "(" and before in _LOCATIONS:
                text = _LOCATION
            self._brackets.append(text)
        elif text in _CLOSING and self._brackets:
            self._brackets.pop()

    def gap(self, token: int, written: str) -> str:
        """What stands between a token and the one before it, which were `written` apart, on one line."""
        found = self._gap(token)
        if found is None or found == written:
            return written
        if not found and _grow_together(self._tokens[token - 1], self._tokens[token]):
            return written
        if found == " " and written == "  " and self._wide and not self._brackets:
            # Never where an operand follows.
            return written if self._tokens[token][:1] != "%" else found
        return found

    def _gap(self, token: int) -> str | None:
        before, after = self._tokens[token - 1], self._tokens[token]
        inside = self._brackets[-1] if self._brackets else ""
        if inside is _OPAQUE:
            return None
        if after in (",", ")", "]", ">", "::") or before in ("(", "[", "<", "::"):
            return ""
        if after == "}" or before == "{":
            return ""
        if before == ",":
            return " "
        if before == "-":
            return ""
        if "=" in (before, after):
            return self._around_equals(token if after == "=" else token - 1)
        if after == ":":
            return self._before_colon(token, inside)
        if before == ":":
            return "" if inside is _LOCATION or token < self._name else " "
        if after in _OPENING:
            return self._before_opening(before, after)
        return " "

    def _around_equals(self, equals: int) -> str:
        return "" if self._tokens[equals - 1] in self._tight and not self._brackets else " "

    def _before_colon(self, token: int, inside: str) -> str:
        before = self._tokens[token - 1]
        if inside is _LOCATION or token < self._name or (self._label and not inside):
            return ""
        if inside == "(":
            return "" if before[:1] == "%" else " "
        # `<i32: 4>`.
        return "" if inside == "<" and self._tokens[token - 2] == "<" else " "

    def _before_opening(self, before: str, after: str) -> str:
        first = before[:1]
        word = first.isalpha() or first == "_"
        if after == "{":
            return " "
        if after == "<":
            constant = before.rpartition(".")[2] == "constant" and not self._brackets
            return "" if first in ("#", "!") or (word and not constant) else " "
        # A type is one token, and is not called.
        if word and "<" in before:
            return " "
        if after == "(":
            return "" if (word and before != "in") or first in ('"', "@", "^") else " "
        if first == "%":
            return " " if self._declaration is PERMUTE else ""
        return "" if word or before in (">", ")") else " "


def breaks_before_arguments(declaration: OperationDeclaration | None) -> bool:
    """Whether the arguments of an operation's region have a line of their own, at its indentation."""
    return declaration is REDUCE or declaration is SCAN


def _grow_together(before: str, after: str) -> bool:
    """Whether two tokens would be others without a blank between them."""
    match = TOKEN.match(before + after)
    return match is None or match[1] != before or (before in DIALECT_TYPES and after == "<")


def _has_rounding(declaration: OperationDeclaration | None) -> bool:
    return declaration is not None and "rounding(" in declaration.syntax
