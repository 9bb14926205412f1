"""Constants of one number, `constant <f32: 1.0> : tile<4xf32>`: nearly all of them, read in one step."""

from __future__ import annotations

import re

from tileir.annotations import Final
from tileir.dialect.constraints import NUMBER
from tileir.dialect.ops import CONSTANT
from tileir.dialect.types import TileType
from tileir.ir.attributes import Attribute
from tileir.ir.dense import dense_attribute, element_bytes
from tileir.ir.floats import FORMATS, parse_float
from tileir.ir.types import I1, FloatType, IntegerType, Type
from tileir.ir.values import Value
from tileir.text.plain_form import PlainForm
from tileir.text.values import ValueCursor

_NUMBER: Final = re.compile(r"-?\d{1,30}(\.\d*(?:[eE][+\-]?\d+)?)?", re.ASCII)


class ConstantForm(PlainForm):
    """A constant of one decimal number, or of `true` or `false`, with nothing said behind its type."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(CONSTANT, [], [], 0)

    def match(self, cursor: ValueCursor, name_token: int) -> list[Value] | None:
        tokens = cursor.tokens
        place = name_token + 4
        if tokens[name_token + 1] != "<" or tokens[name_token + 3] != ":":
            return None
        number = tokens[place]
        if number == "-":
            place += 1
            number = f"-{tokens[place]}"
        if tokens[place + 1] != ">" or tokens[place + 2] != ":":
            return None
        type = cursor.known_types.get(tokens[place + 3])
        if not isinstance(type, TileType) or cursor.known_types.get(tokens[name_token + 2]) is not type.element:
            return None
        attributes = cursor.constants.get((type, number))
        if attributes is None:
            value = scalar(type, number)
            if value is None or not NUMBER.accepts(type):
                return None
            attributes = cursor.constants[(type, number)] = {"value": value}
        if tokens[place + 4] == "{":
            return None
        cursor.position = place + 4
        cursor.matched_types = [type]
        cursor.matched_attributes = attributes
        return []


def scalar(type: Type, number: str) -> Attribute | None:
    """The value of a constant tile that is one decimal number or truth; None where the parser has to look at it."""
    if not isinstance(type, TileType):
        return None
    element = type.element
    match = _NUMBER.fullmatch(number)
    if match is None:
        if element is not I1 or number not in ("true", "false"):
            return None
        bits = 1 if number == "true" else 0
    elif isinstance(element, FloatType):
        if match[1] is None:
            return None
        try:
            bits = parse_float(FORMATS[element.name], number)
        except ValueError:
            return None
    elif isinstance(element, IntegerType) and match[1] is None:
        bits = int(number)
        if not -(1 << (element.width - 1)) <= bits < 1 << element.width:
            return None
        bits &= (1 << element.width) - 1
    else:
        return None
    return dense_attribute(type, type.shape, element, bits.to_bytes(element_bytes(element), "little"))
