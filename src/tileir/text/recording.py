"""A parser that notes which tokens each operation came from, so that a text can be read again in parts.

A *statement* is what the parser reads in one turn: an operation, an alias, or what a mistake made it skip.  A *body* is
a row of statements: one block of a region, or the whole text.
"""

from __future__ import annotations

from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import CharacterLocation, Location, SourceText, TextLocation, renew
from tileir.ir.values import Value
from tileir.ir.versions import Version
from tileir.text.cursor import SyntaxFailure
from tileir.text.lexer import TOKEN
from tileir.text.operation_parser import OperationParser
from tileir.text.reading import generic_form
from tileir.text.token_text import TokenText
from tileir.text.values import ForwardReference


class Scope:
    """The names of an isolated region, or of the whole text.

    `waiting` are names that are used and never defined, `poisoned` those that statements with mistakes would have
    defined.  It is `tangled` if a name was used before its definition: then it is read as a whole.
    """

    __slots__ = ("owner", "poisoned", "tangled", "values", "waiting")

    def __init__(self, owner: Statement | None, values: dict[str, Value]) -> None:
        self.owner: Statement | None = owner
        self.values: dict[str, Value] = values
        self.waiting: dict[str, ForwardReference] = {}
        self.poisoned: dict[str, list[Statement]] = {}
        self.tangled: bool = False


class RegionNames:
    """What the blocks of one region define: the value, and the statement that does unless it is an argument."""

    __slots__ = ("defined", "definitions", "labelled", "outer")

    def __init__(self, defined: list[str], outer: RegionNames | None) -> None:
        self.defined: list[str] = defined
        self.outer: RegionNames | None = outer
        self.definitions: dict[str, tuple[Statement | None, Value]] = {}
        self.labelled: bool = False


class Body:
    """A row of statements, from the token `start` to the token `end` that is no longer part of it.

    `implied` is the terminator that is added where the text has none, `terminator` the one that was.
    """

    __slots__ = (
        "block",
        "declarations",
        "dialect",
        "end",
        "implied",
        "nesting",
        "owner",
        "region",
        "scope",
        "start",
        "statements",
        "terminator",
    )

    def __init__(self, block: Block, owner: Statement | None, start: int, region: RegionNames, scope: Scope) -> None:
        self.block: Block = block
        self.owner: Statement | None = owner
        self.start: int = start
        self.end: int = start
        self.region: RegionNames = region
        self.scope: Scope = scope
        self.statements: list[Statement] = []
        self.implied: OperationDeclaration | None = None
        self.terminator: Operation | None = None
        self.nesting: int = 0
        self.dialect: str = ""
        self.declarations: dict[str, OperationDeclaration] = {}


class Statement:
    """The tokens from `start` to before `end`, and what came of them.

    `first` and `last` are the operations it put into its block, None where there are none.  `anchors` are the places
    in the text that its operations and arguments have: they move with it.  `pointers` are those of its diagnostics and
    their notes, which may be about other places.
    """

    __slots__ = (
        "anchors",
        "bodies",
        "body",
        "diagnostics",
        "end",
        "first",
        "is_alias",
        "last",
        "names",
        "pointers",
        "poisons",
        "start",
    )

    def __init__(self, body: Body, start: int) -> None:
        self.body: Body = body
        self.start: int = start
        self.end: int = start
        self.first: Operation | None = None
        self.last: Operation | None = None
        # Whether it defines an alias, or would: that means something in the whole text.
        self.is_alias: bool = False
        self.names: list[str] = []
        self.poisons: set[str] | None = None
        self.bodies: list[Body] = []
        self.diagnostics: list[Diagnostic] = []
        self.anchors: list[TextLocation] = []
        self.pointers: list[TextLocation] = []


class RecordingParser(OperationParser):
    """Reads a text that is edited; `top` is the body of the whole."""

    def __init__(self, tokens: TokenText, version: Version, allow_unregistered: bool, draft_spellings: bool) -> None:
        super().__init__("", "-", version, allow_unregistered, 1, True, False, draft_spellings, generic_form)
        self.source = SourceText(tokens.text, "-", TOKEN)
        renew(self.source, tokens.text, tokens.starts)
        self.tokens = tokens.tokens
        self.collect_aliases()
        self.top: Body | None = None
        self.statement: Statement | None = None
        self.body: Body | None = None
        self.latest: Scope | None = None
        # Whether this is not the first time.
        self.again: bool = False

    def parse_operations(self, block: Block) -> None:
        owner, outer_body, outer_block = self.statement, self.body, self.block
        body = self._begin_body(block, owner)
        self.body, self.block = body, block
        self.read_statements(body, body.statements, [], 0)
        body.end = self.position
        self.latest = body.scope
        self.statement, self.body, self.block = owner, outer_body, outer_block

    def _begin_body(self, block: Block, owner: Statement | None) -> Body:
        outer = owner.body if owner is not None else None
        scope: Scope | None = outer.scope if outer is not None else None
        isolated = scope is None or scope.values is not self.values
        region: RegionNames | None = None
        if owner is not None and owner.bodies and owner.bodies[-1].region.defined is self.defined:
            region, scope = owner.bodies[-1].region, owner.bodies[-1].scope
        else:
            if scope is None or isolated:
                scope = Scope(owner, self.values)
            region = RegionNames(self.defined, outer.region if outer is not None and not isolated else None)
        if self.tokens[self.position - 1] != "{" and owner is not None:
            region.labelled = True
        for name in self.defined:
            if name not in region.definitions:
                region.definitions[name] = (None, self.values[name])
        body = Body(block, owner, self.position, region, scope)
        body.nesting, body.dialect, body.declarations = self.nesting, self.dialects[-1], self.declarations
        if owner is not None:
            owner.bodies.append(body)
        else:
            self.top = body
        return body

    def read_statements(self, body: Body, found: list[Statement], following: list[Statement], index: int) -> int:
        """Read statements up to the end of a body, or up to where one of those that were read before begins.

        Gives the number of that one, or -1.
        """
        tokens = self.tokens
        block = self.block
        nesting = self.nesting
        outer_diagnostics = self.diagnostics
        synchronized = -1
        while True:
            start = self.position
            token = tokens[start]
            if token == "}" or token == "" or token[:1] == "^":
                break
            while index < len(following) and following[index].start < start:
                index += 1
            if index < len(following) and following[index].start == start:
                synchronized = index
                break
            statement = Statement(body, start)
            self.statement = statement
            self.diagnostics = statement.diagnostics
            before = block.last
            mark = len(self.defined)
            try:
                if token[:1] in ("#", "!") and tokens[start + 1] == "=":
                    statement.is_alias = True
                    self.parse_alias_definition()
                else:
                    self.parse_operation(block)
            except SyntaxFailure as failure:
                self.leave_broken(failure, start, nesting)
                self._recover(statement)
            statement.end = self.position
            if block.last is not before:
                statement.first = before.next if before is not None else block.first
                statement.last = block.last
            self._note_names(statement, mark)
            _note_anchors(statement)
            found.append(statement)
        self.diagnostics = outer_diagnostics
        return synchronized

    def _recover(self, statement: Statement) -> None:
        known, self.poisoned = self.poisoned, set()
        self.recover_after(statement.start)
        statement.poisons = self.poisoned
        known |= self.poisoned
        self.poisoned = known
        poisoned = statement.body.scope.poisoned
        for name in statement.poisons:
            poisoned.setdefault(name, []).append(statement)

    def _note_names(self, statement: Statement, mark: int) -> None:
        defined = self.defined
        if len(defined) > mark:
            definitions = statement.body.region.definitions
            statement.names = defined[mark:]
            for name in statement.names:
                definitions[name] = (statement, self.values[name])

    def define(self, name: str, value: Value, token: int) -> None:
        if name in self.forward and self.statement is not None:
            self.statement.body.scope.tangled = True
        super().define(name, value, token)

    def opened_between(self, start: int, end: int) -> int:
        if not self.again:
            return super().opened_between(start, end)
        # Few tokens are read again: counting all braces of the text would take longer.
        row = self.tokens[start:end]
        return row.count("{") - row.count("}")

    def note_missing_end(self) -> None:
        """Each statement that misses its end says so: they are all read again when the text gets one."""
        self.end_is_missing = False
        super().note_missing_end()

    def close_scope(self) -> None:
        """Keep what was used and never defined: it is told when all is read."""
        scope = self.latest
        if scope is not None and scope.values is self.values:
            scope.waiting = self.forward
        self.forward = {}

    def ensure_terminator(self, region: Region, implied: OperationDeclaration, location: Location) -> None:
        before = region.blocks[-1].last if region.blocks else None
        super().ensure_terminator(region, implied, location)
        last = region.blocks[-1].last
        statement = self.statement
        if statement is None:
            return
        if last is not before and last is not None and isinstance(last.location, TextLocation):
            statement.anchors.append(last.location)
        for body in statement.bodies:
            if body.block is region.blocks[-1]:
                body.implied = implied
                body.terminator = last if last is not before else None


def _note_anchors(statement: Statement) -> None:
    anchors = statement.anchors
    operation = statement.first
    end = statement.last.next if statement.last is not None else None
    while operation is not None and operation is not end:
        location = operation.location
        if isinstance(location, TextLocation):
            anchors.append(location)
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    if isinstance(argument.location, TextLocation):
                        anchors.append(argument.location)
        operation = operation.next
    for diagnostic in statement.diagnostics:
        diagnostic.location = _own(diagnostic.location, statement.pointers)
        for note in diagnostic.notes:
            note.location = _own(note.location, statement.pointers)


def _own(location: Location, pointers: list[TextLocation]) -> Location:
    """A copy of a location that belongs to nobody else."""
    if isinstance(location, CharacterLocation):
        copy: TextLocation = CharacterLocation(location.source, location.token, location.offset)
    elif isinstance(location, TextLocation):
        copy = TextLocation(location.source, location.token)
    else:
        return location
    pointers.append(copy)
    return copy
