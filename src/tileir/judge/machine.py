"""Who judges: the tileir and the machine of this process.

Results are the same on all machines as long as all have the same tileir: a worker compares its sources with those of
the sweep, for between two releases the version stays.
"""

from __future__ import annotations

import json
import platform
import socket
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import tileir
from tileir.execute.cache.code_cache import hash_of_sources
from tileir.processors import processors


@cache
def sources() -> str:
    """A digest of tileir's sources in this process."""
    return hash_of_sources(()).hex()


@cache
def machine() -> str:
    """This machine, as JSON; nothing in it is compared."""
    described: dict[str, object] = {
        "host": socket.gethostname(),
        "system": platform.system(),
        "processor": platform.machine(),
        "processors": processors(),
        "python": platform.python_version(),
        "tileir": tileir.__version__,
        "sources": sources(),
    }
    for package in ("numpy", "llvmlite"):
        try:
            described[package] = version(package)
        except PackageNotFoundError:
            continue
    return json.dumps(described, sort_keys=True)
