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

    The reader of regions calls itself through the syntax of operations, so a text that nests deeply needs a stack that
    is deep.  How deep Python's may be is a setting of the process that is not ours to change.
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
