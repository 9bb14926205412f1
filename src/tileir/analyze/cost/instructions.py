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
    """What an element of f32 takes: instructions, those of them for the unit of special functions, and whether ordinary
    numbers are told from others by a branch, so that the elements of a thread are computed one after the other."""

    issued: float
    special: float = 0.0
    branches: bool = False


WEIGHTS: Final[dict[str, Weight]] = {
    "atan2": Weight(37, 1, True),
    "cos": Weight(27),
    "cosh": Weight(16, 2),
    "divf": Weight(10, 1, True),
    "exp": Weight(9, 1),
    "exp2": Weight(5, 1),
    "log": Weight(26),
    "log2": Weight(28),
    "pow": Weight(79, 1),
    "remf": Weight(64, 2, True),
    "rsqrt": Weight(5, 1),
    "sin": Weight(25),
    "sinh": Weight(24, 2),
    "sqrt": Weight(9, 1, True),
    "tan": Weight(30, 1),
    "tanh": Weight(16, 2),
}
"""Of the operations that take more than one instruction; sines without what large arguments take."""

INTEGER_WEIGHTS: Final[dict[str, Weight]] = {"divi": Weight(25, 1), "remi": Weight(23, 1)}

_ONE: Final = Weight(1)
_DOUBLE_FUNCTION: Final = 25
"""Instructions of f64 for an element of an operation that has none of its own."""


class Instructions(NamedTuple):
    """What a launch issues outside of matrix products, over all tile blocks: instructions for one element each."""

    issued: float
    special: float
    double: float
    """Of f64, which has units of its own."""
    branching: float
    """Elements that are computed one after the other."""


def instructions_of(work: Work) -> Instructions:
    issued = special = double = branching = 0.0
    for kind, amount in work.computed.items():
        weight, is_double = _weight(kind)
        if kind[1] == "fma":
            # Counted as two operations, and one instruction.
            amount //= 2
        issued += weight.issued * amount
        special += weight.special * amount
        double += weight.issued * amount if is_double else 0.0
        branching += amount if weight.branches else 0
    return Instructions(issued, special, double, branching)


def _weight(kind: Kind) -> tuple[Weight, bool]:
    """What an element of an operation takes, and whether that is for the units of f64."""
    group, mnemonic, types = kind
    if group == FLOATING and types == "f64":
        return Weight(_DOUBLE_FUNCTION if mnemonic in WEIGHTS else 1), True
    if group == FLOATING:
        return WEIGHTS.get(mnemonic, _ONE), False
    if group == INTEGER:
        weight = INTEGER_WEIGHTS.get(mnemonic, _ONE)
        return weight._replace(issued=2 * weight.issued) if types == "i64" else weight, False
    if group in (COMPARING, CONVERTING):
        return _ONE, "f64" in types
    return Weight(0), False
