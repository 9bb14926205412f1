"""Reading locations and debug information attributes."""

from __future__ import annotations

from tileir.dialect.attributes import (
    DICompileUnit,
    DIFile,
    LocalScope,
    di_compile_unit,
    di_file,
    di_lexical_block,
    di_location,
    di_subprogram,
)
from tileir.ir.attributes import Attribute
from tileir.ir.location import (
    UNKNOWN,
    Location,
    call_site_location,
    file_location,
    fused_location,
    name_location,
)
from tileir.text.attributes import AttributeCursor

# The fields of each debug attribute, as (name, what it holds, whether it may be left out).
_FIELDS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "di_compile_unit": (("file", "di_file", False),),
    "di_subprogram": (
        ("file", "di_file", False),
        ("line", "integer", False),
        ("name", "string", False),
        ("linkageName", "string", False),
        ("compileUnit", "di_compile_unit", False),
        ("scopeLine", "integer", True),
    ),
    "di_lexical_block": (
        ("scope", "scope", False),
        ("file", "di_file", False),
        ("line", "integer", False),
        ("column", "integer", True),
    ),
}


class LocationCursor(AttributeCursor):
    """Adds locations to the cursor."""

    def parse_location_attribute(self) -> Attribute:
        """location ::= `loc` `(` location-body `)`"""
        self.position += 1
        self.expect("(")
        found = self.parse_location_body()
        self.expect(")")
        return found

    def parse_trailing_location(self) -> Location:
        """A location after an operation or an argument."""
        found = self.parse_location_attribute()
        if not isinstance(found, Location):
            self.fail("expected location attribute")
        return found

    def parse_location_body(self) -> Location:
        """location-body ::= `unknown` | string ... | `callsite` ... | `fused` ... | `#`alias"""
        self.enter()
        found = self._parse_location_body()
        self.leave()
        return found

    def _parse_location_body(self) -> Location:
        start = self.position
        token = self.tokens[start]
        if token[:1] == '"':
            return self._parse_name_or_file()
        if token[:1] == "#":
            found = self.parse_hash_attribute()
            if not isinstance(found, Location):
                self.fail("expected location attribute", start)
            return found
        if token == "unknown":
            self.position += 1
            return UNKNOWN
        if token == "callsite":
            self.position += 1
            self.expect("(")
            callee = self.parse_location_body()
            if not self.accept("at"):
                self.fail("expected 'at' in callsite location")
            caller = self.parse_location_body()
            self.expect(")")
            return call_site_location(callee, caller)
        if token == "fused":
            return self._parse_fused()
        if token == "loc":
            found = self.parse_location_attribute()
            if isinstance(found, Location):
                return found
        self.fail("expected location instance")

    def _parse_name_or_file(self) -> Location:
        """string (`:` line `:` column | `(` location `)`)?"""
        name = self.parse_string()
        if self.accept(":"):
            line = self._parse_number("line")
            self.expect(":")
            return file_location(name, line, self._parse_number("column"))
        if self.accept("("):
            child = self.parse_location_body()
            self.expect(")")
            return name_location(name, child)
        return name_location(name)

    def _parse_number(self, what: str) -> int:
        value = self.integer_token(self.peek())
        if value is None or value >= 1 << 32:
            self.fail(f"expected integer {what} number")
        self.position += 1
        return value

    def _parse_fused(self) -> Location:
        """`fused` (`<` attribute `>`)? `[` location (`,` location)* `]`"""
        self.position += 1
        metadata: Attribute | None = None
        if self.accept("<"):
            metadata = self.parse_attribute()
            self.expect(">")
        self.expect("[")
        parts: list[Location] = []
        if not self.accept("]"):
            while True:
                parts.append(self.parse_location_body())
                if not self.accept(","):
                    break
            self.expect("]")
        return fused_location(tuple(parts), metadata)

    # --- debug information ---

    def parse_debug_attribute(self, name: str) -> Attribute | None:
        if name == "di_file":
            self.expect("<")
            file = self.parse_string()
            if not self.accept("in"):
                self.fail("expected 'in'")
            directory = self.parse_string()
            self.expect(">")
            return di_file(file, directory)
        fields = _FIELDS.get(name)
        if fields is None and name != "di_loc":
            return None
        self.enter()
        found = self._parse_debug_location() if fields is None else self._build(name, self._parse_fields(name, fields))
        self.leave()
        return found

    def _parse_debug_location(self) -> Location:
        """`<` location `in` scope `>`"""
        self.expect("<")
        start = self.position
        inner = self.parse_attribute()
        if not isinstance(inner, Location):
            self.fail("expected location attribute", start)
        if not self.accept("in"):
            self.fail("expected 'in'")
        start = self.position
        scope = self.parse_attribute()
        if not isinstance(scope, LocalScope):
            self.fail(f"invalid kind of attribute specified for the scope: {scope.text}", start)
        self.expect(">")
        return di_location(inner, scope)

    def _parse_fields(self, name: str, fields: tuple[tuple[str, str, bool], ...]) -> dict[str, object]:
        """`<` field `=` value (`,` field `=` value)* `>`, in any order."""
        kinds = {field: kind for field, kind, _ in fields}
        found: dict[str, object] = {}
        self.expect("<")
        while True:
            start = self.position
            if not self.is_identifier():
                self.fail("expected a parameter name in struct")
            field = self.parse_keyword()
            if field not in kinds or field in found:
                self.fail(f"duplicate or unknown struct parameter name: {field}", start)
            self.expect("=")
            found[field] = self._parse_field(kinds[field])
            if not self.accept(","):
                break
        for field, _, optional in fields:
            if field not in found and not optional:
                self.fail(f"struct is missing required parameter: {field}")
        self.expect(">")
        return found

    def _parse_field(self, kind: str) -> object:
        start = self.position
        if kind == "integer":
            return self._parse_number("line")
        if kind == "string":
            return self.parse_string()
        # The kind of a nested attribute is known, so its name may be left out: `file = <"k.py" in "/src">`.
        if self.peek() == "<" and kind != "scope":
            value = self.parse_debug_attribute(kind)
        else:
            value = self.parse_attribute()
        wanted = {"di_file": DIFile, "di_compile_unit": DICompileUnit, "scope": LocalScope}[kind]
        if not isinstance(value, wanted):
            self.fail("invalid kind of attribute specified", start)
        return value

    def _build(self, name: str, fields: dict[str, object]) -> Attribute:
        file = fields["file"]
        assert isinstance(file, DIFile)
        if name == "di_compile_unit":
            return di_compile_unit(file)
        line = _integer(fields["line"])
        if name == "di_subprogram":
            unit = fields["compileUnit"]
            assert isinstance(unit, DICompileUnit)
            return di_subprogram(
                file, line, str(fields["name"]), str(fields["linkageName"]), unit, _integer(fields.get("scopeLine", 0))
            )
        scope = fields["scope"]
        assert isinstance(scope, LocalScope)
        return di_lexical_block(scope, file, line, _integer(fields.get("column", 0)))


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value
