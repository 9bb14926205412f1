"""`tileir.reduce`: a program made smaller while a function keeps saying that it is interesting."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.reducers import reduce_program
from tileir.analyze.reducing.search import Search, Test
from tileir.analyze.reducing.verdicts import StoredVerdicts, Verdicts
from tileir.analyze.reducing.weights import Weight, weight
from tileir.interface import load
from tileir.ir.clone import clone
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.ir.verifier import VerifyContext, verify_operation


class NotInterestingError(TileIRError):
    """The program to be reduced does not pass the test itself."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])


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


class ModuleKind:
    """What the search has to know about modules."""

    def __init__(self, verified: bool = True) -> None:
        self._verified: bool = verified
        self._weighed: dict[int, tuple[Program, Weight]] = {}

    def digest(self, candidate: Program) -> bytes:
        return candidate.digest()

    def is_simpler(self, candidate: Program, best: Program) -> bool:
        known = self._weighed.get(0)
        if known is None or known[0] is not best:
            known = self._weighed[0] = (best, weight(best))
        return weight(candidate) < known[1]

    def is_valid(self, candidate: Program) -> bool:
        if not self._verified:
            return True
        context = VerifyContext(first_only=True)
        verify_operation(candidate.module, context)
        return not context.errors

    def data(self, candidate: Program) -> bytes:
        text = candidate.module.text(debug_info=candidate.has_locations)
        return text.encode("utf-8", "surrogateescape")


class FunctionTest:
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
    state: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> Reduction:
    """The smallest program found for which a function still says yes.

    `interesting` gets a module of its own, which is always valid.  The original must be interesting, or it is a
    `NotInterestingError`.  With `jobs` above 1 the function is called by so many threads at a time; what is found does
    not depend on it.  `state` names a directory that keeps what was found out, so that the same call goes on there
    after it was interrupted.  `progress` is called after every test.
    """
    original = module if isinstance(module, Operation) else load(module)
    program = Program.original(original)
    return search_program(program, FunctionTest(interesting), jobs, _verdicts(state, program), progress)


def search_program(
    program: Program,
    test: Test[Program],
    jobs: int,
    verdicts: Verdicts,
    progress: Callable[[Progress], Any] | None = None,
) -> Reduction:
    """Reduce a program by a test of any kind."""
    count = len(program.operations)

    def tell(search: Search[Program]) -> None:
        if progress is not None:
            progress(Progress(len(search.best.operations), count, search.tests, search.steps))

    if not test(program):
        raise NotInterestingError("the program is not interesting to begin with: the test says no to it")
    search = Search(program, ModuleKind(), test, verdicts, jobs, tell)
    complete = True
    try:
        reduce_program(search)
    except KeyboardInterrupt:
        complete = False
    finally:
        search.close()
        verdicts.close()
    return Reduction(search.best.module, count, search.tests, search.steps, complete)


def _verdicts(state: str | os.PathLike[str] | None, program: Program) -> Verdicts:
    if state is None:
        return Verdicts()
    return StoredVerdicts(os.fspath(state), {"program": program.digest().hex()})
