"""The search: edits are tried in order, and the first that is interesting is taken.

With several jobs, candidates further down the list are tested while the first one is: a bet that it fails.  Verdicts
are looked at in order all the same, so that the way taken does not depend on how many jobs there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Optional, Protocol, TypeVar

from tileir.analyze.reducing.verdicts import Verdicts

Subject = TypeVar("Subject")
Asked = TypeVar("Asked", contravariant=True)
Changed = Callable[[], Optional[Subject]]  # noqa: UP045
"""Makes a candidate, or finds that there is none here."""


class Cancelled(Exception):
    """A test was ended because its answer is not needed any more."""


class Test(Protocol[Asked]):
    """Says whether a candidate is interesting."""

    def __call__(self, candidate: Asked) -> bool: ...

    def cancel(self) -> None:
        """End the tests under way, which raise `Cancelled`; those that begin later are not concerned."""


class Kind(Protocol[Asked]):
    """What the search has to know about what is reduced."""

    def digest(self, candidate: Asked) -> bytes: ...

    def is_simpler(self, candidate: Asked, best: Asked) -> bool: ...

    def is_valid(self, candidate: Asked) -> bool: ...

    def data(self, candidate: Asked) -> bytes:
        """The candidate as it is written to a file."""


class Search(Generic[Subject]):
    """The best candidate so far, and how it is made better.

    `tests` counts verdicts that were needed, `steps` those that led on; neither depends on the number of jobs.
    """

    def __init__(
        self,
        best: Subject,
        kind: Kind[Subject],
        test: Test[Subject],
        verdicts: Verdicts,
        jobs: int = 1,
        progress: Callable[[Search[Subject]], None] | None = None,
    ) -> None:
        self.best: Subject = best
        self.tests: int = 0
        self.steps: int = 0
        self._kind: Kind[Subject] = kind
        self._test: Test[Subject] = test
        self._verdicts: Verdicts = verdicts
        self._jobs: int = jobs
        self._progress: Callable[[Search[Subject]], None] | None = progress
        self._seen: set[bytes] = {kind.digest(best)}
        """Candidates that were found wanting in this search, or were the best one."""
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(jobs) if jobs > 1 else None

    def close(self) -> None:
        if self._pool is not None:
            self._test.cancel()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def exhaust(self, changes: Callable[[Subject], Sequence[Changed[Subject]]]) -> bool:
        """Try all changes once, each on the best candidate at its time; whether one helped."""
        position = 0
        helped = False
        while True:
            found = self._first(changes(self.best), position)
            if found is None:
                return helped
            # What was at this place is gone, so that the next change is here now.
            position, self.best = found
            helped = True
            self.steps += 1
            self._verdicts.save_best(self._kind.data(self.best))
            self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self)

    def _first(self, changes: Sequence[Changed[Subject]], position: int) -> tuple[int, Subject] | None:
        """The first change from a position on that gives an interesting candidate."""
        waiting: deque[tuple[int, Subject, bytes, Future[bool] | bool | None]] = deque()
        candidates = self._candidates(changes, position)
        pool = self._pool
        running = 0
        exhausted = False
        while True:
            while not exhausted and running < self._jobs:
                new = next(candidates, None)
                if new is None:
                    exhausted = True
                    break
                index, candidate, digest = new
                known = self._verdicts.get(digest)
                verdict: Future[bool] | bool | None = known
                if known is None:
                    running += 1
                    if pool is not None:
                        verdict = pool.submit(self._test, candidate)
                waiting.append((index, candidate, digest, verdict))
                if known:
                    # What comes after it is not needed.
                    exhausted = True
            if not waiting:
                return None
            index, candidate, digest, verdict = waiting.popleft()
            if isinstance(verdict, bool):
                interesting = verdict
            else:
                running -= 1
                interesting = verdict.result() if verdict is not None else self._test(candidate)
                self._verdicts.put(digest, interesting)
            self.tests += 1
            if interesting:
                self._abandon(waiting)
                return index, candidate
            self._seen.add(digest)
            self._tell()

    def _candidates(self, changes: Sequence[Changed[Subject]], position: int) -> Iterator[tuple[int, Subject, bytes]]:
        """Candidates worth a test: new ones, simpler than the best, and valid."""
        made: set[bytes] = set()
        for index in range(position, len(changes)):
            candidate = changes[index]()
            if candidate is None or not self._kind.is_simpler(candidate, self.best):
                continue
            digest = self._kind.digest(candidate)
            if digest in self._seen or digest in made:
                continue
            made.add(digest)
            if not self._kind.is_valid(candidate):
                self._seen.add(digest)
                continue
            yield index, candidate, digest

    def _abandon(self, waiting: deque[tuple[int, Subject, bytes, Future[bool] | bool | None]]) -> None:
        """End the tests whose answers are not needed; what they have found out already is kept."""
        self._test.cancel()
        for _, _, digest, verdict in waiting:
            if isinstance(verdict, Future) and not verdict.cancel():
                try:
                    self._verdicts.put(digest, verdict.result())
                except Cancelled:
                    pass
