"""The model that chooses how the work of a tile block is laid out on a GPU: a table of rules.

Each setting has its rules, of which the first that holds wins.  The figures behind them were measured on an H200;
`docs/triton.md` shows the table.
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
"""Bytes that a thread loads at once."""
_WARP: Final = 32
_BARRIERS: Final = 256
"""Bytes of shared memory beside the stages."""

Setting = Callable[[Features, TritonTarget], Any]


class Rule(NamedTuple):
    """When a setting has which value, and why."""

    setting: str
    """A field of `Schedule`."""
    condition: str
    """In words."""
    value: str
    """In words."""
    because: str
    holds: Callable[[Features, TritonTarget], bool]
    choose: Setting


def _always(features: Features, target: TritonTarget) -> bool:
    return True


def _accumulators(features: Features) -> int:
    """The registers that matmuls and what loops carry take, in all threads."""
    single = max([each.accumulators for each in features.matmuls], default=0)
    return max([single, *[each.accumulator_registers for each in features.loops]])


def _largest(features: Features) -> MatmulLoop:
    """The loop whose stages take the most."""
    return max(features.loops, key=lambda each: each.stage_bytes)


def _k_bytes(loop: MatmulLoop) -> int:
    return max([each.k_bytes for each in loop.matmuls])


def _shares_multiprocessor(features: Features, target: TritonTarget) -> bool:
    """Whether two tile blocks with three stages each fit on a multiprocessor."""
    return 6 * _largest(features).stage_bytes <= target.shared


def _stages_within(features: Features, target: TritonTarget, most: int) -> int:
    return max(1, min(most, stages_that_fit(features, target)))


def stages_that_fit(features: Features, target: TritonTarget, blocks: int = 1) -> int:
    """How many stages of the largest loop so many tile blocks have room for, beside what they store."""
    loop = _largest(features)
    if not loop.stage_bytes:
        return 8
    room = target.shared // blocks - _BARRIERS
    if is_persistent(features, target):
        # The result of a tile is stored while the next is loaded.
        room -= features.stored_bytes // _parts(features, target)
    return max(0, room) // loop.stage_bytes


def _blocks(features: Features, target: TritonTarget, stages: int) -> int:
    """How many tile blocks, of up to four, a multiprocessor has shared memory for."""
    loop = _largest(features)
    # The left operand of the first matmul stays; each block has a kibibyte of the system's.
    resident = loop.matmuls[0].m * loop.matmuls[0].k_bytes
    each = stages * loop.stage_bytes + resident + _BARRIERS + _KIBIBYTE
    return min(4, (target.shared + _KIBIBYTE) // each)


def _is_attention(loop: MatmulLoop) -> bool:
    """Whether a loop has two matmuls on tensor cores, one of what the other gives, of 64 rows for each of two."""
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


def _parts(features: Features, target: TritonTarget) -> int:
    return (
        2
        if is_persistent(features, target)
        and not _specializes(features, target)
        and _accumulators(features) >= _LARGE_ACCUMULATOR // 2
        else 1
    )


def _row_warps(features: Features, vectors: int, most: int) -> int:
    """As many warps as give each thread so many vectors of the largest tile."""
    warps = 4
    tile = max(features.loaded_bytes, features.stored_bytes)
    while warps < most and tile > warps * _WARP * _VECTOR * vectors:
        warps *= 2
    return warps


def _row_stages(features: Features, target: TritonTarget) -> int:
    return max(1, min(4, target.shared // 2 // max(1, features.row_bytes)))


RULES: Final = (
    Rule(
        "num_warps",
        "matmuls of f32 or without tensor cores, of 8192 accumulators or more",
        "8",
        "multiplied element by element: half of the registers for each thread",
        lambda f, t: any(not each.on_tensor_cores and each.accumulators >= 8192 for each in f.matmuls),
        lambda f, t: 8,
    ),
    Rule(
        "num_warps",
        "matmuls whose accumulators take 32768 registers or more",
        "8",
        "4 warps would spill: 128 registers of each thread are accumulators",
        lambda f, t: _accumulators(f) >= _LARGE_ACCUMULATOR,
        lambda f, t: 8,
    ),
    Rule(
        "num_warps",
        "one matmul of f8 in the loop, of 128 rows, whose result is added to f32, on a GPU with `wgmma`",
        "8",
        "beside those that load",
        lambda f, t: _specializes(f, t) and _is_f8_matmul(f, t),
        lambda f, t: 8,
    ),
    Rule(
        "num_warps",
        "two matmuls in a loop, the second of what the first gives, of 128 rows",
        "8",
        "the first one's result and the second one's accumulators are in registers at once",
        lambda f, t: any(_is_attention(each) for each in f.loops),
        lambda f, t: 8,
    ),
    Rule(
        "num_warps",
        "other matmuls",
        "4",
        "a group of four warps multiplies; more share less work",
        lambda f, t: bool(f.matmuls),
        lambda f, t: 4,
    ),
    Rule(
        "num_warps",
        "tiles that are transposed, of 4096 elements or more",
        "8",
        "they go through shared memory: more threads hide that",
        lambda f, t: f.transposes and f.widest >= 4096,
        lambda f, t: 8,
    ),
    Rule(
        "num_warps",
        "reductions and scans",
        "4 to 16: at most four vectors of 16 bytes for each thread",
        "rows of 8 KiB: 4.07 TB/s with 4 warps, 4.0 with 8, 3.2 to 3.8 with 16",
        lambda f, t: f.reduces,
        lambda f, t: _row_warps(f, 4, 16),
    ),
    Rule(
        "num_warps",
        "all others",
        "4 or 8: at most two vectors of 16 bytes for each thread",
        "1024 elements of f32: as fast as a copy; more for each thread is 1 to 4 % slower",
        _always,
        lambda f, t: _row_warps(f, 2, 8),
    ),
    Rule(
        "num_stages",
        "no loop with matmuls",
        "3",
        "there is nothing to overlap",
        lambda f, t: not f.loops,
        lambda f, t: 3,
    ),
    Rule(
        "num_stages",
        "persistent loops, stages of at most 8 KiB",
        "4, as far as they fit",
        "342 TFLOP/s with four tile blocks on a multiprocessor, 299 with 5 stages (64x64x32)",
        lambda f, t: is_persistent(f, t) and _largest(f).stage_bytes <= 8 * _KIBIBYTE,
        lambda f, t: _stages_within(f, t, 4),
    ),
    Rule(
        "num_stages",
        "loops with matmuls, stages of at most 8 KiB",
        "8, as far as they fit",
        "332 TFLOP/s, 315 with 4 stages (64x64x32)",
        lambda f, t: _largest(f).stage_bytes <= 8 * _KIBIBYTE,
        lambda f, t: _stages_within(f, t, 8),
    ),
    Rule(
        "num_stages",
        "several matmuls in the loop, of 64 rows, where two stages leave room for one more tile block, of up to four",
        "2",
        "tile blocks hide more of each other than a third stage does: 474 TFLOP/s, 445 with 3 (attention, 64x128)",
        lambda f, t: (
            len(_largest(f).matmuls) > 1 and not _is_attention(_largest(f)) and _blocks(f, t, 2) > _blocks(f, t, 3)
        ),
        lambda f, t: 2,
    ),
    Rule(
        "num_stages",
        "several matmuls in the loop",
        "3, as far as they fit",
        "the matmuls wait for each other: more stages change nothing, and take room from other tile blocks",
        lambda f, t: len(_largest(f).matmuls) > 1,
        lambda f, t: _stages_within(f, t, 3),
    ),
    Rule(
        "num_stages",
        "one matmul of f8 in the loop, of 128 rows, whose result is added to f32, on a GPU with `wgmma`",
        "5, as far as they fit",
        "the warps that load are ahead",
        lambda f, t: _specializes(f, t) and _is_f8_matmul(f, t),
        lambda f, t: _stages_within(f, t, 5),
    ),
    Rule(
        "num_stages",
        "persistent loops of which two with 4 stages fit on a multiprocessor, or with 3 where the program asks for two",
        "5, as far as two of them fit",
        "629 TFLOP/s with two on each, 542 with a tile block for every tile (64x128x64)",
        lambda f, t: is_persistent(f, t) and stages_that_fit(f, t, 2) >= (3 if f.occupancy > 1 else 4),
        lambda f, t: min(5, stages_that_fit(f, t, 2)),
    ),
    Rule(
        "num_stages",
        "at most 64 bytes of K",
        "5, as far as they fit",
        "687 TFLOP/s, 527 with 3 stages (128x256x32)",
        lambda f, t: _k_bytes(_largest(f)) <= 64,
        lambda f, t: _stages_within(f, t, 5),
    ),
    Rule(
        "num_stages",
        "two tile blocks with 3 stages each on a multiprocessor",
        "3",
        "a second or third tile block hides more than a fourth stage: 509 TFLOP/s, 469 with 4 (128x64x64)",
        lambda f, t: f.persistent is None and _shares_multiprocessor(f, t),
        lambda f, t: 3,
    ),
    Rule(
        "num_stages",
        "at most 128 bytes of K",
        "5, as far as they fit",
        "625 TFLOP/s, 507 with 3 stages (64x256x64)",
        lambda f, t: _k_bytes(_largest(f)) <= 128,
        lambda f, t: _stages_within(f, t, 5),
    ),
    Rule(
        "num_stages",
        "other matmuls",
        "4, as far as they fit",
        "535 TFLOP/s, 454 with 3 stages (64x128x128)",
        _always,
        lambda f, t: _stages_within(f, t, 4),
    ),
    Rule(
        "descriptors",
        "a GPU with TMA",
        "yes, for operands and results of matmuls",
        "2 to 4 % faster than addresses for matmuls, and slower for everything else",
        lambda f, t: t.has_tma,
        lambda f, t: True,
    ),
    Rule("descriptors", "other GPUs", "no", "they have none", _always, lambda f, t: False),
    Rule(
        "flatten",
        "warps that load",
        "no",
        "they load for the next tile anyway",
        _specializes,
        lambda f, t: False,
    ),
    Rule(
        "flatten",
        "a persistent loop around the only one with matmuls, on a GPU with TMA",
        "yes",
        "loads for the next tile are under way while one is stored: 2 %",
        is_persistent,
        lambda f, t: True,
    ),
    Rule("flatten", "all others", "no", "there is one loop, or it stores what it loads", _always, lambda f, t: False),
    Rule(
        "warp_specialize",
        "two matmuls in a loop, the second of what the first gives, of 128 rows, on a GPU with `wgmma`; "
        "one matmul of f8 of 128 rows whose result is added to f32; "
        "persistent matmuls of 16 bits with 32768 accumulators",
        "yes",
        "650 TFLOP/s, 400 without (attention of depth 128); 415 and 350 (depth 64); f8 added to f32: 1.4 times; "
        "128x256x64: 1.026 of cuBLAS, 1.013 without",
        lambda f, t: _specializes(f, t),
        lambda f, t: True,
    ),
    Rule(
        "warp_specialize",
        "all others",
        "no",
        "warps that load beside warps that compute; `tune` tries it",
        _always,
        lambda f, t: False,
    ),
    Rule(
        "epilogue_parts",
        "persistent loops whose accumulators take 16384 registers or more, without warps that load",
        "2",
        "leaves shared memory for a stage, or a tile block, more: 1 to 3 %",
        lambda f, t: _parts(f, t) == 2,
        _parts,
    ),
    Rule("epilogue_parts", "all others", "1", "the stages' memory is free by then", _always, lambda f, t: 1),
    Rule("most_registers", "all", "as many as there are", "fewer spill", _always, lambda f, t: 0),
    Rule(
        "row_stages",
        "loops without matmuls that load 2 KiB or more in an iteration",
        "4, within half of the shared memory",
        "rows are loaded while others are computed: 3.8 TB/s, 1.1 to 2.9 without (one row after the other)",
        lambda f, t: bool(f.row_loops) and f.row_bytes >= 2 * _KIBIBYTE,
        _row_stages,
    ),
    Rule("row_stages", "all others", "1", "the hardware does enough", _always, lambda f, t: 1),
)


def rules_for(features: Features, target: TritonTarget) -> dict[str, Rule]:
    """By setting, the rule that decides it: the first that holds."""
    found: dict[str, Rule] = {}
    for rule in RULES:
        if rule.setting not in found and rule.holds(features, target):
            found[rule.setting] = rule
    return found


def schedule_for(features: Features, target: TritonTarget) -> Schedule:
    """What the rules choose."""
    return Schedule(**{name: rule.choose(features, target) for name, rule in rules_for(features, target).items()})


def shared_bytes(features: Features, schedule: Schedule, target: TritonTarget) -> int:
    """How much shared memory the loops with matmuls take, about."""
    if not features.loops:
        return 0
    stored = features.stored_bytes // schedule.epilogue_parts if schedule.flatten else 0
    return _largest(features).stage_bytes * schedule.num_stages + stored + _BARRIERS


def smaller(schedule: Schedule) -> Schedule | None:
    """What to try where a GPU has too little for one: fewer stages, then the result in more parts; None for nothing."""
    if schedule.row_stages > 1:
        return schedule._replace(row_stages=schedule.row_stages - 1)
    if schedule.num_stages > 1:
        return schedule._replace(num_stages=schedule.num_stages - 1)
    if schedule.flatten:
        return schedule._replace(flatten=False)
    if schedule.descriptors:
        return schedule._replace(descriptors=False)
    return None


def table() -> str:
    """The rules as a table of Markdown, for the documentation."""
    lines = ["| setting | where | value | because |", "|---|---|---|---|"]
    last = ""
    for rule in RULES:
        name = f"`{rule.setting}`" if rule.setting != last else ""
        last = rule.setting
        lines.append(f"| {name} | {rule.condition} | {rule.value} | {rule.because} |")
    return "\n".join(lines) + "\n"
