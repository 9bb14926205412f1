"""Atomics (the operations draft, section 8.10)."""

from __future__ import annotations

from tileir.annotations import Final, cast
from tileir.dialect.constraints import (
    ANY_TILE,
    I1_TILE,
    INT,
    MODE_ATTRIBUTE,
    POINTER_TILE,
    TILE_VIEW,
    inbounds,
    memory_access,
    same_shape,
    shape_of,
)
from tileir.dialect.inference import Inference, index_type, mask_of, pointed_to, tile_of_view
from tileir.dialect.rules import (
    is_word,
    optional_same_shape,
    pointee_of,
    points_to,
    value_types,
    verify_atomic_mode,
    verify_atomic_ordering,
    verify_inbounds,
    verify_no_multicast_pointer,
    verify_no_multicast_view,
    verify_ordering,
    view_of,
)
from tileir.dialect.types import GatherScatterViewType, TileType, list_text
from tileir.ir.core import Operation
from tileir.ir.declaration import (
    OPTIONAL,
    VARIADIC,
    OperationDeclaration,
    VerifyContext,
    attribute,
    operand,
    result,
    same_type,
)
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import ATOMIC, OPEN_BITS
from tileir.ir.types import Type
from tileir.ir.versions import V13_3, V13_5

CHAPTER: Final = "Atomics"
_MODE: Final = (attribute("mode", MODE_ATTRIBUTE, "how the values are combined"),)


def _value_element(operation: Operation, name: str) -> Type:
    """The element type of the value operand, which the pointers must point to."""
    value = cast(TileType, operation.operand_group(name)[0].type)
    pointee = pointee_of(operation.operands[0].type)
    if pointee is not value.element:
        raise Invalid(
            f"expected pointee type ('{pointee.text}') to match element type of '{name}' ('{value.element.text}')"
        )
    return value.element


def _verify_mask(operation: Operation, value: str, names: str) -> None:
    mask = operation.mask
    if mask is not None and shape_of(mask.type) != shape_of(operation.operand_group(value)[0].type):
        raise Invalid(f"failed to verify that all of {{{names}}} have same shape")


def _verify_compare_and_swap(operation: Operation, context: VerifyContext) -> None:
    verify_no_multicast_pointer(operation, "multicast pointer is not supported for atomic_cas")
    if not is_word(_value_element(operation, "val")):
        raise Invalid("expect only float or integer types with 32 or 64 bit")
    _verify_mask(operation, "val", "pointers, val, cmp and mask")
    verify_atomic_ordering(operation)


def _verify_read_modify_write(operation: Operation, context: VerifyContext) -> None:
    verify_no_multicast_pointer(operation, "multicast pointer is not supported for atomic_rmw")
    element = _value_element(operation, "arg")
    _verify_mask(operation, "arg", "pointers, arg, mask")
    verify_atomic_mode(operation, element)
    verify_atomic_ordering(operation)


def _verify_view_reduction(operation: Operation, context: VerifyContext) -> None:
    verify_no_multicast_view(operation)
    view = view_of(operation)
    if isinstance(view, GatherScatterViewType):
        raise Invalid("gather_scatter_view is not supported; use partition_view instead")
    if view.padding is not None:
        raise Invalid("views with padding_value are not supported for atomic reductions")
    value = cast(TileType, operation.value.type)
    if view.tile.element is not value.element:
        raise Invalid(
            f"view element type ('{view.tile.element.text}') must match value element type ('{value.element.text}')"
        )
    if view.tile.shape != value.shape:
        raise Invalid(
            f"view tile shape {list_text(view.tile.shape)} must match value shape {list_text(value.shape)} "
            "for element-wise atomic operations"
        )
    if operation.mode == "xchg":
        raise Invalid("atomic_red_view_tko op cannot use xchg operation")
    verify_atomic_mode(operation, value.element)
    if operation.memory_ordering_semantics != "relaxed":
        raise Invalid("only 'relaxed' memory ordering is supported for view-based atomic reductions")
    if operation.memory_scope == "sys":
        raise Invalid(
            "memory scope 'sys' is not supported for view-based atomic reductions; "
            "use 'tl_blk' or 'device' for TMA compatibility"
        )
    verify_inbounds(operation)
    indices = value_types(operation.index)
    rank = view.index_rank
    if len(indices) != rank:
        raise Invalid(f"expected {rank} index operand(s) for view with tile rank {rank}, got {len(indices)}")
    for position, type in enumerate(indices):
        shape = shape_of(type)
        if shape:
            raise Invalid(f"index operand {position} must be a scalar tile (rank 0), got shape {list_text(shape)}")


ATOMIC_CAS_TKO: Final[OperationDeclaration] = memory_access(
    "atomic_cas_tko",
    "operation",
    section="8.10.1",
    opcode=0x07,
    class_name="AtomicCASTko",
    summary="Atomic compare and swap through a tile of pointers",
    description=(
        "For each pointer, in one indivisible step: reads the old value, and writes `val` there if the old value "
        "equals `cmp`.  Returns the old values.  Floats are compared bit by bit, so +0.0 differs from -0.0 and a NaN "
        "equals itself only with the same bits.  Where the mask is false memory is not touched and the result is "
        "`cmp`.  Elements are 32 or 64 bits wide; the steps of different elements have no order among them.  "
        "Other memory operations are ordered by tokens only."
    ),
    example=(
        "%o, %t1 = atomic_cas_tko acq_rel device %p, %c, %v, %m token=%t : "
        "tile<4xptr<i32>>, tile<4xi32>, tile<4xi1> -> tile<4xi32>, token"
    ),
    operands=(
        operand("pointers", POINTER_TILE, "the locations"),
        operand("cmp", ANY_TILE, "the values expected there"),
        operand("val", ANY_TILE, "the values to write"),
        operand("mask", I1_TILE, "which elements take part; all when absent", OPTIONAL),
    ),
    ordering="relaxed, acquire, release or acq_rel",
    results=(result("result", ANY_TILE, "the values found"),),
    traits=ATOMIC,
    reads="pointers",
    writes="pointers",
    same_types=(("cmp", "val", "result"),),
    rules=(same_shape("pointers", "cmp", "val", "result"), same_type("cmp", "val", "result")),
    verify=_verify_compare_and_swap,
    name_hints=("result", "result_token"),
    inference=Inference(
        numbers={"cmp": pointed_to("pointers"), "val": pointed_to("pointers"), "mask": mask_of("pointers")}
    ),
    syntax=(
        "$memory_ordering_semantics $memory_scope $pointers ',' $cmp ',' $val (',' $mask)? "
        "('token' ~ '=' ~ $token)? attr-dict ':' type($pointers) ',' type($val) (',' type($mask))? "
        "'->' type($result) ',' type($result_token)"
    ),
)
ATOMIC_RMW_TKO: Final[OperationDeclaration] = memory_access(
    "atomic_rmw_tko",
    "operation",
    section="8.10.2",
    opcode=0x08,
    class_name="AtomicRMWTko",
    summary="Atomic read-modify-write through a tile of pointers",
    description=(
        "For each pointer, in one indivisible step: reads the old value, combines it with `arg` by `mode` and "
        "writes it back.  Returns the old values; where the mask is false memory is not touched and the result is "
        "unspecified.  `add` wraps, `addf` rounds to nearest even; `max` and `min` compare signed, `umax` and "
        "`umin` unsigned; `xchg` writes `arg` as it is.  Integer modes take i32 and i64, `addf` f16, bf16, f32 and f64, `xchg` any number of 32 "
        "or 64 bits.  Pointers that meet add up in some order.  Other memory operations are ordered by tokens only."
    ),
    example=(
        "%o, %t1 = atomic_rmw_tko relaxed device %p, addf, %v token=%t : "
        "tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token"
    ),
    operands=(
        operand("pointers", POINTER_TILE, "the locations"),
        operand("arg", ANY_TILE, "the values to combine"),
        operand("mask", I1_TILE, "which elements take part; all when absent", OPTIONAL),
    ),
    ordering="relaxed, acquire, release or acq_rel",
    attributes=_MODE,
    results=(result("result", ANY_TILE, "the values found"),),
    traits=ATOMIC | OPEN_BITS,
    reads="pointers",
    writes="pointers",
    same_types=(("arg", "result"),),
    rules=(same_shape("pointers", "arg", "result"), same_type("arg", "result")),
    verify=_verify_read_modify_write,
    name_hints=("result", "result_token"),
    inference=Inference(numbers={"arg": pointed_to("pointers"), "mask": mask_of("pointers")}),
    syntax=(
        "$memory_ordering_semantics $memory_scope atomic-operands (',' $mask)? "
        "('token' ~ '=' ~ $token)? attr-dict ':' type($pointers) ',' type($arg) (',' type($mask))? "
        "atomic-mode '->' type($result) ',' type($result_token)"
    ),
)
ATOMIC_LOAD_TKO: Final[OperationDeclaration] = memory_access(
    "atomic_load_tko",
    "load",
    section="8.10.3",
    since=None,
    summary="Atomic load through a tile of pointers",
    description=(
        "Reads one element per pointer, each in one indivisible step.  Where the mask is false nothing is read and "
        "the result is unspecified.  The ordering is weak, relaxed or acquire, always with a scope.  Other memory "
        "operations are ordered by tokens only."
    ),
    legalization=(
        "Becomes `load_ptr_tko` with the same ordering and scope; a weak one becomes relaxed, because a weak load "
        "takes no scope and promises no atomicity."
    ),
    example="%v, %t1 = atomic_load_tko acquire device %p token=%t : tile<4xptr<i32>> -> tile<4xi32>, token",
    operands=(
        operand("ptr", POINTER_TILE, "the locations"),
        operand("mask", I1_TILE, "which elements to read; all when absent", OPTIONAL),
    ),
    ordering="weak, relaxed or acquire",
    results=(result("result", ANY_TILE, "the elements read"),),
    traits=ATOMIC,
    reads="ptr",
    rules=(
        points_to("ptr", "result"),
        optional_same_shape("mask", "ptr", "shape of 'mask' must match the shape of 'ptr'"),
    ),
    verify=verify_ordering,
    name_hints=("result",),
    inference=Inference(lambda call: [call.pointed_to("ptr")], numbers={"mask": mask_of("ptr")}),
    syntax=(
        "$memory_ordering_semantics $memory_scope $ptr (',' $mask)? ('token' ~ '=' ~ $token)? attr-dict "
        "':' type($ptr) (',' type($mask))? '->' type($result) ',' type($result_token)"
    ),
)
ATOMIC_STORE_TKO: Final[OperationDeclaration] = memory_access(
    "atomic_store_tko",
    "store",
    section="8.10.4",
    since=None,
    summary="Atomic store through a tile of pointers",
    description=(
        "Writes one element per pointer, each in one indivisible step.  Where the mask is false nothing is "
        "written.  The ordering is weak, relaxed or release, always with a scope.  Other memory operations are "
        "ordered by tokens only."
    ),
    legalization=(
        "Becomes `store_ptr_tko` with the same ordering and scope; a weak one becomes relaxed, because a weak "
        "store takes no scope and promises no atomicity."
    ),
    example="%t1 = atomic_store_tko release device %p, %v : tile<4xptr<i32>>, tile<4xi32> -> token",
    operands=(
        operand("ptr", POINTER_TILE, "the locations"),
        operand("value", ANY_TILE, "the elements to write"),
        operand("mask", I1_TILE, "which elements to write; all when absent", OPTIONAL),
    ),
    ordering="weak, relaxed or release",
    traits=ATOMIC,
    writes="ptr",
    rules=(
        points_to("ptr", "value"),
        optional_same_shape("mask", "ptr", "shape of 'ptr' must match the shape of 'mask'"),
    ),
    verify=verify_ordering,
    inference=Inference(numbers={"value": pointed_to("ptr"), "mask": mask_of("ptr")}),
    syntax=(
        "$memory_ordering_semantics $memory_scope $ptr ',' $value (',' $mask)? ('token' ~ '=' ~ $token)? attr-dict "
        "':' type($ptr) ',' type($value) (',' type($mask))? '->' type($result_token)"
    ),
)
ATOMIC_RED_VIEW_TKO: Final[OperationDeclaration] = memory_access(
    "atomic_red_view_tko",
    "operation",
    opcode=0x75,
    since=V13_3,
    summary="Atomic reduction into a tile of a view",
    description=(
        "Combines each element of `value` with the element of the view's tile at that index, each in one "
        "indivisible step, and returns no old values.  Indices are unsigned.  Elements outside the tensor are "
        "left out.  The modes are those of `atomic_rmw_tko` except `xchg`, with the same element types; the "
        "ordering is relaxed and the scope `tl_blk` or `device`.  Partition and strided views without padding are "
        "accepted.  Other memory operations are ordered by tokens only."
    ),
    example=(
        "%t1 = atomic_red_view_tko relaxed device %v[%i, %j], addf, %x token = %t : tile<4x2xf32>, "
        "partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token"
    ),
    operands=(
        operand("view", TILE_VIEW, "the view to reduce into"),
        operand("index", INT, "which tile, one scalar per dimension", VARIADIC),
        operand("value", ANY_TILE, "the values to combine"),
    ),
    ordering="relaxed",
    scope="tl_blk or device",
    attributes=(*_MODE, inbounds(V13_5)),
    traits=ATOMIC | OPEN_BITS,
    reads="view",
    writes="view",
    verify=_verify_view_reduction,
    inference=Inference(numbers={"value": tile_of_view("view"), "index": index_type}),
    syntax="view-access",
)
