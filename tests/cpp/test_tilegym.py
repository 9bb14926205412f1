"""TileGym's kernels in CUDA Tile C++ on the CPU, with its own tests and references as judges.

TILEIR_TILEGYM names a checkout of NVIDIA/TileGym; nothing of it is here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy
import pytest
from tests.optional import needs

import tileir
from tileir.serve.explorer.opening import launch_of, opened

needs("tilegym")
needs("nvrtc")
needs("cccl")
HEADERS = Path(os.environ.get("TILEIR_TILEGYM", ""), "src", "tilegym", "ops", "tilecpp")
# Its test needs the package transformers, in a version that TileGym knows: 5.3.
OPTIONAL = {"rope.cuh"}


@pytest.mark.long
def test_every_header_computes_what_its_reference_does(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    script = Path(__file__).parents[1] / "bridge" / "checkout.py"
    limits = ["--sample", "8", "--seconds", "60", "--gibibytes", "14"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TILEIR_EMU"))}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(tileir.__file__).parents[1]), *sys.path])
    command = [sys.executable, str(script), str(HEADERS.parents[3]), "--suite", "tilecpp", *limits]
    run = subprocess.run([*command, "--results", str(results)], env=environment, capture_output=True, text=True)
    entries = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    assert not [entry for entry in entries if entry["outcome"] in ("failed", "refused")], run.stdout
    passed = Counter(source for entry in entries if entry["outcome"] == "passed" for source in entry["sources"])
    missing = {path.name for path in HEADERS.rglob("*.cuh")} - set(passed)
    assert missing <= OPTIONAL, run.stdout


def with_wrong_mask(folder: Path) -> tileir.Module:
    """TileGym's activations with a mask that is eight elements too long."""
    text = (HEADERS / "activation" / "relu.cuh").read_text(encoding="utf-8")
    wrong, count = re.subn(r"(offsets < \S+)\(n_elements\)", r"\1(n_elements + 8)", text)
    assert count
    path = folder / "wrong.cuh"
    path.write_text(wrong, encoding="utf-8")
    return tileir.load(path, entry="relu_activation_fwd_kernel<float, 128, 1>")


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
def test_an_access_outside_is_found_at_its_line(tmp_path: Path, backend: str) -> None:
    module = with_wrong_mask(tmp_path)
    lines = (tmp_path / "wrong.cuh").read_text(encoding="utf-8").splitlines()
    values = (numpy.ones(300, "f4"), numpy.zeros(300, "f4"), 300, 1.0, 0.0, 0.0, False)
    with pytest.raises(tileir.SanitizerError) as caught:
        tileir.compile(module, backend=backend).launch(3, values, sanitize=True)
    found = str(caught.value)
    for name in ("ct::load_masked(", "ct::store_masked("):
        number, line = next((number, line) for number, line in enumerate(lines, 1) if name in line)
        column = line.index(name)
        caret = " " * (column - len(line) + len(line.lstrip()))
        assert f"wrong.cuh:{number}:{column + 1}, tile block (2, 0, 0), element [44]" in found
        assert f"{number:5} | {line.strip()}\n      | {caret}^\n" in found
    assert "8 of the 52 elements it touches are outside" in found


def test_the_explorer_shows_the_lines_of_a_header(tmp_path: Path) -> None:
    values = (numpy.ones(300, "f4"), numpy.zeros(300, "f4"), 300, 1.0, 0.0, 0.0, False)
    explorer = opened(launch_of(with_wrong_mask(tmp_path), 3, values))
    operations = explorer.answer("summary", {})["operations"]
    accesses = [each["script"]["text"] for each in operations if each["reads"] or each["writes"]]
    assert ["ct::load_masked(" in accesses[0], "ct::store_masked(" in accesses[1], len(accesses)] == [True, True, 2]
