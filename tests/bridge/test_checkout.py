"""The script that runs the tests of a cutile-python checkout, on a checkout of four tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tileir

pytest.importorskip("cuda.tile", reason="the checkout is one of cuTile's")
pytest.importorskip("resource", reason="the script limits memory as POSIX does")

TESTS = """
import pytest
from cuda.tile._cext import get_compute_capability

def test_gpu():
    assert get_compute_capability() == (10, 0)
def test_wrong():
    assert 3 == 4, "numbers differ"
def test_skipped():
    pytest.skip("no reason")
def test_forever():
    while True:
        pass
"""


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TILEIR_EMU"))}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(tileir.__file__).parents[1]), *sys.path])
    script = Path(__file__).with_name("checkout.py")
    command = [sys.executable, str(script), str(checkout), "--results", str(checkout / "results.jsonl"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.long
def test_results_are_kept_and_summed_up(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "test_it.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "test" / "bench_it.py").write_text("def test_speed(): assert False\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\npython_files = test_*.py bench_*.py\n", encoding="utf-8")
    assert "\n0 tests: " in run(tmp_path, "--minutes", "0").stdout
    found = run(tmp_path, "--seconds", "1")
    assert "5 tests: 2 skipped, 1 passed, 1 failed, 1 over time" in found.stdout
    assert "1 of 2 pass: 50.00 of 100" in found.stdout
    assert "1 skipped: left out: measures how fast a GPU is" in found.stdout
    assert found.returncode == 1
    # What was run is not run again.
    again = run(tmp_path)
    assert again.stdout.endswith(found.stdout[found.stdout.index("5 tests: ") :])
