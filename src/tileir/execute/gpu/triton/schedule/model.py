"""The rules that choose how the work of a tile block is laid out on a GPU: for each setting, the first that holds wins.

The figures behind them were measured on an H200; `docs/internals/triton.md` shows the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tileir.execute.gpu.triton.code import Schedule
from tileir.execute.gpu.triton.schedule.features import Features, MatmulLoop, may_load_early
from tileir.execute.gpu.triton.toolchain import TritonTarget

_KIBIBYTE: Final = 1024
_LARGE_ACCUMULATOR: Final = 32768
"""Accumulators of f32 that take 128 registers of each thread of 8 warps, and all there are of 4 warps."""
_VECTOR: Final = 16
_WARP: Final = 32
_BARRIERS: Final = 256

_STEPS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("without warps for loads alone", {"warp_specialize": False}),
    ("without stages of rows", {"row_stages": 1}),
    ("with one stage", {"num_stages": 1}),
    ("without descriptors", {"descriptors": False}),
    ("with 4 warps", {"num_warps": 4}),
    ("with 8 warps", {"num_warps": 8}),
)
"""What fallbacks give up, one after the other, where Triton makes no code."""

Setting = Callable[[Features, TritonTarget], Any]


class Rule(NamedTuple):
    """When a setting has which value, and why."""

    condition: str
    because: str
    choice: Setting | int  # The value, or what computes it.
    holds: Callable[[Features, TritonTarget], bool] = lambda features, target: True
    value: str = ""  # A text for the value, where it is more than a constant.

    def choose(self, features: Features, target: TritonTarget) -> Any:
        return self.choice(features, target) if callable(self.choice) else self.choice


def _accumulators(features: Features) -> int:
    """The registers that matmuls and what loops carry take, in all threads."""
    single = max([each.accumulators for each in features.matmuls], default=0)
    return max([single, *[each.accumulator_registers for each in features.loops]])


def _largest(features: Features) -> MatmulLoop:
    return max(features.loops, key=lambda each: each.stage_bytes)


def _stages_within(features: Features, target: TritonTarget, most: int) -> int:
    return max(1, min(most, stages_that_fit(features, target)))


def stages_that_fit(features: Features, target: TritonTarget, blocks: int = 1) -> int:
    """How many stages of the largest loop so many tile blocks have room for."""
    stage_bytes = _largest(features).stage_bytes
    return max(0, target.shared // blocks - _BARRIERS) // stage_bytes if stage_bytes else 8


def _blocks(features: Features, target: TritonTarget, stages: int) -> int:
    """How many tile blocks, of up to four, a multiprocessor has shared memory for."""
    loop = _largest(features)
    # The left operand of the first matmul stays; each block has a kibibyte of the system's.
    resident = loop.matmuls[0].m * loop.matmuls[0].k_bytes
    each = stages * loop.stage_bytes + resident + _BARRIERS + _KIBIBYTE
    return min(4, (target.shared + _KIBIBYTE) // each)


def _is_attention(loop: MatmulLoop) -> bool:
    """Whether a loop has two matmuls on tensor cores, one of the result of the other, of 64 rows for each of two
    groups of warps."""
    return loop.is_chained and all(each.on_tensor_cores and each.m % 128 == 0 for each in loop.matmuls)


def _specializes(features: Features, target: TritonTarget) -> bool:
    """Whether warps that do nothing but load pay."""
    if not target.has_wgmma or not features.may_specialize:
        return False
    if _is_f8_matmul(features, target) or _is_large_matmul(features, target):
        return True
    return any(_is_attention(each) and each.is_early for each in features.loops)


def _is_large_matmul(features: Features, target: TritonTarget) -> bool:
    """Whether it is a persistent matmul of f16 or bf16 with 32768 accumulators, of 64 rows for each of two groups."""
    if not is_persistent(features, target) or len(features.matmuls) != 1:
        return False
    matmul = features.matmuls[0]
    is_half = matmul.on_tensor_cores and matmul.k_bytes == 2 * matmul.k
    return is_half and matmul.accumulators == _LARGE_ACCUMULATOR and matmul.m % 128 == 0 and matmul.n >= 128


def _is_f8_matmul(features: Features, target: TritonTarget) -> bool:
    """Whether the loop has one matmul of f8, whose sum is added to another, of 64 rows for each of two groups."""
    if not target.has_wgmma or len(features.loops) != 1:
        return False
    (loop,) = features.loops
    return loop.is_early and len(loop.matmuls) == 1 and loop.matmuls[0].is_promoted and loop.matmuls[0].m == 128


def is_persistent(features: Features, target: TritonTarget) -> bool:
    """Whether a tile block computes one tile after the other, and may load for the next before it stores one."""
    return target.has_tma and features.persistent is not None and may_load_early(features.persistent)


def _row_warps(features: Features, target: TritonTarget) -> int:
    tile = max(features.loaded_bytes, features.stored_bytes)
    vectors, most = (4, 16) if features.reduces else (2, 8)
    warps = 4
    while warps < most and tile > warps * _WARP * _VECTOR * vectors:
        warps *= 2
    return warps


RULES: Final[dict[str, tuple[Rule, ...]]] = {
    "num_warps": (
        Rule(
            "matmuls of f32 or without tensor cores, of 8192 accumulators or more",
            "multiplied element by element: half of the registers for each thread",
            8,
            lambda f, t: any(not each.on_tensor_cores and each.accumulators >= 8192 for each in f.matmuls),
        ),
        Rule(
            "matmuls whose accumulators need 32768 registers or more",
            "4 warps would spill: 128 registers of each thread are accumulators",
            8,
            lambda f, t: _accumulators(f) >= _LARGE_ACCUMULATOR,
        ),
        Rule(
            "two matmuls of 128 rows in a loop, where the second multiplies the result of the first",
            "the first one's result and the second one's accumulators are in registers at once",
            8,
            lambda f, t: any(_is_attention(each) for each in f.loops),
        ),
        Rule(
            "other matmuls", "a group of four warps multiplies; more share less work", 4, lambda f, t: bool(f.matmuls)
        ),
        Rule(
            "all others",
            "1024 elements of f32: as fast as a copy; softmax of 8 KiB: 3.89 TB/s with 4 warps, 3.72 with 8",
            _row_warps,
            value="4 or 8: at most two vectors of 16 bytes for each thread; with reductions 4 to 16, at most four",
        ),
    ),
    "num_stages": (
        Rule("no loop with matmuls", "there is nothing to overlap", 3, lambda f, t: not f.loops),
        Rule(
            "persistent loops, stages of at most 8 KiB",
            "342 TFLOP/s with four tile blocks on a multiprocessor, 299 with 5 stages (64x64x32)",
            lambda f, t: _stages_within(f, t, 4),
            lambda f, t: is_persistent(f, t) and _largest(f).stage_bytes <= 8 * _KIBIBYTE,
            value="4, as far as they fit",
        ),
        Rule(
            "several matmuls of 64 rows in the loop, where two stages leave room for one more tile block, up to four",
            "one more tile block hides more than a third stage: 474 TFLOP/s, 445 with 3 (attention, 64x128)",
            2,
            lambda f, t: (
                len(_largest(f).matmuls) > 1 and not _is_attention(_largest(f)) and _blocks(f, t, 2) > _blocks(f, t, 3)
            ),
        ),
        Rule(
            "persistent loops of which two with 4 stages fit on a multiprocessor, or 3 where the program requests two",
            "629 TFLOP/s with two on each, 542 with a tile block for every tile (64x128x64)",
            lambda f, t: min(5, stages_that_fit(f, t, 2)),
            lambda f, t: is_persistent(f, t) and stages_that_fit(f, t, 2) >= (3 if f.occupancy > 1 else 4),
            value="5, as far as two of them fit",
        ),
        Rule(
            "at most 64 bytes of K",
            "687 TFLOP/s, 527 with 3 stages (128x256x32)",
            lambda f, t: _stages_within(f, t, 5),
            lambda f, t: max([each.k_bytes for each in _largest(f).matmuls]) <= 64,
            value="5, as far as they fit",
        ),
        Rule(
            "two tile blocks with 3 stages each on a multiprocessor",
            "a second or third tile block hides more than a fourth stage: 509 TFLOP/s, 469 with 4 (128x64x64)",
            3,
            lambda f, t: f.persistent is None and (6 * _largest(f).stage_bytes <= t.shared),
        ),
        Rule(
            "other matmuls",
            "535 TFLOP/s, 454 with 3 stages (64x128x128)",
            lambda f, t: _stages_within(f, t, 4),
            value="4, as far as they fit",
        ),
    ),
    "descriptors": (
        Rule(
            "a GPU with TMA",
            "2 to 4 % faster than addresses for matmuls, and slower for everything else",
            True,
            lambda f, t: t.has_tma,
            value="yes, in kernels with matmuls",
        ),
        Rule("other GPUs", "they have none", False),
    ),
    "warp_specialize": (
        Rule(
            "on a GPU with `wgmma`: two matmuls of 128 rows in a loop, where the second multiplies the result of the "
            "first; one matmul of f8 of 128 rows whose result is added to f32; "
            "persistent matmuls of 16 bits with 32768 accumulators",
            "650 TFLOP/s, 400 without (attention of depth 128); 415 and 350 (depth 64); f8 added to f32: 1.4 times; "
            "128x256x64: 1.026 of cuBLAS, 1.013 without",
            True,
            lambda f, t: _specializes(f, t),
        ),
        Rule("all others", "warps that load beside warps that compute; `tune` tries it", False),
    ),
    "row_stages": (
        Rule(
            "loops without matmuls that load 2 KiB or more in an iteration",
            "rows are loaded while others are computed: 3.8 TB/s, 1.1 to 2.9 without (one row after the other)",
            lambda f, t: max(1, min(4, t.shared // 2 // max(1, f.row_bytes))),
            lambda f, t: bool(f.row_loops) and f.row_bytes >= 2 * _KIBIBYTE,
            value="4, within half of the shared memory",
        ),
        Rule("all others", "the hardware does enough", 1),
    ),
}


def rules_for(features: Features, target: TritonTarget) -> dict[str, Rule]:
    """By setting, the rule that decides it: the first that holds."""
    return {name: next(rule for rule in rules if rule.holds(features, target)) for name, rules in RULES.items()}


def schedule_for(features: Features, target: TritonTarget) -> Schedule:
    return Schedule(**{name: rule.choose(features, target) for name, rule in rules_for(features, target).items()})


def shared_bytes(features: Features, schedule: Schedule) -> int:
    """How much shared memory the loops with matmuls take, about."""
    return _largest(features).stage_bytes * schedule.num_stages + _BARRIERS if features.loops else 0


def smaller(schedule: Schedule) -> Schedule | None:
    """What to try where a GPU has too little for one: fewer stages, then no descriptors; None for nothing."""
    for name in ("row_stages", "num_stages", "descriptors"):
        value = getattr(schedule, name)
        if value > (0 if isinstance(value, bool) else 1):
            return schedule._replace(**{name: type(value)(value - 1)})
    return None


def plainer_schedules(schedule: Schedule) -> list[tuple[str, Schedule]]:
    """Schedules that take fewer resources, each with what it drops beside those before it."""
    found: list[tuple[str, Schedule]] = []
    seen = {schedule}
    for words, change in _STEPS:
        schedule = schedule._replace(**change)
        if schedule not in seen:
            seen.add(schedule)
            found.append((words, schedule))
    return found


def table() -> str:
    """The rules as a table of Markdown, for the documentation."""
    lines = ["| setting | where | value | because |", "|---|---|---|---|"]
    for setting, rules in RULES.items():
        for number, rule in enumerate(rules):
            name = "" if number else f"`{setting}`"
            constant = ("no", "yes")[rule.choice] if isinstance(rule.choice, bool) else str(rule.choice)
            lines.append(f"| {name} | {rule.condition} | {rule.value or constant} | {rule.because} |")
    return "\n".join(lines) + "\n"
