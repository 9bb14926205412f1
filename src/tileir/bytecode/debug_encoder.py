"""The debug section, written: locations per function and operation (docs/bytecode.md section 7)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.container import starts_of
from tileir.bytecode.debug import CALL_SITE, COMPILE_UNIT, FILE, LEXICAL_BLOCK, LOCATION, SUBPROGRAM
from tileir.bytecode.primitives import ByteWriter, Malformed, varints
from tileir.bytecode.strings import StringInterner
from tileir.dialect.debug_info import DICompileUnit, DIFile, DILexicalBlock, DILocation, DISubprogram, children
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
)


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
