"""The functions that only the drafts have, each as a formula of public operations on f64.

`legalize` writes the steps as operations (passes/expansions.py), the interpreter and the CPU backend compute them
(execute/arithmetic/functions.py), so that a legalized program has the bits of the operation itself.  Narrower types
become f64 and are rounded once: in f32 the errors of the steps would add up to more than the last bit.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import ABSF, ADDF, CMPF, DIVF, EXP, LOG, LOG1P, LOG2, LOG10, MULF, NEGF, SELECT, SIGMOID, SUBF
from tileir.ir.declaration import OperationDeclaration

_LOG10_OF_2: Final = float.fromhex("0x1.34413509f79ffp-2")


class Operand:
    """A number of a formula: its argument, the result of a step, or a constant."""

    def __init__(self, constant: float = 0.0) -> None:
        self.constant: float = constant


class Step:
    """One operation; `predicate` is that of an ordered comparison, empty for others."""

    def __init__(self, declaration: OperationDeclaration, operands: list[Operand], predicate: str) -> None:
        self.declaration: OperationDeclaration = declaration
        self.operands: list[Operand] = operands
        self.predicate: str = predicate
        self.result: Operand = Operand()


class Formula:
    """Steps in the order in which they are computed; the last computes the result."""

    def __init__(self) -> None:
        self.argument: Operand = Operand()
        self.constants: list[Operand] = []
        self.steps: list[Step] = []

    def number(self, value: float) -> Operand:
        found = Operand(value)
        self.constants.append(found)
        return found

    def apply(self, declaration: OperationDeclaration, *operands: Operand, predicate: str = "") -> Operand:
        self.steps.append(Step(declaration, list(operands), predicate))
        return self.steps[-1].result

    def compare(self, predicate: str, left: Operand, right: Operand) -> Operand:
        return self.apply(CMPF, left, right, predicate=predicate)


def _sigmoid() -> Formula:
    """`1 / (1 + exp(-x))`, and `s / (1 + s)` of `s = exp(x)` where x is negative: neither exponential overflows.

    Far below zero that is `s - s * s / (1 + s)`, where the rounding of `1 + s` counts less.
    """
    formula = Formula()
    x, zero, one, tail = formula.argument, formula.number(0.0), formula.number(1.0), formula.number(-1.4)
    small = formula.apply(EXP, formula.apply(NEGF, formula.apply(ABSF, x)))
    above = formula.apply(SELECT, formula.compare("less_than", x, zero), small, one)
    ratio = formula.apply(DIVF, above, formula.apply(ADDF, one, small))
    is_far = formula.compare("less_than", x, tail)
    formula.apply(SELECT, is_far, formula.apply(SUBF, small, formula.apply(MULF, small, ratio)), ratio)
    return formula


def _log10() -> Formula:
    """Of log and log2, the one that makes the powers of ten up to 10**22, all that are doubles, exact."""
    formula = Formula()
    formula.apply(MULF, formula.apply(LOG2, formula.argument), formula.number(_LOG10_OF_2))
    return formula


def _log1p() -> Formula:
    """log(u) of u = 1 + x rounded, and for what the rounding lost the slope there, 1 / u.

    Infinity minus itself is no number, which is not greater than 0: then nothing is added.  Nor is anything to -1.
    """
    formula = Formula()
    x, zero, one = formula.argument, formula.number(0.0), formula.number(1.0)
    total = formula.apply(ADDF, x, one)
    added = formula.apply(SUBF, total, one)
    lost = formula.apply(SUBF, x, added)
    logarithm = formula.apply(LOG, total)
    is_inexact = formula.compare("greater_than", formula.apply(ABSF, lost), zero)
    corrected = formula.apply(ADDF, logarithm, formula.apply(DIVF, lost, total))
    result = formula.apply(SELECT, is_inexact, corrected, logarithm)
    # Too small to add to 1, or a zero, whose sign stays.
    formula.apply(SELECT, formula.compare("equal", added, zero), x, result)
    return formula


FORMULAS: Final[dict[OperationDeclaration, Formula]] = {
    SIGMOID: _sigmoid(),
    LOG10: _log10(),
    LOG1P: _log1p(),
}
