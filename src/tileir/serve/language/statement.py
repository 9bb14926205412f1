"""Which part of its operation's form each token of a statement is, and what may come next: also of half a statement.

The tokens behind the name of the operation are read with the automaton of its form (`forms.py`).  Some parts take
several tokens: a bracket with all that is in it, a number with its sign.  A bracket that is not closed takes the rest.
A dictionary of further attributes and a location may stand anywhere, as far as this module is concerned.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from tileir.ir.declaration import OperationDeclaration
from tileir.serve.language.forms import REGION, SYMBOL, TYPE, VALUE, WORD, Form, Part, form_of
from tileir.serve.language.structure import Structure, WrittenOperation

_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w$.]*")
_TYPE: Final = re.compile(r"!?(?:cuda_tile\.)?[a-z]\w*")
# What `statement.roles` has for tokens that belong to no part.
NO_PART: Final = -1


class Statement:
    """The tokens behind an operation's name, each with its part of the form.

    `roles` has the number of a part for each token, up to `read`, where the form was left.  `expected` are the parts
    that may follow the last token that was read; `may_end` tells whether the statement may end there.
    """

    def __init__(self, declaration: OperationDeclaration, tokens: list[str]) -> None:
        self.form: Form = form_of(declaration)
        self.tokens = tokens
        reached = _Automaton(self.form, tokens)
        self.read: int = reached.furthest
        self.roles: list[int] = reached.roles()
        states = reached.states[self.read]
        follow = [part for state in states for part in self.form.following(state)]
        self.expected: list[Part] = [self.form.parts[index] for index in dict.fromkeys(follow)]
        self.may_end: bool = any(self.form.may_end(state) for state in states)
        self.is_complete: bool = self.read == len(tokens)
        # The part whose bracket is open at the end, if there is one, and the dictionary of attributes.
        self.inside: Part | None = reached.inside
        self.inside_dictionary: bool = reached.inside_dictionary

    def part(self, token: int) -> Part | None:
        """The part that a token is (a piece of)."""
        role = self.roles[token] if 0 <= token < len(self.roles) else NO_PART
        return self.form.parts[role] if role >= 0 else None

    def values(self, name: str) -> list[int]:
        """The tokens that are values of a declared operand."""
        parts = self.form.parts
        return [
            token
            for token, role in enumerate(self.roles)
            if role >= 0 and parts[role].kind == VALUE and parts[role].name == name
        ]


class ReadStatement(Statement):
    """A statement of a text: `places` are the tokens of the text that it was read from, regions left out."""

    def __init__(self, syntax: Structure, written: WrittenOperation, end: int | None = None) -> None:
        assert written.declaration is not None
        self.places: list[int] = _places(written, written.last + 1 if end is None else end)
        super().__init__(written.declaration, [syntax.tokens[place] for place in self.places])

    def part_of(self, token: int) -> Part | None:
        """The part that a token of the text is."""
        index = bisect_left(self.places, token)
        return self.part(index) if index < len(self.places) and self.places[index] == token else None


def _places(written: WrittenOperation, end: int) -> list[int]:
    """The tokens of an operation behind its name, before `end`, without what is in its regions."""
    places: list[int] = []
    start = written.name + 1
    for region in written.regions:
        places.extend(range(start, min(region.opening + 1, end)))
        start = max(start, region.closing)
    places.extend(range(start, end))
    return places


class _Automaton:
    """All ways to read the tokens: for each place, the last part read there, and where and after what it began."""

    def __init__(self, form: Form, tokens: list[str]) -> None:
        self.form = form
        self.tokens = tokens
        self.states: list[dict[int, tuple[int, int]]] = [{} for _ in range(len(tokens) + 1)]
        self.states[0][-1] = (0, -1)
        self.inside: Part | None = None
        self.inside_dictionary = False
        self.furthest = 0
        for position in range(len(tokens)):
            if self.states[position]:
                self._advance(position)

    def _advance(self, position: int) -> None:
        form = self.form
        for state in self.states[position]:
            for follower in form.following(state):
                part = form.parts[follower]
                end = self._end(part, position)
                if end > position:
                    self._reach(end, follower, position, state)
        token = self.tokens[position]
        if token == "{" and not any(
            form.parts[follower].kind == REGION for state in self.states[position] for follower in form.following(state)
        ):
            end = closing(self.tokens, position)
            if end > len(self.tokens):
                self.inside_dictionary = True
            self._skip(position, min(end, len(self.tokens)))
        elif token == "loc" and self.tokens[position + 1 : position + 2] == ["("]:
            self._skip(position, min(closing(self.tokens, position + 1), len(self.tokens)))

    def _skip(self, position: int, end: int) -> None:
        """Go on behind tokens that are no part of the form."""
        for state, (start, before) in self.states[position].items():
            self.states[end].setdefault(state, (start, before))
        self.furthest = max(self.furthest, end)

    def _reach(self, end: int, part: int, start: int, before: int) -> None:
        if end > len(self.tokens):
            # The bracket is open: the place is inside of it.
            end = len(self.tokens)
            self.inside = self.form.parts[part]
        self.states[end].setdefault(part, (start, before))
        self.furthest = max(self.furthest, end)

    def _end(self, part: Part, position: int) -> int:
        """Where a part ends that begins here; `position` if it does not, and behind the end in an open bracket."""
        token = self.tokens[position]
        kind = part.kind
        if kind == WORD:
            return position + (token == part.name)
        if kind == VALUE:
            return position + (token[:1] == "%")
        if kind == SYMBOL:
            return position + (token[:1] == "@")
        if kind == REGION:
            return closing(self.tokens, position) if token == "{" else position
        if kind == TYPE:
            return self._type_end(position)
        if part.enumeration is not None:
            return position + (_IDENTIFIER.fullmatch(token) is not None)
        return self._attribute_end(part, position)

    def _type_end(self, position: int) -> int:
        token = self.tokens[position]
        if token == "(" or "<" in token:
            return closing(self.tokens, position) if token == "(" else position + 1
        if not _TYPE.fullmatch(token):
            return position
        return self._bracketed(position + 1)

    def _attribute_end(self, part: Part, position: int) -> int:
        """One literal: a sign belongs to its number, a bracket to what is in it and to the word in front of it."""
        tokens = self.tokens
        if part.attribute is not None and part.attribute.constraint.kind == "hints":
            return _hints_end(tokens, position)
        token = tokens[position]
        if token in ("-", "+"):
            return position + 2
        if token in _CLOSING:
            return closing(tokens, position)
        if token in (")", "]", "}", ">", ",", ":", "=", "->") or token[:1] == "%":
            return position
        return self._bracketed(position + 1) if token[:1].isalpha() or token[:1] == "#" else position + 1

    def _bracketed(self, position: int) -> int:
        if self.tokens[position : position + 1] == ["<"]:
            return closing(self.tokens, position)
        return position

    def roles(self) -> list[int]:
        """The part of each token up to the furthest place, of the first way that leads there."""
        found = [NO_PART] * len(self.tokens)
        position = self.furthest
        if not self.states[position]:
            return found
        part = next(iter(self.states[position]))
        while part >= 0:
            start, before = self.states[position][part]
            end = position
            for token in range(start, end):
                found[token] = part
            position, part = start, before
        return found


def closing(tokens: list[str], position: int) -> int:
    """The place behind the bracket that closes the one here; behind the end of the tokens if there is none."""
    depth = 0
    for index in range(position, len(tokens)):
        token = tokens[index]
        if token in _CLOSING:
            depth += 1
        elif token in (")", "]", "}", ">"):
            depth -= 1
            if depth <= 0:
                return index + 1
    return len(tokens) + 1


def _hints_end(tokens: list[str], position: int) -> int:
    """All up to the bracket that closes the hints."""
    depth = 0
    for index in range(position, len(tokens)):
        token = tokens[index]
        if token in _CLOSING:
            depth += 1
        elif token in (")", "]", "}", ">"):
            if depth == 0:
                return index
            depth -= 1
    return len(tokens) + 1
