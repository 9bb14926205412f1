"""How simple a program is: a total order, in which every accepted candidate is below the one before.

Operations count most, then what they are connected with, then types, then attributes; at last values that are defined
earlier are simpler than those that are defined later.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from tileir.analyze.reducing.program import Program
from tileir.ir.attributes import Attribute, EnumAttribute, UnitAttribute, spell
from tileir.ir.location import UNKNOWN
from tileir.ir.types import Type
from tileir.ir.values import Value

Weight = tuple[int, int, int, int, int]

# A text is cut here: what is longer is not simpler by its end.
_LONGEST: Final = 1 << 12
_DIGITS: Final = re.compile("[0-9]+")


def weight(program: Program) -> Weight:
    """The weight of a program: operations, connections, types, attributes, order."""
    connections = types = attributes = order = 0
    if program.grid is not None:
        connections += sum([extent.bit_length() for extent in program.grid])
    positions: dict[Value, int] = {}
    for operation in program.operations:
        connections += len(operation.operands) + len(operation.results)
        for value in operation.operands:
            order += positions.get(value, 0)
        for result in operation.results:
            types += type_weight(result.type)
            positions[result] = len(positions)
        if operation.attributes:
            for name, attribute in operation.attributes.items():
                attributes += 1 + attribute_weight(attribute)
                if name == "function_type":
                    attributes -= attribute_weight(attribute)
        if operation.location is not UNKNOWN:
            attributes += 1 + attribute_weight(operation.location)
        for region in operation.regions:
            for block in region.blocks:
                connections += 1
                for argument in block.arguments:
                    connections += 1
                    types += type_weight(argument.type)
                    positions[argument] = len(positions)
                    if argument.location is not UNKNOWN:
                        attributes += 2
    return (len(program.operations), connections, types, attributes, order)


@lru_cache(maxsize=4096)
def type_weight(type: Type) -> int:
    """Fewer dimensions, elements and bits are simpler."""
    return _text_weight(type.text)


@lru_cache(maxsize=4096)
def attribute_weight(attribute: Attribute) -> int:
    """The first keyword is simpler than the others, a short text than a long one, zero than one than other numbers."""
    if isinstance(attribute, UnitAttribute):
        return 0
    if isinstance(attribute, EnumAttribute):
        return list(attribute.kind.cases).index(attribute.keyword) if attribute.keyword in attribute.kind.cases else 9
    return _text_weight(spell(attribute, limit=_LONGEST))


def _text_weight(text: str) -> int:
    numbers = [int(digits) for digits in _DIGITS.findall(text[:_LONGEST])]
    return min(len(text), _LONGEST) + sum([2 * number.bit_length() + min(number, 8) for number in numbers])
