"""Views, pointers and atomics as TTIR, run with NumPy, leave in memory what the interpreter leaves."""

from __future__ import annotations

import pytest
from tests.execute.gpu.triton.agreeing import verdict
from tests.hardware.agreement.comparing import REFUSED
from tests.hardware.agreement.families import programs_of
from tests.hardware.agreement.rules import DIFFERENT

FAMILIES = ("views", "accesses", "atomics")


def differing(family: str, every: int) -> list[str]:
    """The names of programs that leave something else, or are refused."""
    programs = list(programs_of(family))[::every]
    found = [verdict(program) for program in programs]
    return [each.program.name for each in found if each.kind in (DIFFERENT, REFUSED)]


@pytest.mark.parametrize(("family", "every"), [("views", 40), ("accesses", 12), ("atomics", 12)])
def test_some_programs_of_the_comparison_with_hardware(family: str, every: int) -> None:
    assert differing(family, every) == []


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_all_programs_of_the_comparison_with_hardware(family: str) -> None:
    assert differing(family, 1) == []
