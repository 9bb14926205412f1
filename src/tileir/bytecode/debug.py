"""The debug section, read and written: locations per function and operation (docs/reference/bytecode.md section 7)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.entry_tables import NestedTable, StringInterner, StringTable, check_count, read_offsets, starts_of
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed, varints
from tileir.dialect import debug_info
from tileir.dialect.availability import flags_message
from tileir.ir.attributes import Attribute
from tileir.ir.location import (
    UNKNOWN,
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    TextLocation,
    UnknownLocation,
    call_site_location,
    file_location,
)
from tileir.ir.versions import V13_1, V13_5, Version

COMPILE_UNIT: Final = 1
FILE: Final = 2
LEXICAL_BLOCK: Final = 3
LOCATION: Final = 4
SUBPROGRAM: Final = 5
CALL_SITE: Final = 6

# What a field holds: a string, a number, or another debug attribute.
_STRING: Final = 0
_NUMBER: Final = 1
_PART: Final = 2

# So many positions in one file and scope are decoded at a time.
_MOST_POSITIONS: Final = 256


class _Field:
    """One field of a debug attribute; `part` is the class of the attribute that a reference refers to."""

    def __init__(
        self, kind: int, what: str, owner: str, part: type[Attribute] = Attribute, since: Version = V13_1
    ) -> None:
        self.kind: int = kind
        self.message: str = f"failed to read {what} when parsing {owner}"
        self.part: type[Attribute] = part
        self.since: Version = since


# The fields of each tag, in order; tags without fields are an unknown location.
_FIELDS: Final[list[list[_Field]]] = [
    [],
    [_Field(_PART, "file attribute", "DICompileUnitAttr", debug_info.DIFile)],
    [_Field(_STRING, "file name attribute", "DIFileAttr"), _Field(_STRING, "directory attribute", "DIFileAttr")],
    [
        _Field(_PART, "scope attribute", "DILexicalBlockAttr", debug_info.LocalScope),
        _Field(_PART, "file attribute", "DILexicalBlockAttr", debug_info.DIFile),
        _Field(_NUMBER, "line number", "DILexicalBlockAttr"),
        _Field(_NUMBER, "column number", "DILexicalBlockAttr"),
    ],
    [
        _Field(_PART, "scope attribute", "DILocAttr", debug_info.LocalScope),
        _Field(_STRING, "file name attribute", "FileLineColLoc"),
        _Field(_NUMBER, "line number", "FileLineColLoc"),
        _Field(_NUMBER, "column number", "FileLineColLoc"),
    ],
    [
        _Field(_PART, "file attribute", "DISubprogramAttr", debug_info.DIFile),
        _Field(_NUMBER, "line number", "DISubprogramAttr"),
        _Field(_STRING, "name attribute", "DISubprogramAttr"),
        _Field(_STRING, "linkage name attribute", "DISubprogramAttr"),
        _Field(_PART, "compile unit attribute", "DISubprogramAttr", debug_info.DICompileUnit),
        _Field(_NUMBER, "scope line number", "DISubprogramAttr"),
        _Field(_NUMBER, "flags", "DISubprogramAttr", since=V13_5),
    ],
    [
        _Field(_PART, "callee attribute", "CallSiteLoc", Location),
        _Field(_PART, "caller attribute", "CallSiteLoc", Location),
    ],
]


# A debug attribute taken apart: its tag, the attributes it refers to, its strings and its numbers, in order of fields.
_Contents = tuple[int, list[Attribute], list[str], list[int]]


def _take_apart(attribute: Attribute) -> _Contents | None:
    """None for an attribute that has no bytes of its own."""
    if isinstance(attribute, debug_info.DILocation):
        source = attribute.source
        if not isinstance(source, FileLocation):
            raise Malformed(_unsupported("FileLineColLoc"), 0, prefixed=False)
        return LOCATION, [attribute.scope], [source.file], [source.line, source.column]
    if isinstance(attribute, debug_info.DISubprogram):
        names = [attribute.name, attribute.linkage_name]
        numbers = [attribute.line, attribute.scope_line, attribute.flags]
        return SUBPROGRAM, [attribute.file, attribute.compile_unit], names, numbers
    if isinstance(attribute, debug_info.DILexicalBlock):
        position = [attribute.line, attribute.column]
        return LEXICAL_BLOCK, [attribute.scope, attribute.file], [], position
    if isinstance(attribute, debug_info.DICompileUnit):
        return COMPILE_UNIT, [attribute.file], [], []
    if isinstance(attribute, debug_info.DIFile):
        return FILE, [], [attribute.name, attribute.directory], []
    if isinstance(attribute, CallSiteLocation):
        return CALL_SITE, [attribute.callee, attribute.caller], [], []
    return None


def _put_together(tag: int, parts: list[Attribute], strings: list[str], numbers: list[int]) -> Attribute:
    """The attribute of a tag and its fields, whose classes are checked."""
    if tag == FILE:
        return debug_info.di_file(strings[0], strings[1])
    first = parts[0] if parts else UNKNOWN
    second = parts[1] if len(parts) > 1 else first
    if isinstance(first, debug_info.LocalScope):
        if isinstance(second, debug_info.DIFile):
            return debug_info.di_lexical_block(first, second, numbers[0], numbers[1])
        return debug_info.di_location(file_location(strings[0], numbers[0], numbers[1]), first)
    if isinstance(first, debug_info.DIFile):
        if isinstance(second, debug_info.DICompileUnit):
            return debug_info.di_subprogram(first, numbers[0], strings[0], strings[1], second, *numbers[1:])
        return debug_info.di_compile_unit(first)
    if tag == CALL_SITE and isinstance(first, Location) and isinstance(second, Location):
        return call_site_location(first, second)
    return UNKNOWN


class DebugTable(NestedTable):
    """The debug section of a file."""

    __slots__ = ("_strings", "_version", "function_starts", "indices")

    def __init__(self, section: ByteReader | None, strings: StringTable, version: Version) -> None:
        super().__init__(section)
        self._strings: StringTable = strings
        self._version: Version = version
        # For each function where its entries start in `indices`; an entry is 1 + attribute, or 0 for unknown.
        self.function_starts: list[int] = []
        self.indices: list[int] = []
        if section is not None:
            self._read(section)

    def _read(self, section: ByteReader) -> None:
        count = section.varint("failed to read total number of operations with debug info")
        section.align(4, "failed to skip padding for debug info index offset pointer")
        check_count(section, count, 4, "operations with debug info")
        _more(section, "failed to read debug info index offset pointer.")
        self.function_starts = read_offsets(section, 4, count, "failed to skip debug info index offsets")
        count = section.varint("failed to read total number of debug info indices")
        section.align(8, "failed to skip padding for debug info indices pointer")
        check_count(section, count, 8, "debug info indices")
        _more(section, "failed to read debug info indices pointer")
        self.indices = read_offsets(section, 8, count, "failed to skip debug info indices")
        count = section.varint("failed to read total number of debug info attributes")
        check_count(section, count, 4, "debug info attributes")
        section.align(4, "failed to skip padding for debug info offset pointer")
        _more(section, "failed to read debug info offset pointer")
        self.read_offsets(section, 4, count, "failed to skip debug info offsets")

    def known_location(self, reference: int) -> Location | None:
        """The location of an entry that was decoded before."""
        found = self._known.get(reference - 1, UNKNOWN)
        return found if isinstance(found, Location) else None

    def location(self, reference: int) -> Location | None:
        """The location of an entry; None when it is not one."""
        found = self._known.get(reference - 1)
        if found is None:
            self._decode_positions(reference - 1)
            found = self.attribute(reference)
        return found if isinstance(found, Location) else None

    def _decode_positions(self, index: int) -> None:
        """Decode a line and column of a file in a scope, and those after it in the same: nearly all locations.

        They share their first bytes.  Other attributes are not decoded here.  Without this, reading a program with
        debug information takes half as long again.
        """
        if self._trace is not None or not 0 <= index < len(self._offsets):
            return
        start, end = self.bounds(index)
        if not self.is_inside(start, end):
            return
        data = self._data
        base = self._start
        offsets = self._offsets
        known = self._known
        reader = ByteReader(data, start, end)
        try:
            if reader.varint("") != LOCATION:
                return
            scope = self.entry(reader.varint("") - 1)
            if not isinstance(scope, debug_info.LocalScope):
                return
            file = self._strings.get(reader.varint(""))
            prefix = data[start : reader.position]
            length = len(prefix)
            # Without the last one: no offset marks its end.
            for number in range(index, min(index + _MOST_POSITIONS, len(offsets) - 1)):
                position = base + offsets[number] + length
                end = base + offsets[number + 1]
                if (
                    number in known
                    or not position + 2 <= end < self._end
                    or data[position - length : position] != prefix
                ):
                    return
                reader.position = position
                reader.end = end
                # A line of one or two bytes and a column of one.
                line = data[position]
                if line >= 0x80:
                    position += 1
                    line += (data[position] << 7) - 0x80
                column = data[position + 1]
                if line >= 0x4000 or column >= 0x80 or position + 2 > end:
                    line = reader.varint("") & 0xFFFFFFFF
                    column = reader.varint("") & 0xFFFFFFFF
                known[number] = debug_info.di_location(file_location(file, line, column), scope)
        except Malformed:
            return

    def attribute(self, reference: int) -> Attribute | None:
        """The attribute of an entry; None when there is none or when it contains itself."""
        found = self.entry(reference - 1) if reference else UNKNOWN
        return found if isinstance(found, Attribute) else None

    def decode(self, reader: ByteReader) -> Attribute:
        tag = reader.varint("") & 0xFF
        # Offsets in messages count from after the tag.
        reader.start = reader.position
        parts: list[Attribute] = []
        strings: list[str] = []
        numbers: list[int] = []
        for field in _FIELDS[tag] if tag < len(_FIELDS) else ():
            if field.since > self._version:
                continue
            if field.kind == _STRING:
                strings.append(self._strings.read(reader, field.message))
            elif field.kind == _NUMBER:
                # Lines and columns are 32 bits wide, however large the number in the file.
                numbers.append(reader.varint(field.message) & 0xFFFFFFFF)
            else:
                parts.append(self._part(reader, field))
        return _put_together(tag, parts, strings, numbers)

    def _part(self, reader: ByteReader, field: _Field) -> Attribute:
        reference = reader.varint(field.message)
        if reader.trace is not None:
            reader.trace.refer("debug attribute")
        try:
            found = self.part(reference - 1) if reference else UNKNOWN
        except Malformed as failure:
            raise failure.add(field.message, reader.offset) from None
        if not isinstance(found, field.part):
            reader.fail(field.message)
        return found


def _more(section: ByteReader, message: str) -> None:
    """NVIDIA's reader needs a byte after each padding, even for an empty list."""
    if not section.remaining:
        section.fail(message)


class DebugEncoder:
    """Collects the locations of the functions that have any."""

    def __init__(self, intern: StringInterner, version: Version) -> None:
        self._intern: StringInterner = intern
        self._version: Version = version
        self.blobs: list[bytes] = []
        self.references: dict[Attribute, int] = {UNKNOWN: 0}
        # Call sites that are known to hold nothing that cannot be written.
        self.writable: set[Location] = set()
        self.function_starts: list[int] = []
        self.indices: list[int] = []

    def start_function(self, location: Location) -> int:
        """Begin the entries of a function; the number its record refers to them by."""
        self.function_starts.append(len(self.indices))
        self.indices.append(self.reference(location))
        return len(self.function_starts)

    def add(self, location: Location) -> None:
        self.indices.append(self.reference(location))

    def reference(self, attribute: Attribute) -> int:
        found = self.known_reference(attribute)
        if found >= 0:
            return found
        # An explicit stack, because call sites and scopes may nest deeply; what an attribute is made of comes first.
        path = [attribute]
        while path:
            missing = self._missing_part(path[-1])
            if missing is not None:
                path.append(missing)
                continue
            top = path.pop()
            self.blobs.append(self._encode(top))
            self.references[top] = len(self.blobs)
        return self.references[attribute]

    def known_reference(self, attribute: Attribute) -> int:
        """The number of an attribute that has one; -1 for one that is still to be written."""
        found = self.references.get(attribute, -1)
        if found < 0 and isinstance(attribute, (FileLocation, TextLocation, UnknownLocation)):
            # A position without a scope is not written.
            return 0
        return found

    def _missing_part(self, attribute: Attribute) -> Attribute | None:
        """The first part of an attribute that has no number yet."""
        for part in _parts(attribute):
            if self.known_reference(part) < 0:
                return part
        return None

    def _encode(self, attribute: Attribute) -> bytes:
        contents = _take_apart(attribute)
        if contents is None:
            return b""
        if isinstance(attribute, debug_info.DISubprogram) and attribute.flags and self._version < V13_5:
            raise Malformed(flags_message(attribute, self._version), 0, prefixed=False)
        tag, parts, strings, values = contents
        numbers = [tag]
        for field in _FIELDS[tag]:
            if field.since > self._version:
                continue
            if field.kind == _STRING:
                numbers.append(self._intern.string(strings.pop(0)))
            elif field.kind == _NUMBER:
                numbers.append(values.pop(0))
            else:
                numbers.append(self.reference(parts.pop(0)))
        return varints(tuple(numbers))

    def payload(self) -> bytes:
        writer = ByteWriter()
        writer.varint(len(self.function_starts))
        writer.align(4)
        writer.fixed_numbers(self.function_starts, 4)
        writer.varint(len(self.indices))
        writer.align(8)
        writer.fixed_numbers(self.indices, 8)
        # The reader fails on an empty attribute table, so there is always one (an unknown location).
        blobs = self.blobs if self.blobs else [b"\x00"]
        writer.varint(len(blobs))
        writer.align(4)
        writer.fixed_numbers(starts_of(blobs), 4)
        writer.raw(b"".join(blobs))
        return bytes(writer.data)


# Locations made of others; of these, only call sites can be written.
COMPOSED: Final = frozenset([CallSiteLocation, FusedLocation, NameLocation, OpaqueLocation])


def location_error(location: Location, seen: set[Location] | None = None) -> str | None:
    """The error of a location that cannot be written; `seen` has the call sites that can."""
    if seen is None:
        seen = set()
    # An explicit stack, because call sites may nest deeply; they share their parts.
    pending: list[Location] = [location]
    while pending:
        part = pending.pop()
        if isinstance(part, CallSiteLocation):
            if part not in seen:
                seen.add(part)
                pending.append(part.callee)
                pending.append(part.caller)
        elif isinstance(part, NameLocation):
            return _unsupported("NameLoc")
        elif isinstance(part, FusedLocation):
            return _unsupported("FusedLoc")
        elif isinstance(part, OpaqueLocation):
            return _unsupported("OpaqueLoc")
    return None


def _unsupported(name: str) -> str:
    return f"unsupported location, got {name}, expected DILocAttr or CallSiteLoc"


def _parts(attribute: Attribute) -> list[Attribute]:
    """What a blob refers to, in the order in which NVIDIA's writer numbers it; it contains file and line itself."""
    return [attribute.scope] if isinstance(attribute, debug_info.DILocation) else debug_info.children(attribute)


def is_encodable(location: Location) -> bool:
    """Whether a function with this location has entries in the debug section."""
    return isinstance(location, (debug_info.DILocation, CallSiteLocation))
