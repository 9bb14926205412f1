"""The parts of statements have their values in traces, and the source of a notebook is found."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import numpy
import pytest
from tests.bridge.script_runs import trace

import tileir

pytest.importorskip("cuda.tile", reason="scripts launch cuTile kernels")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


CELL = """
@ct.kernel
def two(xs, y):
    a = ct.load(xs[0], (0,), (2,)); b = ct.load(xs[1], (0,), (2,))
    while ct.sum(a) < 3:
        a = a + 1
    ct.store(y, (0,), a + b)
"""


def test_source_of_a_notebook_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    import cuda.tile as ct

    linecache.cache["<cell 1>"] = (len(CELL), None, CELL.splitlines(True), "<cell 1>")
    names: dict[str, Any] = {"ct": ct}
    exec(compile(CELL, "<cell 1>", "exec"), names)
    lines: list[str] = []
    x = numpy.arange(2, dtype="f4")
    tileir.launch(names["two"], 1, ([x, x + 1], x.copy()), observer=tileir.observers.Trace((0, 0, 0), lines.append))
    assert "".join(lines) == TRACE_OF_CELL.lstrip()


TRACE_OF_CELL = """
tile block (0, 0, 0)
<cell 1>:4  a = ct.load(xs[0], (0,), (2,))
              a: float32 (2,) [0. 1.], from xs[0][0:2]
<cell 1>:4  b = ct.load(xs[1], (0,), (2,))
              b: float32 (2,) [1. 2.], from xs[1][0:2]
<cell 1>:5  while ct.sum(a) < 3:
              iteration 1
              ct.sum(a): float32 1.
              ct.sum(a) < 3: bool True
<cell 1>:6      a = a + 1
                  a: float32 (2,) [1. 2.]
<cell 1>:5  while ct.sum(a) < 3:
              iteration 2
              ct.sum(a): float32 3.
              ct.sum(a) < 3: bool False
<cell 1>:7  ct.store(y, (0,), a + b)
              a + b: float32 (2,) [2. 4.]
              y[0:2] = a + b
"""


DIVISIONS = """
@ct.kernel
def divided(x, f, u, y, g, d):
    total = ct.zeros((4,), ct.int32)
    for k in range(1):
        a = ct.load(x, (k,), (4,))
        total += a % d + 1
        r = a % d
        total += r // 2 % 3 * r + (a * 2 % 3 + 1)
    w = ct.load(u, (0,), (4,)) % 3 + 1
    b = ct.load(f, (0,), (4,))
    c = b // 1.5 + 1 + b ** 2 + b ** b
    e = b % 1.5 * 2
    ct.store(y, (0,), total + w.astype(ct.int32))
    ct.store(g, (0,), c + e)

x, u, f = numpy.arange(-1, 3, dtype="i4"), numpy.arange(4, dtype="u4"), numpy.arange(4, dtype="f4")
ct.launch(None, (1,), divided, (x, f, u, numpy.zeros(4, "i4"), numpy.zeros(4, "f4"), 3))
"""


TRACE_OF_DIVISIONS = """
k.py:7   for k in range(1):
           k = 0
k.py:8       a = ct.load(x, (k,), (4,))
               a: int32 (4,) [-1  0  1  2], from x[0:4]
k.py:9       total += a % d + 1
               a % d: int32 (4,) [2 0 1 2]
               a % d + 1: int32 (4,) [3 1 2 3]
               total: int32 (4,) [3 1 2 3]
k.py:10      r = a % d
               r: int32 (4,) [2 0 1 2]
k.py:11      total += r // 2 % 3 * r + (a * 2 % 3 + 1)
               r // 2: int32 (4,) [1 0 0 1]
               r // 2 % 3: int32 (4,) [1 0 0 1]
               r // 2 % 3 * r: int32 (4,) [2 0 0 2]
               a * 2: int32 (4,) [-2  0  2  4]
               a * 2 % 3: int32 (4,) [1 0 2 1]
               a * 2 % 3 + 1: int32 (4,) [2 1 3 2]
               r // 2 % 3 * r + (a * 2 % 3 + 1): int32 (4,) [4 1 3 4]
               total: int32 (4,) [7 2 5 7]
k.py:12  w = ct.load(u, (0,), (4,)) % 3 + 1
           ct.load(u, (0,), (4,)): int32 (4,) [0 1 2 3], from u[0:4]
           ct.load(u, (0,), (4,)) % 3: int32 (4,) [0 1 2 0]
           w: int32 (4,) [1 2 3 1]
k.py:13  b = ct.load(f, (0,), (4,))
           b: float32 (4,) [0. 1. 2. 3.], from f[0:4]
k.py:14  c = b // 1.5 + 1 + b ** 2 + b ** b
           b // 1.5: float32 (4,) [0. 0. 1. 2.]
           b // 1.5 + 1: float32 (4,) [1. 1. 2. 3.]
           b ** 2: float32 (4,) [0. 1. 4. 9.]
           b // 1.5 + 1 + b ** 2: float32 (4,) [ 1.  2.  6. 12.]
           b ** b: float32 (4,) [ 1.  1.  4. 27.]
           c: float32 (4,) [ 2.  3. 10. 39.]
k.py:15  e = b % 1.5 * 2
           b % 1.5: float32 (4,) [0.  1.  0.5 0. ]
k.py:16  ct.store(y, (0,), total + w.astype(ct.int32))
           total + w.astype(ct.int32): int32 (4,) [8 4 8 8]
           y[0:4] = total + w.astype(ct.int32)
k.py:17  ct.store(g, (0,), c + e)
           c + e: float32 (4,) [ 2.  5. 11. 39.]
           g[0:4] = c + e
"""


def test_divisions_inside_of_expressions_have_their_values(capsys: pytest.CaptureFixture[str]) -> None:
    """`%` and `//` take several operations, some of which are moved out of loops."""
    assert trace(DIVISIONS, capsys) == TRACE_OF_DIVISIONS.strip().splitlines()
