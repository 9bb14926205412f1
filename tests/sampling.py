"""Large tables of cases: some of them in the ordinary run, the others among the long tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest


def one_in(step: int, cases: Iterable[Any], ids: Iterable[str] | None = None) -> list[Any]:
    """All cases for `parametrize`, of which one in `step` is run each time; `ids` are their names."""
    names = iter(ids) if ids is not None else None
    found: list[Any] = []
    for number, case in enumerate(cases):
        marks = [pytest.mark.long] if number % step else []
        if isinstance(case, type(pytest.param(0))):
            found.append(pytest.param(*case.values, id=case.id, marks=[*case.marks, *marks]))
        else:
            values = case if isinstance(case, tuple) and not hasattr(case, "_fields") else (case,)
            found.append(pytest.param(*values, id=next(names) if names is not None else None, marks=marks))
    return found


def leave_to_long_runs(items: Iterable[pytest.Item]) -> None:
    """Of the cases of a test that is marked `sampled(step)` about one in `step` is run each time.

    A value of a parameter that `step` cases or more have in common is among them: where tables are multiplied, each value
    of each table.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") is not None and item.get_closest_marker("long") is None:
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tests.values():
        [step] = cases[0].get_closest_marker("sampled").args
        common = Counter([value for case in cases for value in _values(case)])
        kept, met = 0, set[tuple[str, int]]()
        for number, case in enumerate(cases):
            values = {value for value in _values(case) if common[value] >= step}
            if kept * step <= number or not values <= met:
                kept += 1
                met |= values
            else:
                case.add_marker(pytest.mark.long)


def _values(case: pytest.Item) -> list[tuple[str, int]]:
    """The values of a case's parameters; not every kind can be compared, but cases of one table share them."""
    return [(name, id(value)) for name, value in case.callspec.params.items()]
