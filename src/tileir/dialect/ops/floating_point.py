"""Floating-point arithmetic and comparison (the operations draft, section 8.7).

The functions of the same section (exponentials, logarithms, trigonometry, roots) are in
`floating_point_functions.py`, matrix multiplication in `matrix.py`.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import (
    COMPARISON,
    DIVIDED,
    FLOAT,
    I1_TILE,
    ROUNDING_ATTRIBUTE,
    TWO_TILES,
    UNIT_ATTRIBUTE,
    boolean_result,
    element_of,
    elementwise,
    enum_attribute,
)
from tileir.dialect.enums import COMPARISON_ORDERING, ROUNDING
from tileir.dialect.inference import COMPARED
from tileir.ir.core import Operation
from tileir.ir.declaration import (
    AttributeDeclaration,
    OperationDeclaration,
    Verifier,
    VerifyContext,
    attribute,
    operand,
    result,
)
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import DIVISION, ELEMENTWISE, FUNCTION, PURE, ElementCost
from tileir.ir.types import F32

CHAPTER: Final = "Floating point"

FLUSH_TO_ZERO: Final = attribute(
    "flush_to_zero",
    UNIT_ATTRIBUTE,
    "treat subnormal inputs and results as zeros of the same sign; f32 only",
    optional=True,
)
NEAREST_EVEN: Final = attribute(
    "rounding_mode", ROUNDING_ATTRIBUTE, "how an inexact result is rounded", ROUNDING["nearest_even"]
)
_ARITHMETIC: Final[tuple[AttributeDeclaration, ...]] = (NEAREST_EVEN, FLUSH_TO_ZERO)
_IEEE_SYNTAX: Final = "rounding(rounding_mode, nearest_even zero negative_inf positive_inf) flag(flush_to_zero)"
_ROUNDS: Final = (
    "The exact result is rounded once, to nearest with ties to even unless `rounding` names another of the four IEEE "
    "modes.  `flush_to_zero`, for f32 only, treats subnormal inputs and tiny results as zeros of the same sign."
)

_ORDERING_ATTRIBUTE: Final = enum_attribute(COMPARISON_ORDERING, "Comparison ordering attribute")
_DIVISION_COST: Final = ElementCost(DIVISION, 5, 10, 1, True)

IEEE_MODES: Final[tuple[str, ...]] = ("nearest_even", "zero", "negative_inf", "positive_inf")


def verify_flush(operation: Operation, context: VerifyContext) -> None:
    if "flush_to_zero" in operation.attributes:
        _verify_f32(operation, "flush_to_zero")


def verify_rounding(modes: tuple[str, ...], f32_modes: tuple[str, ...] = ()) -> Verifier:
    """The rounding mode is one of `modes`; those of `f32_modes` exist for f32 only."""
    return lambda operation, context: _verify_rounding(operation, context, modes, f32_modes)


def _verify_rounding(
    operation: Operation, context: VerifyContext, modes: tuple[str, ...], f32_modes: tuple[str, ...]
) -> None:
    mode = operation.keyword("rounding_mode")
    if mode not in modes:
        raise Invalid(f"invalid rounding mode specified, expect one of [{', '.join(modes)}]")
    if FLUSH_TO_ZERO in operation.declaration.attributes:
        verify_flush(operation, context)
    if mode in f32_modes:
        _verify_f32(operation, mode)


def _verify_f32(operation: Operation, modifier: str) -> None:
    element = element_of(operation.results[0].type)
    if element is not F32 and element is not None:
        raise Invalid(f"{modifier} modifier only supported for f32 data type, but got: '{element.text}'")


def _verify_remainder(operation: Operation, context: VerifyContext) -> None:
    # In the draft remf has a rounding mode; the remainder is exact, so only the default can be dropped without a loss
    # (docs/reference/conflicts.md C7).
    mode = operation.attributes.get("rounding_mode")
    if mode is not None and mode is not ROUNDING["nearest_even"]:
        raise Invalid("invalid rounding mode specified. Only 'nearest_even' is supported")


ABSF: Final[OperationDeclaration] = elementwise(
    "absf",
    section="8.7.3",
    opcode=0x00,
    summary="Element-wise absolute value",
    description="Clears the sign of each element, zeros and NaNs included.  The result is exact.",
    returns="the absolute values",
)
ADDF: Final[OperationDeclaration] = elementwise(
    "addf",
    TWO_TILES,
    section="8.7.4",
    opcode=0x02,
    summary="Element-wise addition",
    description=f"Adds two tiles element by element.  {_ROUNDS}",
    example="%r = addf %a, %b rounding<zero> flush_to_zero : tile<4xf32>",
    returns="the sum",
    attributes=_ARITHMETIC,
    modifiers=_IEEE_SYNTAX,
    verify_attributes=verify_rounding(IEEE_MODES),
)
CEIL: Final[OperationDeclaration] = elementwise(
    "ceil",
    section="8.7.5",
    opcode=0x0D,
    summary="Element-wise rounding up to an integer",
    description=(
        "Returns the smallest integer that is not less than the element, as a float.  Zeros, infinities and NaN are "
        "kept; a value between -1 and 0 becomes -0."
    ),
    returns="the rounded elements",
)
CMPF: Final[OperationDeclaration] = OperationDeclaration(
    "cmpf",
    section="8.7.6",
    opcode=0x0E,
    summary="Element-wise comparison",
    description=(
        "Compares two tiles element by element and returns a tile of `i1`: 1 where the predicate holds, 0 "
        "elsewhere.  The ordering decides about NaN: an `ordered` comparison with a NaN is false, an "
        "`unordered` one is true, whatever the predicate.  The two zeros are equal.  The spellings `olt`, `ueq` "
        "and the like of other dialects are read as a predicate and an ordering."
    ),
    example="%c = cmpf less_than ordered %a, %b : tile<4xf32> -> tile<4xi1>",
    operands=(operand("lhs", FLOAT, "the left operand"), operand("rhs", FLOAT, "the right operand")),
    attributes=(
        COMPARISON,
        attribute("comparison_ordering", _ORDERING_ATTRIBUTE, "the answer where an element is NaN"),
    ),
    results=(result("result", I1_TILE, "1 where the relation holds"),),
    traits=PURE | ELEMENTWISE,
    same_types=(("lhs", "rhs"),),
    rules=(boolean_result("lhs", "result"),),
    inference=COMPARED,
    syntax=("keyword(comparison_predicate) keyword(comparison_ordering) $lhs ',' $rhs attr-dict comparison-types"),
)
DIVF: Final[OperationDeclaration] = elementwise(
    "divf",
    DIVIDED,
    section="8.7.9",
    opcode=0x14,
    summary="Element-wise division",
    description=(
        f"Divides element by element.  {_ROUNDS}  For f32 there are two faster modes: `approx` goes through an "
        "approximate reciprocal, `full` is less exact than the IEEE modes but covers the full range.  A finite "
        "number divided by zero is an infinity, zero by zero is NaN."
    ),
    example="%r = divf %a, %b rounding<approx> flush_to_zero : tile<4xf32>",
    returns="the quotient",
    cost=_DIVISION_COST,
    attributes=_ARITHMETIC,
    modifiers=(
        "open-rounding(rounding_mode, nearest_even zero negative_inf positive_inf approx full) flag(flush_to_zero)"
    ),
    verify_attributes=verify_rounding((*IEEE_MODES, "approx", "full"), f32_modes=("approx", "full")),
)
FLOOR: Final[OperationDeclaration] = elementwise(
    "floor",
    section="8.7.12",
    opcode=0x27,
    summary="Element-wise rounding down to an integer",
    description=(
        "Returns the greatest integer that is not greater than the element, as a float.  Zeros, infinities and NaN are "
        "kept."
    ),
    returns="the rounded elements",
)
FMA: Final[OperationDeclaration] = elementwise(
    "fma",
    {"lhs": "the left operand", "rhs": "the right operand", "acc": "what is added to the product"},
    section="8.7.13",
    opcode=0x28,
    summary="Element-wise fused multiply and add",
    description=f"Computes `lhs * rhs + acc` without rounding the product.  {_ROUNDS}",
    returns="the sum",
    cost=ElementCost(flops=2),
    attributes=_ARITHMETIC,
    modifiers=_IEEE_SYNTAX,
    verify_attributes=verify_rounding(IEEE_MODES),
)

_NAN_AND_ZERO: Final = (
    "If one element is NaN, the result is the other one, unless `propagate_nan` is given, which makes it NaN; two "
    "NaNs always give NaN.  -0 counts as less than +0.  `flush_to_zero`, for f32 only, treats subnormal numbers as "
    "zeros of the same sign."
)
_EXTREMUM: Final[tuple[AttributeDeclaration, ...]] = (
    attribute("propagate_nan", UNIT_ATTRIBUTE, "let a NaN in either operand win", optional=True),
    FLUSH_TO_ZERO,
)
# The draft's ordering has no effect on a maximum or minimum (docs/reference/conflicts.md C6): on maxf and minf it is carried as
# a discardable attribute, on the draft's own operations it is declared.
_DRAFT_EXTREMUM: Final[tuple[AttributeDeclaration, ...]] = (
    attribute("comparison_ordering", _ORDERING_ATTRIBUTE, "carried along, without effect", optional=True),
)
MAXF: Final[OperationDeclaration] = elementwise(
    "maxf",
    TWO_TILES,
    section="8.7.18",
    opcode=0x45,
    summary="Element-wise maximum",
    description=f"Returns the greater of the two elements.  {_NAN_AND_ZERO}",
    example="%r = maxf %a, %b propagate_nan : tile<4xf32>",
    returns="the greater elements",
    attributes=_EXTREMUM,
    modifiers="flags(flush_to_zero, propagate_nan)",
    verify_attributes=verify_flush,
)
MAXIMUMF: Final[OperationDeclaration] = elementwise(
    "maximumf",
    TWO_TILES,
    section="8.7.19",
    since=None,
    summary="Element-wise maximum that keeps NaN",
    description="Returns the greater of the two elements, or NaN where either is NaN.",
    returns="the greater elements",
    attributes=_DRAFT_EXTREMUM,
    modifiers="($comparison_ordering)?",
    legalization="`maxf` with `propagate_nan`; the ordering is dropped.",
)
MINF: Final[OperationDeclaration] = elementwise(
    "minf",
    TWO_TILES,
    section="8.7.20",
    opcode=0x47,
    summary="Element-wise minimum",
    description=f"Returns the lesser of the two elements.  {_NAN_AND_ZERO}",
    returns="the lesser elements",
    attributes=_EXTREMUM,
    modifiers="flags(flush_to_zero, propagate_nan)",
    verify_attributes=verify_flush,
)
MINIMUMF: Final[OperationDeclaration] = elementwise(
    "minimumf",
    TWO_TILES,
    section="8.7.21",
    since=None,
    summary="Element-wise minimum that keeps NaN",
    description="Returns the lesser of the two elements, or NaN where either is NaN.",
    returns="the lesser elements",
    attributes=_DRAFT_EXTREMUM,
    modifiers="($comparison_ordering)?",
    legalization="`minf` with `propagate_nan`; the ordering is dropped.",
)

MULF: Final[OperationDeclaration] = elementwise(
    "mulf",
    TWO_TILES,
    section="8.7.22",
    opcode=0x4C,
    summary="Element-wise multiplication",
    description=f"Multiplies two tiles element by element.  {_ROUNDS}",
    example="%r = mulf %a, %b rounding<positive_inf> : tile<4xf32>",
    returns="the product",
    attributes=_ARITHMETIC,
    modifiers=_IEEE_SYNTAX,
    verify_attributes=verify_rounding(IEEE_MODES),
)
NEGF: Final[OperationDeclaration] = elementwise(
    "negf",
    section="8.7.23",
    opcode=0x4F,
    summary="Element-wise negation",
    description="Flips the sign of each element, zeros and NaNs included.  The result is exact.",
    returns="the negated elements",
)
RECIPF: Final[OperationDeclaration] = elementwise(
    "recipf",
    section="8.7.25",
    since=None,
    summary="Element-wise reciprocal",
    description=(
        "Returns 1 divided by each element: an infinity for a zero and a zero for an infinity, of the same sign.  "
        "f16 and bf16 are computed in f32."
    ),
    returns="the reciprocals",
    cost=_DIVISION_COST,
    legalization="`divf` of a constant 1 by the input, rounded to nearest.",
)
REMF: Final[OperationDeclaration] = elementwise(
    "remf",
    DIVIDED,
    section="8.7.26",
    opcode=0x59,
    summary="Element-wise remainder",
    description=(
        "Returns `lhs - trunc(lhs / rhs) * rhs`, exact, with the sign of the dividend, as `fmod` in C.  A zero divisor "
        "or an infinite dividend results in NaN, an infinite divisor the finite dividend itself.  The draft speaks of the "
        "IEEE remainder, which rounds the quotient to nearest; the public meaning holds (docs/reference/conflicts.md C7)."
    ),
    returns="the remainder",
    cost=ElementCost(FUNCTION, 1.2, 64, 2, True),
    verify_attributes=_verify_remainder,
)
SUBF: Final[OperationDeclaration] = elementwise(
    "subf",
    TWO_TILES,
    section="8.7.32",
    opcode=0x67,
    summary="Element-wise subtraction",
    description=f"Subtracts the right tile from the left one.  {_ROUNDS}",
    returns="the difference",
    attributes=_ARITHMETIC,
    modifiers=_IEEE_SYNTAX,
    verify_attributes=verify_rounding(IEEE_MODES),
)
