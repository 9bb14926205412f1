"""Planted bugs are reduced to programs near the smallest ones known, the same however many tests run at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from tests.analyze.reducing.planted import BUGS, Bug, InProcess, Plant, PlantedEngine

import tileir
from tileir.analyze.reducing.program import Program, ProgramFile
from tileir.analyze.reducing.reduce import program_kind, reduce_program
from tileir.analyze.reducing.search import Search, Verdicts
from tileir.execute.arguments.argument_text import stated_launch

SIZE = 60
FACTOR = 1.5
LEAST = 0.9
"""So many of all bugs."""


@pytest.fixture
def planted(request: pytest.FixtureRequest) -> Iterator[Bug]:
    bug: Bug = request.param
    tileir.backends.register_backend(PlantedEngine(bug))
    yield bug
    tileir.backends.unregister_backend(PlantedEngine.name)


def smallest(bug: Bug) -> Program:
    return Program.original(tileir.parse(bug.smallest, verify=True))


def reduced(plant: Plant, jobs: int = 1) -> Program:
    return Search(plant.program, program_kind(), plant.test, Verdicts(), jobs).run(reduce_program).best


@pytest.mark.parametrize("planted", BUGS, indirect=True, ids=lambda bug: bug.name)
def test_the_smallest_program_known_shows_the_bug(planted: Bug) -> None:
    program = smallest(planted)
    launch = stated_launch(planted.smallest)
    assert launch is not None
    assert InProcess(planted, launch, program)(program)


def near_the_smallest(bugs: Sequence[Bug], size: int, times: int = 1) -> list[str]:
    """The bugs of which programs of a size are reduced to nearly the smallest one, the same each time."""
    near: list[str] = []
    for bug in bugs:
        tileir.backends.register_backend(PlantedEngine(bug))
        try:
            plant = Plant(bug, size)
            found = [reduced(plant) for _ in range(times)]
        finally:
            tileir.backends.unregister_backend(PlantedEngine.name)
        assert len({ProgramFile().data(each) for each in found}) == 1, bug.name
        tileir.verify(found[0].module)
        assert len(plant.program.operations) > 4 * len(found[0].operations), bug.name
        if len(found[0].operations) <= FACTOR * len(smallest(bug).operations):
            near.append(bug.name)
    return near


def test_planted_bugs_are_reduced_to_nearly_the_smallest_programs() -> None:
    chosen = BUGS[::2]
    assert len(near_the_smallest(chosen, SIZE)) >= LEAST * len(chosen)


def test_the_result_does_not_depend_on_the_number_of_jobs() -> None:
    bug = BUGS[7]
    tileir.backends.register_backend(PlantedEngine(bug))
    try:
        plant = Plant(bug, SIZE)
        files = [ProgramFile().data(reduced(plant, jobs)) for jobs in (1, 4, 4)]
    finally:
        tileir.backends.unregister_backend(PlantedEngine.name)
    assert files[0] == files[1] == files[2]


@pytest.mark.long
def test_planted_bugs_in_larger_programs_twice() -> None:
    assert len(BUGS) == 20
    assert len(near_the_smallest(BUGS, 150, times=2)) >= LEAST * len(BUGS)
