"""Reading a text again after an edit, with as little as possible read anew.

What was read is a tree of statements (`text/recording.py`).  After an edit those whose tokens it touched are read
again, in the innermost body that holds all of the edit, until the parser comes to a place where a statement began
before: from there on it would do what it did.  If it does not come to one, the statement around the body is read again.

Other statements depend on what these define.  Where a name has a new value of the same type, its users take that.
Where it is defined no longer, or now, or has another type, every statement that mentions it further down is read again
in turn.  What may depend on more (aliases, labels, uses before definitions) is read as a whole: a scope, or the text.
So the result is that of reading the whole text, always.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from heapq import heappop, heappush

from tileir.annotations import Final
from tileir.collector import CollectorPaused
from tileir.ir.core import Block, Operation
from tileir.ir.diagnostics import Diagnostic, has_errors
from tileir.ir.location import TextLocation, renew
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, Version
from tileir.text.reading import wrap_top_level
from tileir.text.recording import Body, RecordingParser, RegionNames, Scope, Statement
from tileir.text.renumbering import renumber, renumber_diagnostics, renumber_names
from tileir.text.replacing import put_in, take_out
from tileir.text.token_text import TokenChange, TokenText
from tileir.text.values import ForwardReference

# A statement may look at this many tokens behind its end: `loc` and `(`, or what seems to begin another.
_AHEAD: Final = 3
_NAME_GOES_ON: Final = re.compile(r"[\w$.\-]", re.ASCII)
# If more statements than these depend on an edit, reading everything is as fast.
_MOST_MENTIONS: Final = 2000


class _Attempt:
    """Statements that were read for others: those of a body from one number to another."""

    __slots__ = ("block", "body", "first", "found", "forward", "given", "last", "poisoned")

    def __init__(self, body: Body, first: int) -> None:
        self.body: Body = body
        self.first: int = first
        self.last: int = first
        self.block: Block = Block()
        self.found: list[Statement] = []
        self.given: dict[str, ForwardReference] = {}
        self.forward: dict[str, ForwardReference] = {}
        self.poisoned: dict[str, list[Statement]] = {}


class EditedText:
    """A text and the program in it.

    `module` is what could be read; it is `complete` if there were no errors.  `diagnostics` is what there is to say, in
    no order.
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
        # Statements with diagnostics, and scopes with names that wait for a definition.
        self.diagnosed: dict[Statement, None] = {}
        self.scopes: dict[Scope, None] = {}
        self.module: Operation | None = None
        self.diagnostics: list[Diagnostic] = []
        self.complete: bool = True
        self.whole_reads: int = 0
        self._read()

    # --- the whole text ---

    def _read(self) -> None:
        self.whole_reads += 1
        self.spoiled: bool = False
        self.parser: RecordingParser = RecordingParser(
            self.tokens, self.version, self.allow_unregistered, self.draft_spellings
        )
        parser = self.parser
        block = Block()
        with CollectorPaused():
            parser.parse_operations(block)
            parser.close_scope()
        top = parser.top
        assert top is not None
        self.top: Body = top
        self.diagnosed = {}
        self.scopes = {}
        self._register(top.statements)
        if top.scope.waiting:
            self.scopes[top.scope] = None
        self._finish()

    def _register(self, statements: list[Statement]) -> None:
        pending = list(statements)
        while pending:
            statement = pending.pop()
            if statement.diagnostics:
                self.diagnosed[statement] = None
            for body in statement.bodies:
                if body.scope.waiting:
                    self.scopes[body.scope] = None
                pending.extend(body.statements)

    def _finish(self) -> None:
        """Make the module and the list of diagnostics."""
        block = self.top.block
        found = [diagnostic for statement in self.diagnosed for diagnostic in statement.diagnostics]
        source = self.parser.source
        for scope in self.scopes:
            for name, waiting in scope.waiting.items():
                if not waiting.poisoned:
                    place = TextLocation(source, waiting.token)
                    found.append(Diagnostic("error", f"use of undeclared SSA value name '{name}'", place))
        if self.tokens.tokens[self.top.end] != "":
            found.append(Diagnostic("error", "unbalanced '}'", TextLocation(source, self.top.end)))
        self.diagnostics = found
        self.complete = not has_errors(found)
        block.parent = None
        self.module = wrap_top_level(block, source, False)

    def _unwrap(self) -> None:
        """Put the module back into the block that it was read into."""
        block = self.top.block
        module = self.module
        if module is not None and module.parent is None and block.first is None:
            statements = [each for each in self.top.statements if each.first is not None]
            if statements and statements[0].first is module:
                block.append(module)
        block.parent = None

    # --- an edit ---

    def update(self, change: TokenChange) -> None:
        """Follow an edit of the tokens."""
        renew(self.parser.source, self.tokens.text, self.tokens.starts)
        self._unwrap()
        with CollectorPaused():
            if self._update(change):
                self._finish()
                return
        self._read()

    def _update(self, change: TokenChange) -> bool:
        parser = self.parser
        if not self.top.statements or parser.broken_aliases or self.top.scope.tangled:
            return False
        if change.old_end > self.top.end:
            # Behind a brace too many nothing is read but the aliases that are used.
            return False
        body, first, last = self._damaged(change)
        begin = body.statements[first].start
        if self._had_special(body, first, last):
            return False
        lost = self._lose(body.scope, begin, max(body.statements[last - 1].end, change.old_end))
        self._shift(change, body, last)
        stop = change.new_end
        pending: list[int] = []
        attempt = self._read_again(body, first, last, stop)
        if attempt is None:
            return False
        position = self._commit(attempt, lost, pending)
        while pending:
            if len(pending) > _MOST_MENTIONS:
                return False
            place = heappop(pending)
            if place < position:
                continue
            body, first = self._statement_at(place)
            statement = body.statements[first]
            if not statement.start <= place < statement.end:
                continue
            lost = self._lose(body.scope, statement.start, statement.end)
            attempt = self._read_again(body, first, first + 1, statement.end)
            if attempt is None:
                return False
            position = self._commit(attempt, lost, pending)
        return True

    def _damaged(self, change: TokenChange) -> tuple[Body, int, int]:
        """The innermost body that holds an edit, and which of its statements depend on it; in the old numbers."""
        body = self.top
        while True:
            statements = body.statements
            inner: Body | None = None
            index = bisect_right(statements, change.first, key=_start) - 1
            if index >= 0:
                for each in statements[index].bodies:
                    closed = self._is_closed(each, change)
                    if each.start <= change.first and change.old_end <= each.end and closed and each.statements:
                        inner = each
            if inner is None or inner.region.labelled or inner.scope.tangled:
                break
            body = inner
        first = bisect_right(statements, change.first - _AHEAD, key=_end)
        last = bisect_left(statements, change.old_end + 2, first, key=_start)
        first = min(first, len(statements) - 1)
        return body, first, max(last, first + 1)

    def _is_closed(self, body: Body, change: TokenChange) -> bool:
        """Whether a brace ends a body; an edit near the end of one that nothing ends changes what is said about it."""
        end = body.end - change.old_end + change.new_end if body.end >= change.old_end else body.end
        tokens = self.tokens.tokens
        return tokens[min(end, len(tokens) - 1)] == "}" or change.old_end + _AHEAD < body.end

    def _is_special(self, begin: int, end: int) -> bool:
        """Whether there is something among tokens whose meaning is not only of this place."""
        tokens = self.tokens.tokens
        for index in range(max(begin - 1, 0), min(end, self.tokens.count)):
            token = tokens[index]
            if token[:1] in ("#", "!"):
                if tokens[index + 1] == "=" or (token[0] == "!" and "." not in token):
                    return True
            elif token[:1] == "^" or token == "module" or token == '"builtin.module"':
                return True
        return False

    def _had_special(self, body: Body, first: int, last: int) -> bool:
        for statement in body.statements[first:last]:
            if statement.is_alias or (statement.first is None and statement.poisons is None):
                return True
        return False

    def _lose(self, scope: Scope, begin: int, end: int) -> dict[str, ForwardReference]:
        """Forget the names that wait for a definition since some tokens; gives them."""
        lost = {name: waiting for name, waiting in scope.waiting.items() if begin <= waiting.token < end}
        for name in lost:
            del scope.waiting[name]
        return lost

    def _shift(self, change: TokenChange, body: Body, last: int) -> None:
        """Renumber what stands behind an edit."""
        renumber(change, body, last)
        renumber_diagnostics(change, self.diagnosed)
        renumber_names(change, self.scopes, self.parser.alias_positions)

    # --- reading statements again ---

    def _read_again(self, body: Body, first: int, last: int, stop: int) -> _Attempt | None:
        """Read some statements of a body again, or those around it; None if the whole text must be."""
        while True:
            # Names that are mentioned up to where reading should end are looked up; if it goes on, all to the end.
            wanted = body.statements[last].start if last < len(body.statements) else body.end
            for limit in (max(stop, wanted) + _AHEAD, body.end):
                attempt = self._attempt(body, first, last, stop, limit)
                if attempt is not None and self.parser.position <= limit:
                    begin = body.statements[first].start
                    if self._is_special(begin, self.parser.position + _AHEAD) or _names_owner(attempt):
                        return None
                    if self.parser.broken_aliases:
                        # Who comes to such an alias first is told of it in another way than who comes later.
                        return None
                    return attempt
                if attempt is None:
                    break
                self._discard(attempt)
                if self.spoiled:
                    return None
            owner = body.owner
            if owner is None or self.spoiled:
                return None
            body = owner.body
            first = bisect_left(body.statements, owner.start, key=_start)
            last = first + 1
            stop = owner.end

    def _attempt(self, body: Body, first: int, last: int, stop: int, limit: int) -> _Attempt | None:
        parser = self.parser
        attempt = _Attempt(body, first)
        start = body.statements[first].start if first else body.start
        scope, region = body.scope, body.region
        outer = scope.poisoned
        given = {name: each for name, each in scope.waiting.items() if each.token < start}
        attempt.given = given
        parser.values = self._values(body, start, limit)
        parser.forward = dict(given)
        for name, waiting in given.items():
            parser.values.setdefault(name, waiting)
        parser.poisoned = {name for name, by in outer.items() if any(each.start < start for each in by)}
        parser.defined = []
        parser.blocks, parser.waiting_blocks = {}, {}
        parser.block = attempt.block
        parser.body = body
        parser.nesting = parser.stack_base = body.nesting
        parser.dialects = [body.dialect]
        parser.declarations = body.declarations
        parser.diagnostics = []
        parser.again = True
        parser.open_aliases = set()
        parser.locating = 0
        parser.position = start
        known, scope.poisoned = scope.poisoned, attempt.poisoned
        values, scope.values = scope.values, parser.values
        definitions, region.definitions = region.definitions, {}
        defined, region.defined = region.defined, parser.defined
        try:
            index = parser.read_statements(body, attempt.found, body.statements, last)
        finally:
            scope.poisoned, scope.values = known, values
            region.definitions, region.defined = definitions, defined
        attempt.forward = parser.forward
        if index < 0:
            index = len(body.statements)
            if parser.position != body.end:
                self._discard(attempt)
                return None
        # The last statement may have looked at what is behind it: only the same must be there.
        attempt.last = index
        if first == 0 and index == len(body.statements) and not attempt.found:
            self._discard(attempt)
            return None
        return attempt

    def _discard(self, attempt: _Attempt) -> None:
        """Let go of what was read.  Where it defined what others wait for, they have taken that: all is read anew."""
        if any(name not in self.parser.forward for name in attempt.given):
            self.spoiled = True
        operation = attempt.block.first
        while operation is not None:
            operation.drop_all_references()
            operation = operation.next

    def _values(self, body: Body, start: int, limit: int) -> dict[str, Value]:
        """The values that statements from one token to another may name."""
        tokens = self.tokens.tokens
        wanted: set[str] = set()
        for token in tokens[start:limit]:
            if token[:1] == "%":
                wanted.add(token)
                if "#" in token:
                    wanted.add(token.partition("#")[0])
                else:
                    wanted.add(f"{token}#0")
        found: dict[str, Value] = {}
        region: RegionNames | None = body.region
        inside: Statement | None = None
        current: Body | None = body
        while region is not None:
            definitions = region.definitions
            for name in wanted:
                known = definitions.get(name)
                if known is not None:
                    by = known[0]
                    if by is None or (by.start < start and by is not inside):
                        found.setdefault(name, known[1])
            region = region.outer
            inside = current.owner if current is not None else None
            current = inside.body if inside is not None else None
        return found

    # --- putting them in the place of the others ---

    def _commit(self, attempt: _Attempt, lost: dict[str, ForwardReference], pending: list[int]) -> int:
        """Put what was read in its place, and note what else must be read; gives the token behind it."""
        parser, body = self.parser, attempt.body
        scope, definitions = body.scope, body.region.definitions
        old = body.statements[attempt.first : attempt.last]
        stop = parser.position
        start = attempt.found[0].start if attempt.found else (old[0].start if old else stop)
        lost.update(self._lose(scope, start, stop))
        gone: dict[str, Value] = {}
        poisons: set[str] = set()
        for statement in old:
            for name in statement.names:
                known = definitions.get(name)
                if known is not None and known[0] is statement:
                    gone[name] = known[1]
                    del definitions[name]
        self._remove(old, scope, poisons)
        put_in(body, attempt.first, attempt.last, attempt.found, attempt.block, parser.source)
        changed: set[str] = set()
        for statement in attempt.found:
            for name in statement.names:
                value = parser.values[name]
                definitions[name] = (statement, value)
                before = gone.pop(name, None)
                if before is None or before.type is not value.type:
                    changed.add(name)
                else:
                    before.replace_all_uses_with(value)
        changed.update(gone)
        for name, statements in attempt.poisoned.items():
            scope.poisoned.setdefault(name, []).extend(statements)
            if name not in poisons:
                changed.add(name)
        changed.update([name for name in poisons if name not in attempt.poisoned])
        for name, waiting in attempt.forward.items():
            if name in attempt.given:
                continue
            known_waiting = lost.pop(name, None)
            scope.waiting[name] = waiting
            same = known_waiting is not None and known_waiting.type is waiting.type
            if same and known_waiting is not None and known_waiting.poisoned == waiting.poisoned:
                known_waiting.replace_all_uses_with(waiting)
            else:
                changed.add(name)
        changed.update(lost)
        for name in attempt.given:
            if name not in attempt.forward:
                # Defined now: it has been waited for.
                scope.waiting.pop(name, None)
                changed.add(name)
        if scope.waiting:
            self.scopes[scope] = None
        else:
            self.scopes.pop(scope, None)
        self._register(attempt.found)
        self._mention(scope, changed, {name for each in attempt.found for name in each.names}, stop, pending)
        return stop

    def _remove(self, statements: list[Statement], scope: Scope, poisons: set[str]) -> None:
        take_out(statements)
        pending = list(statements)
        while pending:
            statement = pending.pop()
            self.diagnosed.pop(statement, None)
            if statement.poisons is not None:
                for name in statement.poisons:
                    by = statement.body.scope.poisoned.get(name)
                    if by is not None and statement in by:
                        by.remove(statement)
                        if not by:
                            del statement.body.scope.poisoned[name]
                    if statement.body.scope is scope:
                        poisons.add(name)
            for inner in statement.bodies:
                if inner.scope is not scope:
                    self.scopes.pop(inner.scope, None)
                pending.extend(inner.statements)

    # --- what depends on names ---

    def _mention(self, scope: Scope, changed: set[str], defined: set[str], stop: int, pending: list[int]) -> None:
        """Note every token behind some place that mentions a name whose meaning changed."""
        words = {name.partition("#")[0] for name in changed}
        end = scope.owner.end if scope.owner is not None else self.tokens.count
        starts = self.tokens.starts
        if words and stop < end:
            text = self.tokens.text
            limit = starts[min(end, self.tokens.count)]
            for word in words:
                # `str.find` goes through a long text many times faster than a pattern.
                place = text.find(word, starts[stop], limit)
                while place >= 0:
                    if _NAME_GOES_ON.match(text, place + len(word)) is None:
                        heappush(pending, starts.before(place + 1, self.tokens.count) - 1)
                    place = text.find(word, place + len(word), limit)
        # A note may point at what was read again.
        for statement in self.diagnosed:
            if statement.body.scope is scope and statement.start >= stop:
                if any(diagnostic.notes for diagnostic in statement.diagnostics):
                    if any(token in defined for token in self.tokens.tokens[statement.start : statement.end]):
                        heappush(pending, statement.start)

    def _statement_at(self, token: int) -> tuple[Body, int]:
        """The innermost statement that a token belongs to, as its body and its number there."""
        body = self.top
        while True:
            index = max(bisect_right(body.statements, token, key=_start) - 1, 0)
            inner = [each for each in body.statements[index].bodies if each.start <= token < each.end]
            usable = bool(inner) and bool(inner[0].statements) and not inner[0].region.labelled
            if not usable or inner[0].scope.tangled or token < inner[0].statements[0].start:
                return body, index
            body = inner[0]

    def operations_at(self, token: int) -> list[Operation]:
        """The operations of the innermost statement that a token belongs to, without those inside them."""
        body = self.top
        while True:
            index = bisect_right(body.statements, token, key=_start) - 1
            if index < 0 or token >= body.statements[index].end:
                return []
            statement = body.statements[index]
            inner = [each for each in statement.bodies if each.start <= token < each.end]
            if not inner:
                break
            body = inner[0]
        found: list[Operation] = []
        operation = statement.first
        while operation is not None:
            found.append(operation)
            operation = operation.next if operation is not statement.last else None
        return found


def _names_owner(attempt: _Attempt) -> bool:
    """Whether statements use what the one around them defines: that is a use before its definition."""
    words = {name.partition("#")[0] for name in attempt.forward}
    owner = attempt.body.owner
    while words and owner is not None and owner.body.scope is attempt.body.scope:
        if any(name.partition("#")[0] in words for name in owner.names):
            return True
        owner = owner.body.owner
    return False


def _start(statement: Statement) -> int:
    return statement.start


def _end(statement: Statement) -> int:
    return statement.end
