"""The pytest plugin, in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tileir

pytest.importorskip("cuda.tile", reason="the tests launch cuTile kernels")

SOURCES = Path(tileir.__file__).parents[1]

KERNEL = """
import sys
sys.modules["torch"] = None  # which cuTile imports where it can
import cuda.tile as ct
import numpy
import pytest
from cuda.tile._cext import get_compute_capability

@ct.kernel
def copy(a, b):
    i = ct.bid(0)
    ct.store(b, (i,), ct.load(a, (i,), (16,)))

def launched(grid, *arguments):
    a, b = numpy.ones(32, "f4"), numpy.zeros(32, "f4")
    ct.launch(None, (grid,), copy, arguments or (a, b))
    return b.sum()
"""


def run(folder: Path, tests: str, *arguments: str, conftest: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(KERNEL + tests, encoding="utf-8")
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TILEIR_EMU"))}
    environment["PYTHONPATH"] = os.pathsep.join([str(SOURCES), *sys.path])
    # The plugin is loaded once, whether or not this environment has it installed.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-p", "tileir.bridge.pytest_plugin", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )


def test_whole_run_is_emulated_and_summed_up(tmp_path: Path) -> None:
    tests = """
def test_launch():
    assert launched(2) == 32
def test_gpu():
    assert get_compute_capability() == (10, 0)
def test_wrong():
    launched(1, 5)
"""
    # A conftest may look for the GPU when it is imported.
    conftest = "from cuda.tile._cext import get_compute_capability\nassert get_compute_capability() == (10, 0)\n"
    found = run(tmp_path, tests, "--tileir", "--tileir-target", "b200", conftest=conftest)
    assert "tileir: kernels run on this machine, which emulates an NVIDIA B200 (sm_100)" in found.stdout
    assert "2 tests launched kernels here, 0 on a GPU, 1 launched none" in found.stdout
    assert "1 test could not: copy takes 2 arguments (a, b), but 1 was given" in found.stdout
    assert "2 passed" in found.stdout and "1 failed" in found.stdout


def test_marker_and_fixture_work_without_the_option(tmp_path: Path) -> None:
    tests = """
@pytest.mark.tileir(target="a100")
def test_marked():
    assert get_compute_capability() == (8, 0) and launched(2) == 32
def test_fixture(tileir_emulation):
    assert tileir_emulation.gpu.key == "h100" and launched(2) == 32
@pytest.mark.tileir(sanitize=True)
def test_finding():
    launched(3)
def test_neither():
    with pytest.raises(OSError):
        get_compute_capability()
"""
    found = run(tmp_path, tests, "--strict-markers")
    assert "SanitizerError: sanitizer: 2 findings in copy" in found.stdout
    assert "3 passed" in found.stdout and "1 failed" in found.stdout
    assert "3 tests launched kernels here, 0 on a GPU, 1 launched none" in found.stdout


def test_reports_have_the_names_that_are_asked_for(tmp_path: Path) -> None:
    tests = """
def test_outside():
    launched(3)
"""
    found = run(tmp_path, tests, "--tileir", "--tileir-sanitize", "--tileir-names", "tile")
    assert "store_view_tko" in found.stdout and "1 failed" in found.stdout


def test_nothing_is_imported_or_said_where_nobody_asks(tmp_path: Path) -> None:
    tests = """
def test_imports():
    # These are of this file: the plugin alone imports no more.
    assert not [name for name in sys.modules if name.startswith(("tileir.execute", "tileir.ir", "tileir.dialect"))]
"""
    found = run(tmp_path, tests)
    assert "1 passed" in found.stdout
    assert "tileir" not in found.stdout.replace(str(tmp_path), "").replace("plugins: tileir", "")


def test_wrong_options_are_mistakes_of_usage(tmp_path: Path) -> None:
    found = run(tmp_path, "", "--tileir", "--tileir-target", "c64")
    assert found.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no GPU named 'c64' can be emulated" in found.stderr
    assert "Traceback" not in found.stderr


def test_processes_of_xdist_are_emulated(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    tests = "@pytest.mark.parametrize('n', range(3))\ndef test_launch(n):\n    assert launched(2) == 32\n"
    found = run(tmp_path, tests, "-p", "xdist", "-n", "1", "--tileir", "--tileir-sanitize")
    assert "3 tests launched kernels here, 0 on a GPU, 0 launched none" in found.stdout
    assert "3 passed" in found.stdout


def test_an_unknown_gpu_is_a_wrong_command_line(tmp_path: Path) -> None:
    found = run(tmp_path, "", "--tileir", "--tileir-target", "abacus")
    assert found.returncode == pytest.ExitCode.USAGE_ERROR
    assert found.stderr.startswith("ERROR: --tileir: ") and "abacus" in found.stderr
    assert "Traceback" not in found.stderr
