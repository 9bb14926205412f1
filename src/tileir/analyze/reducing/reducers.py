"""The reducers, in the order in which they are tried: what takes away most with the fewest tests comes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tileir.analyze.reducing.attributes import (
    attribute_changes,
    location_changes,
    name_changes,
    strip_attributes,
)
from tileir.analyze.reducing.elements import element_changes
from tileir.analyze.reducing.operands import operand_changes
from tileir.analyze.reducing.program import Program
from tileir.analyze.reducing.removal import (
    Edit,
    chunk_removals,
    kept_removals,
    removable_positions,
    remove_dead_code,
    single_removals,
    symbol_positions,
    symbol_removals,
)
from tileir.analyze.reducing.search import Changed, Search
from tileir.analyze.reducing.shapes import shape_changes
from tileir.analyze.reducing.structure import carried_removals, parameter_removals, straightenings
from tileir.passes.debug_info import strip_locations

Reducer = Callable[[Program], Sequence[Edit]]


def grid_changes(program: Program) -> list[Edit]:
    """A launch of one tile block, or of one along a dimension."""
    grid = program.grid
    if grid is None:
        return []
    smaller = [(1,), *[(*grid[:axis], 1, *grid[axis + 1 :]) for axis in range(len(grid))]]
    return [lambda p, g=chosen: _set_grid(p, g) for chosen in dict.fromkeys(smaller) if chosen != grid]  # type: ignore[misc]


def _set_grid(program: Program, grid: tuple[int, ...]) -> bool:
    program.grid = grid
    return True


_REDUCERS: Final[tuple[Reducer, ...]] = (
    grid_changes,
    straightenings,
    carried_removals,
    single_removals,
    operand_changes,
    shape_changes,
    element_changes,
    parameter_removals,
    attribute_changes,
    location_changes,
    name_changes,
)


def reduce_program(search: Search[Program]) -> None:
    """Make the best program of a search as small as the reducers can."""
    _exhaust(search, lambda program: [_strip_locations, strip_attributes, remove_dead_code])
    while True:
        before = search.steps
        _remove_symbols(search)
        _remove_chunks(search)
        for reducer in _REDUCERS:
            _exhaust(search, reducer)
        if search.steps == before:
            return


def _strip_locations(program: Program) -> bool:
    return strip_locations(program.module) > 0


def _exhaust(search: Search[Program], reducer: Reducer) -> bool:
    def changes(best: Program) -> list[Changed[Program]]:
        return [_applied(best, edit) for edit in reducer(best)]

    return search.exhaust(changes)


def _applied(best: Program, edit: Edit) -> Changed[Program]:
    def changed() -> Program | None:
        candidate = best.copy()
        if not edit(candidate):
            return None
        candidate.renew()
        return candidate

    return changed


def _remove_symbols(search: Search[Program]) -> None:
    size = len(symbol_positions(search.best))
    while size:
        _exhaust(search, lambda program, size=size: symbol_removals(program, size))  # type: ignore[misc]
        size //= 2


def _remove_chunks(search: Search[Program]) -> None:
    """Half of the operations, a quarter, and so on down to single ones."""
    size = (len(removable_positions(search.best)) + 1) // 2
    while size:
        for chunks in (chunk_removals, kept_removals):
            _exhaust(search, lambda program, c=chunks, s=size: c(removable_positions(program), s))  # type: ignore[misc]
        size = min(size // 2, (len(removable_positions(search.best)) + 1) // 2)
