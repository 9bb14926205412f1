"""The debug section, read: locations per function and operation (docs/bytecode.md section 7)."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.bytecode.container import check_count, read_offsets
from tileir.bytecode.primitives import ByteReader, Malformed, PartWanted
from tileir.bytecode.strings import StringTable
from tileir.dialect.attributes import (
    DICompileUnit,
    DIFile,
    LocalScope,
    di_compile_unit,
    di_file,
    di_lexical_block,
    di_location,
    di_locations,
    di_subprogram,
)
from tileir.ir.attributes import Attribute
from tileir.ir.location import UNKNOWN, Location, call_site_location, file_location, file_locations

if TYPE_CHECKING:
    from tileir.bytecode.primitives import Trace

COMPILE_UNIT: Final = 1
FILE: Final = 2
LEXICAL_BLOCK: Final = 3
LOCATION: Final = 4
SUBPROGRAM: Final = 5
CALL_SITE: Final = 6

# How many numbers follow each tag.
_FIELDS: Final = (0, 1, 2, 4, 4, 6, 2)
# So many places in one file and scope are decoded at a time.
_RUN: Final = 256
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
        found: Attribute | None = None
        if self._trace is None:
            if self._has_run(reference - 1):
                return self.locations[reference]
            found = self._plain(reference - 1, 0)
        if found is None:
            found = self.attribute(reference)
        if not isinstance(found, Location):
            return None
        self.locations[reference] = found
        return found

    def _has_run(self, index: int) -> bool:
        """Decode an attribute and those behind it that are places in the same file and scope, if there are any.

        The operations of a function have such places, one behind the other.  All of them begin with the same bytes;
        lines and columns of at most three bytes each follow.
        """
        data = self._data
        offsets = self._offsets
        base = self._start
        count = len(offsets)
        start = base + offsets[index]
        # What they begin with: the tag, and the numbers of the scope and of the file.
        length = 1
        if index + 1 >= count or not base <= start < self._end or data[start] != LOCATION:
            return False
        for _ in range(2):
            while start + length < self._end and data[start + length] >= 0x80:
                length += 1
            length += 1
        head = data[start : start + length]
        following = base + offsets[index + 1]
        if following + length > self._end or data[following : following + length] != head:
            return False
        lines: list[int] = []
        columns: list[int] = []
        last = min(index + _RUN, count)
        for number in range(index, last):
            start = base + offsets[number]
            end = base + offsets[number + 1] if number + 1 < count else self._end
            position = start + length
            if position + 2 > end or end > self._end or data[start:position] != head:
                break
            if number > index and self.locations[number + 1] is not None:
                # So is what follows, as a rule.
                break
            line = data[position]
            position += 1
            if line >= 0x80:
                byte = data[position]
                position += 1
                if byte >= 0x80:
                    if position == end or data[position] >= 0x80:
                        break
                    line += (byte << 7) + (data[position] << 14) - 0x4080
                    position += 1
                else:
                    line += (byte << 7) - 0x80
            if position == end:
                break
            column = data[position]
            position += 1
            if column >= 0x80:
                if position == end or data[position] >= 0x80:
                    break
                column += (data[position] << 7) - 0x80
            lines.append(line)
            columns.append(column)
        if not lines:
            return False
        reader = ByteReader(data, base + offsets[index] + 1, base + offsets[index] + length)
        try:
            scope = self._plain(reader.varint("") - 1, 0)
            file = self._strings.get(reader.varint(""))
        except Malformed:
            return False
        if not isinstance(scope, LocalScope):
            return False
        self.locations[index + 1 : index + 1 + len(lines)] = di_locations(file_locations(file, lines, columns), scope)
        return True

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
