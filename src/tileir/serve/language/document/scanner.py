"""The operations and regions of a text, found from its tokens alone.

A text is broken most of the time while it is typed, so the scanner never fails: what does not begin an operation
belongs to the one before it.  After an edit `rescan` scans the operations around it and moves the others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from tileir.dialect.ops import BUILTIN_MODULE, ENTRY
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ISOLATED, SYMBOL_TABLE
from tileir.text.edits import TokenChange, TokenText

CLOSING_OF = {"(": ")", "[": "]", "{": "}", "<": ">"}
CLOSING = frozenset(CLOSING_OF.values())
_OPENING_OF = {closing: opening for opening, closing in CLOSING_OF.items()}
# Keywords that continue an operation on another line, besides those that an `=` follows.
_CONTINUING = frozenset(
    ["else", "loc", "attributes", "iter_values", "to", "step", "in", "at", "weak", "relaxed", "acquire", "release"]
)
# The scanner's lookahead: tokens that it reads before it decides what a token is.
_AHEAD = 3


@dataclass(slots=True, eq=False)
class RegionNode:
    """A region: the text between two braces, or the whole text.

    `opening` and `closing` are the tokens of the braces; without a closing brace, `closing` is the token after the
    last one.  `labels` are the tokens of its block labels.
    """

    opening: int
    owner: OperationNode | None
    closing: int = -1
    operations: list[OperationNode] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)

    def visible(self) -> Iterator[RegionNode]:
        """The regions whose values can be used in this one: itself, then those around it."""
        region = self
        yield region
        while region.owner is not None and not region.owner.is_isolated:
            region = region.owner.region
            yield region

    def innermost(self, first: int, last: int) -> RegionNode:
        """The innermost region in this one that holds the tokens from one on to before another."""
        region = self
        while index := bisect_left(region.operations, first, key=first_token):
            inside = [each for each in region.operations[index - 1].regions if each.opening < first]
            if not inside or inside[-1].closing < last:
                break
            region = inside[-1]
        return region


@dataclass(slots=True, eq=False)
class OperationNode:
    """An operation: the tokens from `first` to `last`, its name at `name` (-1 if it has none).

    `results` are the tokens that name its results.
    """

    first: int
    last: int
    name: int
    results: list[int]
    region: RegionNode
    declaration: OperationDeclaration | None = None
    regions: list[RegionNode] = field(default_factory=list)

    @property
    def parent(self) -> OperationNode | None:
        return self.region.owner

    def outwards(self) -> Iterator[OperationNode]:
        """This operation, then those around it."""
        operation: OperationNode | None = self
        while operation is not None:
            yield operation
            operation = operation.region.owner

    @property
    def functions(self) -> list[OperationNode]:
        """The functions around it, and itself if it is one, the innermost first."""
        return [each for each in self.outwards() if each.declaration is ENTRY]

    @property
    def head_end(self) -> int:
        """The token after the head: the brace of the first region, or the token after the operation."""
        return self.regions[0].opening if self.regions else self.last + 1

    @property
    def is_isolated(self) -> bool:
        """Whether names from around it are not visible in it."""
        return self.declaration is not None and bool(self.declaration.traits & ISOLATED)

    @property
    def is_symbol_table(self) -> bool:
        return self.declaration is not None and bool(self.declaration.traits & SYMBOL_TABLE)

    def walk(self) -> Iterator[OperationNode]:
        """This operation and all in it, in the order of the text."""
        pending = [self]
        while pending:
            operation = pending.pop()
            yield operation
            for region in reversed(operation.regions):
                pending.extend(reversed(region.operations))


first_token: Final = attrgetter("first")
_last_token: Final = attrgetter("last")


def declaration_named(name: str, nested: bool = True) -> OperationDeclaration | None:
    """The declaration that the name of an operation means, quoted or not; None if there is none."""
    if name[:1] == '"':
        found = REGISTRY.by_name.get(name.strip('"'))
    elif "." in name:
        found = REGISTRY.by_name.get(name)
    elif name == "module" and not nested:
        found = BUILTIN_MODULE
    else:
        found = REGISTRY.by_name.get(f"cuda_tile.{name}") or REGISTRY.by_name.get(f"builtin.{name}")
    return None if found is None or found.testing else found


def is_word(token: str) -> bool:
    return token[:1].isalpha() or token[:1] == "_"


def closing(tokens: list[str], position: int, depth: int = 0) -> int:
    """The index after the bracket that closes the one here, or an earlier one; after the end if there is none."""
    for index in range(position, len(tokens)):
        token = tokens[index]
        if token in CLOSING_OF:
            depth += 1
        elif token in CLOSING:
            depth -= 1
            if depth <= 0:
                return index + 1
    return len(tokens) + 1


def scan(text: TokenText) -> RegionNode:
    scanner = _Scanner(text)
    top = scanner.region
    scanner.run(0)
    scanner.close_regions(top)
    top.closing = text.count
    return top


class _Scanner:
    """Goes through the tokens once."""

    def __init__(self, text: TokenText) -> None:
        self.text = text.text
        self.tokens = text.tokens
        self.starts = text.starts
        self.count = text.count
        self.region = RegionNode(-1, None)
        self.operation: OperationNode | None = None
        # The brackets that the current operation has opened and not closed, and those of the operations around it.
        self.brackets: list[str] = []
        self.outer: list[list[str]] = []
        self.is_over = False

    def run(self, position: int) -> None:
        """Scan from a token to the end of the text, or until it is over."""
        tokens = self.tokens
        while position < self.count:
            token = tokens[position]
            first = token[0]
            following = position + 1
            if first == "%":
                following = self._results(position) or following
            elif first == "}":
                self._close(position)
            elif first in "([<{" and len(token) == 1:
                self._open(position)
            elif first in ")]>" and len(token) == 1:
                self._close_bracket(token)
            elif first == "^":
                following = self._label(position)
            elif first in "#!" and tokens[position + 1] == "=" and "." not in token and not self.brackets:
                self.begin(position, -1, [])
            elif first.isalpha() or first == "_" or first == '"':
                if self._begins(position, token):
                    self.begin(position, position, [])
            if self.is_over:
                return
            position = following
            if self.operation is not None:
                self.operation.last = position - 1

    def close_regions(self, top: RegionNode) -> None:
        """End the regions whose closing brace is missing."""
        while self.region is not top:
            self.end_region(self.count)

    def _is_first_on_line(self, token: int) -> bool:
        before = token - 1
        return token == 0 or "\n" in self.text[self.starts[before] + len(self.tokens[before]) : self.starts[token]]

    def _results(self, position: int) -> int:
        """Begin an operation that names its results here; the token after what was read, or 0 if there is none."""
        tokens = self.tokens
        results = [position]
        end = position + 1
        while True:
            if tokens[end] == ":" and tokens[end + 1].isdigit():
                end += 2
            if tokens[end] != "," or tokens[end + 1][:1] != "%":
                break
            results.append(end + 1)
            end += 2
        if tokens[end] != "=":
            is_alone = not self.brackets and self._is_first_on_line(position) and tokens[position - 1] != ","
            if is_alone and (self.operation is None or self.operation.name >= 0) and not self._continues(position):
                # Names of results, and nothing else yet.
                self.begin(position, -1, results)
                return end
            return 0
        if len(results) > 1 and self._is_first_on_line(results[-1]) and not self._is_first_on_line(position):
            # `addf %a,` with nothing after it yet, before a line that begins an operation.
            return 0
        name = end + 1
        if self.brackets and (tokens[name][:1] == "%" or not self._is_first_on_line(position)):
            # `iter_values(%a = %b` is no operation.  One that begins a line is, also after an open bracket.
            return 0
        is_named = tokens[name][:1] == '"' or is_word(tokens[name])
        self.begin(position, name if is_named else -1, results)
        return name + 1 if is_named else name

    def _continues(self, position: int) -> bool:
        """Whether the token before a value needs one: `addf` alone in its line, `=`, `token =`."""
        if position and self.tokens[position - 1] in ("=", "->", "(", ":"):
            return True
        return self.operation is not None and self.operation.name == position - 1

    def _begins(self, position: int, token: str) -> bool:
        """Whether a word or a string is the name of an operation."""
        if self.operation is None:
            return True
        if token[0] == '"':
            known = self.tokens[position + 1] == "(" and not self.brackets
        else:
            known = declaration_named(token) is not None
        if self._is_first_on_line(position):
            if known:
                return self.tokens[position - 1] not in ("=", ",", "<") and self.tokens[position + 1] not in ("=", ",")
            if self.brackets or token[0] == '"' or token in _CONTINUING or self.tokens[position + 1] == "=":
                return False
            return "<" not in token and self._may_end(position - 1)
        return known and not self.brackets and self._may_end(position - 1)

    def _may_end(self, token: int) -> bool:
        text = self.tokens[token]
        return text in ("}", ")", "]", ">", "token") or "<" in text[1:] or text[:1] == "!"

    def begin(self, first: int, name: int, results: list[int]) -> None:
        declaration = declaration_named(self.tokens[name], self.region.owner is not None) if name >= 0 else None
        operation = OperationNode(first, first, name, results, self.region, declaration)
        self.region.operations.append(operation)
        self.operation = operation
        self.brackets = []

    def _label(self, position: int) -> int:
        """A block label with its arguments, or a reference to a block; the token after it."""
        if self.brackets:
            return position + 1
        tokens = self.tokens
        self.region.labels.append(position)
        self.operation = None
        end = position + 1
        if tokens[end] == "(":
            depth = 0
            while end < self.count:
                depth += (tokens[end] == "(") - (tokens[end] == ")")
                end += 1
                if not depth or tokens[end] in ("{", "}"):
                    break
        return end + 1 if tokens[end] == ":" else end

    def _open(self, position: int) -> None:
        token = self.tokens[position]
        if token != "{" or not self._opens_region(position):
            self.brackets.append(token)
            return
        if self.operation is None:
            self.begin(position, -1, [])
            if self.is_over:
                return
        assert self.operation is not None
        region = RegionNode(position, self.operation)
        self.operation.regions.append(region)
        self.outer.append(self.brackets)
        self.brackets = []
        self.region = region
        self.operation = None

    def _opens_region(self, position: int) -> bool:
        """Whether a brace opens a region, not a dictionary."""
        tokens = self.tokens
        before, behind, beyond = tokens[position - 1] if position else "", tokens[position + 1], tokens[position + 2]
        operation = self.operation
        if operation is None:
            return True
        if before in ("attributes", "="):
            return False
        if operation.name >= 0 and tokens[operation.name][:1] == '"':
            return before in ("(", ",") and self.brackets == ["("]
        if self.brackets:
            return False
        if operation.declaration is not None:
            if operation.regions:
                return before == "else"
            # Attributes may precede a region: `{name = ..` or `{name}`.
            is_named = behind[:1] == '"' or is_word(behind)
            is_listed = beyond in (",", "}") and declaration_named(behind) is None
            return bool(operation.declaration.regions) and not (is_named and (beyond == "=" or is_listed))
        if behind[:1] in ("%", "^"):
            return True
        return beyond not in ("=", ",", "}") or declaration_named(behind) is not None

    def _close_bracket(self, token: str) -> None:
        opening = _OPENING_OF[token]
        if opening in self.brackets:
            while self.brackets.pop() != opening:
                pass

    def _close(self, position: int) -> None:
        """A closing brace: of a dictionary, or of the region."""
        if "{" in self.brackets:
            self._close_bracket("}")
        elif self.region.owner is not None:
            self.end_region(position)

    def end_region(self, position: int) -> None:
        owner = self.region.owner
        assert owner is not None
        self.region.closing = position
        self.region = owner.region
        self.operation = owner
        self.brackets = self.outer.pop()
        owner.last = max(owner.last, position if position < self.count else self.count - 1)


def rescan(top: RegionNode, text: TokenText, change: TokenChange) -> bool:
    """Update the tree of a text after an edit; False if the whole text has to be scanned, and the tree is of no use.

    The scan starts at an operation before the edit, in the innermost region that holds all of it.  It ends where an
    operation begins after the edit at a token where one began before: from there on it would find the same.
    """
    # The region holds all tokens that the edit may change, and has a closing brace.
    region = top.innermost(change.first - _AHEAD, change.old_end + _AHEAD + 1)
    while region.owner is not None and region.closing == top.closing:
        region = region.owner.region
    operations = region.operations
    scanner = _Rescanner(text, region, change)
    # The start is an operation whose name was found without a look at what changed.
    index = bisect_left(operations, change.first, key=first_token) - 1
    while index >= 0 and (operations[index].name < 0 or operations[index].last + _AHEAD >= change.first):
        index -= 1
    position = region.opening + 1
    if index >= 0:
        start = operations[index]
        position = start.first
        _Scanner.begin(scanner, start.first, start.name, start.results)
        scanner.draft.operations[0].last = start.name
        scanner.run(start.name + 1)
    else:
        index = 0
        scanner.run(position)
    if not scanner.is_over and region.owner is None:
        scanner.close_regions(scanner.draft)
        scanner.end = region.closing
    end, draft = scanner.end, scanner.draft
    if end < 0:
        return False
    kept = bisect_left(operations, end, key=first_token)
    region.labels[:] = [label for label in region.labels if label < position or label >= end]
    _move(top, end, scanner.shift)
    region.labels[:] = sorted([*region.labels, *draft.labels])
    for operation in draft.operations:
        operation.region = region
    operations[index:kept] = draft.operations
    top.closing = text.count
    return True


class _Rescanner(_Scanner):
    """Scans a region of an edited text into a draft.

    `end` is the token, as counted before the edit, from which on everything is as it was; -1 without such an end.
    """

    def __init__(self, text: TokenText, before: RegionNode, change: TokenChange) -> None:
        super().__init__(text)
        self.before = before
        self.draft = self.region = RegionNode(before.opening, before.owner)
        self.edit_end = change.new_end
        self.shift = change.new_end - change.old_end
        self.end = -1

    def begin(self, first: int, name: int, results: list[int]) -> None:
        old, operations = first - self.shift, self.before.operations
        index = bisect_left(operations, old, key=first_token)
        is_known = index < len(operations) and operations[index].first == old
        if self.region is self.draft and first >= self.edit_end and is_known:
            self.end = old
            self.is_over = True
        else:
            super().begin(first, name, results)

    def end_region(self, position: int) -> None:
        if self.region is not self.draft:
            super().end_region(position)
            return
        # Another brace closes the region now, unless it is the one that did.
        if position == self.before.closing + self.shift and position >= self.edit_end:
            self.end = self.before.closing
        self.is_over = True


def _move(top: RegionNode, start: int, shift: int) -> None:
    """Move all that is at a token or after it."""
    pending = [top] if shift else []
    for region in pending:
        region.opening += shift if region.opening >= start else 0
        region.closing += shift if region.closing >= start else 0
        region.labels[:] = [label + shift if label >= start else label for label in region.labels]
        for operation in region.operations[bisect_left(region.operations, start, key=_last_token) :]:
            operation.last += shift
            if operation.first >= start:
                operation.first += shift
                operation.name += shift if operation.name >= 0 else 0
                operation.results = [result + shift for result in operation.results]
            pending += [inner for inner in operation.regions if inner.closing >= start]
