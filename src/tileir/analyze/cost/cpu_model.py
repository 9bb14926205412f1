"""How long a launch takes on this processor, and why: the model of docs/cost.md.

Each core takes tile blocks one after the other, and computes products, arithmetic and functions one after the other.
What memory takes for the footprint and what the core with the most tile blocks computes overlap in part: the time is
the root of the sum of their squares.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from tileir.analyze.cost.processor import Processor
from tileir.execute.launching.timing import duration
from tileir.execute.work.operations import COMPARING, CONVERTING, FLOATING, INTEGER, MATRIX, Work, cost_of, quantity
from tileir.ir.traits import FUNCTION

LAUNCH: Final = 10e-6
"""Seconds that a launch takes if it does nothing."""

_WIDE: Final = 2.0
"""How much longer elements of f64 and i64 take, and products of f64."""
_WIDE_FUNCTION: Final = 2.9
_NARROW_FUNCTION: Final = 1.7
"""Those of f16 and bf16, which are computed in f32 and rounded as if they were not."""


class CoreWork(NamedTuple):
    """What a launch computes, in elements of the operations whose rates are measured, over all tile blocks."""

    products: float
    arithmetic: float
    functions: float


def core_work(work: Work) -> CoreWork:
    products = arithmetic = functions = 0.0
    for kind, amount in work.computed.items():
        group, _, types = kind
        cost = cost_of(kind)
        wide = types.startswith(("f64", "i64"))
        if group == MATRIX:
            products += amount * (_WIDE if wide else 1.0)
        elif group == FLOATING and cost.work == FUNCTION:
            narrow = types in ("f16", "bf16")
            weight = _WIDE_FUNCTION if wide else _NARROW_FUNCTION if narrow else 1.0
            functions += amount * cost.core * weight
        elif group in (FLOATING, INTEGER, COMPARING, CONVERTING):
            # A fused multiply-add is counted as two operations, and one instruction.
            arithmetic += amount / cost.flops * cost.core * (_WIDE if wide else 1.0)
    return CoreWork(products, arithmetic, functions)


def compute_seconds(work: Work, machine: Processor) -> float:
    """How long one core would compute for the whole launch."""
    found = core_work(work)
    return (
        found.products / machine.products + found.arithmetic / machine.arithmetic + found.functions / machine.functions
    )


def estimate_on_processor(work: Work, machine: Processor, cores: int) -> tuple[float, list[str]]:
    """Seconds of a launch on so many cores, and how they come about."""
    bandwidth = min(machine.memory, machine.core_memory * cores)
    memory = work.footprint / bandwidth
    found = core_work(work)
    parts = [
        ("products", found.products, machine.products, "FLOP/s"),
        ("arithmetic", found.arithmetic, machine.arithmetic, "elements/s"),
        ("functions", found.functions, machine.functions, "elements/s"),
    ]
    most = max(-(-work.blocks // cores), work.imbalance)
    computing = compute_seconds(work, machine) * most / work.blocks
    reasons = []
    if work.footprint:
        text = f"{quantity(work.footprint, 'B')} at {quantity(bandwidth, 'B/s')}, which {_cores(cores)} reached"
        reasons.append(f"memory: {text} = {duration(memory)}")
    for name, amount, rate, unit in parts:
        if amount:
            text = f"{quantity(amount, '')} at {quantity(rate, unit)} on each of {_cores(cores)}"
            reasons.append(f"{name}: {text} = {duration(amount / rate * most / work.blocks)}")
    reasons.append(f"launch: {duration(LAUNCH)}, whatever the kernel does")
    if max(memory, computing) < LAUNCH:
        reasons.append("the launch itself takes longest: there is little to do")
    else:
        both = f"computing, {duration(computing)}" if memory < computing else f"memory, {duration(memory)}"
        reasons.append(f"{both}, decides; the other overlaps with it in part")
    return math.hypot(memory, computing) + LAUNCH, reasons


def _cores(count: int) -> str:
    return f"{count} core{'' if count == 1 else 's'}"
