"""What other versions of the dialect or other GPUs do not have, and products that leave tensor cores idle."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.cost.live_tiles import LEAST_COLUMNS, LEAST_ROWS
from tileir.analyze.lint.rule import REMARK, LintFinding, Rule
from tileir.analyze.lint.subject import Subject, named
from tileir.annotations import Final
from tileir.dialect.availability import newer_feature
from tileir.dialect.constraints import tile_type_of
from tileir.dialect.ops import ATOMIC_RED_VIEW_TKO, ATOMIC_RMW_TKO, ENTRY, FTOF, MMAF, MMAI
from tileir.dialect.types import nested_types
from tileir.execute.gpu.gpus import GPUS, peaks_of
from tileir.execute.gpu.targets import ARCHITECTURES, Architecture
from tileir.execute.work.evaluation import element_size
from tileir.ir.core import Operation
from tileir.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, Type
from tileir.ir.versions import NEWEST
from tileir.rewrite.matching import defined_by

_GROUP_ROWS: Final = 64
"""Of a product by a group of warps (`wgmma`) or by `tcgen05`."""
_DEPTH_BYTES: Final = 32
"""Of each row of a factor, that an instruction multiplies."""


def _program(rows: int) -> str:
    return f"""\
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f16>>) {{
  %none = constant <f32: 0.0> : tile<{rows}x64xf32>
  %a_tensor = make_tensor_view %q, shape = [{rows}, 64], strides = [64, 1] : tensor_view<{rows}x64xf16, strides=[64,1]>
  %a_view = make_partition_view %a_tensor : partition_view<tile=({rows}x64), tensor_view<{rows}x64xf16, strides=[64,1]>>
  %b_tensor = make_tensor_view %q, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
  %b_view = make_partition_view %b_tensor : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>
  %c_tensor = make_tensor_view %p, shape = [{rows}, 64], strides = [64, 1] : tensor_view<{rows}x64xf32, strides=[64,1]>
  %c_view = make_partition_view %c_tensor : partition_view<tile=({rows}x64), tensor_view<{rows}x64xf32, strides=[64,1]>>
  %0 = constant <i32: 0> : tile<i32>
  %a, %t = load_view_tko weak %a_view[%0, %0] : partition_view<tile=({rows}x64), tensor_view<{rows}x64xf16, strides=[64,1]>>, tile<i32> -> tile<{rows}x64xf16>, token
  %b, %u = load_view_tko weak %b_view[%0, %0] : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
  %c = mmaf %a, %b, %none : tile<{rows}x64xf16>, tile<64x64xf16>, tile<{rows}x64xf32> // here
  %v = store_view_tko weak %c, %c_view[%0, %0] : tile<{rows}x64xf32>, partition_view<tile=({rows}x64), tensor_view<{rows}x64xf32, strides=[64,1]>>, tile<i32> -> token
"""  # noqa: E501


@Rule(
    "hardware",
    "The tiles of a product are too small for tensor cores",
    reason="They multiply 16 rows and 8 columns at once, and rows of 32 bytes; sm_90 and sm_100 are at their best with "
    "64 rows or more. Smaller products are filled up with zeros, or computed by ordinary instructions, many times "
    "slower.",
    remedy="Use larger tiles; if the problem has few rows, exchange rows and columns: `(B^T A^T)^T`.",
    example=(_program(8), _program(64)),
)
def idle_tensor_cores(subject: Subject) -> Iterable[LintFinding]:
    for product in subject.operations(MMAF, MMAI):
        left, total = tile_type_of(product.operands[0]), tile_type_of(product.acc)
        rows, columns, depth = total.shape[-2], total.shape[-1], left.shape[-1]
        shown = f"{rows}x{columns}x{depth}"
        where = subject.affected([gpu for gpu in subject.gpus if left.element.text in gpu.factors])
        if not where:
            continue
        unit = _DEPTH_BYTES // element_size(left.element)
        message = ""
        if rows < LEAST_ROWS or columns < LEAST_COLUMNS:
            message = f"a product of {shown} is computed without tensor cores on {named(where)}: "
            message += f"they multiply {LEAST_ROWS} rows and {LEAST_COLUMNS} columns at least"
        elif depth < unit:
            message = f"of a product of {shown} tensor cores compute {depth} of {unit} along K on {named(where)}: "
            message += "the rest is filled up with zeros"
        elif rows < _GROUP_ROWS:
            where = subject.affected([gpu for gpu in where if gpu.has_wgmma or gpu.has_tensor_memory])
            message = f"a product of {shown} is computed with the instructions of older GPUs on {named(where)}: "
            message += f"theirs take {_GROUP_ROWS} rows at least"
        if where and message:
            yield LintFinding(product, message)


# --- f32 ---


@Rule(
    "hardware",
    "A product of f32, which tensor cores do not multiply",
    reason="A tf32 has the exponents of f32 and 11 significant bits: factors are rounded to within 0.05 %, products "
    "are summed in f32, and tensor cores multiply them. For networks that is enough as a rule, for solvers it is not.",
    remedy="Convert both factors: `ftof %a : tile<64x64xf32> -> tile<64x64xtf32>`. Where that is too coarse, split "
    "each into a tf32 and what is left of it, and add three products.",
    severity=REMARK,
    example="""\
 entry @k(%p: tile<ptr<f32>>) {
   %tensor = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
   %view = make_partition_view %tensor : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
   %0 = constant <i32: 0> : tile<i32>
   %a, %t = load_view_tko weak %view[%0, %0] : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> tile<64x64xf32>, token
-  %c = mmaf %a, %a, %a : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32> // here
+  %x = ftof %a : tile<64x64xf32> -> tile<64x64xtf32>
+  %c = mmaf %x, %x, %a : tile<64x64xtf32>, tile<64x64xtf32>, tile<64x64xf32>
   %u = store_view_tko weak %c, %view[%0, %0] token=%t : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
""",  # noqa: E501
)
def f32_product(subject: Subject) -> Iterable[LintFinding]:
    for product in subject.operations(MMAF):
        if tile_type_of(product.operands[0]).element is not F32:
            continue
        where = subject.affected([gpu for gpu in subject.gpus if _gain(gpu) >= 2])
        if not where:
            continue
        gains = sorted({round(_gain(each)) for each in where})
        times = f"{gains[0]}" if len(gains) == 1 else f"{gains[0]} to {gains[-1]}"
        message = f"f32 is multiplied without tensor cores: as tf32 up to {times} times as fast on {named(where)}"
        narrow = _narrow_source(product)
        lost, remedy = "with 11 bits of each factor instead of 24", ""
        if narrow:
            lost = f"and nothing is lost, since the factors are made of {narrow}"
            remedy = f"Multiply {narrow} as it is: it accumulates in f32 too."
        yield LintFinding(product, f"{message}, {lost}", remedy=remedy)


def _narrow_source(product: Operation) -> str:
    """The type that both factors are converted from, if tensor cores multiply it."""
    makers = [defined_by(factor, FTOF) for factor in product.operands[:2]]
    left, right = [maker and tile_type_of(maker.operands[0]).element for maker in makers]
    return left.text if left and left is right and left in (F16, BF16, F8E4M3FN, F8E5M2) else ""


def _gain(architecture: Architecture) -> float:
    """How many times faster tf32 is than f32, on the best GPU there is of an architecture."""
    if "tf32" not in architecture.factors:
        return 1.0
    found = [peaks_of(gpu.name) for gpu in GPUS.values() if ARCHITECTURES[gpu.architecture] is architecture]
    return round(max([1.0, *[peaks.matrix.get("tf32", 0.0) / peaks.f32 for peaks in found if peaks is not None]]), 1)


# --- portability ---


@Rule(
    "portability",
    "An operation, attribute or type is newer than the stated version",
    reason="Drivers and tools refuse bytecode with pieces that came after the version they know.",
    remedy="Write it with what the older version has, or raise the version that is stated; `tileir as "
    "--bytecode-version` rewrites what it can.",
    per_module=True,
    version="13.1",
    example="""\
 entry @k(%p: tile<ptr<f32>>, %a: tile<f32>, %b: tile<f32>) {
-  %y = atan2 %a, %b : tile<f32> // here
+  %y = divf %a, %b rounding<nearest_even> : tile<f32>
   %t = store_ptr_tko weak %p, %y : tile<ptr<f32>>, tile<f32> -> token
""",
)
def newer_than_version(subject: Subject) -> Iterable[LintFinding]:
    if subject.version >= NEWEST:
        return
    known: dict[Type, str | None] = {}
    for operation in subject.all_operations:
        message = newer_feature(operation, subject.version, known)
        if message is not None:
            yield LintFinding(operation, message)


# --- targets ---


@Rule(
    "portability",
    "A target has no such type or operation",
    reason="NVIDIA's assembler refuses it: f8 before sm_90, f8E8M0FNU and f4E2M1FN before sm_100, fnv8E5M3FNU on all "
    "but sm_107, atomic addition of bf16 before sm_89.",
    remedy="Use a wider type there, or state the targets that the kernel is for.",
    targets=("sm_80", "sm_90"),
    example="""\
-entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f8E4M3FN>>) { // here
-  %x, %t = load_ptr_tko weak %q : tile<ptr<f8E4M3FN>> -> tile<f8E4M3FN>, token
-  %y = ftof %x : tile<f8E4M3FN> -> tile<f32>
+entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f16>>) {
+  %x, %t = load_ptr_tko weak %q : tile<ptr<f16>> -> tile<f16>, token
+  %y = ftof %x : tile<f16> -> tile<f32>
   %u = store_ptr_tko weak %p, %y : tile<ptr<f32>>, tile<f32> -> token
""",
)
def unsupported_on_target(subject: Subject) -> Iterable[LintFinding]:
    # The first place of a type is enough: all others follow from it.
    seen: set[Type] = set()
    for operation in subject.all_operations:
        # What it makes; of a kernel, what it is given.
        values = operation.regions[0].block.arguments if operation.declaration is ENTRY else operation.results
        fresh = [part for value in values if value.type not in seen for part in nested_types(value.type)]
        for part in dict.fromkeys([part for part in fresh if part not in seen]):
            lacking = subject.affected([gpu for gpu in subject.gpus if part.text in gpu.lacks])
            if lacking:
                yield LintFinding(operation, f"there is no {part.text} on {named(lacking)}")
        seen.update(fresh)
        if operation.declaration in (ATOMIC_RMW_TKO, ATOMIC_RED_VIEW_TKO) and operation.keyword("mode") == "addf":
            lacking = subject.affected([gpu for gpu in subject.gpus if not gpu.has_bf16_atomics])
            if lacking and any(BF16 in nested_types(operand.type) for operand in operation.operands):
                yield LintFinding(operation, f"there is no atomic addition of bf16 on {named(lacking)}")
