"""The form of an operation: its syntax line (`analyze/documentation/grammar.py`) as a structure.

    addf %lhs, %rhs (rounding<ROUNDING_MODE>)? flush_to_zero? : type(%result)

A form is a tree for those who write a statement (`snippets.py`), and an automaton for those who read one, finished or
not (`statement.py`): for each part of the line, the parts that may follow it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tileir.analyze.documentation.grammar import FEW, body, spelled
from tileir.dialect.enums import enum_kind_of
from tileir.ir.attributes import EnumKind
from tileir.ir.declaration import AttributeDeclaration, OperandDeclaration, OperationDeclaration

WORD: Final = "word"
VALUE: Final = "value"
TYPE: Final = "type"
ATTRIBUTE: Final = "attribute"
SYMBOL: Final = "symbol"
REGION: Final = "region"

_TOKEN: Final = re.compile(r"type\(%\w+\)|tile<\w+>|\.\.\.|->|[@%]?\w+|\S")
# Pieces of a form that are an attribute under another name.
_OTHER_NAMES: Final = {"ELEMENT": "", "NAME": "", "VALUE": "value", "INTEGER": ""}


class Part:
    """A leaf of a form: a word, or what stands for a value, a type, an attribute, a symbol or a region.

    `name` is the word itself, or the declared name of what it stands for.  `start` and `end` are its place in the line;
    `is_spaced` tells whether a blank is in front of it.
    """

    __slots__ = ("attribute", "end", "enumeration", "index", "is_spaced", "kind", "name", "operand", "start")

    def __init__(self, index: int, kind: str, name: str, start: int, end: int) -> None:
        self.index: int = index
        self.kind: str = kind
        self.name: str = name
        self.start: int = start
        self.end: int = end
        self.is_spaced: bool = False
        self.operand: OperandDeclaration | None = None
        self.attribute: AttributeDeclaration | None = None
        # The keywords it may be, where it is one of an enumeration.
        self.enumeration: EnumKind | None = None


class Sequence:
    """Items one after another."""

    def __init__(self, items: list[Node]) -> None:
        self.items = items


class Optional:
    """What may be left out."""

    def __init__(self, item: Node) -> None:
        self.item = item


class Choice:
    """One of several."""

    def __init__(self, items: list[Node]) -> None:
        self.items = items


class Repeated:
    """A list, separated by commas; `comma` is the one that repeats.  In brackets it may be empty."""

    def __init__(self, item: Node, comma: Part, may_be_empty: bool) -> None:
        self.item = item
        self.comma = comma
        self.may_be_empty = may_be_empty


Node = Part | Sequence | Optional | Choice | Repeated


class Form:
    """The form of one operation.  `line` is the whole statement without results; parts know their places in it."""

    def __init__(self, declaration: OperationDeclaration) -> None:
        self.declaration = declaration
        name = spelled(declaration)
        self.line = f"{name} {body(declaration)}".rstrip()
        self.parts: list[Part] = []
        reader = _Reader(declaration, self.line, len(name), self.parts)
        self.tree: Node = reader.read()
        self.follow: list[list[int]] = [[] for _ in self.parts]
        first, self.last, self.may_be_empty = self._connect(self.tree)
        self.first: list[int] = first

    def following(self, part: int) -> list[int]:
        """The parts that may come after one; -1 is the name of the operation."""
        return self.first if part < 0 else self.follow[part]

    def may_end(self, part: int) -> bool:
        return self.may_be_empty if part < 0 else part in self.last

    def _connect(self, node: Node) -> tuple[list[int], list[int], bool]:
        """The parts a node may begin and end with, and whether it may be empty; fills `follow`."""
        if isinstance(node, Part):
            return [node.index], [node.index], False
        if isinstance(node, Optional):
            first, last, _ = self._connect(node.item)
            return first, last, True
        if isinstance(node, Choice):
            parts = [self._connect(item) for item in node.items]
            return (
                [index for first, _, _ in parts for index in first],
                [index for _, last, _ in parts for index in last],
                any(empty for _, _, empty in parts),
            )
        if isinstance(node, Repeated):
            first, last, empty = self._connect(node.item)
            self._join(last, [node.comma.index])
            self._join([node.comma.index], first)
            return first, last, empty or node.may_be_empty
        firsts: list[int] = []
        lasts: list[int] = []
        all_empty = True
        for item in node.items:
            first, last, empty = self._connect(item)
            self._join(lasts, first)
            if all_empty:
                firsts = [*firsts, *first]
            lasts = [*lasts, *last] if empty else last
            all_empty = all_empty and empty
        return firsts, lasts, all_empty

    def _join(self, lasts: list[int], firsts: list[int]) -> None:
        for last in lasts:
            follow = self.follow[last]
            follow.extend([first for first in firsts if first not in follow])


@cache
def form_of(declaration: OperationDeclaration) -> Form:
    return Form(declaration)


class _Reader:
    """The line into a tree."""

    def __init__(self, declaration: OperationDeclaration, line: str, start: int, parts: list[Part]) -> None:
        self.declaration = declaration
        found = list(_TOKEN.finditer(line, start))
        self.tokens = [match[0] for match in found]
        self.places = [match.span() for match in found]
        self.position = 0
        self.parts = parts
        self.line = line
        # Whether a parenthesis of the grammar was just opened.
        self.is_grouped = False

    def read(self) -> Node:
        return self._choice()

    def _peek(self, ahead: int = 0) -> str:
        position = self.position + ahead
        return self.tokens[position] if position < len(self.tokens) else ""

    def _choice(self) -> Node:
        """sequence (`|` sequence)*"""
        items = [self._sequence()]
        while self._peek() == "|":
            self.position += 1
            items.append(self._sequence())
        return items[0] if len(items) == 1 else Choice(items)

    def _sequence(self) -> Node:
        items: list[Node] = []
        while self._peek() not in ("", ")", "|"):
            if self._peek() == "," and self._peek(1) == "...":
                before = self.tokens[max(self.position - 2, 0) : self.position]
                # A list of `%x: TYPE` or of `name = value` repeats the three together.
                count = 3 if "=" in before or before == [":", "TYPE"] else 1
                comma = self._part(WORD, ",")
                self.position += 1
                repeated = items[-1] if count == 1 else Sequence(items[-count:])
                before_it = items[-count - 1] if len(items) > count else None
                bracketed = isinstance(before_it, Part) and before_it.name == "["
                items[-count:] = [Repeated(repeated, comma, bracketed)]
                continue
            item = self._item()
            if self._peek() == "?":
                self.position += 1
                item = Optional(item)
            items.append(item)
        return items[0] if len(items) == 1 else Sequence(items)

    def _item(self) -> Node:
        token = self._peek()
        if token == "(":
            return self._parentheses()
        if token == "{" and self._peek(2) == "}":
            self.position += 1
            part = self._part(REGION, self._peek())
            self.position += 1
            return part
        if token.startswith("type("):
            return self._part(TYPE, token[len("type(%") : -1])
        if token.startswith("tile<"):
            return self._part(TYPE, "")
        if token.startswith("%"):
            return self._part(VALUE, token[1:])
        if token.startswith("@"):
            return self._part(SYMBOL, token[1:].lower())
        if token == "TYPE":
            return self._part(TYPE, "")
        if token.isupper() and len(token) > 1:
            return self._part(ATTRIBUTE, _OTHER_NAMES.get(token, token.lower()))
        return self._part(WORD, token)

    def _parentheses(self) -> Node:
        """Parentheses that hold a choice or may be left out belong to the grammar, others to the text."""
        if self._is_grouping():
            self.position += 1
            self.is_grouped = True
            inner = self._choice()
            self.position += 1
            return inner
        opening = self._part(WORD, "(")
        inner = self._choice()
        if isinstance(inner, Repeated):
            inner.may_be_empty = True
        closing = self._part(WORD, ")")
        return Sequence([opening, inner, closing])

    def _is_grouping(self) -> bool:
        depth = 0
        for position in range(self.position, len(self.tokens)):
            token = self.tokens[position]
            depth += (token == "(") - (token == ")")
            if depth == 1 and token == "|":
                return True
            if depth == 0:
                return self.tokens[position + 1 : position + 2] == ["?"]
        return False

    def _part(self, kind: str, name: str) -> Part:
        start, end = self.places[self.position]
        self.position += 1
        part = Part(len(self.parts), kind, name, start, end)
        before = self.line[:start].rstrip("(") if self.is_grouped else self.line[:start]
        part.is_spaced = before.endswith(" ")
        self.is_grouped = False
        self.parts.append(part)
        declaration = self.declaration
        if kind in (VALUE, TYPE):
            declared = [o for o in (*declaration.operands, *declaration.results) if o.name == name]
            part.operand = declared[0] if declared else None
        elif kind == ATTRIBUTE:
            part.attribute = declaration.inherent.get(name)
            part.enumeration = enum_kind_of(part.attribute) if part.attribute is not None else None
        elif kind == WORD:
            earlier = sum(other.name == name and other.enumeration is not None for other in self.parts)
            part.enumeration, part.attribute = _keyword_of(declaration, name, earlier)
        return part


def _keyword_of(
    declaration: OperationDeclaration, word: str, earlier: int
) -> tuple[EnumKind | None, AttributeDeclaration | None]:
    """Small enumerations are written out in the line, one after another; flags stand for themselves."""
    for declared in declaration.attributes:
        if declared.name == word:
            return None, declared
        kind = enum_kind_of(declared)
        if kind is not None and word in kind.values and len(kind.values) <= FEW:
            if not earlier:
                return kind, declared
            earlier -= 1
    return None, None
