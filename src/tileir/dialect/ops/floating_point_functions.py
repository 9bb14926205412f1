"""Floating-point functions (the operations draft, section 8.7): exponentials, logarithms, trigonometry, roots, powers."""

from __future__ import annotations

import math

from tileir.annotations import Final
from tileir.dialect.constraints import FLOAT, ROUNDING_ATTRIBUTE, elementwise, same_shape, tile_of
from tileir.dialect.enums import ROUNDING
from tileir.dialect.inference import Inference
from tileir.dialect.ops.floating_point import FLUSH_TO_ZERO, IEEE_MODES, NEAREST_EVEN, verify_flush, verify_rounding
from tileir.dialect.types import with_element
from tileir.ir.declaration import AttributeDeclaration, OperationDeclaration, attribute, operand, result
from tileir.ir.traits import DIVISION, ELEMENTWISE, FUNCTION, FUNCTION_COST, FUSIBLE, OPEN_BITS, PURE, ElementCost
from tileir.ir.types import I1, I8, I16, I32
from tileir.ir.versions import V13_2, V13_3, V13_4, Version

CHAPTER: Final = "Floating point"

_HALF: Final = "f16 and bf16 are computed in f32."
_FUNCTION: Final = PURE | ELEMENTWISE | OPEN_BITS
_FUSIBLE_FUNCTION: Final = _FUNCTION | FUSIBLE
_FLUSHES: Final = "`flush_to_zero`, for f32 only, treats subnormal inputs and results as zeros of the same sign."
_APPROXIMATES: Final = (
    "The mode `approx`, for f32 only, selects the fast approximation of the hardware; the default, `full`, for the "
    "full precision of the element type."
)
_SMALL_INT: Final = tile_of((I1, I8, I16, I32))


def _precision(since: Version) -> tuple[AttributeDeclaration, ...]:
    """The rounding mode that exp and tanh got later."""
    return (
        attribute("rounding_mode", ROUNDING_ATTRIBUTE, "full or approximate precision", ROUNDING["full"], since=since),
    )


_VERIFY_PRECISION: Final = verify_rounding(("approx", "full"), f32_modes=("approx",))


EXP: Final[OperationDeclaration] = elementwise(
    "exp",
    section="8.7.11",
    opcode=0x17,
    summary="Element-wise exponential",
    description=(
        f"Raises e to the power of each element: 0 for negative infinity, 1 for a zero.  {_HALF}  {_APPROXIMATES}"
    ),
    example="%r = exp %x rounding<approx> : tile<4xf32>",
    returns="the exponentials",
    traits=_FUSIBLE_FUNCTION,
    cost=ElementCost(FUNCTION, 1.0, 9, 1),
    reference=math.exp,
    attributes=_precision(V13_3),
    modifiers="open-rounding(rounding_mode, approx full)",
    verify_attributes=_VERIFY_PRECISION,
)
EXP2: Final[OperationDeclaration] = elementwise(
    "exp2",
    section="8.7.10",
    opcode=0x18,
    summary="Element-wise power of two",
    description=f"Raises 2 to the power of each element.  {_HALF}  {_FLUSHES}",
    example="%r = exp2 %x flush_to_zero : tile<4xf32>",
    returns="the powers of two",
    traits=_FUSIBLE_FUNCTION,
    cost=ElementCost(FUNCTION, 0.95, 5, 1),
    reference=lambda x: 2.0**x,
    attributes=(FLUSH_TO_ZERO,),
    modifiers="flag(flush_to_zero)",
    verify_attributes=verify_flush,
)
LOG: Final[OperationDeclaration] = elementwise(
    "log",
    section="8.7.17",
    opcode=0x3F,
    summary="Element-wise natural logarithm",
    description="Returns the natural logarithm: negative infinity for a zero, NaN for a negative number.  " + _HALF,
    returns="the logarithms",
    traits=_FUSIBLE_FUNCTION,
    cost=ElementCost(FUNCTION, 1.3, 26, divides=True),
    reference=math.log,
)
LOG2: Final[OperationDeclaration] = elementwise(
    "log2",
    section="8.7.16",
    opcode=0x40,
    summary="Element-wise base-2 logarithm",
    description="Returns the logarithm to base 2: negative infinity for a zero, NaN for a negative number.  " + _HALF,
    returns="the logarithms",
    traits=_FUSIBLE_FUNCTION,
    cost=ElementCost(FUNCTION, 1.35, 28),
    reference=math.log2,
)
LOG10: Final[OperationDeclaration] = elementwise(
    "log10",
    section="8.7.14",
    since=None,
    summary="Element-wise base-10 logarithm",
    description=(
        "Returns the logarithm to base 10: negative infinity for a zero, NaN for a negative number.  " + _HALF
    ),
    returns="the logarithms",
    traits=_FUNCTION,
    cost=ElementCost(FUNCTION, 1.3, 27),
    legalization="`log` and a `mulf` by the constant 1 / ln 10; f16 and bf16 go through f32.",
)
LOG1P: Final[OperationDeclaration] = elementwise(
    "log1p",
    section="8.7.15",
    since=None,
    summary="Element-wise logarithm of one more",
    description=(
        "Returns the natural logarithm of 1 + x, exact to the precision of the type also where x is so near to 0 that "
        "1 + x rounds to 1.  Negative infinity for -1, NaN below.  " + _HALF
    ),
    returns="the logarithms",
    traits=_FUNCTION,
    cost=ElementCost(FUNCTION, 1.3, 43, 1, True, divides=True),
    legalization=(
        "With u = 1 + x: `log` of u times x / (u - 1), which undoes the rounding of u; x itself where u is 1, and u "
        "where u is infinite."
    ),
)
SIGMOID: Final[OperationDeclaration] = elementwise(
    "sigmoid",
    section="8.7.28",
    since=None,
    summary="Element-wise logistic function",
    description="Returns 1 / (1 + exp(-x)): 0 for negative infinity, 1/2 for a zero, 1 for infinity.  " + _HALF,
    returns="values from 0 to 1",
    traits=_FUNCTION,
    cost=ElementCost(FUNCTION, 1.3, 21, 2, True),
    legalization="`negf`, `exp`, `addf` of 1, `divf` of 1 by the sum; f16 and bf16 go through f32.",
)

SIN: Final[OperationDeclaration] = elementwise(
    "sin",
    section="8.7.30",
    opcode=0x62,
    summary="Element-wise sine",
    description="Returns the sine of each element, in radians; NaN for an infinity.  " + _HALF,
    returns="the sines",
    traits=_FUSIBLE_FUNCTION,
    cost=ElementCost(FUNCTION, 1.05, 25),
    reference=math.sin,
)
COS: Final[OperationDeclaration] = elementwise(
    "cos",
    section="8.7.8",
    opcode=0x12,
    summary="Element-wise cosine",
    description="Returns the cosine of each element, in radians; NaN for an infinity.  " + _HALF,
    returns="the cosines",
    traits=_FUSIBLE_FUNCTION,
    cost=ElementCost(FUNCTION, 1.15, 27),
    reference=math.cos,
)
TAN: Final[OperationDeclaration] = elementwise(
    "tan",
    opcode=0x69,
    summary="Element-wise tangent",
    description="Returns the tangent of each element, in radians; NaN for an infinity.  " + _HALF,
    returns="the tangents",
    traits=_FUNCTION,
    cost=ElementCost(FUNCTION, 1.65, 30, 1),
    reference=math.tan,
)
SINH: Final[OperationDeclaration] = elementwise(
    "sinh",
    section="8.7.29",
    opcode=0x63,
    class_name="SinH",
    summary="Element-wise hyperbolic sine",
    description="Returns (exp(x) - exp(-x)) / 2; zeros and infinities keep their sign.  " + _HALF,
    returns="the hyperbolic sines",
    traits=_FUSIBLE_FUNCTION,
    cost=ElementCost(FUNCTION, 1.35, 24, 2),
    reference=math.sinh,
)
COSH: Final[OperationDeclaration] = elementwise(
    "cosh",
    section="8.7.7",
    opcode=0x13,
    class_name="CosH",
    summary="Element-wise hyperbolic cosine",
    description="Returns (exp(x) + exp(-x)) / 2: never less than 1, infinity for both infinities.  " + _HALF,
    returns="the hyperbolic cosines",
    traits=_FUSIBLE_FUNCTION,
    cost=ElementCost(FUNCTION, 1.2, 16, 2),
    reference=math.cosh,
)
TANH: Final[OperationDeclaration] = elementwise(
    "tanh",
    section="8.7.34",
    opcode=0x6A,
    class_name="TanH",
    aliases=("tanhf",),
    summary="Element-wise hyperbolic tangent",
    description=(
        f"Returns sinh(x) / cosh(x), between -1 and 1.  {_HALF}  {_APPROXIMATES}  The draft has a second name for it, "
        "`tanhf`."
    ),
    example="%r = tanh %x rounding<approx> : tile<4xf32>",
    returns="the hyperbolic tangents",
    traits=_FUSIBLE_FUNCTION,
    cost=ElementCost(FUNCTION, 1.3, 16, 2),
    reference=math.tanh,
    attributes=_precision(V13_2),
    modifiers="open-rounding(rounding_mode, approx full)",
    verify_attributes=_VERIFY_PRECISION,
)
ATAN2: Final[OperationDeclaration] = elementwise(
    "atan2",
    {"x": "the side opposite to the angle", "y": "the side next to the angle"},
    opcode=0x6E,
    since=V13_2,
    summary="Element-wise angle of a point",
    description=(
        "Returns the arc tangent of x / y, in the quadrant that the signs of both choose, from -pi to pi.  Mind the "
        f"order: the first operand is the sine side, as in `atan2` of C.  {_HALF}"
    ),
    example="%r = atan2 %x, %y : tile<4xf32>",
    returns="the angles, in radians",
    traits=_FUNCTION,
    cost=ElementCost(FUNCTION, 2.1, 37, 1, True),
)

RSQRT: Final[OperationDeclaration] = elementwise(
    "rsqrt",
    section="8.7.27",
    opcode=0x5D,
    summary="Element-wise reciprocal square root",
    description=(
        "Returns 1 divided by the square root of each element: an infinity for a zero, NaN for a negative number.  "
        f"{_HALF}  {_FLUSHES}"
    ),
    example="%r = rsqrt %x flush_to_zero : tile<4xf32>",
    returns="the reciprocal square roots",
    traits=_FUNCTION,
    cost=ElementCost(FUNCTION, 1.3, 5, 1),
    reference=lambda x: 1.0 / math.sqrt(x),
    attributes=(FLUSH_TO_ZERO,),
    modifiers="flag(flush_to_zero)",
    verify_attributes=verify_flush,
)
SQRT: Final[OperationDeclaration] = elementwise(
    "sqrt",
    section="8.7.31",
    opcode=0x64,
    summary="Element-wise square root",
    description=(
        "Returns the square root of each element: NaN for a negative number, a zero keeps its sign.  It is correctly "
        "rounded, to nearest with ties to even unless `rounding` names another of the four IEEE modes; `approx`, for "
        f"f32 only, selects the fast approximation of the hardware.  {_FLUSHES}"
    ),
    example="%r = sqrt %x rounding<approx> flush_to_zero : tile<4xf32>",
    returns="the square roots",
    cost=ElementCost(DIVISION, 6, 9, 1, True),
    attributes=(NEAREST_EVEN, FLUSH_TO_ZERO),
    modifiers="open-rounding(rounding_mode, nearest_even zero negative_inf positive_inf approx) flag(flush_to_zero)",
    verify_attributes=verify_rounding((*IEEE_MODES, "approx"), f32_modes=("approx",)),
)
POW: Final[OperationDeclaration] = elementwise(
    "pow",
    {"source": "the base", "exponent": "the exponent"},
    section="8.7.24",
    opcode=0x54,
    class_name="FPowF",
    aliases=("powf",),
    newer_mnemonic="fpowf",
    summary="Element-wise power",
    description=(
        "Raises each element of the source to the power of the exponent's.  A negative base with an exponent that "
        "is no integer results in NaN; any base to the power of zero is 1.  13.4 spells the operation `fpowf`, the "
        f"draft `powf`; all three are read.  {_HALF}"
    ),
    example="%r = pow %x, %e : tile<4xf32>",
    returns="the powers",
    traits=_FUNCTION,
    cost=ElementCost(FUNCTION, 4.6, 79, 1),
    same_types=("result", "source", "exponent"),
)
FPOWI: Final[OperationDeclaration] = OperationDeclaration(
    "fpowi",
    opcode=0x79,
    class_name="FPowI",
    since=V13_4,
    summary="Element-wise power with an integer exponent",
    description=(
        "Raises each element of the source to the power of a signed integer of at most 32 bits.  With the "
        "exponent zero the result is 1, with a negative exponent the reciprocal of the power."
    ),
    example="%r = fpowi %x, %i : tile<4xf32>, tile<4xi32>",
    operands=(
        operand("source", FLOAT, "the base", since=V13_4),
        operand("exponent", _SMALL_INT, "the exponent, a tile of the same shape", since=V13_4),
    ),
    results=(result("result", FLOAT, "the powers", since=V13_4),),
    same_types=(("result", "source"),),
    rules=(same_shape("source", "exponent"),),
    inference=Inference(numbers={"exponent": lambda call: with_element(call.tile("source"), I32)}),
    syntax="$source ',' $exponent attr-dict ':' type($source) ',' type($exponent)",
    traits=_FUNCTION,
    cost=FUNCTION_COST,
)
