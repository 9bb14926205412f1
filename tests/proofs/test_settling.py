"""What a proof takes for granted of launches, and which assumption it names where one is missing."""

from __future__ import annotations

import pytest

import tileir
from tileir.execute.launching.entries import select_entry
from tileir.ir.core import Operation
from tileir.proofs.contract.contract import contract_of
from tileir.proofs.prover import prove_entry

pytest.importorskip("z3", reason="proofs need z3")

# Loads the tile of element k - 1.
LAST = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %k: tile<i32>) {
    %one = constant <i32: 1> : tile<i32>
    %eight = constant <i32: 8> : tile<i32>
    %before = subi %k, %one : tile<i32>
    %index = divi %before, %eight signed : tile<i32>
    %tensor = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %view = make_partition_view %tensor : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
    %x, %t = load_view_tko weak %view[%index] : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
    return
  }
}"""

# Element i of a row of 32 elements, in tiles of 8, and rows of which each begins `stride` elements after the last one.
ROWS = """cuda_tile.module @m {{
  entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
    %x, %y, %z = get_tile_block_id : tile<i32>
    %tile = constant <i32: 8> : tile<i32>
    %width = constant <i32: 32> : tile<8xi32>
    %stride = constant <i32: {stride}> : tile<8xi32>
    %first = muli %x, %tile : tile<i32>
    %first_1 = reshape %first : tile<i32> -> tile<1xi32>
    %firsts = broadcast %first_1 : tile<1xi32> -> tile<8xi32>
    %lane = iota : tile<8xi32>
    %i = addi %firsts, %lane : tile<8xi32>
    %row = divi %i, %width signed : tile<8xi32>
    %column = remi %i, %width signed : tile<8xi32>
    %start = muli %row, %stride : tile<8xi32>
    %at = addi %start, %column : tile<8xi32>
    %n_1 = reshape %n : tile<i32> -> tile<1xi32>
    %ns = broadcast %n_1 : tile<1xi32> -> tile<8xi32>
    %mask = cmpi less_than %at, %ns, signed : tile<8xi32> -> tile<8xi1>
    %p_1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
    %ps = broadcast %p_1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
    %q = offset %ps, %at : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
    %t = store_ptr_tko weak %q, %lane, %mask : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> token
    return
  }}
}}"""

ASSUMED = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
    %i, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %even = assume div_by<2>, %i : tile<i32>
    %u = store_ptr_tko weak %q, %even : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}"""


def entry_in(text: str) -> Operation:
    return select_entry(tileir.parse(text, "k.mlir", verify=True), None)


def test_a_number_that_repeats_an_extent_is_named() -> None:
    proof = prove_entry(entry_in(LAST))
    assert proof["bounds"].verdict == "refuted"
    assert proof["bounds"].excluded_by in ("--assume 'k == n'", "--assume 'n == k'")
    assert f"= if callers guarantee it: {proof['bounds'].excluded_by}" in proof.render()
    assert proof.to_dict()["answers"]["bounds"]["excluded_by"] == proof["bounds"].excluded_by


def test_what_is_named_settles_the_question() -> None:
    assert prove_entry(entry_in(LAST), ["k == n"])["bounds"].verdict == "proved"


def test_an_error_of_the_kernel_has_no_such_assumption() -> None:
    wrong = LAST.replace("subi %k, %one", "addi %k, %eight")
    assert prove_entry(entry_in(wrong), ["k == n"])["bounds"].excluded_by == ""


@pytest.mark.parametrize(
    ("stride", "rule"), [(0, "grid.x == 4"), (32, "grid.x == 4*cdiv(n, 32)"), (40, "grid.x == 4*cdiv(n, 40)")]
)
def test_tile_blocks_go_over_rows(stride: int, rule: str) -> None:
    entry = entry_in(ROWS.format(stride=stride))
    assert entry.parent_operation is not None
    texts = [each.text for each in contract_of(entry.parent_operation, entry).assumptions]
    assert {rule, "n >= 1"} <= set(texts)


def test_rows_that_meet_race_if_the_grid_is_stated() -> None:
    entry = entry_in(ROWS.format(stride=0))
    assert prove_entry(entry)["race"].verdict == "proved"
    assert prove_entry(entry, grid=["5"])["race"].verdict == "refuted"


def test_what_a_program_assumes_of_loaded_values_is_part_of_the_contract() -> None:
    proof = prove_entry(entry_in(ASSUMED))
    assert proof["asserts"].verdict == "proved"
    assert [each.source for each in proof.contract if "'i' is loaded at :4" in each.text] == ["assume"]


GATHER = """cuda_tile.module @m {
  entry @k(%ids: tile<ptr<i32>>, %p: tile<ptr<i32>>, %n: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %at = offset %ids, %x : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %i, %t = load_ptr_tko weak %at : tile<ptr<i32>> -> tile<i32>, token
    %tensor = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
    %view = make_partition_view %tensor : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>
    %v, %u = load_view_tko weak %view[%i] : partition_view<tile=(1), tensor_view<?xi32, strides=[1]>>, tile<i32> -> tile<1xi32>, token
    return
  }
}"""


def test_contents_that_are_indices_are_named() -> None:
    entry = entry_in(GATHER)
    answer = prove_entry(entry)["bounds"]
    assert answer.verdict == "refuted" and answer.excluded_by == "--assume '0 <= ids[*] < n'"
    assert prove_entry(entry, ["0 <= ids[*] < n"])["bounds"].verdict == "proved"


UNSIZED = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<i32>>, %rows: tile<i32>, %s: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %row = divi %x, %rows signed rounding<negative_inf> : tile<i32>
    %start = muli %row, %s : tile<i32>
    %q = offset %p, %start : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
    return
  }
}"""


def test_the_size_of_an_array_is_named_where_nothing_says_it() -> None:
    answer = prove_entry(entry_in(UNSIZED), ["rows > 0", "s > 0", "grid.x <= 100", "s <= 100", "rows <= 100"])["bounds"]
    assert answer.verdict == "refuted"
    assert answer.excluded_by == "--assume 'p.size >= s*((grid.x - 1) // rows) + 1'"
