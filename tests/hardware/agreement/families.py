"""Families of programs by name, each made anew and always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.hardware.agreement import control, edges, elementwise, memory, products, randomized, structure, whole
from tests.hardware.agreement.program import Program

FAMILIES: dict[str, Callable[[], Iterator[Program]]] = {
    "elementwise": elementwise.programs,
    "folded": elementwise.folded,
    "shapes": structure.shapes,
    "reduce": structure.reductions,
    "scan": structure.scans,
    "products": products.programs,
    "views": memory.views,
    "accesses": memory.accesses,
    "atomics": memory.atomics,
    "control": control.programs,
    "edges": edges.programs,
    "examples": whole.examples,
    "cutile": whole.cutile,
    "smith": randomized.smiths,
    "stress": randomized.stresses,
    "kernels": randomized.kernels,
    "numbers": randomized.numbers,
    "loops": randomized.loops,
    "random": randomized.everything,
}


def programs_of(name: str, limit: int | None = None) -> list[Program]:
    """The programs of a family, or so many of them from beginning to end."""
    found = list(FAMILIES[name]())
    if limit is None or len(found) <= limit:
        return found
    return [found[number * len(found) // limit] for number in range(limit)]
