"""Self-contained attributes of the public layout (docs/reference/bytecode.md section 6)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
from tileir.bytecode.tables import Tables, TableWriter
from tileir.dialect import attributes as cuda_tile
from tileir.dialect.types import TileType
from tileir.ir import attributes as builtin
from tileir.ir.attributes import Attribute
from tileir.ir.dense import signed_value
from tileir.ir.types import I1, FloatType, IntegerType

INTEGER: Final = 1
FLOAT: Final = 2
BOOL: Final = 3
TYPE: Final = 4
STRING: Final = 5
ARRAY: Final = 6
DENSE: Final = 7
DIV_BY: Final = 8
SAME_ELEMENTS: Final = 9
DICTIONARY: Final = 10
HINTS: Final = 11
BOUNDED: Final = 12
_NESTED: Final = (ARRAY, DICTIONARY, HINTS)
_NUMBERS: Final = (builtin.IntegerAttribute, builtin.FloatAttribute)


def read_bits(reader: ByteReader, width: int) -> int:
    """An integer or float pattern of `width` bits: a byte, or a zig-zag number."""
    if width <= 8:
        value = reader.byte("failed to read byte for APInt (<= 8 bits).")
    else:
        value = reader.signed("failed to read signed varint for APInt (<= 64 bits).") & 0xFFFFFFFFFFFFFFFF
    if value >> width:
        reader.fail(f"value {value} does not fit in {width} bits" + ("." if width <= 8 else ""))
    return value


def write_bits(writer: ByteWriter, width: int, bits: int) -> None:
    if width <= 8:
        writer.byte(bits)
    else:
        writer.signed(bits - (1 << 64) if bits >> 63 else bits)


class _Open:
    """An array, a dictionary or hints being read; `message` is for a part of it that fails, "" between parts."""

    def __init__(self, tag: int, reader: ByteReader) -> None:
        self.tag: int = tag
        self.start: int = reader.position
        self.index: int = 0
        self.elements: list[Attribute] = []
        self.entries: dict[str, Attribute] = {}
        self.key: str = ""
        self.repeated: str = ""
        self.message: str = ""
        size = "failed to read size for ArrayAttr." if tag == ARRAY else "failed to read size for DictionaryAttr"
        self.count: int = reader.count(size)

    def begin_part(self, reader: ByteReader, tables: Tables) -> None:
        if self.tag == ARRAY:
            self.message = f"failed to parse ArrayAttr element {self.index}"
            return
        key = tables.strings.read(reader, f"failed to read key for DictionaryAttr element {self.index}")
        if not key:
            reader.fail(f"invalid empty attribute name for DictionaryAttr element {self.index}")
        self.key = key
        self.message = f"failed to parse DictionaryAttr value for key {key}"

    def add(self, part: Attribute) -> None:
        self.message = ""
        self.index += 1
        if self.tag == ARRAY:
            self.elements.append(part)
            return
        key = self.key
        if key in self.entries:
            # Report the first repeated key in sorting order.
            self.repeated = min(self.repeated, key) if self.repeated else key
        self.entries[key] = part

    def finish(self, reader: ByteReader, tables: Tables) -> Attribute:
        if self.tag == ARRAY:
            return builtin.array_attribute(tuple(self.elements))
        if self.repeated:
            reader.fail(f'failed to parse DictionaryAttr, duplicate key found: "{self.repeated}"')
        found = builtin.dictionary_attribute(self.entries)
        if tables.spellings is not None:
            tables.spellings.note(found, reader.data[self.start : reader.position])
        if self.tag == DICTIONARY:
            return found
        error = cuda_tile.optimization_hints_error(found)
        if error is not None:
            reader.fail(error)
        return cuda_tile.optimization_hints(found)


def read_attribute(reader: ByteReader, tables: Tables) -> Attribute:
    """A tag and what belongs to it."""
    start = reader.position
    tag = reader.varint("failed to read AttributeTag for self-contained attribute.")
    # NVIDIA's reader keeps the low byte of a tag, as it does for types.
    if tag & 0xFF in _NESTED:
        return read_nested(reader, tables, tag & 0xFF)
    found = _read_leaf(reader, tables, tag)
    _note_number(found, reader, start, tables)
    return found


def read_nested(reader: ByteReader, tables: Tables, tag: int) -> Attribute:
    """Read an array, a dictionary or hints whose tag has been read, or follows from the context.

    An explicit stack, because a file may nest them to any depth: each level costs it two bytes.
    """
    path = [_Open(tag, reader)]
    try:
        while True:
            top = path[-1]
            if top.index == top.count:
                found = top.finish(reader, tables)
                path.pop()
                if not path:
                    return found
                path[-1].add(found)
                continue
            top.begin_part(reader, tables)
            start = reader.position
            tag = reader.varint("failed to read AttributeTag for self-contained attribute.")
            if tag & 0xFF in _NESTED:
                path.append(_Open(tag & 0xFF, reader))
            else:
                found = _read_leaf(reader, tables, tag)
                if top.tag == ARRAY:
                    _note_number(found, reader, start, tables)
                top.add(found)
    except Malformed as failure:
        for outer in reversed(path):
            if outer.message:
                failure.add(outer.message, reader.offset)
        raise failure from None


def _note_number(found: Attribute, reader: ByteReader, start: int, tables: Tables) -> None:
    """Keep how a number is written, where the bytes around it are not kept."""
    if tables.spellings is not None and isinstance(found, _NUMBERS):
        tables.spellings.note(found, reader.data[start : reader.position])


def _read_leaf(reader: ByteReader, tables: Tables, whole_tag: int) -> Attribute:
    """An attribute that is not made of others, after its tag."""
    tag = whole_tag & 0xFF
    if tag == INTEGER:
        return _read_integer(reader, tables)
    if tag == FLOAT:
        type = tables.read_type(reader, "failed to read valid FloatType for FloatAttr")
        if not isinstance(type, FloatType):
            reader.fail("failed to read valid FloatType for FloatAttr")
        return builtin.float_attribute(type, read_bits(reader, type.width))
    if tag == BOOL:
        return builtin.bool_attribute(reader.byte("failed to read byte for inline bool (i1)") != 0)
    if tag == TYPE:
        return builtin.type_attribute(tables.read_type(reader, "failed to get referenced type for TypeAttr"))
    if tag == STRING:
        return builtin.string_attribute(tables.strings.read(reader, "failed to read StringAttr."))
    if tag == DENSE:
        # NVIDIA's reader has this tag and always fails on it.
        found = tables.read_type(reader, "failed to read valid MLIR Type for self-contained DenseElementsAttr")
        if not isinstance(found, TileType):
            reader.fail("failed to read valid MLIR Type for self-contained DenseElementsAttr")
        reader.fail("unknown DenseElementsAttr based Attr")
    if tag == DIV_BY:
        return _read_div_by(reader)
    if tag == SAME_ELEMENTS:
        return cuda_tile.same_elements(reader.integers(8, "failed to read values data"))
    if tag == BOUNDED:
        return _read_bounded(reader)
    reader.fail(f"unsupported AttributeTag {whole_tag} for self-contained attribute")


def _read_integer(reader: ByteReader, tables: Tables) -> Attribute:
    type = tables.read_type(reader, "failed to read valid IntegerType for IntegerAttr")
    if not isinstance(type, IntegerType):
        reader.fail("failed to read valid IntegerType for IntegerAttr")
    if type is I1:
        return builtin.bool_attribute(reader.byte("failed to read byte for inline bool (i1)") != 0)
    return builtin.integer_attribute(type, signed_value(type.width, read_unsigned(reader, type.width)))


def read_unsigned(reader: ByteReader, width: int) -> int:
    """An integer of `width` bits, zero-extended."""
    value = reader.varint(f"failed to read VarInt for inline integer (width={width})")
    if value >> width:
        reader.fail(f"value {value} does not fit in {width} bits")
    return value


def check_values(reader: ByteReader, values: tuple[int, ...], width: int) -> None:
    """NVIDIA's reader refuses the two ends of the range in arrays."""
    limit = (1 << (width - 1)) - 1
    for value in values:
        if value == limit or value == -limit - 1:
            reader.fail(f"array contains unsupported value {value}")


def _read_div_by(reader: ByteReader) -> Attribute:
    divisor = reader.varint("failed to read divisor")
    every, along = _read_pair(reader, "every_val", "along_val")
    return cuda_tile.div_by(divisor, every, along)


def _read_bounded(reader: ByteReader) -> Attribute:
    lower, upper = _read_pair(reader, "lb_val", "ub_val")
    return cuda_tile.bounded(lower, upper)


def _read_pair(reader: ByteReader, first: str, second: str) -> tuple[int | None, int | None]:
    """Two numbers, each of which is present if its flag is set."""
    flags = reader.varint("failed to read optional parameter flags")
    one = reader.signed(f"failed to read {first}") if flags & 1 else None
    other = reader.signed(f"failed to read {second}") if flags & 2 else None
    return one, other


def _write_pair(writer: ByteWriter, one: int | None, other: int | None) -> None:
    writer.byte((one is not None) | (other is not None) << 1)
    for number in (one, other):
        if number is not None:
            writer.signed(number)


def write_attribute(writer: ByteWriter, attribute: Attribute, tables: TableWriter) -> None:
    """The tag of an attribute and what belongs to it."""
    _write_pending(writer, [attribute], tables)


def write_array(writer: ByteWriter, array: builtin.ArrayAttribute, tables: TableWriter) -> None:
    """The elements of an array, without a tag, where the context implies it."""
    _write_pending(writer, _begin_array(writer, array), tables)


def write_dictionary(writer: ByteWriter, dictionary: builtin.DictionaryAttribute, tables: TableWriter) -> None:
    """The entries of a dictionary, without a tag, where the context implies it."""
    _write_pending(writer, _begin_dictionary(writer, dictionary, tables), tables)


def _write_pending(writer: ByteWriter, pending: list[str | Attribute], tables: TableWriter) -> None:
    """Write what is pending, the last first: keys, and attributes with their tags.  Not recursive, as they nest."""
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            writer.varint(tables.string(part))
        elif isinstance(part, builtin.ArrayAttribute):
            writer.varint(ARRAY)
            pending.extend(_begin_array(writer, part))
        elif isinstance(part, builtin.DictionaryAttribute):
            writer.varint(DICTIONARY)
            pending.extend(_begin_dictionary(writer, part, tables))
        elif isinstance(part, cuda_tile.OptimizationHintsAttribute):
            writer.varint(HINTS)
            pending.extend(_begin_dictionary(writer, part.entries, tables))
        else:
            _write_leaf(writer, part, tables)


def _begin_array(writer: ByteWriter, array: builtin.ArrayAttribute) -> list[str | Attribute]:
    """Write the length of an array and return its elements, the last first."""
    writer.varint(len(array.elements))
    return list(reversed(array.elements))


def _begin_dictionary(
    writer: ByteWriter, dictionary: builtin.DictionaryAttribute, tables: TableWriter
) -> list[str | Attribute]:
    """Write the length of a dictionary and return its keys and values, the last first; or write all as it was read."""
    spelling = tables.spelling(dictionary)
    if spelling is not None:
        writer.raw(spelling)
        return []
    writer.varint(len(dictionary.entries))
    pending: list[str | Attribute] = []
    for key, value in reversed(dictionary.entries):
        pending.append(value)
        pending.append(key)
    return pending


def _write_leaf(writer: ByteWriter, attribute: Attribute, tables: TableWriter) -> None:
    spelling = tables.spelling(attribute) if isinstance(attribute, _NUMBERS) else None
    if spelling is not None:
        writer.raw(spelling)
    elif isinstance(attribute, builtin.IntegerAttribute):
        writer.varint(INTEGER)
        writer.varint(tables.types.index(attribute.type))
        if attribute.type is I1:
            writer.byte(attribute.value)
        else:
            width = attribute.type.width if isinstance(attribute.type, IntegerType) else 64
            writer.varint(attribute.value & ((1 << width) - 1))
    elif isinstance(attribute, builtin.FloatAttribute):
        writer.varint(FLOAT)
        writer.varint(tables.types.index(attribute.type))
        write_bits(writer, attribute.type.width, attribute.bits)
    elif isinstance(attribute, builtin.TypeAttribute):
        writer.varint(TYPE)
        writer.varint(tables.types.index(attribute.type))
    elif isinstance(attribute, builtin.StringAttribute):
        writer.varint(STRING)
        writer.varint(tables.string(attribute.value))
    elif isinstance(attribute, cuda_tile.DivByAttribute):
        writer.varint(DIV_BY)
        writer.varint(attribute.divisor)
        _write_pair(writer, attribute.every, attribute.along)
    elif isinstance(attribute, cuda_tile.SameElementsAttribute):
        writer.varint(SAME_ELEMENTS)
        writer.integers(attribute.values, 8)
    elif isinstance(attribute, cuda_tile.BoundedAttribute) and not attribute.strict:
        writer.varint(BOUNDED)
        _write_pair(writer, attribute.lower, attribute.upper)
    else:
        raise Malformed(f"attribute '{attribute.text}' has no bytecode form", 0, prefixed=False)
