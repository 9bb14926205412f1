"""Who judges: the tileir and the machine of this process.

Results are the same on all machines that have the same tileir; between releases, a digest of the sources identifies it.
"""

from __future__ import annotations

import json
import platform
import socket
from contextlib import suppress
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
    described: dict[str, object] = {"tileir": tileir.__version__, "sources": sources(), "processors": processors()}
    described.update(host=socket.gethostname(), system=platform.system(), processor=platform.machine())
    described.update(python=platform.python_version())
    for package in ("numpy", "llvmlite"):
        with suppress(PackageNotFoundError):
            described[package] = version(package)
    return json.dumps(described, sort_keys=True)
