"""How many processors this process may use, and how many of them have memory of their own."""

from __future__ import annotations

import os
from functools import cache
from typing import Final

_NODES: Final = "/sys/devices/system/node"


@cache
def processors() -> int:
    """The processors this process may use; computed once, as it takes longer than a small launch."""
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


@cache
def memory_nodes() -> int:
    """The groups of processors with memory of their own (sockets, mostly) that this process may use; 1 if not known."""
    try:
        mine = os.sched_getaffinity(0)
        names = [name for name in os.listdir(_NODES) if name.startswith("node") and name[4:].isdecimal()]
        return max(1, sum([not mine.isdisjoint(_listed(f"{_NODES}/{name}/cpulist")) for name in names]))
    except (AttributeError, OSError, ValueError):
        return 1


def _listed(path: str) -> set[int]:
    """The numbers of a list such as 0-3,8."""
    with open(path) as file:
        parts = [part.split("-") for part in file.read().strip().split(",") if part]
    return {number for part in parts for number in range(int(part[0]), int(part[-1]) + 1)}
