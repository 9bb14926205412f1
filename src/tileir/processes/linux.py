"""Calls of the Linux kernel that Python has no names for."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Any, Final

PR_SET_SECCOMP: Final = 22
PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000

_library: Any = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def prctl(option: int, *arguments: Any) -> bool:
    """Return whether the kernel accepts the request."""
    if _library is None:
        return False
    values = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in (*arguments, 0, 0, 0, 0)[:4]]
    return bool(_library.prctl(option, *values) == 0)


def system_call(number: int, *arguments: Any) -> int:
    """The result of a system call; raises `OSError` if it fails."""
    values = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    found = int(_library.syscall(ctypes.c_long(number), *values))
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return found


def leave_network() -> bool:
    """Move this process into an empty network; return whether the system allows it."""
    return _library is not None and _library.unshare(_NEW_USER | _NEW_NETWORK) == 0


def end_with_parent() -> None:
    """Have the system kill this process when its parent ends."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_descendants() -> bool:
    """Adopt descendants whose parents have ended, so that this process can end them."""
    return prctl(_PR_SET_CHILD_SUBREAPER, 1)
