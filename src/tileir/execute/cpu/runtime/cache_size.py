"""How much of what a launch reads and writes is likely to be in a cache when the next one wants it."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from functools import cache
from typing import Any, Final

SHARE: Final = 24 << 20
"""Bytes of the last-level cache that a thread is taken to fill.  Measured with 300 MB of it, on an addition and a sum
of its result, which together read and write so much: streaming is the quicker from 50 to 100 MB on with one thread,
from 100 to 200 with 2 and 4, from 200 to 400 with 8, from 400 to 800 with 16."""

_SYSTEM: Final = "/sys/devices/system/cpu"
_UNITS: Final = {"K": 10, "M": 20, "G": 30}


def cached_bytes(threads: int) -> int:
    """What the caches keep of a launch on so many threads; 0 where the machine does not tell.

    Half of the last-level caches, since what a launch works with is seldom all there is, and others use them too: a
    virtual machine sees the whole cache of a host of which it has some processors.
    """
    return min(last_level_bytes() // 2, SHARE * threads)


@cache
def last_level_bytes() -> int:
    """The size of the last-level caches of the processors this process may use, each counted once."""
    ways = {"linux": _of_linux, "darwin": _of_mac, "win32": _of_windows}
    try:
        return ways[sys.platform]()
    except (OSError, ValueError, KeyError, AttributeError):
        return 0


def _of_linux() -> int:
    return sum(dict([_last(processor) for processor in os.sched_getaffinity(0)]).values())


def _last(processor: int) -> tuple[str, int]:
    """The last cache of a processor: the processors that share it, and its size."""
    folder = f"{_SYSTEM}/cpu{processor}/cache"
    levels = {}
    for name in os.listdir(folder):
        if name.startswith("index"):
            levels[int(_read(f"{folder}/{name}/level"))] = f"{folder}/{name}"
    last = levels[max(levels, default=0)]
    size = _read(f"{last}/size")
    bytes = int(size[:-1]) << _UNITS[size[-1]] if size[-1:] in _UNITS else int(size)
    return _read(f"{last}/shared_cpu_list"), bytes


def _read(path: str) -> str:
    with open(path) as file:
        return file.read().strip()


def _of_mac() -> int:
    library: Any = ctypes.CDLL(None)
    for name in (b"hw.l3cachesize", b"hw.perflevel0.l2cachesize", b"hw.l2cachesize"):
        value, size = ctypes.c_uint64(0), ctypes.c_size_t(8)
        if library.sysctlbyname(name, ctypes.byref(value), ctypes.byref(size), None, 0) == 0 and value.value:
            return value.value
    return 0


_ENTRY: Final = struct.Struct("<QI4xBBHII4x")
"""What Windows says of a processor: its mask, what the entry is about, and of a cache level, ways, line, size, kind."""
_CACHE: Final = 2


def _of_windows() -> int:
    library: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - elsewhere there is none
    size = ctypes.c_uint32(0)
    library.GetLogicalProcessorInformation(None, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    if not library.GetLogicalProcessorInformation(data, ctypes.byref(size)):
        return 0
    entries = [_ENTRY.unpack_from(data, place) for place in range(0, size.value, _ENTRY.size)]
    caches = [(level, bytes) for _mask, kind, level, _ways, _line, bytes, _type in entries if kind == _CACHE]
    last = max([level for level, _ in caches], default=0)
    return sum([bytes for level, bytes in caches if level == last])
