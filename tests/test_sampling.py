"""What of a large table is run each time: a part of it, with each value that cases have in common."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from tests.sampling import leave_to_long_runs

WORDS = ("zero", "one", "two", "three", "four", "five")


class Case:
    """As much of a test's case as is looked at."""

    def __init__(self, test: str, step: int | None, values: dict[str, object], *marks: Any) -> None:
        self.nodeid = f"{test}[{values}]"
        self.callspec = SimpleNamespace(params=values)
        self.marks = {mark.name: mark for mark in ([pytest.mark.sampled(step).mark] if step else []) + [*marks]}

    def get_closest_marker(self, name: str) -> Any:
        return self.marks.get(name)

    def add_marker(self, mark: Any) -> None:
        self.marks[mark.name] = mark


def kept(cases: list[Case]) -> list[Case]:
    leave_to_long_runs(cases)  # type: ignore[arg-type]
    return [case for case in cases if "long" not in case.marks]


def test_one_in_so_many_cases_of_a_table_is_kept() -> None:
    left = kept([Case("a", 3, {"word": word}) for word in WORDS])
    assert [case.callspec.params["word"] for case in left] == ["zero", "three"]


@pytest.mark.parametrize("step", [2, 3, 4, 6])
@pytest.mark.parametrize("sizes", [(6, 4), (4, 6), (6, 6), (2, 6), (6, 2)])
def test_every_value_of_tables_that_are_multiplied_is_kept(sizes: tuple[int, int], step: int) -> None:
    tables = [WORDS[:size] for size in sizes]
    cases = [Case("a", step, {"x": x, "y": y}) for x, y in product(*tables)]
    left = kept(cases)
    for name, table in zip("xy", tables, strict=True):
        if len(cases) // len(table) >= step:
            assert {case.callspec.params[name] for case in left} == set(table)
    assert len(left) <= len(cases) // step + len(tables[0]) + len(tables[1])
    assert len(left) < len(cases)


def test_tests_are_counted_apart_and_those_without_the_mark_are_left_alone() -> None:
    others = [Case("b", None, {"word": word}) for word in WORDS]
    long = [Case("a", 2, {"word": word}, pytest.mark.long.mark) for word in WORDS]
    cases = [Case(test, 2, {"word": word}) for word in WORDS for test in ("a", "c")]
    assert len(kept([*others, *long, *cases])) == 6 + 3 + 3
