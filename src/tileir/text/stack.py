"""A stack to go on with where Python's own ends."""

from __future__ import annotations

import _thread

from tileir.annotations import Callable


class _Outcome:
    """How a call on another stack ended."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: BaseException | None = None


def on_fresh_stack(action: Callable[[], None]) -> bool:
    """Do something on the stack of a thread of its own, and wait for it; False where there can be no other thread.

    The parser and the printer of regions call themselves through the directives of operations, so a program that nests
    deeply needs a deep stack.  How deep Python's may be is a setting of the process that is not ours to change.
    """
    outcome = _Outcome()
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            action()
        except BaseException as error:
            outcome.error = error
        finally:
            done.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:
        return False
    done.acquire()
    if outcome.error is not None:
        raise outcome.error
    return True
