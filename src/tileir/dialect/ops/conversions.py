"""Conversions between element types (the operations draft, section 8.4) and the reinterpretation of whole tiles (13.3)."""

from __future__ import annotations

from tileir.annotations import Any, Final
from tileir.dialect.constraints import (
    ANY_FLOAT,
    I8_TILE,
    I64_TILE,
    INT,
    INT_OR_I4,
    NUMBER,
    OVERFLOW_ATTRIBUTE,
    POINTER_TILE,
    ROUNDING_ATTRIBUTE,
    SIGNEDNESS_ATTRIBUTE,
    UNIT_ATTRIBUTE,
    element_of,
    element_width,
    same_rank,
    same_shape,
)
from tileir.dialect.construct import element, tile
from tileir.dialect.enums import OVERFLOW, ROUNDING
from tileir.dialect.inference import CONVERTED, Call, Inference
from tileir.dialect.types import TileType, scalar_tile, with_element
from tileir.ir.core import Operation
from tileir.ir.declaration import (
    OperationDeclaration,
    TypeConstraint,
    TypeRule,
    VerifyContext,
    attribute,
    operand,
    result,
)
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import ELEMENTWISE, PURE
from tileir.ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    FNV8E5M3FNU,
    I4,
    I8,
    I64,
    TF32,
    Type,
)
from tileir.ir.versions import V13_3, V13_4

CHAPTER: Final = "Conversions"
_SIGNEDNESS: Final = attribute("signedness", SIGNEDNESS_ATTRIBUTE, "whether the integers are signed or unsigned")
_NEAREST: Final = attribute(
    "rounding_mode", ROUNDING_ATTRIBUTE, "how an inexact value is rounded", ROUNDING["nearest_even"]
)


_NUMBER_OR_I4: Final = TypeConstraint(
    NUMBER.wording(V13_3).replace(" values", " or i4 values"),
    lambda t: NUMBER.accepts(t) or element_of(t) is I4,
    NUMBER.wording(V13_4).replace(" values", " or i4 values"),
)


def _verify_bitcast(operation: Operation, context: VerifyContext) -> None:
    source = operation.operands[0].type
    target = operation.results[0].type
    if element_width(source) != element_width(target):
        raise Invalid(
            f"types must be equal width, cannot convert '{source.text}' of width {element_width(source)} "
            f"to type '{target.text}' of width {element_width(target)}"
        )


_EXTENDS: Final = TypeRule(
    lambda op: element_width(op.results[0].type) > element_width(op.operands[0].type),
    "extending to smaller or identical integer",
)
_TRUNCATES: Final = TypeRule(
    lambda op: element_width(op.results[0].type) < element_width(op.operands[0].type),
    "truncating to larger or identical integer",
)
_CHANGES: Final = TypeRule(
    lambda op: op.results[0].type is not op.operands[0].type, "converting tiles must not be a no-op"
)

# The element types whose every value a target holds: 13.4 calls the conversion from them widening.
_EIGHT_BITS_OR_LESS: Final[tuple[Type, ...]] = (F8E4M3FN, F8E5M2, F4E2M1FN)
_WIDENED: Final[dict[Type, tuple[Type, ...]]] = {
    F16: _EIGHT_BITS_OR_LESS,
    BF16: (*_EIGHT_BITS_OR_LESS, FNV8E5M3FNU),
    TF32: (*_EIGHT_BITS_OR_LESS, FNV8E5M3FNU, F16, BF16),
    F32: (*_EIGHT_BITS_OR_LESS, FNV8E5M3FNU, F16, BF16, TF32),
    F64: (*_EIGHT_BITS_OR_LESS, FNV8E5M3FNU, F16, BF16, TF32, F32, F8E8M0FNU),
}


def _newer_ftof_modes(source: Type, target: Type) -> tuple[tuple[str, ...], str]:
    """The rounding modes of a conversion in 13.4, and the end of the diagnostic for any other."""
    if target not in _WIDENED:
        return ("nearest_even",), " for conversion to low-precision type. Only 'nearest_even' is supported"
    if source in _WIDENED[target]:
        return (
            ("nearest_even", "zero", "negative_inf", "positive_inf", "nearest_away"),
            " for widening conversion. Only IEEE float rounding modes are supported: "
            "'nearest_even', 'zero', 'negative_inf', 'positive_inf', 'nearest_away'",
        )
    if source is F32 and target is TF32:
        return (
            ("nearest_even", "zero", "nearest_away"),
            " for conversion from f32 to tf32. Only 'nearest_even', 'zero', and 'nearest_away' are supported",
        )
    if source is F64 and target is F32:
        return (
            ("nearest_even", "zero", "negative_inf", "positive_inf"),
            " for conversion from f64 to f32. "
            "Only 'nearest_even', 'zero', 'negative_inf', and 'positive_inf' are supported",
        )
    return (
        ("nearest_even", "zero"),
        ". Only 'nearest_even' and 'zero' are supported for narrowing conversions to standard types",
    )


def _verify_ftof(operation: Operation, context: VerifyContext) -> None:
    mode = operation.rounding_mode
    source = element_of(operation.operands[0].type)
    target = element_of(operation.results[0].type)
    if target is F8E8M0FNU:
        allowed: tuple[str, ...] = ("zero", "positive_inf")
        text = " for conversion to f8E8M0FNU. Only 'zero' and 'positive_inf' are supported"
    elif mode == "nearest_even":
        return
    elif context.version < V13_4 or source is None or target is None:
        allowed = ()
        text = ". Only 'nearest_even' is supported"
    else:
        allowed, text = _newer_ftof_modes(source, target)
    if mode not in allowed:
        raise Invalid(f"invalid rounding mode specified{text}")


def _verify_ftoi(operation: Operation, context: VerifyContext) -> None:
    if operation.rounding_mode != "nearest_int_to_zero":
        raise Invalid("invalid rounding mode specified. Only 'nearest_int_to_zero' is supported")


def _verify_itof(operation: Operation, context: VerifyContext) -> None:
    if element_of(operation.results[0].type) is F8E8M0FNU:
        raise Invalid("integer to f8E8M0FNU conversion is not supported, please first convert to another float type")
    if operation.rounding_mode != "nearest_even":
        raise Invalid("invalid rounding mode specified. Only 'nearest_even' is supported")


def _verify_repacking(operation: Operation, context: VerifyContext) -> None:
    source = operation.operands[0].type
    target = operation.results[0].type
    if not isinstance(source, TileType) or not isinstance(target, TileType):
        return
    if source.rank != 1:
        raise Invalid("expects source and result to be rank-1 tiles")
    if element_width(source) == element_width(target):
        raise Invalid("expects source and result to have different element type widths")
    source_bits = _tile_bits(source)
    target_bits = _tile_bits(target)
    if source_bits % 8:
        raise Invalid("expects source tile to be byte-aligned")
    if target_bits % 8:
        raise Invalid("expects result tile to be byte-aligned")
    if source_bits != target_bits:
        raise Invalid(
            "expects source and result to have the same size in bytes, but got source tile size "
            f"{source_bits // 8} bytes and result tile size {target_bits // 8} bytes"
        )


def _tile_bits(type: TileType) -> int:
    """Bits of a packed tile: tf32, 19 bits by MLIR's count, takes 32."""
    return (32 if type.element is TF32 else element_width(type)) * type.count


def _conversion(
    name: str,
    types: dict[str, TypeConstraint],
    *,
    modifiers: str = "",
    rules: tuple[TypeRule, ...] = (),
    inference: Inference = CONVERTED,
    **others: Any,
) -> OperationDeclaration:
    """Declare `name %source [modifiers] : T1 -> T2`, element by element; `types` has the operand, then the result.

    `others` go to the declaration.
    """
    source, target = types
    return OperationDeclaration(
        name,
        operands=(operand(source, types[source], "the tile to convert"),),
        results=(result(target, types[target], "the converted tile, of the same shape"),),
        traits=PURE | ELEMENTWISE,
        rules=(same_shape(source, target), *rules),
        inference=inference,
        syntax=f"${source} {modifiers} attr-dict ':' type(${source}) '->' type(${target})",
        **others,
    )


BITCAST: Final[OperationDeclaration] = _conversion(
    "bitcast",
    {"source": NUMBER, "result": NUMBER},
    section="8.4.1",
    opcode=0x09,
    summary="Reinterpret the bits of each element",
    description=(
        "Changes the type of each element to another one of the same width and keeps its bits.  Pointers are not "
        "numbers: see `ptr_to_int`, `int_to_ptr` and `ptr_to_ptr`.  The width of tf32 counts as 19, so no other type "
        "matches it.  To change the number of elements, use `pack` and `unpack`."
    ),
    example="%i = bitcast %f : tile<4xf32> -> tile<4xi32>",
    verify=_verify_bitcast,
)
EXTI: Final[OperationDeclaration] = _conversion(
    "exti",
    {"from": INT_OR_I4, "to": INT_OR_I4},
    section="8.4.2",
    opcode=0x25,
    summary="Extend integers to a greater width",
    description=(
        "Widens each element: with zeros if `unsigned`, with copies of the sign bit if `signed`.  The value is kept; "
        "the target must be strictly wider.  A signed extension makes the `i1` value true -1."
    ),
    example="%w = exti %i signed : tile<4xi32> -> tile<4xi64>",
    attributes=(_SIGNEDNESS,),
    modifiers="keyword(signedness)",
    rules=(_EXTENDS,),
)
FTOF: Final[OperationDeclaration] = _conversion(
    "ftof",
    {"from": ANY_FLOAT, "to": ANY_FLOAT},
    section="8.4.3",
    opcode=0x2A,
    class_name="FToF",
    summary="Convert between float types",
    description=(
        "Converts each element to the nearest value of another float type, ties to even.  The types must differ.  "
        "A conversion to f8E8M0FNU, which holds powers of two only, must name one of the modes `zero` and "
        "`positive_inf`.  Up to 13.3, all other conversions have only the default mode; 13.4 also accepts `zero` if "
        "a standard type is narrowed, `nearest_away` from f32 to tf32, the directed modes from f64 to f32, and any of "
        "these if the target holds every value of the source, so that nothing is rounded.  Values beyond the range of "
        "f8E4M3FN and f8E5M2, including infinities, become their largest value (docs/reference/conflicts.md C27)."
    ),
    example="%h = ftof %x : tile<4xf32> -> tile<4xf16>",
    attributes=(_NEAREST,),
    modifiers="rounding(rounding_mode, nearest_even zero negative_inf positive_inf nearest_away)",
    rules=(_CHANGES,),
    verify=_verify_ftof,
)
FTOI: Final[OperationDeclaration] = _conversion(
    "ftoi",
    {"from": ANY_FLOAT, "to": INT},
    section="8.4.4",
    opcode=0x2B,
    class_name="FToI",
    summary="Convert floats to integers",
    description=(
        "Drops the fraction of each element and returns the integer, signed or unsigned.  NaN, an infinity, or a value "
        "outside the range of the target is undefined behavior in the public dialect; with `saturating` (13.4) such "
        "a value becomes the nearest integer of the range and NaN becomes 0.  The draft always saturates and maps NaN "
        "to 0, which is also what the interpreter does (docs/reference/conflicts.md C10).  An i1 becomes true for every value "
        "that is not zero, fractions and NaN among them."
    ),
    example="%i = ftoi %x signed : tile<4xf32> -> tile<4xi32>",
    attributes=(
        _SIGNEDNESS,
        attribute(
            "rounding_mode",
            ROUNDING_ATTRIBUTE,
            "how a fraction is dropped; there is only one way",
            ROUNDING["nearest_int_to_zero"],
        ),
        attribute("saturating", UNIT_ATTRIBUTE, "clamp values outside the range, NaN to 0", optional=True, since=V13_4),
    ),
    modifiers="keyword(signedness) rounding(rounding_mode, nearest_int_to_zero) flag(saturating)",
    verify=_verify_ftoi,
)
ITOF: Final[OperationDeclaration] = _conversion(
    "itof",
    {"from": INT, "to": ANY_FLOAT},
    section="8.4.5",
    opcode=0x3B,
    class_name="IToF",
    summary="Convert integers to floats",
    description=(
        "Converts each element, read as signed or unsigned, to the nearest value of the float type, ties to even.  "
        "A value beyond the range becomes an infinity, or NaN in a type that has no infinity; f8E4M3FN and f8E5M2 "
        "saturate (docs/reference/conflicts.md C27).  There is no conversion to f8E8M0FNU: go through another float type."
    ),
    example="%f = itof %i unsigned : tile<4xi32> -> tile<4xf32>",
    attributes=(_SIGNEDNESS, _NEAREST),
    modifiers="keyword(signedness) rounding(rounding_mode, nearest_even zero negative_inf positive_inf)",
    verify=_verify_itof,
)
INT_TO_PTR: Final[OperationDeclaration] = _conversion(
    "int_to_ptr",
    {"source": I64_TILE, "result": POINTER_TILE},
    section="8.4.6",
    opcode=0x33,
    summary="Convert integers to pointers",
    description=(
        "Uses each 64-bit element, read as unsigned, as an address.  The inverse is `ptr_to_int`.  The program is "
        "responsible for accessing only valid addresses."
    ),
    example="%p = int_to_ptr %i : tile<4xi64> -> tile<4xptr<f32>>",
)
PTR_TO_INT: Final[OperationDeclaration] = _conversion(
    "ptr_to_int",
    {"source": POINTER_TILE, "result": I64_TILE},
    section="8.4.7",
    opcode=0x56,
    summary="Convert pointers to integers",
    description="Returns the address of each element as a 64-bit integer.  The inverse is `int_to_ptr`.",
    example="%i = ptr_to_int %p : tile<4xptr<f32>> -> tile<4xi64>",
    inference=Inference(lambda call: [with_element(call.tile("source"), I64)]),
)
PTR_TO_PTR: Final[OperationDeclaration] = _conversion(
    "ptr_to_ptr",
    {"source": POINTER_TILE, "result": POINTER_TILE},
    section="8.4.8",
    opcode=0x57,
    summary="Change the pointee type of pointers",
    description=(
        "Keeps each address and changes the type of what it points to.  Casts between pointers and integers have "
        "operations of their own, so that a compiler can follow where a pointer comes from."
    ),
    example="%q = ptr_to_ptr %p : tile<4xptr<f32>> -> tile<4xptr<i32>>",
)
TRUNCI: Final[OperationDeclaration] = _conversion(
    "trunci",
    {"from": INT_OR_I4, "to": INT_OR_I4},
    section="8.4.9",
    opcode=0x6B,
    summary="Truncate integers to a smaller width",
    description=(
        "Drops the upper bits of each element; the target must be strictly narrower.  `overflow` promises that nothing "
        "is lost: with `no_signed_wrap` the dropped bits all equal the top bit of the result, with `no_unsigned_wrap` "
        "they are zero.  A program that breaks the promise has undefined behavior."
    ),
    example="%n = trunci %w overflow<no_wrap> : tile<4xi64> -> tile<4xi32>",
    attributes=(attribute("overflow", OVERFLOW_ATTRIBUTE, "which loss cannot happen", OVERFLOW["none"]),),
    modifiers="enclosed(overflow)",
    rules=(_TRUNCATES,),
)


def _packed(call: Call) -> list[Type]:
    return [tile(_tile_bits(call.tile("source")) // 8, I8)]


def _unpacked(call: Call) -> list[Type]:
    requested = call.extra("type")
    if isinstance(requested, TileType):
        return [requested]
    kind = element(requested)
    return [tile(call.tile("source").count * 8 // _tile_bits(scalar_tile(kind)), kind)]


PACK: Final[OperationDeclaration] = OperationDeclaration(
    "pack",
    opcode=0x6F,
    since=V13_3,
    summary="Reinterpret a tile as bytes",
    description=(
        "Returns the bytes of a whole rank-1 tile, in memory order, as a tile of `i8`.  Elements narrower than a "
        "byte are laid side by side (an `i1` takes one bit), tf32 takes 32 bits.  Both tiles must have the same "
        "size in bytes, and the element must not be 8 bits wide: for that there is `bitcast`."
    ),
    example="%b = pack %x : tile<4xf32> -> tile<16xi8>",
    operands=(operand("source", _NUMBER_OR_I4, "the tile to take apart", since=V13_3),),
    results=(result("result", I8_TILE, "its bytes", since=V13_3),),
    traits=PURE,
    rules=(same_rank("source", "result"),),
    verify=_verify_repacking,
    inference=Inference(_packed),
    syntax="$source attr-dict ':' type($source) '->' type($result)",
)
UNPACK: Final[OperationDeclaration] = OperationDeclaration(
    "unpack",
    opcode=0x70,
    since=V13_3,
    summary="Reinterpret bytes as a tile",
    description=(
        "The inverse of `pack`: takes the bytes of a rank-1 tile of `i8`, in memory order, for the elements of "
        "another type.  Both tiles must have the same size in bytes, and the element must not be 8 bits wide."
    ),
    example="%x = unpack %b : tile<16xi8> -> tile<4xf32>",
    operands=(operand("source", I8_TILE, "the bytes", since=V13_3),),
    results=(result("result", _NUMBER_OR_I4, "the tile they make up", since=V13_3),),
    traits=PURE,
    rules=(same_rank("source", "result"),),
    verify=_verify_repacking,
    inference=Inference(_unpacked, required=("type",)),
    syntax="$source attr-dict ':' type($source) '->' type($result)",
)
