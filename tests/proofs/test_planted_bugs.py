"""Of the kernels nothing is refuted, and bugs planted in them are: each by a launch that was run, or named unknown."""

from __future__ import annotations

import pytest
from tests.proofs.kernels import EXAMPLE_KERNELS, KERNELS, OwnKernel, entry_of
from tests.proofs.planted_bugs import BUGS, Bug
from tests.sampling import one_in

from tileir.proofs.prover import prove_entry

pytest.importorskip("z3", reason="proofs need z3")

SECONDS = 60.0
OWN = [*KERNELS.values(), *EXAMPLE_KERNELS.values()]


@pytest.mark.parametrize("bug", one_in(12, BUGS, [bug.name for bug in BUGS]))
def test_planted_bugs_are_not_proved(bug: Bug) -> None:
    kernel = bug.launched
    answer = prove_entry(entry_of(bug.text, bug.kernel), kernel.assume, kernel.stated_grid, SECONDS)[bug.question]
    assert answer.verdict != "proved"
    if answer.verdict == "refuted":
        assert answer.launch is not None and answer.finding is not None
    else:
        assert any(claim.reason for claim in answer.claims if claim.verdict == "unknown")


@pytest.mark.parametrize("kernel", one_in(3, OWN, [f"{kernel.folder.name}/{kernel.name}" for kernel in OWN]))
def test_kernels_are_not_refuted(kernel: OwnKernel) -> None:
    proof = prove_entry(entry_of(kernel.text, kernel.name), kernel.assume, kernel.stated_grid, SECONDS)
    assert not proof.refuted, proof.render()
    assert {question for question, answer in proof.answers.items() if answer.verdict == "proved"} >= set(kernel.proved)
