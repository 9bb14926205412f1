"""The assembly format of an operation, and statements, finished or not, matched with it.

    addf %lhs, %rhs (rounding<ROUNDING_MODE>)? flush_to_zero? : type(%result)

The format is the syntax line (`analyze/documentation/grammar.py`) as an automaton: for each part of the line, the parts
that may follow it.  It reads the tokens after the name of an operation.  Some parts take several tokens: a bracket
with its contents, a number with its sign.  An open bracket takes the rest.  A dictionary of further attributes and a
location may stand anywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from tileir.analyze.documentation.grammar import FEW, body, spelled
from tileir.dialect.enums import enum_kind_of
from tileir.ir.attributes import EnumKind
from tileir.ir.declaration import AttributeDeclaration, OperandDeclaration, OperationDeclaration
from tileir.ir.types import Type
from tileir.ir.versions import Version
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.scanner import CLOSING, CLOSING_OF, OperationNode, closing
from tileir.serve.language.document.tree import Name, SyntaxTree
from tileir.text.cursor import SyntaxFailure
from tileir.text.types import DIALECT_TYPES, TypeCursor

WORD: Final = "word"
VALUE: Final = "value"
TYPE: Final = "type"
ATTRIBUTE: Final = "attribute"
SYMBOL: Final = "symbol"
REGION: Final = "region"

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w$.]*")
_TYPE_NAME: Final = re.compile(r"!?(?:cuda_tile\.)?[a-z]\w*")
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
class FormatPart:
    """A part of a format: the parts that it may begin and end with, and those that it cannot be without.

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

    def _peek(self, ahead: int = 0) -> str:
        position = self._position + ahead
        return self._tokens[position] if position < len(self._tokens) else ""

    def _choice(self) -> FormatPart:
        """sequence (`|` sequence)*"""
        found = self._sequence()
        while self._peek() == "|":
            self._position += 1
            other = self._sequence()
            may_be_empty = found.may_be_empty or other.may_be_empty
            found = FormatPart(found.first + other.first, found.last + other.last, found.required, may_be_empty)
        return found

    def _sequence(self) -> FormatPart:
        items: list[FormatPart] = []
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
                item = FormatPart(item.first, item.last, [], True)
            items.append(item)
        return self._joined(items)

    def _joined(self, items: list[FormatPart]) -> FormatPart:
        if len(items) == 1:
            return items[0]
        found = FormatPart([], [], [part for item in items for part in item.required], True)
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

    def _item(self) -> FormatPart:
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

    def _parentheses(self) -> FormatPart:
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

    def _part(self, kind: str, name: str) -> FormatPart:
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
        return FormatPart([part.index], [part.index], [part])


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


class Statement:
    """The tokens after an operation's name, each with its part of the format.

    `read` is how many tokens match the format.  `expected` are the parts that may follow them; `may_end` is whether the
    statement may end there.  `inside` is the part whose bracket is open at the end, if there is one.
    """

    def __init__(self, declaration: OperationDeclaration, tokens: list[str]) -> None:
        self.format = format_of(declaration)
        self.tokens = tokens
        self.inside: Part | None = None
        self.inside_dictionary = False
        self.read = 0
        # For each token, the parts that end before it, with where each began and the part before it.
        self._states: list[dict[int, tuple[int, int]]] = [{} for _ in range(len(tokens) + 1)]
        self._states[0][-1] = (0, -1)
        for position in range(len(tokens)):
            if self._states[position]:
                self._advance(position)
        states = self._states[self.read]
        follow = [part for state in states for part in self.format.following(state)]
        self.expected: list[Part] = [self.format.parts[index] for index in dict.fromkeys(follow)]
        self.may_end: bool = any(self.format.may_end(state) for state in states)
        self.is_complete: bool = self.read == len(tokens)
        self._roles = self._first_way()

    def part(self, token: int) -> Part | None:
        """The part that a token belongs to."""
        role = self._roles[token] if 0 <= token < len(self._roles) else -1
        return self.format.parts[role] if role >= 0 else None

    def values(self, name: str) -> list[str]:
        """The tokens that are values of a declared operand."""
        return [token for token, part in self.pairs() if (part.kind, part.name) == (VALUE, name)]

    def pairs(self) -> Iterator[tuple[str, Part]]:
        """The tokens that have a part, with it."""
        for token, role in zip(self.tokens, self._roles, strict=True):
            if role >= 0:
                yield token, self.format.parts[role]

    def _first_way(self) -> list[int]:
        """The part of each token that was read, by the first way that leads there."""
        found = [-1] * len(self.tokens)
        position = self.read
        part = next(iter(self._states[position]), -1)
        while part >= 0:
            start, before = self._states[position][part]
            found[start:position] = [part] * (position - start)
            position, part = start, before
        return found

    def _advance(self, position: int) -> None:
        """Read all parts that may begin at a token."""
        followers = [(state, part) for state in self._states[position] for part in self.format.following(state)]
        for state, follower in followers:
            part = self.format.parts[follower]
            end = self._end(part, position)
            if end > len(self.tokens):
                self.inside = part
            if end > position:
                self._reach(min(end, len(self.tokens)), follower, position, state)
        token = self.tokens[position]
        if token == "{" and not any(self.format.parts[part].kind == REGION for _, part in followers):
            end = closing(self.tokens, position)
            self.inside_dictionary = self.inside_dictionary or end > len(self.tokens)
        elif token == "loc" and self.tokens[position + 1 : position + 2] == ["("]:
            end = closing(self.tokens, position + 1)
        else:
            return
        for state, (start, before) in self._states[position].items():
            self._reach(min(end, len(self.tokens)), state, start, before)

    def _reach(self, end: int, part: int, start: int, before: int) -> None:
        self._states[end].setdefault(part, (start, before))
        self.read = max(self.read, end)

    def _end(self, part: Part, position: int) -> int:
        """Where a part ends that begins here; `position` if it does not, and after the end in an open bracket."""
        token = self.tokens[position]
        if part.kind == WORD:
            return position + (token == part.name)
        if part.kind == VALUE:
            return position + (token[:1] == "%")
        if part.kind == SYMBOL:
            return position + (token[:1] == "@")
        if part.kind == REGION:
            return closing(self.tokens, position) if token == "{" else position
        if part.kind == TYPE:
            if token == "(":
                return closing(self.tokens, position)
            is_name = "<" not in token and _TYPE_NAME.fullmatch(token) is not None
            return self._bracketed(position + 1) if is_name else position + ("<" in token)
        if part.enumeration is not None:
            return position + (_IDENTIFIER.fullmatch(token) is not None)
        return self._attribute_end(part, position)

    def _attribute_end(self, part: Part, position: int) -> int:
        """One literal: a sign belongs to its number, a bracket to its contents and to the word before it."""
        token = self.tokens[position]
        if part.attribute is not None and part.attribute.constraint.kind == "hints":
            # All up to the bracket that closes the hints.
            end = closing(self.tokens, position, 1)
            return end - 1 if end <= len(self.tokens) else end
        if token in ("-", "+"):
            return position + 2
        if token in CLOSING_OF:
            return closing(self.tokens, position)
        if token in CLOSING or token in (",", ":", "=", "->") or token[:1] == "%":
            return position
        return self._bracketed(position + 1) if token[:1].isalpha() or token[:1] == "#" else position + 1

    def _bracketed(self, position: int) -> int:
        return closing(self.tokens, position) if self.tokens[position : position + 1] == ["<"] else position


class NodeStatement(Statement):
    """The statement of a node; the tokens in its regions are left out."""

    def __init__(self, syntax: SyntaxTree, node: OperationNode, end: int | None = None) -> None:
        assert node.declaration is not None
        end = node.last + 1 if end is None else end
        self._indices: list[int] = []
        start = node.name + 1
        for region in node.regions:
            self._indices.extend(range(start, min(region.opening + 1, end)))
            start = max(start, region.closing)
        self._indices.extend(range(start, end))
        super().__init__(node.declaration, [syntax.tokens[index] for index in self._indices])

    def part_of(self, token: int) -> Part | None:
        index = bisect_left(self._indices, token)
        return self.part(index) if index < len(self._indices) and self._indices[index] == token else None

    def types(self, version: Version) -> dict[str, list[Type]]:
        """The types that the statement states, by the names of operands and results."""
        found: dict[str, list[Type]] = {}
        for token, part in self.pairs():
            type = parsed_type(token, version) if part.kind == TYPE and part.operand is not None else None
            if type is not None:
                found.setdefault(part.name, []).append(type)
        return found


def type_at(document: Document, token: int) -> Type | None:
    """The type that a token is; None if it is none, or a wrong one."""
    tokens = document.syntax.tokens
    name = tokens[token].removeprefix("!").removeprefix("cuda_tile.").partition("<")[0].strip()
    is_type = name in DIALECT_TYPES or re.fullmatch(r"token|i\d+|b?f\d+|tf32|f\d\w+|fnv8\w+", name) is not None
    if not is_type or (tokens[token] == "token" and tokens[token + 1] == "="):
        return None
    return parsed_type(tokens[token], document.settings.version)


def parsed_type(text: str, version: Version) -> Type | None:
    try:
        cursor = TypeCursor(text, "-", version)
        type = cursor.parse_type()
        return type if cursor.at_end() else None
    except SyntaxFailure:
        return None


def type_of(document: Document, name: Name) -> Type | None:
    """The type of a value: as it was read, or else as the text that defines it states."""
    return document.analysis.type_of(name) or _stated_type(document, name)


def _stated_type(document: Document, name: Name) -> Type | None:
    node, definition, syntax = name.operation, name.definition, document.syntax
    if node is None or definition is None or node.declaration is None or node.name < 0:
        return None
    if definition not in node.results:
        is_stated = syntax.tokens[definition + 1] == ":"
        return parsed_type(syntax.tokens[definition + 2], document.settings.version) if is_stated else None
    results = node.declaration.results
    number = node.results.index(definition)
    if number >= len(results):
        return None
    # A result without a type of its own has that of an operand.
    result = results[number].name
    group = next((group for group in node.declaration.same_types if result in group), (result,))
    stated = NodeStatement(syntax, node).types(document.settings.version)
    types = [type for each, types in stated.items() if each in group for type in types]
    return types[0] if types else node.declaration.fixed_types.get(result)
