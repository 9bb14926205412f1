"""A launch that waits for others, and many of them in one call."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import Final

from tileir.execute.cpu.native import caches
from tileir.execute.cpu.native.loader import Loaded, stored_functions
from tileir.execute.cpu.native.record import CACHED, CHUNK, COUNT, NEXT, Record
from tileir.execute.cpu.native.scratch import Scratch, numbers
from tileir.execute.cpu.native.target import host

WORTH_SHARING: Final = 30_000
"""Nanoseconds of work below which one thread does it: helpers come by way of Python."""


class Launch:
    """A launch that is ready to run but for others before it."""

    __slots__ = (
        "arena_bytes", "began", "error", "expected", "followers", "function", "is_here", "is_over", "is_predictable",
        "joined", "keep", "limit", "number", "raise_failure", "record", "recycle", "threads", "waits",
    )  # fmt: skip

    def __init__(self, function: Loaded, record: Record, arena_bytes: int, threads: int) -> None:
        count = record.slots[COUNT]
        self.function: Loaded = function
        self.record: Record = record
        self.arena_bytes: int = arena_bytes
        self.recycle: Callable[[], None] | None = None
        """Called when it is over and all is well."""
        self.raise_failure: Callable[[], None] | None = None
        """Raises what its record says."""
        self.keep: object = None
        """What must stay alive as long as native code runs."""
        self.expected: int = function.pace * count
        """How many nanoseconds it will take one thread; 0 if that is not known."""
        self.is_predictable: bool = function.takes_as_long(record.slots)
        """Whether that can be relied on."""
        self.limit: int = min(threads, -(-count // record.slots[CHUNK]))
        """How many threads may work on it."""
        if 0 < self.expected < WORTH_SHARING:
            self.limit = 1
        if self.limit > 1:
            record.slots[CACHED] = caches.cached_bytes(self.limit)
        self.number: int = next(numbers)
        self.threads: int = 0
        self.joined: int = 0
        """How many threads had a part in it."""
        self.is_here: bool = False
        """Whether it runs on a thread that waits, instead of a helper."""
        self.is_over: bool = False
        self.began: int = 0
        self.waits: int = 0
        """How many earlier launches it waits for."""
        self.followers: list[Launch] = []
        """Who waits for it."""
        self.error: BaseException | None = None

    @property
    def is_joinable(self) -> bool:
        slots = self.record.slots
        return self.threads < self.limit and slots[NEXT] < slots[COUNT]

    def join(self) -> None:
        """A thread begins to work on it."""
        if not self.joined:
            self.began = time.perf_counter_ns()
        self.joined += 1
        self.threads += 1

    def measure(self, part: int) -> None:
        """Learn from a launch that is over how long a tile block takes; it was one of so many in a row."""
        function = self.function
        pace = (time.perf_counter_ns() - self.began) * self.joined // (part * self.record.slots[COUNT]) or 1
        if not function.pace or pace < function.pace or not function.takes_as_long(self.record.slots):
            function.measured(self.record.slots, pace)

    def forget_arguments(self) -> None:
        self.keep = self.recycle = self.raise_failure = None


# --- several launches in one call ---

# Runs launches one after the other without coming back to Python, whose lock the helpers would wait for each time.
_CHAIN: Final = """
define i64 @worker(ptr %table, ptr %arena) nounwind {
entry:
  %count = load i64, ptr %table
  br label %launch
launch:
  %i = phi i64 [ 1, %entry ], [ %next, %launch ]
  %function.address = getelementptr i64, ptr %table, i64 %i
  %record.index = add i64 %i, 1
  %record.address = getelementptr i64, ptr %table, i64 %record.index
  %number.index = add i64 %i, 2
  %number.address = getelementptr i64, ptr %table, i64 %number.index
  %function = load ptr, ptr %function.address
  %record = load ptr, ptr %record.address
  %number = load i64, ptr %number.address
  store i64 %number, ptr %arena
  %result = call i64 %function(ptr %record, ptr %arena)
  %next = add i64 %i, 3
  %more = icmp sle i64 %next, %count
  br i1 %more, label %launch, label %exit
exit:
  ret i64 0
}
"""


_chain: Loaded | None = None


def _chain_function() -> Loaded:
    """The function; to be kept as long as it runs, since two threads may make one each."""
    global _chain
    made = _chain
    if made is None:
        made = _chain = stored_functions(_CHAIN, lambda: _CHAIN, host(), ["worker"])[0]
    return made


def run_chain(chain: list[Launch], scratch: Scratch) -> None:
    """Run launches one after the other."""
    try:
        first = chain[0]
        arena = scratch.for_launch(max([launch.arena_bytes for launch in chain]), first.number)
        if len(chain) == 1:
            first.function.call(first.record.address, arena)
            return
        table = array("q", [3 * len(chain)])
        for launch in chain:
            table.extend((launch.function.address, launch.record.address, launch.number))
        function = _chain_function()
        function.call(table.buffer_info()[0], arena)
    except Exception as error:
        for launch in chain:
            launch.error = error
