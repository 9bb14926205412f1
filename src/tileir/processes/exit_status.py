"""How a process ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any, Final, NamedTuple

FINISHED: Final = "finished"
TIMED_OUT: Final = "timeout"
CLOSED: Final = "closed"


class ExitStatus(NamedTuple):
    """How a child ended."""

    reason: str
    """`FINISHED` if the child sent its last message; why the parent ended it; empty if it ended by itself."""
    code: int
    """Its exit status, negative for a signal."""
    peak_bytes: int = 0
    """The most memory that it had."""

    @property
    def is_finished(self) -> bool:
        return self.reason == FINISHED

    @property
    def signal(self) -> str:
        """The signal that ended it, as `SIGSEGV`; empty if none did."""
        return signal_name(-self.code) if self.code < 0 else ""

    @property
    def message(self) -> str:
        if self.reason == TIMED_OUT:
            return "took too long"
        if self.reason and not self.is_finished:
            return f"was ended: {self.reason}"
        return f"was ended by {self.signal}" if self.signal else f"ended with status {self.code}"


def exit_status(reason: str, status: int, usage: Any) -> ExitStatus:
    """The status from the results of `os.wait4`, whose unit of memory depends on the system."""
    unit = 1 if sys.platform == "darwin" else 1024
    return ExitStatus(reason, os.waitstatus_to_exitcode(status), usage.ru_maxrss * unit)


def signal_name(number: int) -> str:
    """`SIGSEGV`; its number where this system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def kill_group(leader: int) -> None:
    """Kill a process group, if it is there."""
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
