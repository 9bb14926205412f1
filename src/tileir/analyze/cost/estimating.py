"""One kernel, one launch, one target: counted, and estimated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from tileir.analyze.cost.gpu_model import estimate_on_gpu
from tileir.analyze.cost.occupancy import Occupancy, guessed_blocks, occupancy_of, waves_of
from tileir.analyze.cost.processor import compute_seconds, estimate_on_processor, is_busy, processor
from tileir.analyze.cost.result import ArrayCost, Ceiling, Cost, Roofline
from tileir.analyze.cost.targets import PROCESSOR, GpuTarget, ProcessorTarget, Target
from tileir.execute.errors import BlockId
from tileir.execute.gpu.peaks import Peaks, matrix_name
from tileir.execute.locations.program_text import written_names
from tileir.execute.work.counting import count_work
from tileir.execute.work.operations import Work, quantity
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError

_MOST_OPERATIONS: Final = 5000
"""The largest kernel that is compiled for its resources: compilers take minutes for larger ones."""
_SECONDS: Final = 30.0
"""The time limit of that compilation."""


def estimate(
    entry: Operation, grid: BlockId, arguments: Sequence[object], target: Target, names: Sequence[str], assemble: bool
) -> Cost:
    """What a launch of a kernel costs.  `names` are those of the arguments, where they have any; else those of the text
    that the program was read from."""
    work = count_work(entry, grid, arguments)
    written = written_names(entry)
    parameters = [written.get(each, "").removeprefix("%") for each in entry.regions[0].blocks[0].arguments]
    names = [one or other for one, other in zip_longest(names, parameters, fillvalue="")]
    if isinstance(target, ProcessorTarget):
        found = _on_processor(work, names)
    else:
        found = _on_gpu(entry, work, target, names, assemble)
    if work.unknown:
        # The first reason, as the time covers only a part of the launch: a matmul without its loop looks fast.
        found.reasons.insert(0, "at least: what is not known before it runs is not counted, see the notes")
    return found


def _on_gpu(entry: Operation, work: Work, target: GpuTarget, names: Sequence[str], assemble: bool) -> Cost:
    occupancy = _occupancy(entry, target, assemble)
    each, guess = occupancy.blocks, None
    if not each:
        # Also where the compiled kernel does not fit at all.
        each = guessed_blocks(entry, target.gpu)
        guess = f"a guess from the sizes of tiles: {each} tile blocks on a multiprocessor"
    at_once = max(target.gpu.multiprocessors * each // occupancy.cluster, 1)
    waves = waves_of(work.blocks, at_once, guess)
    seconds, reasons, left_out = estimate_on_gpu(work, target, occupancy, waves)
    notes = [*work.unknown, *work.notes, *left_out]
    if occupancy.cluster > 1:
        spread = f"a tile block is spread over a cluster of {occupancy.cluster} thread blocks, on multiprocessors that"
        notes.append(f"{spread} lie together: not all of them may have such a location")
    if work.footprint and work.footprint <= target.gpu.l2_cache:
        fits = f"all of it fits into the level-2 cache of {quantity(target.gpu.l2_cache, 'B')}"
        notes.append(f"{fits}: a launch that finds it there does not wait for memory")
    if occupancy.spills:
        out = "the compiled kernel runs out of registers and keeps values in memory"
        notes.append(f"{out}: it is slower than estimated")
    peaks, arrays = target.peaks, _arrays(work, names)
    roofline = _roofline(work, peaks.memory * 1e12, _ceilings(work, peaks), peaks.compute_seconds(work))
    sources = [f"peaks: {peaks.source}"]
    return Cost(work, target.key, target.title, arrays, roofline, occupancy, waves, seconds, reasons, sources, notes)


def _on_processor(work: Work, names: Sequence[str]) -> Cost:
    machine = processor()
    seconds, reasons = estimate_on_processor(work, machine, machine.cores)
    notes = [*work.unknown, *work.notes]
    if is_busy():
        notes.append("this machine has other work to do: what it can do may be more than was measured")
    ceilings = [
        Ceiling("f32 matmuls", machine.products * machine.cores, bool(work.matrix_flops)),
        Ceiling("f32", machine.arithmetic * machine.cores, bool(work.flops)),
    ]
    title = f"this processor ({machine.name}, {machine.cores} cores)"
    roofline = _roofline(work, machine.memory, ceilings, compute_seconds(work, machine) / machine.cores)
    occupancy = Occupancy(reason="a processor has cores, each of which runs one tile block at a time")
    source = (
        f"peaks: measured here on {machine.measured} with kernels of the CPU backend: adding arrays of 32 MB on all"
    )
    source += " cores; matmuls of 64 x 64 tiles, a chain of additions and multiplications, and exp, on one core"
    arrays, waves = _arrays(work, names), waves_of(work.blocks, machine.cores)
    return Cost(work, PROCESSOR, title, arrays, roofline, occupancy, waves, seconds, reasons, [source], notes)


def _occupancy(entry: Operation, target: GpuTarget, assemble: bool) -> Occupancy:
    """What the compiled kernel takes, if there is a compiler that takes it in time."""
    if not assemble:
        return Occupancy(reason="the kernel was not compiled, as requested")
    count = sum(1 for _ in entry.walk())
    if count > _MOST_OPERATIONS:
        return Occupancy(reason=f"a kernel of {count} operations takes long to compile")
    # Imported here: what compiles takes longer to import than all else takes.
    from tileir.execute.gpu.tileiras.kernel import make_cubin
    from tileir.execute.gpu.tileiras.tool import AssemblyOptions

    try:
        cubin = make_cubin(entry, target.gpu.architecture, AssemblyOptions(time_limit=_SECONDS))
    except TileIRError as error:
        return Occupancy(reason=error.diagnostics[0].message if error.diagnostics else str(error))
    return occupancy_of(cubin.resources, target.gpu)


def _arrays(work: Work, names: Sequence[str]) -> list[ArrayCost]:
    known = {f"argument {number}": name for number, name in enumerate(names) if name}
    return [
        ArrayCost(known.get(each.name, each.name), each.read, each.written, each.least_read + each.least_written)
        for each in work.arrays
    ]


def _ceilings(work: Work, peaks: Peaks) -> list[Ceiling]:
    kinds = {kind.rpartition(" ")[2] for kind in work.by_kind("floating")}
    used = {matrix_name(element) for element in work.matrix_flops}
    ceilings = [Ceiling(f"{name} matmuls", value * 1e12, name in used) for name, value in peaks.matrix.items()]
    ceilings.append(Ceiling("f32", peaks.f32 * 1e12, bool(kinds - {"f64"}) or "f32" in used))
    if peaks.f64:
        ceilings.append(Ceiling("f64", peaks.f64 * 1e12, "f64" in kinds))
    return sorted(ceilings, key=lambda ceiling: -ceiling.value)


def _roofline(work: Work, memory: float, ceilings: list[Ceiling], seconds: float) -> Roofline:
    """Where a kernel stands that computes for so long at the peak of each kind of its operations."""
    if not work.footprint or not work.total_flops or not seconds:
        return Roofline(memory, ceilings, None, None)
    return Roofline(memory, ceilings, work.intensity, min(work.intensity * memory, work.total_flops / seconds))
