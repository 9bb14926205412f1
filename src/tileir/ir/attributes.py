"""Attributes: compile-time values on operations; interned, immutable, compared with `is`.

`text` is the spelling in MLIR's generic form (`1 : i32`, `#cuda_tile.overflow<none>`), `bare_text` the one without
the type or prefix.  As with types, build attributes through the factory functions.  The elements of tiles are in
`ir.dense`.
"""

from __future__ import annotations

from tileir.annotations import Final, cast
from tileir.ir.floats import FORMATS, format_float
from tileir.ir.interning import BYTES_PER_OBJECT, COMPOSITES, LEAF, Shared, intern, register
from tileir.ir.quoting import key_text, quote, symbol_text
from tileir.ir.types import F64, I1, I64, LONGEST_SHOWN, FloatType, Type

# How a part of an attribute is spelled: as anywhere, as a location in a location, or without the name of its kind.
WHOLE: Final = 0
INSIDE: Final = 1
BODY: Final = 2

# The longest spelling: attributes share their parts, text does not.
LONGEST_TEXT: Final = 1 << 26


class Attribute(Shared):
    """Base of all attributes."""

    __slots__ = ()

    def parts(self, way: int) -> list[str | tuple[Attribute, int]]:
        """The parts of the spelling: text, and attributes with the way each is spelled.  A leaf is one text."""
        return [self.text]

    @property
    def text(self) -> str:
        """The full spelling, as the generic form prints it."""
        raise TypeError(type(self).__name__)

    @property
    def bare_text(self) -> str:
        """The spelling where the context implies the type or kind."""
        return self.text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        """The spelling, of a very long one the beginning."""
        found = spell(self, limit=LONGEST_SHOWN)
        return found if len(found) <= LONGEST_SHOWN else found[:LONGEST_SHOWN].removesuffix("...") + "..."


class UnitAttribute(Attribute):
    """Present or absent, nothing else."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return "unit"


class IntegerAttribute(Attribute):
    """A typed integer; `value` is signed, for i1 it is 0 or 1."""

    __slots__ = ("type", "value")

    def __init__(self, type: Type, value: int) -> None:
        self.type: Type = type
        self.value: int = value

    @property
    def bare_text(self) -> str:
        if self.type is I1:
            return "true" if self.value else "false"
        return str(self.value)

    @property
    def text(self) -> str:
        return self.bare_text if self.type is I1 else f"{self.value} : {self.type.text}"

    @property
    def element_text(self) -> str:
        """Inside an array i64 goes without its type (docs/reference/printing.md section 6)."""
        return str(self.value) if self.type is I64 else self.text


class FloatAttribute(Attribute):
    """A typed float held as its bit pattern, so that every NaN survives."""

    __slots__ = ("bits", "type")

    def __init__(self, type: FloatType, bits: int) -> None:
        self.type: FloatType = type
        self.bits: int = bits

    @property
    def bare_text(self) -> str:
        return format_float(FORMATS[self.type.name], self.bits)

    @property
    def text(self) -> str:
        return f"{self.bare_text} : {self.type.text}"

    @property
    def element_text(self) -> str:
        """Inside an array a decimal f64 goes without its type (docs/reference/printing.md section 6)."""
        bare = self.bare_text
        return bare if self.type is F64 and not bare.startswith("0x") else f"{bare} : {self.type.text}"


class StringAttribute(Attribute):
    """Text; bytes that are not UTF-8 are kept as surrogate escapes."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value: str = value

    @property
    def text(self) -> str:
        return quote(self.value)


class TypeAttribute(Attribute):
    """A type used as a value."""

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type: Type = type

    @property
    def text(self) -> str:
        return self.type.text


class SymbolAttribute(Attribute):
    """`@name` or `@outer::@inner`."""

    __slots__ = ("path",)

    def __init__(self, path: tuple[str, ...]) -> None:
        self.path: tuple[str, ...] = path

    @property
    def text(self) -> str:
        return "::".join([symbol_text(name) for name in self.path])


class ArrayAttribute(Attribute):
    """A list of attributes."""

    __slots__ = ("elements",)

    def __init__(self, elements: tuple[Attribute, ...]) -> None:
        self.elements: tuple[Attribute, ...] = elements

    def parts(self, way: int) -> list[str | tuple[Attribute, int]]:
        found: list[str | tuple[Attribute, int]] = ["["]
        for element in self.elements:
            if len(found) > 1:
                found.append(", ")
            if isinstance(element, (IntegerAttribute, FloatAttribute)):
                found.append(element.element_text)
            else:
                found.append((element, WHOLE))
        found.append("]")
        return found

    @property
    def text(self) -> str:
        return spell(self)


class DictionaryAttribute(Attribute):
    """Names to attributes, sorted by name."""

    __slots__ = ("entries",)

    def __init__(self, entries: tuple[tuple[str, Attribute], ...]) -> None:
        self.entries: tuple[tuple[str, Attribute], ...] = entries

    def get(self, name: str) -> Attribute | None:
        for key, value in self.entries:
            if key == name:
                return value
        return None

    def parts(self, way: int) -> list[str | tuple[Attribute, int]]:
        found: list[str | tuple[Attribute, int]] = ["{"]
        for name, value in self.entries:
            if len(found) > 1:
                found.append(", ")
            found.append(key_text(name))
            if not isinstance(value, UnitAttribute):
                found.append(" = ")
                found.append((value, WHOLE))
        found.append("}")
        return found

    @property
    def text(self) -> str:
        return spell(self)


class DenseArrayAttribute(Attribute):
    """`array<i32: 1, 0>`."""

    __slots__ = ("element_type", "values")

    def __init__(self, element_type: Type, values: tuple[int, ...]) -> None:
        self.element_type: Type = element_type
        self.values: tuple[int, ...] = values

    @property
    def bare_text(self) -> str:
        if self.element_type is I1:
            return "[" + ", ".join(["true" if v else "false" for v in self.values]) + "]"
        return "[" + ", ".join([str(v) for v in self.values]) + "]"

    @property
    def text(self) -> str:
        inner = self.bare_text[1:-1]
        return f"array<{self.element_type.text}: {inner}>" if inner else f"array<{self.element_type.text}>"


class OpaqueAttribute(Attribute):
    """An attribute of unknown structure, from another dialect."""

    __slots__ = ("spelling",)

    def __init__(self, spelling: str) -> None:
        self.spelling: str = spelling

    @property
    def text(self) -> str:
        return self.spelling


# Keywords with these values exist only in the drafts and have no public byte (docs/reference/conflicts.md B): they are
# read where draft spellings are, and a program that holds one is legalized before it is written.
FIRST_DRAFT_ONLY_VALUE: Final = 100


class EnumKind:
    """A closed set of keywords; `#cuda_tile.<name><keyword>` in the generic form.

    `values` has the encoded value of each keyword, `since` the first dialect version of those that came later,
    `aliases` the older or draft spellings that are read but never printed (docs/reference/conflicts.md B).  With
    `is_integer` the generic form shows the value instead, as `2 : i32`.
    """

    def __init__(
        self,
        name: str,
        values: dict[str, int],
        since: dict[str, tuple[int, int]] | None = None,
        aliases: dict[str, str] | None = None,
        is_integer: bool = False,
    ) -> None:
        self.name: str = name
        self.is_integer: bool = is_integer
        self.values: dict[str, int] = values
        self.since: dict[str, tuple[int, int]] = since or {}
        self.aliases: dict[str, str] = aliases or {}
        self.cases: dict[str, EnumAttribute] = {k: EnumAttribute(self, k) for k in values}

    def __getitem__(self, keyword: str) -> EnumAttribute:
        return self.cases[keyword]

    def keywords(self, version: tuple[int, int]) -> list[str]:
        """The public spellings of the dialect of `version`, in declaration order."""
        return [
            k
            for k, value in self.values.items()
            if value < FIRST_DRAFT_ONLY_VALUE and self.since.get(k, version) <= version
        ]


class EnumAttribute(Attribute):
    """One keyword of an `EnumKind`."""

    __slots__ = ("keyword", "kind")

    def __init__(self, kind: EnumKind, keyword: str) -> None:
        self.kind: EnumKind = kind
        self.keyword: str = keyword

    @property
    def bare_text(self) -> str:
        return self.keyword

    @property
    def text(self) -> str:
        if self.kind.is_integer:
            return f"{self.kind.values[self.keyword]} : i32"
        return f"#cuda_tile.{self.kind.name}<{self.keyword}>"


_NO_ALIASES: Final[dict[Attribute, str]] = {}


def spell(
    attribute: Attribute, way: int = WHOLE, aliases: dict[Attribute, str] = _NO_ALIASES, limit: int = LONGEST_TEXT
) -> str:
    """The spelling of an attribute, with the aliases for its parts; one longer than `limit` ends in `...`.

    Not recursive: a file may nest attributes to any depth.
    """
    out: list[str] = []
    length = 0
    pending = attribute.parts(way)
    pending.reverse()
    while pending:
        part = pending.pop()
        if not isinstance(part, str):
            child, inner_way = part
            alias = aliases.get(child)
            if alias is None:
                inner = child.parts(inner_way)
                inner.reverse()
                pending.extend(inner)
                continue
            part = alias
        out.append(part)
        length += len(part)
        if length > limit:
            out.append("...")
            break
    return "".join(out)


def entry_text(name: str, value: Attribute) -> str:
    """`name = value` of a dictionary; a unit attribute is the name alone."""
    return key_text(name) if isinstance(value, UnitAttribute) else f"{key_text(name)} = {value.text}"


def element_text(value: Attribute) -> str:
    """An attribute inside an array."""
    if isinstance(value, (IntegerAttribute, FloatAttribute)):
        return value.element_text
    return value.text


UNIT: Final = UnitAttribute()
_integers: Final[dict[tuple[Type, int], IntegerAttribute]] = {}
_floats: Final[dict[tuple[FloatType, int], FloatAttribute]] = {}
_strings: Final[dict[str, StringAttribute]] = {}
_types: Final[dict[Type, TypeAttribute]] = {}
_symbols: Final[dict[tuple[str, ...], SymbolAttribute]] = {}
_dense_arrays: Final[dict[tuple[Type, tuple[int, ...]], DenseArrayAttribute]] = {}
_opaques: Final[dict[str, OpaqueAttribute]] = {}
register(_integers, LEAF)
register(_floats, LEAF)
register(_strings, LEAF, lambda attribute: len(attribute.value) // BYTES_PER_OBJECT)
register(_types, LEAF)
register(_symbols, LEAF)
register(_dense_arrays, LEAF, lambda attribute: len(attribute.values) * 16 // BYTES_PER_OBJECT)
register(_opaques, LEAF, lambda attribute: len(attribute.spelling) // BYTES_PER_OBJECT)


def integer_attribute(type: Type, value: int) -> IntegerAttribute:
    """An integer of this type."""
    key = (type, value)
    return _integers.get(key) or intern(_integers, key, IntegerAttribute(type, value))


def bool_attribute(value: bool) -> IntegerAttribute:
    """True or false, as an `i1`."""
    return integer_attribute(I1, 1 if value else 0)


def float_attribute(type: FloatType, bits: int) -> FloatAttribute:
    """The float with these bits."""
    key = (type, bits)
    return _floats.get(key) or intern(_floats, key, FloatAttribute(type, bits))


def string_attribute(value: str) -> StringAttribute:
    """A string."""
    return _strings.get(value) or intern(_strings, value, StringAttribute(value), 1 + len(value) // BYTES_PER_OBJECT)


def type_attribute(type: Type) -> TypeAttribute:
    """A type as an attribute."""
    return _types.get(type) or intern(_types, type, TypeAttribute(type))


def symbol_attribute(*path: str) -> SymbolAttribute:
    """A reference to a symbol, `@outer::@inner`."""
    return _symbols.get(path) or intern(_symbols, path, SymbolAttribute(path))


def array_attribute(elements: tuple[Attribute, ...]) -> ArrayAttribute:
    """The array of these attributes."""
    key = ("[]", elements)
    return cast(
        ArrayAttribute,
        COMPOSITES.get(key) or intern(COMPOSITES, key, ArrayAttribute(elements), 1 + len(elements) // 32),
    )


def dictionary_attribute(entries: dict[str, Attribute]) -> DictionaryAttribute:
    """Attributes by name."""
    parts = tuple([(name, entries[name]) for name in sorted(entries)])
    key = ("{}", parts)
    return cast(
        DictionaryAttribute,
        COMPOSITES.get(key) or intern(COMPOSITES, key, DictionaryAttribute(parts), 1 + len(parts) // 8),
    )


def dense_array_attribute(element_type: Type, values: tuple[int, ...]) -> DenseArrayAttribute:
    """The array of these integers."""
    key = (element_type, values)
    return _dense_arrays.get(key) or intern(
        _dense_arrays, key, DenseArrayAttribute(element_type, values), 1 + len(values) * 16 // BYTES_PER_OBJECT
    )


def opaque_attribute(spelling: str) -> OpaqueAttribute:
    return _opaques.get(spelling) or intern(
        _opaques, spelling, OpaqueAttribute(spelling), 1 + len(spelling) // BYTES_PER_OBJECT
    )
