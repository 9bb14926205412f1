"""The thirteen attribute tags of the documented layout (docs/reference/bytecode.md section 10).

The failure of each tag is the text of the bytecode draft, verbatim ("Per-Tag Builder Cluster").  The payload of tag 13
is a reference to another attribute, so the attribute table reads and writes it.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.attributes import read_bits, write_bits
from tileir.bytecode.documented.tables import DocumentedTables, DocumentedTableWriter, read_extents
from tileir.bytecode.primitives import ByteReader, ByteWriter, Malformed
from tileir.dialect import attributes as cuda_tile
from tileir.dialect.types import TileType, tile_error, tile_type
from tileir.ir import attributes as builtin
from tileir.ir.attributes import Attribute
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes, signed_value
from tileir.ir.interning import LEAF, intern, register
from tileir.ir.quoting import quote
from tileir.ir.types import I1, I64, FloatType, IntegerType, Type
from tileir.ir.versions import NEWEST

STRING: Final = 1
FLOAT: Final = 2
TYPE: Final = 3
DENSE: Final = 4
DENSE_STRINGS: Final = 5
DIV_BY: Final = 6
I64_ARRAY: Final = 7
I64_ARRAY_POOLED: Final = 8
SAME_ELEMENTS: Final = 9
BOUNDED_LOWER: Final = 10
BOUNDED_UPPER: Final = 11
BOUNDED_BOTH: Final = 12
ASSUME_PREDICATE: Final = 13

# Bits of the flags byte of div_by.
VERIFY_WITH_ASSUME: Final = 1
PREDICATE_COVARIANCE: Final = 2

# Bits of the flags byte of the bounds; strict is the types draft's.
HAS_LOWER: Final = 1
HAS_UPPER: Final = 2
IS_STRICT: Final = 4

_NO_STRING: Final = "failed to read StringAttr."
_NO_DENSE_TYPE: Final = "failed to read valid MLIR Type for self-contained DenseElementsAttr"
_NO_VALUES: Final = "failed to read DenseI64ArrayAttr values."
_U64: Final = (1 << 64) - 1


class DenseStringAttribute(Attribute):
    """Tag 5: a shaped list of strings.  No operation takes one; it is carried as a discardable attribute."""

    __slots__ = ("shape", "strings")

    def __init__(self, shape: tuple[int, ...], strings: tuple[str, ...]) -> None:
        self.shape: tuple[int, ...] = shape
        self.strings: tuple[str, ...] = strings

    @property
    def text(self) -> str:
        extents = "".join([f"{extent}x" for extent in self.shape])
        return f"dense<[{', '.join([quote(s) for s in self.strings])}]> : tensor<{extents}!cuda_tile.string>"


class VerifiedDivByAttribute(cuda_tile.DivByAttribute):
    """`div_by` with bit 0 of its flags, `verify_with_assume`, which nothing but the byte itself remembers."""

    __slots__ = ()


_dense_strings: Final[dict[tuple[tuple[int, ...], tuple[str, ...]], DenseStringAttribute]] = {}
_verified: Final[dict[cuda_tile.DivByAttribute, VerifiedDivByAttribute]] = {}
register(_dense_strings, LEAF)
register(_verified, LEAF)


def dense_string_attribute(shape: tuple[int, ...], strings: tuple[str, ...]) -> DenseStringAttribute:
    key = (shape, strings)
    found = _dense_strings.get(key)
    if found is None:
        found = intern(_dense_strings, key, DenseStringAttribute(shape, strings))
    return found


def verified_div_by(plain: cuda_tile.DivByAttribute) -> VerifiedDivByAttribute:
    found = _verified.get(plain)
    if found is None:
        found = intern(_verified, plain, VerifiedDivByAttribute(plain.divisor, plain.every, plain.along))
    return found


def read_string(reader: ByteReader, tables: DocumentedTables, what: str = _NO_STRING) -> str:
    """An even number is twice the length of the bytes that follow, an odd one twice a string index plus one."""
    number = reader.varint(what)
    if number & 1:
        return tables.strings.get(number >> 1)
    return reader.raw(number >> 1, what).decode("utf-8", "surrogateescape")


def read_payload(reader: ByteReader, tag: int, tables: DocumentedTables) -> Attribute:
    """What belongs to a tag, which is read already and is any but `ASSUME_PREDICATE`."""
    if tag == STRING:
        return builtin.string_attribute(read_string(reader, tables))
    if tag == FLOAT:
        return _read_float(reader, tables)
    if tag == TYPE:
        return _read_type(reader, tables)
    if tag == DENSE:
        return _read_dense(reader, tables)
    if tag == DENSE_STRINGS:
        return _read_dense_strings(reader, tables)
    if tag == DIV_BY:
        return _read_div_by(reader)
    if tag == I64_ARRAY:
        return builtin.dense_array_attribute(I64, _read_values(reader, _NO_VALUES))
    if tag == I64_ARRAY_POOLED:
        return _read_pooled(reader, tables)
    if tag == SAME_ELEMENTS:
        return cuda_tile.same_elements(_read_values(reader, "failed to read DenseI64ArrayAttr for SameElementsAttr"))
    if tag in (BOUNDED_LOWER, BOUNDED_UPPER, BOUNDED_BOTH):
        return _read_bounded(reader, tag)
    reader.fail(f"unsupported AttributeTag {tag} for self-contained attribute")


def _type_or_none(reader: ByteReader, tables: DocumentedTables, what: str) -> Type | None:
    try:
        return tables.types.get(reader.varint(what))
    except Malformed:
        return None


def _read_float(reader: ByteReader, tables: DocumentedTables) -> Attribute:
    what = "failed to read valid FloatType for FloatAttr"
    type = _type_or_none(reader, tables, what)
    if not isinstance(type, FloatType):
        reader.fail(what)
    bits = _read_pattern(reader, type)
    if bits < 0:
        reader.fail("failed to cast parsed attribute to FloatAttr")
    return builtin.float_attribute(type, bits)


def _read_pattern(reader: ByteReader, type: FloatType) -> int:
    """The bits of a float; -1 when there are none or too many."""
    try:
        bits = read_bits(reader, type.width)
    except Malformed:
        return -1
    return bits if not bits >> type.width else -1


def _read_type(reader: ByteReader, tables: DocumentedTables) -> Attribute:
    what = "failed to get referenced type for TypeAttr"
    type = _type_or_none(reader, tables, what)
    if type is None:
        reader.fail(what)
    return builtin.type_attribute(type)


def _read_dense(reader: ByteReader, tables: DocumentedTables) -> Attribute:
    shape = read_extents(reader, _NO_DENSE_TYPE)
    try:
        element = tables.element_types.element(reader.varint(_NO_DENSE_TYPE))
    except Malformed:
        element = None
    # The verifier of the tile type bounds the number of elements; each takes at least one byte.
    if not isinstance(element, (IntegerType, FloatType)) or tile_error(shape, element, NEWEST) is not None:
        reader.fail(_NO_DENSE_TYPE)
    size = element_bytes(element)
    data = bytearray()
    type = tile_type(shape, element)
    for _ in range(type.count):
        data += _read_word(reader, element).to_bytes(size, "little")
    return dense_attribute(type, shape, element, bytes(data))


def _read_word(reader: ByteReader, element: Type) -> int:
    """The bit pattern of one element."""
    start = reader.position
    if isinstance(element, FloatType):
        bits = _read_pattern(reader, element)
        if bits >= 0:
            return bits
    elif isinstance(element, IntegerType):
        value = _read_number(reader)
        if value is not None:
            width = element.width
            lowest, highest = (0, 1) if width == 1 else (-1 << (width - 1), (1 << (width - 1)) - 1)
            if lowest <= value <= highest:
                return value & ((1 << width) - 1)
    reader.fail(f"array contains unsupported value {_partial_varint(reader, start)}")


def _read_number(reader: ByteReader) -> int | None:
    try:
        return reader.signed("")
    except Malformed:
        return None


def _partial_varint(reader: ByteReader, start: int) -> int:
    """The part of a number that could be read, for the message about it."""
    value = 0
    shift = 0
    for position in range(start, min(reader.end, start + 10)):
        byte = reader.data[position]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value


def _read_dense_strings(reader: ByteReader, tables: DocumentedTables) -> Attribute:
    what = "failed to read number of string attrs in DenseElementsAttr"
    shape = read_extents(reader, what)
    count = reader.varint(what)
    expected = 1
    for extent in shape:
        expected *= extent
        if expected > reader.remaining:
            break
    if count != expected:
        reader.fail(what)
    strings: list[str] = []
    for _ in range(count):
        strings.append(read_string(reader, tables, "failed to read string in DenseElementsAttr"))
    return dense_string_attribute(shape, tuple(strings))


def _read_div_by(reader: ByteReader) -> Attribute:
    divisor = reader.varint("failed to read divisor for DivByAttr")
    flags = reader.byte("failed to read flags byte for DivByAttr")
    every: int | None = None
    along: int | None = None
    if flags & PREDICATE_COVARIANCE:
        every = signed_value(64, reader.varint("failed to read value for 'every' in DivByAttr"))
        along = signed_value(64, reader.varint("failed to read value for 'along' in DivByAttr"))
    plain = cuda_tile.div_by(divisor, every, along)
    return verified_div_by(plain) if flags & VERIFY_WITH_ASSUME else plain


def _read_values(reader: ByteReader, what: str) -> tuple[int, ...]:
    rank = reader.varint(what)
    values: list[int] = []
    for _ in range(rank):
        values.append(reader.signed(what))
    return tuple(values)


def _read_pooled(reader: ByteReader, tables: DocumentedTables) -> Attribute:
    rank = reader.varint(_NO_VALUES)
    offset = reader.varint(_NO_VALUES)
    values = tables.pooled(rank, offset)
    if values is None:
        reader.fail(_NO_VALUES)
    return builtin.dense_array_attribute(I64, values)


def _read_bounded(reader: ByteReader, tag: int) -> Attribute:
    flags = reader.byte("failed to read flags byte for BoundedAttr")
    present = flags & (HAS_LOWER | HAS_UPPER)
    # The tag repeats the flags, except that the last variant may have no bound and no flag.
    if present != tag - BOUNDED_LOWER + 1 and not (tag == BOUNDED_BOTH and present == 0):
        reader.fail(f"flags 0x{flags:X} of BoundedAttr do not fit AttributeTag {tag}")
    lower = reader.signed("failed to read lower bound for BoundedAttr") if present & HAS_LOWER else None
    upper = reader.signed("failed to read upper bound for BoundedAttr") if present & HAS_UPPER else None
    return cuda_tile.bounded(lower, upper, bool(flags & IS_STRICT))


def write_string(writer: ByteWriter, value: str, tables: DocumentedTableWriter) -> None:
    """Every string goes through the string table; a producer may also put the bytes here."""
    writer.varint(tables.string(value) << 1 | 1)


def write_tagged(writer: ByteWriter, attribute: Attribute, tables: DocumentedTableWriter) -> None:
    """The tag of an attribute and what belongs to it."""
    if isinstance(attribute, builtin.StringAttribute):
        writer.varint(STRING)
        write_string(writer, attribute.value, tables)
    elif isinstance(attribute, builtin.FloatAttribute):
        writer.varint(FLOAT)
        writer.varint(tables.types.index(attribute.type))
        write_bits(writer, attribute.type.width, attribute.bits)
    elif isinstance(attribute, builtin.TypeAttribute):
        writer.varint(TYPE)
        writer.varint(tables.types.index(attribute.type))
    elif isinstance(attribute, DenseAttribute) and isinstance(attribute.type, TileType):
        write_dense(writer, attribute, attribute.shape, tables)
    elif isinstance(attribute, DenseStringAttribute):
        writer.varint(DENSE_STRINGS)
        writer.number_list(attribute.shape)
        writer.varint(len(attribute.strings))
        for text in attribute.strings:
            write_string(writer, text, tables)
    elif isinstance(attribute, cuda_tile.DivByAttribute):
        _write_div_by(writer, attribute)
    elif isinstance(attribute, builtin.DenseArrayAttribute) and attribute.element_type is I64:
        writer.varint(I64_ARRAY)
        _write_values(writer, attribute.values)
    elif isinstance(attribute, cuda_tile.SameElementsAttribute):
        writer.varint(SAME_ELEMENTS)
        _write_values(writer, attribute.values)
    elif isinstance(attribute, cuda_tile.BoundedAttribute):
        _write_bounded(writer, attribute)
    else:
        raise no_form(attribute)


def _write_values(writer: ByteWriter, values: tuple[int, ...]) -> None:
    writer.varint(len(values))
    for value in values:
        writer.signed(value)


def no_form(attribute: Attribute) -> Malformed:
    return Malformed(f"attribute '{attribute.text}' has no form in the documented layout", 0, prefixed=False)


def write_dense(
    writer: ByteWriter, attribute: DenseAttribute, shape: tuple[int, ...], tables: DocumentedTableWriter
) -> None:
    """Tag 4.  With the shape of a single element a splat is one word."""
    element = attribute.element_type
    if not isinstance(element, (IntegerType, FloatType)):
        raise no_form(attribute)
    writer.varint(DENSE)
    writer.number_list(shape)
    writer.varint(tables.element_types.element(element))
    patterns = attribute.values()
    if attribute.is_splat and shape:
        patterns = patterns * attribute.count
    for bits in patterns:
        if isinstance(element, FloatType):
            write_bits(writer, element.width, bits)
        else:
            writer.signed(bits & 1 if element is I1 else signed_value(element.width, bits))


def _write_div_by(writer: ByteWriter, attribute: cuda_tile.DivByAttribute) -> None:
    if (attribute.every is None) != (attribute.along is None):
        raise no_form(attribute)
    writer.varint(DIV_BY)
    writer.varint(attribute.divisor)
    flags = VERIFY_WITH_ASSUME if isinstance(attribute, VerifiedDivByAttribute) else 0
    if attribute.every is None or attribute.along is None:
        writer.byte(flags)
    else:
        writer.byte(flags | PREDICATE_COVARIANCE)
        writer.varint(attribute.every & _U64)
        writer.varint(attribute.along & _U64)


def _write_bounded(writer: ByteWriter, attribute: cuda_tile.BoundedAttribute) -> None:
    present = (HAS_LOWER if attribute.lower is not None else 0) | (HAS_UPPER if attribute.upper is not None else 0)
    writer.varint(BOUNDED_LOWER - 1 + present if present else BOUNDED_BOTH)
    writer.byte(present | (IS_STRICT if attribute.strict else 0))
    if attribute.lower is not None:
        writer.signed(attribute.lower)
    if attribute.upper is not None:
        writer.signed(attribute.upper)
