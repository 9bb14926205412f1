"""What the numbers in a file stand for: the tables of a file, as far as they can be read."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode.container import Container
from tileir.bytecode.debug import DebugTable
from tileir.bytecode.documented.dictionary import AttributeTable
from tileir.bytecode.documented.reader import DocumentedModuleReader
from tileir.bytecode.documented.tables import DocumentedDebugTable, DocumentedTypeTable
from tileir.bytecode.entry_tables import ConstantTable, StringTable
from tileir.bytecode.layouts import DOCUMENTED
from tileir.bytecode.primitives import ByteReader, Malformed, Span, Trace
from tileir.bytecode.reader import ModuleReader
from tileir.bytecode.types import SCALARS, TypeTable
from tileir.dialect.attributes import (
    DICompileUnit,
    DIFile,
    DILexicalBlock,
    DILocation,
    DISubprogram,
)
from tileir.ir.attributes import Attribute
from tileir.ir.dense import DenseAttribute
from tileir.ir.location import CallSiteLocation, FileLocation, Location, UnknownLocation
from tileir.ir.quoting import quote

Entries = list[tuple[int, int]]

_MOST_ELEMENTS: Final = 64
TYPE_TAGS: Final[dict[int, str]] = {
    12: "ptr",
    13: "tile",
    14: "tensor_view",
    15: "partition_view",
    16: "function",
    20: "gather_scatter_view",
    21: "strided_view",
}
DEBUG_TAGS: Final = ("unknown", "compile unit", "file", "lexical block", "location", "subprogram", "call site")
ATTRIBUTE_TAGS: Final = (
    *("", "integer", "float", "bool", "type", "string", "array", "dense", "div_by", "same_elements", "dictionary"),
    *("optimization_hints", "bounded"),
)

_TABLE_OF_SECTION: Final[dict[str, str]] = {
    "String": "string",
    "Type": "type",
    "Constant": "constant",
    "Debug": "debug attribute",
    "Attribute": "attribute",
}
_FUNCTION_FLAGS: Final = ((1, "private"), (2, "entry"), (4, "has hints"))
_VISIBILITIES: Final = ("public", "private")


class Meanings:
    """The tables of a file.  Reading them once more leaves a trace of what the program itself never asked for."""

    def __init__(
        self, file: Container, reader: ModuleReader | None, layout: str, constant_uses: dict[int, str]
    ) -> None:
        self.file: Container = file
        self.constant_uses: dict[int, str] = constant_uses
        self.documented: bool = layout == DOCUMENTED
        self._strings: StringTable | None = None
        self._types: TypeTable | None = None
        self._constants: ConstantTable | None = None
        self._debug: DebugTable | None = None
        self._attributes: AttributeTable | None = None
        self._shown_attributes: list[str] = []
        self._descriptions: dict[int, str] = {}
        if reader is not None and isinstance(reader, DocumentedModuleReader):
            self._attributes = reader.attributes
        self._read(layout == DOCUMENTED)

    def _read(self, documented: bool) -> None:
        """Each table for itself: one that cannot be read does not keep the others from being shown."""
        file = self.file
        strings = file.reader(sections.STRING)
        types = file.reader(sections.TYPE)
        debug = file.reader(sections.DEBUG)
        if strings is not None:
            try:
                self._strings = StringTable(strings)
            except Malformed:
                pass
        try:
            self._types = DocumentedTypeTable(types) if documented else TypeTable(types, file.version)
        except Malformed:
            pass
        try:
            self._constants = ConstantTable(file.reader(sections.CONSTANT))
        except Malformed:
            pass
        if self._strings is not None:
            try:
                table = DocumentedDebugTable if documented else DebugTable
                self._debug = table(debug, self._strings)
            except Malformed:
                pass
        self._read_constants()
        if self._attributes is not None:
            self._read_attributes(self._attributes)

    def _read_constants(self) -> None:
        """A constant has a type only where it is used, but its bytes can be told apart without one."""
        if self._constants is None:
            return
        for start, end in self._pieces(self._constants):
            reader = ByteReader(self.file.data, start, end, self.file.trace)
            try:
                size = reader.varint("failed to read the size of the data buffer")
                reader.raw(size, "failed to read the raw byte data")
            except Malformed:
                pass

    def _read_attributes(self, table: AttributeTable) -> None:
        user = ByteReader(b"", 0, 0)
        for index in range(len(table)):
            try:
                shown: list[str] = []
                for entry in table.entries(index, user):
                    value = entry.attribute
                    shown.append(f"{entry.name} = {entry.number if value is None else _short(value)}")
                self._shown_attributes.append("{" + ", ".join(shown) + "}")
            except Malformed:
                self._shown_attributes.append("")

    # --- where things are ---

    def strings(self) -> Entries:
        found: Entries = []
        if self._strings is not None:
            for index in range(len(self._strings)):
                found.append(self._strings.piece(index))
        return found

    def tables(self) -> list[tuple[str, Entries]]:
        """The other tables and where their entries are."""
        found: list[tuple[str, Entries]] = []
        if self._types is not None:
            found.append(("type", self._pieces(self._types)))
        if self._constants is not None:
            found.append(("constant", self._pieces(self._constants)))
        if self._debug is not None:
            found.append(("debug attribute", self._pieces(self._debug)))
        if self._attributes is not None:
            found.append(("attribute", self._pieces(self._attributes)))
        return found

    def _pieces(self, table: TypeTable | ConstantTable | DebugTable | AttributeTable) -> Entries:
        return [table.piece(index) for index in range(len(table))]

    # --- what things are ---

    def string(self, index: int) -> str:
        if self._strings is None or index >= len(self._strings):
            return ""
        try:
            return quote(self._strings.get(index))
        except Malformed:
            return ""

    def entry(self, table: str, index: int) -> str:
        """What an entry of a table is."""
        return self.of(table, index + 1 if table == "debug attribute" else index)

    def of(self, table: str, number: int) -> str:
        """What a reference to a table stands for; debug attributes count from 1, and 0 is an unknown location."""
        try:
            if table == "string":
                return self.string(number)
            if table == "type" and self._types is not None:
                type = self._types.get(number)
                return type.spelling if type is not None else ""
            if table == "debug attribute" and self._debug is not None:
                return self._described(number, self._debug)
            if table == "constant":
                return self.constant_uses.get(number, "")
            if table == "attribute" and number < len(self._shown_attributes):
                return self._shown_attributes[number]
        except Malformed:
            pass
        return ""

    def _described(self, number: int, table: DebugTable) -> str:
        found = self._descriptions.get(number)
        if found is None:
            attribute = table.attribute(number)
            found = self._descriptions[number] = "" if attribute is None else describe(attribute)
        return found

    def of_field(self, kind: str, name: str, value: int) -> str:
        """What a field of a section, function or global stands for."""
        if name == "name":
            return self.string(value)
        if name in ("signature", "type"):
            return self.of("type", value)
        if name == "producer":
            return self.string(value)
        if name.startswith("entry["):
            return self.of("debug attribute", value)
        if self.documented:
            if name == "location":
                return self.of("debug attribute", value + 1)
            if name in ("dictionary", "attribute reference"):
                return self.of("attribute", value)
            if name == "string" and value & 1:
                return self.string(value >> 1)
        if kind == "function":
            return self._of_function(name, value)
        if kind == "global":
            if name == "visibility" and value < len(_VISIBILITIES):
                return _VISIBILITIES[value]
            return self.of("constant", value) if name == "value" else ""
        if name.startswith("offset["):
            index = int(name[len("offset[") : -1])
            return self.entry(_TABLE_OF_SECTION.get(kind, ""), index)
        return ""

    def _of_function(self, name: str, value: int) -> str:
        if name == "flags":
            return ", ".join([word for bit, word in _FUNCTION_FLAGS if value & bit])
        if name == "location" and value == 0:
            return "unknown"
        return ""


def constant_uses(trace: Trace) -> dict[int, str]:
    """What each constant is where it is used first; a blob alone has no type."""
    found: dict[int, str] = {}
    group: Span | None = None
    for span in trace.spans:
        if span.is_group:
            group = span
        elif span.table == "constant" and span.value is not None and group is not None:
            value = group.subject
            if span.value not in found and isinstance(value, DenseAttribute):
                found[span.value] = dense_text(value)
    return found


def dense_text(value: DenseAttribute) -> str:
    """A constant; a long one in few words."""
    if value.is_splat or value.count <= _MOST_ELEMENTS:
        return value.bare_text
    return f"{value.count} elements : {value.type.spelling}"


def _short(value: Attribute) -> str:
    return dense_text(value) if isinstance(value, DenseAttribute) else value.bare_text


def tag_name(kind: str, tag: int) -> str:
    """What a tag of a blob or attribute in the public layout says."""
    if kind == "type":
        scalar = SCALARS.get(tag)
        return scalar.spelling if scalar is not None else TYPE_TAGS.get(tag, "")
    if kind == "debug attribute":
        return DEBUG_TAGS[tag] if tag < len(DEBUG_TAGS) else ""
    return ATTRIBUTE_TAGS[tag] if tag < len(ATTRIBUTE_TAGS) else ""


# A description is one line of a dump.
_LONGEST_DESCRIPTION: Final = 240
# Callees come first in a description: a chain of them is not walked to its end for each of its links.
_MOST_PENDING: Final = 64


def describe(attribute: Attribute) -> str:
    """A debug attribute in few words."""
    out: list[str] = []
    length = 0
    # An explicit stack, because call sites and scopes may nest deeply.
    pending: list[str | Attribute] = [attribute]
    while pending:
        part = pending.pop()
        if not isinstance(part, str):
            pending.extend(["..."] if len(pending) > _MOST_PENDING else reversed(_words(part)))
            continue
        out.append(part)
        length += len(part)
        if length > _LONGEST_DESCRIPTION:
            out.append("...")
            break
    return "".join(out)


def _words(attribute: Attribute) -> list[str | Attribute]:
    if isinstance(attribute, DILocation):
        return [attribute.source, " in ", attribute.scope]
    if isinstance(attribute, DISubprogram):
        return [f"function {quote(attribute.name)}"]
    if isinstance(attribute, DILexicalBlock):
        return [f"block at {attribute.line}:{attribute.column} in ", attribute.scope]
    if isinstance(attribute, DICompileUnit):
        return ["compile unit ", attribute.file]
    if isinstance(attribute, DIFile):
        return [f"file {quote(attribute.name)} in {quote(attribute.directory)}"]
    if isinstance(attribute, CallSiteLocation):
        return [attribute.callee, " called at ", attribute.caller]
    if isinstance(attribute, FileLocation):
        name = attribute.file.rpartition("/")[2]
        return [f"{name}:{attribute.line}:{attribute.column}"]
    if isinstance(attribute, UnknownLocation):
        return ["unknown"]
    return [attribute.inner if isinstance(attribute, Location) else attribute.text]
