"""Tiles that a target has too little of: in registers, in shared memory."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.cost.live_tiles import LiveTiles, live_tiles, register_capacity
from tileir.analyze.cost.occupancy import USUAL_WARPS
from tileir.analyze.lint.rule import LintFinding, Note, Rule
from tileir.analyze.lint.subject import Subject, architecture_named, named
from tileir.annotations import Final
from tileir.dialect.attributes import HINTS_OF_KIND, OptimizationHintsAttribute, architecture_errors, hint_of
from tileir.dialect.ops import ENTRY, LOAD_PTR_TKO, LOAD_VIEW_TKO, STORE_VIEW_TKO
from tileir.dialect.types import TileType
from tileir.execute.gpu.gpus import WARP_SIZE
from tileir.execute.gpu.targets import ARCHITECTURES, Architecture
from tileir.execute.work.evaluation import element_size
from tileir.execute.work.operations import goes_into_products
from tileir.ir.attributes import DictionaryAttribute
from tileir.ir.core import Operation
from tileir.ir.values import Value

_SHOWN: Final = 3
_MORE_WARPS: Final = 8


def _program(columns: int, depth: int) -> str:
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
    example=(_program(256, 32), _program(128, 32)),
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
        notes.append((f"{live.factors} of them are factors of the product, which has no tensor cores", None))
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


# --- shared memory ---


@Rule(
    "hardware",
    "The factors of products that an iteration loads do not fit into shared memory",
    reason="Tensor cores read factors from there, and those of the next iteration should arrive in the meantime: what "
    "does not fit goes through registers, which then run out.",
    remedy="Use tiles that are less deep along K: a row of 64 to 128 bytes is enough.",
    example=(_program(128, 512), _program(128, 64)),
)
def shared_memory_exceeded(subject: Subject) -> Iterable[LintFinding]:
    loads: dict[Operation, list[Operation]] = {}
    for load in subject.operations(LOAD_VIEW_TKO, LOAD_PTR_TKO):
        loop = subject.loop_of(load)
        if loop is not None and goes_into_products(load.results[0]):
            loads.setdefault(loop, []).append(load)
    for loop, found in loads.items():
        needed = sum([_bytes(load.results[0]) for load in found])
        lacking = subject.affected([gpu for gpu in subject.gpus if needed > gpu.shared_memory_per_block])
        if lacking:
            capacity = max([each.shared_memory_per_block for each in lacking]) // 1024
            message = f"the factors of an iteration take {-(-needed // 1024)} KiB of shared memory; "
            message += f"a tile block has no more than {capacity} KiB on {named(lacking)}"
            shown = [(f"{_bytes(load.results[0]) // 1024} KiB are loaded here", load) for load in found[:_SHOWN]]
            yield LintFinding(loop, message, notes=shown)


def _bytes(value: Value) -> int:
    type = value.type
    return type.count * element_size(type.element) if isinstance(type, TileType) else 0


_KINDS: Final = {ENTRY: "entry", LOAD_VIEW_TKO: "view", STORE_VIEW_TKO: "view"}


@Rule(
    "hardware",
    "A hint asks for what the GPU or the program cannot give",
    reason="Hints are advice, and bad advice is silently ignored or followed: as many tile blocks on a multiprocessor "
    f"as were asked for may leave each too few registers. Hints of kernels are {', '.join(HINTS_OF_KIND['entry'])}.",
    remedy="Ask for less, use smaller tiles, or leave the hint out.",
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
                    yield LintFinding(operation, f"{name} has no TMA: the hint allow_tma says nothing")
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
    threads = advised * (warps or USUAL_WARPS) * WARP_SIZE
    if advised > architecture.blocks or threads > architecture.threads:
        blocks = min(architecture.blocks, architecture.threads // ((warps or USUAL_WARPS) * WARP_SIZE))
        each = f"of {warps} warps " if warps else ""
        yield LintFinding(entry, f"{advised} tile blocks {each}are advised on {name}, which holds {blocks}")
        return
    live = live_tiles(entry, architecture)
    capacity = register_capacity(architecture, warps, advised)
    if live is not None and capacity <= live.registers < register_capacity(architecture, warps):
        message = f"with {advised} tile blocks on a multiprocessor of {name}, as advised, each has {capacity} registers"
        message += f", and tiles that are needed at once take {live.registers}"
        yield LintFinding(entry, message, notes=[("they are needed here", live.operation)])
