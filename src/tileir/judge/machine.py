"""Who judges: the tileir and the machine of this process.

Results are the same on all machines as long as all have the same tileir: a worker compares its sources with those of
the sweep, for between two releases the version stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import socket
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import tileir
from tileir.processors import processors


@cache
def sources() -> str:
    """A digest of tileir's sources in this process."""
    package = os.path.dirname(os.path.abspath(tileir.__file__))
    found = hashlib.blake2b(digest_size=16)
    for directory, directories, files in os.walk(package):
        directories.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                path = os.path.join(directory, name)
                found.update(os.path.relpath(path, package).replace(os.sep, "/").encode() + b"\0")
                with open(path, "rb") as file:
                    found.update(hashlib.blake2b(file.read()).digest())
    return found.hexdigest()


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
