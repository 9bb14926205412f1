"""What other versions of the dialect or other GPUs do not have: registers, shared memory, units, types, operations."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.cost.live_tiles import LEAST_COLUMNS, LEAST_ROWS, LiveTiles, live_tiles, register_capacity
from tileir.analyze.cost.occupancy import USUAL_WARPS
from tileir.analyze.lint.rule import REMARK, LintFinding, Note, Rule
from tileir.analyze.lint.subject import Subject, architecture_named, named
from tileir.annotations import Final
from tileir.dialect import ops
from tileir.dialect.attributes import HINTS_OF_KIND, OptimizationHintsAttribute, architecture_errors, hint_of
from tileir.dialect.availability import newer_feature
from tileir.dialect.constraints import tile_type_of
from tileir.dialect.types import TileType, nested_types
from tileir.execute.gpu.gpus import GPUS, WARP_SIZE
from tileir.execute.gpu.peaks import peaks_of
from tileir.execute.gpu.targets import ARCHITECTURES, Architecture
from tileir.execute.work.evaluation import element_size
from tileir.execute.work.operations import goes_into_products
from tileir.ir.attributes import DictionaryAttribute
from tileir.ir.core import Operation
from tileir.ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, Type
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST
from tileir.rewrite.matching import defined_by

_SHOWN: Final = 3
_MORE_WARPS: Final = 8


def _loop_program(columns: int, depth: int) -> str:
    """A loop of products of 128 rows, of so many columns and so deep."""
    left = f"partition_view<tile=(128x{depth}), tensor_view<4096x4096xf16, strides=[4096,1]>>"
    right = f"partition_view<tile=({depth}x{columns}), tensor_view<4096x4096xf16, strides=[4096,1]>>"
    total = f"partition_view<tile=(128x{columns}), tensor_view<4096x4096xf32, strides=[4096,1]>>"
    sums = f"tile<128x{columns}xf32>"
    return f"""\
entry @k(%a: {left}, %b: {right}, %c: {total}) {{
  %x, %y, %z = get_tile_block_id : tile<i32>
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  %n = constant <i32: {4096 // depth}> : tile<i32>
  %none = constant <f32: 0.0> : {sums}
  %sum = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%s = %none) -> ({sums}) {{ // here
    %l, %t = load_view_tko weak %a[%x, %i] : {left}, tile<i32> -> tile<128x{depth}xf16>, token
    %r, %u = load_view_tko weak %b[%i, %y] : {right}, tile<i32> -> tile<{depth}x{columns}xf16>, token
    %next = mmaf %l, %r, %s : tile<128x{depth}xf16>, tile<{depth}x{columns}xf16>, {sums}
    continue %next : {sums}
  }}
  %v = store_view_tko weak %sum, %c[%x, %y] : {sums}, {total}, tile<i32> -> token
"""


@Rule(
    "hardware",
    "Tiles that are needed at the same time take more registers than a tile block has",
    reason="What does not fit into registers is kept in memory and fetched again and again, often in the innermost "
    "loop.",
    remedy="Use smaller tiles, or spread them over more warps: `num_worker_warps_per_cta` in `optimization_hints`.",
    targets=("sm_90",),
    example=(_loop_program(256, 32), _loop_program(128, 32)),
)
def register_spill(subject: Subject) -> Iterable[LintFinding]:
    entry = subject.entry
    if entry is None:
        return
    known: dict[Architecture, LiveTiles] = {}
    for gpu in subject.gpus:
        found = live_tiles(entry, gpu)
        if found is not None and found.registers >= _capacity(entry, gpu):
            known[gpu] = found
        elif not subject.targets:
            return
    lacking = list(known)
    if not lacking:
        return
    live = max(known.values(), key=lambda each: each.registers)
    capacity = min([_capacity(entry, each) for each in lacking])
    message = f"tiles that are needed at once take {live.registers} registers; a tile block has {capacity} on"
    message += f" {named(lacking)}"
    notes: list[Note] = []
    for value, registers in live.tiles[:_SHOWN]:
        where = "made here" if value.defining_operation is not None else "carried by the loop"
        notes.append((f"a {value.type.spelling}, {where}, takes {registers}", value.defining_operation))
    if live.factors:
        notes.append((f"{live.factors} of them are operands of the matmul, which has no tensor cores", None))
    yield LintFinding(live.operation, message, notes=notes, remedy=_remedy(entry, live, lacking))


def _capacity(entry: Operation, architecture: Architecture) -> int:
    """A tile block that is spread over a cluster has the registers of several."""
    warps = hint_of(entry, "num_worker_warps_per_cta", architecture.name) or 0
    return register_capacity(architecture, warps) * (hint_of(entry, "num_cta_in_cga", architecture.name) or 1)


def _remedy(entry: Operation, live: LiveTiles, lacking: list[Architecture]) -> str:
    if live.factors or any(live.registers >= register_capacity(each, _MORE_WARPS) for each in lacking):
        return ""
    hints = ", ".join([f"{each.name} = {{num_worker_warps_per_cta = {_MORE_WARPS} : i32}}" for each in lacking])
    return f"Use smaller tiles, or advise more warps: `optimization_hints = <{hints}>`."


@Rule(
    "hardware",
    "The operands of matmuls that an iteration loads do not fit into shared memory",
    reason="Tensor cores read operands from there, and those of the next iteration should arrive in the meantime: what "
    "does not fit goes through registers, which then run out.",
    remedy="Use tiles that are less deep along K: a row of 64 to 128 bytes is enough.",
    example=(_loop_program(128, 512), _loop_program(128, 64)),
)
def shared_memory_exceeded(subject: Subject) -> Iterable[LintFinding]:
    loads: dict[Operation, list[Operation]] = {}
    for load in subject.operations(ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO):
        loop = subject.loop_of(load)
        if loop is not None and goes_into_products(load.results[0]):
            loads.setdefault(loop, []).append(load)
    for loop, found in loads.items():
        needed = sum([_bytes(load.results[0]) for load in found])
        lacking = subject.affected([gpu for gpu in subject.gpus if needed > gpu.shared_memory_per_block])
        if lacking:
            capacity = max([each.shared_memory_per_block for each in lacking]) // 1024
            message = f"the operands of an iteration take {-(-needed // 1024)} KiB of shared memory; "
            message += f"a tile block has no more than {capacity} KiB on {named(lacking)}"
            shown = [(f"{_bytes(load.results[0]) // 1024} KiB are loaded here", load) for load in found[:_SHOWN]]
            yield LintFinding(loop, message, notes=shown)


def _bytes(value: Value) -> int:
    type = value.type
    return type.count * element_size(type.element) if isinstance(type, TileType) else 0


_KINDS: Final = {ops.ENTRY: "entry", ops.LOAD_VIEW_TKO: "view", ops.STORE_VIEW_TKO: "view"}


@Rule(
    "hardware",
    "A hint requests what the GPU or the program does not have",
    reason="Hints are advice, and bad advice is silently ignored or followed: as many tile blocks on a multiprocessor "
    f"as were requested may leave each too few registers. Hints of kernels are {', '.join(HINTS_OF_KIND['entry'])}.",
    remedy="Request less, use smaller tiles, or leave the hint out.",
    example="""\
-entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<sm_90 = {occupancy = 4 : i32}> { // here
+entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<sm_90 = {occupancy = 2 : i32}> {
   %tensor = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
   %view = make_partition_view %tensor : partition_view<tile=(16384), tensor_view<?xf32, strides=[1]>>
   %x, %y, %z = get_tile_block_id : tile<i32>
   %a, %t = load_view_tko weak %view[%x] : partition_view<tile=(16384), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<16384xf32>, token
   %m = reduce %a dim=0 identities=[0.0 : f32] : tile<16384xf32> -> tile<f32> (%e: tile<f32>, %f: tile<f32>) {
     %g = addf %e, %f : tile<f32>
     yield %g : tile<f32>
   }
   %m_1 = reshape %m : tile<f32> -> tile<1xf32>
   %all = broadcast %m_1 : tile<1xf32> -> tile<16384xf32>
   %d = subf %a, %all : tile<16384xf32>
   %u = store_view_tko weak %d, %view[%x] token=%t : tile<16384xf32>, partition_view<tile=(16384), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
""",  # noqa: E501
)
def contradicting_hints(subject: Subject) -> Iterable[LintFinding]:
    entry = subject.entry
    for operation in subject.all_operations:
        attribute = operation.attributes.get("optimization_hints")
        if not isinstance(attribute, OptimizationHintsAttribute):
            continue
        kind = _KINDS.get(operation.declaration, "pointer" if operation.declaration.accesses_memory else "")
        for name, hints in attribute.entries.entries:
            if isinstance(hints, DictionaryAttribute):
                for message in architecture_errors(name, hints, kind, subject.version):
                    yield LintFinding(operation, message)
                without = name in ARCHITECTURES and not ARCHITECTURES[name].has_tma
                if without and any(key == "allow_tma" for key, _ in hints.entries):
                    yield LintFinding(operation, f"{name} has no TMA: the hint allow_tma has no effect")
        if operation is entry:
            for architecture in _advised(attribute, subject):
                yield from _too_many(operation, architecture)


def _advised(attribute: OptimizationHintsAttribute, subject: Subject) -> list[Architecture]:
    """The GPUs that a kernel has hints for; of those for all GPUs, the stated targets."""
    names = [name for name, _ in attribute.entries.entries]
    found = [ARCHITECTURES[name] for name in names if name in ARCHITECTURES]
    if "default" in names:
        found += [architecture_named(text) for text in subject.targets]
    return list(dict.fromkeys(found))


def _too_many(entry: Operation, architecture: Architecture) -> Iterable[LintFinding]:
    """Whether as many tile blocks as are advised fit on a multiprocessor."""
    name = architecture.name
    advised = hint_of(entry, "occupancy", name) or 0
    warps = hint_of(entry, "num_worker_warps_per_cta", name) or 0
    if advised < 2:
        return
    blocks = min(architecture.blocks, architecture.threads // ((warps or USUAL_WARPS) * WARP_SIZE))
    if advised > blocks:
        each = f"of {warps} warps " if warps else ""
        yield LintFinding(entry, f"{advised} tile blocks {each}are advised on {name}, which holds {blocks}")
        return
    live = live_tiles(entry, architecture)
    capacity = register_capacity(architecture, warps, advised)
    if live is not None and capacity <= live.registers < register_capacity(architecture, warps):
        message = f"with {advised} tile blocks on a multiprocessor of {name}, as advised, each has {capacity} registers"
        message += f", and tiles that are needed at once take {live.registers}"
        yield LintFinding(entry, message, notes=[("they are needed here", live.operation)])


_GROUP_ROWS: Final = 64
"""Rows of a matmul by a group of warps (`wgmma`) or by `tcgen05`."""
_DEPTH_BYTES: Final = 32
"""Bytes of an operand along K that one instruction multiplies."""


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
    "The tiles of a matmul are too small for tensor cores",
    reason="They multiply 16 rows and 8 columns at once, and rows of 32 bytes; sm_90 and sm_100 are at their best with "
    "64 rows or more. Smaller matmuls are filled up with zeros, or computed by ordinary instructions, many times "
    "slower.",
    remedy="Use larger tiles; if the problem has few rows, exchange rows and columns: `(B^T A^T)^T`.",
    example=(_program(8), _program(64)),
)
def idle_tensor_cores(subject: Subject) -> Iterable[LintFinding]:
    for product in subject.operations(ops.MMAF, ops.MMAI):
        left, total = tile_type_of(product.operands[0]), tile_type_of(product.acc)
        rows, columns, depth = total.shape[-2], total.shape[-1], left.shape[-1]
        shown = f"{rows}x{columns}x{depth}"
        where = subject.affected([gpu for gpu in subject.gpus if left.element.text in gpu.factors])
        unit = _DEPTH_BYTES // element_size(left.element)
        message = ""
        if rows < LEAST_ROWS or columns < LEAST_COLUMNS:
            message = f"a matmul of {shown} is computed without tensor cores on {named(where)}: "
            message += f"they multiply {LEAST_ROWS} rows and {LEAST_COLUMNS} columns at least"
        elif depth < unit:
            message = f"of a matmul of {shown} tensor cores compute {depth} of {unit} along K on {named(where)}: "
            message += "the rest is filled up with zeros"
        elif rows < _GROUP_ROWS:
            where = subject.affected([gpu for gpu in where if gpu.has_wgmma or gpu.has_tensor_memory])
            message = f"a matmul of {shown} is computed with the instructions of older GPUs on {named(where)}: "
            message += f"theirs take {_GROUP_ROWS} rows at least"
        if where and message:
            yield LintFinding(product, message)


@Rule(
    "hardware",
    "A matmul of f32, which tensor cores do not multiply",
    reason="A tf32 has the exponents of f32 and 11 significant bits: operands are rounded to within 0.05 %, products "
    "are summed in f32, and tensor cores multiply them. For networks that is enough as a rule, for solvers it is not.",
    remedy="Convert both operands: `ftof %a : tile<64x64xf32> -> tile<64x64xtf32>`. Where that is too coarse, split "
    "each into a tf32 and what is left of it, and add three matmuls.",
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
def f32_matmul(subject: Subject) -> Iterable[LintFinding]:
    for product in subject.operations(ops.MMAF):
        if tile_type_of(product.operands[0]).element is not F32:
            continue
        where = subject.affected([gpu for gpu in subject.gpus if _gain(gpu) >= 2])
        if not where:
            continue
        gains = sorted({round(_gain(each)) for each in where})
        times = f"{gains[0]}" if len(gains) == 1 else f"{gains[0]} to {gains[-1]}"
        message = f"f32 is multiplied without tensor cores: as tf32 up to {times} times as fast on {named(where)}"
        narrow = _narrow_source(product)
        lost, remedy = "with 11 bits of each operand instead of 24", ""
        if narrow:
            lost = f"and nothing is lost, since the operands are made of {narrow}"
            remedy = f"Multiply {narrow} as it is: it accumulates in f32 too."
        yield LintFinding(product, f"{message}, {lost}", remedy=remedy)


def _narrow_source(product: Operation) -> str:
    """The type that both operands are converted from, if tensor cores multiply it."""
    makers = [defined_by(factor, ops.FTOF) for factor in product.operands[:2]]
    left, right = [maker and tile_type_of(maker.operands[0]).element for maker in makers]
    return left.text if left and left is right and left in (F16, BF16, F8E4M3FN, F8E5M2) else ""


def _gain(architecture: Architecture) -> float:
    """How many times faster tf32 is than f32, on the best GPU there is of an architecture."""
    if "tf32" not in architecture.factors:
        return 1.0
    found = [peaks_of(gpu.name) for gpu in GPUS.values() if ARCHITECTURES[gpu.architecture] is architecture]
    return round(max([1.0, *[peaks.matrix.get("tf32", 0.0) / peaks.f32 for peaks in found if peaks is not None]]), 1)


@Rule(
    "portability",
    "An operation, attribute or type is newer than the stated version",
    reason="Drivers and tools refuse bytecode with features that came after the version they know.",
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
        values = operation.regions[0].block.arguments if operation.declaration is ops.ENTRY else operation.results
        fresh = [part for value in values if value.type not in seen for part in nested_types(value.type)]
        for part in dict.fromkeys([part for part in fresh if part not in seen]):
            lacking = subject.affected([gpu for gpu in subject.gpus if part.text in gpu.lacks])
            if lacking:
                yield LintFinding(operation, f"there is no {part.text} on {named(lacking)}")
        seen.update(fresh)
    lacking = subject.affected([gpu for gpu in subject.gpus if not gpu.has_bf16_atomics])
    for atomic in subject.operations(ops.ATOMIC_RMW_TKO, ops.ATOMIC_RED_VIEW_TKO) if lacking else ():
        if atomic.keyword("mode") == "addf" and any(BF16 in nested_types(each.type) for each in atomic.operands):
            yield LintFinding(atomic, f"there is no atomic addition of bf16 on {named(lacking)}")
