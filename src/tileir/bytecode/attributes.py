"""Self-contained attributes of the public layout (docs/bytecode.md section 6)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
from tileir.bytecode.tables import Tables, TableWriter
from tileir.dialect.attributes import (
    BoundedAttribute,
    DivByAttribute,
    OptimizationHintsAttribute,
    SameElementsAttribute,
    bounded,
    div_by,
    optimization_hints,
    optimization_hints_mistake,
    same_elements,
)
from tileir.dialect.types import TileType
from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DictionaryAttribute,
    FloatAttribute,
    IntegerAttribute,
    StringAttribute,
    TypeAttribute,
    array_attribute,
    bool_attribute,
    dictionary_attribute,
    float_attribute,
    integer_attribute,
    signed_value,
    string_attribute,
    type_attribute,
)
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

# Arrays and dictionaries may nest this deep.
_MAXIMUM_DEPTH: Final = 64


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


def read_attribute(reader: ByteReader, tables: Tables, depth: int = 0) -> Attribute:
    """A tag and what belongs to it."""
    start = reader.position
    found = _read_attribute(reader, tables, depth)
    if tables.spellings is not None and isinstance(found, (IntegerAttribute, FloatAttribute)):
        tables.spellings.note(found, reader.data[start : reader.position])
    return found


def _read_attribute(reader: ByteReader, tables: Tables, depth: int) -> Attribute:
    if depth > _MAXIMUM_DEPTH:
        reader.fail("attribute nesting is too deep")
    tag = reader.varint("failed to read AttributeTag for self-contained attribute.")
    if tag == INTEGER:
        return _read_integer(reader, tables)
    if tag == FLOAT:
        type = tables.read_type(reader, "failed to read valid FloatType for FloatAttr")
        if not isinstance(type, FloatType):
            reader.fail("failed to read valid FloatType for FloatAttr")
        return float_attribute(type, read_bits(reader, type.width))
    if tag == BOOL:
        return bool_attribute(reader.byte("failed to read byte for inline bool (i1)") != 0)
    if tag == TYPE:
        return type_attribute(tables.read_type(reader, "failed to get referenced type for TypeAttr"))
    if tag == STRING:
        return string_attribute(tables.string(reader, "failed to read StringAttr."))
    if tag == ARRAY:
        return read_array(reader, tables, depth)
    if tag == DENSE:
        # NVIDIA's reader has this tag and always fails on it.
        found = tables.read_type(reader, "failed to read valid MLIR Type for self-contained DenseElementsAttr")
        if not isinstance(found, TileType):
            reader.fail("failed to read valid MLIR Type for self-contained DenseElementsAttr")
        reader.fail("unknown DenseElementsAttr based Attr")
    if tag == DIV_BY:
        return _read_div_by(reader)
    if tag == SAME_ELEMENTS:
        return same_elements(reader.integers(8, "failed to read values data"))
    if tag == DICTIONARY:
        return read_dictionary(reader, tables, depth)
    if tag == HINTS:
        return read_hints(reader, tables, depth)
    if tag == BOUNDED:
        return _read_bounded(reader)
    reader.fail(f"unsupported AttributeTag {tag} for self-contained attribute")


def _read_integer(reader: ByteReader, tables: Tables) -> Attribute:
    type = tables.read_type(reader, "failed to read valid IntegerType for IntegerAttr")
    if not isinstance(type, IntegerType):
        reader.fail("failed to read valid IntegerType for IntegerAttr")
    if type is I1:
        return bool_attribute(reader.byte("failed to read byte for inline bool (i1)") != 0)
    return integer_attribute(type, signed_value(type.width, read_unsigned(reader, type.width)))


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


def read_array(reader: ByteReader, tables: Tables, depth: int = 0) -> ArrayAttribute:
    """A counted array of attributes, without a tag."""
    elements: list[Attribute] = []
    for index in range(reader.count("failed to read size for ArrayAttr.")):
        try:
            element = read_attribute(reader, tables, depth + 1)
        except Malformed as failure:
            raise failure.add(f"failed to parse ArrayAttr element {index}", reader.offset) from None
        elements.append(element)
    return array_attribute(tuple(elements))


def _read_div_by(reader: ByteReader) -> Attribute:
    divisor = reader.varint("failed to read divisor")
    flags = reader.varint("failed to read optional parameter flags")
    every = reader.signed("failed to read every_val") if flags & 1 else None
    along = reader.signed("failed to read along_val") if flags & 2 else None
    return div_by(divisor, every, along)


def _read_bounded(reader: ByteReader) -> Attribute:
    flags = reader.varint("failed to read optional parameter flags")
    lower = reader.signed("failed to read lb_val") if flags & 1 else None
    upper = reader.signed("failed to read ub_val") if flags & 2 else None
    return bounded(lower, upper)


def read_dictionary(reader: ByteReader, tables: Tables, depth: int = 0) -> DictionaryAttribute:
    start = reader.position
    entries: dict[str, Attribute] = {}
    repeated = ""
    for index in range(reader.count("failed to read size for DictionaryAttr")):
        key = tables.string(reader, f"failed to read key for DictionaryAttr element {index}")
        if not key:
            reader.fail(f"invalid empty attribute name for DictionaryAttr element {index}")
        try:
            value = _read_attribute(reader, tables, depth + 1)
        except Malformed as failure:
            raise failure.add(f"failed to parse DictionaryAttr value for key {key}", reader.offset) from None
        if key in entries:
            # Of several repeated keys the first in sorting order is reported.
            repeated = min(repeated, key) if repeated else key
        entries[key] = value
    if repeated:
        reader.fail(f'failed to parse DictionaryAttr, duplicate key found: "{repeated}"')
    found = dictionary_attribute(entries)
    if tables.spellings is not None:
        tables.spellings.note(found, reader.data[start : reader.position])
    return found


def read_hints(reader: ByteReader, tables: Tables, depth: int = 0) -> Attribute:
    """The dictionary of optimization hints, without a tag."""
    entries = read_dictionary(reader, tables, depth)
    mistake = optimization_hints_mistake(entries)
    if mistake is not None:
        reader.fail(mistake)
    return optimization_hints(entries)


def write_attribute(writer: ByteWriter, attribute: Attribute, tables: TableWriter) -> None:
    """The tag of an attribute and what belongs to it."""
    spelling = tables.spelling(attribute) if isinstance(attribute, (IntegerAttribute, FloatAttribute)) else None
    if spelling is not None:
        writer.raw(spelling)
    elif isinstance(attribute, IntegerAttribute):
        writer.varint(INTEGER)
        writer.varint(tables.types.index(attribute.type))
        if attribute.type is I1:
            writer.byte(attribute.value)
        else:
            width = attribute.type.width if isinstance(attribute.type, IntegerType) else 64
            writer.varint(attribute.value & ((1 << width) - 1))
    elif isinstance(attribute, FloatAttribute):
        writer.varint(FLOAT)
        writer.varint(tables.types.index(attribute.type))
        write_bits(writer, attribute.type.width, attribute.bits)
    elif isinstance(attribute, TypeAttribute):
        writer.varint(TYPE)
        writer.varint(tables.types.index(attribute.type))
    elif isinstance(attribute, StringAttribute):
        writer.varint(STRING)
        writer.varint(tables.string(attribute.value))
    elif isinstance(attribute, ArrayAttribute):
        writer.varint(ARRAY)
        write_array(writer, attribute, tables)
    elif isinstance(attribute, DivByAttribute):
        writer.varint(DIV_BY)
        writer.varint(attribute.divisor)
        writer.byte((attribute.every is not None) | (attribute.along is not None) << 1)
        if attribute.every is not None:
            writer.signed(attribute.every)
        if attribute.along is not None:
            writer.signed(attribute.along)
    elif isinstance(attribute, SameElementsAttribute):
        writer.varint(SAME_ELEMENTS)
        writer.integers(attribute.values, 8)
    elif isinstance(attribute, DictionaryAttribute):
        writer.varint(DICTIONARY)
        write_dictionary(writer, attribute, tables)
    elif isinstance(attribute, OptimizationHintsAttribute):
        writer.varint(HINTS)
        write_dictionary(writer, attribute.entries, tables)
    elif isinstance(attribute, BoundedAttribute) and not attribute.strict:
        writer.varint(BOUNDED)
        writer.byte((attribute.lower is not None) | (attribute.upper is not None) << 1)
        if attribute.lower is not None:
            writer.signed(attribute.lower)
        if attribute.upper is not None:
            writer.signed(attribute.upper)
    else:
        raise Malformed(f"attribute '{attribute.text}' has no bytecode form", 0, prefixed=False)


def write_array(writer: ByteWriter, array: ArrayAttribute, tables: TableWriter) -> None:
    writer.varint(len(array.elements))
    for element in array.elements:
        write_attribute(writer, element, tables)


def write_dictionary(writer: ByteWriter, dictionary: DictionaryAttribute, tables: TableWriter) -> None:
    spelling = tables.spelling(dictionary)
    if spelling is not None:
        writer.raw(spelling)
        return
    writer.varint(len(dictionary.entries))
    for key, value in dictionary.entries:
        writer.varint(tables.string(key))
        write_attribute(writer, value, tables)
