"""Traces, watches and reports of cuTile kernels speak of the script: its lines, its variables, its arrays."""

from __future__ import annotations

import io
import linecache
import runpy
from pathlib import Path

import numpy
import pytest
from tests.bridge.script_runs import HEAD, report, run, trace, without_addresses

import tileir

pytest.importorskip("cuda.tile", reason="scripts launch cuTile kernels")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


SOFTMAX = """
def shifted(v, m):
    z = v - m
    return ct.exp(z)

@ct.kernel
def softmax(x, y, n: ct.Constant[int]):
    row = ct.bid(0)
    t = ct.load(x, (row, 0), (1, n), padding_mode=ct.PaddingMode.NEG_INF)
    m = ct.max(t, 1, keepdims=True)
    e = shifted(t, m)
    ct.store(y, (row, 0), e / ct.sum(e, 1, keepdims=True))

x = numpy.array([[1, 2, 3], [4, 4, 4]], "f4")
y = numpy.empty_like(x)
ct.launch(None, (2,), softmax, (x, y, 4))
"""


TRACE_OF_SOFTMAX = """
trace of softmax, launched at k.py:18 in <module>
tile block (0, 0, 0)
k.py:10  row = ct.bid(0)
           row: int32 0
k.py:11  t = ct.load(x, (row, 0), (1, n), padding_mode=ct.PaddingMode.NEG_INF)
           t: float32 (1, 4) [[  1.   2.   3. -inf]], from x[0:1, 0:3]
k.py:12  m = ct.max(t, 1, keepdims=True)
           m: float32 (1, 1) [[3.]]
k.py:13  e = shifted(t, m)
k.py:5     z = v - m
             z: float32 (1, 4) [[ -2.  -1.   0. -inf]]
k.py:6     return ct.exp(z)
             e: float32 (1, 4) [[0.1353 0.3679 1.     0.    ]]
k.py:14  ct.store(y, (row, 0), e / ct.sum(e, 1, keepdims=True))
           ct.sum(e, 1, keepdims=True): float32 (1, 1) [[1.5032]]
           e / ct.sum(e, 1, keepdims=True): float32 (1, 4) [[0.09   0.2447 0.6652 0.    ]]
           y[0:1, 0:3] = e / ct.sum(e, 1, keepdims=True)
"""


def test_trace_goes_by_the_statements_of_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    run(SOFTMAX, trace=0)
    assert capsys.readouterr().err == TRACE_OF_SOFTMAX.lstrip()


def test_names_of_the_tile_program_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    lines = trace(SOFTMAX, capsys, names="tile")
    assert "  %blockId_x = get_tile_block_id  tile<i32>  0" in lines
    assert any(
        line.startswith("  %tile = load_view_tko  tile<1x4xf32>  min -inf, max 3, mean -inf  [1, 2,") for line in lines
    )


LOOP = """
@ct.kernel
def total(x, y, n):
    acc = ct.zeros((2,), ct.float32)
    for k in range(n):
        acc += ct.load(x, (k,), (2,)) * 2
        if k == 1:
            acc = -acc
    ct.store(y, (0,), acc)

x = numpy.arange(4, dtype="f4")
y = numpy.zeros(2, "f4")
ct.launch(None, (1,), total, (x, y, 2))
"""


TRACE_OF_LOOP = """
k.py:7   for k in range(n):
           k = 0
k.py:8       acc += ct.load(x, (k,), (2,)) * 2
               ct.load(x, (k,), (2,)): float32 (2,) [0. 1.], from x[0:2]
               acc: float32 (2,) [0. 2.]
k.py:9       if k == 1:
               k == 1: bool False
k.py:7   for k in range(n):
           k = 1
k.py:8       acc += ct.load(x, (k,), (2,)) * 2
               ct.load(x, (k,), (2,)): float32 (2,) [2. 3.], from x[2:4]
               acc: float32 (2,) [4. 8.]
k.py:9       if k == 1:
               k == 1: bool True
k.py:10          acc = -acc
                   acc: float32 (2,) [-4. -8.]
k.py:11  ct.store(y, (0,), acc)
           y[0:2] = float32 (2,) [-4. -8.]
"""


def test_trace_of_a_loop_has_the_values_of_its_variable(capsys: pytest.CaptureFixture[str]) -> None:
    assert trace(LOOP, capsys) == TRACE_OF_LOOP.strip().splitlines()


EXPRESSIONS = """
@ct.kernel
def many(x, y):
    a, b = ct.load(x, (0,), (4,)), ct.load(x, (1,), (4,))
    c: ct.Tile = a * b + a * 2
    d = (a + b + c).astype(ct.float16)
    ü = ct.where(a > b, a, b) if ct.bid(0) == 0 else a
    e = ct.maximum(
        ü,  # a line of its own
        ct.exp(d.astype(ct.float32) - c))
    f = a.reshape((2, 2))
    g = (lambda t: t * 3)(f)
    ct.atomic_add(y, ct.arange(4, dtype=ct.int32), e)
    ct.store(y, (1,), ct.sum(g))

x = numpy.array([1, 2, 3, 4, 4, 3, 2, 1], "f4")
y = numpy.zeros(8, "f4")
ct.launch(None, (1,), many, (x, y))
"""


TRACE_OF_EXPRESSIONS = """
k.py:6   a, b = ct.load(x, (0,), (4,)), ct.load(x, (1,), (4,))
           a: float32 (4,) [1. 2. 3. 4.], from x[0:4]
           b: float32 (4,) [4. 3. 2. 1.], from x[4:8]
k.py:7   c: ct.Tile = a * b + a * 2
           a * 2: float32 (4,) [2. 4. 6. 8.]
           c: float32 (4,) [ 6. 10. 12. 12.]
k.py:8   d = (a + b + c).astype(ct.float16)
           a + b: float32 (4,) [5. 5. 5. 5.]
           a + b + c: float32 (4,) [11. 15. 17. 17.]
           d: float16 (4,) [11. 15. 17. 17.]
k.py:9   ü = ct.where(a > b, a, b) if ct.bid(0) == 0 else a
           ct.bid(0): int32 0
           ct.bid(0) == 0: bool True
           a > b: bool (4,) [False False  True  True]
           ct.where(a > b, a, b): float32 (4,) [4. 3. 3. 4.]
           ü: float32 (4,) [4. 3. 3. 4.]
k.py:10  e = ct.maximum(ü, ct.exp(d.astype(ct.float32) - c))
           d.astype(ct.float32): float32 (4,) [11. 15. 17. 17.]
           d.astype(ct.float32) - c: float32 (4,) [5. 5. 5. 5.]
           ct.exp(d.astype(ct.float32) - c): float32 (4,) [148.4132 148.4132 148.4132 148.4132]
           e: float32 (4,) [148.4132 148.4132 148.4132 148.4132]
k.py:13  f = a.reshape((2, 2))
           f: float32 (2, 2), min 1, max 4
           [[1. 2.]
            [3. 4.]]
k.py:14  g = (lambda t: t * 3)(f)
           g: float32 (2, 2), min 3, max 12
           [[ 3.  6.]
            [ 9. 12.]]
k.py:15  ct.atomic_add(y, ct.arange(4, dtype=ct.int32), e)
           ct.arange(4, dtype=ct.int32): int32 (4,) [0 1 2 3]
           updates y[0:4] with float32 (4,) [148.4132 148.4132 148.4132 148.4132]
k.py:16  ct.store(y, (1,), ct.sum(g))
           ct.sum(g): float32 30.
           y[1] = float32 (1,) [30.]
"""


def test_each_expression_has_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert trace(EXPRESSIONS, capsys) == TRACE_OF_EXPRESSIONS.strip().splitlines()


WATCH = """
watch: 1 finding in softmax, grid (2, 1, 1)

nan: `z = v - m` makes a NaN
  --> k.py:5, tile block (0, 0, 0), element [0, 0]
    5 | z = v - m
      |     ^^^^^
  called from k.py:13: e = shifted(t, m)
  inf - inf is nan
  1 of the 4 elements is like this
  = help: nothing it is computed from is a NaN: it begins here

note: ct.load reads an infinity from memory
  --> k.py:11, tile block (0, 0, 0), element [0, 0]
   11 | t = ct.load(x, (row, 0), (1, n), padding_mode=ct.PaddingMode.NEG_INF)
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  1 element in all: given to the program, not made by it

note: ct.load pads with an infinity
  --> k.py:11, tile block (0, 0, 0), element [0, 3]
   11 | t = ct.load(x, (row, 0), (1, n), padding_mode=ct.PaddingMode.NEG_INF)
      |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  2 elements in all: given to the program, not made by it
  seen 2 times
"""


def test_watch_names_the_variable_that_becomes_nan() -> None:
    text = SOFTMAX.replace("[1, 2, 3]", "[numpy.inf, 2, 3]")
    assert report(text, watch_nan=True) == WATCH.strip().splitlines()


RACE = """
@ct.kernel
def count(out):
    old = ct.gather(out, 0)
    ct.scatter(out, 0, old + 1)

ct.launch(None, (2,), count, (numpy.zeros(1, "i4"),))
"""


REPORT_OF_RACE = """
sanitizer: 2 findings in count, grid (2, 1, 1)

race: two tile blocks access the same memory, and nothing orders them
  --> k.py:6, tile block (1, 0, 0)
    6 | old = ct.gather(out, 0)
      |       ^^^^^^^^^^^^^^^^^
  against k.py:7, tile block (0, 0, 0)
    7 | ct.scatter(out, 0, old + 1)
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  both touch out (array int32[1]) at [0]
  one reads, the other wrote
  = help: which value is read depends on the schedule: split the kernel, or order by release and acquire

race: two tile blocks write the same memory, and nothing orders them
  --> k.py:7, tile block (1, 0, 0)
    7 | ct.scatter(out, 0, old + 1)
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  against the same line, tile block (0, 0, 0)
  both touch out (array int32[1]) at [0]
  one writes, the other wrote
  = help: give each tile block its own part, or use an atomic (ct.atomic_add)
"""


def test_race_shows_lines_and_arrays_of_the_script() -> None:
    assert report(RACE, sanitize=True) == REPORT_OF_RACE.strip().splitlines()


OUTSIDE = """
def fill(out, step):
    ct.scatter(out, ct.arange(4, dtype=ct.int32) * step, 1.0, check_bounds=False)

@ct.kernel
def spread(y, step):
    fill(y, step)
    ct.store(y, (9,), ct.zeros((2,), ct.float32))

y = numpy.zeros(4, "f4")
ct.launch(None, (1,), spread, (y, 2))
"""


REPORT_OF_OUTSIDE = """
sanitizer: 2 findings in spread, grid (1, 1, 1)

out-of-bounds: ct.scatter writes outside of y (array float32[4])
  --> k.py:5, tile block (0, 0, 0), element [2]
    5 | ct.scatter(out, ct.arange(4, dtype=ct.int32) * step, 1.0, check_bounds=False)
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  called from k.py:9: fill(y, step)
  the address is 0x..: right past the end of y (array float32[4]), where [4] would be
  2 of the 4 elements it touches are outside
  = help: remove check_bounds=False: elements outside are then left out

index-space: ct.store has an index outside of the tile space of y
  --> k.py:10, tile block (0, 0, 0)
   10 | ct.store(y, (9,), ct.zeros((2,), ct.float32))
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  index 9 along axis 0: y has 2 of these tiles there, counted from 0
  the tile space is (2,), the shape of y (4,)
  = help: guard the access with `if`, or correct the index: the behavior is undefined, even with padding
"""


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_access_outside_of_an_array(backend: str, tmp_path: Path) -> None:
    if backend == "cpu":
        pytest.importorskip("llvmlite", reason="the cpu engine needs it")
    Path("k.py").write_text(HEAD + OUTSIDE, encoding="utf-8")
    with pytest.raises(tileir.SanitizerError) as caught, tileir.emulate(backend=backend, sanitize=True):
        runpy.run_path("k.py")
    assert without_addresses(str(caught.value)) == REPORT_OF_OUTSIDE.strip()


ERROR_OF_OUTSIDE = """
error: ct.scatter accesses 4 bytes at address 0x.., which is in no array of the launch: it is right past the end of y (array float32[4]), where [4] would be (element [2] of the tile)
 --> k.py:5:5
  |
5 |     ct.scatter(out, ct.arange(4, dtype=ct.int32) * step, 1.0, check_bounds=False)
  |     ^
note: called from here
 --> k.py:9:5
  |
9 |     fill(y, step)
  |     ^
  = note: in tile block (0, 0, 0)
  = help: remove check_bounds=False: elements outside are then left out
"""


def test_error_of_a_launch_speaks_of_the_script() -> None:
    with pytest.raises(tileir.ExecutionError) as caught:
        run(OUTSIDE)
    assert without_addresses(str(caught.value)) == ERROR_OF_OUTSIDE.strip()


ERROR_IN_TILE_NAMES = """
error: 'cuda_tile.store_ptr_tko' op accesses 4 bytes at address 0x.., which is in no array of the launch: it is right past the end of argument 'y' of spread (array float32[4]), where [4] would be (element [2] of the tile)
 --> k.py:5:5
  |
5 |     ct.scatter(out, ct.arange(4, dtype=ct.int32) * step, 1.0, check_bounds=False)
  |     ^
note: called from here
 --> k.py:9:5
  |
9 |     fill(y, step)
  |     ^
  = note: in tile block (0, 0, 0)
  = note: the operation is: %3 = cuda_tile.store_ptr_tko weak %0, %1 token=%2 : tile<4xptr<f32>>, tile<4xf32> -> token
"""


def test_error_of_a_launch_speaks_of_the_tile_program_on_request() -> None:
    with pytest.raises(tileir.ExecutionError) as caught:
        run(OUTSIDE, names="tile")
    assert without_addresses(str(caught.value)) == ERROR_IN_TILE_NAMES.strip()


REPORT_OF_UNWRITTEN = """
sanitizer: 1 finding in count, grid (1, 1, 1)

uninitialized: ct.gather reads uninitialized memory
  --> k.py:6, tile block (0, 0, 0)
    6 | old = ct.gather(out, 0)
      |       ^^^^^^^^^^^^^^^^^
  nothing was stored to out (array int32[1]) at [0] before
  = help: store to it first, on every path that leads here
"""


def test_read_before_any_write() -> None:
    found = run(RACE.replace("(2,), count", "(1,), count"))
    out = numpy.zeros(1, "i4")
    sanitizer = tileir.sanitizer.Sanitizer(uninitialized=[out])
    tileir.launch(found["count"], 1, (out,), observer=sanitizer)
    assert sanitizer.report.render() == REPORT_OF_UNWRITTEN.strip()
    assert "load_ptr_tko reads uninitialized memory" in sanitizer.report.render(names="tile")


def test_changed_source_is_not_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that is older than its file is told as the tile program has it."""
    found = run(LOOP)
    Path("k.py").write_text("# nothing\n", encoding="utf-8")
    linecache.checkcache()
    lines: list[str] = []
    observer = tileir.observers.Trace((0, 0, 0), lines.append)
    tileir.launch(found["total"], 1, (found["x"], found["y"], 2), observer=observer)
    assert "  %blockId_x" in "".join(lines) or "  %for = for" in "".join(lines)


MORE = """
@ct.kernel
def part(x, y, d):
    i = ct.bid(0)
    t = ct.load(x, (i,), (4,))
    q = t // d
    ct.store(y, (i,), q)
    z = ct.load(x, (1,), (4,))

x = numpy.arange(10, dtype="i4")
ct.launch(None, (1,), part, (x, x, 0))
"""


REPORT_OF_MORE = """
sanitizer: 3 findings in part, grid (1, 1, 1)

division-by-zero: `t // d` divides by zero
  --> k.py:8, tile block (0, 0, 0), element [0]
    8 | q = t // d
      |     ^^^^^^
  it computes 0 / 0 in int32
  4 of the 4 elements of the tile are like this
  = help: guard the divisor, as with ct.where: the result is undefined, and traps on some machines

unordered: nothing orders ct.store after ct.load
  --> k.py:9, tile block (0, 0, 0), element [0]
    9 | ct.store(y, (i,), q)
      | ^^^^^^^^^^^^^^^^^^^^
  after k.py:7, tile block (0, 0, 0)
    7 | t = ct.load(x, (i,), (4,))
      |     ^^^^^^^^^^^^^^^^^^^^^^
  both touch x (array int32[10]) at [0]: one writes, the other read
  cuTile orders accesses to one array, and assumes that different arrays share no memory
  = help: pass arrays that share no memory, or the same array for both

unwritten: 6 of the 10 elements of x (array int32[10]) are never written
  --> k.py:9
    9 | ct.store(y, (i,), q)
      | ^^^^^^^^^^^^^^^^^^^^
  [4..9]: tile blocks (1, 0, 0) to (2, 0, 0) would write it, and the grid is (1, 1, 1)
  = help: launch a grid of (3, 1, 1): round up, as in -(-n // tile):
   13 | ct.launch(None, (3,), part, (x, x, 0))
"""


def test_other_findings_have_no_word_of_the_tile_program() -> None:
    assert report(MORE, sanitize="all") == REPORT_OF_MORE.strip().splitlines()


def test_debugger_begins_with_the_report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("continue\n"))
    with pytest.raises(tileir.SanitizerError):
        run(RACE, sanitize=True, pdb=True)
    stopped = "\n\ntileir: stopped at the launch; 'continue' lets the error go on\n"
    assert capsys.readouterr().err == REPORT_OF_RACE.strip() + stopped
