"""Self-contained attributes of the public layout (docs/bytecode.md section 6)."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
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

if TYPE_CHECKING:
    from tileir.bytecode.reader import Tables
    from tileir.bytecode.writer import TableWriter

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
        return reader.byte("failed to read integer value")
    value = reader.signed("failed to read integer value") & 0xFFFFFFFFFFFFFFFF
    if value >> width:
        reader.fail(f"value {value} does not fit in {width} bits.")
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
    tag = reader.varint("failed to read attribute tag")
    if tag == INTEGER:
        return _read_integer(reader, tables)
    if tag == FLOAT:
        type = tables.types.get(reader.varint("failed to read valid FloatType for FloatAttr"))
        if not isinstance(type, FloatType):
            reader.fail("failed to read valid FloatType for FloatAttr")
        return float_attribute(type, read_bits(reader, type.width))
    if tag == BOOL:
        return bool_attribute(reader.byte("failed to read BoolAttr") != 0)
    if tag == TYPE:
        found = tables.types.get(reader.varint("failed to get referenced type for TypeAttr"))
        if found is None:
            reader.fail("failed to get referenced type for TypeAttr")
        return type_attribute(found)
    if tag == STRING:
        return string_attribute(tables.string(reader, "failed to read StringAttr."))
    if tag == ARRAY:
        count = reader.count("failed to read number of elements for ArrayAttr")
        return array_attribute(tuple([read_attribute(reader, tables, depth + 1) for _ in range(count)]))
    if tag == DENSE:
        # NVIDIA's reader has this tag and always fails on it.
        reader.fail("failed to read valid MLIR Type for self-contained DenseElementsAttr")
    if tag == DIV_BY:
        return _read_div_by(reader)
    if tag == SAME_ELEMENTS:
        return same_elements(reader.integers(8, "failed to read DenseI64ArrayAttr for SameElementsAttr"))
    if tag == DICTIONARY:
        return read_dictionary(reader, tables, depth)
    if tag == HINTS:
        return read_hints(reader, tables)
    if tag == BOUNDED:
        return _read_bounded(reader)
    reader.fail(f"unsupported AttributeTag {tag} for self-contained attribute")


def _read_integer(reader: ByteReader, tables: Tables) -> Attribute:
    type = tables.types.get(reader.varint("failed to read valid Type for IntegerAttr"))
    if not isinstance(type, IntegerType):
        reader.fail("failed to read valid Type for IntegerAttr")
    if type is I1:
        return bool_attribute(reader.byte("failed to read IntegerAttr") != 0)
    value = reader.varint("failed to read IntegerAttr")
    if value >> type.width:
        reader.fail(f"value {value} does not fit in {type.width} bits")
    return integer_attribute(type, signed_value(type.width, value))


def _read_div_by(reader: ByteReader) -> Attribute:
    divisor = reader.varint("failed to read divisor for DivByAttr")
    flags = reader.byte("failed to read flags byte for DivByAttr")
    every = reader.signed("failed to read value for 'every' in DivByAttr") if flags & 1 else None
    along = reader.signed("failed to read value for 'along' in DivByAttr") if flags & 2 else None
    return div_by(divisor, every, along)


def _read_bounded(reader: ByteReader) -> Attribute:
    flags = reader.byte("failed to read flags byte for BoundedAttr")
    lower = reader.signed("failed to read lower bound for BoundedAttr") if flags & 1 else None
    upper = reader.signed("failed to read upper bound for BoundedAttr") if flags & 2 else None
    return bounded(lower, upper)


def read_dictionary(reader: ByteReader, tables: Tables, depth: int = 0) -> DictionaryAttribute:
    start = reader.position
    count = reader.count("failed to read number of elements for DictionaryAttr", 2)
    entries: dict[str, Attribute] = {}
    for index in range(count):
        key = tables.string(reader, "failed to read key for DictionaryAttr")
        if not key:
            reader.fail(f"invalid empty attribute name for DictionaryAttr element {index}")
        if key in entries:
            reader.fail(f'failed to parse DictionaryAttr, duplicate key found: "{key}"')
        entries[key] = _read_attribute(reader, tables, depth + 1)
    found = dictionary_attribute(entries)
    if tables.spellings is not None:
        tables.spellings.note(found, reader.data[start : reader.position])
    return found


def read_hints(reader: ByteReader, tables: Tables) -> Attribute:
    """The dictionary of optimization hints, without a tag."""
    entries = read_dictionary(reader, tables)
    mistake = optimization_hints_mistake(entries)
    if mistake is not None:
        raise Malformed(mistake, reader.offset, prefixed=False)
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
