"""What code is made for (`CodeOptions`), and compiled code with what a launch of it needs (`Code`).

`LaunchValue`s are numbers that are known when a kernel is launched, as expressions of its arguments.  The launcher
makes descriptors of tensors of them, and chooses the variant of the code.  They are plain data, stored with the code:

    ("constant", 64)    ("argument", 3)    ("muli", left, right, 32)    and "addi", "subi": with the number of bits

Kernels write what they print, and asserts that fail, to memory of the GPU, as words of 64 bits, 0 before a launch.  The
slots for them have the sites as their content; `device_memory.py` reads what was written.

    failures    1 once there is one, by compare and swap: the thread that gets there first writes the rest
                number of the assert, x, y, z of the tile block, element, in row-major order

    output      how many words behind this one are used, by an atomic addition
                for each print: 1 + its number, x, y, z of the tile block, the elements of its tiles, in row-major
                order, each as its bits, in the lowest of the word; a print that does not fit into `OUTPUT_WORDS`, the
                first word included, is not written
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from tileir.execute.gpu.cubin import Cubin

LaunchValue: TypeAlias = "tuple[Any, ...]"

FAILURE_WORDS: Final = 6
OUTPUT_WORDS: Final = 1 << 19
REPORTED: Final = frozenset(("failures", "output"))
POINTER: Final = "ptr"  # What stands for the type of elements that are pointers.


def constant(number: int) -> LaunchValue:
    return ("constant", number)


def argument(number: int) -> LaunchValue:
    return ("argument", number)


def evaluate(value: LaunchValue, arguments: Sequence[int]) -> int:
    """Its signed number, or address, for the arguments of a launch; an `OverflowError` where the kernel would wrap."""
    kind = value[0]
    if kind == "constant":
        return int(value[1])
    if kind == "argument":
        return int(arguments[value[1]])
    left, right = evaluate(value[1], arguments), evaluate(value[2], arguments)
    result = left + right if kind == "addi" else left - right if kind == "subi" else left * right
    if not -(1 << (value[3] - 1)) <= result < 1 << (value[3] - 1):
        raise OverflowError("a number that the kernel computes does not fit its type")
    return result


def arguments_of(value: LaunchValue) -> set[int]:
    if value[0] == "constant":
        return set()
    return {value[1]} if value[0] == "argument" else arguments_of(value[1]) | arguments_of(value[2])


# --- what code is made for ---


class Schedule(NamedTuple):
    """How a tile block is laid out on a GPU, chosen by `schedule/model.py` or `tune`; results do not depend on it."""

    num_warps: int = 4
    num_stages: int = 3  # How many iterations of loops with products are under way at once.
    descriptors: bool = True  # Whether views are read and written by TMA where they can be.
    warp_specialize: bool = False
    row_stages: int = 1  # How many iterations of loops without products have their loads under way at once.


class Specialization(NamedTuple):
    """What is known about the values of a launch: code made with it is for launches of this kind only."""

    divisors: tuple[int, ...] = ()
    """For each parameter, a power of two up to 16 that divides it, pointers in bytes; 1 for floats."""
    described: frozenset[int] = frozenset()
    """The views (by their number, `Program.views`) that TMA can serve: aligned, strides of 16 bytes, within limits."""
    short: frozenset[int] = frozenset()  # The views whose elements are all within 2**31 of the first.


class CodeOptions(NamedTuple):
    """All that decides what code is made of a kernel for a GPU."""

    fast: bool = False  # Whether mulf and addf may be fused, functions approximated, denormals flushed.
    lineinfo: bool = False
    schedule: Schedule | None = None  # None for what the model chooses.
    specialization: Specialization | None = None  # None for the usual: everything aligned, and not too large.


class Limits(NamedTuple):
    seconds: float = 120.0
    memory: int = 16 << 30


# --- what a search has seen ---


class TuningTrial(NamedTuple):
    schedule: Schedule
    seconds: float  # Of a launch; 0 where it was not timed.
    words: str = ""


class Tuning:
    """A search, as far as it got: the first of its trials is the default's."""

    def __init__(self, kernel: str, gpu: str, default: TuningTrial) -> None:
        self.kernel: Final = kernel
        self.gpu: Final = gpu
        self.trials: Final[list[TuningTrial]] = [default]
        self.is_interrupted: bool = False

    @property
    def best(self) -> TuningTrial:
        return min([each for each in self.trials if each.seconds], key=lambda each: each.seconds)

    @property
    def schedule(self) -> Schedule:
        return self.best.schedule

    def text(self) -> str:
        """All of it as a table, the fastest first."""
        default = self.trials[0]
        timed = sorted([each for each in self.trials if each.seconds], key=lambda each: each.seconds)
        others = [each for each in self.trials if not each.seconds]
        lines = [f"@{self.kernel} on {self.gpu}"]
        for each in timed:
            name = schedule_words(each.schedule) + (" (default)" if each is default else "")
            ratio = default.seconds / each.seconds
            lines.append(f"{each.seconds * 1e6:12.2f} us  {ratio:5.2f} x  {name}")
        lines += [f"{'-':>12}              {schedule_words(each.schedule)}: {each.words}" for each in others]
        if self.is_interrupted:
            lines.append("interrupted: what was seen so far")
        return "\n".join(lines)


def schedule_words(schedule: Schedule) -> str:
    words = [f"{schedule.num_warps} warps", f"{schedule.num_stages} stages"]
    if schedule.row_stages > 1:
        words.append(f"{schedule.row_stages} row stages")
    words.append("descriptors" if schedule.descriptors else "addresses")
    return ", ".join([*words, "specialized warps"] if schedule.warp_specialize else words)


class AssertSite(NamedTuple):
    words: str
    shape: tuple[int, ...]


class PrintSite(NamedTuple):
    text: str
    tiles: tuple[tuple[str, tuple[int, ...]], ...]
    """The text of the element type of each, `POINTER` for pointers, and its shape."""


# --- compiled code ---


class LaunchView(NamedTuple):
    """A tensor view of a kernel, as launches know it: plain data, so that it is kept on disk."""

    base: LaunchValue | None  # None where only the kernel knows it: read from memory, or computed of what was.
    shape: tuple[LaunchValue | None, ...]
    strides: tuple[LaunchValue | None, ...]
    element_bytes: int

    @property
    def is_known(self) -> bool:
        return self.base is not None and None not in self.shape and None not in self.strides


class TensorMap(NamedTuple):
    """A descriptor for TMA that the launcher encodes (`cuTensorMapEncodeTiled`), dimensions as in the program."""

    base: LaunchValue
    shape: tuple[LaunchValue, ...]
    strides: tuple[LaunchValue, ...]  # In elements; the last is 1.
    element_bytes: int
    box: tuple[int, ...]  # What a single copy moves; a tile may take several.
    element_type: int
    swizzle: int
    fill_nan: bool = False


class Slot(NamedTuple):
    """What the code has as one of its parameters, by kind and content.

    argument: the number of a parameter of the kernel; descriptor: a `TensorMap`; nothing: Triton's own, a null pointer
    global: the name of a global variable; table: bytes of a constant tile; scratch: bytes for a tile block, alignment
    failures, output: the asserts, the prints; these five are passed as the address of the memory on the GPU
    """

    kind: str
    content: Any = None


class Code(NamedTuple):
    cubin: Cubin
    threads: int
    shared: int  # Bytes of shared memory that a launch reserves.
    slots: tuple[Slot, ...]
    schedule: Schedule
    specialization: Specialization
    cluster: int = 1
    notes: tuple[str, ...] = ()
