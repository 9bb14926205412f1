"""Who judges chunks: threads of this process, each with a server, or whatever executor the user has.

Of an executor nothing is used but `submit`, and of what that returns the methods of a `concurrent.futures.Future`.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeAlias, cast

from tileir.execute.errors import MissingDependencyError
from tileir.judging.errors import SweepError
from tileir.judging.machine import machine, sources
from tileir.judging.model import JudgePlan, SweepInput, Verdict
from tileir.judging.server_pool.pool import ServerGroup, judge_chunk

ExecutorSource: TypeAlias = Executor | Callable[[], Executor]
"""An executor, or a function that makes one: then one that breaks is replaced."""
Judge: TypeAlias = Callable[[list[SweepInput], JudgePlan], list[Verdict]]

_MOST_BREAKS: Final = 100


class JudgedChunk(NamedTuple):
    verdicts: list[Verdict]
    seconds: float
    """Of this chunk, in the worker."""
    machine: str


def work(judge: Judge, items: list[SweepInput], plan: JudgePlan) -> JudgedChunk:
    begin = time.perf_counter()
    verdicts = judge(items, plan)
    return JudgedChunk(verdicts, time.perf_counter() - begin, machine())


def work_elsewhere(judge: Judge, chunk: bytes, expected: str) -> JudgedChunk:
    """Judge a chunk, pickled as another tileir may know other fields, if the sources have the digest `expected`."""
    if expected != sources():
        raise SweepError(
            f"a worker has another tileir, whose results may differ: {machine()} has sources with the digest "
            f"{sources()}, here it is {expected}. Install the same version for all workers"
        )
    return work(judge, *pickle.loads(chunk))


class ThreadExecutor:
    """Threads of this process, each of which has a server."""

    def __init__(self, workers: int, judge: Judge = judge_chunk) -> None:
        self.workers: int | None = workers
        """How many chunks are judged at once, where that is known."""
        self._judge: Judge = judge
        self._group: Final = ServerGroup()
        self._threads: Final = ThreadPoolExecutor(workers, "tileir-sweep", self._group.enter)

    def submit(self, items: list[SweepInput], plan: JudgePlan) -> Future[JudgedChunk]:
        return self._threads.submit(work, self._judge, items, plan)

    def renew(self) -> str:
        """Go on after it broke; if it cannot, what the user can do."""
        return "Call it again to go on"

    def close(self, is_done: bool) -> None:
        """Let all of it go; what is still under way, unless all is done, is ended at once."""
        if not is_done:
            self._group.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)


class UserExecutor:
    """An executor of the user's, whose workers may be on other machines; those must have the same tileir."""

    def __init__(self, given: ExecutorSource, workers: int | None, judge: Judge = judge_chunk) -> None:
        self._judge: Judge = judge
        self._given: ExecutorSource = given
        self._made: Executor | None = None
        self._breaks: int = 0
        self._executor: Executor = cast(Executor, given) if hasattr(given, "submit") else self._new()
        # Those of the standard library know how many they have; others are watched.
        known = getattr(self._executor, "_max_workers", None)
        self.workers: int | None = workers or (known if isinstance(known, int) and known > 0 else None)

    def _new(self) -> Executor:
        assert callable(self._given)
        made = self._given()
        if not hasattr(made, "submit"):
            raise SweepError(f"executor={self._given!r} returns {made!r}, which is no executor: it has no 'submit'")
        self._made = made
        return made

    def submit(self, items: list[SweepInput], plan: JudgePlan) -> Future[JudgedChunk]:
        return self._executor.submit(work_elsewhere, self._judge, pickle.dumps((items, plan)), sources())

    def renew(self) -> str:
        if self._made is None:
            return "Give a function that makes an executor, and one that breaks is replaced"
        if self._breaks == _MOST_BREAKS:
            return f"Executors broke {_MOST_BREAKS} times"
        self._breaks += 1
        self.close(is_done=False)
        self._executor = self._new()
        return ""

    def close(self, is_done: bool) -> None:
        """The executor of the user stays; one that was made here goes."""
        if self._made is not None:
            # Some kinds take no such request, or have nothing left.
            with suppress(BrokenExecutor, OSError, TypeError):
                self._made.shutdown(wait=False, cancel_futures=True)


_PATIENCE: Final = 10.0
"""Seconds until a scheduler that does not answer is not there."""

_WORK: Final = (
    "__import__('tileir.judging.executor.executors', fromlist=['']).work_elsewhere("
    "__import__('tileir.judging.server_pool.pool', fromlist=['']).judge_chunk, chunk, sources)"
)
"""What a worker does.  As text, since the scheduler loads whatever it is given, and a function of tileir, or
an item, would take the cluster down where the scheduler has no tileir, or another one."""


class DaskExecutor:
    """The workers of a cluster.  Dask itself hands on the chunks of a worker that dies, a few times."""

    def __init__(self, address: str, workers: int | None = None) -> None:
        try:
            from distributed import Client
        except ImportError:
            message = "sweeps on a Dask cluster need the package 'distributed': pip install 'tileir[dask]'"
            raise MissingDependencyError(message) from None
        try:
            self._client: Any = Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise SweepError(f"there is no Dask scheduler at '{address}': {error or type(error).__name__}") from None
        self._executor: Any = self._client.get_executor(pure=False, retries=0)
        self.workers: int | None = workers or sum(self._client.nthreads().values()) or None

    def submit(self, items: list[SweepInput], plan: JudgePlan) -> Future[JudgedChunk]:
        if self._client.status != "running":
            raise RuntimeError("the connection to the Dask scheduler is lost")
        given = {"chunk": pickle.dumps((items, plan)), "sources": sources()}
        future: Future[JudgedChunk] = self._executor.submit(eval, _WORK, given)
        return future

    def renew(self) -> str:
        return "Start the scheduler again and give the same command to go on"

    def close(self, is_done: bool) -> None:
        self._executor.shutdown(wait=False)
        self._client.close(timeout=_PATIENCE)


ChunkExecutor: TypeAlias = ThreadExecutor | UserExecutor | DaskExecutor
"""Takes chunks of items and judges them."""
