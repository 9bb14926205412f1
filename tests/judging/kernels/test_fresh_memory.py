"""A kernel that leaves a part of its output unwritten is wrong on its first inputs, whoever allocates the output.

Each candidate computes what is expected, frees it, and allocates its output where that was.
"""

from __future__ import annotations

import pytest

pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

from tests.judging.kernels.judged import judged

from tileir.judging.kernels import launches

COUNT = 4096
LEFT_OUT = 128

REFERENCE = f"""
import numpy

def inputs(seed):
    return (numpy.random.default_rng(seed).standard_normal({COUNT}, dtype="f4"),)

def reference(x):
    return x * 2
"""

KERNEL = f"""
import cuda.tile as ct
import numpy
LIBRARY

@ct.kernel
def double(x, out):
    place = ct.bid(0)
    ct.store(out, (place,), ct.load(x, (place,), (128,)) * 2)

def fill(x, out):
    ct.launch(None, ({COUNT // LEFT_OUT - 1},), double, (x, out))
    return out
"""

NUMPY = """
def run(x):
    for _ in range(3):
        expected = x * 2
        del expected
    return fill(x, ALLOCATED)
"""
TORCH = """
def run(x):
    x = torch.from_numpy(x).cuda()
    for _ in range(3):
        expected = x * 2
        del expected
    return fill(x, ALLOCATED).cpu().numpy()
"""
CUPY = """
def run(x):
    x = cupy.asarray(x)
    for _ in range(3):
        expected = x * 2
        del expected
    return fill(x, ALLOCATED).get()
"""


@pytest.fixture(autouse=True)
def _with_any_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every C library fills what it allocates."""
    monkeypatch.setattr(launches, "_fill_in_c", lambda: None)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("library", "run", "allocated"),
    [
        ("", NUMPY, "numpy.empty_like(x)"),
        ("", NUMPY, "numpy.empty(len(x), 'f4')"),
        ("torch", TORCH, "torch.empty_like(x)"),
        ("torch", TORCH, "torch.empty(len(x), device='cuda')"),
        ("torch", TORCH, "torch.empty(len(x)).cuda()"),
        ("torch", TORCH, "torch.empty(size=(len(x),), dtype=torch.float32, device=x.device)"),
        ("torch", TORCH, "torch.empty_strided((len(x),), (1,), device='cuda')"),
        ("torch", TORCH, "torch.empty_permuted((len(x),), (0,), device='cuda')"),
        ("torch", TORCH, "x.new_empty(len(x))"),
        ("torch", TORCH, "x.new_empty_strided((len(x),), (1,))"),
        ("torch", TORCH, "torch.empty(0, device='cuda').resize_(len(x))"),
        ("torch", TORCH, "torch.cuda.FloatTensor(len(x))"),
        ("cupy", CUPY, "cupy.empty_like(x)"),
        ("cupy", CUPY, "cupy.empty(len(x), 'f4')"),
        ("cupy", CUPY, "cupy.ndarray(len(x), 'f4')"),
        ("cupy", CUPY, "cupy.ndarray(len(x), 'f4', cupy.cuda.alloc(x.nbytes))"),
        ("cupy", CUPY, "numpy.empty_like(x)"),
    ],
)
def test_unwritten_elements_are_wrong_at_once(library: str, run: str, allocated: str) -> None:
    if library == "torch":
        pytest.importorskip("torch")
    source = KERNEL.replace("LIBRARY", f"import {library}" if library else "")
    steps = judged(source + run.replace("ALLOCATED", allocated), REFERENCE, trials=1)
    assert steps["correct"].outcome == "failed", steps
    assert steps["correct"].details == {"wrong": LEFT_OUT, "elements": COUNT, "first": [COUNT - LEFT_OUT]}
    assert steps["deterministic"].outcome == "passed", "the memory holds the same each time"


def test_later_inputs_do_not_see_the_results_of_earlier_ones() -> None:
    """Right at the first call, and one tile short from then on."""
    source = KERNEL.replace("LIBRARY", "CALLS = []").replace(
        f"({COUNT // LEFT_OUT - 1},)", f"({COUNT // LEFT_OUT} - bool(CALLS),)"
    )
    run = NUMPY.replace(
        "return fill(x, ALLOCATED)", "out = fill(x, numpy.empty_like(x))\n    CALLS.append(1)\n    return out"
    )
    same = REFERENCE.replace("default_rng(seed)", "default_rng(0)")
    steps = judged(source + run, same, trials=2)
    assert steps["correct"].message.startswith("inputs 1:"), steps["correct"]
    assert steps["deterministic"].outcome == "failed"


def test_an_output_among_the_inputs_is_filled_where_it_is_made() -> None:
    reference = """
import numpy

def inputs(seed):
    x = numpy.random.default_rng(seed).standard_normal(4096, dtype="f4")
    for _ in range(3):
        expected = x * 2
        del expected
    return x, numpy.empty_like(x)

def reference(x, out):
    out[:] = x * 2
"""
    run = "\ndef run(x, out):\n    fill(x, out)\n"
    steps = judged(KERNEL.replace("LIBRARY", "") + run, reference, trials=1)
    assert steps["correct"].details == {"wrong": LEFT_OUT, "elements": COUNT, "first": [COUNT - LEFT_OUT]}
