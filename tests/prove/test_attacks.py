"""Programs that are wrong in ways that a proof may overlook: a launch shows each."""

from __future__ import annotations

import numpy
import pytest
from tests.prove.attacks import ATTACKS, POINTERS, Attack
from tests.prove.kernels import Launch, entry_of, findings

from tileir.prove.confirming import KINDS


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
