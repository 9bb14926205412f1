"""Random programs, recorded: what an observer of a plain launch sees, and loaded from a file the same."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy
import pytest
from tests.execute.recording.reference import Reference, agree
from tests.execute.test_random_programs import OPERATIONS, arguments_for
from tests.generators.programs import random_module

import tileir
from tileir.execute.launching.entries import entries_of
from tileir.execute.launching.kernel import Kernel
from tileir.execute.observing.observer import TileBlock
from tileir.ir.core import Operation
from tileir.ir.versions import V13_4

SCHEDULES = ("forward", "reverse", "random:1", "interleaved")
_MOST_STEPS = 800


class _Enough(Exception):
    """The program ran long enough: random loops need not end."""


class _Limited(Reference):
    def before(self, operation: Operation, block: TileBlock, operands: list[Any]) -> None:
        super().before(operation, block, operands)
        if sum([len(steps) for steps in self.steps.values()]) > _MOST_STEPS:
            raise _Enough


def check(seed: int, path: Path) -> int:
    """Compare a random program's recordings; gives how many there are."""
    module = random_module(
        Random(seed), size=25, operations=OPERATIONS, version=V13_4, discardable=False, locations=False
    )
    schedule = SCHEDULES[seed % 4]
    count = 0
    for name in entries_of(module):
        arguments = arguments_for(entries_of(module)[name])
        if arguments is None:
            continue
        arrays = [argument for argument in arguments if isinstance(argument, numpy.ndarray)]
        before = [array.copy() for array in arrays]
        kernel = tileir.compile(module, entry=name, backend="interpreter")
        reference = _Limited()
        failure = ""
        try:
            kernel.launch((2, 2), arguments, observer=reference, schedule=schedule, output=lambda text: None)
        except _Enough:
            continue
        except tileir.TileIRError as error:
            failure = type(error).__name__
        after = [array.tobytes() for array in arrays]
        for array, old in zip(arrays, before, strict=True):
            array[...] = old
        # Global variables begin with their first values again, as they did in the launch.
        kernel = Kernel(kernel.entry, backend="interpreter")
        try:
            recording = tileir.record(
                kernel, (2, 2), arguments, sanitize=False, schedule=schedule, output=lambda text: None
            )
        except tileir.LaunchError:
            assert failure == "LaunchError"
            continue
        assert bool(recording.failure) == bool(failure)
        assert [array.tobytes() for array in arrays] == after
        agree(recording, reference)
        recording.save(path)
        loaded = tileir.recording.load(path)
        for block in loaded.order.tolist():
            assert loaded.steps(block).tolist() == recording.steps(block).tolist()
        count += 1
    return count


def test_random_programs_are_recorded_as_an_observer_sees_them(tmp_path: Path) -> None:
    assert sum([check(seed, tmp_path / "random.tilerec") for seed in range(24)]) > 15


@pytest.mark.long
def test_many_random_programs_are_recorded_as_an_observer_sees_them(tmp_path: Path) -> None:
    assert sum([check(seed, tmp_path / "random.tilerec") for seed in range(1000, 1300)]) > 150
