"""The sets of inputs of a candidate: for the shapes that are shown, for held-out ones, and contents that find bugs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tileir.judging.tasks.settings import TaskSettings

# Groups of sets, called like the step in which their results are compared.
SHOWN, HELD_OUT, VARIANTS, NONFINITE, LAYOUTS = "correct", "held-out", "variants", "nonfinite", "layouts"
_LEAST_SIZE: Final = 32
_EDGE: Final = 16
"""Sizes that are multiples of it may be what kernels rely on."""


@dataclass(slots=True)
class InputSet:
    """Inputs that were made, as everybody but the candidate knows them."""

    digest: str
    group: str
    label: str
    """What messages call it."""
    slack: list[float] = field(default_factory=list)
    """Of each result, an absolute error that rounding alone explains."""


class PlannedSet(NamedTuple):
    """Inputs to make."""

    group: str
    label: str
    shape: Any
    trial: int


def planned_sets(settings: TaskSettings, shapes: Sequence[Any], trials: int) -> Iterator[PlannedSet]:
    """The sets of a reference with these shapes, in the order in which a candidate gets them."""
    for shape in shapes:
        for trial in range(trials):
            yield PlannedSet(SHOWN, _label(shape), shape, trial)
    for number, shape in enumerate(settings.held_out):
        # Two of each, to find which values change with the inputs.
        for trial in range(2):
            yield PlannedSet(HELD_OUT, f"held-out shape {number + 1}", shape, trials + 2 * number + trial)

    base = next((shape for shape in shapes if isinstance(shape, dict)), None)
    for name, size in _other_sizes(settings, [each for each in shapes if isinstance(each, dict)]):
        yield PlannedSet(VARIANTS, f"{name}={size}", {**(base or {}), name: size}, 0)


def _other_sizes(settings: TaskSettings, shapes: Sequence[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Sizes to try: those that the task names, and off by one between the smallest and the largest it has, where not
    all are multiples of 16."""
    for name, sizes in settings.sizes.items():
        yield from [(name, size) for size in sizes]
    for name in shapes[0] if shapes and settings.variants else ():
        # Not of held-out shapes, whose sizes would show in labels.
        stated = [shape.get(name) for shape in shapes]
        known = sorted({each for each in stated if isinstance(each, int) and not isinstance(each, bool)})
        if name not in settings.sizes and len(known) > 1 and any(each % _EDGE for each in known):
            near = {each + step for each in known for step in (-1, 1)} - {*known}
            yield from [(name, each) for each in sorted(near) if max(_LEAST_SIZE, known[0]) <= each <= known[-1]][-2:]


def _label(shape: Any) -> str:
    if isinstance(shape, dict):
        return ", ".join([f"{name}={value}" for name, value in shape.items()]) or "inputs"
    return str(shape) if shape != () else "inputs"
