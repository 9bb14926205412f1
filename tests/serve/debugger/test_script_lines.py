"""Lines, functions and variables of a cuTile script."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy
import pytest

from tileir.serve.debugger.session import Debugger


@pytest.fixture
def debugger(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    kernel = importlib.import_module("helper_kernel").kernel
    x = numpy.arange(32, dtype=numpy.float32)
    return Debugger(kernel, 2, (x, numpy.zeros(32, numpy.float32)))


def lines(debugger: Debugger, how: Any, count: int, **options: Any) -> list[int]:
    found = []
    for _ in range(count):
        debugger.step(how, **options)
        assert debugger.location is not None
        found.append(debugger.location.line)
    return found


def test_into_goes_into_functions_over_passes_them_and_out_leaves_them(debugger: Debugger) -> None:
    debugger.start()
    assert lines(debugger, "into", 4) == [13, 7, 15, 16]
    debugger.start()
    assert lines(debugger, "over", 3) == [13, 15, 16]
    assert lines(debugger, "over", 2, reverse=True) == [15, 13]
    assert lines(debugger, "into", 1) == [7]
    assert lines(debugger, "out", 1) == [15]


def test_breakpoints_and_variables_are_those_of_the_script(debugger: Debugger) -> None:
    assert debugger.lines.kind == "script"
    assert debugger.breakpoints.add("line", "helper_kernel.py", 7, condition="tile_block[0] == 1").is_verified
    moved = debugger.breakpoints.add("line", "helper_kernel.py", 14)
    assert moved.message == "line 14 has no operations: moved to line 15"
    debugger.breakpoints[moved.number].is_enabled = False
    stop = debugger.start(stop_on_entry=False)
    assert stop.reason == "breakpoint" and stop.position.block == 1
    assert debugger.evaluate("first[0]").value == 16
    debugger.step()
    shown = {one.name: one.text for one in debugger.variables()}
    assert {"first", "second"} <= shown.keys() and shown["second"].endswith("min 32, max 62, mean 47")
    # The function has returned: its variables are gone.
    assert "more" not in shown
