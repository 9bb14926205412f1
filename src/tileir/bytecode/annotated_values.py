"""Names of the fields of a file and meanings of the numbers in them, from its tables as far as they can be read."""

from __future__ import annotations

import re
from functools import lru_cache

from tileir.annotations import Final
from tileir.bytecode import container as sections
from tileir.bytecode.container import Container
from tileir.bytecode.debug import DebugTable
from tileir.bytecode.documented.dictionary import AttributeTable
from tileir.bytecode.documented.reader import DocumentedModuleReader
from tileir.bytecode.documented.tables import DocumentedDebugTable, DocumentedTypeTable
from tileir.bytecode.entry_tables import ConstantTable, EntryTable, StringTable
from tileir.bytecode.layouts import DOCUMENTED
from tileir.bytecode.primitives import ByteReader, Malformed, Span, Trace
from tileir.bytecode.reader import ModuleReader
from tileir.bytecode.types import SCALARS, TypeTable
from tileir.dialect.debug_info import DICompileUnit, DIFile, DILexicalBlock, DILocation, DISubprogram
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
    """The tables of a file.  Reading them once more leaves a trace of the entries that the program does not use."""

    def __init__(
        self, file: Container, reader: ModuleReader | None, layout: str, constant_uses: dict[int, str]
    ) -> None:
        self.file: Container = file
        self.constant_uses: dict[int, str] = constant_uses
        self.documented: bool = layout == DOCUMENTED
        # By name, those that can be read.
        self._tables: dict[str, EntryTable] = {}
        self._shown_attributes: list[str] = []
        self._descriptions: dict[int, str] = {}
        for name in ("string", "type", "constant", "debug attribute"):
            try:
                table = self._make(name)
            except Malformed:
                continue
            if table is not None:
                self._tables[name] = table
        self._read_constants()
        if reader is not None and isinstance(reader, DocumentedModuleReader):
            self._tables["attribute"] = reader.attributes
            self._read_attributes(reader.attributes)

    def _make(self, name: str) -> EntryTable | None:
        file = self.file
        if name == "string":
            strings = file.reader(sections.STRING)
            return StringTable(strings) if strings is not None else None
        if name == "type":
            types = file.reader(sections.TYPE)
            return DocumentedTypeTable(types) if self.documented else TypeTable(types, file.version)
        if name == "constant":
            return ConstantTable(file.reader(sections.CONSTANT))
        known = self._tables.get("string")
        if not isinstance(known, StringTable):
            return None
        debug = file.reader(sections.DEBUG)
        make = DocumentedDebugTable if self.documented else DebugTable
        return make(debug, known, file.version)

    def _read_constants(self) -> None:
        """Read the fields of the constants.  A constant has a type only where it is used; its fields need none."""
        for start, end in self._bounds("constant"):
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

    def tables(self) -> list[tuple[str, Entries]]:
        """The tables and where their entries are."""
        return [(name, self._bounds(name)) for name in self._tables]

    def _bounds(self, name: str) -> Entries:
        table = self._tables.get(name)
        return [table.bounds(index) for index in range(len(table))] if table is not None else []

    # --- what things are ---

    def string(self, index: int) -> str:
        strings = self._tables.get("string")
        if not isinstance(strings, StringTable) or index >= len(strings):
            return ""
        try:
            return quote(strings.get(index))
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
            entries = self._tables.get(table)
            if isinstance(entries, TypeTable):
                type = entries.get(number)
                return type.spelling if type is not None else ""
            if isinstance(entries, DebugTable):
                return self._described(number, entries)
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
    """The name of a tag of a blob or attribute in the public layout."""
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


# --- names of fields, from the message that a reader would fail with ---

_REGULAR: Final = re.compile(
    r"(?:failed to (?:read|get|skip) )?(?:global )?(.*?)(?: attribute| data)?"
    r"(?: when parsing \w+| for \w+Op| for (?:DivBy|Bounded)Attr)?\.?",
    re.DOTALL,
)

# What is left of messages that contain a name or a number, and the names of their fields.
_PATTERNS: Final = [
    (re.compile(r"operand index for (\w+) segment, element (\d+)"), r"operand \1[\2]"),
    (re.compile(r"operand index (\d+)"), r"operand \1"),
    (re.compile(r"actual size for variadic ODS segment '(\w+)' of op '.*'"), r"operand \1 count"),
    (re.compile(r"block argument type: (\d+)"), r"argument type \1"),
    (re.compile(r"key for DictionaryAttr element (\d+)"), r"key \1"),
    (re.compile(r"attribute '(.*)'"), r"\1"),
    (re.compile(r"value for '(\w+)' in \w+"), r"\1"),
    (re.compile(r"function location for '.*'"), "location"),
    (re.compile(r"VarInt for inline integer .*"), "integer"),
    (re.compile(r"valid (?:\w*|MLIR )Type for .*"), "type"),
    (re.compile(r"Dense\w+ArrayAttr(?: values)?(?: for \w+)?"), "values"),
    (re.compile(r"(\w+)Type type"), r"\1 type"),
    (re.compile(r"number of (\w+?)s?(?: types)?(?: to parse)?(?: for \w+)?"), r"\1 count"),
]

# Names of fields whose message is not plain enough for a dump.
_NAMES: Final[dict[str, str]] = {
    "unexpected end of data while reading section header": "section id",
    "section length": "length",
    "operation opcode": "opcode",
    "flags field": "flags",
    "optional parameter flags": "flags",
    "VarInt for enum": "enumerator",
    "region block count": "block count",
    "block argument count": "argument count",
    "block operation count": "operation count",
    "AttributeTag for self-contained": "attribute tag",
    "the size of the data buffer": "byte count",
    "the raw byte": "bytes",
    "total number of operations with debug info": "function count",
    "total number of debug info indices": "index count",
    "total number of debug info attributes": "attribute count",
    "debug info index offsets": "first entry",
    "debug info indices": "entry",
    "debug info offsets": "offset",
    "symbol name string": "name",
    "value type": "type",
    "value constant index": "value",
    "symbol visibility": "visibility",
    "StringAttr": "string",
    "string for FlatSymbolRefAttr": "symbol",
    "referenced type for TypeAttr": "type",
    "byte for inline bool (i1)": "bool",
    "byte for APInt (<= 8 bits)": "bits",
    "signed varint for APInt (<= 64 bits)": "bits",
    "size for ArrayAttr": "element count",
    "size for DictionaryAttr": "entry count",
    "every_val": "every",
    "along_val": "along",
    "lb_val": "lower bound",
    "ub_val": "upper bound",
    "producer string index": "producer",
    "operation location": "location",
    "function body length": "body length",
    "function name": "name",
    "function signature": "signature",
    "function flags": "flags",
    "attribute dictionary": "dictionary",
    "attribute offset": "offset",
    "flags byte": "flags",
}

# The fields of a group that are read without a message, in order.
UNNAMED: Final[dict[str, tuple[str, ...]]] = {
    "header": ("major version", "minor version", "tag"),
    "section header": ("alignment",),
    "String": ("string count",),
    "Type": ("type count",),
    "Constant": ("constant count",),
    "Func": ("function count",),
    "function": ("name", "signature", "flags", "location", "body length"),
    "type": ("tag", "has padding"),
    "debug attribute": ("tag",),
}


@lru_cache(4096)
def field_name(message: str) -> str:
    """The name of a field from the message that its reader would fail with.

    The messages are those of NVIDIA's reader word for word, so that they identify fields as well as codes would.
    """
    match = _REGULAR.fullmatch(message)
    text = match[1] if match is not None else message
    for pattern, name in _PATTERNS:
        match = pattern.fullmatch(text)
        if match is not None:
            return match.expand(name)
    return _NAMES.get(text, text)
