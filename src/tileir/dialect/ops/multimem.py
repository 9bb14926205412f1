"""Access to the memory of several devices at once, through multicast pointers (13.5, not released)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.constraints import ANY_TILE, INT, MULTIMEM_ATTRIBUTE, TILE_VIEW, inbounds, memory_access
from tileir.dialect.inference import Inference, index_type, tile_of_view
from tileir.dialect.rules import verify_ordering_and_scope, verify_tile_of_view, view_of
from tileir.dialect.types import PartitionViewType
from tileir.ir.core import Operation
from tileir.ir.declaration import VARIADIC, OperationDeclaration, VerifyContext, attribute, operand, result
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import ATOMIC, OPEN_BITS
from tileir.ir.types import BF16, F16, F32, F64, I32, I64, FloatType, Type
from tileir.ir.versions import V13_5

CHAPTER: Final = "Views"
_REDUCTION: Final = attribute("reduction", MULTIMEM_ATTRIBUTE, "how the values of the devices are combined")
_NEEDS: Final = (
    "  The view is a partition view over a multicast pointer, of i32, i64, f16, bf16, f32 or f64.  Indices and `inbounds` "
    "are those of `load_view_tko`."
)


def _verify_element(operation: Operation, element: Type, shape: tuple[int, ...]) -> None:
    if not isinstance(element, FloatType):
        if element is not I32 and element is not I64:
            raise Invalid(f"multimem requires 32- or 64-bit integer/index element types; got '{element.text}'")
        return
    if element not in (F16, BF16, F32, F64):
        raise Invalid("multimem supports only f16, bf16, f32, and f64 floating-point element types")
    count = 1
    for extent in shape:
        count *= extent
    if count * element.width % 32:
        raise Invalid(
            "multimem op requires tile total size to be a multiple of 4 bytes for float element types; "
            f"got {count} element(s) of {element.width} bits (total {count * element.width} bits)"
        )
    if "reduction" in operation.attributes:
        _verify_reduction_of_floats(operation, element)


def _verify_reduction_of_floats(operation: Operation, element: Type) -> None:
    reduction = operation.reduction
    if reduction in ("and", "or", "xor", "umin", "umax"):
        raise Invalid("and/or/xor/umin/umax reductions require integer element types")
    if reduction != "add" and operation.declaration.writes is not None:
        raise Invalid("supports only add for floating-point element types")
    if reduction != "add" and element not in (F16, BF16):
        raise Invalid(f"min/max supports f16 and bf16 float types only; got '{element.text}'")


def _verify(operation: Operation) -> None:
    view = view_of(operation)
    if not isinstance(view, PartitionViewType):
        raise Invalid(f"multimem view operations support only partition_view; got '{view.text}'")
    tensor = view.tensor
    if tensor.attribute != "multicast":
        raise Invalid(f"requires multicast ptr_attr, got {tensor.attribute or 'none'}")
    tile = (operation.results[0] if operation.declaration.writes is None else operation.tile).type
    verify_tile_of_view(operation, tile)
    _verify_element(operation, tensor.element, view.tile.shape)
    if tensor.element in (F16, BF16) and tensor.strides.count(1) != 1:
        raise Invalid(
            "f16/bf16 multimem views must have exactly one element stride statically known to equal 1; "
            f"got '{tensor.text}'"
        )


def _verify_load_or_store(operation: Operation, context: VerifyContext) -> None:
    _verify(operation)
    verify_ordering_and_scope(operation, context)


def _verify_reduction(operation: Operation, context: VerifyContext) -> None:
    _verify(operation)
    if operation.memory_ordering_semantics not in ("relaxed", "release"):
        raise Invalid("memory ordering semantics must be one of: relaxed, release")


_VIEW: Final = operand("view", TILE_VIEW, "the view of the multicast memory")
_INDEX: Final = operand("index", INT, "which tile, one scalar per dimension", VARIADIC)

MULTIMEM_LOAD_REDUCE_VIEW_TKO: Final[OperationDeclaration] = memory_access(
    "multimem_load_reduce_view_tko",
    "load",
    opcode=0x7B,
    since=V13_5,
    summary="Combine the tiles that several devices hold",
    description=(
        "Reads the tile at an index from every device behind a multicast pointer and combines the elements that "
        "belong together: `add`, `min`, `max`, `and`, `or`, `xor`, `umin` or `umax`.  Floats have `add`, and f16 and "
        "bf16 also `min` and `max`.  In what order and precision floats are added is open; the interpreter adds in the "
        "order of the devices, f16 and bf16 in f32, and prefers numbers to NaNs." + _NEEDS
    ),
    example=(
        "%x, %t1 = multimem_load_reduce_view_tko relaxed sys %v[%i, %j], add token = %t : "
        "partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<4x2xf32>, token"
    ),
    operands=(_VIEW, _INDEX),
    ordering="weak, relaxed or acquire",
    attributes=(_REDUCTION, inbounds(V13_5)),
    results=(result("tile", ANY_TILE, "the combined tile"),),
    traits=OPEN_BITS,
    reads="view",
    verify=_verify_load_or_store,
    name_hints=("tile", "result_token"),
    inference=Inference(lambda call: [call.view("view").tile], numbers={"index": index_type}),
    syntax="view-access",
)
MULTIMEM_REDUCE_VIEW_TKO: Final[OperationDeclaration] = memory_access(
    "multimem_reduce_view_tko",
    "reduction",
    opcode=0x7C,
    since=V13_5,
    summary="Combine a tile with the tiles of several devices",
    description=(
        "Combines each element of `tile` with the element of the view's tile at that index on every device behind a "
        "multicast pointer, on each in one indivisible step, and returns no old values.  The reductions are those of "
        "`multimem_load_reduce_view_tko`, of floats only `add`." + _NEEDS
    ),
    example=(
        "%t1 = multimem_reduce_view_tko relaxed sys %v[%i, %j], add, %x token = %t : tile<4x2xf32>, "
        "partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> token"
    ),
    operands=(_VIEW, operand("tile", ANY_TILE, "the values to combine"), _INDEX),
    ordering="relaxed or release",
    attributes=(_REDUCTION, inbounds(V13_5)),
    traits=ATOMIC | OPEN_BITS,
    reads="view",
    writes="view",
    verify=_verify_reduction,
    inference=Inference(numbers={"tile": tile_of_view("view"), "index": index_type}),
    syntax="view-access",
)
MULTIMEM_STORE_VIEW_TKO: Final[OperationDeclaration] = memory_access(
    "multimem_store_view_tko",
    "store",
    opcode=0x7D,
    since=V13_5,
    summary="Store a tile on several devices",
    description=(
        "Writes a tile at an index of the view's index space on every device behind a multicast pointer." + _NEEDS
    ),
    example=(
        "%t1 = multimem_store_view_tko weak %x, %v[%i, %j] token = %t : tile<4x2xf32>, "
        "partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> token"
    ),
    operands=(_VIEW, operand("tile", ANY_TILE, "the tile to write"), _INDEX),
    ordering="weak, relaxed or release",
    attributes=(inbounds(V13_5),),
    writes="view",
    verify=_verify_load_or_store,
    inference=Inference(numbers={"tile": tile_of_view("view"), "index": index_type}),
    syntax="view-access",
)
