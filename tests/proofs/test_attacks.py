"""Programs that are wrong in ways that a proof may overlook: a launch shows each, and none is proved."""

from __future__ import annotations

import numpy
import pytest
from tests.proofs.attacks import ATTACKS, POINTERS, Attack
from tests.proofs.kernels import Launch, entry_of, findings
from tests.sampling import one_in

from tileir.proofs.confirming import KINDS
from tileir.proofs.contract.contract import contract_of
from tileir.proofs.questions.questions import claims

pytest.importorskip("z3", reason="proofs need z3")


@pytest.mark.parametrize("attack", [each for each in ATTACKS if each.launch[0]], ids=lambda attack: attack.name)
def test_a_launch_shows_what_is_wrong(attack: Attack) -> None:
    grid, given = attack.launch
    arguments = [
        (numpy.array(value, "i4") if isinstance(value, list) else numpy.zeros(value, "i4"))
        if name in POINTERS
        else value
        for name, value in zip(attack.parameters.split(), given, strict=True)
    ]
    found = findings(entry_of(attack.text, "attack"), Launch(grid, arguments, {}))
    assert {finding.kind for finding in found} & set(KINDS[attack.question])


@pytest.mark.parametrize("attack", one_in(4, ATTACKS, [attack.name for attack in ATTACKS]))
def test_what_is_wrong_is_not_proved(attack: Attack) -> None:
    entry = entry_of(attack.text, "attack")
    contract = contract_of(entry.parent_operation, entry, attack.assume, attack.grid)
    found = claims(entry.parent_operation, entry, contract, 20.0)
    is_proved = all(claim.verdict == "proved" for claim in found if claim.question == attack.question)
    excused = attack.unless and any(attack.unless in each.text for each in contract.assumptions)
    assert not is_proved or excused
