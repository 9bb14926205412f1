"""Calls of the Linux kernel that Python has no names for."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any, Final

PR_SET_PDEATHSIG: Final = 1
PR_SET_SECCOMP: Final = 22
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000

_library: Any = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def prctl(option: int, *arguments: Any) -> bool:
    """Whether the kernel does what it is asked for."""
    if _library is None:
        return False
    words = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in (*arguments, 0, 0, 0, 0)[:4]]
    return bool(_library.prctl(option, *words) == 0)


def system_call(number: int, *arguments: Any) -> int:
    """What a call of the kernel gives; an `OSError` if it fails."""
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    found = int(_library.syscall(ctypes.c_long(number), *words))
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return found


def leave_network() -> bool:
    """Give this process a network of its own with nobody in it; gives whether the system lets it."""
    return _library is not None and _library.unshare(_NEW_USER | _NEW_NETWORK) == 0
