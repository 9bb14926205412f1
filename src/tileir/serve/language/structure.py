"""The structure of a text, from its tokens alone: operations and their regions.

A text is broken most of the time while it is written, so nothing here fails: what does not look like the begin of an
operation belongs to the one before it.  The parser's own view is in `analysis`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from tileir.dialect.ops import BUILTIN_MODULE
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import ISOLATED, SYMBOL_TABLE
from tileir.text.edits import TokenText

_CLOSING = {")": "(", "]": "[", ">": "<", "}": "{"}
_OPENING = frozenset("([<{")
# Words with which an operation goes on in another line, beside those that an `=` follows.
_CONTINUING = frozenset(
    ["else", "loc", "attributes", "iter_values", "to", "step", "in", "at", "weak", "relaxed", "acquire", "release"]
)


class WrittenRegion:
    """A region as it is written: what is between two braces, or the whole text.

    `opening` and `closing` are the tokens of the braces; `closing` is the token behind the last one where there is no
    brace.  `labels` are the tokens of the labels of blocks in it.
    """

    __slots__ = ("closing", "labels", "opening", "operations", "owner")

    def __init__(self, opening: int, owner: WrittenOperation | None) -> None:
        self.opening = opening
        self.closing = -1
        self.owner = owner
        self.operations: list[WrittenOperation] = []
        self.labels: list[int] = []


class WrittenOperation:
    """An operation as it is written: the tokens from `first` to `last`, its name at `name` (-1 where there is none).

    `results` are the tokens of the names that it gives to its results.
    """

    __slots__ = ("declaration", "first", "last", "name", "region", "regions", "results")

    def __init__(self, first: int, name: int, results: list[int], region: WrittenRegion) -> None:
        self.first = first
        self.last = first
        self.name = name
        self.results = results
        self.region = region
        self.regions: list[WrittenRegion] = []
        self.declaration: OperationDeclaration | None = None

    @property
    def parent(self) -> WrittenOperation | None:
        return self.region.owner

    @property
    def children(self) -> list[WrittenOperation]:
        """The operations directly in its regions."""
        return [operation for region in self.regions for operation in region.operations]

    @property
    def is_isolated(self) -> bool:
        """Whether names from around it are not visible in it."""
        return self.declaration is not None and bool(self.declaration.traits & ISOLATED)

    @property
    def is_symbol_table(self) -> bool:
        return self.declaration is not None and bool(self.declaration.traits & SYMBOL_TABLE)

    def walk(self) -> Iterator[WrittenOperation]:
        """This operation and all in it, in the order of the text."""
        pending = [self]
        while pending:
            operation = pending.pop()
            yield operation
            for region in reversed(operation.regions):
                pending.extend(reversed(region.operations))


class Structure:
    """The tokens of a text, where each begins, and what they make up.

    It is that of the text until the next edit of it: `tokens` and `starts` are then those of another.
    """

    def __init__(self, text: str, written: TokenText | None = None) -> None:
        self.written = written if written is not None else TokenText(text)
        self.text = text
        self.tokens: list[str] = self.written.tokens
        self.starts: list[int] = self.written.starts
        self.count: int = self.written.count
        """How many tokens there are; empty ones follow."""
        self._top: WrittenRegion | None = None
        self._operations: list[WrittenOperation] | None = None

    @property
    def top(self) -> WrittenRegion:
        """The whole text as a region."""
        if self._top is None:
            self._top = Scanner(self).scan()
        return self._top

    def hand_over(self) -> WrittenRegion | None:
        """Give away what was found, for the structure of the text after an edit; None if nothing was looked for."""
        top, self._top, self._operations = self._top, None, None
        return top

    def adopt(self, top: WrittenRegion) -> None:
        """Take the operations that somebody else has found."""
        self._top = top

    # --- tokens ---

    def end(self, token: int) -> int:
        """The offset behind a token."""
        return self.starts[token] + len(self.tokens[token])

    def token_at(self, offset: int) -> int | None:
        """The token at an offset, or else the one that ends there."""
        index = bisect_right(self.starts, offset, 0, self.count) - 1
        if index < 0:
            return None
        if offset < self.end(index):
            return index
        return index if offset == self.end(index) else None

    def token_before(self, offset: int) -> int:
        """The last token that begins before an offset; -1 where there is none."""
        return bisect_left(self.starts, offset, 0, self.count) - 1

    def is_first_on_line(self, token: int) -> bool:
        if token == 0:
            return True
        return "\n" in self.text[self.end(token - 1) : self.starts[token]]

    def comment_at(self, offset: int) -> bool:
        """Whether an offset is in a comment."""
        before = self.token_before(offset + 1)
        start = self.end(before) if before >= 0 else 0
        if offset < start:
            return False
        line = self.text.rfind("\n", start, offset)
        return "//" in self.text[max(line, start) : offset]

    # --- operations ---

    @property
    def operations(self) -> list[WrittenOperation]:
        """All operations, in the order of the text."""
        if self._operations is None:
            self._operations = [each for operation in self.top.operations for each in operation.walk()]
        return self._operations

    def operation_at(self, offset: int) -> WrittenOperation | None:
        """The innermost operation at an offset, or just behind whose last token it is."""
        token = self.token_at(offset)
        if token is None:
            token = self.token_before(offset)
        found = self.operation_of_token(token)
        while found is not None and offset > self.end(found.last):
            found = found.parent
        return found

    def operation_of_token(self, token: int) -> WrittenOperation | None:
        """The innermost operation that a token belongs to."""
        if token < 0:
            return None
        found: WrittenOperation | None = None
        region: WrittenRegion | None = self.top
        while region is not None:
            index = bisect_right(region.operations, token, key=_first) - 1
            if index < 0 or region.operations[index].last < token:
                break
            found = region.operations[index]
            region = next((each for each in found.regions if each.opening < token < each.closing), None)
        return found

    def operations_before(self, region: WrittenRegion, token: int) -> int:
        """How many operations of a region begin before a token."""
        return bisect_left(region.operations, token, key=_first)

    def region_at(self, offset: int) -> WrittenRegion:
        """The innermost region at an offset: where an operation written there would be."""
        token = self.token_before(offset)
        region = self.top
        while token >= 0:
            index = bisect_right(region.operations, token, key=_first) - 1
            if index < 0:
                break
            inner = [each for each in region.operations[index].regions if each.opening <= token]
            inner = [each for each in inner if token < each.closing or offset <= self.starts[each.closing]]
            if not inner:
                break
            region = inner[-1]
        return region


def _first(operation: WrittenOperation) -> int:
    return operation.first


def declaration_named(name: str, nested: bool = True) -> OperationDeclaration | None:
    """The declaration that the name of an operation means, quoted or not; None for one nobody declared."""
    if name[:1] == '"':
        found = REGISTRY.by_name.get(name.strip('"'))
    elif "." in name:
        found = REGISTRY.by_name.get(name)
    elif name == "module" and not nested:
        found = BUILTIN_MODULE
    else:
        found = REGISTRY.by_name.get(f"cuda_tile.{name}") or REGISTRY.by_name.get(f"builtin.{name}")
    return None if found is None or found.testing else found


class Scanner:
    """Goes through the tokens once."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.tokens = structure.tokens
        self.count = structure.count
        self.region = WrittenRegion(-1, None)
        self.operation: WrittenOperation | None = None
        # What the operation at hand has opened and not closed, and the same for those around it.
        self.brackets: list[str] = []
        self.outer: list[list[str]] = []
        self.known: dict[str, OperationDeclaration | None] = {}
        self.is_over = False

    def scan(self) -> WrittenRegion:
        """The whole text as a region."""
        top = self.region
        self.go_through(0)
        while self.region is not top:
            self.end_region(self.count)
        top.closing = self.count
        return top

    def go_through(self, position: int) -> None:
        """Go on from a token to the end of the text, or until it is over."""
        tokens = self.tokens
        while position < self.count:
            token = tokens[position]
            first = token[0]
            following = position + 1
            if first == "%":
                begun = self._results(position)
                if begun:
                    following = begun
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

    def _results(self, position: int) -> int:
        """Begin an operation that names its results here; the token behind what was read, or 0 if there is none."""
        tokens = self.tokens
        results = [position]
        place = position + 1
        while True:
            if tokens[place] == ":" and tokens[place + 1].isdigit():
                place += 2
            if tokens[place] != "," or tokens[place + 1][:1] != "%":
                break
            results.append(place + 1)
            place += 2
        if tokens[place] != "=":
            alone = not self.brackets and self.structure.is_first_on_line(position) and tokens[position - 1] != ","
            if alone and (self.operation is None or self.operation.name >= 0) and not self._goes_on(position):
                # Nothing but a name, or names: the rest is not written yet.
                self.begin(position, -1, results)
                return place
            return 0
        if len(results) > 1 and self.structure.is_first_on_line(results[-1]):
            if not self.structure.is_first_on_line(position):
                # `addf %a,` with nothing behind it yet, before a line that begins an operation.
                return 0
        name = place + 1
        if self.brackets:
            # `iter_values(%a = %b` is no operation; one that begins a line is, whatever was not closed before it.
            if tokens[name][:1] == "%" or not self.structure.is_first_on_line(position):
                return 0
        named = tokens[name][:1] == '"' or tokens[name][:1].isalpha() or tokens[name][:1] == "_"
        self.begin(position, name if named else -1, results)
        return name + 1 if named else name

    def _goes_on(self, position: int) -> bool:
        """Whether what comes before wants a value: `addf` alone in its line, `=`, `token =`."""
        before = self.tokens[position - 1] if position else ""
        operation = self.operation
        if before in ("=", "->", "(", ":"):
            return True
        return operation is not None and operation.name == position - 1

    def _begins(self, position: int, token: str) -> bool:
        """Whether a word or a string is the name of an operation."""
        if self.operation is None:
            return True
        if token[0] == '"':
            known = self.tokens[position + 1] == "(" and not self.brackets
        else:
            if token not in self.known:
                self.known[token] = declaration_named(token)
            known = self.known[token] is not None
        if self.structure.is_first_on_line(position):
            if known:
                return self.tokens[position - 1] not in ("=", ",", "<") and self.tokens[position + 1] not in ("=", ",")
            if self.brackets or token[0] == '"' or token in _CONTINUING or self.tokens[position + 1] == "=":
                return False
            return "<" not in token and self._is_complete(position - 1)
        return known and not self.brackets and self._is_complete(position - 1)

    def _is_complete(self, token: int) -> bool:
        """Whether an operation may end with a token."""
        text = self.tokens[token]
        return text in ("}", ")", "]", ">", "token") or "<" in text[1:] or text[:1] == "!"

    def begin(self, first: int, name: int, results: list[int]) -> None:
        operation = WrittenOperation(first, name, results, self.region)
        if name >= 0:
            operation.declaration = declaration_named(self.tokens[name], self.region.owner is not None)
        self.region.operations.append(operation)
        self.operation = operation
        self.brackets = []

    def _label(self, position: int) -> int:
        """A label of a block with its arguments, or a reference to a block."""
        if self.brackets:
            return position + 1
        tokens = self.tokens
        self.region.labels.append(position)
        self.operation = None
        place = position + 1
        if tokens[place] == "(":
            depth = 0
            while place < self.count:
                depth += (tokens[place] == "(") - (tokens[place] == ")")
                place += 1
                if not depth or tokens[place] in ("{", "}"):
                    break
        return place + 1 if tokens[place] == ":" else place

    def _open(self, position: int) -> None:
        token = self.tokens[position]
        if token != "{" or not self._opens_region(position):
            self.brackets.append(token)
            return
        operation = self.operation
        if operation is None:
            self.begin(position, -1, [])
            operation = self.operation
            if self.is_over:
                return
        assert operation is not None
        region = WrittenRegion(position, operation)
        operation.regions.append(region)
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
            if not operation.regions:
                # Attributes may stand before a region: `{name = ..` or `{name}`.
                named = behind[:1] == '"' or behind[:1].isalpha() or behind[:1] == "_"
                listed = beyond in (",", "}") and declaration_named(behind) is None
                return bool(operation.declaration.regions) and not (named and (beyond == "=" or listed))
            return before == "else"
        if behind[:1] in ("%", "^"):
            return True
        return beyond not in ("=", ",", "}") or declaration_named(behind) is not None

    def _close_bracket(self, token: str) -> None:
        opening = _CLOSING[token]
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
        region = self.region
        region.closing = position
        owner = region.owner
        assert owner is not None
        self.region = owner.region
        self.operation = owner
        self.brackets = self.outer.pop()
        owner.last = max(owner.last, position if position < self.count else self.count - 1)
