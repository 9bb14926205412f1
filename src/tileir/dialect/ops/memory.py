"""Memory (the operations draft, section 8.6): tokens, loads and stores through tiles of pointers, allocation, fences."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.attributes import HINTS_ATTRIBUTE, verify_hints
from tileir.dialect.constraints import (
    ANY_TILE,
    I1_TILE,
    INTEGER_I64_NOT_NEGATIVE,
    NUMBER,
    POINTER_TILE,
    SCALAR_POINTER,
    TOKEN_TYPE,
    UNIT_ATTRIBUTE,
    memory_access,
)
from tileir.dialect.construct import ptr, value_type
from tileir.dialect.inference import Call, Inference, mask_of, pointed_to
from tileir.dialect.rules import (
    natural_size,
    optional_same_shape,
    optional_same_type,
    pointee_of,
    points_to,
    verify_no_multicast_pointer,
    verify_ordering_and_scope,
)
from tileir.dialect.types import TOKEN, PointerType, TileType, is_power_of_two, scalar_tile
from tileir.ir.core import Operation
from tileir.ir.declaration import OPTIONAL, VARIADIC, OperationDeclaration, VerifyContext, attribute, operand, result
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import PURE, SIDE_EFFECT, TOKEN_ORDERED
from tileir.ir.types import Type
from tileir.ir.versions import V13_3, V13_4

CHAPTER: Final = "Memory"


def _verify_join(operation: Operation, context: VerifyContext) -> None:
    if len(operation.operands) < 2:
        raise Invalid("expect two or more tokens")


_HINTS: Final = (attribute("optimization_hints", HINTS_ATTRIBUTE, "hints per architecture: latency", optional=True),)


def _verify_pointer_access(operation: Operation, context: VerifyContext) -> None:
    verify_no_multicast_pointer(operation, "multicast pointer is not allowed")
    verify_hints(operation, context, "pointer")
    verify_ordering_and_scope(operation, context)


def _verify_alloca(operation: Operation, context: VerifyContext) -> None:
    alignment = operation.alignment
    if not is_power_of_two(alignment):
        raise Invalid("'alignment' must be power of two")
    element = pointee_of(operation.results[0].type)
    size = natural_size(element)
    if alignment < size:
        raise Invalid(
            f"'alignment' ({alignment}) must be at least the natural size ({size} bytes) "
            f"for element type '{element.text}'"
        )


JOIN_TOKENS: Final[OperationDeclaration] = OperationDeclaration(
    "join_tokens",
    section="8.6.1",
    opcode=0x3C,
    summary="One token that depends on several",
    description=(
        "Makes a token that comes after every input token.  A memory operation that takes it is ordered after all "
        "the operations that produced the inputs.  It does no work at run time and needs at least two inputs."
    ),
    example="%t = join_tokens %t0, %t1 : token",
    operands=(operand("tokens", TOKEN_TYPE, "the tokens to wait for, two or more", VARIADIC),),
    results=(result("result", TOKEN_TYPE, "a token after all of them"),),
    traits=PURE,
    fixed_types={"tokens": TOKEN},
    verify=_verify_join,
    syntax="$tokens attr-dict ':' type($result)",
)
LOAD_PTR_TKO: Final[OperationDeclaration] = memory_access(
    "load_ptr_tko",
    "load",
    section="8.6.2",
    opcode=0x3D,
    summary="Gather a tile from memory through a tile of pointers",
    description=(
        "Reads one element per pointer.  Where the mask is false, nothing is read and the result is the padding "
        "value, or unspecified if there is none.  An i1 takes one byte: zero reads as false, anything else as "
        "true.  Reading outside an allocation is undefined.  Program order does not order the load: only its input "
        "token does, and later operations follow it only through its result token.  The ordering is weak (no "
        "one else writes these locations at the same time; no scope), relaxed or acquire (others within the scope may)."
    ),
    example=(
        "%v, %t1 = load_ptr_tko acquire device %p, %m, %z token=%t : "
        "tile<4xptr<f32>>, tile<4xi1>, tile<4xf32> -> tile<4xf32>, token"
    ),
    operands=(
        operand("source", POINTER_TILE, "where to read each element"),
        operand("mask", I1_TILE, "which elements to read; all when absent", OPTIONAL),
        operand("paddingValue", NUMBER, "what masked elements become", OPTIONAL),
    ),
    ordering="weak, relaxed or acquire",
    attributes=_HINTS,
    results=(result("result", ANY_TILE, "the elements read"),),
    reads="source",
    rules=(
        points_to("source", "result"),
        optional_same_shape("mask", "source", "shape of 'mask' must match the shape of 'source'"),
        optional_same_type("paddingValue", "result", "type of 'paddingValue' must match the type of 'result'"),
    ),
    verify=_verify_pointer_access,
    name_hints=("result", "result_token"),
    inference=Inference(
        lambda call: [call.pointed_to("source")],
        numbers={"mask": mask_of("source"), "paddingValue": pointed_to("source")},
    ),
    syntax=(
        "$memory_ordering_semantics ($memory_scope)? $source (',' $mask)? (',' $paddingValue)? "
        "('token' ~ '=' ~ $token)? hints attr-dict ':' type($source) (',' type($mask))? "
        "(',' type($paddingValue))? load-operands '->' type($result) ',' type($result_token)"
    ),
)
MAKE_TOKEN: Final[OperationDeclaration] = OperationDeclaration(
    "make_token",
    section="8.6.3",
    opcode=0x44,
    summary="A token that depends on nothing",
    description=(
        "Starts a chain of ordered memory operations.  Operations that take this token are not ordered after "
        "anything by it."
    ),
    example="%t = make_token : token",
    results=(result("result", TOKEN_TYPE, "the new token"),),
    traits=PURE,
    syntax="attr-dict ':' type($result)",
)
STORE_PTR_TKO: Final[OperationDeclaration] = memory_access(
    "store_ptr_tko",
    "store",
    section="8.6.4",
    opcode=0x65,
    summary="Scatter a tile to memory through a tile of pointers",
    description=(
        "Writes one element per pointer.  Where the mask is false nothing is written.  An i1 is written as a byte, 0 "
        "or 1.  Writing outside an allocation is undefined; if two elements go to the same address, it is unspecified "
        "which one stays.  Program order does not order the store: only tokens do.  The ordering is weak (no one else "
        "accesses these locations at the same time; no scope), relaxed or release (others within the scope may)."
    ),
    example="%t1 = store_ptr_tko release sys %p, %v, %m token=%t : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> token",
    operands=(
        operand("destination", POINTER_TILE, "where to write each element"),
        operand("value", ANY_TILE, "the elements to write"),
        operand("mask", I1_TILE, "which elements to write; all when absent", OPTIONAL),
    ),
    ordering="weak, relaxed or release",
    attributes=_HINTS,
    writes="destination",
    rules=(
        points_to("destination", "value"),
        optional_same_shape("mask", "destination", "shape of 'destination' must match the shape of 'mask'"),
    ),
    verify=_verify_pointer_access,
    inference=Inference(numbers={"value": pointed_to("destination"), "mask": mask_of("destination")}),
    syntax=(
        "$memory_ordering_semantics ($memory_scope)? $destination ',' $value (',' $mask)? "
        "('token' ~ '=' ~ $token)? hints attr-dict ':' type($destination) ',' type($value) (',' type($mask))? "
        "'->' type($result_token)"
    ),
)


def _allocated(call: Call) -> list[Type]:
    """A pointer: `type` is what it points to, or the pointer type."""
    requested = call.extra("type")
    if isinstance(requested, (TileType, PointerType)):
        return [value_type(requested)]
    return [scalar_tile(ptr(requested))]


ALLOCA: Final[OperationDeclaration] = OperationDeclaration(
    "alloca",
    opcode=0x71,
    since=V13_3,
    summary="Memory that lives as long as its block",
    description=(
        "Reserves memory for `num_elem` elements and returns a pointer to the first, aligned to `alignment` bytes.  "
        "The memory is freed at the end of the enclosing block; using the pointer later is undefined.  Without "
        "`global` only the current tile thread may use it.  The contents are undefined at first; a kernel that "
        "requests more than is available traps.  The alignment is a power of two and at least the size of an element."
    ),
    example="%p = alloca num_elem = 16, alignment = 64 global : tile<ptr<f32>>",
    attributes=(
        attribute("num_elem", INTEGER_I64_NOT_NEGATIVE, "how many elements"),
        attribute("alignment", INTEGER_I64_NOT_NEGATIVE, "alignment in bytes"),
        attribute("global", UNIT_ATTRIBUTE, "other tile threads may use the address", optional=True),
    ),
    results=(result("result", SCALAR_POINTER, "a pointer to the first element"),),
    traits=SIDE_EFFECT,
    verify=_verify_alloca,
    inference=Inference(_allocated, required=("type",)),
    syntax=("'num_elem' '=' $num_elem ',' 'alignment' '=' $alignment flag(global) attr-dict ':' type($result)"),
)
MEMORY_FENCE_ALIAS_TKO: Final[OperationDeclaration] = OperationDeclaration(
    "memory_fence_alias_tko",
    opcode=0x7A,
    since=V13_4,
    summary="Order accesses that reach the same memory by different ways",
    description=(
        "Stands between memory operations that may reach the same memory under different addresses: those before "
        "the input token are done before those after the result token.  Only its encoding is public; this reading "
        "of its name is the toolkit's, and at least as strong as any other ordering by tokens."
    ),
    example="%t1 = memory_fence_alias_tko %t",
    operands=(operand("token", TOKEN_TYPE, "what the fence comes after"),),
    results=(result("result_token", TOKEN_TYPE, "for what must come after the fence"),),
    traits=TOKEN_ORDERED,
    fixed_types={"token": TOKEN, "result_token": TOKEN},
    syntax="$token attr-dict",
)
GDC_LAUNCH_DEPENDENTS_TKO: Final[OperationDeclaration] = OperationDeclaration(
    "gdc_launch_dependents_tko",
    opcode=0x77,
    since=V13_4,
    summary="Let the grids that depend on this one start",
    description=(
        "Signals that grids launched to overlap with this one may begin (grid dependency control, sm_90 and "
        "newer).  They start once every tile block of this grid has signaled or ended.  It promises nothing about "
        "memory: a dependent grid that reads what this one writes waits with `gdc_wait_tko`."
    ),
    example="%t1 = gdc_launch_dependents_tko token = %t -> token",
    operands=(operand("token", TOKEN_TYPE, "what the signal comes after", OPTIONAL),),
    results=(result("result_token", TOKEN_TYPE, "for what must come after the signal"),),
    traits=TOKEN_ORDERED,
    fixed_types={"token": TOKEN},
    syntax="('token' '=' $token)? attr-dict '->' type($result_token)",
)
GDC_WAIT_TKO: Final[OperationDeclaration] = OperationDeclaration(
    "gdc_wait_tko",
    opcode=0x78,
    since=V13_4,
    summary="Wait for the grids this one depends on",
    description=(
        "Waits until the grids before this one have ended and their writes can be seen (grid dependency control, sm_90 "
        "and newer).  Accesses to what they wrote take the result token.  Without such a grid it does nothing."
    ),
    example="%t1 = gdc_wait_tko -> token",
    operands=(operand("token", TOKEN_TYPE, "what the wait comes after", OPTIONAL),),
    results=(result("result_token", TOKEN_TYPE, "for what must come after the wait"),),
    traits=TOKEN_ORDERED,
    fixed_types={"token": TOKEN},
    syntax="('token' '=' $token)? attr-dict '->' type($result_token)",
)
