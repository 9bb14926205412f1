"""Reading locations and debug information attributes."""

from __future__ import annotations

from tileir.dialect.attributes import (
    DebugScope,
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


class _Open:
    """A location being read whose parts are still to come; `kind` is its keyword, or "name"."""

    __slots__ = ("kind", "metadata", "name", "parts")

    def __init__(self, kind: str, name: str, metadata: Attribute | None) -> None:
        self.kind: str = kind
        self.name: str = name
        self.metadata: Attribute | None = metadata
        self.parts: list[Location] = []


class LocationCursor(AttributeCursor):
    """Adds locations to the cursor."""

    def is_shared(self, attribute: Attribute) -> bool:
        return isinstance(attribute, (Location, DebugScope))

    def parse_location_attribute(self) -> Attribute:
        """location ::= `loc` `(` location-body `)`"""
        return self.parse_location_body()

    def parse_trailing_location(self) -> Location:
        """A location after an operation or an argument."""
        return self.parse_location_body()

    def parse_location_body(self) -> Location:
        """location-body ::= `unknown` | string ... | `callsite` ... | `fused` ... | `#`alias | `loc` `(` ... `)`"""
        self.locating += 1
        # An explicit stack, because locations nest as deep as the text says.
        path: list[_Open] = []
        while True:
            found = self._parse_leaf_or_open(path)
            if found is None:
                continue
            # Hand what was read to what it stands in, which may end with it.
            while path:
                top = path[-1]
                ended = self._close(top, found)
                if ended is None:
                    break
                path.pop()
                found = ended
            else:
                self.locating -= 1
                return found

    def _parse_leaf_or_open(self, path: list[_Open]) -> Location | None:
        """Read a location without parts, or begin one with parts: then None."""
        start = self.position
        token = self.tokens[start]
        if token[:1] == '"':
            name = self.parse_string()
            if self.accept(":"):
                line = self._parse_number("line")
                self.expect(":")
                return file_location(name, line, self._parse_number("column"))
            if not self.accept("("):
                return name_location(name)
            path.append(_Open("name", name, None))
            return None
        if token[:1] == "#":
            found = self.parse_hash_attribute()
            if not isinstance(found, Location):
                self.fail("expected location attribute", start)
            return found
        if token == "unknown":
            self.position += 1
            return UNKNOWN
        if token == "callsite" or token == "loc":
            self.position += 1
            self.expect("(")
            path.append(_Open(token, "", None))
            return None
        if token == "fused":
            return self._begin_fused(path)
        self.fail("expected location instance")

    def _begin_fused(self, path: list[_Open]) -> Location | None:
        """`fused` (`<` attribute `>`)? `[` location (`,` location)* `]`"""
        self.position += 1
        metadata: Attribute | None = None
        if self.accept("<"):
            self.enter()
            metadata = self.parse_attribute()
            self.leave()
            self.expect(">")
        self.expect("[")
        if self.accept("]"):
            return fused_location((), metadata)
        path.append(_Open("fused", "", metadata))
        return None

    def _close(self, place: _Open, part: Location) -> Location | None:
        """Add a part to a location; the location if that was the last one."""
        place.parts.append(part)
        if place.kind == "fused":
            if self.accept(","):
                return None
            self.expect("]")
            return fused_location(tuple(place.parts), place.metadata)
        if place.kind == "callsite" and len(place.parts) == 1:
            if not self.accept("at"):
                self.fail("expected 'at' in callsite location")
            return None
        self.expect(")")
        if place.kind == "name":
            return name_location(place.name, part)
        return call_site_location(place.parts[0], part) if place.kind == "callsite" else part

    def _parse_number(self, what: str) -> int:
        value = self.integer_token(self.peek())
        if value is None or value >= 1 << 32:
            self.fail(f"expected integer {what} number")
        self.position += 1
        return value

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
        self.locating += 1
        found = self._parse_debug_location() if fields is None else self._build(name, self._parse_fields(name, fields))
        self.locating -= 1
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
