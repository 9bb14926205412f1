"""The syntax tree of a text: its tokens, its operations and regions, and its names.  It exists for any text.

The rules for names are MLIR's.  A value is visible in its region after its definition, and in the regions inside it,
up to an operation that is isolated from above; sibling regions may use a name again.  A symbol belongs to the nearest
symbol table, a block to its region, an alias to the file.

`Edit` and `apply` change the text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from tileir.dialect.ops import FOR, GLOBAL
from tileir.forking import cached_property
from tileir.ir.traits import SYMBOL, SYMBOL_TABLE
from tileir.serve.language.document.scanner import OperationNode, RegionNode, first_token, rescan, scan
from tileir.text.edits import TokenChange, TokenText

VALUE = "value"
SYMBOL_KIND = "symbol"
BLOCK = "block"
ALIAS = "alias"
_KINDS = {"%": VALUE, "@": SYMBOL_KIND, "^": BLOCK}


@dataclass(slots=True, eq=False)
class Name:
    """Something that has a name.

    `definition` is the token that defines it, None if nothing does.  `uses` are the other tokens that mean it, also
    with a result number (`%x#1`); a second definition, which is an error, is a use too.  `scope` is the region that it
    belongs to, None for the file.  `operation` defines it: as a result, as an argument of a region, or as a symbol.
    """

    kind: str
    text: str
    scope: RegionNode | None
    definition: int | None = None
    operation: OperationNode | None = None
    uses: list[int] = field(default_factory=list)

    @property
    def tokens(self) -> list[int]:
        """All tokens that mean it, in the order of the text."""
        return sorted({*self.uses, *([] if self.definition is None else [self.definition])})


class Edit(NamedTuple):
    """A part of a text, from a character to another one, and what replaces it."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """A text after edits that are in order and do not overlap."""
    parts: list[str] = []
    place = 0
    for edit in edits:
        parts += [text[place : edit.start], edit.text]
        place = edit.end
    return "".join([*parts, text[place:]])


class SyntaxTree:
    """The tokens of a text, where each begins, and what they make up.

    It is that of the text until its next edit: `tokens` and `starts` are then those of the edited text.
    """

    def __init__(self, text: str, written: TokenText | None = None) -> None:
        self.written = written if written is not None else TokenText(text)
        self.text = text
        self.tokens: list[str] = self.written.tokens
        self.starts: list[int] = self.written.starts
        self.count: int = self.written.count
        """How many tokens there are; empty ones follow."""
        self._top: RegionNode | None = None

    @property
    def top(self) -> RegionNode:
        """The whole text as a region."""
        if self._top is None:
            self._top = scan(self.written)
        return self._top

    def take_over(self, before: SyntaxTree, change: TokenChange) -> None:
        """Take the operations of the text before an edit, whose tree is of no use then."""
        top, before._top = before._top, None
        if top is not None and rescan(top, self.written, change):
            self._top = top

    def end(self, token: int) -> int:
        """The offset after a token."""
        return self.starts[token] + len(self.tokens[token])

    def span(self, first: int, last: int | None = None) -> tuple[int, int]:
        """The characters of a token, or of the tokens up to another one."""
        return self.starts[first], self.end(first if last is None else last)

    def token_at(self, offset: int) -> int | None:
        """The token at an offset, or else the one that ends there."""
        index = bisect_right(self.starts, offset, 0, self.count) - 1
        return index if index >= 0 and offset <= self.end(index) else None

    def token_before(self, offset: int) -> int:
        """The last token that begins before an offset; -1 if there is none."""
        return bisect_left(self.starts, offset, 0, self.count) - 1

    def is_first_on_line(self, token: int) -> bool:
        return token == 0 or "\n" in self.text[self.end(token - 1) : self.starts[token]]

    def is_comment(self, offset: int) -> bool:
        before = self.token_before(offset + 1)
        start = self.end(before) if before >= 0 else 0
        line = self.text.rfind("\n", start, offset)
        return offset >= start and "//" in self.text[max(line, start) : offset]

    @cached_property
    def operations(self) -> list[OperationNode]:
        """All operations, in the order of the text."""
        return [each for operation in self.top.operations for each in operation.walk()]

    def operation_at(self, offset: int) -> OperationNode | None:
        """The innermost operation at an offset, or whose last token ends there."""
        token = self.token_at(offset)
        found = self.operation_of_token(self.token_before(offset) if token is None else token)
        around = found.outwards() if found is not None else ()
        return next((each for each in around if offset <= self.end(each.last)), None)

    def operation_of_token(self, token: int) -> OperationNode | None:
        region = self.region_before(token)
        index = bisect_right(region.operations, token, key=first_token) - 1
        found = region.operations[index] if index >= 0 and region.operations[index].last >= token else region.owner
        return found if found is not None and found.last >= token else None

    def region_before(self, token: int) -> RegionNode:
        """The innermost region before a token: where an operation written there would be."""
        return self.top.innermost(token, token)

    @cached_property
    def _names(self) -> Names:
        return Names(self.tokens, self.count, self.top)

    @property
    def names(self) -> list[Name]:
        """All names, in the order in which they first occur."""
        return self._names.all

    def name_at(self, token: int) -> Name | None:
        return self._names.by_token.get(token)

    @property
    def globals(self) -> list[str]:
        """The symbols of the globals.  This does not find all names of the text, as `visible_values` does not."""
        tables = [self.top]
        found: list[str] = []
        for table in tables:
            for operation in table.operations:
                if operation.is_symbol_table:
                    tables.extend(operation.regions)
                elif operation.declaration is GLOBAL:
                    defined = defined_by(self.tokens, operation)
                    found += [plain_name(kind, self.tokens[token]) for kind, token, _ in defined if kind == SYMBOL_KIND]
        return found

    def visible_values(self, token: int) -> Iterator[Name]:
        """The values that may be used at a token, without their uses: the nearest first, region by region.

        This does not find all names of the text, which takes a while in a long one.
        """
        inner: OperationNode | None = None
        for region in self.region_before(token).visible():
            seen: set[str] = set()
            before = reversed(region.operations[: bisect_left(region.operations, token, key=first_token)])
            whole = (each for each in before if each.last < token and each is not inner)
            arguments = [each for kind, each in block_definitions(self.tokens, region) if kind == VALUE]
            owner = region.owner
            if owner is not None and owner.regions[0] is region:
                arguments = [*arguments_of(self.tokens, owner), *arguments]
            results = ((result, each) for each in whole for result in reversed(each.results))
            for definition, definer in chain(results, ((each, owner) for each in reversed(arguments))):
                text = self.tokens[definition]
                if definition < token and text not in seen:
                    seen.add(text)
                    yield Name(VALUE, text, region, definition, definer)
            inner = owner


class Names:
    """All names of a text, in the order in which they first occur."""

    def __init__(self, tokens: list[str], count: int, top: RegionNode) -> None:
        self._tokens = tokens
        self.all: list[Name] = []
        self.by_token: dict[int, Name] = {}
        self._by_scope: dict[tuple[str, RegionNode | None, str], Name] = {}
        regions = [top]
        for region in regions:
            for kind, token in block_definitions(tokens, region):
                self._define(kind, token, region, region.owner)
            for operation in region.operations:
                for kind, token, scope in defined_by(tokens, operation):
                    self._define(kind, token, scope, operation)
                regions.extend(operation.regions)
        for region in regions:
            # Not what is in the regions of its operations.
            start = region.opening + 1
            for inner in [inner for operation in region.operations for inner in operation.regions]:
                self._use_tokens(region, start, inner.opening)
                start = inner.closing
            self._use_tokens(region, start, region.closing)
        for token in range(count):
            text = tokens[token]
            is_alias = text[:1] in ("#", "!") and len(text) > 1 and "." not in text and "<" not in text
            if is_alias and token not in self.by_token:
                name = self.by_token[token] = self._known(ALIAS, text, None)
                name.uses.append(token)
        for name in self.all:
            name.uses.sort()
        self.all.sort(key=lambda name: name.definition if name.definition is not None else name.uses[0])

    def _define(self, kind: str, token: int, scope: RegionNode | None, operation: OperationNode | None) -> None:
        key = (kind, scope, plain_name(kind, self._tokens[token]))
        known = self._by_scope.get(key)
        if known is None:
            known = self._by_scope[key] = Name(kind, key[2], scope, token, operation)
            self.all.append(known)
        else:
            known.uses.append(token)
        self.by_token[token] = known

    def _use_tokens(self, region: RegionNode, start: int, end: int) -> None:
        tokens = self._tokens
        for token in range(start, end):
            kind = _KINDS.get(tokens[token][:1])
            if kind is None or token in self.by_token:
                continue
            text = plain_name(kind, tokens[token])
            if kind == SYMBOL_KIND:
                name = self._symbol(token, text, region)
            else:
                name = self._visible(text, region) if kind == VALUE else self._known(BLOCK, text, region)
            if name is not None:
                name.uses.append(token)
                self.by_token[token] = name

    def _visible(self, text: str, region: RegionNode) -> Name:
        for outer in region.visible():
            found = self._by_scope.get((VALUE, outer, text))
            if found is not None:
                return found
        return self._known(VALUE, text, outer)

    def _known(self, kind: str, text: str, scope: RegionNode | None) -> Name:
        """The name in a scope; a new one without definition if there is none."""
        key = (kind, scope, text)
        found = self._by_scope.get(key)
        if found is None:
            found = self._by_scope[key] = Name(kind, text, scope)
            self.all.append(found)
        return found

    def _symbol(self, token: int, text: str, region: RegionNode) -> Name | None:
        """What `@name` refers to; after `::` a symbol of what precedes it."""
        if token < 2 or self._tokens[token - 1] != "::":
            return self._known(SYMBOL_KIND, text, symbol_table(region))
        outer = self.by_token.get(token - 2)
        inner = outer.operation.regions if outer is not None and outer.operation is not None else []
        found = [self._by_scope.get((SYMBOL_KIND, each, text)) for each in inner]
        return next((name for name in found if name is not None), None)


def block_definitions(tokens: list[str], region: RegionNode) -> Iterator[tuple[str, int]]:
    """The block labels of a region and their arguments: kinds and tokens."""
    for label in region.labels:
        yield BLOCK, label
        token = label + 2
        if tokens[label + 1] == "(":
            while tokens[token] not in (")", "", "{", "}"):
                if tokens[token][:1] == "%" and tokens[token + 1] == ":":
                    yield VALUE, token
                token += 1


def defined_by(tokens: list[str], operation: OperationNode) -> Iterator[tuple[str, int, RegionNode | None]]:
    """What an operation defines outside of its regions: kinds, tokens and scopes."""
    for result in operation.results:
        yield VALUE, result, operation.region
    if operation.name < 0:
        if tokens[operation.first][:1] in ("#", "!") and tokens[operation.first + 1] == "=":
            yield ALIAS, operation.first, None
        return
    if operation.declaration is not None and operation.declaration.traits & (SYMBOL | SYMBOL_TABLE):
        symbol = _symbol_of(tokens, operation)
        if symbol is not None:
            yield SYMBOL_KIND, symbol, symbol_table(operation.region)
    for argument in arguments_of(tokens, operation):
        yield VALUE, argument, operation.regions[0]


def arguments_of(tokens: list[str], operation: OperationNode) -> Iterator[int]:
    """The arguments before the first region of a custom form: `(%a: type`, `for %i in`, `iter_values(%a = %b`."""
    if not operation.regions or operation.name < 0 or tokens[operation.name][:1] == '"':
        return
    depth = 0
    for token in range(operation.name + 1, operation.head_end):
        text = tokens[token]
        if text == "(":
            depth += 1
        elif text == ")":
            depth -= 1
        elif text[:1] == "%":
            following = tokens[token + 1]
            if (operation.declaration is FOR and following == "in") or (depth and following in (":", "=")):
                yield token


def _symbol_of(tokens: list[str], operation: OperationNode) -> int | None:
    """The first `@name` of the head, or `sym_name = "name"` outside of the regions of the generic form."""
    is_generic = tokens[operation.name][:1] == '"'
    inside = [range(region.opening, region.closing) for region in operation.regions]
    for token in range(operation.name + 1, operation.last + 1 if is_generic else operation.head_end):
        text = tokens[token]
        if text[:1] == "@" or (text[:1] == '"' and tokens[token - 2 : token] == ["sym_name", "="]):
            if not any(token in region for region in inside):
                return token
    return None


def symbol_table(region: RegionNode) -> RegionNode:
    """The region that holds the symbols that can be used in a region."""
    while region.owner is not None and not region.owner.is_symbol_table:
        region = region.owner.region
    return region


def plain_name(kind: str, token: str) -> str:
    if kind == VALUE:
        return token.partition("#")[0]
    if kind == SYMBOL_KIND:
        return "@" + token.lstrip("@").strip('"')
    return token


def is_subsequence(letters: str, text: str) -> bool:
    """Whether the letters occur in this order, as editors filter what they offer."""
    rest = iter(text.lower())
    return all(letter in rest for letter in letters.lower())
