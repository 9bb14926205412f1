"""The order in which tile blocks run.

The dialect promises none, so a correct kernel gives the same result under every schedule (up to the order of float
atomics); one that does not shows itself under another.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from tileir.execute.errors import BlockId, ChoiceError, LaunchError

RunBlock = Callable[[int, "Callable[[], None] | None"], None]

# How many tile blocks are under way at once in the interleaved schedule: a GPU too runs a few at a time.
WINDOW = 16
# How many turns tile blocks take before the launching thread takes one.
_TURNS_WITHOUT_LAUNCHER = 256
_MOST_SHUFFLED = 1 << 26


class Order:
    """Tile block numbers (x fastest) in the order they start; `interleaved` lets them take turns."""

    __slots__ = ("count", "interleaved", "numbers")

    def __init__(self, numbers: Iterator[int], count: int, interleaved: bool = False) -> None:
        self.numbers: Iterator[int] = numbers
        self.count: int = count
        self.interleaved: bool = interleaved


def block_at(number: int, grid: BlockId) -> BlockId:
    """The position in the grid of the tile block of a number."""
    width, height, _ = grid
    return number % width, number // width % height, number // (width * height)


def block_order(schedule: str, grid: BlockId) -> Order:
    """The order of the schedule of a name."""
    check_schedule(schedule)
    count = grid[0] * grid[1] * grid[2]
    name, _, seed = schedule.partition(":")
    if name == "random":
        return Order(_shuffled(count, int(seed or 0)), count)
    numbers = range(count - 1, -1, -1) if name == "reverse" else range(count)
    return Order(iter(numbers), count, name == "interleaved")


def check_schedule(schedule: str) -> None:
    """Refuse a name that is no schedule's."""
    name, _, seed = schedule.partition(":")
    if name in ("forward", "reverse", "interleaved") and not seed:
        return
    if name == "random" and (not seed or (seed.isascii() and seed.isdecimal() and len(seed) < 100)):
        return
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


class _Turns:
    """Threads that take turns: one runs, the others wait.  Only the program decides which comes next.

    Locks are those of the system: to wait for one, and to release it, is a single step of Python, which no interrupt
    divides.  Only the launching thread sees signals, and Python may never run it while other threads hand over to each
    other: so the launching thread takes a turn from time to time.
    """

    def __init__(self) -> None:
        self.waiting: list[_thread.LockType] = []
        self.threads: dict[_thread.LockType, None] = {}
        self.launcher: _thread.LockType = _taken_lock()
        self.count: int = 0
        self.failure: BaseException | None = None
        self.is_abandoned: bool = False

    def pass_on(self, mine: _thread.LockType) -> None:
        """Go to the end of the line, and wait."""
        if self.failure is not None:
            raise _Abandoned
        if not self.waiting:
            return
        self.waiting.append(mine)
        self.hand_over()
        mine.acquire()
        if self.failure is not None:
            raise _Abandoned

    def hand_over(self) -> None:
        """Wake the next thread: the first in line, or the launching thread if it is its turn or the line is empty."""
        self.count += 1
        is_launcher = not self.waiting or self.count % _TURNS_WITHOUT_LAUNCHER == 0
        following = self.launcher if is_launcher else self.waiting.pop(0)
        try:
            following.release()
        except RuntimeError:
            # It was woken meanwhile, to end.
            if not self.is_abandoned:
                raise

    def abandon(self, interrupt: BaseException) -> None:
        """End all threads, in no order, and wait for them; a running one ends where it would hand over."""
        self.failure = interrupt
        self.is_abandoned = True
        while self.threads:
            for mine in list(self.threads):
                if mine.locked():
                    # The running thread may have woken it meanwhile.
                    with suppress(RuntimeError):
                        mine.release()
            time.sleep(0.001)


class _Abandoned(BaseException):
    """Another tile block failed; this one unwinds."""


def run_interleaved(order: Order, run: RunBlock, progress: Callable[[int, int], None] | None) -> None:
    """Run tile blocks in turns: each gives way to the next before every memory operation."""
    turns = _Turns()
    finished = 0
    numbers = order.numbers

    def start(number: int) -> None:
        mine = _taken_lock()
        try:
            _thread.start_new_thread(body, (number, mine))
        except RuntimeError as error:
            raise LaunchError("the system starts no more threads, and the schedule interleaved takes them") from error
        # Only now: a lock in line without a thread would never hand over.
        turns.waiting.append(mine)

    def body(number: int, mine: _thread.LockType) -> None:
        import numpy

        turns.threads[mine] = None
        try:
            if not turns.is_abandoned:
                mine.acquire()
            if turns.failure is None:
                with numpy.errstate(all="ignore"):
                    run(number, lambda: turns.pass_on(mine))
        except _Abandoned:
            pass
        except BaseException as error:
            turns.failure = error
        del turns.threads[mine]
        if not turns.is_abandoned:
            finish()

    def finish() -> None:
        """One block is done: another one starts, the next in line runs."""
        nonlocal finished
        finished += 1
        try:
            if progress is not None:
                progress(finished, order.count)
            following = next(numbers, None) if turns.failure is None else None
            if following is not None:
                start(following)
        except BaseException as error:
            turns.failure = error
        turns.hand_over()

    try:
        for _, number in zip(range(WINDOW), numbers, strict=False):
            start(number)
        while turns.waiting:
            turns.waiting.pop(0).release()
            turns.launcher.acquire()
    except BaseException as interrupt:
        turns.abandon(interrupt)
        raise
    if turns.failure is not None:
        raise turns.failure


def _taken_lock() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock
