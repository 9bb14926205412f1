"""Doubling every dimension of a program: no action on it may take more than in proportion.

`programs.py` is the table of dimensions, `actions.py` that of actions; every pair of them is measured.  The default
suite counts steps on small programs, for the actions that do the work of the others too; the long tests measure the
rest, and time on larger programs, which also shows what C does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from tests.growth.actions import ACTIONS, COMPILE, Action, NotApplicable, compiled, diagnosed
from tests.growth.broken_programs import BROKEN
from tests.growth.launches import LAUNCHES, LOOPS
from tests.growth.live_programs import LIVE
from tests.growth.measure import LLVM_TIME_BOUND, STEPS_BOUND, TIME_BOUND, seconds, step_growth, steps
from tests.growth.programs import SOUND
from tests.sampling import one_in

import tileir
import tileir.ir.core
from tileir.ir.symbols import SymbolTable
from tileir.ir.traversal import clone

SMALL = 8
MOST = 1024
ENOUGH_SECONDS = 0.01

CHOSEN = (
    "parse",
    "verify",
    "print",
    "print debug info",
    "copy",
    "compare",
    "write",
    "read",
    "optimize with all rules",
    "lower for the CPU with checks",
    "sanitize",
)

_ASSUMED = "a name has a part for each link of the chain, as NVIDIA prints it, up to a hundred"

INHERENT: dict[tuple[str, str], str] = {
    ("assumptions", "print"): _ASSUMED,
    ("assumptions", "print generic"): _ASSUMED,
    ("assumptions", "print debug info"): _ASSUMED,
    ("assumptions", "forms"): _ASSUMED,
    ("assumptions", "diff"): _ASSUMED,
    ("assumptions", "diff of another"): _ASSUMED,
}
"""Pairs of a dimension and an action that grow faster, with the reason."""

counted = pytest.mark.skipif(
    not tileir.ir.core.__file__.endswith(".py"),
    reason="compiled modules take no steps that Python sees; make test-long measures time",
)


def growth_in_steps(maker: Callable[[int], str], action: Action, n: int) -> float:
    # Once before: declarations, formats and types are made when they are first met.
    action.work(action.prepare(maker(4 * n)))
    return step_growth(lambda size: steps(action.work, action.prepare(maker(size))), n)


def check_steps(dimension: str, maker: Callable[[int], str], actions: dict[str, Action]) -> None:
    found = []
    for name, action in actions.items():
        if (dimension, name) in INHERENT:
            continue
        try:
            growth = growth_in_steps(maker, action, SMALL)
            if growth > STEPS_BOUND:
                # A table that doubles between two sizes, or a choice by size, settles on larger ones.
                growth = growth_in_steps(maker, action, 4 * SMALL)
        except NotApplicable:
            continue
        if growth > STEPS_BOUND:
            found.append(f"{name}: {growth:.2f} times the steps for the second doubling of {dimension}, not 2")
    assert not found


@pytest.mark.sampled(2)
@counted
@pytest.mark.parametrize("dimension", one_in(3, SOUND))
def test_steps_grow_in_proportion(dimension):
    check_steps(dimension, SOUND[dimension], {name: ACTIONS[name] for name in CHOSEN})


@counted
@pytest.mark.long
@pytest.mark.parametrize("dimension", SOUND)
def test_steps_of_all_other_actions_grow_in_proportion(dimension):
    check_steps(dimension, SOUND[dimension], {name: ACTIONS[name] for name in ACTIONS if name not in CHOSEN})


@counted
@pytest.mark.parametrize("dimension", BROKEN)
def test_steps_to_tell_mistakes_grow_in_proportion(dimension):
    check_steps(dimension, BROKEN[dimension], {"tell": Action(lambda text: text, diagnosed)})


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dimension", one_in(2, LIVE))
def test_native_code_grows_in_proportion(dimension):
    # LLVM takes no steps of Python; the lines that it is given and the code that it makes of them can be counted.
    plain, checked = COMPILE["compile natively"], COMPILE["compile natively with checks"]
    maker = LIVE[dimension]
    counts: dict[str, Callable[[int], int]] = {
        "lines": lambda size: plain.prepare(maker(size)).count("\n"),
        "lines with checks": lambda size: checked.prepare(maker(size)).count("\n"),
        "bytes of code": lambda size: len(compiled(False)(plain.prepare(maker(size)))),
    }
    for what, count in counts.items():
        # Passes are chosen by size: of three ranges at least one has no such choice in it.
        in_proportion = any(step_growth(count, times * SMALL) < STEPS_BOUND for times in (1, 4, 16))
        assert in_proportion, f"more than twice the {what} for the second doubling of {dimension}"


# --- time ---


def growth_in_time(maker: Callable[[int], str], action: Action, n: int, rounds: int) -> float:
    first, second = maker(n), maker(4 * n)
    least = seconds(action.work, lambda: action.prepare(first), rounds)
    return seconds(action.work, lambda: action.prepare(second), rounds) / max(least, 1e-6)


def check_time(
    dimension: str, maker: Callable[[int], str], actions: dict[str, Action], most: int = MOST, bound: float = TIME_BOUND
) -> None:
    found = []
    for name, action in actions.items():
        n = min(64, most)
        try:
            while n < most and seconds(action.work, lambda: action.prepare(maker(n)), 1) < ENOUGH_SECONDS:  # noqa: B023
                n = min(4 * n, most)
            growth = growth_in_time(maker, action, n, 1)
            for rounds in (2, 4, 4):
                # Another look, as other programs may have taken the caches.
                if growth > bound:
                    growth = min(growth, growth_in_time(maker, action, n, rounds))
        except (NotApplicable, tileir.LaunchError):
            # A kernel that nests too deep for an engine is refused.
            continue
        if growth > bound:
            found.append(f"{name}: {growth:.1f} times the time for four times {dimension}, from {n} on")
    assert not found


@pytest.mark.long
@pytest.mark.parametrize("dimension", SOUND)
def test_time_grows_in_proportion(dimension):
    # A program nests a thousand levels deep at most, with those around what this is about.
    check_time(dimension, SOUND[dimension], ACTIONS, 240 if dimension.startswith("nested") else MOST)


@pytest.mark.long
@pytest.mark.parametrize("dimension", LIVE)
def test_time_of_llvm_grows_hardly_more_than_in_proportion(dimension):
    check_time(dimension, LIVE[dimension], COMPILE, 256, LLVM_TIME_BOUND)


@pytest.mark.long
@pytest.mark.parametrize("dimension", BROKEN)
def test_time_to_tell_mistakes_grows_in_proportion(dimension):
    check_time(dimension, BROKEN[dimension], {"tell": Action(lambda text: text, diagnosed)})


# --- launches ---


def launch(name: str, blocks: int, schedule: str = "forward") -> Action:
    kernel = tileir.compile(tileir.parse(LAUNCHES[name]), backend="interpreter")

    def work(sanitizer: tileir.sanitizer.Sanitizer) -> object:
        arrays = numpy.zeros(blocks + 2, "i4"), numpy.zeros(64, "i4")
        kernel.launch(blocks, arrays, observer=sanitizer, schedule=schedule)
        return sanitizer.report.findings

    return Action(lambda _: tileir.sanitizer.Sanitizer(), work)


@pytest.mark.sampled(2)
@counted
@pytest.mark.parametrize("schedule", ["forward", "random:3"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_steps_of_the_sanitizer_grow_with_the_tile_blocks(name, schedule):
    def measured(blocks: int) -> int:
        action = launch(name, blocks, schedule)
        return steps(action.work, action.prepare(""))

    measured(8)
    growth = step_growth(measured, 24)
    assert growth < STEPS_BOUND


def turns_of(name: str) -> Callable[[int, tileir.sanitizer.Sanitizer], object]:
    kernel = tileir.compile(tileir.parse(LOOPS[name]), backend="interpreter")

    def work(turns: int, sanitizer: tileir.sanitizer.Sanitizer) -> object:
        # Two tile blocks: the second asks what the first one left.
        kernel.launch(2, (numpy.zeros(4, "i4"), numpy.zeros(turns, "i4"), turns), observer=sanitizer)
        return sanitizer.report.findings

    return work


@counted
@pytest.mark.parametrize("name", LOOPS)
def test_steps_of_the_sanitizer_grow_with_the_turns_of_a_loop(name):
    work = turns_of(name)
    work(8, tileir.sanitizer.Sanitizer())
    assert (
        step_growth(lambda turns: steps(lambda given: work(turns, given), tileir.sanitizer.Sanitizer()), 24)
        < STEPS_BOUND
    )


@pytest.mark.long
@pytest.mark.parametrize("name", LOOPS)
def test_time_of_the_sanitizer_grows_with_the_turns_of_a_loop(name):
    work = turns_of(name)

    def measured(turns: int) -> float:
        return seconds(lambda given: work(turns, given), tileir.sanitizer.Sanitizer, 2)

    assert min(measured(16384) / measured(4096) for _ in range(3)) < TIME_BOUND


@pytest.mark.long
@pytest.mark.parametrize("name", LAUNCHES)
def test_time_of_the_sanitizer_grows_with_the_tile_blocks(name):
    def measured(blocks: int) -> float:
        action = launch(name, blocks)
        return seconds(action.work, lambda: action.prepare(""), 2)

    assert min(measured(16384) / measured(4096) for _ in range(3)) < TIME_BOUND


def test_findings_are_told_once_for_each_operation_however_many_tile_blocks():
    action = launch("race", 200)
    found: Any = action.work(action.prepare(""))
    (finding,) = found
    assert finding.kind == "race" and finding.count == 199


# --- building ---


@counted
def test_steps_to_build_with_many_globals_grow_in_proportion():
    def build(count: int) -> object:
        builder = tileir.Builder()
        with builder.entry("k"):
            for number in range(count):
                builder.global_(f"g{number}", [number], tileir.types.i32)
                builder.get_global(f"g{number}")
            builder.return_()
        return builder.finish()

    build(4)
    assert step_growth(lambda count: steps(build, count), 16) < STEPS_BOUND


@counted
def test_steps_to_insert_symbols_of_one_name_grow_in_proportion():
    def insert(count: int) -> object:
        table = SymbolTable(tileir.parse("cuda_tile.module @m { global @g <i32: 1> : tile<1xi32> }"))
        first = table.by_name["g"]
        return [table.insert(clone(first)) for _ in range(count)]

    assert insert(3) == ["g_0", "g_1", "g_2"]
    assert step_growth(lambda count: steps(insert, count), 16) < STEPS_BOUND
