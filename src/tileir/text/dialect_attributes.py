"""Reading what stands in the dialect's own attributes: keywords of enumerations, and what an `assume` promises."""

from __future__ import annotations

from tileir.dialect.attributes import SAME_ELEMENTS_EVERYWHERE, bounded, div_by, same_elements
from tileir.ir.attributes import Attribute
from tileir.ir.enums import FIRST_DRAFT_ONLY_VALUE, EnumAttribute, EnumKind
from tileir.ir.types import IntegerType, Type
from tileir.text.alias_reading import AliasCursor
from tileir.text.dense import DenseReader


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
            alias = kind.aliases.get(keyword)
            if alias is None or not self.draft_spellings:
                return None
            self.remark(f"'{keyword}' is read as '{alias}'", start)
            found = kind.cases[alias]
        else:
            is_draft = kind.values[keyword] >= FIRST_DRAFT_ONLY_VALUE
            if kind.since.get(keyword, self.version) > self.version or (is_draft and not self.draft_spellings):
                return None
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
            strict = self._parse_strictness()
            self.expect(">")
            return bounded(lower, upper, strict)
        if name == "same_elements":
            self.expect("<")
            splat = self._parse_splat()
            if splat is not None:
                return splat
            values = self.parse_integer_list()
            self.expect(">")
            return same_elements(tuple(values))
        return None

    def _parse_strictness(self) -> bool:
        """`bounded<0, 8, strict>`, which only the drafts have (docs/conflicts.md C2)."""
        if not self.draft_spellings or not self.accept(","):
            return False
        if not self.accept("strict"):
            self.fail("expected 'strict'")
        return True

    def _parse_splat(self) -> Attribute | None:
        """`same_elements<dense<1> : tile<4xi32>>`, behind the first bracket: only that it is a splat counts (C3)."""
        if not self.draft_spellings or not self.accept("dense"):
            return None
        self.expect("<")
        reader = DenseReader(self)
        reader.read()
        if not reader.elements or not reader.is_uniform:
            self.fail("expected 'same_elements' to hold a splat: all its elements must be equal", reader.start)
        self.expect(">")
        if self.accept(":"):
            self.parse_type()
        self.expect(">")
        return SAME_ELEMENTS_EVERYWHERE

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
