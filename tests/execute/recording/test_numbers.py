"""Where a recorded launch makes a NaN or an infinity, compared with the watch of a plain launch."""

from __future__ import annotations

import json

import numpy

import tileir
from tileir.execute.recording.recording import record
from tileir.execute.sanitizer.number_watch import NumberWatch
from tileir.serve.explorer.finding_answers import MOST_BLOCKS, numbers_answer

# Each tile block divides by its number in the third round of a loop: block 0 by zero.
TEXT = """cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %unit = constant <f32: 1.0> : tile<f32>
  %q = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %sum = for %i in (%zero to %four, step %one) : tile<i32> iter_values(%so_far = %unit) -> (tile<f32>) {
    %away = subi %i, %two : tile<i32>
    %square = muli %away, %away : tile<i32>
    %more = addi %square, %x : tile<i32>
    %float = itof %more signed : tile<i32> -> tile<f32>
    %quotient = divf %unit, %float : tile<f32>
    %next = subf %quotient, %quotient : tile<f32>
    continue %next : tile<f32>
  }
  %t = store_ptr_tko weak %q, %sum : tile<ptr<f32>>, tile<f32> -> token
  return
} }"""


def test_the_round_of_a_loop_that_makes_it_is_named() -> None:
    kernel = tileir.compile(tileir.parse(TEXT), backend="interpreter")
    recording = record(kernel, 3, (numpy.zeros(3, "f4"),))
    answer = numbers_answer(recording)
    json.dumps(answer, allow_nan=False)
    watch = NumberWatch()
    kernel.launch(3, (numpy.zeros(3, "f4"),), observer=watch)
    assert [finding["text"] for finding in answer["findings"]] == [one.render() for one in watch.report.findings]
    assert [finding["kind"] for finding in answer["findings"]] == ["infinity", "nan"]
    for finding in answer["findings"]:
        place = finding["place"]
        assert place["block"] == 0
        operation = recording.program.operations[recording.steps(0)[place["step"] - 1]]
        assert recording.program.operations[place["operation"]] is operation
        value = recording.program.value_numbers[operation.results[0]]
        assert not numpy.isfinite(recording.tile(0, place["step"], value))
        # It is the third time.
        assert (recording.steps(0)[: place["step"]] == place["operation"]).sum() == 3
    assert not answer["notes"]


def test_of_many_tile_blocks_some_are_looked_at_and_that_is_said() -> None:
    kernel = tileir.compile(tileir.parse(TEXT), backend="interpreter")
    recording = record(kernel, MOST_BLOCKS + 9, (numpy.zeros(MOST_BLOCKS + 9, "f4"),))
    answer = numbers_answer(recording)
    assert answer["notes"] == ["256 of 265 tile blocks were examined."]
    # Looking changes nothing.
    assert recording.final(0).tolist() == [0.0] * (MOST_BLOCKS + 9)
