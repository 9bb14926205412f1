"""`tileir.reduce`: a program made smaller while a test succeeds; the table of passes, and the driver."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tileir.analyze.reducing import removal, simplification
from tileir.analyze.reducing.control_flow import carried_removals, inlined_regions, may_not_end, parameter_removals
from tileir.analyze.reducing.program import Edit, Program, ProgramFile, weight
from tileir.analyze.reducing.search import Kind, Search, Verdicts
from tileir.analyze.reducing.shapes import element_changes, shape_changes
from tileir.interface import load, verify
from tileir.ir.core import Operation
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import OptionError
from tileir.ir.quoting import type_text
from tileir.ir.traversal import clone
from tileir.ir.verifier import verify_operation
from tileir.passes.debug_info import strip_locations

Pass = Callable[[Program], Iterator[Edit]]


def whole_program(program: Program) -> Iterator[Edit]:
    """What is dropped in the whole program at once, before anything else."""
    yield lambda candidate: strip_locations(candidate.module) > 0
    yield simplification.strip_attributes
    yield removal.dead_code_removal


def grid_changes(program: Program) -> Iterator[Edit]:
    """A launch of one tile block, or of one along a dimension."""
    grid = program.grid or (1,)
    for chosen in dict.fromkeys([(1,), *[(*grid[:axis], 1, *grid[axis + 1 :]) for axis in range(len(grid))]]):
        if chosen != grid:
            yield partial(_set_grid, grid=chosen)


def _set_grid(program: Program, grid: tuple[int, ...]) -> None:
    program.grid = grid


PASSES: Final[dict[str, Pass]] = {
    "grid": grid_changes,
    "regions": inlined_regions,
    "carried values": carried_removals,
    "operands": simplification.operand_changes,
    "shapes": shape_changes,
    "element types": element_changes,
    "parameters": parameter_removals,
    "attributes": simplification.attribute_changes,
    "locations": simplification.location_changes,
    "names": simplification.name_changes,
}
"""In the order in which they run, after chunks of symbols and of operations: those that remove most come first."""


def _exhaust(search: Search[Program], edits: Pass) -> None:
    search.exhaust(lambda best: [partial(best.edited, edit) for edit in edits(best)])


def reduce_program(search: Search[Program]) -> None:
    """Run the passes on the best program of a search until none of them helps."""
    _exhaust(search, whole_program)
    before = -1
    while search.steps != before:
        before = search.steps
        size = len(removal.removable_positions(search.best, symbols=True))
        while size:
            _exhaust(search, partial(removal.symbol_removals, size=size))
            size //= 2
        # Half of the operations, a quarter, and so on down to single ones.
        size = (len(removal.removable_positions(search.best)) + 1) // 2
        while size:
            _exhaust(search, partial(removal.chunk_removals, size=size))
            size = min(size // 2, (len(removal.removable_positions(search.best)) + 1) // 2)
        for edits in PASSES.values():
            _exhaust(search, edits)


def program_kind(verified: bool = True, file: ProgramFile | None = None) -> Kind[Program]:
    """What the search has to know about programs; candidates must verify if they are `verified`."""
    form = file if file is not None else ProgramFile()

    def is_valid(candidate: Program) -> bool:
        if not verified:
            try:
                candidate.module.text()
            except Exception:
                # A program that does not verify may have no text.
                return False
            return True
        context = VerifyContext(first_only=True)
        verify_operation(candidate.module, context)
        # What has a grid is launched.
        return not context.errors and (candidate.grid is None or not may_not_end(candidate))

    return Kind(Program.digest, weight, is_valid, lambda candidate: form.data(candidate) or b"")


@dataclass(slots=True, eq=False, repr=False)
class Reduction:
    """The result of a reduction.

    `module` is the smallest program found, `original` how many operations there were at first and `operations` how many
    are left.  `tests` is how many candidates had to be tested, `steps` how many of them led on.  `complete` is False
    where it was interrupted: nothing more was tried, and `module` is the best so far.
    """

    module: Operation
    original: int
    operations: int
    tests: int
    steps: int
    complete: bool

    def __repr__(self) -> str:
        return f"<Reduction of {self.original} operations to {self.operations} in {self.tests} tests>"


@dataclass(slots=True, eq=False, repr=False)
class ReductionProgress:
    """How far a reduction is: operations now and at first, tests and steps so far."""

    operations: int
    original: int
    tests: int
    steps: int

    def __repr__(self) -> str:
        return f"<Progress: {self.operations} of {self.original} operations after {self.tests} tests>"


def reduce(
    module: Operation | bytes,
    interesting: Callable[[Operation], bool],
    *,
    jobs: int = 1,
    allow_invalid: bool = False,
    state: str | os.PathLike[str] | None = None,
    progress: Callable[[ReductionProgress], Any] | None = None,
) -> Reduction:
    """Return the smallest program found for which a function is still true.

    The program is a module, or the bytes of a file.  `interesting` gets a module of its own, which is always valid
    unless you `allow_invalid`.  The original must be interesting, or it is a `NotInterestingError`.  With `jobs` above
    1 the function is called by so many threads at a time; the result does not depend on it.  `state` names a directory
    that keeps the verdicts, so that the same call resumes there after it was interrupted; the function must be the
    same, too.  `progress` is called after every test.

    >>> tileir.reduce(module, lambda smaller: "addf" in str(smaller))
    <Reduction of 27 operations to 5 in 21 tests>
    """
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1:
        raise OptionError(f"jobs is {jobs!r}: give a number of candidates to be tested at a time, from 1")
    if not callable(interesting):
        raise TypeError(f"what is interesting is a function of a module, not {type_text(interesting)}")
    if not isinstance(module, Operation):
        module = load(module, verify=False)
    if not allow_invalid:
        verify(module)
    program = Program.original(module)
    count = len(program.operations)

    def report(search: Search[Program]) -> None:
        if progress is not None:
            progress(ReductionProgress(len(search.best.operations), count, search.tests, search.steps))

    verdicts = Verdicts(None if state is None else os.fspath(state), {"program": program.digest().hex()})

    def test(candidate: Program) -> bool:
        return bool(interesting(clone(candidate.module)))

    try:
        found = Search(program, program_kind(not allow_invalid), test, verdicts, jobs, report).run(reduce_program)
    finally:
        verdicts.close()
    best = found.best
    return Reduction(best.module, count, len(best.operations), found.tests, found.steps, found.complete)
