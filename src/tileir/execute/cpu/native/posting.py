"""Handing a launch to helper threads without Python, whose lock they would have to take one after the other.

A helper waits in native code at a **mailbox**, which stays where it is as long as the process lives.  It looks at it
for some microseconds after each launch, then sleeps in the system (Linux: a futex).  Who launches fills a **table**,
posts it to the mailboxes, works too, and takes back what nobody has come for when no tile block is left: a helper that
is slow to wake up delays nobody.

A mailbox says in its first word what it is up to:

    AWAKE     the helper looks at it
    ASLEEP    the helper may be asleep: who posts wakes it
    POSTED    there is a table for it
    CALLED    it is to come back to Python
    BUSY      the helper works

Only the helper takes a mailbox from POSTED to BUSY; only who posted takes it from POSTED back, to ASLEEP.  So each
table is worked on by those that are counted in it, and nobody else looks at it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count, repeat
from struct import Struct, pack_into
from time import perf_counter_ns
from typing import Any, Final

from tileir.execute.cpu.native import posting_code as code
from tileir.execute.cpu.native import record
from tileir.execute.cpu.native.loader import Loaded, stored_functions
from tileir.execute.cpu.native.target import host

_FUTEX: Final = {"x86_64": 202, "aarch64": 98}
"""The number of the system call, by machine."""
_PAUSES: Final = {
    "x86_64": ("@llvm.x86.sse2.pause()", "@llvm.x86.sse2.pause()"),
    "aarch64": ("@llvm.aarch64.hint(i32 1)", "@llvm.aarch64.hint(i32)"),
}
"""What lets a processor rest for a moment: how it is called and declared."""

LOOKING: Final = 100_000
"""Nanoseconds for which a helper looks at its mailbox before it sleeps, and who launches at the table.  Launches one
after the other are some 20 us apart, and the first helper to be done waits for the last: with half of this many go to
sleep in between, and are woken one by one."""
_LONGEST: Final = 50_000_000
"""Nanoseconds of a wait in the system, after which Python looks for signals."""

_WORD: Final = record.SLOT_BYTES
_ROOM: Final = 64
"""The mailboxes that a table has room for, at least."""
_MEASURED: Final = 500
"""Looks that are measured."""
_BOX_BYTES: Final = 256
"""From mailbox to mailbox: processors fetch cache lines by the pair."""

_HEAD: Final = Struct("=7q").pack_into


class Mailbox:
    """Where a helper waits."""

    __slots__ = ("_words", "address")

    def __init__(self, post: Post) -> None:
        words, start = _forever_shared()
        self._words = words[: _BOX_BYTES // _WORD]
        self.address: int = start
        self._words[code.SYSCALL] = post.syscall

    def give(self, arena: int) -> None:
        """Say where the scratch memory of its helper is."""
        self._words[code.ARENA] = arena


class Table:
    """A launch as helpers see it."""

    __slots__ = ("address", "boxes", "is_abandoned", "room", "words")

    def __init__(self, post: Post, room: int) -> None:
        self.room: int = room
        self.words, self.address = _forever(_WORD * (code.BOXES + 2 * room + 1))
        self.words[code.SYSCALL] = post.syscall
        self.words[code.CLOCK] = post.clock
        self.words[code.NANOSECONDS] = _LONGEST
        self.boxes: list[int] = []
        """The mailboxes that it names."""
        self.is_abandoned: bool = False

    @property
    def is_begun(self) -> bool:
        return bool(self.words[code.STARTED])

    def abandon(self) -> None:
        """No helper is there any more."""
        self.words[code.REMAINING] = 0
        self.is_abandoned = True


def _forever(size: int) -> tuple[Any, int]:
    """Memory that is never given back: helpers look at it while the process ends."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    _keep(memory)
    return memoryview(memory).cast("q"), ctypes.addressof(ctypes.c_char.from_buffer(memory))


_places: Final = count()
_pages: Final[dict[int, tuple[Any, int]]] = {}


def _forever_shared() -> tuple[Any, int]:
    """The same for a mailbox, of which many are on a page: a cache holds few lines that begin a page."""
    page, place = divmod(next(_places), mmap.PAGESIZE // _BOX_BYTES)
    if page not in _pages:
        # Two threads may make one each: the first is what both use.
        _pages.setdefault(page, _forever(mmap.PAGESIZE))
    words, address = _pages[page]
    offset = place * _BOX_BYTES
    return words[offset // _WORD :], address + offset


def _keep(value: object) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


class Post:
    """The function above in this process."""

    __slots__ = ("_call", "_spare", "clock", "looks", "syscall")

    def __init__(self, function: Loaded, syscall: int, clock: int) -> None:
        _keep(function)
        self._call: Callable[[int, int], int] = function.call
        self._spare: list[Table] = []
        self.syscall: int = syscall
        self.clock: int = clock
        table = Table(self, _ROOM)
        table.words[code.LOOKS] = _MEASURED
        fastest = LOOKING
        for _ in range(3):
            begin = perf_counter_ns()
            self._call(table.address, code.MEASURE)
            fastest = min(fastest, perf_counter_ns() - begin)
        self.looks: int = LOOKING * _MEASURED // max(fastest, 1)
        """How often one looks at a mailbox in the time for it."""
        self.recycle(table)

    # --- for helpers ---

    def wait(self, box: Mailbox) -> None:
        """Wait at a mailbox, and work, until called."""
        self._call(box.address, code.WAIT)

    def calling(self, boxes: Iterable[Mailbox]) -> Iterator[object]:
        """What calls a helper back to Python with each step."""
        return map(self._call, [box.address for box in boxes], repeat(code.CALL))

    # --- for launches ---

    def table(self, count: int) -> Table:
        """A table with room for so many mailboxes, to be recycled."""
        try:
            table = self._spare.pop()
        except IndexError:
            return Table(self, max(count, _ROOM))
        return table if table.room >= count else Table(self, count)

    def recycle(self, table: Table) -> None:
        # The next launch has not begun before it says so: an interrupt may come earlier.
        table.words[code.STARTED] = 0
        self._spare.append(table)

    def launch(
        self, table: Table, head: tuple[int, int, int, int], boxes: list[int], looks: int, wakes: int, slice: int
    ) -> int:
        """Post a function, a record, a number and, where the caller works too, its arena; 0 if the launch is over.

        Helpers that are asleep are worth waking up to a number.  With `slice` the caller is back after so many
        nanoseconds: `PAUSED` if it is not done with its part.
        """
        words = table.words
        words[code.SLICE] = slice
        words[code.WAKES] = wakes
        if boxes != table.boxes:
            table.boxes = []
            pack_into(f"={len(boxes)}q", words, _WORD * code.BOXES, *boxes)
            table.boxes = boxes
        _HEAD(words, 0, *head, len(boxes), 0, looks)
        return self._call(table.address, code.LAUNCH)

    def go_on(self, table: Table) -> int:
        """Do more of the caller's part."""
        return self._call(table.address, code.GO_ON)

    def take_back(self, table: Table) -> int:
        """Take back what no helper has come for; helpers that sleep on do not.  How many are at work then."""
        return self._call(table.address, code.TAKE_BACK)

    def finish(self, table: Table) -> int:
        """Wait for helpers, for a while; how many are at work then."""
        return self._call(table.address, code.FINISH)


_post: list[Post | None] = []


def post() -> Post | None:
    """What hands launches to helpers here; None where there is nothing better than Python."""
    if not _post:
        _post.append(_found())
    return _post[0]


def _found() -> Post | None:
    machine = os.uname().machine if sys.platform == "linux" else ""
    target = host()
    if machine not in _FUTEX or target.triple.partition("-")[0] != machine:
        return None
    library = ctypes.CDLL(None)
    syscall, clock = _address(library, "syscall"), _address(library, "clock_gettime")
    if not syscall or not clock:
        return None
    call, declared = _PAUSES[machine]
    text = code.TEXT.replace("PAUSE", call).replace("DECLARED", declared)
    numbers = {"STRETCHES": record.STRETCHES, "LANES": record.LANES, "BUDGET": record.BUDGET, "FUTEX": _FUTEX[machine]}
    for name, number in numbers.items():
        text = text.replace(f"i64 {name}", f"i64 {number}")
    return Post(stored_functions(text, lambda: text, target, ["worker"])[0], syscall, clock)


def _address(library: Any, name: str) -> int:
    function = getattr(library, name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0
