"""Other schedules than the model's: those that a search tries, and fallbacks where Triton makes no code."""

from __future__ import annotations

from typing import Any, Final

from tileir.execute.gpu.triton.code import Schedule
from tileir.execute.gpu.triton.schedule.features import Features
from tileir.execute.gpu.triton.schedule.model import is_persistent, shared_bytes
from tileir.execute.gpu.triton.toolchain import TritonTarget

MOST: Final = 24
_FEWEST_STAGES: Final = 2
_MOST_STAGES: Final = 8

_STEPS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("without warps for loads alone", {"warp_specialize": False}),
    ("without joined loops", {"flatten": False, "row_stages": 1}),
    ("with one stage", {"num_stages": 1, "epilogue_parts": 1}),
    ("without descriptors", {"descriptors": False}),
    ("with 4 warps", {"num_warps": 4}),
    ("with 8 warps", {"num_warps": 8}),
)


def candidates(features: Features, target: TritonTarget, chosen: Schedule) -> list[Schedule]:
    """Others than the one that is chosen, those that differ least first."""
    found: list[Schedule] = []

    def add(schedule: Schedule) -> None:
        fits = shared_bytes(features, schedule, target) <= target.shared
        if fits and schedule != chosen and schedule not in found:
            found.append(schedule)

    if features.loops:
        for schedule in _of_matmuls(features, target, chosen):
            add(schedule)
    else:
        for schedule in _of_rows(features, chosen):
            add(schedule)
    return found[:MOST]


def _of_matmuls(features: Features, target: TritonTarget, chosen: Schedule) -> list[Schedule]:
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


def plainer_schedules(schedule: Schedule) -> list[tuple[str, Schedule]]:
    """Schedules that ask for less, and what each gives up beside those before it."""
    found: list[tuple[str, Schedule]] = []
    seen = {schedule}
    for words, change in _STEPS:
        schedule = schedule._replace(**change)
        if schedule not in seen:
            seen.add(schedule)
            found.append((words, schedule))
    return found
