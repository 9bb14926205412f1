"""Reading what stands in the dialect's own attributes: keywords of enumerations, and what an `assume` promises."""

from __future__ import annotations

from tileir.dialect.attributes import bounded, div_by, same_elements
from tileir.ir.attributes import Attribute
from tileir.ir.enums import EnumAttribute, EnumKind
from tileir.ir.types import IntegerType, Type
from tileir.text import draft_spellings
from tileir.text.alias_reading import AliasCursor


class DialectAttributeCursor(AliasCursor):
    """Adds the bodies of the dialect's attributes to the cursor."""

    def parse_optional_enum(self, kind: EnumKind, is_string_allowed: bool = False) -> EnumAttribute | None:
        """A keyword of an enumeration that the version has; a draft spelling is remarked upon (docs/conflicts.md B)."""
        start = self.position
        keyword = self.tokens[start]
        if is_string_allowed and keyword[:1] == '"':
            keyword = self.string_value(keyword, start)
        found = kind.cases.get(keyword)
        if found is None:
            found = draft_spellings.enum_case(self, kind, keyword, start)
        elif kind.since.get(keyword, self.version) > self.version or not draft_spellings.has_case(self, kind, keyword):
            return None
        if found is not None:
            self.position = start + 1
        return found

    def parse_predicate_body(self, name: str, start: int) -> Attribute | None:
        """What an `assume` may promise; None when `name` is no predicate."""
        if name == "div_by":
            self.expect("<")
            divisor = self._parse_unsigned("divisor")
            every: int | None = None
            along: int | None = None
            if self.accept(","):
                if self.accept("every"):
                    every = self.parse_integer()
                if self.accept("along"):
                    along = self.parse_integer()
                if every is None and along is None:
                    self.fail("expected 'every'")
            self.expect(">")
            return div_by(divisor, every, along)
        if name == "bounded":
            self.expect("<")
            lower = self._parse_bound()
            self.expect(",")
            upper = self._parse_bound()
            strict = draft_spellings.strict_bounds(self)
            self.expect(">")
            return bounded(lower, upper, strict)
        if name == "same_elements":
            self.expect("<")
            splat = draft_spellings.splat_elements(self)
            if splat is not None:
                return splat
            values = self.parse_integer_list()
            self.expect(">")
            return same_elements(tuple(values))
        return None

    def _parse_unsigned(self, what: str) -> int:
        start = self.position
        value = self.parse_integer()
        if value < 0 or value >= 1 << 64:
            self.fail(f"expected unsigned 64-bit integer for {what}", start)
        return value

    def _parse_bound(self) -> int | None:
        if self.accept("?"):
            return None
        start = self.position
        value = self.parse_integer()
        if not -(1 << 63) <= value < 1 << 63:
            self.fail("integer value too large", start)
        return value

    def parse_integer_list(self) -> list[int]:
        """`[` (integer (`,` integer)*)? `]`"""
        self.expect("[")
        values: list[int] = []
        if not self.accept("]"):
            while True:
                values.append(self.parse_integer())
                if not self.accept(","):
                    break
            self.expect("]")
        return values

    def checked_integer(self, type: Type, value: int, token: int) -> int:
        """An integer that fits its type, read as signed; i1 is 0 or 1."""
        if not isinstance(type, IntegerType):
            return value
        width = type.width
        if not -(1 << (width - 1)) <= value < 1 << width:
            self.fail("integer constant out of range for attribute", token)
        if width == 1:
            return value & 1
        return value - (1 << width) if value >= 1 << (width - 1) else value
