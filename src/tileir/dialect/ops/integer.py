"""Integer arithmetic (the operations draft, section 8.8); integer matrix multiplication is in `matrix.py`."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import (
    COMPARISON,
    DIVIDED,
    I1_TILE,
    INT,
    OVERFLOW_ATTRIBUTE,
    ROUNDING_ATTRIBUTE,
    SIGNEDNESS_ATTRIBUTE,
    TWO_TILES,
    boolean_result,
    elementwise,
)
from tileir.dialect.enums import OVERFLOW, ROUNDING
from tileir.dialect.inference import COMPARED
from tileir.ir.core import Operation
from tileir.ir.declaration import AttributeDeclaration, OperationDeclaration, VerifyContext, attribute, operand, result
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import DIVISION, ELEMENTWISE, NO_MEMORY_EFFECT, PURE, ElementCost
from tileir.ir.versions import V13_2

CHAPTER: Final = "Integer"
_OVERFLOW: Final[tuple[AttributeDeclaration, ...]] = (
    attribute("overflow", OVERFLOW_ATTRIBUTE, "which wrapping cannot happen", OVERFLOW["none"]),
)
_SIGNEDNESS: Final[tuple[AttributeDeclaration, ...]] = (
    attribute("signedness", SIGNEDNESS_ATTRIBUTE, "whether the elements are signed or unsigned"),
)
_PROMISE: Final = (
    "An `overflow` flag promises that a kind of wrapping does not happen; a program that breaks the promise has "
    "undefined behavior."
)


def _verify_division(operation: Operation, context: VerifyContext) -> None:
    rounding = operation.rounding
    if rounding not in ("zero", "negative_inf", "positive_inf"):
        raise Invalid("invalid rounding mode specified, expect one of [zero, negative_inf, positive_inf]")
    if rounding == "negative_inf" and operation.signedness == "unsigned":
        raise Invalid("rounding mode 'negative_inf' is not allowed with 'unsigned' flag")


def _verify_negation(operation: Operation, context: VerifyContext) -> None:
    # The operation is signed by nature; `no_wrap`, which contains this flag, is let through all the same.
    if operation.overflow == "no_unsigned_wrap":
        raise Invalid("'no_unsigned_wrap' overflow flag is not supported")


ABSI: Final[OperationDeclaration] = elementwise(
    "absi",
    constraint=INT,
    section="8.8.2",
    opcode=0x01,
    summary="Element-wise integer absolute value",
    description=(
        "Takes the absolute value of each element, read as a signed number.  The result is to be read as unsigned: "
        "for the smallest signed number it is 2^(N-1), the same bits as the input."
    ),
    returns="the absolute values",
)
ADDI: Final[OperationDeclaration] = elementwise(
    "addi",
    TWO_TILES,
    constraint=INT,
    section="8.8.2",
    opcode=0x03,
    summary="Element-wise integer addition",
    description=f"Adds two tiles element by element.  The sum wraps modulo 2^N.  {_PROMISE}",
    example="%r = addi %a, %b overflow<no_signed_wrap> : tile<4xi32>",
    returns="the sum",
    attributes=_OVERFLOW,
    modifiers="enclosed(overflow)",
)
CMPI: Final[OperationDeclaration] = OperationDeclaration(
    "cmpi",
    opcode=0x0F,
    summary="Element-wise integer comparison",
    description=(
        "Compares two tiles element by element and returns a tile of `i1`: 1 where the predicate holds, 0 elsewhere. "
        "`signedness` decides how the four order predicates read the bits; `equal` and `not_equal` do not depend "
        "on it, but it must be written."
    ),
    example="%c = cmpi greater_than_or_equal %a, %b, signed : tile<4xi32> -> tile<4xi1>",
    operands=(operand("lhs", INT, "the left operand"), operand("rhs", INT, "the right operand")),
    attributes=(COMPARISON, *_SIGNEDNESS),
    results=(result("result", I1_TILE, "1 where the relation holds"),),
    traits=PURE | ELEMENTWISE,
    same_types=(("lhs", "rhs"),),
    rules=(boolean_result("lhs", "result"),),
    inference=COMPARED,
    syntax="keyword(comparison_predicate) $lhs ',' $rhs ',' keyword(signedness) attr-dict comparison-types",
)
DIVI: Final[OperationDeclaration] = elementwise(
    "divi",
    DIVIDED,
    constraint=INT,
    section="8.85",
    opcode=0x15,
    summary="Element-wise integer division",
    description=(
        "Divides element by element.  The quotient is rounded toward zero, or with `rounding` toward negative "
        "infinity (a floor division, signed only) or positive infinity (a ceiling division).  Division by zero is "
        "undefined behavior, and so is the signed division of the smallest number by -1; for that reason the "
        "operation may not be executed speculatively."
    ),
    example="%r = divi %a, %b signed rounding<negative_inf> : tile<4xi32>",
    returns="the quotient",
    cost=ElementCost(DIVISION, 12, 25, 1),
    attributes=(
        *_SIGNEDNESS,
        attribute("rounding", ROUNDING_ATTRIBUTE, "where an inexact quotient goes", ROUNDING["zero"]),
    ),
    modifiers="keyword(signedness) enclosed(rounding)",
    # docs/reference/conflicts.md C21: no memory effect, but not speculatable either.
    traits=NO_MEMORY_EFFECT | ELEMENTWISE,
    verify_attributes=_verify_division,
)
MAXI: Final[OperationDeclaration] = elementwise(
    "maxi",
    TWO_TILES,
    constraint=INT,
    section="8.8.6",
    opcode=0x46,
    summary="Element-wise integer maximum",
    description="Returns the greater of the two elements, compared as signed or as unsigned numbers.",
    example="%r = maxi %a, %b signed : tile<4xi32>",
    returns="the greater elements",
    attributes=_SIGNEDNESS,
    modifiers="keyword(signedness)",
)
MINI: Final[OperationDeclaration] = elementwise(
    "mini",
    TWO_TILES,
    constraint=INT,
    section="8.8.7",
    opcode=0x48,
    summary="Element-wise integer minimum",
    description="Returns the lesser of the two elements, compared as signed or as unsigned numbers.",
    example="%r = mini %a, %b unsigned : tile<4xi32>",
    returns="the lesser elements",
    attributes=_SIGNEDNESS,
    modifiers="keyword(signedness)",
)
MULHII: Final[OperationDeclaration] = elementwise(
    "mulhii",
    {"x": "the left operand", "y": "the right operand"},
    constraint=INT,
    section="8.8.8",
    opcode=0x4D,
    aliases=("mulhi",),
    summary="High half of the element-wise integer product",
    description=(
        "Multiplies unsigned N-bit elements to 2N bits and returns the upper N bits; `muli` returns the lower N.  "
        "There is no signed form.  The draft calls it `mulhi`, which is also accepted."
    ),
    returns="the upper half of the product",
    cost=ElementCost(DIVISION),
)
MULI: Final[OperationDeclaration] = elementwise(
    "muli",
    TWO_TILES,
    constraint=INT,
    section="8.8.9",
    opcode=0x4E,
    summary="Element-wise integer multiplication",
    description=(
        "Multiplies element by element and keeps the lower N bits, which are the same for signed and unsigned "
        f"numbers; `mulhii` returns the upper ones.  {_PROMISE}"
    ),
    example="%r = muli %a, %b overflow<no_wrap> : tile<4xi32>",
    returns="the lower half of the product",
    attributes=_OVERFLOW,
    modifiers="enclosed(overflow)",
)
NEGI: Final[OperationDeclaration] = elementwise(
    "negi",
    constraint=INT,
    section="8.8.10",
    opcode=0x50,
    aliases=("negsi",),
    summary="Element-wise integer negation",
    description=(
        "Negates each element in two's complement; the smallest signed number wraps to itself.  The flag "
        "`no_signed_wrap` promises that this does not happen, and a broken promise is undefined behavior; "
        "`no_unsigned_wrap` alone is refused.  The draft calls it `negsi`, which is also accepted."
    ),
    example="%r = negi %x overflow<no_signed_wrap> : tile<4xi32>",
    returns="the negated elements",
    attributes=(
        attribute("overflow", OVERFLOW_ATTRIBUTE, "which wrapping cannot happen", OVERFLOW["none"], since=V13_2),
    ),
    modifiers="enclosed(overflow)",
    verify_attributes=_verify_negation,
)
REMI: Final[OperationDeclaration] = elementwise(
    "remi",
    DIVIDED,
    constraint=INT,
    section="8.8.11",
    opcode=0x5A,
    summary="Element-wise integer remainder",
    description=(
        "Returns the remainder of the division that rounds toward zero, so that a signed remainder has the sign of the "
        "dividend.  A zero divisor is undefined behavior.  Unlike `divi` the operation counts as pure."
    ),
    example="%r = remi %a, %b signed : tile<4xi32>",
    returns="the remainder",
    cost=ElementCost(DIVISION, 13, 23, 1),
    attributes=_SIGNEDNESS,
    modifiers="keyword(signedness)",
    same_types=("result", "lhs", "rhs"),
)
SHLI: Final[OperationDeclaration] = elementwise(
    "shli",
    {"lhs": "the value", "rhs": "the number of bits to shift by"},
    constraint=INT,
    section="8.8.12",
    opcode=0x60,
    class_name="ShLI",
    summary="Element-wise left shift",
    description=(
        "Shifts each element of the left operand up by the number of bits in the right one, read as unsigned; zeros "
        f"come in from below.  A shift by the width or more has no specified result.  {_PROMISE}  The draft lets the "
        "amount have another integer type; written publicly, it is first extended or truncated to the type of the "
        "value."
    ),
    returns="the shifted value",
    attributes=_OVERFLOW,
    modifiers="enclosed(overflow)",
    trailer="shift-amount",
)
SHRI: Final[OperationDeclaration] = elementwise(
    "shri",
    {"lhs": "the value", "rhs": "the number of bits to shift by"},
    constraint=INT,
    section="8.8.13",
    opcode=0x61,
    class_name="ShRI",
    summary="Element-wise right shift",
    description=(
        "Shifts each element of the left operand down by the number of bits in the right one, read as unsigned.  "
        "`signed` fills with copies of the sign bit, `unsigned` with zeros.  A shift by the width or more has "
        "no specified result.  The draft lets the amount have another integer type, as for `shli`."
    ),
    example="%r = shri %a, %b signed : tile<4xi32>",
    returns="the shifted value",
    attributes=_SIGNEDNESS,
    modifiers="keyword(signedness)",
    trailer="shift-amount",
)
SUBI: Final[OperationDeclaration] = elementwise(
    "subi",
    TWO_TILES,
    constraint=INT,
    section="8.8.14",
    opcode=0x68,
    summary="Element-wise integer subtraction",
    description=f"Subtracts the right tile from the left one.  The difference wraps modulo 2^N.  {_PROMISE}",
    returns="the difference",
    attributes=_OVERFLOW,
    modifiers="enclosed(overflow)",
)
