"""What is in a program that an engine may stumble over: its operations, with their types, ranks, attributes, places."""

from __future__ import annotations

from tileir.dialect.ops import FOR, IF, LOOP
from tileir.dialect.types import TileType
from tileir.interface import load
from tileir.ir.attributes import EnumAttribute, IntegerAttribute, UnitAttribute
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError
from tileir.judge.items import Item
from tileir.judge.report.programs import content_of

_LARGEST = 1 << 20
"""Bytes of a program that is read for its features."""
_REGIONS = {FOR: "for", IF: "if", LOOP: "loop"}


def features_of(module: Operation) -> frozenset[str]:
    """The features of a program, the simplest in the fewest words: `mulf`, `mulf f16`, `mulf in for`."""
    found: set[str] = set()
    for operation in module.walk():
        declaration = operation.declaration
        if operation.parent_operation is None or operation.symbol_name is not None:
            continue
        if declaration.is_terminator:
            # Nothing is wrong with the end of a region.
            continue
        name = declaration.mnemonic
        found.add(name)
        for value in (*operation.operands, *operation.results):
            type = value.type
            if isinstance(type, TileType):
                found.add(f"{name} {type.element.spelling}")
                if type.rank > 1:
                    found.add(f"{name} of rank {type.rank}")
        for key, attribute in operation.attributes.items():
            if isinstance(attribute, EnumAttribute):
                found.add(f"{name} {attribute.keyword}")
            elif isinstance(attribute, UnitAttribute):
                found.add(f"{name} {key}")
            elif isinstance(attribute, IntegerAttribute) and 0 <= attribute.value <= 8:
                found.add(f"{name} {key}={attribute.value}")
        parent = operation.parent_operation
        if parent.declaration in _REGIONS:
            found.add(f"{name} in {_REGIONS[parent.declaration]}")
    return frozenset(found)


def features_of_item(item: Item) -> frozenset[str]:
    """The features of what was judged; none where that is no program that can be read."""
    try:
        content, _ = content_of(item) if item.kind != "kernels" else (b"", "")
        if 0 < len(content) <= _LARGEST:
            return features_of(load(content))
    except (TileIRError, ValueError, TypeError):
        # It was another tileir that judged it, or a program that cannot be read.
        pass
    return frozenset()
