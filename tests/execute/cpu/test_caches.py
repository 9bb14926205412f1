"""What the caches of a machine keep of a launch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tileir.execute.cpu.runtime import target


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    target.last_level_bytes.cache_clear()
    yield
    target.last_level_bytes.cache_clear()


def machine(folder: Path, levels: dict[int, str], shared: dict[int, str]) -> None:
    """Describe processors as Linux does: caches by level, and who shares the last one."""
    for processor, sharing in shared.items():
        for number, (level, size) in enumerate(levels.items()):
            cache = folder / f"cpu{processor}" / "cache" / f"index{number}"
            cache.mkdir(parents=True)
            (cache / "level").write_text(f"{level}\n")
            (cache / "size").write_text(f"{size}\n")
            (cache / "shared_cpu_list").write_text(f"{sharing if level == max(levels) else processor}\n")


@pytest.mark.parametrize(
    ("levels", "shared", "expected"),
    [
        ({1: "32K", 2: "1024K", 3: "33792K"}, {0: "0-1", 1: "0-1"}, 33 << 20),
        ({1: "32K", 2: "1M", 3: "32M"}, {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}, 64 << 20),
        ({1: "64K", 2: "2M"}, {0: "0", 1: "1"}, 4 << 20),
        ({1: "32K", 2: "1G"}, {5: "5"}, 1 << 30),
        ({1: "100"}, {0: "0"}, 100),
        ({1: "a lot"}, {0: "0"}, 32 << 20),
        ({}, {0: "0"}, 32 << 20),
    ],
)
def test_each_last_cache_counts_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    levels: dict[int, str],
    shared: dict[int, str],
    expected: int,
) -> None:
    machine(tmp_path, levels, shared)
    monkeypatch.setattr(target, "_CACHES", f"{tmp_path}/cpu{{}}/cache")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(shared), raising=False)
    assert target.last_level_bytes() == expected


def test_only_processors_of_this_process_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(tmp_path, {3: "32M"}, {0: "0", 1: "1", 2: "2"})
    monkeypatch.setattr(target, "_CACHES", f"{tmp_path}/cpu{{}}/cache")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1}, raising=False)
    assert target.last_level_bytes() == 32 << 20


def test_a_launch_keeps_half_at_most_and_its_threads_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "last_level_bytes", _three_hundred)
    assert [target.cached_bytes(threads) >> 20 for threads in (1, 2, 4, 8, 16)] == [24, 48, 96, 150, 150]


@cache
def _three_hundred() -> int:
    return 300 << 20
