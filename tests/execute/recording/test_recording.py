"""A recorded launch: what it did, forwards and backwards."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir
from tileir.execute.recording.recording import Recording, record
from tileir.serve.explorer.recording_answers import (
    accesses_answer,
    array_answer,
    steps_answer,
    summary_answer,
    tile_of_value,
    values_answer,
)

EXAMPLES = Path(__file__).parents[3] / "examples"


def vector_add(schedule: str = "forward") -> tuple[Recording, list[Any]]:
    kernel = tileir.compile(EXAMPLES / "vector_add.mlir")
    a, b = numpy.arange(1000, dtype=numpy.float32), numpy.ones(1000, numpy.float32)
    c = numpy.zeros(1000, numpy.float32)
    return record(kernel, 8, (a, b, c, 1000), schedule=schedule), [a, b, c]


def unpacked(given: dict[str, Any]) -> Any:
    return numpy.frombuffer(base64.b64decode(given["data"]), f"<{given['type'][0]}{int(given['type'][1:]) // 8}")


def test_a_recorded_launch_gives_the_results_of_a_launch() -> None:
    recording, (a, b, c) = vector_add()
    assert not recording.failure and not recording.findings
    numpy.testing.assert_array_equal(c, a + b)


@pytest.mark.parametrize("schedule", ["forward", "reverse", "random:3", "interleaved"])
def test_an_array_is_what_it_was_at_any_moment(schedule: str) -> None:
    recording, (a, b, _) = vector_add(schedule)
    numbers = recording.blocks.number.tolist()
    stored = {block: int(recording.accesses.step[recording.rows(block)[-1]]) for block in numbers}
    for block in [*numbers, *reversed(numbers)]:
        before, after = recording.array(2, block, 0), recording.array(2, block, stored[block])
        assert not before[128 * block : 128 * block + 128].any()
        numpy.testing.assert_array_equal(
            after[128 * block : 128 * block + 128], (a + b)[128 * block : 128 * block + 128]
        )


def test_accesses_are_boxes_of_elements_with_the_edge_masked() -> None:
    recording, _ = vector_add()
    rows = recording.rows(7)
    assert recording.accesses.array[rows].tolist() == [0, 1, 2]
    assert recording.accesses.kind[rows].tolist() == [0, 0, 1]
    assert recording.accesses.masked[rows].tolist() == [24, 24, 24]
    assert recording.accesses.boxes(int(rows[0])) == [(896, (104,), (1,))]
    numpy.testing.assert_array_equal(recording.accesses.elements(int(rows[0])), numpy.arange(896, 1000))


def test_answers_have_the_numbers_of_the_recording() -> None:
    recording, (a, b, _) = vector_add()
    summary = summary_answer(recording)
    assert [array["name"] for array in summary["arrays"]] == ["a", "b", "c"]
    assert [array["written"] for array in summary["arrays"]] == [False, False, True]
    total = next(value for value in summary["values"] if value["script"] == "sum")
    moment = {"block": 3, "step": int(unpacked(summary["recording"]["steps"])[3]), "value": total["id"]}
    tile = tile_of_value(recording, **moment)
    numpy.testing.assert_array_equal(unpacked(tile["data"]), (a + b)[384:512])
    assert tile["text"][:2] == ["385.0", "386.0"] and tile["statistics"]["most"] == 512.0
    part = array_answer(recording, array=2, block=3, step=25, start=[500], extents=[20])
    numpy.testing.assert_array_equal(unpacked(part["data"]), [*numpy.arange(501, 513), *[0] * 8])
    for other in (accesses_answer(recording, 0, 5), steps_answer(recording, 1), values_answer(recording, 1, 9)):
        json.dumps(other, allow_nan=False)
    json.dumps(summary, allow_nan=False)


def test_questions_that_make_no_sense_are_refused_in_words() -> None:
    recording, _ = vector_add()
    with pytest.raises(tileir.LaunchError, match="tile block 99 is not in the recording"):
        steps_answer(recording, 99)
    with pytest.raises(tileir.LaunchError, match=r"%7 is not computed yet at step 3 of tile block 1"):
        tile_of_value(recording, 1, 3, 30)
    with pytest.raises(tileir.LaunchError, match=r"a part of \[1000\] cannot start at \[2000\]"):
        array_answer(recording, 1, 3, 3, [2000])


def test_values_have_the_names_that_their_author_gave_them() -> None:
    ones = numpy.ones((64, 64), numpy.float16)
    recording = tileir.record(
        EXAMPLES / "matmul.mlir", 1, (ones, ones.copy(), numpy.zeros((64, 64), numpy.float32), 64, 64, 64)
    )
    names = [value["script"] for value in summary_answer(recording)["values"]]
    assert names[:9] == ["a", "b", "c", "m", "n", "k", "row", "column", "z"]
    assert {"count#0", "count#1", "sum", "step", "accumulator", "next"} <= set(names)
    assert [parameter["name"] for parameter in summary_answer(recording)["parameters"]] == [
        "a",
        "b",
        "c",
        "m",
        "n",
        "k",
    ]


def test_an_array_that_repeats_its_memory_without_end_is_kept_as_its_memory() -> None:
    module = tileir.parse(
        """
        cuda_tile.module @m {
          entry @k(%a: tile<ptr<f32>>) {
            %x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
            return
          }
        }"""
    )
    endless = numpy.broadcast_to(numpy.array([1, 2, 3], "f4"), (1 << 40, 3))
    kernel = tileir.compile(module, backend="interpreter")
    recording = record(kernel, 1, (tileir.kernels.pointer_to(endless),))
    assert recording.array(0, 0, 0).tolist() == [1, 2, 3]
    repeated = numpy.broadcast_to(numpy.array([1, 2, 3], "f4"), (4, 3))
    assert record(kernel, 1, (tileir.kernels.pointer_to(repeated),)).array(0, 0, 0).tolist() == repeated.tolist()
