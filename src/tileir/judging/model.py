"""The values of a sweep: what is judged (`SweepInput`), what is done to it (`JudgePlan`, `ProcessLimits`), what comes
of it (`Verdict`).

They are plain: pickled to other processes and machines, sent as JSON, written to the file.  An item is known by its
contents, and shown as text.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, get_args

from tileir.analyze.smith.program import SmithProgram
from tileir.analyze.smith.program import smith as smith_program
from tileir.bytecode import is_bytecode
from tileir.interface import from_bytecode, load, names_given
from tileir.ir.diagnostics import OptionError, TileIRError
from tileir.ir.quoting import type_text

Kind = Literal["program", "cpp", "seed", "kernels", "launches", "unreadable"]
"""A program is text or bytecode; cpp is CUDA Tile C++, compiled where it is judged; a seed is one of `tileir.smith`,
made there too; kernels are a Python module with cuTile kernels, judged against a reference.  Launches are such a module
too, whose launches a reduction reads as programs; they are in no table.  What cannot be read is a
row of the table too, and judged by nobody: its content is its name and the reason."""

MODULES: Final[tuple[Kind, ...]] = ("kernels", "launches")
"""The kinds whose content is a Python module."""
_LARGEST_SEED: Final = 100_000


def digest_of(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class SweepInput:
    """One thing to judge."""

    name: str
    """What a person calls it: the path as given, `archive.zip/path`, `smith:7`."""
    kind: Kind
    content: bytes
    """The bytes of the file; of a seed, the words that `tileir smith` would be given, as JSON."""
    reference: bytes = b""
    """Of kernels: the Python module they are judged against, where it is another one."""

    @property
    def digest(self) -> str:
        """Known by content alone: two files with the same bytes are judged once."""
        known = self.kind.encode() + b"\0" + self.content
        if self.reference:
            known += b"\0" + hashlib.blake2b(self.reference).digest()
        return digest_of(known)

    @property
    def trouble(self) -> str:
        """Why it cannot be read, of one that cannot."""
        reason = self.content.rpartition(b"\0")[2] if self.kind == "unreadable" else b""
        return reason.decode("utf-8", "surrogateescape")


def unreadable(name: str, why: str) -> SweepInput:
    """What stands in the table for something that cannot be read."""
    return SweepInput(
        name, "unreadable", "\0".join([name, why.replace("\0", "\\0")]).encode("utf-8", "surrogateescape")
    )


def seed_program(content: bytes) -> SmithProgram:
    """The program of a seed, which may come from a stranger."""
    try:
        chosen = json.loads(content)
        size = chosen.get("size") if isinstance(chosen, dict) else None
        if size is not None and not (isinstance(size, int) and 0 <= size <= _LARGEST_SEED):
            raise ValueError(f"its size is no number from 0 to {_LARGEST_SEED:,}")
        return smith_program(**chosen)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise OptionError(f"this is no seed of a program: {error}") from None


def content_of(item: SweepInput) -> tuple[bytes, str]:
    """What a file of it holds, and how the file's name ends.  Of a seed that is its program, whole."""
    if item.kind in ("kernels", "cpp"):
        return item.content, ".py" if item.kind == "kernels" else ".cu"
    content = b"" if item.kind == "unreadable" else item.content
    if item.kind == "seed":
        content = seed_program(content).text().encode()
    return content, ending_of(content)


def ending_of(content: bytes) -> str:
    return ".tileirbc" if is_bytecode(content) else ".mlir"


def text_of(content: bytes) -> str:
    """A program or a module for people; bytecode as `tileir dis` prints it, where it can be read."""
    if is_bytecode(content):
        try:
            return from_bytecode(content, verify=False).text()
        except TileIRError as error:
            return f"// {len(content):,} bytes of bytecode that cannot be read: {error.message}"
    return content.decode("utf-8", "backslashreplace")


def operations_in(content: bytes) -> int:
    """How many operations a program has; 0 for what is none."""
    try:
        return sum(1 for _ in load(content).walk())
    except (TileIRError, ValueError):
        return 0


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is a whole number from {least} on, not {value!r}")


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What one program may take; all of it ends the child process, never the sweep."""

    seconds: float = 30.0
    """Of the clock; processor time is limited to somewhat more."""
    memory: int = 4 << 30
    """Bytes of address space beyond what the child begins with."""
    file_bytes: int = 64 << 20
    """The largest file it may write in its own scratch directory, the only place where it may write."""
    output_bytes: int = 1 << 20
    """Of standard output and standard error, kept for the table; the rest is dropped."""
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
class JudgePlan:
    """The steps, in the order in which they are done; a step that fails ends those that need it, not the others."""

    optimize: int | None = None
    """A level: the optimized program must verify and compute the same."""
    backends: tuple[str, ...] = ()
    """The backends to run it on; each is compared with the first."""
    sanitize: bool = False
    targets: tuple[str, ...] = ()
    """GPUs it is compiled for by NVIDIA's assembler."""
    cost: tuple[str, ...] = ()
    """Targets whose cost is estimated."""
    prove: bool = False
    """Kernels: report what is proved for every launch."""
    time: bool = False
    """Time each backend; measured figures are never part of what makes two results equal."""
    seed: int = 0
    """Of random arguments, for programs that come without any."""
    trials: int = 3
    """Kernels: how many seeds of inputs, for each of the shapes that the reference states."""
    tolerance: float | None = None
    """Kernels: relative and absolute; None for what the reference states, or else what suits the element type."""
    speedup: float | None = None
    """Kernels: the least that the baseline's estimated time on each target of `cost` is of theirs."""
    limits: ProcessLimits = field(default_factory=ProcessLimits)

    def __post_init__(self) -> None:
        for name in ("backends", "targets", "cost"):
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
        if not isinstance(self.limits, ProcessLimits):
            raise TypeError(f"limits is a tileir.sweeps.ProcessLimits, not {type_text(self.limits)}")

    @property
    def digest(self) -> str:
        """Results of two plans do not mix: the table is keyed by it."""
        return digest_of(json.dumps(asdict(self), sort_keys=True).encode())


Outcome = Literal["passed", "failed", "crashed", "timeout", "memory", "forbidden", "refused", "skipped"]
"""passed; failed: the program is wrong, or results differ; crashed: the process died; timeout and memory: a limit was
reached; forbidden: it tried what its confinement denies (files, network, processes); refused: an engine or a target
does not take it; skipped: an earlier step it needs did not pass.  Reports name them in this order."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
FINE: Final[tuple[Outcome, ...]] = ("passed", "skipped")
"""Outcomes of a step that are no failure."""

# Where memory lies: of 9 digits and more, so that small numbers in a program's line stay.  Of 16 are bits of floats,
# but also addresses far from any array, where they are called so.
_ADDRESS: Final = re.compile(r"\b0x[0-9a-f]{9,15}\b|(?<=\baddress )0x[0-9a-f]+|(?<=\baddress is )0x[0-9a-f]+")


@dataclass(slots=True)
class JudgeStage:
    """One thing done to a program: `check`, `optimize`, `run cpu`, `compare cpu`, `sanitize`, `compile sm_90`, .."""

    name: str
    outcome: Outcome
    message: str = ""
    """For people, one paragraph; the same on every machine (no paths of scratch directories, addresses, times)."""
    cause: str = ""
    """What failures are clustered by: the message without names, numbers and places."""
    details: dict[str, Any] = field(default_factory=dict)
    """JSON values that are the same on every machine: findings, counts, digests of results, estimated costs."""
    measured: dict[str, float] = field(default_factory=dict)
    """Seconds, bytes: what differs from run to run, and is left out when two tables are compared."""


@dataclass(slots=True)
class Verdict:
    """All of it for one item under one plan."""

    digest: str
    outcome: Outcome
    """Of the first step that did not pass."""
    cause: str
    steps: list[JudgeStage]
    output: str = ""
    """What it printed, up to the limit; not part of what makes two results equal."""
    measured: dict[str, float] = field(default_factory=dict)
    """`seconds`, `peak_bytes`, `overhead_seconds`."""


def verdict_of(
    item: SweepInput, steps: list[JudgeStage], output: str = "", measured: dict[str, float] | None = None
) -> Verdict:
    """The verdict that the steps amount to: that of the first that did not pass."""
    for step in steps:
        step.message = _ADDRESS.sub("0x...", step.message)
    first = next((step for step in steps if step.outcome not in FINE), JudgeStage("", "passed"))
    return Verdict(item.digest, first.outcome, first.cause, steps, output, measured or {})
