"""Assumptions, printing, barriers and casts (the operations draft, section 8.12)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.attributes import PREDICATE_ATTRIBUTE, BoundedAttribute, DivByAttribute, SameElementsAttribute
from tileir.dialect.constraints import ANY_TILE, ANY_TYPE, I1_TILE, STRING, TOKEN_TYPE, enum_attribute
from tileir.dialect.enums import BARRIER_SCOPE
from tileir.dialect.inference import GIVEN_TYPES, Inference
from tileir.dialect.types import TOKEN, PointerType, TensorViewType, TileType, is_power_of_two, scalar_tile
from tileir.ir.core import Operation
from tileir.ir.declaration import OPTIONAL, VARIADIC, OperationDeclaration, VerifyContext, attribute, operand, result
from tileir.ir.dense import element_bytes
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import BLOCK_ORDER, PURE, SEGMENTS, TOKEN_ORDERED
from tileir.ir.types import I1, TF32, IntegerType, Type
from tileir.ir.versions import V13_2

CHAPTER: Final = "Miscellaneous"

# The largest divisor, so that multiples of it can be reckoned with in 64 bits (the types draft, "DivByAttr Verifier").
_LARGEST_DIVISOR: Final = 1 << 62


def _holds_integers_or_pointers(type: TileType) -> bool:
    return isinstance(type.element, (IntegerType, PointerType))


def _verify_div_by(predicate: DivByAttribute, type: Type) -> None:
    """The types draft, "DivByAttr Verifier", in the public order of checks (docs/reference/conflicts.md C4, C5)."""
    name = f"'{predicate.name}'"
    every = predicate.every
    along = predicate.along
    if not is_power_of_two(predicate.divisor):
        raise Invalid(f"{name} divisor must be a power of 2")
    if (every is None) != (along is None):
        raise Invalid(f"{name} 'every'/'along' must be used in combination")
    if predicate.divisor > _LARGEST_DIVISOR:
        raise Invalid(f"{name} divisor is too large")
    if isinstance(type, TensorViewType):
        if every is not None:
            raise Invalid(f"{name} 'every'/'along' cannot be used if the constrained value is a tensor_view")
        return
    if not isinstance(type, TileType):
        raise Invalid(f"{name} is valid only for tile of integer/pointer or tensor_view values")
    if not type.shape and every is not None:
        raise Invalid(f"{name} 'every'/'along' cannot be used if the constrained value is a 0D tile")
    if not _holds_integers_or_pointers(type):
        raise Invalid(f"{name} is valid only for tile of integer/pointer or tensor_view values")
    if every is None or along is None:
        return
    if not 0 <= along < type.rank:
        raise Invalid(f"{name} every_dim ({along}) must be >= 0 and < tile rank ({type.rank})")
    if not 0 <= every <= type.shape[along]:
        raise Invalid(
            f"expected {name} every_dim to be within 0 and the size of the respective dimension ({type.shape[along]})"
        )


def _warn_about_pointee(predicate: DivByAttribute, operation: Operation, context: VerifyContext) -> None:
    """The types draft refuses an alignment below the pointee's own; public tools take it (docs/reference/conflicts.md C4)."""
    type = operation.operands[0].type
    if not isinstance(type, TileType) or not isinstance(type.element, PointerType):
        return
    pointee = type.element.pointee
    size = 4 if pointee is TF32 else element_bytes(pointee)
    if predicate.divisor % size:
        context.warn(
            operation,
            f"'{predicate.name}' divisor ({predicate.divisor}) is not a multiple of the pointee size ({size} bytes)",
        )


def _verify_bounded(predicate: BoundedAttribute, type: Type) -> None:
    """The types draft, "BoundedAttr Verifier"; `strict` changes what is promised, not what is checked."""
    name = f"'{predicate.name}'"
    element = type.element if isinstance(type, TileType) else None
    if not isinstance(element, IntegerType):
        raise Invalid(f"{name} is valid only for tile of integer values")
    least = -(1 << (element.width - 1))
    most = -least - 1
    lower = predicate.lower
    upper = predicate.upper
    if lower is not None and not least <= lower <= most:
        raise Invalid(f"{name} expects lower bound to be within [{least}, {most}]")
    if upper is not None and not least <= upper <= most:
        raise Invalid(f"{name} expects upper bound to be within [{least}, {most}]")
    if lower is not None and upper is not None and lower > upper:
        raise Invalid(f"{name} expects lower bound to be less than or equal to upper bound")


def _verify_same_elements(predicate: SameElementsAttribute, type: Type) -> None:
    """The types draft, "SameElementsAttr Verifier", with the public meaning: a group extent per dimension (C3)."""
    name = f"'{predicate.name}'"
    if not isinstance(type, TileType) or not _holds_integers_or_pointers(type):
        raise Invalid(f"{name} is valid only for tile of integer/pointer values")
    values = predicate.values
    if len(values) != type.rank:
        raise Invalid(
            f"expected number of values in {name} ({len(values)}) to match rank of constrained tile ({type.rank})"
        )
    for axis, value in enumerate(values):
        if not 0 <= value <= type.shape[axis]:
            raise Invalid(
                f"expected {name} value {axis} to be within 0 and the size of the respective dimension "
                f"({type.shape[axis]})"
            )


def _verify_assume(operation: Operation, context: VerifyContext) -> None:
    predicate = operation.attributes.get("predicate")
    type = operation.operands[0].type
    if isinstance(predicate, DivByAttribute):
        _verify_div_by(predicate, type)
        _warn_about_pointee(predicate, operation, context)
    elif isinstance(predicate, BoundedAttribute):
        _verify_bounded(predicate, type)
    elif isinstance(predicate, SameElementsAttribute):
        _verify_same_elements(predicate, type)


ASSUME: Final[OperationDeclaration] = OperationDeclaration(
    "assume",
    section="8.12.3",
    opcode=0x06,
    summary="Promise a fact about a value",
    description=(
        "Returns the value, with a fact that the compiler may rely on; a promise that does not hold is "
        "undefined behavior.  `div_by<D>` states that every integer or pointer is a multiple of D; with `every E "
        "along A` only the first of each group of E along dimension A is, and the others count up from it.  "
        "`bounded<L, U>` has signed inclusive bounds, `?` for none.  `same_elements<[G0, ..]>` states that the "
        "tile consists of blocks of that shape with one value each."
    ),
    example="%r = assume div_by<16>, %p : tile<ptr<f32>>",
    operands=(operand("value", ANY_TYPE, "the value the fact is about"),),
    attributes=(attribute("predicate", PREDICATE_ATTRIBUTE, "the fact"),),
    results=(result("result", ANY_TYPE, "the same value"),),
    same_types=(("value", "result"),),
    computes_names=True,
    verify=_verify_assume,
    syntax="assume",
)
ASSUME_COND: Final[OperationDeclaration] = OperationDeclaration(
    "assume_cond",
    section="8.12.3",
    since=None,
    summary="Promise that a condition holds",
    description=(
        "The draft's form of `assume`, read from `assume %cond : tile<i1>`: promises that every element of the "
        "condition is true.  A promise that does not hold is undefined behavior."
    ),
    example="assume_cond %c : tile<i1>",
    operands=(operand("condition", I1_TILE, "what is promised"),),
    legalization=(
        "A comparison with a constant becomes `assume bounded<..>` or `assume div_by<..>` on the compared value; "
        "any other condition is dropped, which is always sound."
    ),
    inference=Inference(numbers={"condition": lambda call: scalar_tile(I1)}),
    syntax="$condition attr-dict ':' type($condition)",
)

# A NUL ends an expression as well: NVIDIA's verifier searches for the letter in a C string, whose end counts.
_CONVERSIONS: Final = "diuoxXeEfFgGaAcsSpn%\0"


def _verify_print(operation: Operation, context: VerifyContext) -> None:
    text = operation.str_
    expected = 0
    position = text.find("%")
    while position >= 0:
        end = position + 1
        while end < len(text) and text[end] not in _CONVERSIONS:
            end += 1
        if end == len(text):
            raise Invalid("found unterminated format expression")
        if end == position + 1 and text[end] == "%":
            # `%%` is a percent sign.
            position = text.find("%", end + 1)
        else:
            expected += 1
            # The scan goes on inside the expression, so a `%` that ends one starts the next.
            position = text.find("%", position + 1)
    found = len(operation.args)
    if expected != found:
        raise Invalid(f"incorrect number of operands: expected {expected}, found {found}")


PRINT_TKO: Final[OperationDeclaration] = OperationDeclaration(
    "print_tko",
    section="8.12.2",
    opcode=0x55,
    aliases=("print",),
    summary="Print a formatted text, ordered by tokens",
    description=(
        "Prints the text once per tile block, with each conversion (`%d`, `%f`, ..) replaced by the next argument, "
        "a whole tile; `%%` is a percent sign.  Output of different tile blocks may interleave.  The token orders "
        "it against other token-ordered operations; token and result token came with 13.2, before that the "
        "operation was spelled `print`.  For debugging: it is slow."
    ),
    example='%t = print_tko "x = %d\\0A", %x : tile<4xi32> -> token',
    operands=(
        operand("args", ANY_TILE, "the tiles to print", VARIADIC),
        operand("token", TOKEN_TYPE, "what happens before", OPTIONAL, since=V13_2),
    ),
    attributes=(attribute("str", STRING, "the text with its conversions"),),
    results=(result("result_token", TOKEN_TYPE, "what comes after waits for this", since=V13_2),),
    traits=TOKEN_ORDERED | BLOCK_ORDER | SEGMENTS,
    fixed_types={"token": TOKEN, "result_token": TOKEN},
    verify=_verify_print,
    syntax="print-arguments",
)
BARRIER: Final[OperationDeclaration] = OperationDeclaration(
    "barrier",
    section="8.12.4",
    since=None,
    summary="Wait for the threads of a scope",
    description=(
        "A point that every thread of the scope reaches before any goes on, and that orders their memory accesses. "
        " All threads of the scope must execute it, or the behavior is undefined."
    ),
    example="%t1 = barrier block token=%t0 -> token",
    operands=(operand("token", TOKEN_TYPE, "what happens before", OPTIONAL),),
    attributes=(
        attribute("scope", enum_attribute(BARRIER_SCOPE, "barrier scope"), "who waits: warp, block or cluster"),
    ),
    results=(result("result_token", TOKEN_TYPE, "what comes after waits for this"),),
    traits=TOKEN_ORDERED | BLOCK_ORDER,
    fixed_types={"token": TOKEN, "result_token": TOKEN},
    legalization=(
        "A tile block is one logical thread, so the barrier orders nothing that its token does not: the result "
        "becomes the input token, or a new one where there is none.  The scope `cluster` has no public "
        "counterpart and is reported."
    ),
    syntax="$scope ('token' ~ '=' ~ $token)? attr-dict '->' type($result_token)",
)
UNREALIZED_CONVERSION_CAST: Final[OperationDeclaration] = OperationDeclaration(
    "unrealized_conversion_cast",
    section="8.12.1",
    since=None,
    summary="A placeholder for a conversion",
    description=(
        "Stands between values of different types while a program is being converted.  It computes nothing and "
        "must be gone before the program is written or run."
    ),
    example="%r = unrealized_conversion_cast %x : tile<4xi32> to tile<4xi32>",
    operands=(operand("inputs", ANY_TYPE, "the values as they are", VARIADIC),),
    results=(result("outputs", ANY_TYPE, "the values as they are needed", VARIADIC),),
    traits=PURE,
    legalization=(
        "A cast to the same types is dropped, and so is a cast there and back; one that remains is an error."
    ),
    inference=GIVEN_TYPES,
    syntax="$inputs cast-types attr-dict",
)
