"""Thirteen kernels, each with its launches: the grid, the sizes of its arrays, and numbers around the edges of its tiles.

They are written down here apart from the prover, so that what it infers of a kernel is compared with what the kernel is
meant for: every launch that `launches` draws is one that the kernel has to be right for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

import tileir
from tileir.dialect.types import PointerType
from tileir.execute.dtypes import value_dtype
from tileir.execute.launching.entries import select_entry
from tileir.execute.launching.kernel import Kernel
from tileir.execute.locations.program_text import Spelling
from tileir.execute.observing.observer import Observers
from tileir.execute.sanitizer.coverage import Coverage
from tileir.execute.sanitizer.report import Finding
from tileir.execute.sanitizer.sanitizer import Sanitizer
from tileir.ir.core import Operation
from tileir.ir.types import IntegerType
from tileir.proofs.contract.contract import contract_of
from tileir.proofs.questions.questions import claims
from tileir.proofs.records import QUESTIONS, Claim

PROGRAMS = Path(__file__).with_name("programs")
EXAMPLES = Path(__file__).parents[2] / "examples"


def edges(tile: int) -> tuple[int, ...]:
    """Extents around multiples of a tile."""
    return (1, tile - 1, tile, tile + 1, 2 * tile + 3)


@dataclass(frozen=True)
class OwnKernel:
    """A kernel and the launches it is meant for.

    `numbers` has the values that scalars are drawn from, of which those stay that fulfill `where`; `arrays` how many
    elements the array of each pointer has, and `contents` between which numbers its elements are, if that matters.
    These are expressions of the scalars.  `assume` is what a proof is told; `proved` are the questions that it answers.
    """

    name: str
    grid: tuple[str, ...]
    numbers: dict[str, tuple[int, ...]]
    arrays: dict[str, str]
    contents: dict[str, tuple[str, str]] = field(default_factory=dict)
    where: str = "True"
    assume: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    folder: Path = PROGRAMS

    @property
    def text(self) -> str:
        return (self.folder / f"{self.name}.mlir").read_text("utf-8")

    @property
    def stated_grid(self) -> tuple[str, ...] | None:
        """The grid as a proof is told it; None if it is free."""
        return None if self.grid == ("blocks",) else self.grid

    @property
    def proved(self) -> list[str]:
        """The questions that are proved."""
        return [question for question in QUESTIONS if question not in self.unknown]


_MATMUL: dict[str, Any] = {
    "numbers": {"m": edges(64), "n": edges(64), "k": edges(32)},
    "arrays": {"a": "m * k", "b": "k * n", "c": "m * n"},
}
_VECTORS = {"a": "n", "b": "n", "c": "n"}
_ROWS: dict[str, Any] = {"numbers": {"m": (1, 2, 5), "n": edges(256)}, "arrays": {"source": "m * n", "target": "m * n"}}
_SUMS = {"m": edges(64), "n": edges(32)}

KERNELS = {
    kernel.name: kernel
    for kernel in (
        OwnKernel("vector_add", ("cdiv(n, 128)",), {"n": edges(128)}, _VECTORS),
        OwnKernel(
            "transpose", ("cdiv(m, 32)", "cdiv(n, 64)"), {"m": edges(32), "n": edges(64)},
            {"source": "m * n", "target": "m * n"},
        ),
        OwnKernel("matmul", ("cdiv(m, 64)", "cdiv(n, 64)"), **_MATMUL),
        OwnKernel(
            "persistent_matmul", ("blocks",), _MATMUL["numbers"] | {"blocks": (1, 2, 3, 7)}, _MATMUL["arrays"],
            unknown=("overflow",),
        ),
        OwnKernel("swizzled_matmul", ("cdiv(m, 64) * cdiv(n, 64)",), **_MATMUL),
        OwnKernel("softmax", ("m",), **_ROWS),
        OwnKernel("split_sum", ("cdiv(m, 64)", "cdiv(n, 32)"), _SUMS, {"source": "m * n", "totals": "n"}),
        OwnKernel(
            "locked_sum", ("cdiv(m, 64)", "cdiv(n, 32)"), _SUMS,
            {"source": "m * n", "totals": "n", "locks": "cdiv(n, 32)"},
            {"locks": ("0", "0")}, unknown=("termination",),
        ),
        OwnKernel(
            "gather_rows", ("n", "cdiv(width, 64)"), {"m": (1, 4), "n": (1, 3), "width": edges(64)},
            {"table": "m * width", "rows": "n", "target": "n * width"}, {"rows": ("-2", "m + 1")},
        ),
        OwnKernel(
            "histogram", ("cdiv(n, 128)",), {"n": edges(128), "bins": (1, 8)}, {"values": "n", "counts": "bins"},
            {"values": ("-3", "bins + 3")},
        ),
        OwnKernel(
            "attention", ("cdiv(queries, 64)", "heads", "batches"),
            {"batches": (1, 2), "heads": (1, 2, 4), "groups": (1, 2), "queries": edges(64), "keys": edges(64)},
            {"q": "batches * heads * queries * 32", "k": "batches * groups * keys * 32",
             "v": "batches * groups * keys * 32", "out": "batches * heads * queries * 32"},
            where="heads % groups == 0", assume=("heads % groups == 0", "groups > 0"),
        ),
        OwnKernel(
            "stencil", ("cdiv(n, 128)",), {"n": edges(128)}, {"source": "n", "target": "n"}, unknown=("overflow",)
        ),
        OwnKernel("prefix_sum", ("cdiv(n, 256)",), {"n": edges(256)}, {"x": "n", "ends": "cdiv(n, 256)"}),
    )
}  # fmt: skip

EXAMPLE_KERNELS = {
    kernel.name: kernel
    for kernel in (
        OwnKernel("vector_add", ("cdiv(n, 128)",), {"n": edges(128)}, _VECTORS, folder=EXAMPLES),
        OwnKernel("matmul", ("cdiv(m, 64)", "cdiv(n, 64)"), **_MATMUL, folder=EXAMPLES),
        OwnKernel(
            "softmax", ("rows",), {"rows": (1, 2, 5), "columns": (1, 1023, 1024)},
            {"source": "rows * columns", "target": "rows * columns"}, folder=EXAMPLES,
        ),
        OwnKernel(
            "layer_norm", ("rows",), {"rows": (1, 2, 5), "columns": (1, 1023, 1024)},
            {"source": "rows * columns", "weight": "columns", "bias": "columns", "target": "rows * columns"},
            folder=EXAMPLES,
        ),
        OwnKernel(
            "attention", ("cdiv(length, 64)",), {"length": edges(64)},
            dict.fromkeys(("q", "k", "v", "out"), "length * 64"), folder=EXAMPLES,
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Launch:
    grid: tuple[int, ...]
    arguments: list[Any]
    numbers: dict[str, int]


def evaluated(expression: str, numbers: dict[str, int]) -> int:
    return int(eval(expression, {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}, numbers))


def launches(kernel: OwnKernel, entry: Operation, count: int, seed: int = 0) -> Iterator[Launch]:
    """Draw launches of a kernel, random and the same in each run."""
    chosen = random.Random(f"{kernel.name} {seed}")
    for _ in range(count):
        numbers = {name: chosen.choice(values) for name, values in kernel.numbers.items()}
        while not evaluated(kernel.where, numbers):
            numbers = {name: chosen.choice(values) for name, values in kernel.numbers.items()}
        grid = tuple([evaluated(extent, numbers) for extent in kernel.grid])
        yield Launch(
            grid, [_argument(kernel, value, numbers, chosen) for value in entry.regions[0].block.arguments], numbers
        )


def _argument(kernel: OwnKernel, parameter: Any, numbers: dict[str, int], chosen: random.Random) -> Any:
    name = Spelling().value(parameter).removeprefix("%")
    element = parameter.type.element
    if not isinstance(element, PointerType):
        return numbers[name] if isinstance(element, IntegerType) else 0.5
    count = evaluated(kernel.arrays[name], numbers)
    low, high = [evaluated(text, numbers) for text in kernel.contents.get(name, ("0", "9"))]
    values = numpy.array([chosen.randint(low, high) for _ in range(min(count, 1024))] or [0])
    return numpy.resize(values, count).astype(value_dtype(element.pointee))


def findings(entry: Operation, launch: Launch) -> list[Finding]:
    """Run a launch under the sanitizer; what it found, elements that are never written or twice included."""
    sanitizer = Sanitizer()
    watch = Observers([sanitizer, Coverage(report=sanitizer.report)])
    compiled = Kernel(entry, backend="interpreter")
    compiled.launch(launch.grid, launch.arguments, observer=watch, output=lambda text: None)
    return sanitizer.report.findings


def entry_of(text: str, name: str) -> Operation:
    return select_entry(tileir.parse(text, f"{name}.mlir", verify=True), None)


def claimed(
    entry: Operation, assume: Sequence[str] = (), grid: Sequence[str] | None = None, seconds: float = 30.0
) -> list[Claim]:
    """What is claimed before anything is run."""
    module = entry.parent_operation
    return claims(module, entry, contract_of(module, entry, assume, grid), seconds)


def verdicts(entry: Operation, assume: Sequence[str] = (), grid: Sequence[str] | None = None) -> dict[str, str]:
    """By question "proved", "refutable" or "unknown"."""
    found = dict.fromkeys(QUESTIONS, "proved")
    for claim in claimed(entry, assume, grid):
        if claim.verdict != "proved" and found[claim.question] != "refutable":
            found[claim.question] = claim.verdict
    return found
