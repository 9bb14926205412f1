"""`pytest --tileir` with Triton kernels: beside cuTile's, with findings, and with the user's lines only."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bridge.triton.processes import line_of, run_tests

TESTS = """
import pytest
import torch
import triton
from kernels import add, add_without_mask, misspelled

assert torch.cuda.is_available()

@pytest.mark.parametrize("n", [10, 64])
def test_sum(n):
    x, out = torch.rand(n, device="cuda"), torch.zeros(n, device="cuda")
    add[lambda given: (triton.cdiv(n, given["BLOCK"]),)](x, x, out, n, BLOCK=64)
    torch.testing.assert_close(out, 2 * x)

def test_tail():
    x = torch.rand(100, device="cuda")
    add_without_mask[(2,)](x, x, torch.empty(128, device="cuda"), 100, BLOCK=64)

def test_refused():
    misspelled[(1,)](torch.rand(64, device="cuda"), BLOCK=64)

def test_reference():
    assert triton.cdiv(5, 2) == 3
"""
MIXED = """
import cuda.tile as ct

@ct.kernel
def double(x):
    ct.store(x, (0,), ct.load(x, (0,), (64,)) * 2)

def test_both():
    x, out = torch.rand(64, device="cuda"), torch.zeros(64, device="cuda")
    add[(1,)](x, x, out, 64, BLOCK=64)
    ct.launch(torch.cuda.current_stream(), (1,), double, (out,))
    torch.testing.assert_close(out, 4 * x)
"""


def test_tests_of_triton_kernels(tmp_path: Path) -> None:
    try:
        __import__("cuda.tile")
        tests, passed = TESTS + MIXED, 4
    except ImportError:
        tests, passed = TESTS, 3
    found = run_tests(tmp_path, tests, "--tileir", "--tileir-sanitize")
    text = found.stdout
    assert f"{passed} passed" in text and "2 failed" in text, text + found.stderr
    assert f"{passed} tests launched kernels here, 0 on a GPU, 2 launched none" in text
    # The lines of the test and of the kernel, and none in between.
    line = TESTS[: TESTS.index("add_without_mask[")].count("\n") + 1
    assert f"test_it.py:{line}: SanitizerError" in text, text
    assert f"kernels.py:{line_of('unmasked')}" in text
    line = TESTS[: TESTS.index("misspelled[")].count("\n") + 1
    assert f"test_it.py:{line}: CompilationError" in text
    assert f"kernels.py:{line_of('misspelled')}" in text
    assert "site-packages" not in text and "bridge" not in text


@pytest.mark.long
def test_the_whole_traceback_on_request(tmp_path: Path) -> None:
    tests = "import torch\nfrom kernels import misspelled\ndef test_it():\n    misspelled[(1,)](torch.rand(64, "
    tests += "device='cuda'), BLOCK=64)\n"
    assert "frontend.py" in run_tests(tmp_path, tests, "--tileir", "--full-trace").stdout
