"""Accesses that use a small part of what memory delivers."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.steps import Steps, TileSteps
from tileir.analyze.lint.subject import Subject
from tileir.analyze.lint.targets import architectures_where, named
from tileir.annotations import Final
from tileir.dialect import ops
from tileir.dialect.constraints import tile_type_of
from tileir.dialect.types import (
    DYNAMIC,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)
from tileir.execute.gpu.targets import Architecture
from tileir.execute.work.evaluation import element_size
from tileir.ir.core import Operation
from tileir.ir.types import I64
from tileir.ir.values import Value

_SECTOR: Final = 32
"""Bytes that memory delivers at least."""
_LEAST_BYTES: Final = 128
"""Tiles of less are too small to matter: a warp reads so much at once."""
_LEAST_WASTE: Final = 2


@Rule(
    "uncoalesced-access",
    "hardware",
    "The elements of a tile are apart from each other in memory",
    reason="Memory delivers 32 bytes at least, and as much is written: elements that lie apart use a part of that.",
    remedy="Let the dimension whose stride is 1 be the one along which the tile is long; load the tile as it lies and "
    "`permute` it, or copy the array once so that it lies as it is read.",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
-  %tensor = make_tensor_view %p, shape = [1024, 64], strides = [64, 1] : tensor_view<1024x64xf32, strides=[64,1]>
-  %column = make_partition_view %tensor : partition_view<tile=(128x1), tensor_view<1024x64xf32, strides=[64,1]>>
+  %tensor = make_tensor_view %p, shape = [64, 1024], strides = [1024, 1] : tensor_view<64x1024xf32, strides=[1024,1]>
+  %row = make_partition_view %tensor : partition_view<tile=(1x128), tensor_view<64x1024xf32, strides=[1024,1]>>
   %0 = constant <i32: 0> : tile<i32>
-  // here
-  %x, %t = load_view_tko weak %column[%0, %0] : partition_view<tile=(128x1), tensor_view<1024x64xf32, strides=[64,1]>>, tile<i32> -> tile<128x1xf32>, token
+  %x, %t = load_view_tko weak %row[%0, %0] : partition_view<tile=(1x128), tensor_view<64x1024xf32, strides=[1024,1]>>, tile<i32> -> tile<1x128xf32>, token
   %lane = iota : tile<128xi32>
-  %two = constant <i32: 2> : tile<128xi32>
-  %even = muli %lane, %two : tile<128xi32>
   %q_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
   %q_128 = broadcast %q_1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
-  %place = offset %q_128, %even : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
-  %y = reshape %x : tile<128x1xf32> -> tile<128xf32>
-  %u = store_ptr_tko weak %place, %y : tile<128xptr<f32>>, tile<128xf32> -> token // here
+  %place = offset %q_128, %lane : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
+  %y = reshape %x : tile<1x128xf32> -> tile<128xf32>
+  %u = store_ptr_tko weak %place, %y : tile<128xptr<f32>>, tile<128xf32> -> token
   return
 }
""",  # noqa: E501
)
def _uncoalesced(subject: Subject) -> Iterable[LintFinding]:
    for access in subject.operations(ops.LOAD_VIEW_TKO, ops.STORE_VIEW_TKO):
        type = access.view.type
        if isinstance(type, (PartitionViewType, StridedViewType)):
            strides = tuple([type.tensor.strides[axis] for axis in type.dim_map])
            steps = tuple([None if stride == DYNAMIC else stride for stride in strides])
            yield from _finding(access, type.tile, steps)
    pointers = [each for each in subject.operations(ops.LOAD_PTR_TKO, ops.STORE_PTR_TKO) if _moved(each).shape]
    if pointers:
        known = TileSteps(subject.all_operations, subject.facts)
        for access in pointers:
            yield from _finding(access, _moved(access), known.of(_pointers(access)))


def _pointers(access: Operation) -> Value:
    return access.source if access.declaration is ops.LOAD_PTR_TKO else access.destination


def _moved(access: Operation) -> TileType:
    return tile_type_of(access.results[0] if access.declaration is ops.LOAD_PTR_TKO else access.value)


def _finding(access: Operation, tile: TileType, steps: Steps) -> Iterable[LintFinding]:
    size = element_size(tile.element)
    moving: list[tuple[int, int]] = []
    for step, extent in zip(steps, tile.shape, strict=True):
        if extent > 1 and step is None:
            return
        if extent > 1 and step:
            moving.append((abs(step), extent))
    moving.sort()
    elements = 1
    for _, extent in moving:
        elements *= extent
    if elements * size < _LEAST_BYTES:
        return
    together = 1
    for step, extent in moving:
        if step != together:
            break
        together *= extent
    apart = moving[0][0]
    if together > 1:
        waste, message = _SECTOR // (together * size), f"{together} elements lie together"
    else:
        waste, message = min(_SECTOR // size, apart), f"elements are {apart * size} bytes apart"
    if waste >= _LEAST_WASTE:
        verb = "reads" if access.declaration.reads is not None else "writes"
        message = (
            f"{verb} a {tile.spelling} of which {message} in memory: about {waste} times as much is moved as is used"
        )
        yield LintFinding(access, message)


_VECTOR: Final = 16
"""Bytes that a thread reads at once, and that rows for TMA are multiples of."""


def _rows(stride: int) -> str:
    return f"""\
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>) {{
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %tensor = make_tensor_view %a, shape = [64, 100], strides = [{stride}, 1] : tensor_view<64x100xf16, strides=[{stride},1]> // here
  %view = make_partition_view %tensor : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x100xf16, strides=[{stride},1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %v, %t = load_view_tko weak %view[%x, %y] : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x100xf16, strides=[{stride},1]>>, tile<i32> -> tile<16x32xf16>, token
  %n = negf %v : tile<16x32xf16>
  %u = store_view_tko weak %n, %view[%x, %y] token=%t : tile<16x32xf16>, partition_view<tile=(16x32), padding_value = zero, tensor_view<64x100xf16, strides=[{stride},1]>>, tile<i32> -> token
  return
}}
"""  # noqa: E501


@Rule(
    "misaligned-rows",
    "hardware",
    "Rows of a tensor begin at addresses that are no multiples of 16 bytes",
    reason="Threads read 16 bytes at once where they are aligned, and the tensor memory accelerator of sm_90 and later "
    "(TMA) takes no other rows: this one is read in smaller pieces, by more instructions.",
    remedy="Pad the rows of the array: a stride of 104 instead of 100 for f16.",
    example=(_rows(100), _rows(104)),
)
def _misaligned(subject: Subject) -> Iterable[LintFinding]:
    for view in subject.operations(ops.MAKE_TENSOR_VIEW):
        type = view.results[0].type
        if not isinstance(type, TensorViewType) or not _has_wide_rows(view, type):
            continue
        if type.element is I64 and subject.operations(ops.INT_TO_PTR):
            # The table of a list of arrays, which cuTile lays out: an address, extents and strides for each.
            continue
        size = element_size(type.element)
        for axis, (extent, stride) in enumerate(zip(type.shape, type.strides, strict=True)):
            if stride not in (DYNAMIC, 1) and extent != 1 and stride * size % _VECTOR:
                message = f"steps along dimension {axis} are {stride * size} bytes, no multiple of {_VECTOR}"
                yield LintFinding(view, f"{message}: {_narrow(subject)}")
                break
        else:
            apart = _start(view.base, subject)
            if apart % _VECTOR:
                message = f"the view begins {apart} bytes behind an aligned address: {_narrow(subject)}"
                yield LintFinding(view, message)


def _narrow(subject: Subject) -> str:
    accelerated = architectures_where(subject, _has_tma) if subject.targets else []
    more = f", and no TMA on {named(accelerated)}" if accelerated else ""
    return f"no loads of {_VECTOR} bytes{more}"


def _has_tma(architecture: Architecture) -> bool:
    return architecture.has_tma


def _has_wide_rows(view: Operation, type: TensorViewType) -> bool:
    """Whether a tile of it has several rows that could be read in vectors; the tables that cuTile makes have one."""
    size = element_size(type.element)
    for user in view.results[0].users:
        made = user.results[0].type if user.declaration in (ops.MAKE_PARTITION_VIEW, ops.MAKE_STRIDED_VIEW) else None
        if isinstance(made, (PartitionViewType, StridedViewType)) and (
            type.rank == 1 or sum([extent > 1 for extent in made.tile_shape]) > 1
        ):
            for extent, axis in zip(made.tile_shape, made.dim_map, strict=True):
                if type.strides[axis] == 1 and extent * size >= _VECTOR:
                    return True
    return False


def _start(base: Value, subject: Subject) -> int:
    """Bytes from an aligned address to a pointer; 0 if that is not known."""
    maker = base.defining_operation
    if maker is None or maker.declaration is not ops.OFFSET:
        return 0
    distance = subject.facts.integer(maker.operands[1])
    if distance is None or subject.facts.divisor(maker.operands[0]) < _VECTOR:
        return 0
    return distance * _pointee_bytes(base)


def _pointee_bytes(pointer: Value) -> int:
    element = pointer.type.element if isinstance(pointer.type, TileType) else None
    return element_size(element.pointee) if isinstance(element, PointerType) else 1


@Rule(
    "unknown-alignment",
    "hardware",
    "A view is not known to be aligned to 16 bytes",
    reason="A compiler may use wide loads and the tensor memory accelerator only where it knows that addresses are "
    "multiples of 16 bytes: they are for most arrays, but nobody has said so.",
    remedy="Promise it: `%a = assume div_by<16>, %p : tile<ptr<f16>>`, and for a stride of f16 `assume div_by<8>`. "
    "Launches that break the promise are undefined; `tileir run --sanitize` finds them.",
    severity=REMARK,
    targets=("sm_90",),
    example="""\
 entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {
-  %a = offset %p, %n : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>
-  %m = addi %n, %n : tile<i32>
-  %tensor = make_tensor_view %a, shape = [64, %n], strides = [%m, 1] : tile<i32> -> tensor_view<64x?xf16, strides=[?,1]> // here
+  %a = assume div_by<16>, %p : tile<ptr<f16>>
+  %m = assume div_by<8>, %n : tile<i32>
+  %tensor = make_tensor_view %a, shape = [64, %n], strides = [%m, 1] : tile<i32> -> tensor_view<64x?xf16, strides=[?,1]>
   %view = make_partition_view %tensor : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>
   %x, %y, %z = get_tile_block_id : tile<i32>
   %v, %t = load_view_tko weak %view[%x, %y] : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>, tile<i32> -> tile<16x32xf16>, token
   %w = negf %v : tile<16x32xf16>
   %u = store_view_tko weak %w, %view[%x, %y] token=%t : tile<16x32xf16>, partition_view<tile=(16x32), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>, tile<i32> -> token
   return
 }
""",  # noqa: E501
)
def _unknown(subject: Subject) -> Iterable[LintFinding]:
    # Only who says what it is to run on cares about the last factor.
    if not subject.targets:
        return
    for view in subject.operations(ops.MAKE_TENSOR_VIEW):
        type = view.results[0].type
        if not isinstance(type, TensorViewType) or not _has_wide_rows(view, type):
            continue
        size = element_size(type.element)
        missing: list[str] = []
        base = view.base
        if subject.facts.divisor(base) < _VECTOR and not _start(base, subject):
            missing.append("the pointer")
        strides = iter(view.dynamic_strides)
        for axis, stride in enumerate(type.strides):
            if stride == DYNAMIC and subject.facts.divisor(next(strides)) * size < _VECTOR:
                missing.append(f"the stride of dimension {axis}")
        if missing:
            verb = "is not known to be a multiple" if len(missing) == 1 else "are not known to be multiples"
            yield LintFinding(view, f"{' and '.join(missing)} {verb} of {_VECTOR} bytes: {_narrow(subject)}")
