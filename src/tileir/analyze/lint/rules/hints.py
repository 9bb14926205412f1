"""Optimization hints that contradict the program, the GPU or each other."""

from __future__ import annotations

from collections.abc import Iterable

from tileir.analyze.cost.live_tiles import live_tiles, register_capacity
from tileir.analyze.cost.occupancy import USUAL_WARPS
from tileir.analyze.lint.rule import LintFinding, Rule
from tileir.analyze.lint.subject import Subject
from tileir.analyze.lint.targets import architecture_named
from tileir.annotations import Final
from tileir.dialect.attributes import HINTS_OF_KIND, OptimizationHintsAttribute, architecture_errors, hint_of
from tileir.dialect.ops import ENTRY, LOAD_VIEW_TKO, STORE_VIEW_TKO
from tileir.execute.gpu.gpus import WARP_SIZE
from tileir.execute.gpu.targets import ARCHITECTURES, Architecture
from tileir.ir.attributes import DictionaryAttribute
from tileir.ir.core import Operation

_KINDS: Final = {ENTRY: "entry", LOAD_VIEW_TKO: "view", STORE_VIEW_TKO: "view"}


def _contradictions(subject: Subject) -> Iterable[LintFinding]:
    entry = subject.entry
    for operation in subject.all_operations:
        attribute = operation.attributes.get("optimization_hints")
        if not isinstance(attribute, OptimizationHintsAttribute):
            continue
        kind = _KINDS.get(operation.declaration, "pointer" if operation.declaration.accesses_memory else "")
        for name, hints in attribute.entries.entries:
            if isinstance(hints, DictionaryAttribute):
                for words in architecture_errors(name, hints, kind, subject.version):
                    yield LintFinding(operation, words)
                without = name in ARCHITECTURES and not ARCHITECTURES[name].has_tma
                if without and any(key == "allow_tma" for key, _ in hints.entries):
                    yield LintFinding(operation, f"{name} has no TMA: the hint allow_tma says nothing")
        if operation is entry:
            for architecture in _advised(attribute, subject):
                yield from _too_many(operation, architecture)


def _advised(attribute: OptimizationHintsAttribute, subject: Subject) -> list[Architecture]:
    """The GPUs that a kernel has hints for; of those for all GPUs, the ones that are asked about."""
    names = [name for name, _ in attribute.entries.entries]
    found = [ARCHITECTURES[name] for name in names if name in ARCHITECTURES]
    if "default" in names:
        found += [architecture_named(text) for text in subject.targets]
    return list(dict.fromkeys(found))


def _too_many(entry: Operation, architecture: Architecture) -> Iterable[LintFinding]:
    """Whether as many tile blocks as are advised fit on a multiprocessor."""
    name = architecture.name
    wanted = hint_of(entry, "occupancy", name) or 0
    warps = hint_of(entry, "num_worker_warps_per_cta", name) or 0
    if wanted < 2:
        return
    threads = wanted * (warps or USUAL_WARPS) * WARP_SIZE
    if wanted > architecture.blocks or threads > architecture.threads:
        blocks = min(architecture.blocks, architecture.threads // ((warps or USUAL_WARPS) * WARP_SIZE))
        each = f"of {warps} warps " if warps else ""
        yield LintFinding(entry, f"{wanted} tile blocks {each}are advised on {name}, which holds {blocks}")
        return
    live = live_tiles(entry, architecture)
    capacity = register_capacity(architecture, warps, wanted)
    if live is not None and capacity <= live.registers < register_capacity(architecture, warps):
        words = (
            f"with {wanted} tile blocks on a multiprocessor of {name}, as advised, each has {capacity} registers, and "
            f"tiles that are needed at once take {live.registers}"
        )
        yield LintFinding(entry, words, notes=[("they are needed here", live.operation)])


def _program(blocks: int, marked: bool) -> str:
    return f"""\
entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<sm_90 = {{occupancy = {blocks} : i32}}> {{{" // here" * marked}
  %tensor = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %view = make_partition_view %tensor : partition_view<tile=(16384), tensor_view<?xf32, strides=[1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %a, %t = load_view_tko weak %view[%x] : partition_view<tile=(16384), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<16384xf32>, token
  %m = reduce %a dim=0 identities=[0.0 : f32] : tile<16384xf32> -> tile<f32> (%e: tile<f32>, %f: tile<f32>) {{
    %g = addf %e, %f : tile<f32>
    yield %g : tile<f32>
  }}
  %m_1 = reshape %m : tile<f32> -> tile<1xf32>
  %all = broadcast %m_1 : tile<1xf32> -> tile<16384xf32>
  %d = subf %a, %all : tile<16384xf32>
  %u = store_view_tko weak %d, %view[%x] token=%t : tile<16384xf32>, partition_view<tile=(16384), tensor_view<?xf32, strides=[1]>>, tile<i32> -> token
  return
}}
"""  # noqa: E501


CONTRADICTING_HINTS: Final = Rule(
    "contradicting-hints",
    "hardware",
    "A hint asks for what the GPU or the program cannot give",
    reason="Hints are advice, and bad advice is silently ignored or followed: as many tile blocks on a multiprocessor "
    f"as were asked for may leave each too few registers. Hints of kernels are {', '.join(HINTS_OF_KIND['entry'])}.",
    remedy="Ask for less, use smaller tiles, or leave the hint out.",
    positive=_program(4, True),
    negative=_program(2, False),
    check=_contradictions,
)
