"""Resource limits of the system: memory, processor time, files.  Every system but Windows has them."""

from __future__ import annotations

import math
import os
from typing import Any, Final

from tileir.judge.plans import Limits

resource: Any
try:
    import resource
except ImportError:
    # Windows.
    resource = None

CAN_LIMIT: Final = resource is not None
_MORE_SECONDS: Final = 2
_OPEN_FILES: Final = 64


def limit_resources(limits: Limits, programs: int = 1, *, limit_addresses: bool = True) -> None:
    """Set the limits of this process, for good."""
    if resource is None:
        return
    wanted = [
        ("RLIMIT_CORE", 0),
        ("RLIMIT_CPU", math.ceil(limits.seconds * max(limits.threads, 1) * programs) + _MORE_SECONDS),
        ("RLIMIT_FSIZE", limits.file_bytes),
        ("RLIMIT_NOFILE", _OPEN_FILES),
    ]
    if limit_addresses:
        wanted.append(("RLIMIT_AS", address_space() + limits.memory))
    for name, number in wanted:
        _set(name, number)


def _set(name: str, number: int) -> None:
    kind = getattr(resource, name, None)
    if kind is None:
        return
    try:
        hard = resource.getrlimit(kind)[1]
        number = number if hard == resource.RLIM_INFINITY else min(number, hard)
        resource.setrlimit(kind, (number, number))
    except (OSError, ValueError):
        # A system that knows the limit and does not take it: macOS has one for addresses like that.
        return


def address_space() -> int:
    """The bytes of address space that this process has; 0 if unknown."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read(64).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
