"""A text laid out: one operation on a line, two spaces for each level, tokens as far apart as the printer has them.

What people wrote stays: names, aliases, comments, blank lines (one of several), and lines that they broke inside an
operation.  Only what stands between tokens changes, so the program is the same.  What the printer wrote does not
change.  No package beyond tileir is needed here: `tileir format` lays out files with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from tileir.dialect.ops import GLOBAL, PERMUTE, REDUCE, SCAN, UNREALIZED_CONVERSION_CAST
from tileir.ir.declaration import OperationDeclaration
from tileir.serve.language.document.scanner import CLOSING, CLOSING_OF, closing
from tileir.serve.language.document.tree import Edit, SyntaxTree, apply
from tileir.text.lexer import TOKEN
from tileir.text.types import DIALECT_TYPES

INDENTATION = "  "
# What continues an operation on another line stands this much further in.
CONTINUATION = "    "


def laid_out(text: str) -> str:
    """A whole text, laid out; unchanged where its brackets do not match."""
    return apply(text, layout_edits(SyntaxTree(text)))


def layout_edits(syntax: SyntaxTree) -> list[Edit]:
    """The changes that lay a text out, in order; each replaces what is between two tokens.

    A text whose brackets do not match stays as it is.
    """
    if not _match(syntax.tokens):
        return []
    edits = _Layout(syntax).edits()
    after = SyntaxTree(apply(syntax.text, edits))
    # In a text that is no program, operations may depend on lines: then a second layout would change it again.
    is_stable = after.tokens[: after.count] == syntax.tokens[: syntax.count] and not _Layout(after).edits()
    return edits if is_stable else []


def _match(tokens: list[str]) -> bool:
    opened: list[str] = []
    for token in tokens:
        if token in CLOSING_OF:
            opened.append(CLOSING_OF[token])
        elif token in (")", "]", "}", ">") and (not opened or opened.pop() != token):
            return False
    return not opened


class _Layout:
    def __init__(self, syntax: SyntaxTree) -> None:
        self._text = syntax.text
        self._tokens = syntax.tokens
        self._starts = syntax.starts
        self._newline = "\r\n" if "\r\n" in syntax.text else "\n"
        self._first = {operation.first: operation for operation in syntax.operations}
        regions = [region for operation in syntax.operations for region in operation.regions]
        self._opening = {region.opening for region in regions}
        self._closing = {region.closing for region in regions}
        self._labels = {label for region in [syntax.top, *regions] for label in region.labels}
        self._count = syntax.count
        # The operations and the label that are being laid out, outermost first.
        self._levels: list[Spacing] = []
        self._depth = 0

    def edits(self) -> list[Edit]:
        found: list[Edit] = []
        text, levels = self._text, self._levels
        end = 0
        for token in range(self._count):
            start = self._starts[token]
            written = text[end:start]
            while levels and token > levels[-1].last:
                levels.pop()
            expected = self._before(token, written)
            if expected != written:
                found.append(Edit(end, start, expected))
            end = start + len(self._tokens[token])
            if token in self._opening:
                self._depth += 1
            elif levels and token not in self._closing:
                levels[-1].step(token)
        written = text[end:]
        expected = (
            self._with_comments(written + "\n", "", "", not self._count) if self._count or "//" in written else ""
        )
        expected = expected.rstrip() + self._newline if self._count or expected else ""
        if expected != written:
            found.append(Edit(end, len(text), expected))
        return found

    def _before(self, token: int, written: str) -> str:
        """What stands before a token."""
        levels = self._levels
        if token in self._closing:
            self._depth -= 1
            return self._line(token, written, self._depth, inner=self._depth + 1)
        operation = self._first.get(token)
        if operation is not None:
            levels.append(Spacing(self._tokens, operation.name, operation.declaration, self._depth, operation.last))
            return self._line(token, written, self._depth)
        if token in self._labels:
            levels.append(Spacing(self._tokens, -1, None, self._depth, self._end_of_label(token), is_label=True))
            return self._line(token, written, max(self._depth - 1, 0))
        if token - 1 in self._opening:
            return self._line(token, written, self._depth)
        return self._inside(token, written)

    def _inside(self, token: int, written: str) -> str:
        """What stands before a token that continues an operation."""
        if not self._levels:
            # Tokens of no known operation stay as they are, but for blanks at the ends of lines.
            return self._line(token, written, self._depth) if "\n" in written or not token else written
        level = self._levels[-1]
        text = self._tokens[token]
        if "\n" not in written and "//" not in written:
            return level.gap(token, written)
        indentation = INDENTATION * level.depth
        if text == "(" and level.declaration in (REDUCE, SCAN):
            # The arguments of the region have a line of their own; the printer leaves a blank at its end.
            blank = " " if written[:1] == " " and written.lstrip(" ")[:1] in "\r\n" else ""
            return blank + self._with_comments(written.lstrip(" "), indentation, indentation)
        if "//" not in written and (token in self._opening or token - 1 in self._closing):
            # `{` stands after what it belongs to, and `else` after `}`.
            return level.gap(token, " ")
        closes = text in (")", "]", "}", ">")
        inner = indentation + CONTINUATION
        return self._with_comments(
            written, inner, indentation if closes else inner, blank_before=False, blank_behind=False
        )

    def _line(self, token: int, written: str, depth: int, inner: int = -1) -> str:
        """What stands before a token that begins a line; comments before it may stand at another depth."""
        if not token and "//" not in written:
            return ""
        indentation = INDENTATION * depth
        opens = not token or token - 1 in self._opening
        if "\n" not in written:
            written += "\n"
        comments = indentation if inner < 0 else INDENTATION * inner
        return self._with_comments(written, comments, indentation, not token, not opens, inner < 0)

    def _with_comments(
        self,
        written: str,
        indentation: str,
        last: str,
        begins: bool = False,
        blank_before: bool = True,
        blank_behind: bool = True,
    ) -> str:
        """Blanks, lines and comments between two tokens, with lines at an indentation, the last one at another.

        A comment after a token stays there, as far from it as it was.  One empty line of several is kept, unless it is
        the first or the last and does not belong there; `begins` is true if nothing stands before.
        """
        lines = written.split("\n")
        parts: list[str] = []
        first = lines[0].rstrip()
        if first and not begins:
            parts.append(first if first[:1] in " \t" else " " + first)
        elif first:
            parts.append(first.lstrip())
        empty = False
        commented = bool(first)
        for line in lines[1:-1]:
            content = line.strip()
            if not content:
                empty = True
                continue
            if parts or not begins:
                parts.append(self._newline)
                if empty and (blank_before or commented):
                    parts.append(self._newline)
            parts.append(indentation + content)
            empty = False
            commented = True
        if not parts and begins:
            return last
        parts.append(self._newline)
        if empty and blank_behind and (blank_before or commented):
            parts.append(self._newline)
        return "".join(parts) + last

    def _end_of_label(self, token: int) -> int:
        """The `:` after a label and its arguments."""
        end = closing(self._tokens, token + 1) if self._tokens[token + 1] == "(" else token + 1
        return end if self._tokens[end] == ":" else end - 1


# Brackets of what is spelled by other dialects, or as one type: what stands in them is left alone.
_OPAQUE = "opaque <"
# Brackets of a location, where `"file":3:4` is written without blanks.
_LOCATION = "location ("
_TIGHT_WORDS = re.compile(r"'(\w+)' ~ '='")
_LOCATIONS = frozenset(("loc", "callsite", "fused"))
_BUILTIN_TYPES = frozenset(("tensor", "vector", "memref", "complex", "tuple", "array"))
# Operations with a directive of their own for all of their text, and the clauses that it prints without blanks.
_OWN_TIGHT_WORDS = {"print-arguments": frozenset(("token",)), "function": frozenset(("optimization_hints",))}


@cache
def _tight_words(syntax: str) -> frozenset[str]:
    """The clauses of an operation that have no blanks around their `=`: `dim=0`, but `shape = [4]`."""
    return _OWN_TIGHT_WORDS.get(syntax) or frozenset(_TIGHT_WORDS.findall(syntax))


@dataclass
class Spacing:
    """The gaps of one operation (or alias definition, or label) up to its token `last`, at a depth.

    `name` is the token of the operation's name, before which its results are named.
    """

    tokens: list[str]
    name: int
    declaration: OperationDeclaration | None
    depth: int
    last: int
    is_label: bool = False
    brackets: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        syntax = self.declaration.syntax if self.declaration is not None else ""
        self._tight = _tight_words(syntax)
        self._wide = self.declaration in (GLOBAL, UNREALIZED_CONVERSION_CAST) or "rounding(" in syntax

    def step(self, token: int) -> None:
        """Note a token that is not the brace of a region."""
        text = self.tokens[token]
        if text in CLOSING_OF:
            before = self.tokens[token - 1] if token else ""
            inside_opaque = bool(self.brackets) and self.brackets[-1] is _OPAQUE
            named = before[:1] in ("#", "!") or before in _BUILTIN_TYPES
            if inside_opaque or (text == "<" and named):
                text = _OPAQUE
            elif text == "(" and before in _LOCATIONS:
                text = _LOCATION
            self.brackets.append(text)
        elif text in CLOSING and self.brackets:
            self.brackets.pop()

    def gap(self, token: int, written: str) -> str:
        """What stands between a token and the one before it, which were `written` apart, on one line."""
        found = self._gap(token)
        if found is None or found == written:
            return written
        if not found and _grow_together(self.tokens[token - 1], self.tokens[token]):
            return written
        if found == " " and written == "  " and self._wide and not self.brackets:
            # Never where an operand follows.
            return written if self.tokens[token][:1] != "%" else found
        return found

    def _gap(self, token: int) -> str | None:
        before, after = self.tokens[token - 1], self.tokens[token]
        inside = self.brackets[-1] if self.brackets else ""
        if inside is _OPAQUE:
            return None
        if after in (",", ")", "]", ">", "}", "::") or before in ("(", "[", "<", "{", "::", "-"):
            return ""
        if before == ",":
            return " "
        if "=" in (before, after):
            word = self.tokens[token - 1 - (before == "=" != after)]
            return "" if word in self._tight and not self.brackets else " "
        is_tight = inside is _LOCATION or token < self.name
        if after == ":":
            is_tight = is_tight or (self.is_label and not inside) or (inside == "(" and before[:1] == "%")
            # `<i32: 4>`.
            return "" if is_tight or (inside == "<" and self.tokens[token - 2] == "<") else " "
        if before == ":":
            return "" if is_tight else " "
        return self._before_opening(before, after) if after in CLOSING_OF else " "

    def _before_opening(self, before: str, after: str) -> str:
        first = before[:1]
        word = first.isalpha() or first == "_"
        if after == "{":
            return " "
        if after == "<":
            constant = before.rpartition(".")[2] == "constant" and not self.brackets
            return "" if first in ("#", "!") or (word and not constant) else " "
        # A type is one token, and is not called.
        if word and "<" in before:
            return " "
        if after == "(":
            return "" if (word and before != "in") or first in ('"', "@", "^") else " "
        if first == "%":
            return " " if self.declaration is PERMUTE else ""
        return "" if word or before in (">", ")") else " "


def _grow_together(before: str, after: str) -> bool:
    """Whether two tokens would be others without a blank between them."""
    match = TOKEN.match(before + after)
    return match is None or match[1] != before or (before in DIALECT_TYPES and after == "<")
