"""Hints of operations, for the GPU that code is made for."""

from __future__ import annotations

from tileir.dialect.attributes import OptimizationHintsAttribute
from tileir.ir.attributes import DictionaryAttribute, IntegerAttribute
from tileir.ir.core import Operation


def hint_of(operation: Operation, name: str, target: str) -> int | None:
    """What the program advises for a GPU, or else for all of them."""
    attribute = operation.attributes.get("optimization_hints")
    if not isinstance(attribute, OptimizationHintsAttribute):
        return None
    found: int | None = None
    for architecture, hints in attribute.entries.entries:
        if architecture not in (target, "default") or not isinstance(hints, DictionaryAttribute):
            continue
        for key, value in hints.entries:
            if key == name and isinstance(value, IntegerAttribute) and (found is None or architecture == target):
                found = value.value
    return found
