"""Accesses that use a small part of what memory delivers."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import LintFinding, Rule
from tileir.analyze.lint.steps import Steps, TileSteps
from tileir.analyze.lint.subject import Subject
from tileir.annotations import Final
from tileir.dialect.ops import LOAD_PTR_TKO, LOAD_VIEW_TKO, STORE_PTR_TKO, STORE_VIEW_TKO
from tileir.dialect.types import DYNAMIC, PartitionViewType, StridedViewType, TileType
from tileir.execute.work.evaluation import element_size
from tileir.ir.core import Operation
from tileir.ir.values import Value

_SECTOR: Final = 32
"""Bytes that memory delivers at least."""
_LEAST_BYTES: Final = 128
"""Tiles of less are too small to matter: a warp reads so much at once."""
_LEAST_WASTE: Final = 2


def _uncoalesced(subject: Subject) -> Iterable[LintFinding]:
    for access in subject.operations(LOAD_VIEW_TKO, STORE_VIEW_TKO):
        type = access.view.type
        if isinstance(type, (PartitionViewType, StridedViewType)):
            strides = tuple([type.tensor.strides[axis] for axis in type.dim_map])
            steps = tuple([None if stride == DYNAMIC else stride for stride in strides])
            yield from _finding(access, type.tile, steps)
    pointers = [each for each in subject.operations(LOAD_PTR_TKO, STORE_PTR_TKO) if _moved(each).shape]
    if pointers:
        known = TileSteps(subject.all_operations, subject.facts)
        for access in pointers:
            yield from _finding(access, _moved(access), known.of(_pointers(access)))


def _pointers(access: Operation) -> Value:
    return access.source if access.declaration is LOAD_PTR_TKO else access.destination


def _moved(access: Operation) -> TileType:
    value = access.results[0] if access.declaration is LOAD_PTR_TKO else access.value
    assert isinstance(value.type, TileType)
    return value.type


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
        waste, words = _SECTOR // (together * size), f"{together} elements lie together"
    else:
        waste, words = min(_SECTOR // size, apart), f"elements are {apart * size} bytes apart"
    if waste >= _LEAST_WASTE:
        verb = "reads" if access.declaration.reads is not None else "writes"
        words = f"{verb} a {tile.spelling} of which {words} in memory: about {waste} times as much is moved as is used"
        yield LintFinding(access, words)


UNCOALESCED_ACCESS: Final = Rule(
    "uncoalesced-access",
    "hardware",
    "The elements of a tile are apart from each other in memory",
    reason="Memory delivers 32 bytes at least, and as much is written: elements that lie apart use a part of that.",
    remedy="Let the dimension whose stride is 1 be the one along which the tile is long; load the tile as it lies and "
    "`permute` it, or copy the array once so that it lies as it is read.",
    positive="""\
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %tensor = make_tensor_view %p, shape = [1024, 64], strides = [64, 1] : tensor_view<1024x64xf32, strides=[64,1]>
  %column = make_partition_view %tensor : partition_view<tile=(128x1), tensor_view<1024x64xf32, strides=[64,1]>>
  %0 = constant <i32: 0> : tile<i32>
  // here
  %x, %t = load_view_tko weak %column[%0, %0] : partition_view<tile=(128x1), tensor_view<1024x64xf32, strides=[64,1]>>, tile<i32> -> tile<128x1xf32>, token
  %lane = iota : tile<128xi32>
  %two = constant <i32: 2> : tile<128xi32>
  %even = muli %lane, %two : tile<128xi32>
  %q_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q_128 = broadcast %q_1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %place = offset %q_128, %even : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %y = reshape %x : tile<128x1xf32> -> tile<128xf32>
  %u = store_ptr_tko weak %place, %y : tile<128xptr<f32>>, tile<128xf32> -> token // here
  return
}
""",  # noqa: E501
    negative="""\
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %tensor = make_tensor_view %p, shape = [64, 1024], strides = [1024, 1] : tensor_view<64x1024xf32, strides=[1024,1]>
  %row = make_partition_view %tensor : partition_view<tile=(1x128), tensor_view<64x1024xf32, strides=[1024,1]>>
  %0 = constant <i32: 0> : tile<i32>
  %x, %t = load_view_tko weak %row[%0, %0] : partition_view<tile=(1x128), tensor_view<64x1024xf32, strides=[1024,1]>>, tile<i32> -> tile<1x128xf32>, token
  %lane = iota : tile<128xi32>
  %q_1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q_128 = broadcast %q_1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %place = offset %q_128, %lane : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %y = reshape %x : tile<1x128xf32> -> tile<128xf32>
  %u = store_ptr_tko weak %place, %y : tile<128xptr<f32>>, tile<128xf32> -> token
  return
}
""",  # noqa: E501
    check=_uncoalesced,
)
