"""Python values into attributes: numbers, strings, lists and dictionaries, each by the kind its declaration names."""

from __future__ import annotations

from typing import Any, Final

from tileir.annotations import Callable, Iterable
from tileir.dialect.attributes import optimization_hints, optimization_hints_mistake
from tileir.dialect.construct import described
from tileir.dialect.enums import enum_kind_of
from tileir.dialect.types import TileType
from tileir.ir.attributes import (
    UNIT,
    Attribute,
    array_attribute,
    bool_attribute,
    dense_array_attribute,
    dictionary_attribute,
    float_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
    type_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import AttributeDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes, signed_value
from tileir.ir.diagnostics import BuildError
from tileir.ir.floats import FORMATS, encode, from_double, is_finite, is_infinity
from tileir.ir.types import F64, I1, I32, I64, FloatType, IntegerType, Type

# --- numbers ---


def is_number(value: object) -> bool:
    """Whether a Python value can become a constant where a tile is expected."""
    return isinstance(value, (bool, int, float))


def number_bits(value: object, element: Type) -> int:
    """The bit pattern of a Python number as an element; one that does not fit is a mistake, not rounded away."""
    if isinstance(element, IntegerType) and isinstance(value, (bool, int)):
        width = element.width
        number = int(value)
        # As in text, a number may be meant as signed or as unsigned.
        if not -(1 << (width - 1)) <= number < 1 << width:
            raise BuildError(f"{number} does not fit in {element.spelling}")
        return number & ((1 << width) - 1)
    if isinstance(element, FloatType) and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _float_bits(value, element)
    raise BuildError(f"{described(value)} is not a value of {element.spelling}")


def _float_bits(value: int | float, element: FloatType) -> int:
    form = FORMATS[element.name]
    try:
        if isinstance(value, int):
            bits = encode(form, value < 0, abs(value), 0)
            finite = True
        else:
            bits = from_double(form, value)
            finite = value - value == 0.0
    except ValueError as failure:
        raise BuildError(f"{described(value)} does not fit in {element.spelling}: {failure}") from None
    nan = value != value
    if (finite and not is_finite(form, bits)) or not (finite or nan or is_infinity(form, bits)):
        raise BuildError(f"{described(value)} does not fit in {element.spelling}")
    return bits


def number_attribute(value: object, element: Type) -> Attribute:
    """A typed number, as `identities` holds them."""
    if isinstance(value, Attribute):
        return value
    bits = number_bits(value, element)
    if isinstance(element, FloatType):
        return float_attribute(element, bits)
    width = element.width if isinstance(element, IntegerType) else 0
    return integer_attribute(element, signed_value(width, bits))


# --- dense constants ---


def _listed(value: Any) -> object:
    """Arrays of other libraries as nested lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def literal_shape(value: object) -> tuple[int, ...]:
    """The shape of nested lists, read along the first elements."""
    shape: list[int] = []
    inner = _listed(value)
    while isinstance(inner, (list, tuple)):
        shape.append(len(inner))
        if not inner:
            break
        inner = inner[0]
    return tuple(shape)


def dense_of(value: object, type: TileType) -> DenseAttribute:
    """The contents of a tile: one number for all elements, nested lists of its shape, or its bytes."""
    if isinstance(value, DenseAttribute):
        if value.type is not type:
            raise BuildError(f"the value is of type {value.type.spelling}, not {type.spelling}")
        return value
    element = type.element
    size = element_bytes(element)
    if isinstance(value, (bytes, bytearray)):
        if len(value) not in (size, type.count * size):
            raise BuildError(f"{type.spelling} takes {size} or {type.count * size} bytes, got {len(value)}")
        return dense_attribute(type, type.shape, element, bytes(value))
    listed = _listed(value)
    chunks: list[bytes] = []
    if isinstance(listed, (list, tuple)):
        _flatten(listed, type, 0, chunks)
    else:
        chunks.append(number_bits(listed, element).to_bytes(size, "little"))
    return dense_attribute(type, type.shape, element, b"".join(chunks))


def _flatten(value: list[object] | tuple[object, ...], type: TileType, axis: int, chunks: list[bytes]) -> None:
    if axis >= type.rank or len(value) != type.shape[axis]:
        raise BuildError(f"the nested lists do not have the shape of {type.spelling}")
    size = element_bytes(type.element)
    for item in value:
        if isinstance(item, (list, tuple)):
            _flatten(item, type, axis + 1, chunks)
        elif axis + 1 != type.rank:
            raise BuildError(f"the nested lists do not have the shape of {type.spelling}")
        else:
            chunks.append(number_bits(_listed(item), type.element).to_bytes(size, "little"))


# --- attributes ---

# Lists may hold themselves.
_DEEPEST_VALUE: Final = 100


def any_attribute(value: object, depth: int = 0) -> Attribute:
    """An attribute for a value that says its own kind: integers are i64, floats f64, as in text without a type."""
    if depth > _DEEPEST_VALUE:
        raise BuildError(f"lists in an attribute nest more than {_DEEPEST_VALUE} deep, or hold themselves")
    if isinstance(value, Attribute):
        return value
    if isinstance(value, bool):
        return bool_attribute(value)
    if isinstance(value, int):
        return integer_attribute(I64, value)
    if isinstance(value, float):
        return number_attribute(value, F64)
    if isinstance(value, str):
        return string_attribute(value)
    if isinstance(value, Type):
        return type_attribute(value)
    if isinstance(value, dict):
        return dictionary_attribute({_key(key): any_attribute(item, depth + 1) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return array_attribute(tuple([any_attribute(item, depth + 1) for item in value]))
    if value is None:
        return UNIT
    raise BuildError(f"there is no attribute for {described(value)}")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise BuildError(f"a dictionary attribute has strings as keys, got {described(key)}")
    return key


def _enum(declared: AttributeDeclaration, value: object) -> Attribute | None:
    kind = enum_kind_of(declared)
    if kind is None:
        return _scalar(declared, value)
    if isinstance(value, str):
        found = kind.cases.get(kind.aliases.get(value, value))
        if found is not None:
            return found
    raise BuildError(f"'{declared.name}' must be one of {', '.join(kind.cases)}; got {described(value)}")


def _wrong(declared: AttributeDeclaration, expected: str, value: object) -> Attribute | None:
    raise BuildError(f"'{declared.name}' must be {expected}; got {described(value)}")


def _integer(declared: AttributeDeclaration, value: object, type: IntegerType) -> Attribute | None:
    if isinstance(value, int) and not isinstance(value, bool):
        limit = 1 << (type.width - 1)
        if -limit <= value < limit:
            return integer_attribute(type, value)
    return _wrong(declared, f"a {type.width}-bit integer", value)


def _scalar(declared: AttributeDeclaration, value: object) -> Attribute | None:
    """An attribute that is one value of Python; None for a flag that is not set."""
    kind = declared.constraint.kind
    if kind == "bool" and isinstance(value, bool):
        return bool_attribute(value)
    if kind == "unit" and isinstance(value, bool):
        return UNIT if value else None
    if kind in ("string", "symbol_name") and isinstance(value, str):
        return string_attribute(value)
    if kind == "type" and isinstance(value, Type):
        return type_attribute(value)
    if kind == "dictionary" and isinstance(value, dict):
        return any_attribute(value)
    if kind == "symbol":
        name = value.symbol_name if isinstance(value, Operation) else value
        if isinstance(name, str):
            return symbol_attribute(name)
    return _wrong(declared, _EXPECTED.get(kind, "an attribute"), value)


_EXPECTED: Final[dict[str, str]] = {
    "bool": "True or False",
    "unit": "True or False",
    "string": "a string",
    "symbol_name": "a string",
    "type": "a type",
    "dictionary": "a dictionary",
    "symbol": "the name of a symbol, or the operation that defines it",
    "predicate": "an assumption: div_by(..), bounded(..) or same_elements(..)",
}


def _numbers(declared: AttributeDeclaration, value: object, type: IntegerType) -> Attribute | None:
    expected = "a list of True and False" if type is I1 else "a list of integers"
    if not isinstance(value, (list, tuple)):
        return _wrong(declared, expected, value)
    for item in value:
        if not isinstance(item, int) or isinstance(item, bool) != (type is I1):
            return _wrong(declared, expected, item)
    return dense_array_attribute(type, tuple([int(item) for item in value]))


def _sequence(declared: AttributeDeclaration, value: object) -> Attribute | None:
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, dict)):
        return _wrong(declared, "a list", value)
    return array_attribute(tuple([any_attribute(item) for item in value]))


def _hints(declared: AttributeDeclaration, value: object) -> Attribute | None:
    """`{"sm_100": {"num_cta_in_cga": 2}}`"""
    if not isinstance(value, dict):
        return _wrong(declared, 'a dictionary of hints per architecture, like {"sm_100": {"latency": 2}}', value)
    entries = dictionary_attribute({_key(key): any_attribute(item) for key, item in value.items()})
    mistake = optimization_hints_mistake(entries)
    if mistake is not None:
        raise BuildError(f"'{declared.name}': {mistake}")
    return optimization_hints(entries)


_CONVERSIONS: Final[dict[str, Callable[[AttributeDeclaration, object], Attribute | None]]] = {
    "enum": _enum,
    "i32": lambda declared, value: _integer(declared, value, I32),
    "i64": lambda declared, value: _integer(declared, value, I64),
    "i32_array": lambda declared, value: _numbers(declared, value, I32),
    "bool_array": lambda declared, value: _numbers(declared, value, I1),
    "array": _sequence,
    "hints": _hints,
}


def declared_attribute(declared: AttributeDeclaration, value: object) -> Attribute | None:
    """A Python value as a declared attribute; None for a flag that is not set."""
    if isinstance(value, Attribute):
        found: Attribute | None = value
    else:
        found = _CONVERSIONS.get(declared.constraint.kind, _scalar)(declared, value)
    if found is not None and not declared.constraint.predicate(found):
        expected = declared.constraint.description or declared.documentation
        raise BuildError(f"'{declared.name}' must be a {expected}; got {found.text}")
    return found
