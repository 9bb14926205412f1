"""How many instructions an element of an operation takes on a GPU.

What counts is the work of a multiprocessor's units: each instruction takes a place in the queue of one of its four
parts, and those for exponentials, logarithms, roots, sines and reciprocals a place in a unit of its own, a quarter (on
some GPUs an eighth) as wide.  `benchmarks/cost_instructions.py` reads the figures from what NVIDIA's assembler makes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.execute.work.operations import COMPARING, CONVERTING, FLOATING, INTEGER, Kind
from tileir.execute.work.result import Work


class Weight(NamedTuple):
    """Instructions for an element of f32: all of them, and those of the unit for special functions."""

    issued: float
    special: float = 0.0


WEIGHTS: Final[dict[str, Weight]] = {
    "divf": Weight(10, 1),
    "remf": Weight(20, 1),
    "exp": Weight(6, 1),
    "exp2": Weight(4, 1),
    "log": Weight(10, 1),
    "log2": Weight(8, 1),
    "sqrt": Weight(8, 1),
    "rsqrt": Weight(4, 1),
    "sin": Weight(20, 1),
    "cos": Weight(20, 1),
    "tan": Weight(30, 1),
    "tanh": Weight(12, 2),
    "sinh": Weight(14, 2),
    "cosh": Weight(12, 2),
    "pow": Weight(40, 2),
    "atan2": Weight(30, 1),
}
"""Of the operations that take more than one instruction."""

_ONE: Final = Weight(1)
_DOUBLE_FUNCTION: Final = 25
"""Instructions of f64 for an element of an operation that has none of its own."""


class Instructions(NamedTuple):
    """What a launch issues outside of matrix products, over all tile blocks: instructions for one element each."""

    issued: float
    special: float
    double: float
    """Of f64, which has units of its own."""


def instructions_of(work: Work) -> Instructions:
    issued = special = double = 0.0
    for kind, amount in work.computed.items():
        weight, is_double = _weight(kind)
        if kind[1] == "fma":
            # Counted as two operations, and one instruction.
            amount //= 2
        issued += weight.issued * amount
        special += weight.special * amount
        double += weight.issued * amount if is_double else 0.0
    return Instructions(issued, special, double)


def _weight(kind: Kind) -> tuple[Weight, bool]:
    """What an element of an operation takes, and whether that is for the units of f64."""
    group, mnemonic, types = kind
    if group == FLOATING and types == "f64":
        return Weight(_DOUBLE_FUNCTION if mnemonic in WEIGHTS else 1), True
    if group == FLOATING:
        return WEIGHTS.get(mnemonic, _ONE), False
    if group == INTEGER:
        return Weight(2.0 if types == "i64" else 1.0), False
    if group in (COMPARING, CONVERTING):
        return _ONE, "f64" in types
    return Weight(0), False
