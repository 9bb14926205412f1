"""Views whose rows cannot be read in wide pieces."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.analyze.lint.targets import architectures_where, named
from tileir.annotations import Final
from tileir.dialect.ops import INT_TO_PTR, MAKE_PARTITION_VIEW, MAKE_STRIDED_VIEW, MAKE_TENSOR_VIEW, OFFSET
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

_VECTOR: Final = 16
"""Bytes that a thread reads at once, and that rows for TMA are multiples of."""


def _misaligned(subject: Subject) -> Iterable[LintFinding]:
    for view in subject.operations(MAKE_TENSOR_VIEW):
        type = view.results[0].type
        if not isinstance(type, TensorViewType) or not _has_wide_rows(view, type):
            continue
        if type.element is I64 and subject.operations(INT_TO_PTR):
            # The table of a list of arrays, which cuTile lays out: an address, extents and strides for each.
            continue
        size = element_size(type.element)
        for axis, (extent, stride) in enumerate(zip(type.shape, type.strides, strict=True)):
            if stride not in (DYNAMIC, 1) and extent != 1 and stride * size % _VECTOR:
                words = f"steps along dimension {axis} are {stride * size} bytes, no multiple of {_VECTOR}"
                yield LintFinding(view, f"{words}: {_narrow(subject)}")
                break
        else:
            apart = _start(view.base, subject)
            if apart % _VECTOR:
                words = f"the view begins {apart} bytes behind an aligned address: {_narrow(subject)}"
                yield LintFinding(view, words)


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
        made = user.results[0].type if user.declaration in (MAKE_PARTITION_VIEW, MAKE_STRIDED_VIEW) else None
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
    if maker is None or maker.declaration is not OFFSET:
        return 0
    distance = subject.facts.integer(maker.operands[1])
    if distance is None or subject.facts.divisor(maker.operands[0]) < _VECTOR:
        return 0
    return distance * _pointee_bytes(base)


def _pointee_bytes(pointer: Value) -> int:
    element = pointer.type.element if isinstance(pointer.type, TileType) else None
    return element_size(element.pointee) if isinstance(element, PointerType) else 1


def _rows(stride: int, marked: bool) -> str:
    return f"""\
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>) {{
  %a = assume div_by<16>, %p : tile<ptr<f16>>
  %tensor = make_tensor_view %a, shape = [64, 100], strides = [{stride}, 1] : tensor_view<64x100xf16, strides=[{stride},1]>{" // here" * marked}
  %view = make_partition_view %tensor : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x100xf16, strides=[{stride},1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %v, %t = load_view_tko weak %view[%x, %y] : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x100xf16, strides=[{stride},1]>>, tile<i32> -> tile<16x32xf16>, token
  %n = negf %v : tile<16x32xf16>
  %u = store_view_tko weak %n, %view[%x, %y] token=%t : tile<16x32xf16>, partition_view<tile=(16x32), padding_value = zero, tensor_view<64x100xf16, strides=[{stride},1]>>, tile<i32> -> token
  return
}}
"""  # noqa: E501


MISALIGNED_ROWS: Final = Rule(
    "misaligned-rows",
    "hardware",
    "Rows of a tensor begin at addresses that are no multiples of 16 bytes",
    reason="Threads read 16 bytes at once where they are aligned, and the tensor memory accelerator of sm_90 and later "
    "(TMA) takes no other rows: this one is read in smaller pieces, by more instructions.",
    remedy="Pad the rows of the array: a stride of 104 instead of 100 for f16.",
    positive=_rows(100, True),
    negative=_rows(104, False),
    check=_misaligned,
)


def _unknown(subject: Subject) -> Iterable[LintFinding]:
    # Only who says what it is to run on cares about the last factor.
    if not subject.targets:
        return
    for view in subject.operations(MAKE_TENSOR_VIEW):
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


_UNKNOWN: Final = """\
entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f16>>, %n: tile<i32>) {{
  {assumed}
  %tensor = make_tensor_view %a, shape = [64, %n], strides = [%m, 1] : tile<i32> -> tensor_view<64x?xf16, strides=[?,1]>{mark}
  %view = make_partition_view %tensor : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %v, %t = load_view_tko weak %view[%x, %y] : partition_view<tile=(16x32), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>, tile<i32> -> tile<16x32xf16>, token
  %w = negf %v : tile<16x32xf16>
  %u = store_view_tko weak %w, %view[%x, %y] token=%t : tile<16x32xf16>, partition_view<tile=(16x32), padding_value = zero, tensor_view<64x?xf16, strides=[?,1]>>, tile<i32> -> token
  return
}}
"""  # noqa: E501

UNKNOWN_ALIGNMENT: Final = Rule(
    "unknown-alignment",
    "hardware",
    "A view is not known to be aligned to 16 bytes",
    reason="A compiler may use wide loads and the tensor memory accelerator only where it knows that addresses are "
    "multiples of 16 bytes: they are for most arrays, but nobody has said so.",
    remedy="Promise it: `%a = assume div_by<16>, %p : tile<ptr<f16>>`, and for a stride of f16 `assume div_by<8>`. "
    "Launches that break the promise are undefined; `tileir run --sanitize` finds them.",
    positive=_UNKNOWN.format(
        assumed="%a = offset %p, %n : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>\n  %m = addi %n, %n : tile<i32>",
        mark=" // here",
    ),
    negative=_UNKNOWN.format(
        assumed="%a = assume div_by<16>, %p : tile<ptr<f16>>\n  %m = assume div_by<8>, %n : tile<i32>", mark=""
    ),
    check=_unknown,
    severity=REMARK,
    targets=("sm_90",),
)
