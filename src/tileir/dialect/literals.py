"""Python values into attributes: numbers, strings, lists and dictionaries, each by the kind its declaration names."""

from __future__ import annotations

from typing import Any, Final

from tileir.annotations import Iterable, cast
from tileir.dialect.attributes import optimization_hints, optimization_hints_error
from tileir.dialect.construct import described
from tileir.dialect.types import TileType
from tileir.ir.accessors import plain_attributes
from tileir.ir.attributes import Attribute, DictionaryAttribute, float_attribute, integer_attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import AttributeDeclaration
from tileir.ir.dense import DenseAttribute, dense_attribute, element_bytes, signed_value
from tileir.ir.diagnostics import BuildError
from tileir.ir.floats import FORMATS, encode, from_double, is_finite, is_infinity
from tileir.ir.types import FloatType, IntegerType, Type


def is_number(value: object) -> bool:
    """Whether a Python value can become a constant where a tile is expected."""
    return isinstance(value, (bool, int, float))


def number_bits(value: object, element: Type) -> int:
    """The bit pattern of a Python number as an element; `BuildError` for one that does not fit."""
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


# What an attribute may be given as, by the kind of its constraint; of others the constraint has a description.
_EXPECTED: Final[dict[str, str]] = {
    "array": "a list",
    "bool": "True or False",
    "bool_array": "a list of True and False",
    "hints": 'a dictionary of hints per architecture, like {"sm_100": {"latency": 2}}',
    "i32_array": "a list of integers",
    "predicate": "an assumption: div_by(..), bounded(..) or same_elements(..)",
    "string": "a string",
    "symbol": "the name of a symbol, or the operation that defines it",
    "symbol_name": "a string",
    "type": "a type",
    "unit": "True or False",
}


def any_attribute(value: object) -> Attribute:
    """The attribute of a value that needs no declaration: integers are i64, floats f64, as in text without a type."""
    try:
        return plain_attributes(value)[0]
    except TypeError as failure:
        raise BuildError(str(failure)) from None


def declared_attribute(declared: AttributeDeclaration, value: object) -> Attribute | None:
    """A Python value as a declared attribute; None for a flag that is not set."""
    kind = declared.constraint.kind
    if kind == "unit" and value is False:
        return None
    given = value
    if kind == "symbol" and isinstance(value, Operation):
        given = value.symbol_name
    elif kind == "hints" and isinstance(value, dict):
        given = _hints(declared, value)
    elif kind == "array" and isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict)):
        given = list(value)
    try:
        found = declared.attribute_of(given)
    except TypeError:
        found = None
    if found is None:
        enumeration = declared.constraint.enumeration
        expected = _EXPECTED.get(kind) or f"a {declared.constraint.description or declared.documentation}"
        if enumeration is not None:
            expected = f"one of {', '.join(enumeration.cases)}"
        raise BuildError(f"'{declared.name}' must be {expected}; got {described(value)}")
    return found


def _hints(declared: AttributeDeclaration, value: object) -> Attribute:
    """`{"sm_100": {"num_cta_in_cga": 2}}`"""
    entries = cast(DictionaryAttribute, any_attribute(value))
    error = optimization_hints_error(entries)
    if error is not None:
        raise BuildError(f"'{declared.name}': {error}")
    return optimization_hints(entries)
