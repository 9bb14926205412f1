"""Reading aliases, `#name = ..` and `!name = ..`, and bounding what those of attributes stand for."""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.ir.attributes import Attribute
from tileir.ir.diagnostics import Code
from tileir.ir.versions import Version
from tileir.text.cursor import ALLOWANCE, MAXIMUM_GROWTH, SyntaxFailure
from tileir.text.types import TypeCursor

# Begins with a line end, which is found faster than the beginning of a line.
_ALIAS_DEFINITION: Final = re.compile(r"\n[ \t]*[#!][\w$.\-]+[ \t]*=")

# More tokens than any text has.
COUNTLESS: Final = 1 << 60

_OPENING: Final = frozenset("<([{")
_ENDING: Final = frozenset(">)]}")


def has_aliases(text: str) -> bool:
    """Whether a text defines aliases; most do not, and their tokens need not be searched."""
    return ("#" in text or "!" in text) and _ALIAS_DEFINITION.search("\n" + text) is not None


class AliasCursor(TypeCursor):
    """Adds aliases of attributes to the cursor.

    Aliases may be used before they are defined (MLIR prints location aliases at the end), so a first pass over the
    tokens notes where each definition stands, and `alias` reads it at the first use.
    """

    def __init__(self, text: str, name: str, version: Version, first_line: int = 1) -> None:
        super().__init__(text, name, version, first_line)
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
        if token in self.aliases:
            self.position = self.alias_ends[token]
        else:
            self.read_alias(token)

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
            # Those that wait for the broken one are broken as well: the next use need not look for it again.
            for waiting_name, _ in path[1:]:
                # Others on the path have not had their turn yet.
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
