"""The order in which tile blocks run.

The dialect promises none, so a correct kernel has the same result under every schedule (up to the order of float
atomics); an incorrect one may fail under another schedule.
"""

from __future__ import annotations

import _thread
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from tileir.execute.errors import BlockId, ChoiceError, LaunchError

RunBlock = Callable[[int, "Callable[[], None] | None"], None]

# How many tile blocks are under way at once in the interleaved schedule: a GPU too runs a few at a time.
WINDOW = 16
_MOST_SHUFFLED = 1 << 26


@dataclass(slots=True)
class Order:
    """Tile block numbers (x fastest) in the order they start; `interleaved` switches between running blocks."""

    numbers: Iterator[int]
    count: int
    interleaved: bool = False


def block_at(number: int, grid: BlockId) -> BlockId:
    width, height, _ = grid
    return number % width, number // width % height, number // (width * height)


def block_number(block: BlockId, grid: BlockId) -> int:
    return block[0] + grid[0] * (block[1] + grid[1] * block[2])


def block_order(schedule: str, grid: BlockId) -> Order:
    name, seed = check_schedule(schedule)
    count = grid[0] * grid[1] * grid[2]
    if name == "random":
        return Order(_shuffled(count, seed), count)
    numbers = range(count - 1, -1, -1) if name == "reverse" else range(count)
    return Order(iter(numbers), count, name == "interleaved")


def check_schedule(schedule: str) -> tuple[str, int]:
    """The name of a schedule and its seed; refuses a name that is no schedule's."""
    name, _, seed = schedule.partition(":")
    is_number = seed.isascii() and seed.isdecimal() and len(seed) < 100
    if name in ("forward", "reverse", "interleaved", "random") and (not seed or (name == "random" and is_number)):
        return name, int(seed or 0)
    raise ChoiceError(
        f"there is no schedule '{schedule}': choose forward, reverse, random:SEED (a number) or interleaved"
    )


def _shuffled(count: int, seed: int) -> Iterator[int]:
    if count > _MOST_SHUFFLED:
        raise LaunchError(f"the schedule random takes at most {_MOST_SHUFFLED} tile blocks, but the grid has {count}")
    numbers = list(range(count))
    # Imported here: it takes a while to load, and few launches are shuffled.
    import random

    random.Random(seed).shuffle(numbers)
    return iter(numbers)


class _Abandoned(BaseException):
    """Another tile block failed; this one unwinds."""


class _Turns:
    """Tile blocks that run alternately, each on its own thread: one runs, the others and the launching thread wait.

    An interrupt cannot split waiting for a system lock, or its release.  Only the launching thread sees signals, so it
    wakes at each switch and chooses the next block.
    """

    def __init__(self, run: RunBlock) -> None:
        self._run: RunBlock = run
        self._launcher: _thread.LockType = _taken_lock()
        self._threads: dict[_thread.LockType, None] = {}
        self._failure: BaseException | None = None
        self._is_abandoned: bool = False

    def start(self, number: int) -> _thread.LockType:
        mine = _taken_lock()
        self._threads[mine] = None
        try:
            _thread.start_new_thread(self._body, (number, mine))
        except RuntimeError as error:
            del self._threads[mine]
            raise LaunchError("the system starts no more threads, and the schedule interleaved takes them") from error
        return mine

    def _body(self, number: int, mine: _thread.LockType) -> None:
        import numpy

        try:
            self._wait(mine)
            with numpy.errstate(all="ignore"):
                self._run(number, lambda: self._pass_on(mine))
        except _Abandoned:
            pass
        except BaseException as error:
            self._failure = error
        del self._threads[mine]
        with suppress(RuntimeError):
            self._launcher.release()

    def _pass_on(self, mine: _thread.LockType) -> None:
        if len(self._threads) > 1:
            with suppress(RuntimeError):
                self._launcher.release()
            self._wait(mine)

    def _wait(self, mine: _thread.LockType) -> None:
        if not self._is_abandoned:
            mine.acquire()
        if self._is_abandoned:
            raise _Abandoned

    def take(self, mine: _thread.LockType) -> bool:
        """Let a tile block run up to its next memory operation; returns whether it is over."""
        mine.release()
        self._launcher.acquire()
        if self._failure is not None:
            raise self._failure
        return mine not in self._threads

    def abandon(self) -> None:
        """End all threads, in no order, and wait for them; a running one ends where it would hand over."""
        self._is_abandoned = True
        while self._threads:
            for mine in list(self._threads):
                # It may be awake already.
                with suppress(RuntimeError):
                    mine.release()
            time.sleep(0.001)


def run_interleaved(order: Order, run: RunBlock, progress: Callable[[int, int], None] | None) -> None:
    """Run tile blocks alternately: each yields to the next before every memory operation."""
    turns, finished = _Turns(run), 0
    try:
        waiting = deque([turns.start(number) for number in islice(order.numbers, WINDOW)])
        while waiting:
            mine = waiting.popleft()
            if not turns.take(mine):
                waiting.append(mine)
                continue
            finished += 1
            if progress is not None:
                progress(finished, order.count)
            waiting.extend([turns.start(number) for number in islice(order.numbers, 1)])
    except BaseException:
        turns.abandon()
        raise


def _taken_lock() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock
