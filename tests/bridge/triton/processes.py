"""Scripts and tests with Triton kernels, in processes of their own: they find the kernels in a module `kernels`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.bridge.triton import triton_kernels as kernels

import tileir

KERNELS = Path(kernels.__file__).read_text(encoding="utf-8")


def line_of(mark: str) -> int:
    """The line of the kernels that ends with a comment."""
    return next(number for number, text in enumerate(KERNELS.splitlines(), 1) if text.endswith(f"# {mark}"))


def run(folder: Path, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A script under `tileir emulate`."""
    return tool(folder, script, "emulate", *options, "script.py")


def tool(folder: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of tileir in a folder with `script.py`."""
    (folder / "script.py").write_text(script, encoding="utf-8")
    return _python(folder, "-m", "tileir", *words)


def run_tests(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """pytest, with the plugin."""
    (folder / "test_it.py").write_text(tests, encoding="utf-8")
    plugins = ("-p", "tileir.bridge.pytest_plugin", "-p", "no:cacheprovider")
    return _python(folder, "-m", "pytest", *plugins, *options, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def _python(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "kernels.py").write_text(KERNELS, encoding="utf-8")
    others = ("TILEIR_EMU", "PYTEST")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(tileir.__file__).parents[1]), *sys.path])
    environment |= more
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def run_checkout(checkout: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The script that runs the tests of a checkout of Triton."""
    script, results = Path(__file__).parents[1] / "checkout.py", checkout / "results.jsonl"
    return _python(checkout, str(script), str(checkout), "--suite", "triton", "--results", str(results), *options)
