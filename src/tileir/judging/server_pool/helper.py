"""A process beside a server, which starts the children in which no foreign code runs.

It is forked before the server imports torch and cuTile: a fork takes longer with more memory to share, and
the steps that follow a candidate need neither.
"""

from __future__ import annotations

import os
import pickle
import select
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from tileir.processes.child import KEPT, OwnerGone
from tileir.processes.linux import end_with_parent
from tileir.processes.messages import frame, read_frame, write_all

_REQUESTS: Final = 0
_ANSWERS: Final = 3


class Helper:
    """Calls a function in another process, which ends when this one does."""

    def __init__(self, answer: Callable[[int, Any], Any], owner: int) -> None:
        """`answer` gets the number of the pipe that closes when nobody waits any more, and a request; `owner` is such
        a pipe of this process."""
        self._owner: Final = owner
        there, self._requests = os.pipe()
        self._answers, back = os.pipe()
        self._process: Final = os.fork()
        if self._process == 0:
            _serve(answer, there, back)
        KEPT.add(self._process)
        os.close(there)
        os.close(back)

    def close(self) -> None:
        """End it."""
        os.close(self._requests)
        os.close(self._answers)
        # It may be dead, and reaped.
        with suppress(ChildProcessError):
            os.waitpid(self._process, 0)

    def send(self, request: object) -> None:
        """Have it handle a request, and do not wait for the answer."""
        write_all(self._requests, frame(pickle.dumps((False, request))))

    def ask(self, request: object) -> Any:
        """Its answer; raises `BrokenPipeError` if the process has ended, `OwnerGone` if nobody waits for the answer."""
        write_all(self._requests, frame(pickle.dumps((True, request))))
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        poll.register(self._owner, 0)
        if any(descriptor == self._owner for descriptor, _ in poll.poll()):
            raise OwnerGone
        found = read_frame(self._answers)
        if found is None:
            raise BrokenPipeError
        return pickle.loads(found)


def _serve(answer: Callable[[int, Any], Any], requests: int, answers: int) -> None:
    status = 1
    try:
        end_with_parent()
        KEPT.clear()
        os.dup2(requests, _REQUESTS)
        os.dup2(answers, _ANSWERS)
        # The server's pipes among them: who waits at the other end of one is to see that the server is gone.
        os.closerange(_ANSWERS + 1, 1 << 16)
        while (content := read_frame(_REQUESTS)) is not None:
            # The server is trusted.
            has_answer, request = pickle.loads(content)
            found = answer(_REQUESTS, request)
            if has_answer:
                write_all(_ANSWERS, frame(pickle.dumps(found)))
        status = 0
    finally:
        os._exit(status)
