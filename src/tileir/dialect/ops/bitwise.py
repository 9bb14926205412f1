"""Bitwise operations on integer tiles (the operations draft, section 8.9).

The public dialect has the first three only; the others are legalized into them, shifts and arithmetic.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import INT, INT_NOT_I1, TWO_TILES, elementwise
from tileir.ir.declaration import OperationDeclaration

CHAPTER: Final = "Bitwise"

ANDI: Final[OperationDeclaration] = elementwise(
    "andi",
    TWO_TILES,
    constraint=INT,
    section="8.9.1",
    opcode=0x04,
    summary="Element-wise bitwise AND",
    description="A bit of the result is 1 where it is 1 in both operands.  On `i1` this is the logical and.",
    returns="the bits set in both operands",
)
ORI: Final[OperationDeclaration] = elementwise(
    "ori",
    TWO_TILES,
    constraint=INT,
    section="8.9.2",
    opcode=0x52,
    summary="Element-wise bitwise OR",
    description="A bit of the result is 1 where it is 1 in at least one operand.  On `i1` this is the logical or.",
    returns="the bits set in either operand",
)
XORI: Final[OperationDeclaration] = elementwise(
    "xori",
    TWO_TILES,
    constraint=INT,
    section="8.9.3",
    opcode=0x6C,
    class_name="XOrI",
    summary="Element-wise bitwise exclusive OR",
    description=(
        "A bit of the result is 1 where the operands differ.  With a constant of all ones it is the bitwise "
        "complement, with `true` on `i1` the logical not."
    ),
    returns="the bits in which the operands differ",
)
NOTI: Final[OperationDeclaration] = elementwise(
    "noti",
    constraint=INT,
    section="8.9.4",
    since=None,
    summary="Element-wise bitwise complement",
    description="Flips every bit of every element.  On `i1` this is the logical not.",
    returns="the complement",
    legalization="`xori` with a constant of all ones, `true` for `i1`.",
)
POPCNT: Final[OperationDeclaration] = elementwise(
    "popcnt",
    constraint=INT_NOT_I1,
    section="8.9.5",
    since=None,
    summary="Element-wise count of set bits",
    description="Counts the bits that are 1 in each element.  The count has the element type of the input.",
    returns="the number of set bits",
    legalization=(
        "Adds neighboring fields of 1, 2 and 4 bits with unsigned `shri`, `andi`, `subi` and `addi`, then sums the "
        "bytes with a `muli` by 0x0101.. and an unsigned `shri` by the width less 8 (not needed for `i8`)."
    ),
)
CLZ: Final[OperationDeclaration] = elementwise(
    "clz",
    constraint=INT_NOT_I1,
    section="8.9.6",
    since=None,
    summary="Element-wise count of leading zeros",
    description=(
        "Counts the zero bits above the highest bit that is 1.  The draft leaves the count for 0 open; here it is the "
        "width of the element type."
    ),
    returns="the number of leading zeros",
    legalization=(
        "Copies the highest set bit into every bit below it with `ori` and unsigned `shri` by 1, 2, 4 and so on, then "
        "counts the bits of the complement as for `popcnt`."
    ),
)
CTZ: Final[OperationDeclaration] = elementwise(
    "ctz",
    constraint=INT_NOT_I1,
    section="8.9.7",
    since=None,
    summary="Element-wise count of trailing zeros",
    description=(
        "Counts the zero bits below the lowest bit that is 1.  The draft leaves the count for 0 open; here it is the "
        "width of the element type."
    ),
    returns="the number of trailing zeros",
    legalization="Counts the bits of `andi` of the complement and of the input less 1, as for `popcnt`.",
)
BREV: Final[OperationDeclaration] = elementwise(
    "brev",
    constraint=INT_NOT_I1,
    section="8.9.8",
    since=None,
    summary="Element-wise bit reversal",
    description="Reverses the order of the bits of each element: the lowest bit becomes the highest.",
    returns="the reversed bits",
    legalization=(
        "Swaps neighboring fields of 1, 2, 4 and more bits, one step per power of two below the width, with masks: "
        "unsigned `shri`, `shli`, `andi`, `ori`."
    ),
)
