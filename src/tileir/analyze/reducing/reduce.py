"""`tileir.reduce`: a program made smaller while a function keeps saying that it is interesting."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.search import Search
from tileir.analyze.reducing.searching import ProgramKind, search_program
from tileir.analyze.reducing.verdicts import StoredVerdicts, Verdicts
from tileir.interface import load, verify
from tileir.ir.core import Operation
from tileir.ir.diagnostics import OptionError
from tileir.ir.quoting import type_text
from tileir.ir.traversal import clone


class Reduction:
    """What a reduction came to.

    `module` is the smallest program found, `original` how many operations there were at first and `operations` how many
    are left.  `tests` is how many candidates had to be tested, `steps` how many of them led on.  `complete` is False
    where it was interrupted: nothing more was tried, and `module` is the best so far.
    """

    def __init__(self, module: Operation, original: int, tests: int, steps: int, complete: bool) -> None:
        self.module: Operation = module
        self.original: int = original
        self.operations: int = sum(1 for _ in module.walk())
        self.tests: int = tests
        self.steps: int = steps
        self.complete: bool = complete

    def __repr__(self) -> str:
        return f"<Reduction of {self.original} operations to {self.operations} in {self.tests} tests>"


class Progress:
    """How far a reduction is: operations now and at first, tests and steps so far."""

    __slots__ = ("operations", "original", "steps", "tests")

    def __init__(self, operations: int, original: int, tests: int, steps: int) -> None:
        self.operations: int = operations
        self.original: int = original
        self.tests: int = tests
        self.steps: int = steps

    def __repr__(self) -> str:
        return f"<Progress: {self.operations} of {self.original} operations after {self.tests} tests>"


class _FunctionTest:
    """A test that is a function of a module."""

    def __init__(self, interesting: Callable[[Operation], bool]) -> None:
        self._interesting: Callable[[Operation], bool] = interesting

    def __call__(self, candidate: Program) -> bool:
        # A copy: what the function does to its module is its own affair.
        return bool(self._interesting(clone(candidate.module)))

    def cancel(self) -> None:
        """A function cannot be interrupted."""


def reduce(
    module: Operation | bytes,
    interesting: Callable[[Operation], bool],
    *,
    jobs: int = 1,
    allow_invalid: bool = False,
    state: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> Reduction:
    """The smallest program found for which a function still says yes.

    The program is a module, or the bytes of a file.  `interesting` gets a module of its own, which is always valid
    unless you `allow_invalid`.  The original must be interesting, or it is a `NotInterestingError`.  With `jobs` above
    1 the function is called by so many threads at a time; what is found does not depend on it.  `state` names a
    directory that keeps what was found out, so that the same call goes on there after it was interrupted; the function
    must be the same, too.  `progress` is called after every test.
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

    def tell(search: Search[Program]) -> None:
        if progress is not None:
            progress(Progress(len(search.best.operations), count, search.tests, search.steps))

    verdicts = Verdicts()
    if state is not None:
        verdicts = StoredVerdicts(os.fspath(state), {"program": program.digest().hex()})
    try:
        found = search_program(
            program, ProgramKind(not allow_invalid), _FunctionTest(interesting), jobs, verdicts, tell
        )
    finally:
        verdicts.close()
    return Reduction(found.best.module, count, found.tests, found.steps, found.complete)
