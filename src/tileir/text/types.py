"""Reading types, and aliases: `#name = ..` and `!name = ..`.

A dialect type is one token and is looked up whole; `TypeText` reads only a new spelling, character by character, so
that an error is reported where it is.
"""

from __future__ import annotations

import re

from tileir.annotations import Callable, Final
from tileir.ir.attributes import Attribute
from tileir.ir.diagnostics import Code, Diagnostic, note
from tileir.ir.interning import forget_with
from tileir.ir.location import CharacterLocation
from tileir.ir.types import IntegerType, Type, function_type, opaque_type
from tileir.ir.versions import Version
from tileir.text.cursor import ALLOWANCE, MAXIMUM_GROWTH, Cursor, SyntaxFailure
from tileir.text.dialect_types import WORD, TypeText, builtin_type, draft_element_type
from tileir.text.lexer import TYPES_WITH_PARAMETERS

DIALECT_TYPES: Final = frozenset([*TYPES_WITH_PARAMETERS, "token"])

# How far a type with unmatched brackets is read to find the error.
_LONGEST_TYPE: Final = 4096

# How many characters the function types of any text may have together, as in bytecode.
_SPELLING_ALLOWANCE: Final = 1 << 23

# Spellings already read, per dialect version: palettes differ between versions.
_KNOWN: Final[dict[Version, dict[str, Type]]] = {}


def _forget_spellings() -> None:
    for known in list(_KNOWN.values()):
        known.clear()


forget_with(_forget_spellings)


# Begins with a line end, which is found faster than the beginning of a line.
_ALIAS_DEFINITION: Final = re.compile(r"\n[ \t]*[#!][\w$.\-]+[ \t]*=")

# More tokens than any text has.
COUNTLESS: Final = 1 << 60

_OPENING: Final = frozenset("<([{")
_ENDING: Final = frozenset(">)]}")


def has_aliases(text: str) -> bool:
    """Whether a text defines aliases; most do not, and their tokens need not be searched."""
    return (_has_word(text, "#") or _has_word(text, "!")) and _ALIAS_DEFINITION.search("\n" + text) is not None


def _has_word(text: str, first: str) -> bool:
    """Whether a character stands at the beginning of a text, or after a blank."""
    position = text.find(first)
    while position > 0 and text[position - 1] not in " \t\n":
        position = text.find(first, position + 1)
    return position >= 0


class _OpenFunction:
    """A function type being read: its inputs, or its inputs and some of its results."""

    def __init__(self) -> None:
        self.inputs: list[Type] = []
        self.has_inputs: bool = False
        self.types: list[Type] = []


class TypeCursor(Cursor):
    """Adds types, and aliases of types and attributes, to the cursor.

    Aliases may be used before they are defined (MLIR prints location aliases at the end), so a first pass over the
    tokens notes where each definition stands, and `alias` reads it at the first use.
    """

    def __init__(self, text: str, name: str, version: Version, first_line: int = 1) -> None:
        super().__init__(text, name, version, first_line)
        self.known_types: dict[str, Type] = _KNOWN.setdefault(version, {})
        self.type_aliases: dict[str, Type] = {}
        self.type_growth: int = 0
        self.aliases: dict[str, Attribute] = {}
        self.alias_positions: dict[str, int] = {}
        self.open_aliases: set[str] = set()
        # How many tokens each alias stands for.
        self.alias_costs: dict[str, int] = {}
        # Where the definitions end that were read at a use before them.
        self.alias_ends: dict[str, int] = {}
        # Why a definition could not be read.
        self.broken_aliases: dict[str, SyntaxFailure] = {}
        # Positive while a location is read.
        self.locating: int = 0

    def parse_type(self) -> Type:
        """type ::= dialect-type | builtin-type | function-type | type-alias"""
        token = self.tokens[self.position]
        found = self.known_types.get(token)
        if found is not None:
            self.position += 1
            return found
        return self._parse_new_type(token)

    def _parse_new_type(self, token: str) -> Type:
        start = self.position
        if token == "(":
            return self.parse_function_type()
        name = token.lstrip("!")
        if name.startswith("cuda_tile."):
            name = name[len("cuda_tile.") :]
        word = WORD.match(name)
        if word is not None and self._is_dialect_type(word.group()):
            if "<" in token or word.group() in ("token", "string"):
                self.position += 1
                parser = TypeText(self, token, start)
                found = parser.parse_whole()
                # A draft spelling is not remembered, so that each use of it is remarked upon.
                if not parser.has_draft_spelling:
                    self.known_types[token] = found
                return found
            self.position += 1
            if self.peek() == "<":
                # Not one token, so its brackets do not match: read on to find where.
                offset = self.source.token_offset(start)
                TypeText(self, self.source.text[offset : offset + _LONGEST_TYPE], start).parse_type()
            self.fail("expected '<'", code=Code("expected-token", token="<"))
        if token[:1] == "!":
            alias = self.type_aliases.get(token)
            if alias is not None:
                self.position += 1
                return alias
            if token.startswith("!cuda_tile."):
                # The two blanks are MLIR's.
                self.fail(f"unknown  type `{name}` in dialect `cuda_tile`", code=Code("unknown-type", name=name))
            if "." not in token:
                self.fail(f"undefined symbol alias id '{name}'", code=Code("undefined-alias", name=name))
            return self._parse_opaque_type()
        builtin = builtin_type(token) if token else None
        if builtin is not None:
            self.position += 1
            self.known_types[token] = builtin
            return builtin
        element = draft_element_type(self, token, start)
        if element is not None:
            self.position += 1
            return element
        if token in ("tensor", "vector", "memref", "complex", "tuple") and self.tokens[self.position + 1] == "<":
            return self._parse_opaque_type()
        message = f"unknown type: {token}" if self.is_identifier() else "expected valid keyword"
        code = Code("unknown-type", name=token) if self.is_identifier() else None
        failure = Diagnostic("error", message, self.location(self.position), None, code)
        gap = self.gap()
        # NVIDIA's words alone would send the reader to a line that has nothing wrong with it.
        if self.recover and (isinstance(gap, CharacterLocation) or not self.is_identifier()):
            failure.notes.append(note("a type is missing here", gap))
        raise SyntaxFailure(failure, True)

    def _is_dialect_type(self, name: str) -> bool:
        return name in DIALECT_TYPES or (name == "string" and self.draft_spellings)

    def parse_function_type(self) -> Type:
        """function-type ::= `(` types? `)` `->` (type | `(` types? `)`)"""
        # An explicit stack, because function types may nest deeply.
        path: list[_OpenFunction] = []
        while True:
            if not path or self.peek() == "(":
                self.expect("(")
                path.append(_OpenFunction())
                if self.peek() != ")":
                    continue
            else:
                path[-1].types.append(self.parse_type())
            # After a type, or in a list without any: end as many function types as end here.
            while True:
                top = path[-1]
                if top.types and self.accept(","):
                    break
                self.expect(")")
                if not top.has_inputs:
                    top.has_inputs = True
                    top.inputs, top.types = top.types, []
                    self.expect("->")
                    if self.accept("("):
                        if self.peek() != ")":
                            break
                        continue
                    top.types.append(self.parse_type())
                path.pop()
                found = self._function_of(top.inputs, top.types)
                if not path:
                    return found
                path[-1].types.append(found)

    def _function_of(self, inputs: list[Type], results: list[Type]) -> Type:
        # A function type spells its parts out: nesting and aliases let a short text have types of unbounded length.
        self.type_growth += sum([len(type.text) for type in inputs]) + sum([len(type.text) for type in results])
        if self.type_growth > MAXIMUM_GROWTH * len(self.source.text) + _SPELLING_ALLOWANCE:
            self.fail("function types are too long with their parts and aliases written out")
        return function_type(tuple(inputs), tuple(results))

    def parse_type_list_in_parentheses(self) -> list[Type]:
        types: list[Type] = []
        self.parse_items("(", ")", lambda: types.append(self.parse_type()))
        return types

    def parse_items(self, opening: str, closing: str, parse_item: Callable[[], None]) -> None:
        """opening (item (`,` item)*)? closing"""
        self.expect(opening)
        if self.accept(closing):
            return
        parse_item()
        while self.accept(","):
            parse_item()
        self.expect(closing)

    def parse_type_list(self) -> list[Type]:
        """types ::= type (`,` type)*"""
        types = [self.parse_type()]
        while self.tokens[self.position] == ",":
            self.position += 1
            types.append(self.parse_type())
        return types

    def _parse_opaque_type(self) -> Type:
        """A type of another dialect: carried as it is written."""
        start = self.position
        self.position += 1
        if self.peek() == "<":
            self.skip_balanced()
        return opaque_type(self.written(start))

    def written(self, start: int) -> str:
        """The text from a token to the current one: comments dropped, one blank where there were any."""
        parts: list[str] = []
        end = self.source.token_offset(start)
        for position in range(start, self.position):
            offset = self.source.token_offset(position)
            if offset > end:
                parts.append(" ")
            parts.append(self.tokens[position])
            end = offset + len(self.tokens[position])
        return "".join(parts)

    def skip_balanced(self) -> None:
        """Step over text in brackets that is kept as it is."""
        closing: list[str] = []
        pairs = {"<": ">", "(": ")", "[": "]", "{": "}"}
        while True:
            token = self.tokens[self.position]
            if token == "":
                self.fail("unbalanced brackets")
            if token in pairs:
                closing.append(pairs[token])
            elif closing and token == closing[-1]:
                closing.pop()
            elif token in (">", ")", "]", "}"):
                if closing:
                    self.fail(f"expected '{closing[-1]}'", code=Code("expected-token", token=closing[-1]))
                self.fail("unbalanced brackets")
            self.position += 1
            if not closing:
                return

    def parse_checked_integer(self, type: Type) -> int:
        start = self.position
        return self.checked_integer(type, self.parse_integer(), start)

    def checked_integer(self, type: Type, value: int, token: int) -> int:
        """An integer that fits its type, read as signed; i1 is 0 or 1."""
        if not isinstance(type, IntegerType):
            return value
        width = type.width
        if not -(1 << (width - 1)) <= value < 1 << width:
            self.fail("integer constant out of range for attribute", token)
        if width == 1:
            return value & 1
        return value - (1 << width) if value >= 1 << (width - 1) else value

    def parse_integer_list(self) -> list[int]:
        """`[` (integer (`,` integer)*)? `]`"""
        values: list[int] = []
        self.parse_items("[", "]", lambda: values.append(self.parse_integer()))
        return values

    def collect_aliases(self) -> None:
        """Note where `#name = ...` and `!name = ...` stand, so that a use may come first."""
        tokens = self.tokens
        if not has_aliases(self.source.text):
            return
        # A sentinel, so that `index` always finds one.
        tokens.append("=")
        end = len(tokens) - 1
        index = tokens.index("=")
        while index < end:
            token = tokens[index - 1] if index else ""
            if token[:1] in ("#", "!") and "." not in token and "<" not in token and self._starts_line(index - 1):
                self.alias_positions.setdefault(token, index + 1)
            index = tokens.index("=", index + 1)
        tokens.pop()

    def _starts_line(self, index: int) -> bool:
        """A definition follows the end of something, never an `=`, `,` or bracket that would make it a use."""
        return index == 0 or self.tokens[index - 1] not in ("=", ",", "(", "[", "<", "{", ":", "in", "at")

    def parse_alias_definition(self) -> None:
        """alias-definition ::= (`#` | `!`) name `=` (attribute | type)"""
        token = self.tokens[self.position]
        start = self.position
        self.position += 2
        if token[0] == "!":
            if token in self.type_aliases:
                self.fail(f"redefinition of type alias id '{token[1:]}'", start)
            self.type_aliases[token] = self.parse_type()
            return
        if self.alias_positions.get(token, self.position) != self.position:
            self.fail(f"redefinition of attribute alias id '{token[1:]}'", start)
        if token not in self.aliases:
            self.read_alias(token)
        elif token in self.alias_positions:
            self.position = self.alias_ends[token]
        else:
            # Not at the start of a line, so a redefinition: its end is not that of the first.
            self.parse_attribute()

    def parse_attribute(self) -> Attribute:
        """Attributes are read one layer further up (`text/attributes.py`)."""
        raise TypeError(type(self).__name__)

    def alias(self, name: str, use: int) -> Attribute:
        """The attribute an alias stands for, read now if its definition comes later."""
        found = self.aliases.get(name)
        if found is None:
            found = self._read_alias_of(name, use)
        tokens = self.alias_costs[name]
        self.expansion = min(self.expansion + tokens, COUNTLESS)
        # Locations share their parts and are printed with aliases again; anywhere else they are written out.
        if not self.locating and tokens > MAXIMUM_GROWTH * len(self.tokens) + ALLOWANCE:
            self.fail(f"alias '{name[1:]}' is too long with the aliases in it written out", use)
        return found

    def _read_alias_of(self, name: str, use: int) -> Attribute:
        """Read the definition of an alias, and first of those it uses: they may stand in any order, and be many."""
        back = self.position
        outer_locating = self.locating
        path = [(name, use)]
        visited: set[str] = set()
        try:
            while True:
                top, token = path[-1]
                where = self.alias_positions.get(top)
                if where is None:
                    code = Code("undefined-alias", name=top[1:])
                    self.fail(f"undefined symbol alias id '{top[1:]}'", token, code)
                if top in self.broken_aliases:
                    raise self.broken_aliases[top]
                if top not in visited:
                    if top in self.open_aliases:
                        self.fail(f"alias '{top[1:]}' refers to itself", token)
                    visited.add(top)
                    self.open_aliases.add(top)
                    waiting = [part for part in self._aliases_in(where) if part[0] not in visited]
                    if waiting:
                        path.extend(waiting)
                        continue
                path.pop()
                if top in self.aliases:
                    continue
                self.position = where
                self.locating = 0
                # Aliases beyond the tokens that `_aliases_in` searched are read in the middle of this.
                self.enter()
                found = self.read_alias(top)
                self.leave()
                self.open_aliases.discard(top)
                if not path:
                    return found
        except SyntaxFailure as failure:
            # Aliases that use the broken one are broken as well: the next use need not read it again.
            for waiting_name, _ in path[1:]:
                # Others on the path have not been read yet.
                if waiting_name in visited:
                    self.broken_aliases[waiting_name] = failure
            raise
        finally:
            # An error in the definition ends the operation that uses it: parsing goes on there.
            self.open_aliases -= visited
            self.position = back
            self.locating = outer_locating

    def _aliases_in(self, start: int) -> list[tuple[str, int]]:
        """The aliases that a definition uses and that are not read yet, the last first, with their tokens."""
        found: list[tuple[str, int]] = []
        depth = 0
        position = start
        while position < len(self.tokens):
            token = self.tokens[position]
            if token[:1] == "#" and token in self.alias_positions and token not in self.aliases:
                found.append((token, position))
            position += 1
            if token in _OPENING:
                depth += 1
            elif token in _ENDING:
                depth -= 1
            if depth <= 0 and (position >= len(self.tokens) or self.tokens[position] not in _OPENING):
                break
        found.reverse()
        return found

    def read_alias(self, name: str) -> Attribute:
        """Read the definition of an alias and what it costs to write it out."""
        start = self.position
        outer_expansion = self.expansion
        self.expansion = 0
        # An alias for an alias writes nothing out.
        another = self.tokens[start] in self.alias_positions
        self.locating += another
        found = self.parse_attribute()
        self.locating -= another
        tokens = self.expansion + self.position - start
        if not self.is_shared(found) and tokens > MAXIMUM_GROWTH * len(self.tokens) + ALLOWANCE:
            self.fail(f"alias '{name[1:]}' is too long with the aliases in it written out", start)
        self.alias_costs[name] = min(tokens, COUNTLESS)
        self.expansion = outer_expansion
        self.aliases[name] = found
        self.alias_ends[name] = self.position
        return found

    def is_shared(self, attribute: Attribute) -> bool:
        """Whether an attribute is printed with aliases for its parts (`text/locations.py` knows)."""
        return False
