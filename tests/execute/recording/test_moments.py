"""From moment to moment, as a step debugger goes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy
import pytest

import tileir

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def recording() -> tileir.recording.Recording:
    a, b = numpy.ones((2, 150, 200), numpy.float16)
    c = numpy.zeros((150, 150), numpy.float32)
    return tileir.record(EXAMPLES / "matmul.mlir", (3, 3), (a, b.reshape(200, 150), c, 150, 150, 200))


def test_operations_values_and_elements_are_found_forwards_and_backwards(recording: tileir.recording.Recording) -> None:
    product = next(
        number for number, one in enumerate(recording.program.operations) if one.declaration.mnemonic == "mmaf"
    )
    steps = (numpy.flatnonzero(recording.steps(4) == product) + 1).tolist()
    assert len(steps) > 2
    assert recording.next_step(4, product, 0) == steps[0]
    assert recording.next_step(4, product, steps[0]) == steps[1]
    assert recording.previous_step(4, product, steps[1]) == steps[0]
    assert recording.next_step(4, product, steps[-1]) is None and recording.previous_step(4, product, 1) is None
    result = recording.program.value_numbers[recording.program.operations[product].results[0]]
    assert recording.next_change(4, result, steps[0]) == steps[1]
    assert recording.previous_change(4, result, steps[1]) == steps[0]
    # What the loop carries is given to a round by the end of the one before.
    carried = recording.program.value_numbers[recording.program.operations[product].operands[2]]
    given = recording.next_change(4, carried, steps[0])
    assert given is not None and steps[0] < given < steps[1]
    numpy.testing.assert_array_equal(recording.tile(4, given, carried), recording.tile(4, steps[0], result))


def test_accesses_to_an_element_are_those_whose_boxes_have_it(recording: tileir.recording.Recording) -> None:
    random = Random(7)
    for _ in range(20):
        array = random.randrange(3)
        index = tuple([random.randrange(extent) for extent in recording.arrays[array].shape])
        place = recording.arrays[array].place(index)
        wanted = [
            row
            for row in range(len(recording.accesses))
            if recording.accesses.array[row] == array and place in recording.accesses.elements(row)
        ]
        assert recording.accesses.touching(array, place).tolist() == wanted
        assert recording.next_access(array, index, 0) == wanted[0]
        assert recording.previous_access(array, index, wanted[-1]) == ([None, *wanted])[len(wanted) - 1]
        block, step = recording.position(wanted[-1])
        assert recording.time(block, step) == wanted[-1] + 1
    with pytest.raises(tileir.LaunchError, match=r"arg|has no element \[999, 0\]"):
        recording.next_access(0, (999, 0), 0)
