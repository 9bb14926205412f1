"""`overlap`: launches that do not wait for each other unless one needs what another makes.

The CPU backend has launches wait for each other's memory (`cpu.runtime.overlap`); whatever cannot be left to that, a
launch on the interpreter above all, comes after everything before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tileir.execute.cpu.runtime.overlap import Launches

# A context variable, not one of the thread: tasks that take turns on a thread have launches of their own.
_current: ContextVar[Launches | None] = ContextVar("tileir.kernels.overlap", default=None)


def overlapped() -> Launches | None:
    """The launches under way of the `overlap` around the caller, if there is one."""
    found = _current.get()
    return found if found is not None and found.is_usable else None


@contextmanager
def overlap() -> Iterator[None]:
    """Within this context a launch on the CPU backend checks its arguments and returns; it runs as soon as it may.

    A launch waits for earlier ones that write what it reads or writes, or read what it writes, so that results are
    those of one launch after the other; independent ones run at the same time.  Leaving the context waits for all of
    them and raises the error of the first that failed: results are in the arrays then; do not read the arrays before.
    Launches that print, sanitize, report progress or reach memory by addresses, and those on the interpreter, run at
    once, after all earlier ones.  See docs/internals/cpu.md.
    """
    from tileir.execute.cpu.runtime.overlap import Launches

    before = _current.get()
    outer = overlapped()
    launches = outer if outer is not None else Launches()
    try:
        _current.set(launches)
        try:
            yield
        except Exception as error:
            # What was launched before an error is done, as without this context.
            launches.wait_for_all(error)
            raise
        launches.wait_for_all()
    except BaseException:
        # All is over already, unless this is an interrupt.
        launches.abort()
        raise
    finally:
        launches.is_closed = outer is None
        _current.set(before)
