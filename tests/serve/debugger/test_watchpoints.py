"""What is watched: elements of arrays that are read or written, and values that are used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from tileir.serve.debugger.session import Debugger
from tileir.tools.cutile import debug

TWICE = """// Each tile block reads its element, and its neighbor's, and writes the sum to both arrays.
cuda_tile.module @m {
  entry @k(%x: tile<ptr<i32>>, %y: tile<ptr<i32>>) {
    %b, %by, %bz = get_tile_block_id : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %at = offset %x, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %beside = offset %at, %one : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %own, %t0 = load_ptr_tko weak %at : tile<ptr<i32>> -> tile<i32>, token
    %other, %t1 = load_ptr_tko weak %beside token = %t0 : tile<ptr<i32>> -> tile<i32>, token
    %sum = addi %own, %other : tile<i32>
    %t2 = store_ptr_tko weak %at, %own token = %t1 : tile<ptr<i32>>, tile<i32> -> token
    %there = offset %y, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %old, %t3 = atomic_rmw_tko relaxed device %there, add, %sum : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
    return
  }
}
"""


def stops(folder: Path, name: str, access: Any, reverse: bool = False, **how: Any) -> list[tuple[int, int]]:
    """The tile blocks and lines at which the launch stops for what is watched."""
    path = folder / "k.mlir"
    path.write_text(TWICE)
    debugger = Debugger(path, 3, (numpy.arange(8, dtype=numpy.int32), numpy.zeros(8, numpy.int32)))
    assert debugger.breakpoints.add("data", name, access=access, **how).is_verified
    stop = debugger.start(stop_on_entry=False) if not reverse else debugger.finish()
    stop = debugger.resume(reverse=True) if reverse else stop
    found = []
    while stop.reason == "data":
        place = debugger.location
        assert place is not None and stop.breakpoints == (1,)
        found.append((stop.position.block, place.line))
        stop = debugger.resume(reverse)
    assert stop.reason == ("beginning" if reverse else "end")
    return found


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "name, access, wanted",
    [
        # Behind loads, of its own tile block and of the one before.
        ("x[1]", "read", [(0, 10), (1, 9)]),
        # What is written is what was there.
        ("x[1]", "write", []),
        ("x[1]", "readWrite", [(0, 10), (1, 9), (1, 12)]),
        ("y[2]", "read", [(2, 14)]),
        ("y[2]", "write", [(2, 14)]),
        ("y[2]", "readWrite", [(2, 14)]),
        ("x[6]", "readWrite", []),
        # Before what uses a value, and behind what computes it.
        ("other", "read", [(0, 10), (1, 10), (2, 10)]),
        ("%own", "readWrite", [(block, line) for block in range(3) for line in (9, 10, 11)]),
    ],
)
def test_reads_and_writes_are_told_apart(
    tmp_path: Path, name: str, access: str, wanted: list[tuple[int, int]], reverse: bool
) -> None:
    assert stops(tmp_path, name, access, reverse) == (wanted[::-1] if reverse else wanted)


def test_reads_are_watched_under_conditions_and_in_a_tile_block(tmp_path: Path) -> None:
    assert stops(tmp_path, "x[1]", "read", block=1) == [(1, 9)]
    assert stops(tmp_path, "x[1]", "readWrite", condition="tile_block[0] == 0") == [(0, 10)]
    assert stops(tmp_path, "x[1]", "readWrite", hit_condition="3") == [(1, 12)]
    assert stops(tmp_path, "own", "read", condition="own == 2") == [(2, 10), (2, 11)]


def test_watchpoints_of_gdb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TWICE)
    commands = ["rwatch x[1]", "awatch y[1] if y[1] > 0", "run", "info breakpoints", "continue", "continue"]
    options = [word for one in commands for word in ("-ex", one)]
    arguments = ["--grid", "3", "--arg", "ones:i32:8", "--arg", "zeros:i32:8"]
    assert debug.run([str(path), *arguments, "--batch", *options]) == 0
    out = capsys.readouterr().out
    assert "Read watchpoint 1: x[1]\nAccess watchpoint 2: y[1]\n" in out
    assert out.count("\nRead watchpoint 1: x[1] = 1\n") == 2
    assert "\nAccess watchpoint 2: y[1] = 2\n" in out
    assert "1    read watchpoint keep y   x[1]\n" in out and "2    acc watchpoint  keep y   y[1]\n" in out
