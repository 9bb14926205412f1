"""The assembly format of an operation: its syntax line (`analyze/documentation/grammar.py`) as an automaton.

    addf %lhs, %rhs (rounding<ROUNDING_MODE>)? flush_to_zero? : type(%result)

Statements are matched with it: for each part of the line, the parts that may follow it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
class Piece:
    """A piece of a format: the parts that it may begin and end with, and those that it cannot be without.

    Of several choices `required` has the first.
    """

    first: list[int]
    last: list[int]
    required: list[Part]
    may_be_empty: bool = False
    is_list: bool = False


class OperationFormat:
    """The format of one operation.

    `line` is the whole statement without results.  `required` are the parts that no statement can be without.
    """

    def __init__(self, declaration: OperationDeclaration) -> None:
        self.declaration = declaration
        name = spelled(declaration)
        self.line = f"{name} {body(declaration)}".rstrip()
        self.parts: list[Part] = []
        # What is still to be read of the line.
        matches = list(_TOKEN.finditer(self.line, len(name)))
        self._tokens = [match[0] for match in matches]
        self._spans = [match.span() for match in matches]
        self._position = 0
        self._follow: list[list[int]] = []
        # By its first part, each clause that may be left out.
        self._clauses: dict[int, list[Part]] = {}
        whole = self._choice()
        self._first, self._last, self._may_be_empty = whole.first, whole.last, whole.may_be_empty
        self.required = whole.required

    def following(self, part: int) -> list[int]:
        """The parts that may come after one; -1 is the name of the operation."""
        return self._first if part < 0 else self._follow[part]

    def may_end(self, part: int) -> bool:
        return self._may_be_empty if part < 0 else part in self._last

    def clause(self, part: Part) -> list[Part]:
        """The parts of the optional clause that one begins, without those that may be left out; or only that one."""
        return self._clauses.get(part.index, [part])

    # --- reading the line ---

    def _peek(self, ahead: int = 0) -> str:
        position = self._position + ahead
        return self._tokens[position] if position < len(self._tokens) else ""

    def _choice(self) -> Piece:
        """sequence (`|` sequence)*"""
        found = self._sequence()
        while self._peek() == "|":
            self._position += 1
            other = self._sequence()
            may_be_empty = found.may_be_empty or other.may_be_empty
            found = Piece(found.first + other.first, found.last + other.last, found.required, may_be_empty)
        return found

    def _sequence(self) -> Piece:
        items: list[Piece] = []
        while self._peek() not in ("", ")", "|"):
            if self._peek() == "," and self._peek(1) == "...":
                before = self._tokens[max(self._position - 2, 0) : self._position]
                # A list of `%x: TYPE` or of `name = value` repeats the three together.
                count = 3 if "=" in before or before == [":", "TYPE"] else 1
                comma = self._part(WORD, ",")
                self._position += 1
                repeated = self._joined(items[-count:])
                self._follow_each(repeated.last, comma.first)
                self._follow_each(comma.first, repeated.first)
                opening = items[-count - 1].required if len(items) > count else []
                may_be_empty = repeated.may_be_empty or [part.name for part in opening] == ["["]
                items[-count:] = [replace(repeated, may_be_empty=may_be_empty, is_list=True)]
                continue
            item = self._item()
            if self._peek() == "?":
                self._position += 1
                if item.required and item.first == [item.required[0].index]:
                    self._clauses[item.first[0]] = item.required
                item = Piece(item.first, item.last, [], True)
            items.append(item)
        return self._joined(items)

    def _joined(self, items: list[Piece]) -> Piece:
        """Pieces one after the other."""
        if len(items) == 1:
            return items[0]
        found = Piece([], [], [part for item in items for part in item.required], True)
        for item in items:
            self._follow_each(found.last, item.first)
            found.first += item.first if found.may_be_empty else []
            found.last = found.last + item.last if item.may_be_empty else item.last
            found.may_be_empty = found.may_be_empty and item.may_be_empty
        return found

    def _follow_each(self, lasts: list[int], firsts: list[int]) -> None:
        for last in lasts:
            follow = self._follow[last]
            follow.extend([first for first in firsts if first not in follow])

    def _item(self) -> Piece:
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

    def _parentheses(self) -> Piece:
        """Parentheses that hold a choice or may be left out belong to the grammar, others to the text."""
        if self._is_grouping():
            self._position += 1
            inner = self._choice()
            self._position += 1
            return inner
        opening = self._part(WORD, "(")
        inner = self._choice()
        inner.may_be_empty = inner.may_be_empty or inner.is_list
        return self._joined([opening, inner, self._part(WORD, ")")])

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

    def _part(self, kind: str, name: str) -> Piece:
        start, end = self._spans[self._position]
        self._position += 1
        part = Part(len(self.parts), kind, name, start, end)
        declaration = self.declaration
        if kind in (VALUE, TYPE):
            declared = [each for each in (*declaration.operands, *declaration.results) if each.name == name]
            part.operand = declared[0] if declared else None
        elif kind == ATTRIBUTE:
            part.attribute = declaration.inherent.get(name)
            part.enumeration = enum_kind_of(part.attribute) if part.attribute is not None else None
        elif kind == WORD:
            earlier = sum(other.name == name and other.enumeration is not None for other in self.parts)
            part.enumeration, part.attribute = _keyword_of(declaration, name, earlier)
        self.parts.append(part)
        self._follow.append([])
        return Piece([part.index], [part.index], [part])


@cache
def format_of(declaration: OperationDeclaration) -> OperationFormat:
    return OperationFormat(declaration)


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
