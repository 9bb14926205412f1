"""How many processors this process may use."""

from __future__ import annotations

import os
from functools import cache


@cache
def processors() -> int:
    """The processors this process may use; asked once, as it takes longer than a small launch."""
    try:
        available = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        available = os.cpu_count() or 1
    try:
        # What a container may use, in microseconds of a period; "max" where there is no limit.
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        available = min(available, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return max(1, available)
