"""The syntax tree of a text: its tokens, its operations and regions, and its names.  It exists for any text.

`Edit` and `apply` change the text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tileir.dialect.ops import GLOBAL
from tileir.serve.language.document.names import (
    SYMBOL_KIND,
    VALUE,
    Name,
    Names,
    arguments_of,
    block_definitions,
    defined_by,
    plain_name,
)
from tileir.serve.language.document.scanner import OperationNode, RegionNode, first_token, rescan, scan
from tileir.text.edits import TokenChange, TokenText


class Edit(NamedTuple):
    """A piece of a text, from a character to another one, and what replaces it."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """A text after edits that are in order and do not overlap."""
    pieces: list[str] = []
    place = 0
    for edit in edits:
        pieces += [text[place : edit.start], edit.text]
        place = edit.end
    return "".join([*pieces, text[place:]])


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
        self._operations: list[OperationNode] | None = None
        self._names: Names | None = None

    @property
    def top(self) -> RegionNode:
        """The whole text as a region."""
        if self._top is None:
            self._top = scan(self.written)
        return self._top

    def take_over(self, before: SyntaxTree, change: TokenChange) -> None:
        """Take the operations of the text before an edit, whose tree is of no use then."""
        top, before._top, before._operations = before._top, None, None
        if top is not None and rescan(top, self.written, change):
            self._top = top

    # --- tokens ---

    def end(self, token: int) -> int:
        """The offset behind a token."""
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
        """Whether an offset is in a comment."""
        before = self.token_before(offset + 1)
        start = self.end(before) if before >= 0 else 0
        line = self.text.rfind("\n", start, offset)
        return offset >= start and "//" in self.text[max(line, start) : offset]

    # --- operations ---

    @property
    def operations(self) -> list[OperationNode]:
        """All operations, in the order of the text."""
        if self._operations is None:
            self._operations = [each for operation in self.top.operations for each in operation.walk()]
        return self._operations

    def operation_at(self, offset: int) -> OperationNode | None:
        """The innermost operation at an offset, or whose last token ends there."""
        token = self.token_at(offset)
        found = self.operation_of_token(self.token_before(offset) if token is None else token)
        while found is not None and offset > self.end(found.last):
            found = found.parent
        return found

    def operation_of_token(self, token: int) -> OperationNode | None:
        """The innermost operation that a token belongs to."""
        found: OperationNode | None = None
        region: RegionNode | None = self.top
        while region is not None:
            index = bisect_right(region.operations, token, key=first_token) - 1
            if index < 0 or region.operations[index].last < token:
                break
            found = region.operations[index]
            region = next((each for each in found.regions if each.opening < token < each.closing), None)
        return found

    def region_at(self, offset: int) -> RegionNode:
        """The innermost region at an offset: where an operation written there would be."""
        token = self.token_before(offset)
        region = self.top
        while token >= 0:
            index = bisect_right(region.operations, token, key=first_token) - 1
            if index < 0:
                break
            inner = [each for each in region.operations[index].regions if each.opening <= token]
            inner = [each for each in inner if token < each.closing or offset <= self.starts[each.closing]]
            if not inner:
                break
            region = inner[-1]
        return region

    # --- names ---

    @property
    def _all_names(self) -> Names:
        if self._names is None:
            self._names = Names(self.tokens, self.count, self.top)
        return self._names

    @property
    def names(self) -> list[Name]:
        """All names, in the order in which they first occur."""
        return self._all_names.all

    def name_at(self, token: int) -> Name | None:
        """What a token names or refers to."""
        return self._all_names.by_token.get(token)

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
        for region, operation in self._regions_around(token):
            seen: set[str] = set()
            own = operation.results if operation is not None else []
            for definition, definer in self._definitions(region, token):
                text = self.tokens[definition]
                if definition < token and definition not in own and text not in seen:
                    seen.add(text)
                    yield Name(VALUE, text, region, definition, definer)

    def _definitions(self, region: RegionNode, token: int) -> Iterator[tuple[int, OperationNode | None]]:
        """What operations that begin before a token, and arguments, define in a region, the last one first."""
        for index in range(bisect_left(region.operations, token, key=first_token) - 1, -1, -1):
            for result in reversed(region.operations[index].results):
                yield result, region.operations[index]
        arguments = [each for kind, each in block_definitions(self.tokens, region) if kind == VALUE]
        owner = region.owner
        if owner is not None and owner.regions[0] is region:
            arguments = [*arguments_of(self.tokens, owner), *arguments]
        for argument in reversed(arguments):
            yield argument, owner

    def _regions_around(self, token: int) -> Iterator[tuple[RegionNode, OperationNode | None]]:
        """The regions whose values can be used at a token, each with its operation that holds the token."""
        operation = self.operation_of_token(token)
        region = self.region_at(self.starts[token]) if operation is None else operation.region
        for inner in operation.regions if operation is not None else ():
            if inner.opening < token <= inner.closing:
                region = inner
        while True:
            yield region, operation
            owner = region.owner
            if owner is None or owner.is_isolated:
                return
            operation, region = owner, owner.region
