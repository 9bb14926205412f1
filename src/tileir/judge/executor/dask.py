"""The workers of a Dask cluster."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Final

from tileir.execute.errors import MissingDependencyError
from tileir.judge.errors import SweepError
from tileir.judge.executor.executors import JudgedChunk, packed
from tileir.judge.items import Item
from tileir.judge.machine import sources
from tileir.judge.plans import Plan

_PATIENCE: Final = 10.0
"""Seconds until a scheduler that does not answer is not there."""

_WORK: Final = (
    "__import__('tileir.judge.executor.executors', fromlist=['']).work_elsewhere("
    "__import__('tileir.judge.server_pool.pool', fromlist=['']).judge_chunk, chunk, sources)"
)
"""What a worker does.  As text, since the scheduler loads whatever it is given, and a function of tileir, or
an item, would take the cluster down where the scheduler has no tileir, or another one."""


class DaskExecutor:
    """The workers of the cluster whose scheduler is at an address.

    Dask itself hands the chunks of a worker that dies to another one, and gives up those that several have died of."""

    def __init__(self, address: str, workers: int | None = None) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise MissingDependencyError(
                "sweeps on a Dask cluster need the package 'distributed': pip install 'tileir[dask]'"
            ) from None
        try:
            self._client: Any = Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise SweepError(f"there is no Dask scheduler at '{address}': {error or type(error).__name__}") from None
        self._executor: Any = self._client.get_executor(pure=False, retries=0)
        self.workers: int | None = workers or sum(self._client.nthreads().values()) or None

    def submit(self, items: list[Item], plan: Plan) -> Future[JudgedChunk]:
        if self._client.status != "running":
            raise RuntimeError("the connection to the Dask scheduler is lost")
        given = {"chunk": packed(items, plan), "sources": sources()}
        future: Future[JudgedChunk] = self._executor.submit(eval, _WORK, given)
        return future

    def renew(self) -> str:
        return "Start the scheduler again and give the same command to go on"

    def close(self, is_done: bool) -> None:
        self._executor.shutdown(wait=False)
        self._client.close(timeout=_PATIENCE)
