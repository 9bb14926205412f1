"""A text that an editor changes, its tokens, and the program in it.

After an edit inside a function (`entry`) only that function is parsed again, and what stands after it is renumbered.
After any other edit, and in a text that defines aliases, the whole text is parsed.  Either way the result is that of
parsing the whole text: a function is isolated, so what surrounds it does not depend on what is in it.
"""

from __future__ import annotations

from bisect import bisect_left

from tileir.annotations import Final
from tileir.collector import CollectorPaused
from tileir.dialect.ops import ENTRY
from tileir.ir.core import Block, Operation
from tileir.ir.diagnostics import Diagnostic, has_errors
from tileir.ir.location import CharacterLocation, Location, SourceText, TextLocation, renew
from tileir.ir.versions import NEWEST, Version
from tileir.text.cursor import SyntaxFailure
from tileir.text.lexer import TOKEN
from tileir.text.reading import OperationParser, wrap_top_level
from tileir.text.statement_form import StatementForm
from tileir.text.types import DIALECT_TYPES, has_aliases

# The most tokens before an edit that it may change: `1.5e+` and what follows are four.
_BEFORE: Final = 5
# Empty tokens at the end, for the parser's lookahead.
_EMPTY: Final = 3
# The parser's lookahead: the statement before a function may depend on these tokens of the function.
_AHEAD: Final = 3


class TokenChange:
    """What an edit did: the tokens from `first` to `old_end` became those from `first` to `new_end`.

    `characters` is how much longer the text became.
    """

    def __init__(self, first: int, old_end: int, new_end: int, characters: int) -> None:
        self.first: int = first
        self.old_end: int = old_end
        self.new_end: int = new_end
        self.characters: int = characters

    def then(self, other: TokenChange) -> TokenChange:
        """Both as one edit: this one, and another after it."""
        middle = max(self.new_end, other.old_end)
        return TokenChange(
            min(self.first, other.first),
            self.old_end + middle - self.new_end,
            other.new_end + middle - other.old_end,
            self.characters + other.characters,
        )


class TokenText:
    """A text, its tokens with empty ones at the end, the offset of each, and how many there are without those."""

    def __init__(self, text: str) -> None:
        self.text: str = text
        tokens: list[str] = []
        starts: list[int] = []
        for match in TOKEN.finditer(text):
            if match.start(1) >= 0:
                tokens.append(match[1])
                starts.append(match.start(1))
        while tokens and not tokens[-1]:
            tokens.pop()
            starts.pop()
        self.count: int = len(tokens)
        tokens.extend([""] * _EMPTY)
        starts.extend([len(text)] * _EMPTY)
        self.tokens: list[str] = tokens
        self.starts: list[int] = starts
        # The brackets after names of types that nothing closes: anything after one may become part of the type.
        self._open_types: list[int] = [
            index for index, token in enumerate(tokens) if token == "<" and _is_type(tokens, index - 1)
        ]

    def replace(self, start: int, end: int, new: str) -> TokenChange:
        """Replace the characters between two offsets."""
        difference = len(new) - (end - start)
        text = self.text[:start] + new + self.text[end:]
        starts, tokens = self.starts, self.tokens
        first = max(bisect_left(starts, start, 0, self.count) - _BEFORE, 0)
        if self._open_types:
            first = min(first, max(self._open_types[0] - 1, 0))
        position = starts[first - 1] + len(tokens[first - 1]) if first else 0
        # The first old token that begins after the edit.  Where an old and a new token begin at the same character,
        # all that follow are the same.
        old = bisect_left(starts, end, 0, self.count)
        found: list[str] = []
        offsets: list[int] = []
        for match in TOKEN.finditer(text, position):
            offset = match.start(1)
            if offset < 0:
                continue
            token = match[1]
            if offset >= start + len(new):
                while old < self.count and starts[old] + difference < offset:
                    old += 1
                if old < self.count and starts[old] + difference == offset:
                    break
            if not token:
                old = self.count
                break
            found.append(token)
            offsets.append(offset)
        change = TokenChange(first, old, first + len(found), difference)
        tokens[first:old] = found
        starts[first:] = offsets + [offset + difference for offset in starts[old:]]
        self.text = text
        self.count = len(tokens) - _EMPTY
        shift = change.new_end - old
        kept = [index for index in self._open_types if index < first]
        # The bracket after the last new token may now be that of a type, or no longer be.
        kept.extend(
            [
                index
                for index in range(first, change.new_end + 1)
                if tokens[index] == "<" and _is_type(tokens, index - 1)
            ]
        )
        kept.extend([index + shift for index in self._open_types if index > old])
        self._open_types = kept
        return change


def _is_type(tokens: list[str], index: int) -> bool:
    return index >= 0 and tokens[index].lstrip("!").removeprefix("cuda_tile.") in DIALECT_TYPES


class _Function:
    """A function that could be read: its tokens, and the state of the parser where it begins."""

    def __init__(self, start: int, end: int, operation: Operation, nesting: int, dialects: list[str]) -> None:
        self.start: int = start
        self.end: int = end
        self.operation: Operation = operation
        self.nesting: int = nesting
        self.dialects: list[str] = dialects


class _FunctionParser(OperationParser):
    """Reads tokens that are known, and notes the functions among them."""

    def __init__(self, source: SourceText, edited: EditedText) -> None:
        super().__init__("", "-", edited.version)
        self.allow_unregistered = edited.allow_unregistered
        self.draft_spellings = edited.draft_spellings
        self.source = source
        self.tokens = edited.tokens.tokens
        self.functions: list[_Function] = []

    def parse_custom(self, form: StatementForm, block: Block) -> Operation:
        start = self.position
        operation = super().parse_custom(form, block)
        if form.declaration is ENTRY and (start == 0 or self.tokens[start - 1] != "="):
            self.functions.append(_Function(start, self.position, operation, self.nesting, list(self.dialects)))
        return operation

    def has_only_functions_that_stand_alone(self) -> bool:
        """Whether a function means the same wherever it stands: nothing has aliases, and every region has an end."""
        return not (self.alias_positions or self.aliases or self.type_aliases or self.end_is_missing)


class EditedText:
    """A text and the program in it.

    `module` is what could be read; it is `complete` if there were no errors.  `diagnostics` are in no order.
    """

    def __init__(
        self,
        tokens: TokenText,
        version: Version = NEWEST,
        allow_unregistered: bool = False,
        draft_spellings: bool = True,
    ) -> None:
        self.tokens: TokenText = tokens
        self.version: Version = version
        self.allow_unregistered: bool = allow_unregistered
        self.draft_spellings: bool = draft_spellings
        self.whole_reads: int = 0
        self._read()

    @property
    def complete(self) -> bool:
        return not has_errors(self.diagnostics)

    def _read(self) -> None:
        self.whole_reads += 1
        self._source: SourceText = SourceText(self.tokens.text, "-", TOKEN)
        renew(self._source, self.tokens.text, self.tokens.starts)
        parser = _FunctionParser(self._source, self)
        parser.collect_aliases()
        block = Block()
        with CollectorPaused():
            parser.parse_top_level(block)
        self.module: Operation = wrap_top_level(block, self._source, False)
        self.diagnostics: list[Diagnostic] = parser.diagnostics
        self._functions: list[_Function] = []
        if parser.has_only_functions_that_stand_alone():
            # What is in a broken operation, or in another function, is read with that.
            for function in parser.functions:
                around = function.operation.parent_operation
                while around is not None and around is not self.module and around.declaration is not ENTRY:
                    around = around.parent_operation
                if around is self.module:
                    self._functions.append(function)

    def update(self, change: TokenChange) -> None:
        """Follow an edit of the tokens."""
        renew(self._source, self.tokens.text, self.tokens.starts)
        for function in self._functions:
            if function.start + _AHEAD <= change.first and change.old_end < function.end:
                if self._read_function(function, change):
                    return
        self._read()

    def _read_function(self, function: _Function, change: TokenChange) -> bool:
        """Read a function again that holds all of an edit; False where the whole text has to be read."""
        if has_aliases(self.tokens.text) or any(function.start == _token(each.location) for each in self.diagnostics):
            # A statement before the function may be broken up to there.
            return False
        parser = _FunctionParser(self._source, self)
        parser.position = function.start
        parser.nesting = function.nesting
        parser.dialects = list(function.dialects)
        block = Block()
        try:
            with CollectorPaused():
                parser.parse_operation(block)
        except SyntaxFailure:
            return False
        operation, end = block.first, function.end + change.new_end - change.old_end
        if operation is None or operation.next is not None or parser.position != end:
            return False
        # What `module` means depends on where the text has it first.
        if not parser.has_only_functions_that_stand_alone() or "module" in self.tokens.tokens[function.start : end]:
            return False
        self._renumber(function, change)
        old = function.operation
        body = old.parent
        assert body is not None
        operation.detach()
        body.insert_before(operation, old)
        old.detach()
        function.operation = operation
        self.diagnostics += parser.diagnostics
        return True

    def _renumber(self, function: _Function, change: TokenChange) -> None:
        """Forget the diagnostics of a function, and move everything after it."""
        start, end = function.start, function.end
        self.diagnostics = [each for each in self.diagnostics if not start <= _token(each.location) < end]
        locations: list[Location] = []
        for diagnostic in self.diagnostics:
            locations += [diagnostic.location, *[note.location for note in diagnostic.notes]]
        around: Operation | None = function.operation
        while around is not None:
            behind = around.next
            while behind is not None:
                for operation in behind.walk():
                    locations.append(operation.location)
                    for region in operation.regions:
                        for block in region.blocks:
                            locations += [argument.location for argument in block.arguments]
                behind = behind.next
            around = around.parent_operation
        shift = change.new_end - change.old_end
        # Several may share a location.
        for location in {id(location): location for location in locations}.values():
            if isinstance(location, TextLocation) and location.token >= end:
                location.token += shift
                if isinstance(location, CharacterLocation):
                    location.offset += change.characters
        for each in self._functions:
            if each.end >= end:
                each.end += shift
            if each.start >= end:
                each.start += shift


def _token(location: Location) -> int:
    """The token that a location means; -1 where it is not one of the text."""
    return location.token if isinstance(location, TextLocation) else -1
