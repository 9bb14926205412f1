"""Mistakes that people and models make in kernels: the error names the line, the reason and the change."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
from tests.optional import needs

import tileir
from tileir.bridge.compile_help import CUTILE, TRITON

_LOAD = "t = ct.load(x, (i,), (16,))"
_READ = "o = tl.arange(0, 16)"

# The line with the mistake, a part of the help, and the corrected line where the help has one.
CUTILE_CASES = {
    f"{_LOAD}; ct.stor(out, (i,), t)": ("did you mean `ct.store`", f"{_LOAD}; ct.store(out, (i,), t)"),
    "j = ct.program_id(0)": ("`ct.bid`", "j = ct.bid(0)"),
    "t = ct.relu(ct.load(x, (i,), (16,)))": ("`ct.maximum(x, 0)` does that", ""),
    "t = ct.dot(1, 2)": ("`ct.mma(a, b, acc)`", ""),
    "ct.store(out, (i,), x * 2)": ("an array is memory", ""),
    "t = x[i]": ("load a tile", "t = ct.load(x, (i,), (128,))"),
    "out[i] = ct.load(x, (i,), (16,))": ("store a tile", "ct.store(out, (i,), ct.load(x, (i,), (16,)))"),
    "t = x[i * 16:(i + 1) * 16]": ("an index in tiles", "t = ct.load(x, (i,), (16,))"),
    "t = ct.load(x, (i,), (12,))": ("powers of two", ""),
    "t = ct.load(x, (i, 0), (16, 1))": ("each dimension: 1", ""),
    f"{_LOAD}; u = t + ct.load(x, (i,), (8,))": ("equal or 1", ""),
    f"{_LOAD}; u = t + None": ("nothing with None", ""),
    f"{_LOAD}; u = t + 1 if t > 0 else t": ("ct.where(c, a, b)", ""),
    f"{_LOAD}; u = (t > 0) and (t < 5)": ("`&`", f"{_LOAD}; u = (t > 0) & (t < 5)"),
    f"{_LOAD}; u = (t > 0) or (t < 5)": ("`|`", f"{_LOAD}; u = (t > 0) | (t < 5)"),
    "t = ct.load(x, (i,), (n,))": ("n: ct.Constant[int]", ""),
    "t = ct.load(x, (i,), (x.shape[0],))": ("known when a kernel is compiled", ""),
    "t = np.exp(ct.load(x, (i,), (16,)))": ("those of cuda.tile", "t = ct.exp(ct.load(x, (i,), (16,)))"),
    f"{_LOAD}; u = t.sum()": ("few methods", f"{_LOAD}; u = ct.sum(t)"),
    "t = ct.load(y, (0, 0), (16, 16)).T": ("transpose by a function", ""),
    "t = []; t.append(i)": ("no lists", ""),
    "raise ValueError": ("`ct.assert_`", ""),
    "try:\n        t = 1\n    except ValueError:\n        t = 2": ("no `try`", ""),
    "return ct.load(x, (i,), (16,))": ("returns nothing", ""),
    "t = ct.zeros((16,), 'float32')": ("not texts", "t = ct.zeros((16,), ct.float32)"),
    "t = ct.load(y, (0, 0), (16, 16)); u = ct.mma(t, t)": (
        "accumulator",
        "t = ct.load(y, (0, 0), (16, 16)); u = ct.mma(t, t, acc)",
    ),
    "t = ct.load(x, (i,), (16,), mask=True)": ("masked anyway", "t = ct.load(x, (i,), (16,))"),
    f"{_LOAD}; u = ct.maximum(t, '0')": ("not a text", ""),
    "t = len(x)": ("use the shape", "t = x.shape[0]"),
    "t = ct.load(x, (i / 2,), (16,))": ("a whole number", "t = ct.load(x, (i // 2,), (16,))"),
    f"{_LOAD}; u = ct.sum(t, axis=1)": ("axes count from 0", ""),
    "t = undefined": ("assign it before", ""),
    "for k in range(n): n = ct.load(x, (k,), (16,))": ("keeps its type", ""),
}
TRITON_CASES = {
    "o = tl.arange(0, n)": ("n: tl.constexpr", ""),
    "o = tl.arange(0, 12)": ("powers of two", ""),
    f"{_READ}; tl.stor(out + o, o)": ("did you mean `tl.store`", f"{_READ}; tl.store(out + o, o)"),
    f"{_READ}; t = tl.relu(o)": ("`tl.maximum(x, 0)`", ""),
    f"{_READ}; t = o + tl.arange(0, 8)": ("[:, None]", ""),
    f"{_READ}; t = o[0:8]": ("no ranges", ""),
    f"{_READ}; t = x[o]": ("no elements to index", f"{_READ}; t = tl.load(x + o)"),
    f"{_READ}; t = tl.load(x + o) * SCALE": ("`SCALE = tl.constexpr(..)`", ""),
    "t = tl.zeros(16)": ("state the type", "t = tl.zeros((16,), tl.float32)"),
    f"{_READ}; tl.store(out, o)": ("one pointer stores one element", ""),
    f"{_READ}; t = tl.max(o, axis=1)": ("axes count from 0", ""),
    f"{_READ}; t = o.to('float16')": ("values of triton.language", f"{_READ}; t = o.to(tl.float16)"),
    "t = len(x)": ("has no size", ""),
    "t = x.shape[0]": ("has no shape", ""),
    "t = tl.program_id()": ("the axis of the grid", "t = tl.program_id(0)"),
    "t = undefined": ("assign `undefined` before", ""),
    "kernel(x, y, out, n)": ("cannot call itself", ""),
    "for i in range(n): break": ("`while` with a condition", ""),
    f"{_READ}; t = []; t.append(o)": ("no lists", ""),
    f"{_READ}; t = o.transpose()": ("use the function", f"{_READ}; t = tl.trans(o)"),
}


def _module(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _notes(kernel: Any) -> str:
    """The notes of the error that a launch raises, and of its causes; empty if it is fine."""
    arrays = (numpy.zeros(64, "f4"), numpy.zeros((16, 16), "f4"), numpy.zeros(64, "f4"), 16)
    try:
        tileir.launch(kernel, 1, arrays, backend="interpreter")
    except Exception as error:
        found = ["an error"]
        each: BaseException | None = error
        while each is not None:
            found += getattr(each, "__notes__", [])
            each = each.__cause__
        return "\n".join(found)
    return ""


_CUTILE = "import cuda.tile as ct\nimport numpy as np\n\n@ct.kernel\ndef kernel(x, y, out, n):\n    i = ct.bid(0)\n    "
_TRITON = "import triton\nimport triton.language as tl\nSCALE = 2.0\n\n@triton.jit\ndef kernel(x, y, out, n):\n    "


@pytest.mark.parametrize("line", CUTILE_CASES)
def test_cutile_mistakes_have_help(line: str, tmp_path: Path) -> None:
    needs("cuda.tile")
    _check(_CUTILE, line, *CUTILE_CASES[line], tmp_path)


@pytest.mark.parametrize("line", TRITON_CASES)
def test_triton_mistakes_have_help(line: str, tmp_path: Path) -> None:
    needs("triton")
    _check(_TRITON, line, *TRITON_CASES[line], tmp_path)


def _check(head: str, line: str, text: str, corrected: str, folder: Path) -> None:
    found = _notes(_module(folder / "wrong.py", f"{head}{line}\n").kernel)
    assert "help: " in found and text in found, found
    lines = found.split("\n")
    shown = lines[next(number for number, each in enumerate(lines) if "help: " in each) + 1 :]
    assert "".join(shown).strip() == corrected
    if corrected:
        again = _notes(_module(folder / "right.py", f"{head}{corrected}\n").kernel)
        assert text not in again


def test_there_are_thirty_mistakes() -> None:
    assert len(CUTILE_CASES) + len(TRITON_CASES) >= 30
    covered = "\n".join(text for text, _ in [*CUTILE_CASES.values(), *TRITON_CASES.values()])
    assert covered
    for mistake in (*CUTILE, *TRITON):
        re.compile(mistake.message)
