"""Large tables of cases: some of them in the ordinary run, the others among the long tests."""

from __future__ import annotations

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
