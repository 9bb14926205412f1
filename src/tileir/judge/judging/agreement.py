"""Results of two engines side by side: which elements have other bits, and whether they may."""

from __future__ import annotations

import numpy

from tileir.execute.dtypes import Array
from tileir.judge.judging.launches import Results
from tileir.judge.verdicts import Step


def compare_results(step: Step, wanted: list[Results], found: list[Results], first: str, second: str) -> None:
    """Say in a step where results differ; it passes if they do not."""
    for left, right in zip(wanted, found, strict=True):
        for (number, element, before), (_, _, after) in zip(left.arrays, right.arrays, strict=True):
            places = numpy.flatnonzero(_patterns(before) != _patterns(after))
            if places.size:
                place = int(places[0])
                step.outcome = "failed"
                step.message = (
                    f"@{left.entry}, argument {number}: {places.size} of {before.size} elements of type "
                    f"{element.spelling} differ, the first is number {place}: {first} has "
                    f"{_shown(before, place)}, {second} has {_shown(after, place)}"
                )
                step.cause = f"results of {second} differ from {first}"
                step.details["different"] = int(places.size)
                return


def _patterns(array: Array) -> Array:
    flat = numpy.ascontiguousarray(array).reshape(-1)
    return flat.view(f"u{flat.itemsize}")


def _shown(array: Array, place: int) -> str:
    flat = array.reshape(-1)
    return f"{flat[place]} ({int(_patterns(array)[place]):#x})"
