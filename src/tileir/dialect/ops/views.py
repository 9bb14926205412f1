"""Views (the operations draft, section 8.11): tensor views over memory, tile views over tensor views, access through them."""

from __future__ import annotations

from tileir.annotations import Callable, Final, cast
from tileir.dialect.attributes import HINTS_ATTRIBUTE
from tileir.dialect.constraints import (
    ANY_TILE,
    INT,
    SCALAR_INT,
    SCALAR_POINTER,
    TENSOR_VIEW,
    TILE_VIEW,
    inbounds,
    memory_access,
)
from tileir.dialect.construct import described, gather_scatter_view, partition_view, strided_view, tensor_view
from tileir.dialect.inference import Call, Inference, index_type, scalar_sizes, tile_of_view
from tileir.dialect.rules import verify_view_access, verify_view_source
from tileir.dialect.types import (
    DYNAMIC,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
)
from tileir.ir.core import Operation
from tileir.ir.declaration import (
    VARIADIC,
    OperationDeclaration,
    TypeConstraint,
    VerifyContext,
    attribute,
    operand,
    result,
)
from tileir.ir.diagnostics import Invalid
from tileir.ir.traits import NO_MEMORY_EFFECT, PURE, SEGMENTS
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.ir.versions import V13_3, V13_4

CHAPTER: Final = "Views"
_ACCESS: Final = (
    attribute("optimization_hints", HINTS_ATTRIBUTE, "hints per architecture: allow_tma, latency", optional=True),
    inbounds(V13_4),
)

PARTITION_VIEW: Final = TypeConstraint("partition view type", lambda t: isinstance(t, PartitionViewType))
STRIDED_VIEW: Final = TypeConstraint("strided view type", lambda t: isinstance(t, StridedViewType))
GATHER_SCATTER_VIEW: Final = TypeConstraint("gather/scatter view type", lambda t: isinstance(t, GatherScatterViewType))


def _verify_index_space_shape(operation: Operation, context: VerifyContext) -> None:
    rank = cast(TileViewType, operation.operands[0].type).index_rank
    if len(operation.results) != rank:
        raise Invalid(f"expected {rank} results due to view index space rank, but got {len(operation.results)}")


def _verify_tensor_shape(operation: Operation, context: VerifyContext) -> None:
    rank = cast(TensorViewType, operation.operands[0].type).rank
    if len(operation.results) != rank:
        raise Invalid(f"expected {rank} results due to tensor rank, but got {len(operation.results)}")


def _verify_pointer_attribute(base: PointerType, view: TensorViewType) -> None:
    """A tensor view carries the pointer attribute of its base, no more and no less (13.4, docs/reference/conflicts.md D1)."""
    if base.attribute == view.attribute:
        return
    if base.attribute is None:
        raise Invalid("pointer base without ptr_attr cannot produce tensor_view with ptr_attr")
    raise Invalid(f"tensor_view must preserve ptr_attr from base pointer (#cuda_tile.ptr_attr<{base.attribute}>)")


def _verify_one_type(values: list[Value], noun: str, expected: Type) -> None:
    for position, value in enumerate(values):
        if value.type is not expected:
            raise Invalid(
                f"expected dynamic {noun} index {position} to be of the same type as the other dynamic values "
                f"('{expected.text}'), got '{value.type.text}'"
            )


def _verify_make_tensor_view(operation: Operation, context: VerifyContext) -> None:
    base = cast(PointerType, cast(TileType, operation.operands[0].type).element)
    view = cast(TensorViewType, operation.results[0].type)
    if base.pointee is not view.element:
        raise Invalid(
            f"expected pointer to '{view.element.text}' to build tensor_view of this type, got '{base.pointee.text}'"
        )
    _verify_pointer_attribute(base, view)
    shape = operation.dynamic_shape
    strides = operation.dynamic_strides
    if view.shape.count(DYNAMIC) != len(shape):
        raise Invalid(f"expected {view.shape.count(DYNAMIC)} dynamic shape operands, got {len(shape)}")
    if view.strides.count(DYNAMIC) != len(strides):
        raise Invalid(f"expected {view.strides.count(DYNAMIC)} dynamic stride operands, got {len(strides)}")
    dynamic = shape + strides
    if dynamic:
        _verify_one_type(shape, "shape", dynamic[0].type)
        _verify_one_type(strides, "stride", dynamic[0].type)


GET_INDEX_SPACE_SHAPE: Final[OperationDeclaration] = OperationDeclaration(
    "get_index_space_shape",
    section="8.11.1",
    opcode=0x2D,
    summary="How many tiles a view has along each dimension",
    description=(
        "Returns one unsigned integer per dimension of the view's index space: the number of tiles, the last of "
        "which may extend past the edge of the tensor.  If a number does not fit in the result type the behavior "
        "is undefined."
    ),
    example=(
        "%n:2 = get_index_space_shape %v : partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>> -> tile<i32>"
    ),
    operands=(operand("src", TILE_VIEW, "the view"),),
    results=(result("result", SCALAR_INT, "the number of tiles along each dimension", VARIADIC),),
    traits=NO_MEMORY_EFFECT,
    verify=_verify_index_space_shape,
    inference=Inference(lambda call: scalar_sizes(call, call.view("src").index_rank), optional=("type",)),
    syntax="shape-query",
)
GET_TENSOR_SHAPE: Final[OperationDeclaration] = OperationDeclaration(
    "get_tensor_shape",
    section="8.11.2",
    opcode=0x2F,
    summary="The shape of a tensor view",
    description=(
        "Returns one unsigned integer per dimension of the tensor, static or dynamic.  If an extent does not "
        "fit in the result type the behavior is undefined."
    ),
    example="%n:2 = get_tensor_shape %tv : tensor_view<?x64xf32, strides=[64,1]> -> tile<i32>",
    operands=(operand("src", TENSOR_VIEW, "the tensor view"),),
    results=(result("result", SCALAR_INT, "the extent of each dimension", VARIADIC),),
    traits=NO_MEMORY_EFFECT,
    verify=_verify_tensor_shape,
    inference=Inference(lambda call: scalar_sizes(call, call.tensor("src").rank), optional=("type",)),
    syntax="shape-query",
)
LOAD_VIEW_TKO: Final[OperationDeclaration] = memory_access(
    "load_view_tko",
    "load",
    section="8.11.3",
    opcode=0x3E,
    summary="Load a tile of a view",
    description=(
        "Reads the tile at an index of the view's index space.  Indices are unsigned and must lie within that "
        "space, otherwise the behavior is undefined.  Elements of the tile outside the tensor take the view's "
        "padding value, or are unspecified when it has none; `inbounds` promises per dimension that there are "
        "none.  A gather view takes a list of positions at its sparse dimension.  Program order does not order the "
        "load, only tokens do; orderings and scopes are those of `load_ptr_tko`."
    ),
    example=(
        "%x, %t1 = load_view_tko weak %v[%i, %j] token = %t : "
        "partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>, token"
    ),
    operands=(
        operand("view", TILE_VIEW, "the view to read"),
        operand("index", INT, "which tile, one index per dimension", VARIADIC),
    ),
    ordering="weak, relaxed or acquire",
    attributes=_ACCESS,
    results=(result("tile", ANY_TILE, "the tile read"),),
    reads="view",
    verify=verify_view_access,
    name_hints=("tile", "result_token"),
    inference=Inference(lambda call: [call.view("view").tile], numbers={"index": index_type}),
    syntax="view-access",
)


def _view(make: Callable[..., Type], *names: str) -> Callable[[Call], list[Type]]:
    """How to find the type of a new view: `make` takes the tile, the tensor view and the arguments of these names."""
    return lambda call: [make(call.extra("tile"), call.tensor("tensor_view"), *[call.extra(name) for name in names])]


MAKE_PARTITION_VIEW: Final[OperationDeclaration] = OperationDeclaration(
    "make_partition_view",
    section="8.11.4",
    opcode=0x42,
    summary="See a tensor as a grid of tiles",
    description=(
        "Divides a tensor view into adjacent tiles that do not overlap; the last ones may extend past its edge.  The "
        "result type has everything: the tile shape, what elements outside the tensor read as (`padding_value`), "
        "and which dimension of the tensor each dimension of the tile runs along (`dim_map`)."
    ),
    example=(
        "%v = make_partition_view %tv : "
        "partition_view<tile=(4x2), padding_value = zero, tensor_view<?x64xf32, strides=[64,1]>>"
    ),
    operands=(operand("tensor_view", TENSOR_VIEW, "the tensor"),),
    results=(result("result", PARTITION_VIEW, "the grid of tiles"),),
    traits=PURE,
    verify=verify_view_source,
    name_hints=("pview",),
    inference=Inference(_view(partition_view, "padding", "dim_map"), ("tile",), ("padding", "dim_map")),
    syntax="$tensor_view attr-dict make-view",
)


def _tensor_view_sizes(call: Call) -> None:
    """Extents and strides that are values become operands; numbers become part of the type."""
    for name, dynamic in (("shape", "dynamicShape"), ("strides", "dynamicStrides")):
        sizes = call.extra(name)
        if not isinstance(sizes, (list, tuple)):
            call.fail(f"'{name}' must be a list of integers and values, got {described(sizes)}")
        call.given[dynamic] = [size for size in sizes if not isinstance(size, int)]
        call.extras[name] = [size if isinstance(size, int) else None for size in sizes]


def _tensor_view(call: Call) -> list[Type]:
    base = call.tile("base").element
    pointee = call.pointed_to("base").element
    attribute = base.attribute if isinstance(base, PointerType) else None
    return [tensor_view(call.extra("shape"), pointee, call.extra("strides"), attribute)]


MAKE_TENSOR_VIEW: Final[OperationDeclaration] = OperationDeclaration(
    "make_tensor_view",
    section="8.11.5",
    opcode=0x43,
    summary="See memory as a tensor",
    description=(
        "Describes the memory at a pointer as a tensor: element type, shape and strides, the last two counted in "
        "elements.  Constant extents and strides are part of the result type; those given as values are `?` there, "
        "are read as unsigned and all have one type.  Nothing is read or written.  A shape and strides that reach "
        "beyond the allocation make an access there undefined, not the view itself."
    ),
    example=(
        "%tv = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : "
        "tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>"
    ),
    operands=(
        operand("base", SCALAR_POINTER, "a pointer to the first element"),
        operand("dynamicShape", SCALAR_INT, "the extents written `?` in the type, in order", VARIADIC),
        operand("dynamicStrides", SCALAR_INT, "the strides written `?` in the type, in order", VARIADIC),
    ),
    results=(result("result", TENSOR_VIEW, "the tensor"),),
    traits=NO_MEMORY_EFFECT | SEGMENTS,
    verify=_verify_make_tensor_view,
    name_hints=("tview",),
    inference=Inference(
        _tensor_view, ("shape", "strides"), hidden=("dynamicShape", "dynamicStrides"), prepare=_tensor_view_sizes
    ),
    syntax="tensor-view",
)
STORE_VIEW_TKO: Final[OperationDeclaration] = memory_access(
    "store_view_tko",
    "store",
    section="8.11.6",
    opcode=0x66,
    summary="Store a tile of a view",
    description=(
        "Writes a tile at an index of the view's index space.  Indices are unsigned and must lie within that "
        "space, otherwise the behavior is undefined.  Elements of the tile outside the tensor are not written; "
        "`inbounds` promises per dimension that there are none.  A scatter view takes a list of positions at its "
        "sparse dimension.  Program order does not order the store, only tokens do; orderings and scopes are those "
        "of `store_ptr_tko`."
    ),
    example=(
        "%t1 = store_view_tko weak %x, %v[%i, %j] token = %t : tile<4x2xf32>, "
        "partition_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token"
    ),
    operands=(
        operand("tile", ANY_TILE, "the tile to write"),
        operand("view", TILE_VIEW, "the view to write to"),
        operand("index", INT, "which tile, one index per dimension", VARIADIC),
    ),
    ordering="weak, relaxed or release",
    attributes=_ACCESS,
    writes="view",
    verify=verify_view_access,
    inference=Inference(numbers={"tile": tile_of_view("view"), "index": index_type}),
    syntax="view-access",
)
MAKE_STRIDED_VIEW: Final[OperationDeclaration] = OperationDeclaration(
    "make_strided_view",
    opcode=0x74,
    since=V13_3,
    summary="See a tensor as tiles a fixed distance apart",
    description=(
        "Like `make_partition_view`, but tile starts are `traversal_strides` elements apart in each dimension: a "
        "smaller stride than the tile makes tiles overlap, a larger one leaves gaps.  Strides are positive and "
        "need not be powers of two."
    ),
    example=(
        "%v = make_strided_view %tv : "
        "strided_view<tile=(4x2), traversal_strides=[3,1], tensor_view<?x64xf32, strides=[64,1]>>"
    ),
    operands=(operand("tensor_view", TENSOR_VIEW, "the tensor"),),
    results=(result("result", STRIDED_VIEW, "the grid of tiles"),),
    traits=PURE,
    verify=verify_view_source,
    name_hints=("sview",),
    inference=Inference(
        _view(strided_view, "traversal_strides", "padding", "dim_map"),
        ("tile", "traversal_strides"),
        ("padding", "dim_map"),
    ),
    syntax="$tensor_view attr-dict make-view",
)
MAKE_GATHER_SCATTER_VIEW: Final[OperationDeclaration] = OperationDeclaration(
    "make_gather_scatter_view",
    opcode=0x73,
    since=V13_3,
    summary="See a tensor as tiles of rows picked by position",
    description=(
        "Makes a view whose tiles take arbitrary positions along one dimension of the tensor, `sparse_dim`.  An "
        "access has a one-dimensional index tile there, one position for each row of the tile, and scalar "
        "indices for the other dimensions."
    ),
    example=(
        "%v = make_gather_scatter_view %tv : "
        "gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>"
    ),
    operands=(operand("tensor_view", TENSOR_VIEW, "the tensor"),),
    results=(result("result", GATHER_SCATTER_VIEW, "the view"),),
    traits=PURE,
    verify=verify_view_source,
    name_hints=("gsview",),
    inference=Inference(_view(gather_scatter_view, "sparse_dim", "padding"), ("tile", "sparse_dim"), ("padding",)),
    syntax="$tensor_view attr-dict make-view",
)
