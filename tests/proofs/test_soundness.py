"""What is proved holds: launches that a contract allows are run under the sanitizer, and find nothing.

A finding here contradicts a proof.  Programs are those of `tileir.smith`, the kernels beside this file and the examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from tests.proofs.kernels import (
    EXAMPLE_KERNELS,
    KERNELS,
    Launch,
    OwnKernel,
    claimed,
    entry_of,
    findings,
    launches,
    verdicts,
)
from tests.proofs.sampling import sampled
from tests.sampling import one_in

import tileir
from tileir.analysis import SmithProgram
from tileir.ir.core import Operation
from tileir.proofs.confirming import KINDS
from tileir.proofs.contract.contract import contract_of
from tileir.proofs.questions.questions import claims
from tileir.proofs.records import Claim

pytest.importorskip("z3", reason="proofs need z3")

LAUNCHES = 5
"""Of each program that is sampled; the long tests run 200 of the kernels."""
SECONDS = 10.0
FAMILIES = ("memory", "views", "control_flow", "atomics", "everything")
Stated = tuple[Sequence[str], Sequence[str] | None]
OWN = [*KERNELS.values(), *EXAMPLE_KERNELS.values()]
ENDING = [kernel for kernel in OWN if "termination" in kernel.proved]
"""Others wait for memory that a contract says nothing about, and would do so forever."""


def contradictions(entry: Operation, claims: Sequence[Claim], drawn: Iterable[Launch]) -> list[str]:
    """Findings in launches at operations about which the question was proved."""
    open_questions = {claim.question for claim in claims if claim.verdict != "proved"}
    found = []
    for launch in drawn:
        for finding in findings(entry, launch):
            questions = [question for question, kinds in KINDS.items() if finding.kind in kinds]
            # Of a kind that two questions have, one is enough.
            if questions and not any(question in open_questions for question in questions):
                found.append(f"{questions}: grid {launch.grid}, {launch.numbers}\n{finding.render()}")
    return found


def sampled_contradictions(
    entry: Operation, count: int, assume: Sequence[str] = (), grid: Sequence[str] | None = None
) -> list[str]:
    contract = contract_of(entry.parent_operation, entry, assume, grid)
    # They add to the contract.
    found = claims(entry.parent_operation, entry, contract, SECONDS)
    return contradictions(entry, found, sampled(contract, entry, count))


def stated(program: SmithProgram) -> tuple[list[str], list[str]]:
    """The launch of a random program as assumptions: the sizes of its arrays, its numbers and its grid."""
    assume = []
    for number, value in enumerate(program.arguments):
        if hasattr(value, "dtype") and value.shape:
            assume.append(f"arg{number}.size == {value.size}")
        elif isinstance(value, int) and not isinstance(value, bool):
            assume.append(f"arg{number} == {value}")
    return assume, [str(extent) for extent in program.grid]


@pytest.mark.parametrize(("family", "seed"), one_in(21, [(family, seed) for seed in range(40) for family in FAMILIES]))
def test_random_programs_do_what_is_proved(family: str, seed: int) -> None:
    program = tileir.smith(seed, family=family, size=40)
    assume, grid = stated(program)
    assert not sampled_contradictions(program.entry, LAUNCHES, assume, grid)


@pytest.mark.parametrize("kernel", one_in(4, ENDING, [f"{kernel.folder.name}/{kernel.name}" for kernel in ENDING]))
def test_kernels_do_what_is_proved(kernel: OwnKernel) -> None:
    assert not sampled_contradictions(entry_of(kernel.text, kernel.name), LAUNCHES, kernel.assume)


@pytest.mark.long
@pytest.mark.parametrize("kernel", OWN, ids=lambda kernel: f"{kernel.folder.name}/{kernel.name}")
def test_kernels_do_what_is_proved_in_200_launches(kernel: OwnKernel) -> None:
    entry = entry_of(kernel.text, kernel.name)
    assert kernel not in ENDING or not sampled_contradictions(entry, 200, kernel.assume)
    found = claimed(entry, kernel.assume, kernel.stated_grid)
    assert not contradictions(entry, found, launches(kernel, entry, 200))


# A kernel, the question, what proves it, and the same without something that is needed: assumptions and grid.
NEEDED = (
    ("vector_add", "coverage", ((), ("cdiv(n, 128)",)), ((), ("grid.x",))),
    ("vector_add", "coverage", ((), ("cdiv(n, 128)",)), ((), ("n // 128",))),
    ("transpose", "bounds", ((), ("cdiv(m, 32)", "cdiv(n, 64)")), ((), ("cdiv(m, 32) + 1", "cdiv(n, 64)"))),
    ("swizzled_matmul", "bounds", ((), ("cdiv(m, 64) * cdiv(n, 64)",)), ((), ("grid.x",))),
    ("prefix_sum", "asserts", ((), ("cdiv(n, 256)",)), ((), ("grid.x",))),
    ("attention", "division", (KERNELS["attention"].assume, None), (("groups > 0",), None)),
    ("gather_rows", "race", ((), ("n", "cdiv(width, 64)")), ((), ("n", "cdiv(width, 64)", "2"))),
)


@pytest.mark.parametrize(
    ("name", "question", "enough", "less"), NEEDED, ids=[f"{name}: {question}" for name, question, *_ in NEEDED]
)
def test_a_proof_needs_its_hypotheses(name: str, question: str, enough: Stated, less: Stated) -> None:
    kernel = KERNELS[name]
    entry = entry_of(kernel.text, kernel.name)
    assert verdicts(entry, *enough)[question] == "proved"
    assert verdicts(entry, *less)[question] != "proved"
