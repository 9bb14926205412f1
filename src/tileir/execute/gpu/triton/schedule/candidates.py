"""The schedules that a search tries: what the model leaves open, near what it chooses, and no more than a few."""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.options import Schedule
from tileir.execute.gpu.triton.schedule.features import Features
from tileir.execute.gpu.triton.schedule.model import is_persistent, shared_bytes
from tileir.execute.gpu.triton.targets import TritonTarget

MOST: Final = 24
_FEWEST_STAGES: Final = 2
_MOST_STAGES: Final = 8


def candidates(features: Features, target: TritonTarget, chosen: Schedule) -> list[Schedule]:
    """Others than the one that is chosen, those that differ least first."""
    found: list[Schedule] = []

    def add(schedule: Schedule) -> None:
        fits = shared_bytes(features, schedule, target) <= target.shared
        if fits and schedule != chosen and schedule not in found:
            found.append(schedule)

    if features.loops:
        for schedule in _of_products(features, target, chosen):
            add(schedule)
    else:
        for schedule in _of_rows(features, chosen):
            add(schedule)
    return found[:MOST]


def _of_products(features: Features, target: TritonTarget, chosen: Schedule) -> list[Schedule]:
    near = [chosen.num_stages + step for step in (-1, 1, -2, 2)]
    stages = [each for each in near if _FEWEST_STAGES <= each <= _MOST_STAGES]
    warps = 4 if chosen.num_warps == 8 else 8
    found = [chosen._replace(num_stages=each) for each in stages]
    found += [chosen._replace(num_warps=warps, num_stages=each) for each in (chosen.num_stages, *stages)]
    if chosen.descriptors:
        found.append(chosen._replace(descriptors=False, warp_specialize=False))
    if is_persistent(features, target):
        found.append(chosen._replace(flatten=not chosen.flatten))
        for parts in (1, 2, 4):
            for each in (chosen.num_stages, *stages):
                found.append(chosen._replace(epilogue_parts=parts, num_stages=each))
    if target.has_wgmma:
        for each in (chosen.num_stages, *stages):
            found.append(chosen._replace(num_warps=8, num_stages=each, warp_specialize=not chosen.warp_specialize))
    return found


def _of_rows(features: Features, chosen: Schedule) -> list[Schedule]:
    warps = [each for each in (1, 2, 4, 8, 16) if each != chosen.num_warps]
    warps.sort(key=lambda each: abs(each.bit_length() - chosen.num_warps.bit_length()))
    found = [chosen._replace(num_warps=each) for each in warps]
    if features.row_loops:
        for stages in (1, 2, 3, 4):
            found += [chosen._replace(row_stages=stages, num_warps=each) for each in (chosen.num_warps, *warps[:2])]
    return found
