"""The assembly format of an operation: its syntax line (`analyze/documentation/grammar.py`) as a tree and an automaton.

    addf %lhs, %rhs (rounding<ROUNDING_MODE>)? flush_to_zero? : type(%result)

Snippets write the tree.  Statements are matched with the automaton: for each part of the line, the parts that may
follow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
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
# Parts of a line that are an attribute under another name.
_OTHER_NAMES: Final = {"ELEMENT": "", "NAME": "", "VALUE": "value", "INTEGER": ""}


@dataclass(eq=False)
class Part:
    """A leaf of a format: a word, or what stands for a value, a type, an attribute, a symbol or a region.

    `name` is the word itself, or the declared name of what it stands for.  `start` and `end` are its characters in the
    line.  `enumeration` has the keywords that it may be.
    """

    index: int
    kind: str
    name: str
    start: int
    end: int
    operand: OperandDeclaration | None = None
    attribute: AttributeDeclaration | None = None
    enumeration: EnumKind | None = None


@dataclass
class Sequence:
    items: list[Node]


@dataclass
class Optional:
    item: Node


@dataclass
class Choice:
    items: list[Node]


@dataclass
class Repeated:
    """A list, separated by the part `comma`."""

    item: Node
    comma: Part
    may_be_empty: bool


Node = Part | Sequence | Optional | Choice | Repeated


class OperationFormat:
    """The format of one operation.  `line` is the whole statement without results."""

    def __init__(self, declaration: OperationDeclaration) -> None:
        self.declaration = declaration
        name = spelled(declaration)
        self.line = f"{name} {body(declaration)}".rstrip()
        self.parts: list[Part] = []
        self.tree: Node = _Reader(declaration, self.line, len(name), self.parts).choice()
        self._follow: list[list[int]] = [[] for _ in self.parts]
        self._first, self._last, self._may_be_empty = self._connect(self.tree)

    def following(self, part: int) -> list[int]:
        """The parts that may come after one; -1 is the name of the operation."""
        return self._first if part < 0 else self._follow[part]

    def may_end(self, part: int) -> bool:
        return self._may_be_empty if part < 0 else part in self._last

    def _connect(self, node: Node) -> tuple[list[int], list[int], bool]:
        """The parts a node may begin and end with, and whether it may be empty; fills `_follow`."""
        if isinstance(node, Part):
            return [node.index], [node.index], False
        if isinstance(node, Optional):
            return (*self._connect(node.item)[:2], True)
        if isinstance(node, Repeated):
            first, last, is_empty = self._connect(node.item)
            self._join(last, [node.comma.index])
            self._join([node.comma.index], first)
            return first, last, is_empty or node.may_be_empty
        if isinstance(node, Choice):
            found = [self._connect(item) for item in node.items]
            firsts = [index for first, _, _ in found for index in first]
            return firsts, [index for _, last, _ in found for index in last], any(empty for _, _, empty in found)
        firsts, all_empty = [], True
        lasts: list[int] = []
        for item in node.items:
            first, last, is_empty = self._connect(item)
            self._join(lasts, first)
            firsts = [*firsts, *first] if all_empty else firsts
            lasts = [*lasts, *last] if is_empty else last
            all_empty = all_empty and is_empty
        return firsts, lasts, all_empty

    def _join(self, lasts: list[int], firsts: list[int]) -> None:
        for last in lasts:
            follow = self._follow[last]
            follow.extend([first for first in firsts if first not in follow])


def required_parts(node: Node) -> Iterator[Part]:
    """The parts that cannot be left out, of several choices the first."""
    if isinstance(node, Part):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from required_parts(item)
    elif not isinstance(node, Optional):
        yield from required_parts(node.items[0] if isinstance(node, Choice) else node.item)


@cache
def format_of(declaration: OperationDeclaration) -> OperationFormat:
    return OperationFormat(declaration)


class _Reader:
    """Reads the line into a tree."""

    def __init__(self, declaration: OperationDeclaration, line: str, start: int, parts: list[Part]) -> None:
        self._declaration = declaration
        matches = list(_TOKEN.finditer(line, start))
        self._tokens = [match[0] for match in matches]
        self._spans = [match.span() for match in matches]
        self._position = 0
        self._parts = parts

    def _peek(self, ahead: int = 0) -> str:
        position = self._position + ahead
        return self._tokens[position] if position < len(self._tokens) else ""

    def choice(self) -> Node:
        """sequence (`|` sequence)*"""
        items = [self._sequence()]
        while self._peek() == "|":
            self._position += 1
            items.append(self._sequence())
        return items[0] if len(items) == 1 else Choice(items)

    def _sequence(self) -> Node:
        items: list[Node] = []
        while self._peek() not in ("", ")", "|"):
            if self._peek() == "," and self._peek(1) == "...":
                before = self._tokens[max(self._position - 2, 0) : self._position]
                # A list of `%x: TYPE` or of `name = value` repeats the three together.
                count = 3 if "=" in before or before == [":", "TYPE"] else 1
                comma = self._part(WORD, ",")
                self._position += 1
                repeated = items[-1] if count == 1 else Sequence(items[-count:])
                opening = items[-count - 1] if len(items) > count else None
                is_bracketed = isinstance(opening, Part) and opening.name == "["
                items[-count:] = [Repeated(repeated, comma, is_bracketed)]
                continue
            item = self._item()
            if self._peek() == "?":
                self._position += 1
                item = Optional(item)
            items.append(item)
        return items[0] if len(items) == 1 else Sequence(items)

    def _item(self) -> Node:
        token = self._peek()
        if token == "(":
            return self._parentheses()
        if token == "{" and self._peek(2) == "}":
            self._position += 1
            part = self._part(REGION, self._peek())
            self._position += 1
            return part
        if token.startswith("type("):
            return self._part(TYPE, token[len("type(%") : -1])
        if token.startswith("tile<") or token == "TYPE":
            return self._part(TYPE, "")
        if token.startswith("%"):
            return self._part(VALUE, token[1:])
        if token.startswith("@"):
            return self._part(SYMBOL, token[1:].lower())
        if token.isupper() and len(token) > 1:
            return self._part(ATTRIBUTE, _OTHER_NAMES.get(token, token.lower()))
        return self._part(WORD, token)

    def _parentheses(self) -> Node:
        """Parentheses that hold a choice or may be left out belong to the grammar, others to the text."""
        if self._is_grouping():
            self._position += 1
            inner = self.choice()
            self._position += 1
            return inner
        opening = self._part(WORD, "(")
        inner = self.choice()
        if isinstance(inner, Repeated):
            inner.may_be_empty = True
        return Sequence([opening, inner, self._part(WORD, ")")])

    def _is_grouping(self) -> bool:
        depth = 0
        for position in range(self._position, len(self._tokens)):
            token = self._tokens[position]
            depth += (token == "(") - (token == ")")
            if depth == 1 and token == "|":
                return True
            if depth == 0:
                return self._tokens[position + 1 : position + 2] == ["?"]
        return False

    def _part(self, kind: str, name: str) -> Part:
        start, end = self._spans[self._position]
        self._position += 1
        part = Part(len(self._parts), kind, name, start, end)
        declaration = self._declaration
        if kind in (VALUE, TYPE):
            declared = [each for each in (*declaration.operands, *declaration.results) if each.name == name]
            part.operand = declared[0] if declared else None
        elif kind == ATTRIBUTE:
            part.attribute = declaration.inherent.get(name)
            part.enumeration = enum_kind_of(part.attribute) if part.attribute is not None else None
        elif kind == WORD:
            earlier = sum(other.name == name and other.enumeration is not None for other in self._parts)
            part.enumeration, part.attribute = _keyword_of(declaration, name, earlier)
        self._parts.append(part)
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
