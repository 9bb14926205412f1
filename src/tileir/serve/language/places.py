"""Where the cursor is: in which statement, behind which of its parts, before which word that is being typed.

Only what stands before the cursor is looked at, read on its own: what follows may be the rest of another statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final
from weakref import WeakKeyDictionary

from tileir.dialect.ops import GLOBAL
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import Type
from tileir.serve.language.choosing import Pool, Visible
from tileir.serve.language.document import Document
from tileir.serve.language.forms import TYPE
from tileir.serve.language.names import Name
from tileir.serve.language.statement import ReadStatement, Statement
from tileir.serve.language.structure import WrittenOperation, WrittenRegion
from tileir.serve.language.written_types import parsed_type, type_of
from tileir.text.lexer import tokenize

_PREFIX: Final = re.compile(r"[%@^][\w$.\-]*$|[#!]?[A-Za-z_][\w$.]*$|[#!]$")
_TYPE_HEAD: Final = re.compile(
    r"!?(?:cuda_tile\.)?(tile|ptr|tensor_view|partition_view|strided_view|gather_scatter_view)\s*$"
)
# A statement goes on in another line behind these.
_GOING_ON: Final = frozenset([",", "->", ":", "(", "[", "<", "=", "in", "to", "step", "iter_values"])
# So many of the nearest values are looked at, so that a long kernel costs no more than a short one.
NEAREST: Final = 200
_pools: Final[WeakKeyDictionary[Document, Pool]] = WeakKeyDictionary()


class Place:
    """A place in a text where something is typed.

    `start` is where the word begins that the cursor is in or behind, `prefix` that word up to the cursor.  `written` is
    the statement that goes on there, None where a new one begins, in `region`; then `results` are the tokens that name
    its results, if they are written.
    """

    def __init__(self, document: Document, offset: int) -> None:
        self.document = document
        self.offset = offset
        line = document.line_start(document.line_of(offset))
        found = _PREFIX.search(document.text, line, offset)
        self.prefix: str = found[0] if found is not None else ""
        self.start: int = offset - len(self.prefix)
        syntax = document.syntax
        self.last: int = syntax.token_before(self.start)
        """The last token that begins before the word."""
        self.region: WrittenRegion = syntax.top
        self.written: WrittenOperation | None = None
        self.results: list[int] = []
        self.wants_name: bool = False
        """Whether the name of an operation is to come."""
        self._statement: Statement | None = None
        self._find()

    @property
    def is_quiet(self) -> bool:
        """Whether the place is in a comment or in a string, where there is nothing to say."""
        syntax = self.document.syntax
        if syntax.comment_at(self.offset):
            return True
        inside = self.last >= 0 and syntax.end(self.last) > self.start
        return inside and syntax.tokens[self.last][:1] == '"'

    def _find(self) -> None:
        syntax = self.document.syntax
        written = syntax.operation_of_token(self.last)
        if written is None:
            self.wants_name = True
            return
        self.region = written.region
        for region in written.regions:
            if region.opening == self.last:
                self.region = region
                self.wants_name = True
                return
        before = syntax.tokens[self.last]
        if written.name < 0 or written.name > self.last:
            if before == "=":
                self.results = written.results
                self.wants_name = bool(written.results)
            elif syntax.is_first_on_line(self.last + 1) and self._breaks():
                self.wants_name = True
            return
        if self._ended(written, before):
            self.wants_name = True
        else:
            self.written = written

    def _breaks(self) -> bool:
        """Whether a line ends between the last token and the word."""
        syntax = self.document.syntax
        return "\n" in self.document.text[syntax.end(self.last) : self.start]

    def _ended(self, written: WrittenOperation, before: str) -> bool:
        if not self._breaks() and before != "}":
            return False
        if before in _GOING_ON or written.declaration is None:
            return before not in _GOING_ON
        statement = self._read(written)
        return statement is None or not statement.is_complete or statement.may_end or self.prefix[:1].isalpha()

    def _read(self, written: WrittenOperation) -> Statement | None:
        """The statement up to the word."""
        declaration = written.declaration
        syntax = self.document.syntax
        if declaration is None or written.name < 0:
            return None
        if self._statement is None:
            if any(region.opening < self.last for region in written.regions):
                self._statement = ReadStatement(syntax, written, self.last + 1)
            else:
                text = self.document.text[syntax.end(written.name) : self.start]
                self._statement = Statement(declaration, [token for token in tokenize(text) if token])
        return self._statement

    @property
    def statement(self) -> Statement | None:
        """The statement that goes on here, as far as it is written."""
        return self._read(self.written) if self.written is not None else None

    @property
    def declaration(self) -> OperationDeclaration | None:
        return self.written.declaration if self.written is not None else None

    def open_type(self) -> tuple[str, int] | None:
        """The type whose bracket is open here: its name, and where it begins."""
        text = self.document.text
        line = self.document.line_start(self.document.line_of(self.offset))
        depth = 0
        outermost: tuple[str, int] | None = None
        place = self.start - 1
        while place >= line:
            character = text[place]
            if character == ">" and text[place - 1] != "-":
                depth += 1
            elif character == "<":
                if depth:
                    depth -= 1
                else:
                    head = _TYPE_HEAD.search(text, line, place)
                    if head is None:
                        break
                    outermost = (head[1], head.start()) if outermost is None else (outermost[0], head.start())
            elif character in '"%' and depth == 0:
                break
            place -= 1
        return outermost

    # --- what can be used here ---

    def names(self) -> list[Name]:
        """The nearest visible values that the word may become, nearest first."""
        wanted = self.prefix[1:] if self.prefix[:1] == "%" else ""
        names = self._in_sight()
        if wanted:
            names = (name for name in names if is_subsequence(wanted, name.text))
        return list(islice(names, NEAREST))

    def _in_sight(self) -> Iterator[Name]:
        own = self.written.results if self.written is not None else self.results
        names = self.document.syntax.nearest_names(self.last + 1)
        return (name for name in names if name.definition not in own)

    def pool(self) -> Pool:
        """What a statement here can be made of; the last one again, if it would be the same."""
        syntax = self.document.syntax
        symbols = [
            name.text
            for name in syntax.symbols
            if name.operation is not None and name.operation.declaration is GLOBAL and name.definition is not None
        ]
        values = [Visible(name.text, type_of(self.document, name)) for name in islice(self._in_sight(), NEAREST)]
        known = _pools.get(self.document)
        if known is None or known.values != values or known.symbols != symbols:
            known = _pools[self.document] = Pool(values, symbols=symbols)
        return known

    def operand_types(self) -> dict[str, list[Type]]:
        """The types of the operands that the statement has: of its values, or as it states them."""
        statement, written = self.statement, self.written
        if statement is None or written is None:
            return {}
        stated = self._stated()
        found: dict[str, list[Type]] = {}
        for declared in statement.form.declaration.operands:
            types: list[Type] = []
            for token in statement.values(declared.name):
                text = statement.tokens[token].partition("#")[0]
                name = self.document.syntax.value_named(text, self.last + 1)
                type = type_of(self.document, name) if name is not None else None
                if type is not None:
                    types.append(type)
            group = next((group for group in statement.form.declaration.same_types if declared.name in group), ())
            types = (
                types or stated.get(declared.name, []) or [t for name in group for t in stated.get(name, [])[:1]][:1]
            )
            if types:
                found[declared.name] = types
        return found

    def _stated(self) -> dict[str, list[Type]]:
        """The types that the statement says, also behind the cursor."""
        written = self.written
        if written is None or written.declaration is None:
            return {}
        whole = ReadStatement(self.document.syntax, written)
        found: dict[str, list[Type]] = {}
        for index, token in enumerate(whole.tokens):
            part = whole.part(index)
            if part is not None and part.kind == TYPE and part.operand is not None:
                type = parsed_type(token, self.document.settings.version)
                if type is not None:
                    found.setdefault(part.name, []).append(type)
        return found


def is_subsequence(wanted: str, text: str) -> bool:
    """Whether the letters occur in this order, as editors filter what they offer."""
    place = 0
    lowered = text.lower()
    for letter in wanted.lower():
        place = lowered.find(letter, place) + 1
        if not place:
            return False
    return True
