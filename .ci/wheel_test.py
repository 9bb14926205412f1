"""Test an installed wheel: `python .ci/wheel_test.py compiled|pure`.

It needs no other package. Where NumPy and ml_dtypes are installed it runs a kernel too.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import compiled_build

import tileir
import tileir.ir.core

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"


def run(*arguments: str, status: int = 0) -> str:
    """Return what the command of the wheel prints."""
    command = Path(sysconfig.get_path("scripts"), "tileir")
    done = subprocess.run([command, *arguments], capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_build(kind: str) -> None:
    assert ROOT / "src" not in Path(tileir.__file__).resolve().parents, "the wheel is not installed"
    if kind == "compiled":
        print(f"compiled: {len(compiled_build.compiled_modules())} modules")
    else:
        assert tileir.ir.core.__file__.endswith(".py")
    assert run("--version").startswith(f"tileir {tileir.__version__} ")
    assert run("docs", "getting_started").startswith("# Getting started")


def test_programs() -> None:
    module = tileir.load(EXAMPLES / "matmul.mlir")
    data = tileir.to_bytecode(module)
    assert tileir.to_bytecode(tileir.from_bytecode(data)) == data
    assert tileir.to_bytecode(tileir.optimize(module)) != data
    try:
        tileir.load(EXAMPLES / "broken.mlir")
    except tileir.VerifyError as error:
        assert len(error.diagnostics) == 3, error
    else:
        raise AssertionError("broken.mlir verifies")


def test_commands() -> None:
    good, broken = str(EXAMPLES / "vector_add.mlir"), str(EXAMPLES / "broken.mlir")
    run("check", good)
    assert run("check", "--format", "github", broken, status=1).count("::error file=") == 3
    with tempfile.TemporaryDirectory() as folder:
        binary = str(Path(folder, "vector_add.tileirbc"))
        run("as", good, "-o", binary)
        assert "entry @vector_add" in run("dis", binary)
        assert "addf" in run("objdump", binary)


def test_running() -> None:
    missing = [name for name in ("numpy", "ml_dtypes") if importlib.util.find_spec(name) is None]
    arrays = ["--arg", "ones:f32:8", "--arg", "ones:f32:8", "--arg", "zeros:f32:8", "--arg", "8"]
    printed = run("run", str(EXAMPLES / "vector_add.mlir"), *arrays, status=1 if missing else 0)
    if missing:
        assert "pip install 'tileir[run]'" in printed, printed
    else:
        assert "min 2, max 2" in printed, printed
    print("a kernel was not run: NumPy or ml_dtypes is missing" if missing else "a kernel was run")


if __name__ == "__main__":
    test_build(sys.argv[1])
    test_programs()
    test_commands()
    test_running()
    print(f"the wheel works: tileir {tileir.__version__} on Python {sys.version.split()[0]}")
