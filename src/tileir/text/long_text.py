"""A parser for long texts, which looks up the shapes of their statements (`text/shapes.py`).

Most statements of a long text are never taken apart into tokens: they are known by their shape.  The others are read
by the parser as always, from tokens that are made for as many lines as belong together.  Tokens keep the numbers that
they have in the whole text, so locations are the same.

It is for texts that there is nothing to say about: with the first mistake or remark it gives up, and the text is read
in the ordinary way.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tileir.annotations import Final
from tileir.ir.core import NO_REGIONS, Block, Operation
from tileir.ir.declaration import REGISTRY, Version
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import SourceText, TextLocation
from tileir.ir.values import Value
from tileir.text.cursor import SyntaxFailure
from tileir.text.lexer import TOKEN
from tileir.text.parser import Parser
from tileir.text.shapes import BLANKS, PieceTokens, Sample, Shapes, open_at_end

_NAME: Final = re.compile(r"(%[\w$.\-]+(?:#\d+)?)", re.ASCII)
# Stands for tokens that were not made.  No operation has it, so reading it is a mistake.
_ABSENT: Final = "\0"
# A line that ends so goes on in the next one.
_UNFINISHED: Final = frozenset([",", ":", "=", "->"])

# No statement that is like others has so many.
_MANY_LINES: Final = 256
# How many times as much as the text has may be looked at to find tokens.
_EFFORT: Final = 8
# So many tokens are made before it is asked whether hardly any need not be.
_TRIAL: Final = 2000


class GiveUp(Exception):
    """The text has to be read in the ordinary way."""


class LongTextParser(Parser):
    """Reads a long text without aliases.

    The text is at hand as names and the texts between them, `pieces`; `piece` is the number of the text that was read
    up to what is left of it, `rest`.  There are tokens up to the number `frontier`, and a few to look ahead.
    """

    def __init__(
        self,
        text: str,
        name: str,
        version: Version,
        allow_unregistered: bool,
        first_line: int,
        testing: bool,
        draft_spellings: bool,
        parse_generic: Callable[[Parser, str], Operation],
    ) -> None:
        super().__init__(
            "", name, version, allow_unregistered, first_line, True, testing, draft_spellings, parse_generic
        )
        self.source = SourceText(text, name, TOKEN, first_line)
        self.tokens = []
        self.pieces: list[str] = _NAME.split(text)
        self.piece: int = 0
        self.rest: str = self.pieces[0]
        self.frontier: int = 0
        # Where in the text a piece begins: the last one of which this was asked.
        self.counted: int = 0
        self.offset: int = 0
        # By the dialect whose prefix may be left out.
        self.shapes: dict[str, Shapes] = {}
        self.seen: set[str] = set()
        self.lines: dict[str, PieceTokens] = {}
        self.budget: int = _EFFORT * len(text)
        # How many tokens were made, and how many belong to statements that were known.
        self.made: int = 0
        self.saved: int = 0

    def read_all(self, block: Block) -> bool:
        """Read the whole text into a block; False where that is left to the ordinary parser."""
        try:
            self.parse_top_level(block)
        except GiveUp:
            return False
        return not self.diagnostics

    def parse_operations(self, block: Block) -> None:
        outer = self.block
        self.block = block
        dialect = self.dialects[-1]
        shapes = self.shapes.get(dialect)
        if shapes is None:
            shapes = self.shapes[dialect] = Shapes()
        while True:
            piece = -1
            rest = ""
            if self.position == self.frontier:
                before = self.position
                self._read_known(block, shapes)
                self.saved += self.position - before
                piece = self.piece
                rest = self.rest
                self._make_tokens()
                self.made += self.frontier - self.position
                if self.made > _TRIAL and self.made > 4 * self.saved:
                    # Making them line by line takes longer than making all at once.
                    raise GiveUp()
            elif self.position > self.frontier:
                raise GiveUp()
            start = self.position
            token = self.tokens[start]
            if token == "}" or token == "" or token[:1] == "^":
                self.block = outer
                return
            try:
                self.parse_operation(block)
            except (SyntaxFailure, IndexError):
                raise GiveUp() from None
            operation = block.last
            if piece >= 0 and operation is not None and not operation.regions and not self.diagnostics:
                self._learn(
                    Sample(start, self.tokens[start : self.position], self.pieces, piece, rest), operation, shapes
                )

    def _learn(self, sample: Sample, operation: Operation, shapes: Shapes) -> None:
        """Note what a statement means that comes for the second time; a constant is one like others at once."""
        key = "%".join(sample.texts)
        if key in self.seen or sample.is_constant:
            shapes.learn(sample, operation, self.values)
        elif key:
            self.seen.add(key)

    def _read_known(self, block: Block, shapes: Shapes) -> None:
        """Read statements as long as their shapes are known."""
        pieces = self.pieces
        count = len(pieces)
        piece = self.piece
        rest = self.rest
        position = self.position
        values = self.values
        defined = self.defined
        source = self.source
        known = shapes.first.following
        while True:
            last = piece
            if rest:
                shape = known.get(rest)
            else:
                last += 2
                if last >= count:
                    break
                text = pieces[last]
                shape = known.get(text)
                if shape is None and text.startswith(" = constant"):
                    shape = shapes.constant(text)
            while shape is not None and shape.meaning is None:
                last += 2
                shape = shape.following.get(pieces[last]) if last < count else None
            if shape is None:
                break
            meaning = shape.meaning
            assert meaning is not None
            operands: list[Value] = []
            types = meaning.operand_types
            for place in meaning.operands:
                value = values.get(pieces[piece + place])
                if value is None or value.type is not types[len(operands)]:
                    break
                operands.append(value)
            if len(operands) != len(types):
                break
            result_types = meaning.result_types
            if len(result_types) == 1:
                name = pieces[piece + 1]
                if name in values or "#" in name:
                    break
            elif result_types and not self._are_new(pieces[piece + 1 : piece + 2 * len(result_types) : 2]):
                break
            operation = Operation(
                meaning.declaration,
                operands,
                result_types,
                meaning.attributes,
                NO_REGIONS,
                TextLocation(source, position + meaning.name_token),
                meaning.segments,
            )
            block.append(operation)
            for result in operation.results:
                piece += 1
                name = pieces[piece]
                values[name] = result
                defined.append(name)
                piece += 1
            piece = last
            rest = meaning.rest
            position += meaning.token_count
        self.piece = piece
        self.rest = rest
        self.position = position

    def _are_new(self, names: list[str]) -> bool:
        return len(set(names)) == len(names) and not any(name in self.values or "#" in name for name in names)

    # --- tokens ---

    def _make_tokens(self) -> None:
        """Make the tokens of what begins here, up to a line in which something else does; and a few to look ahead."""
        tokens = self.tokens
        del tokens[self.frontier :]
        tokens.extend([_ABSENT] * (self.position - len(tokens)))
        if not self._tokens_of_pieces():
            self._tokens_of_text()

    def _tokens_of_pieces(self) -> bool:
        """Put the tokens of a line together from those of its pieces; whether that is possible."""
        pieces = self.pieces
        piece = self.piece
        text = self.rest
        found: list[str] = []
        open_brackets = 0
        while True:
            line = self.lines.get(text)
            if line is None:
                self._spend(len(text))
                line = self.lines[text] = PieceTokens(text)
            found.extend(line.tokens)
            open_brackets += line.open_brackets
            if line.is_last:
                break
            if not line.is_plain or piece + 2 >= len(pieces):
                return False
            found.append(pieces[piece + 1])
            piece += 2
            text = pieces[piece]
        if not line.is_plain or open_brackets or not found or found[-1] in _UNFINISHED:
            return False
        ahead = line.ahead
        if len(ahead) < 2:
            ahead = ahead[:]
            if piece + 2 < len(pieces):
                ahead.append(pieces[piece + 1])
                behind = self.lines.get(pieces[piece + 2])
                if behind is None:
                    self._spend(len(pieces[piece + 2]))
                    behind = self.lines[pieces[piece + 2]] = PieceTokens(pieces[piece + 2])
                if len(ahead) < 2:
                    if not behind.tokens:
                        return False
                    ahead.append(behind.tokens[0])
            else:
                ahead.extend(["", ""])
        if not _may_begin(ahead[0]):
            return False
        self.tokens.extend(found)
        self.frontier = len(self.tokens)
        self.tokens.extend(ahead)
        self.tokens.extend([_ABSENT, _ABSENT] if ahead[1] else ["", ""])
        self.piece = piece
        self.rest = line.rest
        return True

    def _tokens_of_text(self) -> None:
        """Find the tokens in the text: it has strings or comments, or goes on for some lines."""
        text = self.source.text
        tokens = self.tokens
        end = self._offset_here()
        open_brackets = 0
        following = ""
        lines = 0
        while True:
            lines += 1
            if lines > _MANY_LINES:
                raise GiveUp()
            found, end = _tokens_of_line(text, end)
            tokens.extend(found)
            match = TOKEN.match(text, end)
            following = match[1] if match is not None else ""
            if match is None or not following:
                break
            # Blank lines and comments are behind that.
            end = match.start(1)
            open_brackets += open_at_end(found)
            if len(tokens) > self.position and open_brackets <= 0 and tokens[-1] not in _UNFINISHED:
                if _may_begin(following):
                    break
        self.frontier = len(tokens)
        tokens.append(following)
        if following and match is not None:
            match = TOKEN.match(text, match.end())
            following = match[1] if match is not None else ""
        tokens.append(following)
        tokens.extend([_ABSENT, _ABSENT] if following else ["", ""])
        self._go_to(end)

    def _offset_here(self) -> int:
        """Where in the text what is left of a piece begins."""
        self.offset += sum(map(len, self.pieces[self.counted : self.piece]))
        self.counted = self.piece
        return self.offset + len(self.pieces[self.piece]) - len(self.rest)

    def _go_to(self, end: int) -> None:
        pieces = self.pieces
        piece = self.piece
        offset = self.offset
        while offset + len(pieces[piece]) < end:
            offset += len(pieces[piece]) + len(pieces[piece + 1])
            piece += 2
        self.piece = self.counted = piece
        self.offset = offset
        self._spend(len(pieces[piece]))
        self.rest = pieces[piece][end - offset :].lstrip(BLANKS)

    def _spend(self, characters: int) -> None:
        """Give up where a piece has so many statements that looking at the rest of it for each takes long."""
        self.budget -= characters
        if self.budget < 0:
            raise GiveUp()

    # --- failures ---

    def note_failure(self, diagnostic: Diagnostic) -> None:
        raise GiveUp()


def _tokens_of_line(text: str, start: int) -> tuple[list[str], int]:
    """The tokens up to the end of a line, or of a later one if a type goes on there; and where that is."""
    end = start
    lines = 1
    while True:
        for _ in range(lines):
            end = text.find("\n", end) + 1
            if not end:
                end = len(text)
                break
        found = TOKEN.findall(text, start, end)
        while found and not found[-1]:
            found.pop()
        if found.count("<") == found.count(">") or end == len(text):
            return found, end
        lines *= 2


def _may_begin(token: str) -> bool:
    """Whether a token at the begin of a line begins something."""
    if token[:1] in ("%", "}", "^", ""):
        return True
    return f"cuda_tile.{token}" in REGISTRY.by_name or token in REGISTRY.by_name
