"""Random attributes: constants, hints, predicates, and whatever may ride along on an operation."""

from __future__ import annotations

from random import Random

from tileir.dialect.attributes import CUTE_KINDS, bounded, cute_attribute, div_by, optimization_hints, same_elements
from tileir.dialect.debug_info import di_compile_unit, di_file, di_lexical_block, di_subprogram
from tileir.dialect.enums import ENUM_KINDS
from tileir.dialect.types import STRING, TOKEN, TileType, tile_type
from tileir.ir.attributes import (
    FIRST_DRAFT_ONLY_VALUE,
    UNIT,
    Attribute,
    EnumAttribute,
    EnumKind,
    array_attribute,
    bool_attribute,
    dense_array_attribute,
    dictionary_attribute,
    float_attribute,
    integer_attribute,
    opaque_attribute,
    string_attribute,
    symbol_attribute,
    type_attribute,
)
from tileir.ir.declaration import AttributeDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes, signed_value
from tileir.ir.location import UNKNOWN, call_site_location, file_location
from tileir.ir.types import (
    F32,
    F64,
    FLOAT_TYPES,
    I1,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    FloatType,
    IntegerType,
    Type,
    function_type,
    integer_type,
    opaque_type,
)
from tileir.ir.versions import Version

STRINGS = (
    "",
    "a",
    "tile",
    'say "hi"',
    "back\\slash",
    "line\nbreak\t",
    "größe ≤ 2",
    "\udcff\udc80",
    "loc(unknown)",
    "//",
)
NAMES = ("kernel", "k_1", "a.b$c", "_", "loc", "x y", "1x", "a-b", "größe", 'q"', "entry", "private")
_ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120", "default")
_HINTS = ("num_cta_in_cga", "num_worker_warps_per_cta", "occupancy", "allow_tma", "latency", "unheard_of")
_DISCARDABLE = ("note", "tileir.note", "cute.layout", "x y", "größe", "a.b.c", "loc", "module")


def float_bits(rng: Random, type: FloatType) -> int:
    """A bit pattern: often a special one (zeros, ones, infinities, NaNs, denormals, extremes)."""
    width = type.width
    if rng.random() < 0.5:
        return rng.getrandbits(width)
    top = 1 << (width - 1)
    everything = (1 << width) - 1
    special = {
        "f16": (0x3C00, 0x7C00, 0xFC00, 0x7E00, 0x7C01),
        "bf16": (0x3F80, 0x7F80, 0xFF80, 0x7FC0),
        "f32": (0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x42C80000, 0x3DCCCCCD),
        "tf32": (0x1FC00, 0x3FC00, 0x7FC00, 0x3FE00),
        "f64": (0x3FF0000000000000, 0x7FF0000000000000, 0x7FF8000000000000, 0x3FB999999999999A),
    }.get(type.name, (1, everything))
    return rng.choice((0, top, 1, top | 1, everything, top - 1, *special)) & everything


def element_bits(rng: Random, type: Type) -> int:
    if isinstance(type, FloatType):
        return float_bits(rng, type)
    assert isinstance(type, IntegerType)
    width = type.width
    if rng.random() < 0.6:
        return rng.choice((0, 1, 2, 3, 7, 42, 100, (1 << width) - 1, 1 << (width - 1))) & ((1 << width) - 1)
    return rng.getrandbits(width)


def dense(rng: Random, type: TileType) -> DenseAttribute:
    """A splat, a list, or (past a hundred elements) what prints as hexadecimal."""
    size = element_bytes(type.element)
    count = type.count
    number = count if count <= 512 and rng.random() < 0.5 else 1
    data = b"".join([element_bits(rng, type.element).to_bytes(size, "little") for _ in range(number)])
    return dense_attribute(type, type.shape, type.element, data)


def scalar(rng: Random, type: Type) -> Attribute:
    """A number of an element type."""
    bits = element_bits(rng, type)
    if isinstance(type, FloatType):
        return float_attribute(type, bits)
    assert isinstance(type, IntegerType)
    return integer_attribute(type, signed_value(type.width, bits))


class AttributeSource:
    """Draws attributes; `draft_forms` allows what only the drafts have."""

    def __init__(self, rng: Random, version: Version, draft_forms: bool) -> None:
        self.rng = rng
        self.version = version
        self.draft_forms = draft_forms
        self._keywords: dict[EnumKind, list[EnumAttribute]] = {}
        self._kinds: dict[AttributeDeclaration, EnumKind | None] = {}

    # --- what declarations ask for ---

    def keyword(self, kind: EnumKind) -> EnumAttribute:
        found = self._keywords.get(kind)
        if found is None:
            words = kind.keywords(self.version)
            if self.draft_forms:
                words = words + [word for word, value in kind.values.items() if value >= FIRST_DRAFT_ONLY_VALUE]
            found = self._keywords[kind] = [kind[word] for word in words]
        return self.rng.choice(found)

    def enum_kind(self, declared: AttributeDeclaration) -> EnumKind:
        found = self._kinds.get(declared)
        if found is None:
            found = next(
                kind for kind in ENUM_KINDS.values() if declared.constraint.predicate(next(iter(kind.cases.values())))
            )
            self._kinds[declared] = found
        return found

    def declared(self, declared: AttributeDeclaration) -> Attribute | None:
        """A value for a declared attribute, by the kind of its constraint; None where there is no rule for it."""
        rng = self.rng
        kind = declared.constraint.kind
        if kind == "enum":
            return self.keyword(self.enum_kind(declared))
        if kind == "unit":
            return UNIT
        if kind == "bool":
            return bool_attribute(rng.random() < 0.5)
        if kind in ("i32", "i64"):
            return integer_attribute(I32 if kind == "i32" else I64, rng.choice((0, 1, 2, 16, 1 << 20)))
        if kind in ("string", "symbol_name"):
            return string_attribute(rng.choice(STRINGS))
        if kind == "hints":
            return self.hints()
        return None

    # --- hints ---

    def hints(self) -> Attribute:
        rng = self.rng
        entries: dict[str, Attribute] = {}
        for name in rng.sample(_ARCHITECTURES, rng.randrange(4)):
            hints = {hint: self._hint_value() for hint in rng.sample(_HINTS, rng.randrange(3))}
            entries[name] = dictionary_attribute(hints)
        return optimization_hints(dictionary_attribute(entries))

    def _hint_value(self) -> Attribute:
        rng = self.rng
        choice = rng.random()
        if choice < 0.6:
            return integer_attribute(I64, rng.choice((-1, 0, 1, 2, 8, 32)))
        if choice < 0.8:
            return bool_attribute(rng.random() < 0.5)
        return rng.choice(
            (
                integer_attribute(I32, 4),
                float_attribute(F64, 0x3FF0000000000000),
                float_attribute(F32, 0x3F800000),
                string_attribute('a"b'),
                type_attribute(I32),
                array_attribute((integer_attribute(I32, 1), integer_attribute(I64, 2))),
                dictionary_attribute({"x y": integer_attribute(I64, 1)}),
            )
        )

    # --- predicates ---

    def div_by(self, shape: tuple[int, ...] | None) -> Attribute:
        """`shape` is None for a value that is no tile."""
        rng = self.rng
        divisor = 1 << rng.choice((0, 1, 2, 3, 4, 7, 62))
        if shape and rng.random() < 0.5:
            along = rng.randrange(len(shape))
            return div_by(divisor, rng.randint(0, shape[along]), along)
        return div_by(divisor)

    def bounded(self, width: int) -> Attribute:
        rng = self.rng
        least, most = -(1 << (width - 1)), (1 << (width - 1)) - 1
        lower, upper = sorted([rng.choice((least, most, 0 if most else -1, rng.randint(least, most))) for _ in "ab"])
        strict = self.draft_forms and rng.random() < 0.3
        return bounded(lower if rng.random() < 0.7 else None, upper if rng.random() < 0.7 else None, strict)

    def same_elements(self, shape: tuple[int, ...]) -> Attribute:
        return same_elements(tuple([self.rng.randint(0, extent) for extent in shape]))

    # --- anything ---

    def discardable_name(self, dotted: bool = False) -> str:
        names = [name for name in _DISCARDABLE if "." in name] if dotted else _DISCARDABLE
        return self.rng.choice(names)

    def anything(self, depth: int = 0) -> Attribute:
        """Any kind of attribute there is, nested a little."""
        rng = self.rng
        choice = rng.randrange(20 if depth < 2 else 16)
        if choice == 0:
            return UNIT
        if choice == 1:
            types = (I1, I8, I16, I32, I64, INDEX, integer_type(7), integer_type(8, "s"), integer_type(128))
            type = rng.choice(types)
            return integer_attribute(type, rng.choice((0, 1)) if type is I1 else rng.choice((-1, 0, 5, 63)))
        if choice == 2:
            return scalar(rng, rng.choice(list(FLOAT_TYPES.values())))
        if choice == 3:
            return string_attribute(rng.choice(STRINGS))
        if choice == 4:
            return type_attribute(STRING if self.draft_forms and rng.random() < 0.1 else self.any_type())
        if choice == 5:
            return symbol_attribute(*rng.sample(NAMES, rng.choice((1, 1, 2, 3))))
        if choice == 6:
            element = rng.choice((I1, I8, I32, I64))
            return dense_array_attribute(element, tuple([rng.randrange(2) for _ in range(rng.randrange(4))]))
        if choice == 7:
            kind = rng.choice([kind for kind in ENUM_KINDS.values() if not kind.is_integer])
            return self.keyword(kind)
        if choice == 8:
            return rng.choice((self.div_by((4, 8)), self.bounded(32), self.same_elements((4, 8))))
        if choice == 9:
            return self.hints()
        if choice == 10:
            return dense(rng, tile_type(rng.choice(((), (4,), (2, 2), (128,))), rng.choice((I1, I8, I64, F32))))
        if choice == 11 and self.draft_forms:
            return cute_attribute(rng.choice(CUTE_KINDS), self._cute_term(0))
        if choice == 12:
            return opaque_attribute(rng.choice(("#other.thing", '#other.thing<"a  b", [1, 2]>', "#a.b<(x) -> y>")))
        if choice == 13:
            return rng.choice((UNKNOWN, file_location("a b.py", 1, 2), call_site_location(UNKNOWN, UNKNOWN)))
        if choice == 14:
            return self._debug_attribute()
        if choice == 15:
            return bool_attribute(rng.random() < 0.5)
        if choice < 18:
            return array_attribute(tuple([self.anything(depth + 1) for _ in range(rng.randrange(4))]))
        names = rng.sample(_DISCARDABLE, rng.randrange(4))
        return dictionary_attribute({name: self.anything(depth + 1) for name in names})

    def any_type(self) -> Type:
        rng = self.rng
        simple: list[Type] = [I1, F32, INDEX, TOKEN, tile_type((2,), F32), opaque_type("!other.type<1, 2>")]
        simple += [opaque_type("tensor<4x?xf32>")]
        if rng.random() < 0.3:
            inputs = tuple(rng.sample(simple, rng.randrange(3)))
            return function_type(inputs, tuple(rng.sample(simple, rng.randrange(3))))
        return rng.choice(simple)

    def _cute_term(self, depth: int) -> str:
        rng = self.rng
        if depth < 3 and (depth == 0 or rng.random() < 0.3):
            return f"({', '.join([self._cute_term(depth + 1) for _ in range(rng.randrange(4))])})"
        return rng.choice(("0", "1", "16", "-4")) + rng.choice(("", "@0", "@1"))

    def _debug_attribute(self) -> Attribute:
        file = di_file("k.py", "/src")
        unit = di_compile_unit(file)
        subprogram = di_subprogram(file, 3, "k", "k", unit, self.rng.choice((0, 4)))
        block = di_lexical_block(subprogram, file, 7, self.rng.choice((0, 3)))
        return self.rng.choice((file, unit, subprogram, block))
