"""What is done to each program, and how much it may take."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field

from tileir.interface import names_given
from tileir.ir.quoting import type_text


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is a whole number from {least} on, not {value!r}")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may take; all of it ends the child process, never the sweep."""

    seconds: float = 30.0
    """Of the clock; processor time is limited to somewhat more."""
    memory: int = 4 << 30
    """Bytes of address space beyond what the child begins with."""
    file_bytes: int = 64 << 20
    """The largest file it may write in its own scratch directory, the only place where it may write."""
    output_bytes: int = 1 << 20
    """Of standard output and standard error, kept for the table; what is beyond is cut."""
    threads: int = 1
    programs_per_child: int = 32
    """How many programs one child may judge, one after the other, as long as they pass; 1 for a process each.  One that
    does not pass is judged again in a process of its own.  Modules of kernels have theirs in any case."""

    def __post_init__(self) -> None:
        if not _is_number(self.seconds) or not 0 < self.seconds < math.inf:
            raise ValueError(f"seconds is a number above 0, not {self.seconds!r}")
        for name in ("memory", "file_bytes", "output_bytes", "threads", "programs_per_child"):
            _check_count(name, getattr(self, name), 0 if name in ("file_bytes", "output_bytes") else 1)


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps, in the order in which they are done; a step that fails ends those that need it, not the others."""

    optimize: int | None = None
    """A level: the optimized program must verify and compute the same."""
    engines: tuple[str, ...] = ()
    """Engines it is run on; each is compared with the first."""
    sanitize: bool = False
    targets: tuple[str, ...] = ()
    """GPUs it is compiled for by NVIDIA's assembler."""
    cost: tuple[str, ...] = ()
    """Targets whose cost is estimated."""
    time: bool = False
    """Time each engine; measured figures are never part of what makes two results equal."""
    seed: int = 0
    """Of random arguments, for programs that come without any."""
    trials: int = 3
    """Kernels: how many seeds of inputs, for each of the shapes that the reference states."""
    tolerance: float | None = None
    """Kernels: relative and absolute; None for what the reference states, or else what suits the element type."""
    speedup: float | None = None
    """Kernels: the least that the baseline's estimated time on each target of `cost` is of theirs."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name in ("engines", "targets", "cost"):
            # The class is frozen.
            object.__setattr__(self, name, names_given(name, getattr(self, name)))
        if self.optimize is not None:
            _check_count("optimize", self.optimize, 0)
        _check_count("trials", self.trials, 1)
        _check_count("seed", self.seed, 0)
        for name in ("tolerance", "speedup"):
            value = getattr(self, name)
            if value is not None and (not _is_number(value) or not 0 <= value < math.inf):
                raise ValueError(f"{name} is a number from 0 on, not {value!r}")
        if not isinstance(self.limits, Limits):
            raise TypeError(f"limits is a tileir.Limits, not {type_text(self.limits)}")

    @property
    def digest(self) -> str:
        """Results of two plans do not mix: the table is keyed by it."""
        return hashlib.blake2b(json.dumps(asdict(self), sort_keys=True).encode(), digest_size=16).hexdigest()
