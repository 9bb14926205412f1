"""What decides how often the loops of a kernel turn, and so whether one launch says how long the next will take."""

from __future__ import annotations

import pytest

import tileir
from tileir.execute.analysis.parameters import deciding_parameters

LOAD = "%m, %t = load_ptr_tko weak %a : tile<ptr<i32>> -> tile<i32>, token "
EMPTY = ": tile<i32> { continue }"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", []),
        (f"for %i in (%zero to %eight, step %one) {EMPTY}", []),
        (f"for %i in (%zero to %n, step %one) {EMPTY}", [2]),
        (f"%s = addi %n, %k : tile<i32> for %i in (%zero to %s, step %one) {EMPTY}", [1, 2]),
        (f"%x, %y, %z = get_tile_block_id : tile<i32> for %i in (%x to %n, step %one) {EMPTY}", [2]),
        (f"for %j in (%zero to %n, step %one) : tile<i32> {{ for %i in (%j to %k, step %one) {EMPTY} continue }}", [1, 2]),
        (f"{LOAD} for %i in (%zero to %n, step %one) {EMPTY}", [2]),
        (f"{LOAD} for %i in (%zero to %m, step %one) {EMPTY}", None),
        (f"{LOAD} %s = addi %m, %k : tile<i32> for %i in (%zero to %s, step %one) {EMPTY}", None),
        (f"%c = cmpi less_than %n, %k, signed : tile<i32> -> tile<i1> %s = if %c -> (tile<i32>) {{ yield %n : tile<i32> }} else {{ {LOAD} yield %m : tile<i32> }} for %i in (%zero to %s, step %one) {EMPTY}", None),
        (f"%r = for %j in (%zero to %n, step %one) : tile<i32> iter_values(%v = %one) -> (tile<i32>) {{ for %i in (%zero to %v, step %one) {EMPTY} %w = addi %v, %v : tile<i32> continue %w : tile<i32> }}", None),
        ("loop { break }", None),
    ],
)  # fmt: skip
def test_parameters_that_decide_how_often_loops_turn(body: str, expected: list[int] | None) -> None:
    module = tileir.parse(f"""cuda_tile.module @m {{
      entry @e(%a: tile<ptr<i32>>, %k: tile<i32>, %n: tile<i32>) {{
        %zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %eight = constant <i32: 8> : tile<i32>
        {body}
        return
      }} }}""")
    tileir.verify(module)
    [entry] = list(module.regions[0].blocks[0])
    assert deciding_parameters(entry) == expected
