"""What LLVM says of itself and of this machine, and remembering it.

To ask, LLVM has to be loaded, which takes longer than all else about a kernel from the cache.  So its answers are kept
in the cache, under a name that follows from what they depend on: how the files of llvmlite look, and how the system
describes the processors.  Where either is not known, LLVM is asked each time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.cache.private_files import FileStamp, are_old_enough, name_of, stamp_of

_PROCESSORS: Final = "/proc/cpuinfo"
_MOST_OF_PROCESSORS: Final = 1 << 16

_DESCRIBING: Final = frozenset(
    ["vendor_id", "cpu family", "model", "model name", "stepping", "flags"]
    + ["CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"]
)
"""What Linux says of a processor that LLVM looks at, and that does not change while it runs."""

_WHOLE_LLVM: Final = 20 << 20
"""A smaller library takes LLVM from elsewhere, where another version may be installed at any time."""


class Answers(NamedTuple):
    """What LLVM says.  `features` tells of each feature that LLVM knows whether this machine has it."""

    binding_version: str
    version: tuple[int, ...]
    name: str
    triple: str
    features: dict[str, bool]


def remembered(ask: Callable[[], Answers]) -> Answers:
    """LLVM's answers, from the cache if they are there."""
    looks, processors = _binding_looks(), _processors()
    if not looks or not processors:
        return ask()
    store = default_cache()
    key = f"llvm-{name_of(looks, processors)}"
    found = store.get(key)
    answers = _read(found[1]) if found is not None else None
    if answers is None:
        answers = ask()
        if are_old_enough(looks):
            store.put(key, b"", answers._asdict())
    return answers


def _read(meta: dict[str, Any]) -> Answers | None:
    try:
        version = tuple(meta["version"])
        return Answers(meta["binding_version"], version, meta["name"], meta["triple"], dict(meta["features"]))
    except (KeyError, TypeError, ValueError):
        return None


def _binding_looks() -> list[FileStamp]:
    """How the files of llvmlite look that LLVM and the versions are in; none where they are not known."""
    spec = find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return []
    folder = os.path.dirname(spec.origin)
    try:
        looks = [stamp_of(path, os.stat(path)) for path in (spec.origin, os.path.join(folder, "_version.py"))]
        libraries = [
            stamp_of(entry.path, entry.stat())
            for entry in os.scandir(os.path.join(folder, "binding"))
            if not entry.name.endswith(".py") and "llvmlite" in entry.name
        ]
    except OSError:
        return []
    return looks + sorted(libraries) if any(size >= _WHOLE_LLVM for _path, size, *_times in libraries) else []


def _processors() -> str:
    """The kinds of processors of this machine, as Linux describes them; empty where that is not known."""
    if sys.platform != "linux":
        return ""
    try:
        with open(_PROCESSORS, "rb") as file:
            text = file.read(_MOST_OF_PROCESSORS).decode("utf-8", "replace")
    except OSError:
        return ""
    # The last line may be cut short.
    lines = {line for line in text.split("\n")[:-1] if line.partition(":")[0].strip() in _DESCRIBING}
    has_features = any(line.startswith(("flags", "Features")) for line in lines)
    return "\n".join([os.uname().machine, *sorted(lines)]) if has_features else ""
