"""Where a recording says findings were seen, for every program of the table of mistakes."""

from __future__ import annotations

import numpy
import pytest
from tests.execute.sanitizer_pairs import COVERAGE_KINDS, PAIRS, Pair
from tests.execute.test_sanitizer_pairs import report

import tileir
from tileir.execute.arguments.argument_text import argument
from tileir.execute.recording.recording import Recording, record
from tileir.execute.sanitizer.report import KINDS
from tileir.serve.explorer.finding_answers import other_row

# Of a recording all arrays count as written.
RECORDED = [
    pair
    for pair in PAIRS
    if pair.kind not in COVERAGE_KINDS and not any("empty:" in text for text in pair.argument_texts(pair.wrong))
]


def recorded(pair: Pair, schedule: str = "forward") -> Recording:
    kernel = tileir.compile(tileir.parse(pair.program(pair.wrong), "k.mlir"))
    values = [argument(text, None) for text in pair.argument_texts(pair.wrong)]
    return record(kernel, pair.grid, values, schedule=schedule)


def check(pair: Pair, recording: Recording) -> None:
    program, table = recording.program, recording.accesses
    for finding in recording.findings:
        seen = recording.seen[finding]
        other = other_row(recording, finding, seen)
        assert finding.block is not None
        block = finding.block[0]
        operation = program.operations[recording.steps(block)[seen.step - 1]]
        # A finding inside of a reduction is seen at the step of the reduction.
        assert operation is finding.operation or operation in ancestors(finding.operation), pair.name
        if seen.row >= 0:
            assert (table.block[seen.row], table.step[seen.row]) == (block, seen.step), pair.name
        if finding.kind in ("race", "unordered"):
            assert finding.other is not None and 0 <= other < seen.row, pair.name
            assert program.operations[table.operation[other]] is finding.other.operation
            assert (table.block[other] == block) == (finding.kind == "unordered")
            assert numpy.intersect1d(table.elements(seen.row), table.elements(other)).size, pair.name
        else:
            assert other == -1


def ancestors(operation: tileir.Operation) -> list[tileir.Operation]:
    found = []
    parent = operation.parent_operation
    while parent is not None:
        found.append(parent)
        parent = parent.parent_operation
    return found


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in COVERAGE_KINDS])
def test_each_finding_has_its_moment_and_its_accesses(kind: str) -> None:
    pairs = [pair for pair in RECORDED if pair.kind == kind]
    for pair in pairs:
        recording = recorded(pair)
        plain = report(pair, pair.wrong)
        assert [one.kind for one in recording.findings] == plain.kinds, pair.name
        assert [one.count for one in recording.findings] == [one.count for one in plain.findings]
        check(pair, recording)
    assert pairs


@pytest.mark.parametrize("schedule", ["reverse", "interleaved"])
def test_races_have_their_two_accesses_in_every_order(schedule: str) -> None:
    for pair in RECORDED:
        if pair.kind == "race":
            check(pair, recorded(pair, schedule))


def test_of_a_loop_the_round_that_met_the_other_is_named() -> None:
    text = """cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>) {
      %x, %y, %z = get_tile_block_id : tile<i32>
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %eight = constant <i32: 8> : tile<i32>
      for %i in (%zero to %eight, step %one) : tile<i32> {
        %away = muli %x, %eight : tile<i32>
        %start = subi %away, %x : tile<i32>
        %at = addi %start, %i : tile<i32>
        %q = offset %p, %at : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
        %t = store_ptr_tko weak %q, %x : tile<ptr<i32>>, tile<i32> -> token
      }
      return
    } }"""
    # Block 1 begins at element 7, the last one of block 0.
    recording = record(tileir.compile(tileir.parse(text)), 2, (numpy.zeros(15, "i4"),))
    (finding,) = recording.findings
    seen = recording.seen[finding]
    assert (seen.row, other_row(recording, finding, seen)) == (8, 7)
    assert recording.accesses.elements(7).tolist() == recording.accesses.elements(8).tolist() == [7]
