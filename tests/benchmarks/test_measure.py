"""Ratios that a machine with fast moments does not change, and the order in which sides take turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure import CANDIDATES, Rounds, candidates, race


class Machine:
    """A clock that actions move forward, the faster the more its moment allows."""

    def __init__(self, moments: Iterator[float]) -> None:
        self.now = 0.0
        self.moments = moments
        self.done: list[str] = []

    def clock(self) -> float:
        return self.now

    def action(self, name: str, seconds: float) -> Callable[[], None]:
        def run() -> None:
            self.done.append(name)
            self.now += seconds / next(self.moments)

        return run


def test_sides_take_turns_forwards_and_backwards() -> None:
    machine = Machine(iter([1.0] * 100))
    sides = [machine.action(name, seconds) for name, seconds in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
    rounds = race(0.0, *sides, clock=machine.clock, turn=0.0, least=4)
    assert "".join(machine.done) == "abccbaabccba"
    assert rounds.times == [[1.0] * 4, [2.0] * 4, [3.0] * 4]
    assert (rounds.ratio(0, 1), rounds.typical(2), rounds.speeds([0, 1, 2])) == (2.0, 3.0, [2.0, 1.0, 2 / 3])


def test_a_fast_moment_that_one_side_meets_alone_does_not_change_the_ratio() -> None:
    # Two turns of one side, and four whole rounds, on a processor that is twice as fast.
    moments = [1.0] * 40
    moments[2] = moments[7] = 2.0
    moments[20:28] = [2.0] * 8
    machine = Machine(iter(moments))
    rounds = race(
        0.0, machine.action("ours", 3.0), machine.action("theirs", 3.3), clock=machine.clock, turn=0.0, least=20
    )
    assert rounds.ratio(0, 1) == pytest.approx(1.1)
    assert (rounds.best(0), rounds.typical(0)) == (1.5, 3.0)


def test_what_is_short_is_repeated_within_a_turn() -> None:
    machine = Machine(iter(lambda: 1.0, 0.0))
    rounds = race(0.0, machine.action("short", 1.0), clock=machine.clock, turn=0.002, least=3)
    assert rounds.times == [[1.0] * 3]
    assert len(machine.done) > 30


@given(st.lists(st.floats(0.1, 10.0), min_size=1, max_size=20, unique=True))
def test_the_fastest_and_the_slowest_race_again(speeds: list[float]) -> None:
    chosen = candidates(speeds)
    assert len(set(chosen)) == len(chosen) == min(len(speeds), 2 * CANDIDATES)
    assert speeds[chosen[0]] == max(speeds) and speeds[chosen[-1]] == min(speeds)


@given(st.lists(st.lists(st.floats(0.5, 2.0), min_size=7, max_size=7), min_size=1, max_size=5), st.floats(0.5, 2.0))
def test_a_round_on_a_faster_machine_has_the_same_speeds(times: list[list[float]], faster: float) -> None:
    numbers = range(len(times))
    changed = [[*row[:3], row[3] / faster, *row[4:]] for row in times]
    assert Rounds(changed).speeds(numbers) == pytest.approx(Rounds(times).speeds(numbers))
