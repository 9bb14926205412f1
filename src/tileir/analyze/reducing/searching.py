"""A whole search: of a program, or of the contents of a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from tileir.analyze.reducing.endless import may_not_end
from tileir.analyze.reducing.errors import NotInterestingError
from tileir.analyze.reducing.files import ProgramFile
from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.reducers import reduce_program
from tileir.analyze.reducing.search import Kind, Search, Subject, Test
from tileir.analyze.reducing.texts import BytesKind, reduce_bytes
from tileir.analyze.reducing.verdicts import Verdicts
from tileir.analyze.reducing.weights import Weight, weight
from tileir.ir.declaration import VerifyContext
from tileir.ir.verifier import verify_operation


class Found(Generic[Subject]):
    """What a search came to; it is not `complete` if it was interrupted."""

    def __init__(self, best: Subject, tests: int, steps: int, complete: bool) -> None:
        self.best: Subject = best
        self.tests: int = tests
        self.steps: int = steps
        self.complete: bool = complete


Told = Callable[[Search[Subject]], None]


class ProgramKind:
    """What the search has to know about programs; those it takes are valid if they are `verified`."""

    def __init__(self, verified: bool = True, form: ProgramFile | None = None) -> None:
        self._verified: bool = verified
        self._form: ProgramFile = form if form is not None else ProgramFile()
        self._weighed: tuple[Program, Weight] | None = None

    def digest(self, candidate: Program) -> bytes:
        return candidate.digest()

    def is_simpler(self, candidate: Program, best: Program) -> bool:
        if self._weighed is None or self._weighed[0] is not best:
            self._weighed = (best, weight(best))
        return weight(candidate) < self._weighed[1]

    def is_valid(self, candidate: Program) -> bool:
        if not self._verified:
            return _has_text(candidate)
        context = VerifyContext(first_only=True)
        verify_operation(candidate.module, context)
        if context.errors:
            return False
        # What has a grid is launched.
        return candidate.grid is None or not may_not_end(candidate)

    def data(self, candidate: Program) -> bytes:
        return self._form.data(candidate) or b""


def _has_text(candidate: Program) -> bool:
    """Whether there is any way to write down a program that no verifier has seen."""
    try:
        candidate.module.text()
    except Exception:
        # Nothing can be relied on.
        return False
    return True


def search_program(
    program: Program,
    kind: ProgramKind,
    test: Test[Program],
    jobs: int,
    verdicts: Verdicts,
    tell: Told[Program] | None = None,
) -> Found[Program]:
    """Reduce a program by a test of any kind."""
    return _searched(program, kind, test, jobs, verdicts, tell, reduce_program)


def search_contents(
    data: bytes, test: Test[bytes], jobs: int, verdicts: Verdicts, tell: Told[bytes] | None = None
) -> Found[bytes]:
    """Reduce what is in a file, be it a program or not."""
    return _searched(data, BytesKind(), test, jobs, verdicts, tell, reduce_bytes)


def _searched(
    original: Subject,
    kind: Kind[Subject],
    test: Test[Subject],
    jobs: int,
    verdicts: Verdicts,
    tell: Told[Subject] | None,
    reduce: Callable[[Search[Subject]], None],
) -> Found[Subject]:
    if not test(original):
        raise NotInterestingError("the program is not interesting to begin with: the test says no to it")
    search = Search(original, kind, test, verdicts, jobs, tell)
    complete = True
    try:
        reduce(search)
    except KeyboardInterrupt:
        complete = False
    finally:
        search.close()
    return Found(search.best, search.tests, search.steps, complete)
