"""The kernels of the prover's tests do what they are meant for, and the bugs planted in them are bugs."""

from __future__ import annotations

import pytest
from tests.proofs.kernels import EXAMPLE_KERNELS, KERNELS, OwnKernel, entry_of, findings, launches
from tests.proofs.planted_bugs import BUGS, Bug

from tileir.proofs.confirming import KINDS

LAUNCHES = 60  # At most, until a bug shows.


@pytest.mark.parametrize("kernel", [*KERNELS.values(), *EXAMPLE_KERNELS.values()], ids=lambda kernel: kernel.name)
def test_kernels_are_right_for_their_launches(kernel: OwnKernel) -> None:
    entry = entry_of(kernel.text, kernel.name)
    for launch in launches(kernel, entry, 5):
        found = findings(entry, launch)
        assert not found, f"{launch.grid} {launch.numbers}: {found[0].render()}"


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.shown], ids=lambda bug: bug.name)
def test_planted_bugs_show_in_a_launch(bug: Bug) -> None:
    entry = entry_of(bug.text, bug.kernel)
    for launch in launches(bug.launched, entry, LAUNCHES):
        if any(finding.kind in KINDS[bug.question] for finding in findings(entry, launch)):
            return
    pytest.fail(f"no launch shows what is wrong with {bug.question}")
