"""Programs of the comparison with a GPU: their TTIR, run with NumPy, gives the interpreter's bits."""

from __future__ import annotations

import pytest
from tests.execute.gpu.triton.agreeing import verdict
from tests.hardware.agreement.families import programs_of

OPEN = {"same", "open", "unspecified", "refused"}
MORE = (
    "shapes", "reduce", "scan", "control", "loops", "views", "accesses", "atomics", "edges", "kernels", "numbers", "smith",
)  # fmt: skip


@pytest.mark.parametrize("family", ["shapes", "reduce", "scan", "control"])
def test_some_programs(family: str) -> None:
    found = {program.name: verdict(program).kind for program in programs_of(family, 5)}
    assert set(found.values()) <= {"same", "open"}, found


@pytest.mark.long
@pytest.mark.parametrize("family", MORE)
def test_more_programs(family: str) -> None:
    found = {program.name: verdict(program) for program in programs_of(family, 60)}
    different = {name: made.words for name, made in found.items() if made.kind not in OPEN}
    assert not different
