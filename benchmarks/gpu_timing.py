"""What the benchmarks on a GPU share: times of kernels, how far results are apart, and what is measured where."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import tileir


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


class Flusher:
    """Empties the level-2 cache."""

    def __init__(self, torch: Any) -> None:
        size = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0)
        self._memory = torch.empty(2 * max(size, 1 << 26), dtype=torch.int8, device="cuda")

    def __call__(self) -> None:
        self._memory.zero_()


def event_times(torch: Any, action: Callable[[], object], flush: Flusher, count: int) -> list[float]:
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
    for begin, end in pairs:
        flush()
        begin.record()
        action()
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) * 1e-3 for begin, end in pairs]


def difference(torch: Any, found: Any, expected: Any) -> float:
    """The largest difference as a part of the largest element."""
    found, expected = found.float(), expected.float()
    if not bool(torch.isfinite(found).all()):
        return float("inf")
    return float((found - expected).abs().max() / expected.abs().max())


def versions(torch: Any) -> dict[str, str]:
    from tileir.execute.gpu.driver.library import driver, version_words

    found = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "GPU": torch.cuda.get_device_name(0),
        "driver": f"CUDA {version_words(driver().version)}",
        "Python": platform.python_version(),
        "tileir": tileir.__version__,
        "torch": torch.__version__,
    }
    for package in ("cupy-cuda12x", "cupy-cuda13x", "cupy", "cuda-tile", "cuda-bindings"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def private_copy(folder: Path) -> str:
    """The cache of a folder where only this user can write, as the cache wants it."""
    target = tempfile.mkdtemp(prefix="tileir-gpu-speed-")
    os.chmod(target, 0o700)
    for path in sorted((folder / "cache").rglob("*")):
        place = Path(target) / path.relative_to(folder / "cache")
        if path.is_dir():
            place.mkdir(mode=0o700)
        else:
            shutil.copyfile(path, place)
            place.chmod(0o600)
    return target
