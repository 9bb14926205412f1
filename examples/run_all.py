"""Runs every example, written in Tile IR, built in Python and written in cuTile, and compares the results with NumPy.

    pip install 'tileir[cpu]' cuda-tile
    python examples/run_all.py [BACKEND ..]

Each runs in the interpreter and in the CPU backend, or in those that are named, as `tileiras` on a machine with a GPU,
in the default mode: everything exact but matmuls of floats, which use the best unit of the machine.
Without cuda-tile the kernels in cuTile are left out, without llvmlite the CPU backend.  The exit status is 1 if a
result is wrong.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import build_kernels
import build_matmul
import numpy

import tileir

cutile_kernels: Any
try:
    import cutile_kernels
except ImportError:
    cutile_kernels = None

try:
    import llvmlite  # noqa: F401

    BACKENDS = ["interpreter", "cpu"]
except ImportError:
    BACKENDS = ["interpreter"]

HERE = Path(__file__).parent
RANDOM = numpy.random.default_rng(0)


Launch = Callable[..., Any]
"""Launches a kernel and returns its result."""


class Example:
    """A kernel with arguments, and what NumPy computes for them."""

    def __init__(self, name: str, grid: Any, inputs: list[Any], output: Any, scalars: list[Any], expected: Any) -> None:
        self.name = name
        self.grid = grid
        self.inputs = inputs
        self.output = output
        self.scalars = scalars
        """What follows the arrays: in Tile IR extents are arguments."""
        self.cutile_scalars = [scalar for scalar in scalars if isinstance(scalar, float)]
        """In cuTile an array includes its extents."""
        self.expected = expected
        self.tolerance = 1e-2 if any(array.dtype == numpy.float16 for array in inputs) else 1e-5

    def written(self, backend: str) -> Launch:
        """The kernel in the .mlir file."""
        return self._compiled(tileir.load(HERE / f"{self.name}.mlir"), backend)

    def built(self, backend: str) -> Launch:
        """The kernel that the builder makes."""
        module = build_matmul if self.name == "matmul" else build_kernels
        return self._compiled(getattr(module, f"build_{self.name}")(), backend)

    def cutile(self, backend: str) -> Launch:
        """The cuTile kernel."""

        def launch(**options: Any) -> Any:
            out = self.output.copy()
            arguments = (*self.inputs, out, *self.cutile_scalars)
            tileir.launch(getattr(cutile_kernels, self.name), self.grid, arguments, backend=backend, **options)
            return out

        return launch

    def _compiled(self, module: tileir.Operation, backend: str) -> Launch:
        kernel = tileir.compile(module, backend=backend)

        def launch(**options: Any) -> Any:
            out = self.output.copy()
            kernel.launch(self.grid, (*self.inputs, out, *self.scalars), **options)
            return out

        return launch

    def error(self, found: Any) -> float:
        """The largest difference from NumPy, relative to the largest result."""
        expected = self.expected.astype(numpy.float64)
        return float(abs(found - expected).max() / abs(expected).max())


def examples() -> list[Example]:
    return [vector_add(), softmax(), layer_norm(), matmul(), attention(), histogram()]


def normal(*shape: int, dtype: Any = numpy.float32) -> Any:
    return RANDOM.standard_normal(shape).astype(dtype)


def zeros(*shape: int, dtype: Any = numpy.float32) -> Any:
    return numpy.zeros(shape, dtype)


def vector_add() -> Example:
    a, b = normal(1000), normal(1000)
    return Example("vector_add", 8, [a, b], zeros(1000), [1000], a + b)


def softmax_of(x: Any) -> Any:
    powers = numpy.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def softmax() -> Example:
    x = normal(32, 1000)
    return Example("softmax", 32, [x], zeros(32, 1000), [32, 1000], softmax_of(x.astype(numpy.float64)))


def layer_norm() -> Example:
    x, weight, bias = normal(32, 1000), normal(1000), normal(1000)
    wide = x.astype(numpy.float64)
    spread = numpy.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    expected = (wide - wide.mean(axis=1, keepdims=True)) / spread * weight + bias
    return Example("layer_norm", 32, [x, weight, bias], zeros(32, 1000), [32, 1000, 1e-5], expected)


def matmul() -> Example:
    a, b = normal(200, 150, dtype=numpy.float16), normal(150, 300, dtype=numpy.float16)
    expected = a.astype(numpy.float64) @ b.astype(numpy.float64)
    return Example("matmul", (4, 5), [a, b], zeros(200, 300), [200, 300, 150], expected)


def attention() -> Example:
    q, k, v = (normal(200, 64, dtype=numpy.float16) for _ in range(3))
    score = q.astype(numpy.float64) @ k.astype(numpy.float64).T * 0.125
    return Example("attention", 4, [q, k, v], zeros(200, 64), [200, 0.125], softmax_of(score) @ v)


def histogram() -> Example:
    values = RANDOM.integers(0, 50, 10_000).astype(numpy.int32)
    counts = numpy.bincount(values, minlength=50)
    return Example("histogram", 79, [values], zeros(50, dtype=numpy.int32), [10_000], counts)


def racy() -> Example:
    values = numpy.ones(512, numpy.int32)
    return Example("racy", 4, [values], zeros(1, dtype=numpy.int32), [512], numpy.array([512]))


FORMS: dict[str, Callable[[Example, str], Launch]] = {"Tile IR text": Example.written, "Python builder": Example.built}
if cutile_kernels is not None:
    FORMS["cuTile"] = Example.cutile


def run_examples() -> bool:
    """Print the table; true if all results are right.  Times are those of a second launch: the first one compiles."""
    columns = "".join([f"{f'{name} error':>20}{'ms':>9}" for name in BACKENDS])
    print("  by default: matmuls of floats by the best unit of the machine (exact=True: the same bits anywhere)")
    print(f"  {'kernel':<12}{'written as':<16}{columns}  status")
    right = True
    for example in examples():
        for form, prepare in FORMS.items():
            cells = ""
            good = True
            for backend in BACKENDS:
                launch = prepare(example, backend)
                error = example.error(launch())
                start = time.perf_counter()
                result = launch()
                milliseconds = (time.perf_counter() - start) * 1e3
                error = max(error, example.error(result))
                good = good and error <= example.tolerance
                cells += f"{error:>20.1e}{milliseconds:>9.2f}"
            right = right and good
            status = "ok" if good else f"WRONG: more than {example.tolerance:g}"
            print(f"  {example.name:<12}{form:<16}{cells}  {status}")
    return right


def run_racy() -> bool:
    """Show what a race does, and what the sanitizer reports; true if it is found."""
    example = racy()
    print("\n  racy: four tile blocks add 128 each to one total, without atomics, so it should be 512. It is,")
    print("  depending on the order in which the tile blocks run:")
    found = True
    report = ""
    for form, prepare in FORMS.items():
        launch = prepare(example, "interpreter")
        totals = [int(launch(schedule=schedule)[0]) for schedule in ("forward", "reverse", "interleaved")]
        print(f"  {form:<16}forward {totals[0]}, reverse {totals[1]}, interleaved {totals[2]}")
        try:
            launch(sanitize=True)
            found = False
        except tileir.SanitizerError as error:
            report = str(error)
            found = found and "race" in error.report.kinds
    print(f"\n  The sanitizer sees it in any order ({form}):\n")
    print("\n".join([f"  {line}".rstrip() for line in report.splitlines()]))
    return found


def main() -> int:
    BACKENDS[:] = sys.argv[1:] or BACKENDS
    if cutile_kernels is None:
        print("cuTile is not installed, so its kernels are left out: pip install cuda-tile\n")
    if "cpu" not in BACKENDS and not sys.argv[1:]:
        print("llvmlite is not installed, so the CPU backend is left out: pip install 'tileir[cpu]'\n")
    right = run_examples()
    return 0 if run_racy() and right else 1


if __name__ == "__main__":
    sys.exit(main())
