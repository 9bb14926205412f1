"""Proposed launches: what they find when they are run, and what they refute."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import tileir
from tileir.execute.arguments.argument_text import argument
from tileir.execute.launching.entries import select_entry
from tileir.ir.core import Operation
from tileir.proofs.confirming import Confirmation, Confirmer, description
from tileir.proofs.records import Candidate, Claim, Memory
from tileir.proofs.report import Answer
from tileir.tools.main import run as run_tool

HEAD = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %s = constant <i32: 8> : tile<i32>
    %first = muli %x, %s : tile<i32>
    %first_1d = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1d : tile<1xi32> -> tile<8xi32>
    %lane = iota : tile<8xi32>
    %index = addi %firsts, %lane : tile<8xi32>
    %p_1d = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %base = broadcast %p_1d : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %q = offset %base, %index : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
    %c = constant <f32: 1.0> : tile<8xf32>
"""
STORE = HEAD + "    %t = store_ptr_tko weak %q, %c : tile<8xptr<f32>>, tile<8xf32> -> token\n    return\n  }\n}\n"
DIVISION = (
    HEAD
    + """
    %one = constant <i32: 1> : tile<i32>
    %d = divi %one, %n signed : tile<i32>
    %t = store_ptr_tko weak %q, %c : tile<8xptr<f32>>, tile<8xf32> -> token
    return
  }
}
"""
)
ENDLESS = HEAD + "    loop {\n      continue\n    }\n    return\n  }\n}\n"
ROWS = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %columns: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %at = muli %x, %columns : tile<i32>
    %q = offset %p, %at : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %c = constant <f32: 1.0> : tile<f32>
    %t = store_ptr_tko weak %q, %c : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
"""
ASSUMED = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
    %a = assume bounded<1, ?>, %n : tile<i32>
    %q = offset %p, %a : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %t = store_ptr_tko weak %q, %a : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""
GATHER = """
cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %indices: tile<ptr<i32>>) {
    %i, %t = load_ptr_tko weak %indices : tile<ptr<i32>> -> tile<i32>, token
    %q = offset %p, %i : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %c = constant <f32: 1.0> : tile<f32>
    %u = store_ptr_tko weak %q, %c token=%t : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
"""


def entry_in(text: str) -> Operation:
    return select_entry(tileir.parse(text, "k.mlir", verify=True), None)


def found(text: str, question: str, mnemonic: str, candidate: Candidate, seconds: float = 20) -> Confirmation | str:
    """Return what a launch shows about the first operation of a name."""
    entry = entry_in(text)
    operation = next(each for each in entry.walk() if each.declaration.mnemonic == mnemonic)
    return Confirmer(entry).run(Claim(question, operation, verdict="refutable"), candidate, seconds)


def refuted(text: str, question: str, mnemonic: str, candidate: Candidate) -> Confirmation:
    confirmation = found(text, question, mnemonic, candidate)
    assert isinstance(confirmation, Confirmation), confirmation
    return confirmation


def answer_of(question: str, confirmation: Confirmation) -> Answer:
    return Answer(question, "refuted", [], confirmation.launch, confirmation.finding, confirmation.sanitize)


def test_a_finding_of_the_question_at_the_operation_refutes() -> None:
    confirmation = refuted(STORE, "bounds", "store_ptr_tko", Candidate((2, 1, 1), {0: Memory(9), 1: 9}))
    finding = confirmation.finding
    assert (finding.kind, finding.block, finding.element) == ("out-of-bounds", (1, 0, 0), (1,))
    assert finding.operation.declaration.mnemonic == "store_ptr_tko"
    assert answer_of("bounds", confirmation).instance == "for n = 9 and block 1"


@pytest.mark.parametrize(
    ("question", "mnemonic"),
    [("race", "store_ptr_tko"), ("bounds", "muli"), ("division", "store_ptr_tko"), ("tokens", "store_ptr_tko")],
)
def test_another_finding_refutes_nothing(question: str, mnemonic: str) -> None:
    reason = found(STORE, question, mnemonic, Candidate((2, 1, 1), {0: Memory(9), 1: 9}))
    assert isinstance(reason, str) and reason.startswith(
        "a proposed launch had another finding (out-of-bounds): --grid 2 "
    )


def test_a_launch_without_a_finding_refutes_nothing() -> None:
    reason = found(STORE, "bounds", "store_ptr_tko", Candidate((2, 1, 1), {0: Memory(16), 1: 16}))
    assert isinstance(reason, str) and reason.startswith("a proposed launch had no finding: --grid 2 ")


def test_elements_never_written_refute_coverage() -> None:
    confirmation = refuted(STORE, "coverage", "store_ptr_tko", Candidate((1, 1, 1), {0: Memory(9), 1: 9}))
    assert confirmation.finding.kind == "unwritten"
    assert answer_of("coverage", confirmation).instance == "for n = 9 and grid 1"


def test_a_division_by_zero() -> None:
    confirmation = refuted(DIVISION, "division", "divi", Candidate((1, 1, 1), {0: Memory(8), 1: 0}))
    assert confirmation.finding.kind == "division-by-zero"


def test_contents_of_an_array_matter() -> None:
    candidate = Candidate((1, 1, 1), {0: Memory(4), 1: Memory(2, (7,))})
    confirmation = refuted(GATHER, "bounds", "store_ptr_tko", candidate)
    assert confirmation.launch.arguments == ("zeros:f32:4", "values:i32:7,0")


def test_an_index_that_overflows_leads_before_a_large_array() -> None:
    # 8 GiB of address space, of which nothing is touched.
    columns = 1 << 30
    candidate = Candidate((3, 1, 1), {0: Memory(2 * columns + 1), 1: columns})
    confirmation = refuted(ROWS, "overflow", "muli", candidate)
    found = confirmation.finding
    assert (found.kind, found.block, confirmation.sanitize) == ("out-of-bounds", (2, 0, 0), "")


def test_a_launch_that_breaks_an_assumption_refutes_nothing() -> None:
    candidate = Candidate((1, 1, 1), {0: Memory(1), 1: -1})
    reason = found(ASSUMED, "bounds", "store_ptr_tko", candidate)
    assert isinstance(reason, str) and reason.startswith("a proposed launch breaks an assumption of the program: ")
    assert refuted(ASSUMED, "asserts", "assume", candidate).finding.kind == "assume"


def test_a_launch_that_does_not_end_is_ended() -> None:
    reason = found(ENDLESS, "termination", "loop", Candidate((1, 1, 1), {0: Memory(8), 1: 8}), 0.5)
    assert isinstance(reason, str) and reason.startswith("a proposed launch was still running after 0.5 seconds: ")


@pytest.mark.parametrize("candidate", [Candidate((1, 1, 1), {0: Memory(1 << 40)}), Candidate((5000, 1, 1), {})])
def test_what_is_too_large_does_not_run(candidate: Candidate) -> None:
    reason = found(STORE, "bounds", "store_ptr_tko", candidate)
    assert isinstance(reason, str) and reason.startswith("a proposed launch is too large to run: ")


def test_candidates_are_tried_until_one_fails() -> None:
    tried: list[int] = []

    def candidates() -> Iterator[Candidate]:
        for count in (16, 24, 9, 8):
            tried.append(count)
            yield Candidate((2, 1, 1), {0: Memory(count), 1: count})

    entry = entry_in(STORE)
    store = next(each for each in entry.walk() if each.declaration.mnemonic == "store_ptr_tko")
    confirmer = Confirmer(entry)
    found = confirmer.confirm(Claim("bounds", store, verdict="refutable", candidates=candidates), 20)
    assert isinstance(found, Confirmation) and tried == [16, 24, 9]
    without = Claim("bounds", store, verdict="refutable")
    assert Confirmer(entry).confirm(without, 20) == "the solver proposed no launch that shows it"
    assert confirmer.confirm(Claim("bounds", store, verdict="refutable", candidates=candidates), -1).startswith(
        "no time"
    )


def test_integers_are_written_as_their_type_has_them() -> None:
    entry = entry_in(STORE)
    launch, size = description(Candidate((4, 2, 1), {0: Memory(3), 1: (1 << 32) - 5}), entry)
    assert (launch.grid, launch.arguments, launch.entry, size) == ((4, 2), ("zeros:f32:3", "-5"), None, 12)


def test_arrays_of_words_are_aligned_as_programs_assume() -> None:
    for text in ("zeros:f32:7", "values:i32:3,1,4", "rand:f16:5"):
        assert argument(text, None).ctypes.data % 256 == 0


@pytest.mark.parametrize(
    ("text", "question", "mnemonic", "candidate"),
    [
        (STORE, "bounds", "store_ptr_tko", Candidate((2, 1, 1), {0: Memory(9), 1: 9})),
        (STORE, "coverage", "store_ptr_tko", Candidate((1, 1, 1), {0: Memory(9), 1: 9})),
        (GATHER, "bounds", "store_ptr_tko", Candidate((1, 1, 1), {0: Memory(4), 1: Memory(2, (-7,))})),
        (ROWS, "overflow", "muli", Candidate((3, 1, 1), {0: Memory((2 << 30) + 1), 1: 1 << 30})),
    ],
    ids=["bounds", "coverage", "contents", "overflow"],
)
def test_the_command_repeats_the_finding(
    text: str,
    question: str,
    mnemonic: str,
    candidate: Candidate,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    confirmation = refuted(text, question, mnemonic, candidate)
    path = tmp_path / "a kernel.mlir"
    path.write_text(text)
    program, *words = shlex.split(answer_of(question, confirmation).command(shlex.join(["tileir", "run", str(path)])))
    assert program == "tileir" and run_tool(words) == 1
    output = capfd.readouterr().err
    assert (confirmation.finding.title if confirmation.sanitize else "which is in no array of the launch") in output
