"""Reading locations and debug information attributes."""

from __future__ import annotations

from tileir.dialect import debug_info
from tileir.ir.attributes import Attribute
from tileir.ir.diagnostics import Code
from tileir.ir.location import UNKNOWN, Location, call_site_location, file_location, fused_location, name_location
from tileir.text.attributes import AttributeCursor, OpenAttribute
from tileir.text.types import COUNTLESS

# The fields of each debug attribute: name, kind, and whether it is optional.
_FIELDS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "di_compile_unit": (("file", "di_file", False),),
    "di_subprogram": (
        ("file", "di_file", False),
        ("line", "integer", False),
        ("name", "string", False),
        ("linkageName", "string", False),
        ("compileUnit", "di_compile_unit", False),
        ("scopeLine", "integer", True),
        ("flags", "integer", True),
    ),
    "di_lexical_block": (
        ("scope", "scope", False),
        ("file", "di_file", False),
        ("line", "integer", False),
        ("column", "integer", True),
    ),
}
# The classes of the kinds that are attributes.
_CLASSES: dict[str, type[Attribute]] = {
    "di_file": debug_info.DIFile,
    "di_compile_unit": debug_info.DICompileUnit,
    "scope": debug_info.LocalScope,
}


class _OpenLocation(OpenAttribute):
    """A location being read; `kind` is its keyword, or "name"."""

    def __init__(self, kind: str, name: str = "") -> None:
        self.kind: str = kind
        self.name: str = name
        self.parts: list[Location] = []
        self.metadata: Attribute | None = None
        self.wants_metadata: bool = False
        # Where the part at hand begins.
        self.start: int = 0

    def begin_part(self, cursor: AttributeCursor, path: list[OpenAttribute]) -> Attribute | None:
        self.start = cursor.position
        return cursor.begin_attribute(path) if self.wants_metadata else cursor.begin_location(path)

    def take(self, cursor: AttributeCursor, part: Attribute) -> Attribute | None:
        if self.wants_metadata:
            self.wants_metadata = False
            self.metadata = part
            cursor.expect(">")
            cursor.expect("[")
            return self._end(cursor, fused_location((), part)) if cursor.accept("]") else None
        if not isinstance(part, Location):
            cursor.fail("expected location attribute", self.start)
        self.parts.append(part)
        if self.kind == "fused":
            if cursor.accept(","):
                return None
            cursor.expect("]")
            return self._end(cursor, fused_location(tuple(self.parts), self.metadata))
        if self.kind == "callsite" and len(self.parts) == 1:
            if not cursor.accept("at"):
                cursor.fail("expected 'at' in callsite location")
            return None
        cursor.expect(")")
        if self.kind == "name":
            return self._end(cursor, name_location(self.name, part))
        return self._end(cursor, call_site_location(self.parts[0], part) if self.kind == "callsite" else part)

    def _end(self, cursor: AttributeCursor, location: Location) -> Location:
        cursor.locating -= 1
        return location


class _OpenDebugLocation(OpenAttribute):
    """`#cuda_tile.di_loc` `<` location `in` scope `>`"""

    def __init__(self, start: int) -> None:
        self.inner: Location | None = None
        self.start: int = start

    def take(self, cursor: AttributeCursor, part: Attribute) -> Attribute | None:
        if self.inner is None:
            if not isinstance(part, Location):
                cursor.fail("expected location attribute", self.start)
            self.inner = part
            if not cursor.accept("in"):
                cursor.fail("expected 'in'", code=Code("expected-token", token="in"))
            self.start = cursor.position
            return None
        if not isinstance(part, debug_info.LocalScope):
            cursor.fail(f"invalid kind of attribute specified for the scope: {part.text}", self.start)
        cursor.expect(">")
        cursor.locating -= 1
        return debug_info.di_location(self.inner, part)


class _OpenScope(OpenAttribute):
    """A compile unit, subprogram or lexical block: `<` field `=` value (`,` field `=` value)* `>`, in any order."""

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.kinds: dict[str, str] = {field: kind for field, kind, _ in _FIELDS[name]}
        self.fields: dict[str, object] = {}
        self.field: str = ""
        self.start: int = 0

    def next_field(self, cursor: LocationCursor) -> Attribute | None:
        """Read fields up to one that holds an attribute, which is read next: then None."""
        while True:
            start = cursor.position
            if not cursor.is_identifier():
                cursor.fail("expected a parameter name in struct")
            field = self.field = cursor.parse_keyword()
            if field not in self.kinds or field in self.fields:
                cursor.fail(f"duplicate or unknown struct parameter name: {field}", start)
            cursor.expect("=")
            self.start = cursor.position
            kind = self.kinds[field]
            if kind == "integer":
                self.fields[field] = cursor.parse_line_or_column("line")
            elif kind == "string":
                self.fields[field] = cursor.parse_string()
            else:
                return None
            if not cursor.accept(","):
                return self._end(cursor)

    def begin_part(self, cursor: AttributeCursor, path: list[OpenAttribute]) -> Attribute | None:
        kind = self.kinds[self.field]
        # The kind of a nested attribute is known, so its name may be left out: `file = <"k.py" in "/src">`.
        if cursor.peek() == "<" and kind != "scope":
            return cursor.begin_debug_attribute(kind, path)
        return cursor.begin_attribute(path)

    def take(self, cursor: AttributeCursor, part: Attribute) -> Attribute | None:
        assert isinstance(cursor, LocationCursor)
        if not isinstance(part, _CLASSES[self.kinds[self.field]]):
            cursor.fail("invalid kind of attribute specified", self.start)
        self.fields[self.field] = part
        return self.next_field(cursor) if cursor.accept(",") else self._end(cursor)

    def _end(self, cursor: LocationCursor) -> Attribute:
        for field, _, optional in _FIELDS[self.name]:
            if field not in self.fields and not optional:
                cursor.fail(f"struct is missing required parameter: {field}")
        cursor.expect(">")
        cursor.locating -= 1
        return _scope(self.name, self.fields)


class LocationCursor(AttributeCursor):
    def is_shared(self, attribute: Attribute) -> bool:
        return isinstance(attribute, (Location, debug_info.DebugScope))

    def parse_trailing_location(self) -> Location:
        """A location after an operation or an argument: `loc` `(` location-body `)`"""
        start = self.position
        if self.tokens[start + 1] == "(" and self.tokens[start + 3] == ")":
            name = self.tokens[start + 2]
            known = self.aliases.get(name)
            if known is None:
                known = self._plain_location(name)
            if isinstance(known, Location):
                self.position += 4
                return known
        path: list[OpenAttribute] = []
        found = self.finish_parts(self.begin_location(path), path)
        assert isinstance(found, Location)
        return found

    def _plain_location(self, name: str) -> Location | None:
        """Read the definition of an alias: `loc("file":1:2)`, or `#cuda_tile.di_loc<#source in #scope>` of such a
        source and a known scope.  None for any other, which has to be read part by part."""
        start = self.alias_positions.get(name, -1)
        if start < 0 or start + 8 > len(self.tokens):
            return None
        tokens = self.tokens[start : start + 8]
        found: Location
        if tokens[0] == "loc":
            file, line, column = tokens[2], tokens[4], tokens[6]
            if tokens[1::2] != ["(", ":", ":", ")"] or not (line.isdecimal() and column.isdecimal()):
                return None
            is_quoted = len(file) > 1 and file[0] == file[-1] == '"' and "\\" not in file
            if not is_quoted or not (line + column).isascii() or len(line) > 9 or len(column) > 9:
                return None
            found, cost = file_location(file[1:-1], int(line), int(column)), 8
        elif tokens[0] == "#cuda_tile.di_loc":
            scope = self.aliases.get(tokens[4])
            source = self.aliases.get(tokens[2])
            if source is None and self.tokens[self.alias_positions.get(tokens[2], -1)] == "loc":
                source = self._plain_location(tokens[2])
            if tokens[1:6:2] != ["<", "in", ">"] or not isinstance(source, Location):
                return None
            if not isinstance(scope, debug_info.LocalScope):
                return None
            found, cost = debug_info.di_location(source, scope), 6
            cost += self.alias_costs[tokens[2]] + self.alias_costs[tokens[4]]
        else:
            return None
        self.aliases[name] = found
        self.alias_costs[name] = min(cost, COUNTLESS)
        self.alias_ends[name] = start + (8 if tokens[0] == "loc" else 6)
        return found

    def begin_location(self, path: list[OpenAttribute]) -> Attribute | None:
        """location-body ::= `unknown` | string ... | `callsite` ... | `fused` ... | `#`alias | `loc` `(` ... `)`"""
        start = self.position
        token = self.tokens[start]
        if token[:1] == '"':
            name = self.parse_string()
            if self.accept(":"):
                line = self.parse_line_or_column("line")
                self.expect(":")
                return file_location(name, line, self.parse_line_or_column("column"))
            return self._open(_OpenLocation("name", name), path) if self.accept("(") else name_location(name)
        if token[:1] == "#":
            return self.begin_attribute(path)
        if token == "unknown":
            self.position += 1
            return UNKNOWN
        if token == "callsite" or token == "loc":
            self.position += 1
            self.expect("(")
            return self._open(_OpenLocation(token), path)
        if token == "fused":
            return self._begin_fused(path)
        self.fail("expected location instance")

    def _open(self, opened: OpenAttribute, path: list[OpenAttribute]) -> Attribute | None:
        self.locating += 1
        path.append(opened)
        return None

    def _begin_fused(self, path: list[OpenAttribute]) -> Attribute | None:
        """`fused` (`<` attribute `>`)? `[` location (`,` location)* `]`"""
        self.position += 1
        opened = _OpenLocation("fused")
        if self.accept("<"):
            opened.wants_metadata = True
        else:
            self.expect("[")
            if self.accept("]"):
                return fused_location((), None)
        return self._open(opened, path)

    def parse_line_or_column(self, what: str) -> int:
        value = self.integer_token(self.peek())
        if value is None or value >= 1 << 32:
            self.fail(f"expected integer {what} number")
        self.position += 1
        return value

    def begin_debug_attribute(self, name: str, path: list[OpenAttribute]) -> Attribute | None:
        start = self.position - 1
        if name == "di_file":
            self.expect("<")
            file = self.parse_string()
            if not self.accept("in"):
                self.fail("expected 'in'", code=Code("expected-token", token="in"))
            directory = self.parse_string()
            self.expect(">")
            return debug_info.di_file(file, directory)
        if name == "di_loc":
            self.expect("<")
            return self._open(_OpenDebugLocation(self.position), path)
        if name not in _FIELDS:
            self.fail(f"unknown attribute `{name}` in dialect `cuda_tile`", start)
        opened = _OpenScope(name)
        self.locating += 1
        self.expect("<")
        found = opened.next_field(self)
        if found is None:
            path.append(opened)
        return found


def _scope(name: str, fields: dict[str, object]) -> Attribute:
    file = fields["file"]
    assert isinstance(file, debug_info.DIFile)
    if name == "di_compile_unit":
        return debug_info.di_compile_unit(file)
    line = _integer(fields["line"])
    if name == "di_subprogram":
        unit = fields["compileUnit"]
        assert isinstance(unit, debug_info.DICompileUnit)
        return debug_info.di_subprogram(
            file,
            line,
            str(fields["name"]),
            str(fields["linkageName"]),
            unit,
            _integer(fields.get("scopeLine", 0)),
            _integer(fields.get("flags", 0)),
        )
    scope = fields["scope"]
    assert isinstance(scope, debug_info.LocalScope)
    return debug_info.di_lexical_block(scope, file, line, _integer(fields.get("column", 0)))


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value
