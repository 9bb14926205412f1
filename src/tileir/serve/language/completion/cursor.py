"""The cursor in a text: its statement, the word that is being typed, and the values that can be used; signature help.

Only the text before the cursor counts, read on its own: what follows may be the rest of another statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final
from weakref import WeakKeyDictionary

from lsprotocol import types as lsp

from tileir.analyze.documentation.grammar import results_form
from tileir.analyze.documentation.pages import attribute_words, prose, type_words
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.types import Type
from tileir.serve.language.completion.operands import Pool, Visible
from tileir.serve.language.document.document import Document, markup
from tileir.serve.language.document.scanner import OperationNode, RegionNode
from tileir.serve.language.document.statement import TYPE, VALUE, WORD, NodeStatement, Part, Statement, type_of
from tileir.serve.language.document.tree import Name, is_subsequence
from tileir.text.lexer import TYPES_WITH_PARAMETERS, tokenize

SIGNATURE_TRIGGERS: Final = [" ", ",", "<", "(", "[", ":", "=", ">"]
_PREFIX: Final = re.compile(r"[%@^][\w$.\-]*$|[#!]?[A-Za-z_][\w$.]*$|[#!]$")
_TYPE_HEAD: Final = re.compile(rf"!?(?:cuda_tile\.)?({'|'.join(TYPES_WITH_PARAMETERS)})\s*$")
# A statement continues on another line after these.
_CONTINUED: Final = frozenset([",", "->", ":", "(", "[", "<", "=", "in", "to", "step", "iter_values"])
# How many of the nearest values are used, so that a long kernel costs no more than a short one.
NEAREST: Final = 200
_pools: Final[WeakKeyDictionary[Document, Pool]] = WeakKeyDictionary()


class Cursor:
    """The position in a text where something is typed.

    `prefix` is the word before the cursor, `start` where it begins.  `node` is the statement that continues there, None
    where a new one begins, in `region`; then `results` are the tokens that name its results, if there are some.
    """

    def __init__(self, document: Document, offset: int) -> None:
        self.document = document
        self.offset = offset
        syntax = document.syntax
        self._line = document.line_start(document.line_of(offset))
        found = _PREFIX.search(document.text, self._line, offset)
        self.prefix: str = found[0] if found is not None else ""
        self.start: int = offset - len(self.prefix)
        self.last: int = syntax.token_before(self.start)
        """The last token that begins before the word."""
        self.region: RegionNode = syntax.top
        self.node: OperationNode | None = None
        self.results: list[int] = []
        self.expects_name: bool = False
        """Whether the name of an operation is to come."""
        self._find(syntax.operation_of_token(self.last))
        self.statement: Statement | None = self._read(self.node)
        """The statement that continues here, as far as it is written."""

    @property
    def is_in_comment_or_string(self) -> bool:
        syntax = self.document.syntax
        is_inside = self.last >= 0 and syntax.end(self.last) > self.start
        return syntax.is_comment(self.offset) or (is_inside and syntax.tokens[self.last][:1] == '"')

    def _find(self, node: OperationNode | None) -> None:
        opened = [region for region in node.regions if region.opening == self.last] if node is not None else []
        if node is None or opened:
            self.region = opened[0] if opened else self.region
            self.expects_name = True
            return
        self.region = node.region
        before = self.document.syntax.tokens[self.last]
        is_on_next_line = "\n" in self.document.text[self.document.syntax.end(self.last) : self.start]
        if node.name < 0 or node.name > self.last:
            self.results = node.results if before == "=" else []
            self.expects_name = bool(self.results) if before == "=" else is_on_next_line
            return
        self.node = node
        if (is_on_next_line or before == "}") and before not in _CONTINUED:
            statement = self._read(node)
            is_whole = statement is None or not statement.is_complete or statement.may_end
            self.expects_name = is_whole or self.prefix[:1].isalpha()
            self.node = None if self.expects_name else node

    def _read(self, node: OperationNode | None) -> Statement | None:
        syntax = self.document.syntax
        if node is None or node.declaration is None or node.name < 0:
            return None
        if any(region.opening < self.last for region in node.regions):
            return NodeStatement(syntax, node, self.last + 1)
        text = self.document.text[syntax.end(node.name) : self.start]
        return Statement(node.declaration, [token for token in tokenize(text) if token])

    def open_type(self) -> tuple[str, int] | None:
        """The type whose bracket is open here: its name, and where the outermost one begins."""
        text = self.document.text
        depth = 0
        found: tuple[str, int] | None = None
        for offset in range(self.start - 1, self._line - 1, -1):
            character = text[offset]
            if character == ">" and text[offset - 1] != "-":
                depth += 1
            elif character == "<" and depth:
                depth -= 1
            elif character == "<":
                head = _TYPE_HEAD.search(text, self._line, offset)
                if head is None:
                    break
                found = (head[1] if found is None else found[0], head.start())
            elif character in '"%' and depth == 0:
                break
        return found

    # --- what can be used here ---

    def names(self) -> list[Name]:
        """The nearest visible values that the word may become, nearest first."""
        letters = self.prefix[1:] if self.prefix[:1] == "%" else ""
        return list(islice((name for name in self._visible() if is_subsequence(letters, name.text)), NEAREST))

    def _visible(self) -> Iterator[Name]:
        own = self.node.results if self.node is not None else self.results
        return (name for name in self.document.syntax.visible_values(self.last + 1) if name.definition not in own)

    def pool(self) -> Pool:
        """What a statement here can be made of; the last one again, if it would be the same."""
        symbols = self.document.syntax.globals
        values = [Visible(name.text, type_of(self.document, name)) for name in islice(self._visible(), NEAREST)]
        known = _pools.get(self.document)
        if known is None or known.values != values or known.symbols != symbols:
            known = _pools[self.document] = Pool(values, symbols=symbols)
        return known

    def operand_types(self) -> dict[str, list[Type]]:
        """The types of the operands that the statement has: of its values, or as it states them, also further on."""
        statement, node, document = self.statement, self.node, self.document
        if statement is None or node is None:
            return {}
        stated = NodeStatement(document.syntax, node).types(document.settings.version)
        found: dict[str, list[Type]] = {}
        declaration = statement.format.declaration
        for name in [declared.name for declared in declaration.operands]:
            known: list[Type] = []
            for token in statement.values(name):
                visible = document.syntax.visible_values(self.last + 1)
                value = next((each for each in visible if each.text == token.partition("#")[0]), None)
                type = type_of(document, value) if value is not None else None
                known += [type] if type is not None else []
            group = next((group for group in declaration.same_types if name in group), ())
            of_group = [type for each in group for type in stated.get(each, [])[:1]][:1]
            known = known or stated.get(name, []) or of_group
            if known:
                found[name] = known
        return found


def signature_help(document: Document, position: lsp.Position) -> lsp.SignatureHelp | None:
    """The format of the statement at a position, with the part that is to come; None before the operation's name."""
    cursor = Cursor(document, document.offset(position))
    statement, node = cursor.statement, cursor.node
    if statement is None or node is None or cursor.is_in_comment_or_string:
        return None
    if any(region.opening < cursor.last for region in node.regions):
        return None
    declaration = statement.format.declaration
    results = results_form(declaration)
    shown = [part for part in statement.format.parts if part.kind != WORD or part.name[:1].isalpha()]
    parameters = [
        lsp.ParameterInformation(
            (part.start + len(results), part.end + len(results)), markup(_part_documentation(declaration, part))
        )
        for part in shown
    ]
    active = _active(statement, shown)
    summary = markup(f"{prose(declaration.summary)}.")
    signature = lsp.SignatureInformation(results + statement.format.line, summary, parameters, active)
    return lsp.SignatureHelp([signature], 0, active)


def _part_documentation(declaration: OperationDeclaration, part: Part) -> str:
    if part.kind in (VALUE, TYPE) and part.operand is not None:
        return f"{type_words(part.operand.constraint)}: {prose(part.operand.documentation)}"
    if part.attribute is not None:
        return f"{prose(part.attribute.documentation)}: {attribute_words(declaration, part.attribute)}"
    return ""


def _active(statement: Statement, shown: list[Part]) -> int | None:
    """The part that the cursor is in or before; after the last one, that one."""
    if statement.inside is not None and statement.inside in shown:
        return shown.index(statement.inside)
    expected = [part for part in statement.expected if part in shown]
    if expected:
        required = [part for part in expected if part.kind != WORD]
        return shown.index((required or expected)[0])
    last = statement.part(statement.read - 1)
    before = [number for number, part in enumerate(shown) if last is not None and part.start <= last.start]
    return before[-1] if before else None
