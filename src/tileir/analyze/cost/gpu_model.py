"""How long a launch takes on a GPU, and why: as long as the slowest of the units of the model in docs/tools/cost.md."""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.analyze.cost.occupancy import USUAL_WARPS, Occupancy, Waves
from tileir.analyze.cost.targets import GpuTarget
from tileir.execute.gpu.gpus import WARP_SIZE
from tileir.execute.launching.timing import duration
from tileir.execute.work.operations import COMPARING, CONVERTING, FLOATING, INTEGER, Work, cost_of, quantity

MEMORY_SHARE: Final = 0.92
"""The share of the peak memory bandwidth that kernels reach which do nothing else."""
MATRIX_SHARE: Final = 0.80
"""The share of the peak of matmuls; power and clocks limit it more than the code does."""
ISSUE_SHARE: Final = 0.85
"""The share of the issue slots of a multiprocessor that are used."""
LATENCY: Final = 0.65e-6
"""Seconds from a load to its result, if that comes from memory."""
EXCHANGE: Final = 300
"""Clocks in which the warps of a tile block come to one result and wait for each other."""
CHAIN: Final = 3
"""Clocks that an element takes beside its instruction if the one before has to be added first."""
ITERATION: Final = 350
"""Clocks from one iteration of a loop to the next, for what was loaded ahead, and for what is stored."""
BRANCH: Final = 40
"""Clocks that an element takes beside its instructions if it is computed after the one before, and not beside it."""
HIDDEN: Final = 0.5
"""The share of the time of special functions that other instructions of the same tile block hide."""
LAUNCH: Final = 2.5e-6
"""Seconds that a launch takes on the GPU if it does nothing."""

_PARTS: Final = 4
"""The partitions of a multiprocessor: each issues an instruction of a warp in each clock."""
_SPECIAL_LANES: Final = 16
"""Elements for which a multiprocessor begins a special function in each clock (CUDA C++ programming guide)."""
_L2_BYTES: Final = 64
"""Bytes that a multiprocessor takes from the level-2 cache in each clock."""
_L2_OF_WHOLE: Final[dict[str, int]] = {"a100": 5120}
"""Bytes of the level-2 cache in each clock, where the published rate is lower (A100: its whitepaper, 2020)."""
_DOUBLE_FUNCTION: Final = 25
"""Instructions of f64 for an element of an operation that has none of its own."""


class Instructions(NamedTuple):
    """What a launch issues outside of matmuls, over all tile blocks: instructions for one element each."""

    issued: float
    special: float
    double: float
    """Instructions of f64, which has units of its own."""
    branching: float
    """Elements that are computed sequentially."""


def instructions_of(work: Work) -> Instructions:
    issued = special = double = branching = 0.0
    for kind, amount in work.computed.items():
        group, _, types = kind
        if group not in (FLOATING, INTEGER, COMPARING, CONVERTING):
            continue
        cost = cost_of(kind)
        # A fused multiply-add is counted as two operations, and one instruction.
        elements = amount // cost.flops
        is_double = types == "f64" if group == FLOATING else group != INTEGER and "f64" in types
        if is_double:
            count: float = elements * (_DOUBLE_FUNCTION if cost.issued > 1 else 1)
            double += count
        else:
            count = elements * cost.issued * (2 if group == INTEGER and types == "i64" else 1)
            special += elements * cost.special
            branching += elements if cost.branches else 0
        issued += count
    return Instructions(issued, special, double, branching)


class Term(NamedTuple):
    """One of what a launch may take as long as; of a kind of unit, how long all of them take if evenly spread."""

    name: str
    seconds: float
    text: str
    by_warps: bool = False
    """Whether a tile block by itself takes longer with few warps."""
    hidden: float = 0.0
    """How much of that the other units hide."""


def estimate_on_gpu(
    work: Work, target: GpuTarget, occupancy: Occupancy, waves: Waves
) -> tuple[float, list[str], list[str]]:
    """Seconds of a launch on a GPU, how they come about, and what is left out of them."""
    gpu = target.gpu
    units = _units(work, target)
    # The multiprocessor that has the most to do decides.
    most = max(-(-work.blocks * occupancy.cluster // gpu.multiprocessors), work.imbalance) / occupancy.cluster
    uneven = most * gpu.multiprocessors / work.blocks
    note = f", {uneven:.3g} times as long as evenly spread" if uneven > 1.005 else ""
    terms = _memory_terms(work, target)
    terms += [Term(unit.name, unit.seconds * uneven, unit.text + note) for unit in units]
    terms.append(_serial_term(work, units, target, occupancy, waves))
    longest = max(terms, key=lambda term: term.seconds)
    reasons = [f"{term.name}: {term.text} = {duration(term.seconds)}" for term in terms if term.seconds > 0]
    reasons.append(f"launch: {duration(LAUNCH)}, whatever the kernel does")
    little = "the launch itself takes longest: there is little to do"
    reasons.append(f"{longest.name} decides" if longest.seconds > LAUNCH else little)
    return longest.seconds + LAUNCH, reasons, _left_out(work, target)


def _left_out(work: Work, target: GpuTarget) -> list[str]:
    """What nobody publishes a peak for."""
    peaks = target.peaks
    kinds = [f"matmuls of {element}" for element in work.matrix_flops if not peaks.matrix_peak(element)]
    if instructions_of(work).double and not peaks.f64:
        kinds.append("operations of f64")
    return [f"how fast {target.title} is at {kind} is not published: the time leaves them out" for kind in kinds]


def _memory_terms(work: Work, target: GpuTarget) -> list[Term]:
    gpu, peak = target.gpu, target.peaks.memory * 1e12
    fast = min(_L2_BYTES * gpu.multiprocessors, _L2_OF_WHOLE.get(gpu.key, 1 << 30)) * gpu.clock * 1e3
    footprint, moved = work.footprint, work.bytes_moved
    through = f"{quantity(footprint, 'B')} at {MEMORY_SHARE:.0%} of {quantity(peak, 'B/s')}"
    requested = f"{quantity(moved, 'B')} that tile blocks request at {quantity(fast, 'B/s')}"
    return [
        Term("memory", footprint / (peak * MEMORY_SHARE), through),
        Term("level-2 cache", moved / fast if moved > footprint else 0.0, requested),
    ]


def _units(work: Work, target: GpuTarget) -> list[Term]:
    gpu, peaks = target.gpu, target.peaks
    clocks = gpu.clock * 1e3 * gpu.multiprocessors
    found: list[Term] = []
    for element, amount in work.matrix_flops.items():
        peak = peaks.matrix_peak(element)
        if peak:
            text = f"{quantity(amount, 'FLOP')} of {element} at {MATRIX_SHARE:.0%} of {quantity(peak * 1e12, 'FLOP/s')}"
            found.append(Term(f"matrix units ({element})", amount / (peak * 1e12 * MATRIX_SHARE), text))
    issued, special, double, _ = instructions_of(work)
    # Two instructions at most for each lane of f32, whose peak counts two operations.
    rate = min(clocks * _PARTS * WARP_SIZE, peaks.f32 * 1e12)
    if issued:
        text = f"{quantity(issued, '')} for one element each at {ISSUE_SHARE:.0%} of {quantity(rate, '/s')}"
        found.append(Term("instructions", issued / (rate * ISSUE_SHARE), text, True))
    if special:
        rate = clocks * _SPECIAL_LANES
        text = f"{quantity(special, '')} for one element each at {quantity(rate, '/s')}"
        found.append(Term("special functions", special / rate, text, True, HIDDEN))
    if double and peaks.f64:
        rate = peaks.f64 * 1e12 / 2
        text = f"{quantity(double, '')} instructions for one element each at {quantity(rate, '/s')}"
        found.append(Term("f64 units", double / rate, text, True))
    return found


def _serial_term(work: Work, units: list[Term], target: GpuTarget, occupancy: Occupancy, waves: Waves) -> Term:
    blocks, clock = work.blocks, target.gpu.clock * 1e3
    # In a tile block with more warps, the others load operands.
    warps = min(occupancy.warps or USUAL_WARPS, USUAL_WARPS)
    # Each tile block has the units of its multiprocessor for itself, or of those of its cluster.
    each = target.gpu.multiprocessors / blocks / occupancy.cluster
    computing = 0.0
    for unit in units:
        computing += unit.seconds * each * (_PARTS / warps if unit.by_warps else 1.0) * (1.0 - unit.hidden)
    waits, exchanges, chained, iterations = [number / blocks for number in work.waits]
    one_by_one = instructions_of(work).branching / blocks * BRANCH + chained * CHAIN
    computing += one_by_one / (occupancy.cluster * warps * WARP_SIZE) / clock
    stopped = waits * LATENCY + (exchanges * EXCHANGE + iterations * ITERATION) / clock
    alone = computing + stopped
    many = max(waves.waves, work.imbalance)
    parts = [f"{duration(computing)} in its units, one kind at a time"] if computing else []
    stopping = [(waits, "for memory"), (exchanges, "for its own warps"), (iterations, "between iterations")]
    stops = [f"{_times(number, 3)} {what}" for number, what in stopping if number]
    if stops:
        parts.append(f"{duration(stopped)} waiting, {', '.join(stops)}")
    text = f"{_times(many, 4)} what a tile block takes by itself, {duration(alone)}: {'; '.join(parts)}"
    return Term("one after the other", many * alone, text)


def _times(number: float, digits: int) -> str:
    return f"{number:.{digits}g} {'time' if number == 1 else 'times'}"
