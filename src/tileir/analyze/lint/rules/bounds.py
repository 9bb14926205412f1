"""Tiles at the edges of arrays: what is read there, and indices that lead elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect import ops
from tileir.dialect.types import DYNAMIC, PartitionViewType, TileType
from tileir.ir.attributes import IntegerAttribute
from tileir.ir.core import Operation
from tileir.ir.traits import ELEMENTWISE, MATRIX_PRODUCT
from tileir.ir.values import Value

# The operands of a product, and the dimension of each that is added up, counted from the last.
_SUMMED: Final = {"lhs": 1, "rhs": 2, "lhs_scale": 1, "rhs_scale": 2}
# Values that are followed from a load.
_FURTHEST: Final = 64


@Rule(
    "missing-padding",
    "memory",
    "The elements of a tile that reaches beyond its array are added up, and have no padding value",
    reason="Elements outside of the array are unspecified: they may be anything, and go into the sum or product.",
    remedy="Give the view a padding value: `padding_value = zero` for sums, `neg_inf` for maxima.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %i: tile<i32>) {
   %tensor = make_tensor_view %p, shape = [100], strides = [1] : tensor_view<100xf32, strides=[1]>
-  %tiles = make_partition_view %tensor : partition_view<tile=(32), tensor_view<100xf32, strides=[1]>>
-  // here
-  %x, %t = load_view_tko weak %tiles[%i] : partition_view<tile=(32), tensor_view<100xf32, strides=[1]>>, tile<i32>
+  %tiles = make_partition_view %tensor
+      : partition_view<tile=(32), padding_value = zero, tensor_view<100xf32, strides=[1]>>
+  %x, %t = load_view_tko weak %tiles[%i]
+      : partition_view<tile=(32), padding_value = zero, tensor_view<100xf32, strides=[1]>>, tile<i32>
       -> tile<32xf32>, token
   %sum = reduce %x dim=0 identities=[0.0 : f32] : tile<32xf32> -> tile<f32>
   (%a: tile<f32>, %b: tile<f32>) {
     %s = addf %a, %b : tile<f32>
     yield %s : tile<f32>
   }
   %u = store_ptr_tko weak %q, %sum : tile<ptr<f32>>, tile<f32> -> token
   return
 }
""",
)
def _missing_padding(subject: Subject) -> Iterable[LintFinding]:
    for load in subject.operations(ops.LOAD_VIEW_TKO):
        view = load.operands[0].type
        if not isinstance(view, PartitionViewType) or view.padding is not None:
            continue
        for dimension in _uneven_dimensions(view):
            if not _may_be_last(subject, load, view, dimension):
                continue
            used = _combined_by(load.results[0], dimension)
            if used is not None:
                extent, tile = view.tensor.shape[view.dim_map[dimension]], view.tile_shape[dimension]
                yield LintFinding(
                    load,
                    f"the last tile reaches beyond the array ({extent} elements in tiles of {tile}), and the view has "
                    "no padding value: what is read there is unspecified",
                    notes=[("elements are combined here", used)],
                )
                break


def _uneven_dimensions(view: PartitionViewType) -> list[int]:
    """The dimensions of the index space whose last tile is known to reach beyond the tensor."""
    found: list[int] = []
    for dimension, tile in enumerate(view.tile_shape):
        extent = view.tensor.shape[view.dim_map[dimension]]
        if extent != DYNAMIC and extent % tile:
            found.append(dimension)
    return found


def _may_be_last(subject: Subject, load: Operation, view: PartitionViewType, dimension: int) -> bool:
    indices = load.index
    extent = view.tensor.shape[view.dim_map[dimension]]
    whole = extent // view.tile_shape[dimension]
    return subject.facts.range(indices[dimension], False)[1] >= whole


def _combined_by(value: Value, dimension: int) -> Operation | None:
    """An operation that combines the elements of a tile along a dimension, or of what is computed from it element by
    element."""
    pending, seen = [value], {value}
    while pending and len(seen) < _FURTHEST:
        current = pending.pop()
        for user in current.users:
            if _combines(user, current, dimension):
                return user
            if user.declaration.traits & ELEMENTWISE:
                for result in user.results:
                    if result not in seen:
                        seen.add(result)
                        pending.append(result)
    return None


def _combines(user: Operation, value: Value, dimension: int) -> bool:
    """Whether what lies beyond the end of a dimension goes into other elements of the result.

    The rows and columns of a product beyond the array are beyond that of the result too, and so is what a scan has
    there, unless it comes from the end.
    """
    if user.declaration.has_trait(MATRIX_PRODUCT):
        rank = len(user.results[0].type.shape) if isinstance(user.results[0].type, TileType) else 0
        names = [declared.name for declared in user.declaration.operands]
        return any(
            name in _SUMMED and user.operand(name) is value and rank - _SUMMED[name] == dimension for name in names
        )
    backwards = user.attributes.get("reverse")
    if user.declaration is ops.REDUCE or (isinstance(backwards, IntegerAttribute) and backwards.value):
        along = user.attributes.get("dim")
        return isinstance(along, IntegerAttribute) and along.value == dimension
    return False


@Rule(
    "index-outside-view",
    "memory",
    "An index is always outside of the view",
    reason="An access outside of a view's index space is undefined.",
    remedy="Correct the index, or the shape of the view.",
    example="""\
 entry @k(%p: tile<ptr<f32>>) {
   %x = constant <f32: 0.0> : tile<32xf32>
-  %four = constant <i32: 4> : tile<i32>
+  %three = constant <i32: 3> : tile<i32>
   %tensor = make_tensor_view %p, shape = [128], strides = [1] : tensor_view<128xf32, strides=[1]>
   %tiles = make_partition_view %tensor : partition_view<tile=(32), tensor_view<128xf32, strides=[1]>>
-  // here
-  %t = store_view_tko weak %x, %tiles[%four]
+  %t = store_view_tko weak %x, %tiles[%three]
       : tile<32xf32>, partition_view<tile=(32), tensor_view<128xf32, strides=[1]>>, tile<i32> -> token
   return
 }
""",
)
def _indices_outside(subject: Subject) -> Iterable[LintFinding]:
    for access in subject.operations(ops.LOAD_VIEW_TKO, ops.STORE_VIEW_TKO, ops.ATOMIC_RED_VIEW_TKO):
        name = access.declaration.reads or access.declaration.writes or ""
        view = access.operand_group(name)[0].type
        if not isinstance(view, PartitionViewType):
            continue
        for dimension, index in enumerate(access.index):
            extent = view.tensor.shape[view.dim_map[dimension]]
            if extent == DYNAMIC:
                continue
            count = -(-extent // view.tile_shape[dimension])
            least = subject.facts.range(index, False)[0]
            if least >= count:
                tiles = "1 tile" if count == 1 else f"{count} tiles"
                yield LintFinding(
                    access, f"index {dimension} is {least} or more, and there are {tiles} along that dimension"
                )
                break
