"""The search: edits are tried in order, and the first interesting candidate is taken.

With several jobs, candidates further down the list are tested while the first one is: a bet that it fails.  Verdicts
are read in order all the same, so the result does not depend on the number of jobs.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, Generic, Optional, TypeVar

from tileir.ir.diagnostics import Diagnostic, OptionError, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.whole_files import write_file

Subject = TypeVar("Subject")
Change = Callable[[], Optional[Subject]]  # noqa: UP045
"""Makes a candidate, or None where an edit does not apply."""
Test = Callable[[Subject], bool]
"""Whether a candidate is interesting.  A test with a method `cancel` can be ended and raises `Cancelled`."""


class NotInterestingError(TileIRError):
    """The program to be reduced does not pass the test itself."""

    def __init__(self, message: str) -> None:
        super().__init__([Diagnostic("error", message, UNKNOWN)])


class Cancelled(Exception):
    """A test was ended because its result is not needed any more."""


@dataclass(frozen=True, eq=False)
class Kind(Generic[Subject]):
    """What the search has to know about what is reduced."""

    digest: Callable[[Subject], bytes]
    weight: Callable[[Subject], tuple[int, ...]]
    """How simple a candidate is: every accepted one is below the one before, so the search ends."""
    is_valid: Callable[[Subject], bool]
    data: Callable[[Subject], bytes]
    """The contents of the file that holds a candidate."""


class Verdicts:
    """Verdicts in memory, and with a directory also in files.

    There, `about.json` describes the reduction, `verdicts` has a line for each, and `best` is the best program so far.
    A line that a kill cuts off is dropped, and its candidate is tested again.
    """

    def __init__(self, directory: str | None = None, about: Mapping[str, str] | None = None) -> None:
        self._known: dict[bytes, bool] = {}
        self._directory: str | None = directory
        self._file: BinaryIO | None = None
        if directory is None:
            return
        try:
            os.makedirs(directory, exist_ok=True)
            self._check(directory, {"format": "1", **(about or {})})
            self._file = open(os.path.join(directory, "verdicts"), "a+b", buffering=0)  # noqa: SIM115
            self._file.seek(0)
            data = self._file.read()
            self._file.truncate(data.rfind(b"\n") + 1)
        except OSError as error:
            raise OptionError(f"cannot keep the state of the reduction in '{directory}': {error.strerror}") from None
        for line in data.split(b"\n")[:-1]:
            digest, _, verdict = line.partition(b" ")
            with suppress(ValueError):
                self._known[bytes.fromhex(digest.decode("ascii"))] = verdict == b"1"

    def _check(self, directory: str, expected: dict[str, str]) -> None:
        path = os.path.join(directory, "about.json")
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            write_file(path, (json.dumps(expected, indent=1, sort_keys=True) + "\n").encode())
            return
        except (ValueError, RecursionError):
            found = None
        if found != expected:
            different = [key for key in expected if not isinstance(found, dict) or found.get(key) != expected[key]]
            raise OptionError(
                f"'{directory}' holds the state of another reduction (another {', '.join(different) or 'kind'}): "
                "give another directory, or remove this one"
            )

    def get(self, digest: bytes) -> bool | None:
        return self._known.get(digest)

    def put(self, digest: bytes, verdict: bool) -> None:
        self._known[digest] = verdict
        if self._file is not None:
            self._file.write(b"%s %d\n" % (digest.hex().encode(), verdict))

    def save_best(self, data: bytes) -> None:
        """Save the best program so far in the directory, if there is one."""
        if self._directory is not None:
            write_file(os.path.join(self._directory, "best"), data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class Search(Generic[Subject]):
    """The best candidate so far, and how it is made better.

    `tests` counts verdicts that were needed, `steps` accepted candidates; neither depends on the number of jobs.
    `complete` is False if the search was interrupted.
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
        self.complete: bool = False
        self._weight: tuple[int, ...] = kind.weight(best)
        self._kind: Kind[Subject] = kind
        self._test: Test[Subject] = test
        self._cancel: Callable[[], None] = getattr(test, "cancel", lambda: None)
        self._verdicts: Verdicts = verdicts
        self._jobs: int = jobs
        self._progress: Callable[[Search[Subject]], None] = progress if progress is not None else lambda search: None
        self._seen: set[bytes] = {kind.digest(best)}
        """Candidates that were rejected in this search, or were the best one."""
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(jobs) if jobs > 1 else None

    def run(self, reduce: Callable[[Search[Subject]], None]) -> Search[Subject]:
        """Reduce the best candidate until nothing helps, or until a KeyboardInterrupt."""
        if not self._test(self.best):
            raise NotInterestingError("the program is not interesting itself: the test fails for it")
        try:
            reduce(self)
            self.complete = True
        except KeyboardInterrupt:
            pass
        finally:
            if self._pool is not None:
                self._cancel()
                self._pool.shutdown(wait=True, cancel_futures=True)
        return self

    def exhaust(self, changes: Callable[[Subject], Sequence[Change[Subject]]]) -> None:
        """Try all changes once, each on the best candidate at its time."""
        position = 0
        while (found := self._first(changes(self.best), position)) is not None:
            # What was at this position is gone: the next change is there now.
            position, self.best = found
            self._weight = self._kind.weight(self.best)
            self.steps += 1
            self._verdicts.save_best(self._kind.data(self.best))
            self._progress(self)

    def _first(self, changes: Sequence[Change[Subject]], position: int) -> tuple[int, Subject] | None:
        """The first change from a position on that makes an interesting candidate."""
        waiting: deque[tuple[int, Subject, bytes, Future[bool] | None]] = deque()
        candidates = self._candidates(changes, position)
        while True:
            while len(waiting) < self._jobs and (new := next(candidates, None)) is not None:
                future = None
                if self._pool is not None and self._verdicts.get(new[2]) is None:
                    future = self._pool.submit(self._test, new[1])
                waiting.append((*new, future))
            if not waiting:
                return None
            index, candidate, digest, future = waiting.popleft()
            interesting = self._verdicts.get(digest)
            if interesting is None:
                interesting = future.result() if future is not None else self._test(candidate)
                self._verdicts.put(digest, interesting)
            self.tests += 1
            if interesting:
                # The other tests are not needed; verdicts that are there already are kept.
                self._cancel()
                for _, _, digest, future in waiting:
                    if future is not None and not future.cancel():
                        with suppress(Cancelled):
                            self._verdicts.put(digest, future.result())
                return index, candidate
            self._seen.add(digest)
            self._progress(self)

    def _candidates(self, changes: Sequence[Change[Subject]], position: int) -> Iterator[tuple[int, Subject, bytes]]:
        """Candidates worth a test: new, simpler than the best, and valid."""
        made: set[bytes] = set()
        for index in range(position, len(changes)):
            candidate = changes[index]()
            if candidate is None or self._kind.weight(candidate) >= self._weight:
                continue
            digest = self._kind.digest(candidate)
            if digest not in self._seen and digest not in made:
                made.add(digest)
                if self._kind.is_valid(candidate):
                    yield index, candidate, digest
                else:
                    self._seen.add(digest)
