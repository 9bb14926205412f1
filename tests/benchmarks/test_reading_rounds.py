"""How the time of an operation grows, measured on a machine whose clock changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import pytest

import bytecode_speed
import reading_rounds
from reading_rounds import Growth, Program, take_round


class Machine:
    """Its clock gets slower all the time: each piece of work takes longer than the one before."""

    def __init__(self) -> None:
        self.moment = 0

    def seconds(self, work: float) -> float:
        self.moment += 1
        return work * (1 + self.moment / 320)


class Timed:
    """A program of which each operation takes what is said."""

    def __init__(self, machine: Machine, count: int, ours: float, tool: float) -> None:
        self.machine, self.count, self.ours, self.tool = machine, count, ours, tool

    def steps(self) -> Iterator[float]:
        for part in (0.5, 0.5):
            yield self.machine.seconds(self.ours * self.count * part)

    def run_tool(self, start: float) -> float:
        return self.machine.seconds(self.tool * self.count) - start


def round_of(monkeypatch: pytest.MonkeyPatch, *programs: tuple[int, float, float]) -> Growth:
    # Garbage of the whole test run would be collected before each piece of work.
    monkeypatch.setattr(reading_rounds, "gc", Mock())
    monkeypatch.setattr(reading_rounds, "cpu_of_tool", lambda path: 0.0)
    monkeypatch.setattr(reading_rounds, "for_seconds", lambda action, seconds: sum(action() for _ in range(8)) / 8)
    machine = Machine()
    *smaller, large = [cast(Program, Timed(machine, *each)) for each in programs]
    return take_round(smaller, large, Path(), 0.0)


def test_a_clock_that_changes_is_no_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    growth = round_of(monkeypatch, (10, 1.0, 3.0), (1000, 1.0, 3.0))
    assert growth.ours == pytest.approx([1.0], rel=0.05)
    assert growth.tool == pytest.approx([1.0], rel=0.05)


def test_growth_is_that_of_an_operation_from_each_smaller_program(monkeypatch: pytest.MonkeyPatch) -> None:
    growth = round_of(monkeypatch, (10, 1.0, 3.0), (100, 2.0, 3.0), (1000, 3.0, 3.0))
    assert growth.ours == pytest.approx([3.0, 1.5], rel=0.05)
    assert growth.tool == pytest.approx([1.0, 1.0], rel=0.05)


def test_the_growth_of_several_rounds_is_the_median_of_the_smaller_programs_with_most() -> None:
    both = [[1.0, 1.2], [9.0, 1.3], [1.1, 0.1]]
    rounds = [Growth(ours, [ours[1], ours[0]], 1.0) for ours in both]
    assert bytecode_speed.most(rounds, lambda each: each.ours) == 1.2
    assert bytecode_speed.most(rounds[:2], lambda each: each.tool) == 5.0
