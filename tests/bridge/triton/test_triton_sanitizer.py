"""Bugs that are planted in Triton kernels are found at their lines; correct kernels have no findings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from tests.bridge.triton import triton_kernels as kernels
from tests.bridge.triton.processes import line_of, run

import tileir

PLANTED: dict[str, tuple[str, str, str]] = {
    "an unmasked tail": ("unmasked", "out-of-bounds", "add_without_mask[(8,)](f(1000), f(1000), f(1000), 1000, 128)"),
    "a wrong stride": ("stride", "out-of-bounds", "row_sums_of_wrong_stride[(4,)](f(4, 8), f(4), 8, 8)"),
    "partial sums without atomics": ("race", "race", "total_without_atomics[(4,)](f(64), f(1), 16)"),
    "programs that read what others write": ("neighbour", "race", "shifted_in_place[(4,)](f(65), 16)"),
    "threads that write what others read": ("reversed", "unordered", "reversed_in_place[(1,)](f(64), 64)"),
    "threads that read what others wrote": (
        "unordered",
        "unordered",
        "through_memory[(1,)](f(64), f(64), f(64), 64, 0)",
    ),
}
CORRECT = (
    "add[(8,)](f(1000), f(1000), f(1000), 1000, 128)",
    "row_sums[(4,)](f(4, 8), f(4), 8, 8)",
    "total[(4,)](f(64), f(1), 16)",
    "through_memory[(1,)](f(64), f(64), f(64), 64, 1)",
    "scaled[(1,)](f(64), f(64), 0.5, True, 64)",
    # The same threads read and write.
    "x = f(64); scaled[(1,)](x, x, 0.5, True, 64)",
    "x = f(4, 8); copy_2d[(1,)](x, x, 4, 8, 8, 1, 4, 8)",
    "added_in_memory[(1,)](f(64), f(16), 4, 16)",
)
HEAD = "import torch\nfrom kernels import *\ndef f(*shape): return torch.rand(*shape, device='cuda')\n"


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found_at_its_line(name: str) -> None:
    mark, kind, launch = PLANTED[name]
    names = {**vars(kernels), "f": lambda *shape: torch.rand(*shape, device="cuda")}
    with tileir.emulate(sanitize=True), pytest.raises(tileir.SanitizerError) as caught:
        exec(launch, names)
    text = str(caught.value)
    assert kind in text
    assert f"triton_kernels.py:{line_of(mark)}" in text


@pytest.mark.parametrize("launch", CORRECT)
def test_correct_kernels_have_no_findings(launch: str) -> None:
    names = {**vars(kernels), "f": lambda *shape: torch.rand(*shape, device="cuda")}
    with tileir.emulate(sanitize=True):
        exec(launch, names)


def test_a_script_has_its_findings_summed_up(tmp_path: Path) -> None:
    script = HEAD + "\n".join([launch for _, _, launch in PLANTED.values()]) + "\n" + "\n".join(CORRECT) + "\n"
    found = run(tmp_path, script, "--sanitize")
    assert found.returncode == 1
    for mark, kind, _ in PLANTED.values():
        assert re.search(rf"{kind}[^\n]*\n  --> [^\n]*kernels\.py:{line_of(mark)}\b", found.stderr), (
            mark,
            found.stderr,
        )
    assert re.search(rf"in {len(PLANTED)} of {len(PLANTED) + len(CORRECT)} launches", found.stderr)
