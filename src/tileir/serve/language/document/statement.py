"""Matches a statement, finished or not, with its operation's format: the part of each token, and what may come next.

The tokens behind the name of the operation are read with the automaton of the format.  Some parts take several tokens:
a bracket with its contents, a number with its sign.  An open bracket takes the rest.  A dictionary of further
attributes and a location may stand anywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import Type
from tileir.ir.versions import Version
from tileir.serve.language.document.document import Document
from tileir.serve.language.document.operation_format import REGION, SYMBOL, TYPE, VALUE, WORD, Part, format_of
from tileir.serve.language.document.scanner import CLOSING, CLOSING_OF, OperationNode, closing
from tileir.serve.language.document.tree import Name, SyntaxTree
from tileir.text.cursor import SyntaxFailure
from tileir.text.types import DIALECT_TYPES, TypeCursor

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w$.]*")
_TYPE_NAME: Final = re.compile(r"!?(?:cuda_tile\.)?[a-z]\w*")
_NO_PART: Final = -1


class Statement:
    """The tokens behind an operation's name, each with its part of the format.

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
        role = self._roles[token] if 0 <= token < len(self._roles) else _NO_PART
        return self.format.parts[role] if role >= 0 else None

    def values(self, name: str) -> list[int]:
        """The tokens that are values of a declared operand."""
        parts = enumerate(map(self.part, range(len(self.tokens))))
        return [token for token, part in parts if part is not None and (part.kind, part.name) == (VALUE, name)]

    def _first_way(self) -> list[int]:
        """The part of each token that was read, by the first way that leads there."""
        found = [_NO_PART] * len(self.tokens)
        position = self.read
        part = next(iter(self._states[position]), _NO_PART)
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
        """Where a part ends that begins here; `position` if it does not, and behind the end in an open bracket."""
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
        """The part that a token of the text belongs to."""
        index = bisect_left(self._indices, token)
        return self.part(index) if index < len(self._indices) and self._indices[index] == token else None

    def types(self, version: Version) -> dict[str, list[Type]]:
        """The types that the statement states, by the names of operands and results."""
        found: dict[str, list[Type]] = {}
        for index, token in enumerate(self.tokens):
            part = self.part(index)
            if part is not None and part.kind == TYPE and part.operand is not None:
                type = parsed_type(token, version)
                if type is not None:
                    found.setdefault(part.name, []).append(type)
        return found


# --- types ---


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
