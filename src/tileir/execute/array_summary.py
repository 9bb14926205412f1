"""What an array holds, in a line or as plain values for JSON."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy

from tileir.execute.memory import describe_array
from tileir.ir.quoting import several

_FIRST_ELEMENTS: Final = 6


def array_facts(array: Any) -> dict[str, Any]:
    """Facts about an array: type, shape, range, mean, NaNs, first elements."""
    flat = array.reshape(-1)
    # A signaling NaN, or a sum that overflows, is no reason for NumPy to warn.
    with numpy.errstate(all="ignore"):
        wide = flat.astype(numpy.float64)
        usable = wide[~numpy.isnan(wide)]
        range = {"min": usable.min(), "max": usable.max(), "mean": usable.mean()} if usable.size else {}
    first = [_plain_number(each) for each in flat[:_FIRST_ELEMENTS].tolist()]
    facts = {"dtype": array.dtype.name, "shape": list(array.shape)}
    facts |= {name: _plain_number(value) for name, value in range.items()}
    return facts | {"nans": flat.size - usable.size, "first": first}


def _plain_number(value: Any) -> float | int | str:
    """A number as JSON has it, which has neither infinities nor NaNs."""
    if isinstance(value, int):
        return value
    return float(value) if math.isfinite(value) else str(float(value))


def summary(array: Any) -> str:
    """One line about an array."""

    def number(value: object) -> str:
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    facts, parts = array_facts(array), [describe_array(array)]
    if "min" in facts:
        parts.append(", ".join([f"{name} {number(facts[name])}" for name in ("min", "max", "mean")]))
    parts += [several(facts["nans"], "NaN")] if facts["nans"] else []
    first = ", ".join(map(number, facts["first"]))
    return "  ".join([*parts, f"[{first}{', ...' if array.size > _FIRST_ELEMENTS else ''}]"])
