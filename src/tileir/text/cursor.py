"""A position in the tokens: stepping forward, literals, and errors."""

from __future__ import annotations

from tileir.annotations import NoReturn
from tileir.ir.diagnostics import Code, Diagnostic, note
from tileir.ir.floats import FORMATS, parse_float
from tileir.ir.location import CharacterLocation, Location, SourceText, TextLocation
from tileir.ir.types import FloatType
from tileir.ir.versions import NEWEST, Version
from tileir.text.lexer import TOKEN, UnclosedString, tokenize, unescape

# The deepest nesting of what is parsed recursively on one stack: regions, which then go on on another stack
# (`text/parser.py`), and types of the dialect, of which no valid one nests deeper than three.
MAXIMUM_NESTING = 100
# With aliases of aliases a short text could expand without bound.  What an alias stands for, and all function types
# together, may be this many times as long as the text, plus the allowance.
MAXIMUM_GROWTH = 16
ALLOWANCE = 1 << 16


class SyntaxFailure(Exception):
    """An error that ends the parse of one operation.

    `wants_name` puts the name of the operation in front of the message, as MLIR does for errors of an operation's own
    parser.
    """

    def __init__(self, diagnostic: Diagnostic, wants_name: bool = False) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic: Diagnostic = diagnostic
        self.wants_name: bool = wants_name


class Cursor:
    """Tokens with a position.  `parse_x` demands, `parse_optional_x` takes what is there."""

    def __init__(self, text: str, name: str, version: Version = NEWEST, first_line: int = 1) -> None:
        self.source: SourceText = SourceText(text, name, TOKEN, first_line)
        self.tokens: list[str] = tokenize(text)
        self.position: int = 0
        self.version: Version = version
        self.nesting: int = 0
        # The nesting where the current stack began.
        self.stack_base: int = 0
        # The length of what was read with its aliases written out; `alias` resets it.
        self.expansion: int = 0
        self.draft_spellings: bool = True
        # Off in the drop-ins, which report what NVIDIA's tools report and no more.
        self.recover: bool = True
        self.diagnostics: list[Diagnostic] = []

    def location(self, token: int) -> Location:
        return TextLocation(self.source, token)

    def fail(self, message: str, token: int = -1, code: Code | None = None, wants_name: bool = False) -> NoReturn:
        """Refuse the text at a token, the current one by default; `wants_name` is as in `SyntaxFailure`."""
        location = self.location(self.position if token < 0 else token)
        raise SyntaxFailure(Diagnostic("error", message, location, None, code), wants_name)

    def fail_missing(self, message: str, code: Code | None = None) -> NoReturn:
        """Report what is missing before the current token: on the line before, if the token begins a line."""
        raise SyntaxFailure(Diagnostic("error", message, self.gap(), None, code))

    def gap(self) -> Location:
        """Where something before the current token would stand."""
        token = self.position
        offset = self.source.token_offset(token)
        if token > 0 and "\n" in self.source.text[self.source.token_offset(token - 1) : offset]:
            end = self.source.token_offset(token - 1) + len(self.tokens[token - 1])
            return CharacterLocation(self.source, token, end)
        return self.location(token)

    def fail_inside(self, message: str, token: int, offset: int, code: Code | None = None) -> NoReturn:
        """Refuse the text at a character inside a token."""
        location = CharacterLocation(self.source, token, self.source.token_offset(token) + offset)
        raise SyntaxFailure(Diagnostic("error", message, location, None, code))

    def remark(self, message: str, token: int) -> None:
        """Report that a spelling of the drafts was read as its public form (docs/reference/conflicts.md A to D)."""
        self.diagnostics.append(Diagnostic("remark", message, self.location(token)))

    def enter(self) -> None:
        """Go one level deeper."""
        self.nesting += 1
        if self.nesting - self.stack_base > MAXIMUM_NESTING:
            self.fail(f"nesting is too deep (more than {MAXIMUM_NESTING} levels)")

    def leave(self) -> None:
        self.nesting -= 1

    def accept(self, token: str) -> bool:
        """Step over `token` if it is next."""
        if self.tokens[self.position] == token:
            self.position += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if self.tokens[self.position] != token:
            self.fail_missing(f"expected '{token}'", Code("expected-token", token=token))
        self.position += 1

    def peek(self) -> str:
        return self.tokens[self.position]

    def at_end(self) -> bool:
        return self.tokens[self.position] == ""

    def is_identifier(self) -> bool:
        first = self.tokens[self.position][:1]
        return (first.isalpha() and first.isascii()) or first == "_"

    def parse_keyword(self) -> str:
        """keyword ::= bare-id"""
        token = self.tokens[self.position]
        if not self.is_identifier():
            self.fail("expected valid keyword")
        self.position += 1
        return token

    def parse_string(self) -> str:
        """string ::= `"` ... `"`"""
        token = self.tokens[self.position]
        if token[:1] != '"' or len(token) < 2:
            self.fail("expected string")
        self.position += 1
        return self.string_value(token, self.position - 1)

    def string_value(self, token: str, position: int) -> str:
        try:
            return unescape(token)
        except ValueError as error:
            self.fail(str(error), position, Code("unclosed-string") if isinstance(error, UnclosedString) else None)

    def parse_integer(self) -> int:
        """integer ::= `-`? (decimal | hexadecimal)"""
        start = self.position
        negative = self.accept("-")
        token = self.tokens[self.position]
        value = self.integer_token(token)
        if value is None:
            self.fail("expected integer value", start)
        self.position += 1
        return -value if negative else value

    def integer_token(self, token: str) -> int | None:
        """The value of an integer token; literals of absurd length are refused rather than computed."""
        if token[:2] == "0x":
            if len(token) > 130:
                self.fail("integer value too large")
            return int(token, 16)
        if not (token.isascii() and token.isdigit()):
            return None
        if len(token) > 40:
            self.fail("integer value too large")
        return int(token)

    def float_bits(self, type: FloatType, negative: bool, token: str, position: int) -> int:
        """The bit pattern of a float literal: decimal, or hexadecimal for the pattern itself."""
        form = FORMATS[type.name]
        if token[:2] == "0x":
            if negative:
                self.fail("hexadecimal float literal should not have a leading minus", position)
            value = self.integer_token(token)
            if value is None or value >> form.width:
                self.fail("hexadecimal float constant out of range for type", position)
            return value
        if token.isdigit():
            message = "unexpected decimal integer literal for a floating point value"
            hint = note("add a trailing dot to make the literal a float", self.location(position))
            raise SyntaxFailure(
                Diagnostic("error", message, self.location(position), [hint], Code("integer-for-float"))
            )
        try:
            return parse_float(form, ("-" if negative else "") + token)
        except ValueError as error:
            self.fail(str(error), position)

    def parse_symbol_name(self) -> str:
        """symbol-name ::= `@` (bare-id | string)"""
        token = self.tokens[self.position]
        if token[:1] != "@" or len(token) < 2:
            self.fail("expected valid '@'-identifier for symbol name")
        self.position += 1
        name = token[1:]
        return self.string_value(name, self.position - 1) if name[0] == '"' else name
