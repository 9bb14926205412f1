"""What is claimed about the examples, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import tileir
from tileir.execute.launching.entries import select_entry
from tileir.proofs.contract.contract import Contract, contract_of
from tileir.proofs.questions.questions import claims
from tileir.proofs.records import Claim, Memory

pytest.importorskip("z3", reason="proofs need z3")
EXAMPLES = Path(__file__).parents[2] / "examples"


def contract(name: str, given: tuple[str, ...] = (), grid: tuple[str, ...] | None = None) -> Contract:
    module = tileir.parse((EXAMPLES / f"{name}.mlir").read_text("utf-8"))
    return contract_of(module, select_entry(module, None), given, grid)


def claimed(question: str, name: str, given: tuple[str, ...] = (), grid: tuple[str, ...] | None = None) -> list[Claim]:
    module = tileir.parse((EXAMPLES / f"{name}.mlir").read_text("utf-8"))
    entry = select_entry(module, None)
    found = claims(module, entry, contract_of(module, entry, given, grid))
    return [claim for claim in found if claim.question == question]


@pytest.mark.parametrize("name", ["vector_add", "softmax", "layer_norm", "matmul", "attention", "racy"])
def test_bounds_of_examples_are_proved(name: str) -> None:
    assert {claim.verdict for claim in claimed("bounds", name)} == {"proved"}


def test_the_contract_of_softmax_is_what_its_comments_say() -> None:
    found = [(each.text, each.source) for each in contract("softmax").assumptions]
    assert ("grid.x == rows", "inferred") in found
    assert ("columns <= 1024", "inferred") in found


def test_contents_refute_the_bounds_of_a_histogram() -> None:
    (claim,) = [claim for claim in claimed("bounds", "histogram") if claim.verdict != "proved"]
    assert claim.verdict == "refutable"
    assert "'bucket' is loaded from values" in claim.reason
    candidate = next(claim.candidates())
    values, counts = candidate.values[0], candidate.values[1]
    assert isinstance(values, Memory) and isinstance(counts, Memory) and values.contents is not None
    assert not 0 <= values.contents[0] < counts.count


def test_what_settles_a_histogram_settles_it() -> None:
    (claim,) = [claim for claim in claimed("bounds", "histogram") if claim.verdict != "proved"]
    stated = claim.settled_by
    assert {each.verdict for each in claimed("bounds", "histogram", (stated,))} == {"proved"}


def test_a_grid_that_is_stated_is_not_adjusted() -> None:
    assert "refutable" in {claim.verdict for claim in claimed("bounds", "softmax", (), ("rows + 1",))}


@pytest.mark.parametrize("name", ["vector_add", "softmax", "layer_norm", "matmul", "attention"])
def test_examples_do_not_race(name: str) -> None:
    assert {claim.verdict for claim in claimed("race", name)} == {"proved"}


def test_a_race_is_refutable_by_two_blocks() -> None:
    found = claimed("race", "racy")
    assert {claim.verdict for claim in found} == {"refutable"}
    candidate = next(found[-1].candidates())
    assert candidate.grid[0] > 1


@pytest.mark.parametrize("name", ["vector_add", "softmax", "layer_norm", "matmul", "attention"])
def test_examples_write_all_of_their_outputs(name: str) -> None:
    assert {claim.verdict for claim in claimed("coverage", name)} == {"proved"}


def test_a_grid_that_is_too_small_does_not_cover_the_output() -> None:
    assert "refutable" in {claim.verdict for claim in claimed("coverage", "vector_add", (), ("n // 128",))}


def test_nothing_is_proved_where_no_launch_is_allowed() -> None:
    found = claimed("bounds", "vector_add", ("n < 0", "n > 0"))
    assert {(claim.verdict, claim.reason) for claim in found} == {("unknown", "no launch fulfills the contract")}


ROWS = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>) {
    %row, %y, %z = get_tile_block_id : tile<i32>
    %first = muli %row, %s : tile<i32>
    %first_1 = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1 : tile<1xi32> -> tile<128xi32>
    %lane = iota : tile<128xi32>
    %at = addi %firsts, %lane : tile<128xi32>
    %n_1 = reshape %n : tile<i32> -> tile<1xi32>
    %limit = broadcast %n_1 : tile<1xi32> -> tile<128xi32>
    %mask = cmpi less_than %lane, %limit, signed : tile<128xi32> -> tile<128xi1>
    %p_1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %base = broadcast %p_1 : tile<1xptr<f32>> -> tile<128xptr<f32>>
    %place = offset %base, %at : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
    %x, %t = load_ptr_tko weak %place, %mask : tile<128xptr<f32>>, tile<128xi1> -> tile<128xf32>, token
    %w = store_ptr_tko weak %place, %x token=%t : tile<128xptr<f32>>, tile<128xf32> -> token
    return
  }
}"""


def test_each_index_of_an_offset_has_its_own_bound() -> None:
    """A column without a mask is not within bounds because it is smaller than the whole array."""
    module = tileir.parse(ROWS, verify=True)
    entry = select_entry(module, None)
    given = ("n > 0", "s >= n", "grid.x <= 1000", "s <= 1000")
    found = [each for each in claims(module, entry, contract_of(module, entry, given)) if each.question == "bounds"]
    assert [claim.verdict for claim in found] == ["proved", "refutable"]
