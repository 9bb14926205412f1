"""A parser for texts that repeat themselves, which looks up the shapes of their statements (`text/shapes.py`).

Where a statement begins it is looked for among those that are known, piece by piece.  One that is not, or that takes or
defines something else than those before it, is read by the parser as always: so mistakes and remarks are told as ever.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.annotations import Final
from tileir.ir.core import NO_REGIONS, Block, Operation
from tileir.ir.location import SourceText, TextLocation
from tileir.ir.values import Value
from tileir.ir.versions import Version
from tileir.text.cursor import SyntaxFailure
from tileir.text.lexer import TOKEN
from tileir.text.operation_parser import OperationParser
from tileir.text.pieces import Piece, PiecedText
from tileir.text.shapes import Shapes, meaning_of

# No statement that is like others has so many names.
_MANY_NAMES: Final = 64


# So many statements are looked for in vain before it is given up, and so many more for each that is found.
_CREDIT: Final = 300
_GAIN: Final = 3


class RepeatingTextParser(OperationParser):
    """Reads a text whose pieces are known.

    `piece` is the number of the piece, or of the name behind it, in which the parser stood where it last looked, and
    `piece_start` the number of that piece's first token.
    """

    def __init__(
        self,
        text: str,
        pieced: PiecedText,
        name: str,
        version: Version,
        allow_unregistered: bool,
        first_line: int,
        recover: bool,
        testing: bool,
        draft_spellings: bool,
        parse_generic: Callable[[OperationParser, str], Operation],
    ) -> None:
        super().__init__(
            "", name, version, allow_unregistered, first_line, recover, testing, draft_spellings, parse_generic
        )
        self.source = SourceText(text, name, TOKEN, first_line)
        self.tokens = pieced.tokens
        self.pieces: list[Piece] = pieced.pieces
        self.names: list[str] = pieced.names
        self.piece: int = 0
        self.piece_start: int = 0
        # Known statements pay for those that are not.
        self.balance: int = _CREDIT
        # By the dialect whose prefix may be left out.
        self.shapes: dict[str, Shapes] = {}
        self.collect_aliases()

    def parse_operations(self, block: Block) -> None:
        tokens = self.tokens
        pieces = self.pieces
        outer = self.block
        nesting = self.nesting
        self.block = block
        dialect = self.dialects[-1]
        shapes = self.shapes.get(dialect)
        if shapes is None:
            shapes = self.shapes[dialect] = Shapes()
        known, seen = shapes.first, shapes.seen
        begin = self._find_begin()
        while True:
            if self.balance < 0:
                # To look for what is not there takes longer than it saves.
                self.block = outer
                super().parse_operations(block)
                return
            if begin is not None and (begin in known or begin.is_constant):
                begin = self._read_known(block, shapes, begin)
            start = self.position
            token = tokens[start]
            if token == "}" or token == "" or token[:1] == "^":
                self.block = outer
                return
            piece = self.piece
            before = block.last
            told = len(self.diagnostics) + self.type_growth
            self.balance -= 1
            try:
                if token[:1] in ("#", "!") and tokens[start + 1] == "=":
                    self.parse_alias_definition()
                    begin = None
                else:
                    self.parse_operation(block)
            except SyntaxFailure as failure:
                self.leave_broken(failure, start, nesting)
                self.recover_after(start)
                begin = None
            first = begin
            begin = self._find_begin()
            operation = block.last
            if first is None or operation is None or operation.regions or operation.previous is not before:
                continue
            if len(self.diagnostics) + self.type_growth == told:
                key = (first, pieces[self.piece])
                if key in seen or first.is_constant:
                    # A constant is one like others at once.
                    self._learn(operation, start, first, piece, shapes)
                else:
                    seen.add(key)

    def _find_begin(self) -> Piece | None:
        """Find the piece of the current token; give the one with which what begins here is looked for."""
        pieces = self.pieces
        last = len(pieces) - 1
        number = self.piece
        piece = pieces[number]
        offset = self.position - self.piece_start
        while offset > piece.count:
            if number == last:
                return None
            offset -= piece.count + 1
            number += 1
            piece = pieces[number]
        self.piece = number
        self.piece_start = self.position - offset
        if offset < piece.count:
            return piece.rest(offset)
        return pieces[number + 1] if number < last else None

    def _read_known(self, block: Block, shapes: Shapes, begin: Piece) -> Piece | None:
        """Read statements as long as their shapes are known; give what the next one begins with."""
        pieces = self.pieces
        names = self.names
        last_piece = len(pieces) - 1
        piece = self.piece
        position = self.position
        values = self.values
        defined = self.defined
        source = self.source
        known = shapes.first
        left = pieces[piece].count - (position - self.piece_start)
        found = 0
        while True:
            shape = known.get(begin)
            if shape is None and begin.is_constant and not left:
                shape = shapes.constant(begin)
            last = piece if left else piece + 1
            if last >= last_piece:
                break
            while shape is not None and shape.meaning is None:
                last += 1
                shape = shape.following.get(pieces[last])
                if last >= last_piece:
                    shape = None
            if shape is None:
                break
            meaning = shape.meaning
            assert meaning is not None
            operands: list[Value] = []
            types = meaning.operand_types
            for place in meaning.operands:
                value = values.get(names[piece + place])
                if value is None or value.type is not types[len(operands)]:
                    break
                operands.append(value)
            if len(operands) != len(types):
                break
            result_types = meaning.result_types
            count = len(result_types)
            if count == 1:
                if names[piece] in values or "#" in names[piece]:
                    break
            elif count and not self._are_new(names[piece : piece + count]):
                break
            operation = Operation(
                meaning.declaration,
                operands,
                result_types,
                meaning.attributes,
                NO_REGIONS,
                TextLocation(source, position + meaning.name_token),
                meaning.segments,
                None,
                block,
            )
            for result in operation.results:
                name = names[piece]
                values[name] = result
                defined.append(name)
                piece += 1
            found += 1
            piece = last
            position += meaning.token_count
            left = meaning.left
            if not left:
                begin = pieces[piece + 1]
            else:
                rest = meaning.rest
                assert rest is not None
                begin = rest
        self.balance += _GAIN * found
        self.piece = piece
        self.piece_start = position + left - pieces[piece].count
        self.position = position
        return begin

    def _are_new(self, names: list[str]) -> bool:
        return len(set(names)) == len(names) and not any(name in self.values or "#" in name for name in names)

    def _learn(self, operation: Operation, start: int, begin: Piece, first: int, shapes: Shapes) -> None:
        """Note what a statement means, if others may be like it; it began in the piece `first`."""
        pieces = self.pieces
        last = self.piece
        if last - first > _MANY_NAMES or last >= len(pieces) - 1:
            return
        tokens = self.tokens[start : self.position]
        if self.alias_positions and any(token[0] in "#!" for token in tokens):
            return
        meaning = meaning_of(operation, tokens, start, self.names[first:last], self.values)
        if meaning is None:
            return
        offset = self.position - self.piece_start
        meaning.left = pieces[last].count - offset
        if meaning.left:
            meaning.rest = pieces[last].rest(offset)
            if meaning.rest is None:
                return
        row = pieces[first + 1 : last + 1]
        shapes.learn(row if row and begin is row[0] else [begin, *row], meaning)
