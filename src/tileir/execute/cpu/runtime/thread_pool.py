"""The pool of worker threads, which run the launches of this process and stay from one to the next.

One launch has the pool at a time: it takes the pool's token, and another launch that begins in that time runs on its
own thread.  On Linux workers wait in native code (`pool_native`), without Python's lock:

    launch    write the job, open it, change the signal, wake those who sleep; take part; close; wait for the others
    worker    see the signal change, set "inside", check that the job is (still) open; take part; set "outside"

A worker that comes too late finds the job closed and goes back to waiting, so that no launch waits for it.  Each worker
has a slot in the pool's memory: its scratch memory, its range of tile blocks, and whether it is inside.  A waiting
thread spins for 100 us and then sleeps in the system.  On other systems, and for all but launches, the workers are
Python code that runs jobs.

An interrupt may come between any two steps of the main thread; steps that must not be interrupted are one call of a C
function.  The child of a fork has none of the threads, and begins with another pool; the old one is abandoned.
"""

from __future__ import annotations

import _thread
import ctypes
import itertools
import mmap
import os
import sys
import threading
from _queue import SimpleQueue  # `queue` itself imports more than it is
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Final

from tileir.execute.arguments.binding import MOST_THREADS
from tileir.execute.cache import code_cache
from tileir.execute.cpu.runtime.launch_record import RANGE, RANGE_WORDS, SLOT_BYTES, STOP, PoolWords, Record
from tileir.execute.cpu.runtime.loader import Loaded, key_of, load_all
from tileir.execute.cpu.runtime.target import host
from tileir.execute.errors import LaunchError
from tileir.execute.launching.release import release_with
from tileir.execute.memory import available_memory
from tileir.processors import memory_nodes, processors

SPIN: Final = 100_000
"""Nanoseconds for which a thread spins before it sleeps.  Launches one after the other are some 20 us apart, and the
first worker to be done waits for the last: with half of this many go to sleep in between, and are woken one by one."""
TIMEOUT: Final = 50_000_000  # Nanoseconds of a sleep, after which Python looks for signals.

# --- scratch memory, which the buffers of a kernel lie in ---

LARGE: Final = 1 << 22  # Bytes from which it matters how many threads have scratch memory.


class Scratch:
    """Scratch memory of one thread, at the beginning of a page."""

    def __init__(self, size: int) -> None:
        self.size: int = -(-max(size, 1 << 16) // 64) * 64
        try:
            if sys.platform == "win32":
                self._memory = mmap.mmap(-1, self.size)
            else:
                # Private: a process made by a fork must not work in the same scratch memory.
                self._memory = mmap.mmap(-1, self.size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError, ValueError, MemoryError) as error:
            raise _too_large(size, str(error)) from None
        if self.size >= LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
            try:
                self._memory.madvise(mmap.MADV_HUGEPAGE)
            except OSError:
                pass
        self.words: Any = memoryview(self._memory).cast("q")  # First the launch's number, then `launch_record`
        self.address: int = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))


def _too_large(size: int, why: str) -> LaunchError:
    return LaunchError(
        f"a tile block of this kernel needs {size:,} bytes of scratch memory, which cannot be had ({why}): "
        "use smaller tiles"
    )


numbers: Final = itertools.count(int.from_bytes(os.urandom(8), "little") >> 1)
"""The numbers of launches, from one on that no data left in scratch memory is likely to hold."""

spare: list[Scratch] = []  # Scratch memory that no thread uses.


def take_scratch(size: int) -> Scratch:
    """Scratch memory for a launch on the calling thread, to be put back into `spare`."""
    try:
        found = spare.pop()
        if found.size < size:
            # Gone first: there may not be memory for both.
            del found
            found = Scratch(size)
    except IndexError:
        found = Scratch(size)
    found.words[0] = next(numbers)
    # What an earlier launch left may be no range of this one.
    found.words[RANGE] = 0
    return found


def affordable(size: int, threads: int) -> int:
    """How many threads there is scratch memory for."""
    if size <= LARGE:
        return threads
    memory = available_memory()
    if size > memory:
        raise _too_large(size, f"there are {memory:,}")
    return max(1, min(threads, memory // 2 // size))


# --- workers ---

_FUNCTIONS: Final = ("wait", "launch", "finish")
FIRST: Final = (0,)
_pack_job: Final = Struct("=7q").pack_into


def _slot(number: int) -> int:
    return PoolWords.SLOTS + RANGE_WORDS * number


class Pool:
    """Worker threads, and the memory that native code shares with them."""

    def __init__(self) -> None:
        self.token: list[None] = [None]  # Empty while a launch has the pool.
        self.counts: list[int] = [0, 0]  # How many workers there are in Python, and in native code.
        self.is_abandoned: bool = False  # Whether this is the pool of the process that this one was forked from.
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._scratch: list[Scratch | None] = []
        self._reserved: tuple[int, int] = (0, 0)  # How many workers have scratch memory, and how much each has.
        self._functions: list[Loaded] = _native_functions()
        if self._functions:
            memory = mmap.mmap(-1, SLOT_BYTES * _slot(MOST_THREADS + 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            # Workers look at it while the process ends.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
            self.words: Any = memoryview(memory).cast("q")
            self._address: int = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            for word, name in ((PoolWords.SYSCALL, "syscall"), (PoolWords.CLOCK, "clock_gettime")):
                self.words[word] = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0
            self.words[PoolWords.TIMEOUT + 1] = TIMEOUT
            self._wait, self._launch, self._finish = [each.call for each in self._functions]

    @property
    def is_native(self) -> bool:
        return bool(self._functions)

    def grow(self, requested: int, native: bool) -> int:
        """Have so many workers of a kind, or as many as the system allows; how many there are."""
        while self.counts[native] < min(requested, MOST_THREADS):
            ready = _thread.allocate_lock()
            ready.acquire()
            try:
                # One step, other than starting a thread of `threading`, which an interrupt may divide.
                _thread.start_new_thread(self._serve, (native, ready))
            except RuntimeError:
                break
            ready.acquire()
        return self.counts[native]

    def _serve(self, native: bool, ready: _thread.LockType) -> None:
        with self._lock:
            if self.counts[native] < MOST_THREADS:
                self.counts[native] += 1
            number = self.counts[native]
        ready.release()
        if native:
            self._wait(self._address, self._address + SLOT_BYTES * _slot(number))
        while True:
            self._jobs.get()()

    def submit(self, jobs: Sequence[Callable[[], None]], started: list[None]) -> None:
        """Have workers in Python do jobs, which must not raise; `started` is not empty if they are on their way."""
        # One call: an interrupt finds all done or nothing.
        started.extend(map(self._jobs.put, jobs))

    # --- launches in native code; the caller has the token ---

    def reserve(self, workers: int, size: int) -> None:
        ready, least = self._reserved
        if workers <= ready and size <= least:
            return
        self._reserved = (0, 0)
        self._scratch += [None] * (workers - len(self._scratch))
        for number in range(workers):
            memory = self._scratch[number]
            if memory is None or memory.size < size:
                # The old one goes first: there may not be memory for both.
                memory = self._scratch[number] = None
                memory = self._scratch[number] = take_scratch(size)
            self.words[_slot(number + 1) + PoolWords.SCRATCH] = memory.address
        self._reserved = (workers, size)

    def release(self) -> None:
        """Give the scratch memory of workers back, unless a launch has the pool."""
        taken: list[None] = []
        try:
            taken.extend(map(self.token.pop, FIRST))
            self._reserved = (0, 0)
            self._scratch.clear()
        except IndexError:
            pass
        finally:
            self.token.extend(taken)

    def launch(self, function: Loaded, record: Record, workers: int, wakes: int, is_left: bool, own: int = 0) -> int:
        """Open a launch, with `is_left` for workers alone; with scratch memory run a part and finish it.  Returns as
        `finish` does."""
        # Where threads share processors, a spinning thread delays a working one.
        spin = SPIN if workers < processors() else 0
        job = (function.address, record.address, next(numbers), workers, is_left, wakes, spin)
        _pack_job(self.words, SLOT_BYTES * PoolWords.FUNCTION, *job)
        return self._launch(self._address, own)

    def abandon(self) -> None:
        """In a forked process, which has no workers: the rest of a launch is not run."""
        self.is_abandoned = True
        if self._functions and self.words[PoolWords.OPEN]:
            ctypes.c_int64.from_address(self.words[PoolWords.RECORD] + SLOT_BYTES * STOP).value = 1

    def finish(self) -> int:
        """Close the launch, unless it is left to workers and none is done, and wait; 0 if no worker is inside."""
        return self._finish(self._address, 0)


_pools: Final[dict[int, Pool]] = {}


def pool() -> Pool:
    # Two threads may make one each: the first is what both use.
    return _pools.get(0) or _pools.setdefault(0, Pool())


def _native_functions() -> list[Loaded]:
    """The functions of `pool_native`; none where the system has no futex."""
    machine = os.uname().machine if sys.platform == "linux" else ""
    target = host("native")
    if machine not in ("x86_64", "aarch64") or target.triple.partition("-")[0] != machine:
        return []

    store = code_cache.default_cache()
    # The sources of the engine, which are a part of the key, decide what the functions are.
    key = key_of(target, ["thread pool"])
    found = store.get(key)
    if found is not None:
        return load_all(found[0], _FUNCTIONS)
    from tileir.execute.cpu.runtime.llvm_compile import assemble
    from tileir.execute.cpu.runtime.pool_native import pool_text

    data = assemble(pool_text(machine), target)
    store.put(key, data, {})
    return load_all(data, _FUNCTIONS)


def release_memory() -> None:
    for each in _pools.values():
        each.release()
    spare.clear()


release_with(release_memory)


def is_main_thread() -> bool:
    """Whether Python runs signal handlers on the calling thread."""
    return threading.get_ident() == threading.main_thread().ident


def _forget_threads() -> None:
    """In a process made by a fork, which has one thread: scratch memory may have been in use."""
    for each in _pools.values():
        each.abandon()
    _pools.clear()
    spare.clear()
    processors.cache_clear()
    memory_nodes.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
