"""Names of values, used before or after their definition, and recovery after an error."""

from __future__ import annotations

from tileir.annotations import NoReturn
from tileir.ir.attributes import Attribute
from tileir.ir.diagnostics import Code, Diagnostic, note
from tileir.ir.location import UNKNOWN, Location, TextLocation
from tileir.ir.registry import REGISTRY
from tileir.ir.types import Type
from tileir.ir.values import BlockArgument, Value
from tileir.ir.versions import Version
from tileir.text.cursor import SyntaxFailure
from tileir.text.locations import LocationCursor


class StopParsing(Exception):
    """Raised after the first error when recovery is off."""


class ValueCursor(LocationCursor):
    def __init__(self, text: str, name: str, version: Version, first_line: int = 1) -> None:
        super().__init__(text, name, version, first_line)
        # The visible values, the names that the innermost region defines, and the values that wait for a definition.
        self.values: dict[str, Value] = {}
        self.defined: list[str] = []
        self.forward: dict[str, Value] = {}
        # The token that first used each of those, the names that broken operations would have defined, and the values
        # that stand for them.
        self.first_uses: dict[Value, int] = {}
        self.poisoned: set[str] = set()
        self.poisoned_values: set[Value] = set()
        # The attributes of constants, by type and number.
        self.constants: dict[tuple[Type, str], dict[str, Attribute]] = {}
        # The tokens that are braces; found at the first error.
        self.opening_braces: list[int] | None = None
        self.closing_braces: list[int] = []

    def define(self, name: str, value: Value, token: int) -> None:
        known = self.values.get(name)
        if known is not None:
            waiting = self.forward.pop(name, None)
            if waiting is None:
                base = name.partition("#")[0]
                code = Code("redefined-value", name=base)
                message = f"redefinition of SSA value '{base}'"
                self._fail_noting(message, token, "previously defined here", self._definition(name, known), code)
            if waiting.type is not value.type and waiting not in self.poisoned_values:
                numbered = name if "#" in name else f"{name}#0"
                message = f"definition of SSA value '{numbered}' has type '{value.type.text}'"
                before = f"previously used here with type '{waiting.type.text}'"
                self._fail_noting(message, token, before, self.location(self.first_uses[waiting]))
            waiting.replace_all_uses_with(value)
        self.values[name] = value
        self.defined.append(name)

    def resolve(self, token: int, type: Type) -> Value:
        """The value a token names, which must have the type."""
        name = self.tokens[token]
        value = self.values.get(name)
        if value is None:
            return self._resolve_forward(name, token, type)
        if value.type is not type and value in self.poisoned_values:
            return self._placeholder(type, token, True)
        return self._checked(name, value, token, type)

    def _placeholder(self, type: Type, token: int, is_poisoned: bool) -> Value:
        """A value that stands for one used before its definition, or for one whose definition could not be read."""
        value = Value(type)
        self.first_uses[value] = token
        if is_poisoned:
            self.poisoned_values.add(value)
        return value

    def _checked(self, name: str, value: Value, token: int, type: Type) -> Value:
        if value.type is not type:
            base = name.partition("#")[0]
            code = Code("type-of-use", name=base, written=type.text, expected=value.type.text)
            texts = f"'{type.text}' vs '{value.type.text}'"
            message = f"use of value '{base}' expects different type than prior uses: {texts}"
            self._fail_noting(message, token, "prior use here", self._definition(name, value), code)
        return value

    def _fail_noting(
        self, message: str, token: int, remark: str, location: Location, code: Code | None = None
    ) -> NoReturn:
        raise SyntaxFailure(Diagnostic("error", message, self.location(token), [note(remark, location)], code))

    def _definition(self, name: str, value: Value) -> Location:
        """Where a value got its name, or was first used."""
        first_use = self.first_uses.get(value)
        if first_use is not None:
            return self.location(first_use)
        operation = value.defining_operation
        if operation is None:
            return value.location if isinstance(value, BlockArgument) else UNKNOWN
        location = operation.location
        if isinstance(location, TextLocation) and location.source is self.source:
            # The location is that of the operation's name; the results stand before it.
            base = name.partition("#")[0]
            token = location.token - 1
            while token >= 0 and (self.tokens[token][:1] in "%=,:" or self.tokens[token].isdigit()):
                if self.tokens[token] == base:
                    return self.location(token)
                token -= 1
        return location

    def _resolve_forward(self, name: str, token: int, type: Type) -> Value:
        base, _, number = name.partition("#")
        if number:
            known = self.values.get(base)
            if not number.strip("0"):
                # The first result goes by the plain name.
                if known is not None:
                    return self._checked(base, known, token, type)
                name = base
            elif known is not None and known not in self.first_uses:
                self.fail("reference to invalid result number", token)
        waiting = self._placeholder(type, token, base in self.poisoned)
        self.values[name] = waiting
        self.forward[name] = waiting
        return waiting

    def value_type(self, token: int) -> Type | None:
        """The type of a value that is already defined."""
        value = self.values.get(self.tokens[token])
        return value.type if value is not None else None

    def close_scope(self) -> None:
        """Report what was used and never defined."""
        for name, waiting in self.forward.items():
            if waiting not in self.poisoned_values:
                message = f"use of undeclared SSA value name '{name}'"
                code = Code("undeclared-value", name=name)
                self.note_failure(Diagnostic("error", message, self.location(self.first_uses[waiting]), None, code))
        self.forward = {}

    def parse_value_token(self) -> list[int]:
        """value, as a list of its one token number"""
        if self.tokens[self.position][:1] != "%":
            self.fail("expected SSA operand")
        self.position += 1
        return [self.position - 1]

    def parse_value_tokens(self) -> list[int]:
        """values ::= value (`,` value)*, as token numbers"""
        found: list[int] = []
        while True:
            if self.tokens[self.position][:1] != "%":
                self.fail("expected SSA operand")
            found.append(self.position)
            self.position += 1
            if self.tokens[self.position] != ",":
                return found
            self.position += 1

    def parse_enclosed_values(self, opening: str, closing: str) -> list[int]:
        """opening values? closing, as token numbers"""
        self.expect(opening)
        if self.accept(closing):
            return []
        found = self.parse_value_tokens()
        self.expect(closing)
        return found

    def note_failure(self, diagnostic: Diagnostic) -> None:
        last = self.diagnostics[-1] if self.diagnostics else None
        # Where a text ends too early, every open region reports the same.
        if last is not None and last.message == diagnostic.message and last.position == diagnostic.position:
            return
        self.diagnostics.append(diagnostic)
        if not self.recover:
            raise StopParsing()

    def recover_after(self, start: int) -> None:
        """Skip to where the next operation seems to begin.

        Braces that the broken operation opened are closed; the names it would have defined are poisoned.
        """
        tokens = self.tokens
        failed = self.position
        index = start
        while tokens[index][:1] == "%":
            self.poisoned.add(tokens[index])
            index += 1
            if tokens[index] == ":":
                index += 2
            if tokens[index] != ",":
                break
            index += 1
        depth = self._opened_between(start, min(failed, len(tokens))) if failed > start else 0
        position = max(failed, start)
        if position == start:
            position += 1
        while tokens[position] != "":
            token = tokens[position]
            if token == "{":
                depth += 1
            elif token == "}":
                if depth <= 0:
                    break
                depth -= 1
            elif depth <= 0 and self._begins_operation(position):
                break
            position += 1
        self.position = position

    def _opened_between(self, start: int, end: int) -> int:
        """How many more braces open than close between two tokens."""
        # Imported here: a program without errors is read without it.
        from bisect import bisect_left

        if self.opening_braces is None:
            self.opening_braces = [index for index, token in enumerate(self.tokens) if token == "{"]
            self.closing_braces = [index for index, token in enumerate(self.tokens) if token == "}"]
        opened = bisect_left(self.opening_braces, end) - bisect_left(self.opening_braces, start)
        return opened - bisect_left(self.closing_braces, end) + bisect_left(self.closing_braces, start)

    def _begins_operation(self, position: int) -> bool:
        tokens = self.tokens
        token = tokens[position]
        if token[:1] == "%":
            following = tokens[position + 1]
            return following == "=" or (following in (",", ":") and self._is_first_on_line(position))
        if token[:1] == "^" or (token[:1] == "#" and tokens[position + 1] == "="):
            return True
        known = token[:1].isalpha() and (f"cuda_tile.{token}" in REGISTRY.by_name or token in REGISTRY.by_name)
        return known and self._is_first_on_line(position)

    def _is_first_on_line(self, position: int) -> bool:
        if position == 0:
            return True
        before = self.source.token_offset(position - 1) + len(self.tokens[position - 1])
        return "\n" in self.source.text[before : self.source.token_offset(position)]
