"""Results side by side: which elements have other bits, and whether they may.

What may differ, by docs/numerics.md:

- which NaN an element is, everywhere;
- on the CPU engine, what a program asks to be approximate (`rounding<approx>`);
- on a GPU, that and the functions, products of matrices, sums of floats and atomics, whose last bits the dialect leaves
  open.  A program that has none of them must give the same bits there too.

Where bits may differ, numbers must be near each other.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.execute.analysis.values import leaves_bits_open
from tileir.execute.array_difference import exact_numbers, near, same_bits
from tileir.execute.dtypes import Array
from tileir.execute.engine.registry import find_engine
from tileir.ir.core import Operation
from tileir.ir.traversal import pre_order
from tileir.ir.types import FloatType
from tileir.judge.verdicts.causes import DIFFERENT
from tileir.judge.verdicts.launches import Result, Results
from tileir.judge.verdicts.verdict import Step

_NEAR: Final = {"f64": 1e-9, "f32": 1e-3, "f16": 2e-2, "bf16": 1e-1, "tf32": 1e-2, "f8E4M3FN": 0.3, "f8E5M2": 0.5}
"""Relative distances within which numbers of a type are near each other."""


def open_operations(module: Operation, engine: str) -> list[str]:
    """The operations of a program whose last bits an engine may choose, each once."""
    on_gpu = find_engine(engine).on_gpu
    found: set[str] = set()
    for operation in pre_order(module):
        if leaves_bits_open(operation) if on_gpu else operation.keyword("rounding_mode") == "approx":
            found.add(operation.declaration.mnemonic)
    return sorted(found)


def compare_results(
    step: Step, wanted: list[Results], found: list[Results], names: tuple[str, str], open_bits: list[str]
) -> None:
    """Say in a step where results differ; it passes if they do not, or only as they may."""
    free = 0
    for left, right in zip(wanted, found, strict=True):
        for before, after in zip(left.arrays, right.arrays, strict=True):
            different = before.patterns != after.patterns
            allowed = different & same_bits(before.array, after.array).reshape(-1)
            if open_bits:
                allowed |= different & _near(before, after)
            free += int(allowed.sum())
            places = numpy.flatnonzero(different & ~allowed)
            if places.size:
                _tell(step, left.entry, before, after, places, names)
    if open_bits:
        step.details["open_operations"] = sorted({*step.details.get("open_operations", ()), *open_bits})
    if free:
        # Measured, as it is another number on another processor, which makes other NaNs, or rounds otherwise.
        step.measured["open"] = step.measured.get("open", 0.0) + free


def _tell(step: Step, entry: str, before: Result, after: Result, places: Array, names: tuple[str, str]) -> None:
    count = int(places.size)
    step.details.setdefault("different", {})[f"@{entry} argument {before.argument}"] = count
    if step.outcome == "failed":
        # The first is told in words.
        return
    place = int(places[0])
    step.outcome = "failed"
    step.message = (
        f"@{entry}, argument {before.argument}: {count} of {before.array.size} elements of type "
        f"{before.element.spelling} differ, the first is number {place}: {names[0]} has {_shown(before, place)}, "
        f"{names[1]} has {_shown(after, place)}"
    )
    step.cause = f"{DIFFERENT}: {before.element.spelling}"


def _near(before: Result, after: Result) -> Array:
    element = before.element
    if not isinstance(element, FloatType) or element.name not in _NEAR or before.array.dtype.kind == "u":
        return numpy.zeros(before.array.size, numpy.bool_)
    left, right = (exact_numbers(element, each.array).reshape(-1) for each in (before, after))
    with numpy.errstate(all="ignore"):
        sizes = numpy.abs(left)
        finite = sizes[numpy.isfinite(sizes)]
        # What nearly cancels out is judged by what is typical.
        typical = float(numpy.median(finite)) if finite.size else 0.0
        return near(right, left, 0.0, _NEAR[element.name] * numpy.maximum(sizes, typical))


def _shown(result: Result, place: int) -> str:
    return f"{result.array.reshape(-1)[place]} ({int(result.patterns[place]):#x})"
