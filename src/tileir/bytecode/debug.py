"""The debug section: locations per function and operation (docs/bytecode.md section 7)."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.bytecode.container import check_count, read_offsets, starts_of
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed, PartWanted, varints
from tileir.bytecode.strings import StringInterner, StringTable
from tileir.dialect.attributes import (
    DICompileUnit,
    DIFile,
    DILexicalBlock,
    DILocation,
    DISubprogram,
    LocalScope,
    children,
    di_compile_unit,
    di_file,
    di_lexical_block,
    di_location,
    di_subprogram,
)
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

if TYPE_CHECKING:
    from tileir.bytecode.trace import Trace

COMPILE_UNIT: Final = 1
FILE: Final = 2
LEXICAL_BLOCK: Final = 3
LOCATION: Final = 4
SUBPROGRAM: Final = 5
CALL_SITE: Final = 6

# How many numbers follow each tag.
_FIELDS: Final = (0, 1, 2, 4, 4, 6, 2)
# Parts of parts are decoded right away up to this depth; real ones nest a few levels deep.
_RECURSION: Final = 32


class DebugTable:
    """The debug section of a file; attributes are decoded when asked for."""

    __slots__ = (
        "_busy",
        "_data",
        "_end",
        "_failed",
        "_failure",
        "_known",
        "_offsets",
        "_start",
        "_strings",
        "_trace",
        "function_starts",
        "indices",
        "locations",
    )

    def __init__(self, section: ByteReader | None, strings: StringTable) -> None:
        self._strings: StringTable = strings
        self._known: dict[int, Attribute] = {}
        self._busy: set[int] = set()
        # The part that could not be decoded, for the attribute that it is a part of.
        self._failed: int = -1
        self._failure: Malformed | None = None
        self._offsets: list[int] = []
        self._data: bytes = b""
        self._start: int = 0
        self._end: int = 0
        self._trace: Trace | None = section.trace if section is not None else None
        # For each function where its entries start in `indices`; an entry is 1 + attribute, or 0 for unknown.
        self.function_starts: list[int] = []
        self.indices: list[int] = []
        # By entry, those that were asked for.
        self.locations: list[Location | None] = [UNKNOWN]
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
        self._offsets = read_offsets(section, 4, count, "failed to skip debug info offsets")
        self.locations.extend([None] * count)
        self._data = section.data
        self._start = section.position
        self._end = section.end

    def __len__(self) -> int:
        return len(self._offsets)

    def piece(self, index: int) -> tuple[int, int]:
        """Where the blob of an attribute starts and ends in the file."""
        start = self._start + self._offsets[index]
        end = self._start + self._offsets[index + 1] if index + 1 < len(self._offsets) else self._end
        return start, end

    def known_location(self, reference: int) -> Location | None:
        """The location of an entry that was asked for before."""
        return self.locations[reference] if 0 <= reference < len(self.locations) else None

    def location(self, reference: int) -> Location | None:
        """The location of an entry; None when it is not one."""
        if not 0 <= reference < len(self.locations):
            return None
        known = self.locations[reference]
        if known is not None:
            return known
        found = self._plain(reference - 1, 0) if self._trace is None else None
        if found is None:
            found = self.attribute(reference)
        if not isinstance(found, Location):
            return None
        self.locations[reference] = found
        return found

    def _plain(self, index: int, depth: int) -> Attribute | None:
        """An attribute where nothing is unusual about it nor about its parts, which is nearly always.

        Otherwise None, and `attribute` looks at it field by field.
        """
        if index == -1:
            return UNKNOWN
        if not 0 <= index < len(self._offsets) or depth > _RECURSION:
            return None
        found: Attribute | None = self._known.get(index)
        if found is not None:
            return found
        start, end = self.piece(index)
        if not self._start <= start < end <= self._end:
            return None
        data = self._data
        # The tag and the fields behind it, of at most three bytes each; what follows them has no meaning.
        numbers: list[int] = []
        wanted = _FIELDS[data[start]] if data[start] < len(_FIELDS) else 0
        position = start + 1
        while len(numbers) < wanted and position < end:
            number = data[position]
            position += 1
            if number >= 0x80:
                if position == end:
                    return None
                byte = data[position]
                position += 1
                if byte >= 0x80:
                    if position == end or data[position] >= 0x80:
                        return None
                    number += (byte << 7) + (data[position] << 14) - 0x4080
                    position += 1
                else:
                    number += (byte << 7) - 0x80
            numbers.append(number)
        if not wanted or len(numbers) < wanted:
            return None
        try:
            found = self._of_numbers(data[start], numbers, depth + 1)
        except Malformed:
            return None
        if found is not None:
            self._known[index] = found
        return found

    def _of_numbers(self, tag: int, numbers: list[int], depth: int) -> Attribute | None:
        """The attribute with these fields, if its parts are such that it may have them."""
        strings = self._strings
        if tag == FILE:
            return di_file(strings.get(numbers[0]), strings.get(numbers[1]))
        first = self._plain(numbers[0] - 1, depth)
        if first is None:
            # At once: to look at the other part all the same would take twice as long at every level.
            return None
        if tag == LOCATION:
            if isinstance(first, LocalScope):
                return di_location(file_location(strings.get(numbers[1]), numbers[2], numbers[3]), first)
        elif tag == CALL_SITE:
            caller = self._plain(numbers[1] - 1, depth)
            if isinstance(first, Location) and isinstance(caller, Location):
                return call_site_location(first, caller)
        elif tag == SUBPROGRAM:
            unit = self._plain(numbers[4] - 1, depth)
            if isinstance(first, DIFile) and isinstance(unit, DICompileUnit):
                name, linkage_name = strings.get(numbers[2]), strings.get(numbers[3])
                return di_subprogram(first, numbers[1], name, linkage_name, unit, numbers[5])
        elif tag == LEXICAL_BLOCK:
            file = self._plain(numbers[1] - 1, depth)
            if isinstance(first, LocalScope) and isinstance(file, DIFile):
                return di_lexical_block(first, file, numbers[2], numbers[3])
        elif tag == COMPILE_UNIT:
            if isinstance(first, DIFile):
                return di_compile_unit(first)
        return None

    def attribute(self, reference: int) -> Attribute | None:
        """The attribute of an entry; None when there is none or when it contains itself."""
        try:
            return self._part(reference)
        except PartWanted as wanted:
            return self._decode_with_parts(wanted.index)

    def _part(self, reference: int) -> Attribute | None:
        """The attribute of an entry that is decoded already; None as for `attribute`."""
        if reference == 0:
            return UNKNOWN
        index = reference - 1
        if not 0 <= index < len(self._offsets):
            return None
        known = self._known.get(index)
        if known is not None:
            return known
        if index == self._failed and self._failure is not None:
            raise self._failure
        if index in self._busy:
            return None
        start, end = self.piece(index)
        if not self._start <= start <= end <= self._end:
            return None
        raise PartWanted(index)

    def _decode_with_parts(self, index: int) -> Attribute:
        """Decode an attribute and first what it is made of.

        An explicit stack, because call sites and scopes nest as deep as the file says.  An attribute is begun again
        each time that a part of it was missing; it has three at most.
        """
        path = [index]
        self._busy.add(index)
        trace = self._trace
        try:
            while True:
                top = path[-1]
                start, end = self.piece(top)
                spans = len(trace.spans) if trace is not None else 0
                try:
                    found = self._decode(ByteReader(self._data, start, end, trace))
                except PartWanted as wanted:
                    path.append(wanted.index)
                    self._busy.add(wanted.index)
                    if trace is not None:
                        del trace.spans[spans:]
                    continue
                except Malformed as failure:
                    if len(path) == 1:
                        raise
                    self._failed, self._failure = top, failure
                else:
                    self._known[top] = found
                    if len(path) == 1:
                        return found
                path.pop()
                self._busy.discard(top)
        finally:
            self._busy.clear()
            self._failed, self._failure = -1, None

    def _decode(self, reader: ByteReader) -> Attribute:
        tag = reader.varint("") & 0xFF
        # Offsets in messages count from behind the tag.
        reader.start = reader.position
        if tag == LOCATION:
            scope = self._scope(reader, "DILocAttr")
            name = self._string(reader, "file name attribute", "FileLineColLoc")
            line = self._number(reader, "line number", "FileLineColLoc")
            column = self._number(reader, "column number", "FileLineColLoc")
            return di_location(file_location(name, line, column), scope)
        if tag == SUBPROGRAM:
            return self._subprogram(reader)
        if tag == FILE:
            name = self._string(reader, "file name attribute", "DIFileAttr")
            return di_file(name, self._string(reader, "directory attribute", "DIFileAttr"))
        if tag == COMPILE_UNIT:
            return di_compile_unit(self._file(reader, "DICompileUnitAttr"))
        if tag == LEXICAL_BLOCK:
            scope = self._scope(reader, "DILexicalBlockAttr")
            file = self._file(reader, "DILexicalBlockAttr")
            line = self._number(reader, "line number", "DILexicalBlockAttr")
            return di_lexical_block(scope, file, line, self._number(reader, "column number", "DILexicalBlockAttr"))
        if tag == CALL_SITE:
            callee = self._location(reader, "callee")
            return call_site_location(callee, self._location(reader, "caller"))
        return UNKNOWN

    def _subprogram(self, reader: ByteReader) -> Attribute:
        file = self._file(reader, "DISubprogramAttr")
        line = self._number(reader, "line number", "DISubprogramAttr")
        name = self._string(reader, "name attribute", "DISubprogramAttr")
        linkage_name = self._string(reader, "linkage name attribute", "DISubprogramAttr")
        unit = self._reference(reader, "compile unit", "DISubprogramAttr")
        if not isinstance(unit, DICompileUnit):
            reader.fail("failed to read compile unit attribute when parsing DISubprogramAttr")
        scope_line = self._number(reader, "scope line number", "DISubprogramAttr")
        return di_subprogram(file, line, name, linkage_name, unit, scope_line)

    def _number(self, reader: ByteReader, what: str, owner: str) -> int:
        """A line or column, which are 32 bits wide whatever the file says."""
        return reader.varint(f"failed to read {what} when parsing {owner}") & 0xFFFFFFFF

    def _string(self, reader: ByteReader, what: str, owner: str) -> str:
        message = f"failed to read {what} when parsing {owner}"
        try:
            index = reader.varint("")
            if reader.trace is not None:
                reader.trace.refer("string", message)
            return self._strings.get(index)
        except Malformed as failure:
            raise failure.add(message, reader.offset) from None

    def _reference(self, reader: ByteReader, what: str, owner: str) -> Attribute | None:
        message = f"failed to read {what} attribute when parsing {owner}"
        reference = reader.varint(message)
        if reader.trace is not None:
            reader.trace.refer("debug attribute")
        try:
            return self._part(reference)
        except Malformed as failure:
            raise failure.add(message, reader.offset) from None

    def _scope(self, reader: ByteReader, owner: str) -> LocalScope:
        found = self._reference(reader, "scope", owner)
        if not isinstance(found, LocalScope):
            reader.fail(f"failed to read scope attribute when parsing {owner}")
        return found

    def _file(self, reader: ByteReader, owner: str) -> DIFile:
        found = self._reference(reader, "file", owner)
        if not isinstance(found, DIFile):
            reader.fail(f"failed to read file attribute when parsing {owner}")
        return found

    def _location(self, reader: ByteReader, what: str) -> Location:
        found = self._reference(reader, what, "CallSiteLoc")
        if not isinstance(found, Location):
            reader.fail(f"failed to read {what} attribute when parsing CallSiteLoc")
        return found


def _more(section: ByteReader, message: str) -> None:
    """NVIDIA's reader wants a byte behind each padding, even for an empty list."""
    if not section.remaining:
        section.fail(message)


class DebugEncoder:
    """Collects the locations of the functions that have any."""

    __slots__ = ("_intern", "blobs", "function_starts", "indices", "references", "writable")

    def __init__(self, intern: StringInterner) -> None:
        self._intern: StringInterner = intern
        self.blobs: list[bytes] = []
        self.references: dict[Attribute, int] = {UNKNOWN: 0}
        # Call sites that were looked at and hold nothing that cannot be written.
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
            # Without a scope a position has no place in the section.
            return 0
        return found

    def _missing_part(self, attribute: Attribute) -> Attribute | None:
        """The first part of an attribute that has no number yet."""
        for part in _parts(attribute):
            if self.known_reference(part) < 0:
                return part
        return None

    def _encode(self, attribute: Attribute) -> bytes:
        if isinstance(attribute, DILocation):
            scope = self.reference(attribute.scope)
            source = attribute.source
            if not isinstance(source, FileLocation):
                raise Malformed(_unsupported("FileLineColLoc"), 0, prefixed=False)
            return varints((LOCATION, scope, self._intern.string(source.file), source.line, source.column))
        if isinstance(attribute, DISubprogram):
            file, unit = self.reference(attribute.file), self.reference(attribute.compile_unit)
            name, linkage = self._intern.string(attribute.name), self._intern.string(attribute.linkage_name)
            return varints((SUBPROGRAM, file, attribute.line, name, linkage, unit, attribute.scope_line))
        if isinstance(attribute, DILexicalBlock):
            scope, file = self.reference(attribute.scope), self.reference(attribute.file)
            return varints((LEXICAL_BLOCK, scope, file, attribute.line, attribute.column))
        if isinstance(attribute, DICompileUnit):
            return varints((COMPILE_UNIT, self.reference(attribute.file)))
        if isinstance(attribute, DIFile):
            name, directory = self._intern.string(attribute.name), self._intern.string(attribute.directory)
            return varints((FILE, name, directory))
        if isinstance(attribute, CallSiteLocation):
            callee, caller = self.reference(attribute.callee), self.reference(attribute.caller)
            return varints((CALL_SITE, callee, caller))
        return b""

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


# Locations made of others; only a call site has a place in the section, if all it is made of has.
COMPOSED: Final = frozenset([CallSiteLocation, FusedLocation, NameLocation, OpaqueLocation])


def location_mistake(location: Location, seen: set[Location] | None = None) -> str | None:
    """What is said about a location that cannot be written; `seen` remembers the call sites that can."""
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
    """What a blob refers to, in the order in which NVIDIA's writer gives numbers; a file and a line are in it."""
    return [attribute.scope] if isinstance(attribute, DILocation) else children(attribute)


def is_encodable(location: Location) -> bool:
    """Whether a function with this location has entries in the debug section."""
    return isinstance(location, (DILocation, CallSiteLocation))
