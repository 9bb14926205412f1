"""Who does the work: threads of this process, each with a server, or whatever executor the user has.

Of an executor nothing is asked but `submit`, and of what that gives the methods of a `concurrent.futures.Future`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Final, Protocol, TypeAlias, cast

from tileir.judge.chunks import judge_chunk
from tileir.judge.errors import SweepError
from tileir.judge.identity import sources
from tileir.judge.items import Item
from tileir.judge.nursery import ServerGroup
from tileir.judge.plans import Plan
from tileir.judge.working import Judge, Worked, packed, work, work_elsewhere

GivenExecutor: TypeAlias = Executor | Callable[[], Executor]
"""An executor, or a function that makes one: then one that breaks is replaced."""

_MOST_BREAKS: Final = 100


class Crew(Protocol):
    """Takes chunks of items and judges them."""

    workers: int | None
    """How many chunks are judged at once, where that is known."""

    def submit(self, items: list[Item], plan: Plan) -> Future[Worked]: ...

    def renew(self) -> str:
        """Go on after it broke; in words, what to do if it cannot."""
        ...

    def close(self, is_done: bool) -> None:
        """Let all of it go; what is still under way, unless all is done, is ended at once."""
        ...


class ThreadCrew:
    """Threads of this process, each of which has a server."""

    def __init__(self, workers: int, judge: Judge = judge_chunk) -> None:
        self.workers: int | None = workers
        self._judge: Judge = judge
        self._group: Final = ServerGroup()
        self._threads: Final = ThreadPoolExecutor(workers, "tileir-sweep", self._group.enter)

    def submit(self, items: list[Item], plan: Plan) -> Future[Worked]:
        return self._threads.submit(work, self._judge, items, plan)

    def renew(self) -> str:
        return "Call it again to go on"

    def close(self, is_done: bool) -> None:
        if not is_done:
            self._group.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)


class ExecutorCrew:
    """An executor, whose workers may be on other machines; those must have the same tileir."""

    def __init__(self, given: GivenExecutor, workers: int | None, judge: Judge = judge_chunk) -> None:
        self.workers: int | None = workers
        self._judge: Judge = judge
        self._given: GivenExecutor = given
        self._made: Executor | None = None
        self._breaks: int = 0
        self._executor: Executor = cast(Executor, given) if hasattr(given, "submit") else self._new()
        if workers is None:
            # Those of the standard library know; others are watched.
            known = getattr(self._executor, "_max_workers", None)
            self.workers = known if isinstance(known, int) and known > 0 else None

    def _new(self) -> Executor:
        assert callable(self._given)
        made = self._given()
        if not hasattr(made, "submit"):
            raise SweepError(f"executor={self._given!r} gives {made!r}, which is no executor: it has no 'submit'")
        self._made = made
        return made

    def submit(self, items: list[Item], plan: Plan) -> Future[Worked]:
        return self._executor.submit(work_elsewhere, self._judge, packed(items, plan), sources())

    def renew(self) -> str:
        if self._made is None:
            return "Give a function that makes an executor, and one that breaks is replaced"
        if self._breaks == _MOST_BREAKS:
            return f"Executors broke {_MOST_BREAKS} times"
        self._breaks += 1
        self._discard(self._made)
        self._executor = self._new()
        return ""

    def close(self, is_done: bool) -> None:
        """The executor of the user stays his; what was made here goes."""
        if self._made is not None:
            self._discard(self._made)

    def _discard(self, executor: Executor) -> None:
        try:
            executor.shutdown(wait=False, cancel_futures=True)
        except (BrokenExecutor, OSError, TypeError):
            # Of a kind that cannot be asked, or has nothing left.
            pass
