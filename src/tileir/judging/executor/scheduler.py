"""The loop of a sweep: items in, chunks out to workers, verdicts into the file.

A chunk that is lost with its worker is handed out again item by item, beside everything else; an item that is lost a
second time is judged at the end, alone, so that nobody else can be to blame; one that is lost even then is to blame,
and that is its verdict.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil
from queue import Empty, SimpleQueue
from typing import Final

from tileir.judging.errors import SweepError
from tileir.judging.executor.executors import ChunkExecutor, JudgedChunk
from tileir.judging.inputs import Inputs
from tileir.judging.model import JudgePlan, JudgeStage, SweepInput, Verdict, verdict_of
from tileir.judging.results.store import Finished, Store
from tileir.judging.verdicts.causes import cause_of

FLUSH_SECONDS: Final = 0.2
_LARGEST_CHUNK: Final = 4 << 20
"""Bytes of content beyond which a chunk takes no more items; Dask expects small messages."""
_MOST_WAITING: Final = 256 << 20
"""Bytes of content that are in memory at once."""
_SLICE: Final = 0.1
"""Seconds for which inputs are read before somebody looks whether workers are done."""
_PATIENCE: Final = 120.0
"""Seconds beyond all limits after which a chunk that nobody has heard of is lost."""
_LOSSES: Final = 3
_DIED: Final = "the worker died"
CHUNK_SECONDS: Final = 0.5
_LARGEST, _MOST_CHUNKS = 1000, 4096
_FORGETTING, _FIRST_GUESS = 0.8, 8
_UNQUEUED, _QUEUED = 1.2, 4.0


@dataclass(slots=True)
class SweepProgress:
    """How far a sweep is; it only ever counts what is in the file of results."""

    total: int | None
    """How many items there are; None as long as nobody knows."""
    judged: int = 0
    """Items judged by this sweep."""
    known: int = 0
    """Items that an earlier one has judged."""
    outdated: int = 0
    """Of these, those that another tileir has judged, whose results may differ."""
    duplicates: int = 0
    """Items with the same content as another one."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """How many came to which outcome, those that were known included."""
    seconds: float = 0.0
    """Since the sweep began."""
    lost: int = 0
    """Chunks that were handed out again, since whoever had them died."""
    latest: list[tuple[str, Verdict]] = field(default_factory=list)
    """Names and verdicts that have been written since the last report of progress."""

    @property
    def done(self) -> int:
        return self.judged + self.known + self.duplicates

    @property
    def failed(self) -> int:
        return sum(self.outcomes.values()) - self.outcomes["passed"]

    @property
    def rate(self) -> float:
        """Items judged in a second."""
        return self.judged / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        if self.total is None or not self.judged:
            return None
        return max(0, self.total - self.done) / self.rate


class ChunkSize:
    """How large chunks are, and how many are under way: learned from how long they take.

    A chunk should take about half a second: long enough that handing it out costs nothing beside it, short enough that
    little is lost with a worker.  Two chunks for each worker are under way, so that it finds the next one waiting.  Not
    every executor knows how many workers it has.  But if a chunk took hardly longer from hand to hand than its work
    did, it waited for nobody, and a worker may have waited for chunks; if it waited for several others, there are too
    many.  At the end chunks become small, so that workers finish together.
    """

    def __init__(self, workers: int | None) -> None:
        self._least: int = 2 * workers if workers is not None else _FIRST_GUESS
        self.limit: int = self._least
        """How many chunks may be under way."""
        self._size: int = 1
        self._items, self._seconds = 0.0, 0.0

    def learn(self, items: int, seconds: float, turnaround: float, is_busy: bool) -> None:
        """A chunk took so long at the worker, and from hand to hand; `is_busy`: as many were under way as may be."""
        self._items = self._items * _FORGETTING + items
        self._seconds = self._seconds * _FORGETTING + seconds
        wanted = CHUNK_SECONDS * self._items / max(self._seconds, 1e-6)
        # The first items may not be typical, so the size at most doubles.
        self._size = max(1, min(int(wanted), 2 * max(self._size, items), _LARGEST))
        if is_busy and seconds > CHUNK_SECONDS / 10:
            if turnaround < _UNQUEUED * seconds:
                self.limit = min(self.limit + 1, _MOST_CHUNKS)
            elif turnaround > _QUEUED * seconds:
                self.limit = max(self.limit - 1, self._least)

    @property
    def lookahead(self) -> int:
        """How many items should wait to be handed out, so that the end is seen before it is there."""
        return self.limit * self._size

    def size(self, waiting: int, is_last: bool) -> int:
        """How many of the items that wait make the next chunk; with `is_last` there are no others."""
        return min(self._size, ceil(waiting / self.limit)) if is_last else self._size


@dataclass(slots=True)
class Scheduler:
    """One sweep, from its first item to its last."""

    inputs: Inputs
    store: Store
    plan: JudgePlan
    executor: ChunkExecutor
    retry: Container[str] = ()
    report: Callable[[SweepProgress], None] | None = None
    stops_at_failure: bool = False
    progress: SweepProgress = field(init=False)
    _source: Iterator[SweepInput] = field(init=False)
    _is_last: bool = False
    """Whether the source has no more."""
    _chunks: ChunkSize = field(init=False)
    _waiting: deque[SweepInput] = field(default_factory=deque)
    _waiting_size: int = 0
    _single: deque[SweepInput] = field(default_factory=deque)
    _alone: deque[SweepInput] = field(default_factory=deque)
    _is_alone: bool = False
    _losses: dict[str, int] = field(default_factory=dict)
    _other_names: dict[str, list[str] | None] = field(default_factory=dict)
    """By digest: further names of an item that is not yet finished; None once it is."""
    _named: dict[str, str] = field(default_factory=dict)
    """The digest that each name stands for in this sweep."""
    _under_way: dict[Future[JudgedChunk], tuple[list[SweepInput], float]] = field(default_factory=dict)
    """The items that are with workers, and since when."""
    _done: SimpleQueue[Future[JudgedChunk]] = field(default_factory=SimpleQueue)
    _heard: float = field(default_factory=time.monotonic)
    _flushed: float = field(default_factory=time.monotonic)
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.progress = SweepProgress(self.inputs.total)
        self._source = iter(self.inputs)
        self._chunks = ChunkSize(self.executor.workers)

    def run(self) -> bool:
        """Judge everything; whether that came to its end, and was not stopped at a failure."""
        try:
            while True:
                self._hand_out()
                if self._under_way:
                    self._collect()
                elif self._is_last and not (self._waiting or self._single or self._alone):
                    break
                # Else all that was read had been judged.
                if time.monotonic() - self._flushed >= FLUSH_SECONDS:
                    self.flush()
                if self.stops_at_failure and self.progress.failed and self.progress.judged:
                    return False
            self.flush()
            return True
        finally:
            # Of an executor that goes on without this sweep.
            for future in self._under_way:
                future.cancel()

    def flush(self) -> None:
        """Write what is finished; from then on it counts."""
        written, progress = self.store.flush(), self.progress
        progress.judged += len(written)
        progress.latest = [(each.item.name, each.verdict) for each in written]
        progress.outcomes.update([each.verdict.outcome for each in written])
        self._flushed = time.monotonic()
        progress.seconds = self._flushed - self._began
        if self.report is not None:
            self.report(progress)

    def _gather(self) -> None:
        """Read inputs until enough wait, or for a tenth of a second if workers are busy."""
        until = time.monotonic() + _SLICE
        while not self._is_last and len(self._waiting) < self._chunks.lookahead and self._waiting_size < _MOST_WAITING:
            found = next(self._source, None)
            if found is None:
                self._is_last = True
                if self.inputs.total is None:
                    progress = self.progress
                    pending = len(self._waiting) + len(self._single) + len(self._alone) + self.store.waiting
                    pending += sum([len(items) for items, _ in self._under_way.values()])
                    progress.total = progress.done + pending
                return
            self._take(found)
            if time.monotonic() > until:
                return

    def _take(self, item: SweepInput) -> None:
        item = self._uniquely_named(item)
        digest = item.digest
        if digest in self._other_names:
            names = self._other_names[digest]
            if names is None:
                self.store.add_name(item.name, digest)
            else:
                names.append(item.name)
            self.progress.duplicates += 1
            return
        outcome, is_outdated = self.store.outcome(digest, item.name) or ("", False)
        if outcome and outcome not in self.retry:
            self._other_names[digest] = None
            self.progress.known += 1
            self.progress.outdated += is_outdated
            self.progress.outcomes[outcome] += 1
            return
        self._other_names[digest] = []
        if item.trouble:
            step = JudgeStage("read", "failed", item.trouble, cause_of(item.trouble))
            self._finish(item, verdict_of(item, [step]), "")
        else:
            self._waiting.append(item)
            self._waiting_size += len(item.content)

    def _uniquely_named(self, item: SweepInput) -> SweepInput:
        """An item whose name stands for nothing else: an archive may have two files of one name."""
        name, count = item.name, 1
        while self._named.setdefault(name, item.digest) != item.digest:
            count += 1
            name = f"{item.name} ({count})"
        return item if name == item.name else replace(item, name=name)

    def _finish(self, item: SweepInput, verdict: Verdict, machine: str) -> None:
        self.store.add(Finished(item, verdict, machine))
        for name in self._other_names.get(item.digest) or ():
            self.store.add_name(name, item.digest)
        self._other_names[item.digest] = None

    def _hand_out(self) -> None:
        while len(self._under_way) < self._chunks.limit and not self._is_alone:
            if sum([len(item.content) for items, _ in self._under_way.values() for item in items]) > _MOST_WAITING:
                return
            chunk = self._next()
            if not chunk:
                return
            self._submit(chunk)

    def _next(self) -> list[SweepInput]:
        if self._single:
            return [self._single.popleft()]
        self._gather()
        if not self._waiting:
            if self._is_last and self._alone and not self._under_way:
                self._is_alone = True
                return [self._alone.popleft()]
            return []
        items: list[SweepInput] = []
        size = 0
        most = self._chunks.size(len(self._waiting), self._is_last)
        while self._waiting and len(items) < most and size <= _LARGEST_CHUNK:
            items.append(self._waiting.popleft())
            size += len(items[-1].content)
        self._waiting_size -= size
        return items

    def _submit(self, items: list[SweepInput]) -> None:
        try:
            future = self.executor.submit(items, self.plan)
        except (BrokenExecutor, RuntimeError) as error:
            advice = self.executor.renew()
            if advice:
                message = f"no more work can be handed out: {_message(error)}. What is finished is in the results."
                raise SweepError(f"{message} {advice}") from None
            self._submit(items)
            return
        self._under_way[future] = items, time.monotonic()
        future.add_done_callback(self._done.put)

    def _collect(self) -> None:
        """Take what workers have done; wait up to `FLUSH_SECONDS` for it."""
        with suppress(Empty):
            self._take_back(self._done.get(timeout=FLUSH_SECONDS))
            while True:
                self._take_back(self._done.get_nowait())
        self._look_for_lost()

    def _take_back(self, future: Future[JudgedChunk]) -> None:
        is_busy = len(self._under_way) >= self._chunks.limit
        items, since = self._under_way.pop(future, ((), 0.0))
        if not items:
            # It was given up, and handed out again.
            return
        self._heard = time.monotonic()
        self._is_alone = False
        try:
            worked = future.result()
        except (ImportError, AttributeError) as error:
            message = f"a worker cannot load tileir: {_message(error)}. Install the same version for all workers"
            raise SweepError(message) from None
        except SweepError:
            raise
        except (Exception, CancelledError) as error:
            self._lose(items, _message(error))
            return
        self._chunks.learn(len(items), worked.seconds, self._heard - since, is_busy and not self._is_last)
        for item, verdict in zip(items, worked.verdicts, strict=True):
            self._finish(item, verdict, worked.machine)

    def _lose(self, items: Sequence[SweepInput], why: str) -> None:
        self.progress.lost += 1
        for item in items:
            losses = self._losses[item.digest] = self._losses.get(item.digest, 0) + 1
            if losses >= _LOSSES:
                step = JudgeStage("start", "crashed", _DIED, cause_of(_DIED))
                # The reason, in the executor's words, names workers and times, which are others each time.
                self._finish(item, verdict_of(item, [step], why), "")
            else:
                (self._single if losses == 1 else self._alone).append(item)

    def _look_for_lost(self) -> None:
        """Give up chunks that should have come back long ago, had somebody been at work on them.

        If others have come back since, that one was lost; if none has, there is nobody."""
        now = time.monotonic()
        for future, (items, since) in list(self._under_way.items()):
            silent = now - max(since, self._heard)
            if silent > 4 * len(items) * self.plan.limits.seconds + _PATIENCE:
                if self._heard <= since and not self._is_alone:
                    message = f"nothing was heard of any worker for {silent:.0f} seconds"
                    raise SweepError(f"{message}. What is finished is in the results")
                del self._under_way[future]
                future.cancel()
                self._is_alone = False
                self._lose(items, "nothing was heard of it")


def _message(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
