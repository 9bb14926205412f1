"""The functions that only the drafts have, computed in double: the steps of `tileir.dialect.draft_formulas`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy

from tileir.dialect import ops
from tileir.dialect.draft_formulas import FORMULAS, Formula, Operand, Step
from tileir.execute.arithmetic.exponential import exp_double
from tileir.execute.arithmetic.logarithm import log2_double, log_double
from tileir.execute.arithmetic.rounding import Unary
from tileir.ir.declaration import OperationDeclaration

_FUNCTIONS: Final[dict[OperationDeclaration, Callable[..., Any]]] = {
    ops.ABSF: numpy.absolute,
    ops.ADDF: numpy.add,
    ops.DIVF: numpy.divide,
    ops.EXP: exp_double,
    ops.LOG: log_double,
    ops.LOG2: log2_double,
    ops.MULF: numpy.multiply,
    ops.NEGF: numpy.negative,
    ops.SELECT: numpy.where,
    ops.SUBF: numpy.subtract,
}
_COMPARISONS: Final[dict[str, Callable[..., Any]]] = {
    "equal": numpy.equal,
    "greater_than": numpy.greater,
    "less_than": numpy.less,
}


def _function(formula: Formula) -> Unary:
    constants: dict[Operand, Any] = {each: each.constant for each in formula.constants}
    steps = [(_callable(step), step.operands, step.result) for step in formula.steps]

    def computed(x: Any) -> Any:
        known = {formula.argument: x, **constants}
        for function, operands, result in steps:
            known[result] = function(*[known[operand] for operand in operands])
        return known[formula.steps[-1].result]

    return computed


def _callable(step: Step) -> Callable[..., Any]:
    return _COMPARISONS[step.predicate] if step.predicate else _FUNCTIONS[step.declaration]


DRAFT_FUNCTIONS: Final[dict[OperationDeclaration, Unary]] = {
    declaration: _function(formula) for declaration, formula in FORMULAS.items()
}
