"""What the signal that ended a process is called."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """`SIGSEGV`; its number where this system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
