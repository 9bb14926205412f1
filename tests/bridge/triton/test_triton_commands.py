"""The commands that take a script, on one that launches Triton kernels: lines and variables are those of the script."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bridge.triton.processes import KERNELS, line_of, tool

SCRIPT = """
import torch
from kernels import row_sums, rooted
x, out = torch.arange(32.0, device="cuda").reshape(4, 8) / 32, torch.zeros(4, device="cuda")
row_sums[(4,)](x, out, 8, BLOCK=8)
print(torch.allclose(out, x.sum(1)))
rooted[(1,)](x, torch.zeros_like(x), BLOCK=32)
"""
SUMS = next(number for number, text in enumerate(KERNELS.splitlines(), 1) if text.startswith("def row_sums("))
LOAD = next(number for number, text in enumerate(KERNELS.splitlines()[SUMS:], SUMS + 1) if "tl.load" in text)
ROOT = line_of("root")
# Words of the command, what it prints, and its exit status.
COMMANDS: dict[str, tuple[list[str], list[str], int]] = {
    "emulate --sanitize": (["emulate", "--sanitize", "script.py"], ["nothing found in 2 launches"], 0),
    "emulate --watch-nan": (
        ["emulate", "--watch-nan", "script.py"],
        [f"kernels.py:{ROOT}, tile block (0, 0, 0)", "16 of the 32 elements are like this"],
        1,
    ),
    "emulate --trace": (
        ["emulate", "--trace", "row_sums:2", "script.py"],
        ["row = tl.program_id(0)\n", "row: int32 2\n", "from x[2:3, 0:8]", "out[2] = tl.sum(found, axis=0)"],
        0,
    ),
    "debug": (
        ["debug", "script.py", "-batch", "-ex", f"break {LOAD + 1}", "-ex", "continue", "-ex", "info locals"],
        ["row_sums (0, 0, 0)", "row = 0\n", "found = [0.0, 0.03125"],
        0,
    ),
    "cost": (
        ["cost", "--target", "h200", "--no-assembler", "script.py"],
        ["row_sums, grid 4 x 1 x 1", "x: 128 B read", "rooted, grid 1"],
        0,
    ),
    "lint": (
        ["lint", "--exit-zero", "script.py"],
        [f"kernels.py:{LOAD}:", "[index-overflow]", "`x.to(tl.int64)` in Triton"],
        0,
    ),
    "compile": (
        ["compile", "script.py", "--launch", "1", "--backend", "triton", "--dump", "tile", "--target", "sm_90"],
        ["entry @row_sums("],
        0,
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_speaks_of_the_script(name: str, tmp_path: Path) -> None:
    words, expected, status = COMMANDS[name]
    found = tool(tmp_path, SCRIPT, *words)
    text = found.stdout + found.stderr
    assert found.returncode == status, text
    for each in expected:
        assert each in text, text


@pytest.mark.parametrize(
    ("words", "file", "content"),
    [
        (
            ["explore", "script.py", "--launch", "2", "--html", "page.html"],
            "page.html",
            b"rooted",
        ),
        (["as", "script.py", "--launch", "1", "-o", "kernel.tileirbc"], "kernel.tileirbc", b"row_sums"),
    ],
)
def test_a_command_writes_the_kernel(words: list[str], file: str, content: bytes, tmp_path: Path) -> None:
    found = tool(tmp_path, SCRIPT, *words)
    assert found.returncode == 0, found.stderr
    assert content in (tmp_path / file).read_bytes()
