"""The functions that only the drafts have, in double: what each means is the public operations that stand for it.

`legalize` writes the same steps (passes/legalize_expand.py): narrower types become f64 and are rounded once at the end,
so that a legalized program computes the same bits.  Whoever changes one changes the other.
"""

from __future__ import annotations

from typing import Any, Final

import numpy

from tileir.execute.arithmetic.rounding import Unary

_LOG10_OF_2: Final = float.fromhex("0x1.34413509f79ffp-2")


def draft_functions(exp: Unary, log: Unary, log2: Unary) -> dict[str, Unary]:
    """The functions by name, made of the exponential and the logarithms the public operations have."""

    def sigmoid(x: Any) -> Any:
        # Of the two forms, the one whose exponential cannot overflow: it keeps its accuracy in the left tail, where
        # s / (1 + s) is s less a small term, so that the rounding of 1 + s counts less.
        small = exp(numpy.negative(numpy.absolute(x)))
        ratio = numpy.divide(numpy.where(x < 0.0, small, 1.0), 1.0 + small)
        return numpy.where(x < -1.4, small - small * ratio, ratio)

    def log10(x: Any) -> Any:
        # Of log and log2, the one that makes the powers of ten up to 10**22, all that are doubles, exact.
        return log2(x) * _LOG10_OF_2

    def log1p(x: Any) -> Any:
        total = x + 1.0
        added = total - 1.0
        # What the sum lost; no number where it is infinite.
        lost = x - added
        logarithm = log(total)
        corrected = numpy.where(numpy.absolute(lost) > 0.0, logarithm + lost / total, logarithm)
        return numpy.where(added == 0.0, x, corrected)

    return {"sigmoid": sigmoid, "log10": log10, "log1p": log1p}
