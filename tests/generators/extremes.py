"""Random programs with numbers at the ends of what an attribute can hold, where that still verifies."""

from __future__ import annotations

from random import Random

from tileir.ir.attributes import IntegerAttribute, StringAttribute, integer_attribute, string_attribute
from tileir.ir.core import Operation

_SIZES = (0, 1, 1 << 40, 1 << 62, (1 << 63) - 1)
_POWERS = (1, 128, 1 << 20, 1 << 40, 1 << 62)
_WIDTHS = ("0", "7", "65535", "65536", "4294967296", "1" + "0" * 30, "-3", ".9", ".99999999999")


def exaggerate(module: Operation, rng: Random) -> int:
    """Change attributes of a program; how many."""
    changed = 0
    for operation in module.walk():
        for name, attribute in list(operation.attributes.items()):
            if name in ("num_elem", "alignment") and isinstance(attribute, IntegerAttribute):
                number = rng.choice(_SIZES if name == "num_elem" else _POWERS)
                operation.attributes[name] = integer_attribute(attribute.type, number)
            elif operation.name == "cuda_tile.print_tko" and isinstance(attribute, StringAttribute):
                operation.attributes[name] = string_attribute(attribute.value.replace("%", "%" + rng.choice(_WIDTHS)))
            else:
                continue
            changed += 1
    return changed
