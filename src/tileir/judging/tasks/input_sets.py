"""The sets of inputs of a candidate: for the shapes that are shown, for held-out ones, and contents that find bugs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tileir.judging.tasks.settings import TaskSettings

SHOWN, HELD_OUT = "correct", "held-out"
GROUPS: Final = (SHOWN, HELD_OUT)
"""Groups of sets, called like the step in which their results are compared."""


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
        yield PlannedSet(HELD_OUT, f"held-out shape {number + 1}", shape, trials + number)


def _label(shape: Any) -> str:
    if isinstance(shape, dict):
        return ", ".join([f"{name}={value}" for name, value in shape.items()]) or "inputs"
    return str(shape) if shape != () else "inputs"
