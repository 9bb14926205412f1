"""Schedules that a search has found, on disk beside compiled code.

One holds for a program, a kind of launches, a GPU and a version of Triton.
"""

from __future__ import annotations

from _blake2 import blake2b
from typing import Final

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.gpu.triton.cached import structure_key
from tileir.execute.gpu.triton.options import Schedule, Specialization
from tileir.execute.gpu.triton.stored_code import packed_specialization, unpacked_schedule
from tileir.execute.gpu.triton.versions import installed_triton
from tileir.ir.core import Operation

PREFIX: Final = "schedule-"


def _key(entry: Operation, target: str, gpu: str, kind: Specialization, fast: bool) -> str:
    triton = installed_triton()
    version = "" if triton is None else triton.version
    parts = (structure_key(entry), target, gpu, packed_specialization(kind), fast, version)
    digest = blake2b(repr(parts).encode("utf-8", "surrogateescape"), digest_size=20, person=b"tileir schedule")
    return f"{PREFIX}{digest.hexdigest()}"


def kept_schedule(entry: Operation, target: str, gpu: str, kind: Specialization, fast: bool) -> Schedule | None:
    """The schedule that was found for such launches; None where nobody has searched."""
    found = default_cache().get(_key(entry, target, gpu, kind, fast))
    if found is None:
        return None
    packed = found[1].get("schedule")
    if not isinstance(packed, list) or len(packed) != len(Schedule._fields):
        return None
    return unpacked_schedule(packed)


def keep_schedule(
    entry: Operation, target: str, gpu: str, kind: Specialization, fast: bool, schedule: Schedule
) -> None:
    default_cache().put(_key(entry, target, gpu, kind, fast), b"", {"schedule": list(schedule)})
