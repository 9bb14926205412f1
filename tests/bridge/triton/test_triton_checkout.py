"""The script that runs Triton's own tests, on a checkout of four files, and the exceptions that it leaves out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.bridge.triton.exceptions_of_triton import EXCEPTIONS
from tests.bridge.triton.processes import run_checkout

CORE = """
import re
import pytest
import torch
from kernels import add

def compiled(n):
    x, out = torch.rand(n, device="cuda"), torch.zeros(n, device="cuda")
    kernel = add[(1,)](x, x, out, n, BLOCK=64)
    torch.testing.assert_close(out, 2 * x)
    return kernel

@pytest.mark.parametrize("n", range(1, 9))
def test_sum(n):
    compiled(n)
def test_text():
    text = compiled(9).asm["ptx"]
    has_fma = re.search("fma.rn", text) is not None
    assert "mma" in text
    assert has_fma
def test_wrong():
    found = compiled(9).asm["ttir"]
    assert len(found) == 0, "numbers differ"
    assert 3 == 4, "numbers differ"
@pytest.mark.parametrize("op", ["sum-None-True", "sum-0-True"])
def test_reduce(op):
    assert "None" not in op
def test_atomic_poll_no_timeout_uses_no_shared_memory():
    assert compiled(9).metadata.shared == 0
"""


def test_exceptions_are_patterns_with_reasons() -> None:
    patterns = [pattern for pattern, _ in EXCEPTIONS]
    assert len(set(patterns)) == len(patterns)
    for pattern, reason in EXCEPTIONS:
        # Each names files, and has a reason in words.
        assert re.search(r"(test_\w+|tutorials/.*)\\\.py", pattern) and re.compile(pattern)
        assert len(reason.split()) > 3


@pytest.mark.long
def test_a_sample_is_run_and_exceptions_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "python" / "test" / "unit" / "language"
    folder.mkdir(parents=True)
    (folder / "test_core.py").write_text(CORE, encoding="utf-8")
    (folder / "test_pipeliner.py").write_text("def test_code(): assert False\n", encoding="utf-8")
    found = run_checkout(tmp_path, "--sample", "3")
    assert "9 tests: 5 passed, 3 skipped, 1 failed" in found.stdout, found.stdout + found.stderr
    assert "1 failed: AssertionError: numbers differ" in found.stdout
    assert "1 passed: a check of compiled text" in found.stdout
    assert "2 skipped: left out: is about code for a GPU" in found.stdout
    again = run_checkout(tmp_path, "--sample", "3", "--left-out", "--results", str(tmp_path / "left_out.jsonl"))
    assert "3 tests: 3 failed" in again.stdout, again.stdout + again.stderr
