"""Programs of the kernels that scripts and tests of cuTile launch, recorded without a GPU and without running them.

    python benchmarks/recorded_programs.py CHECKOUT FOLDER [--minutes 30]

CHECKOUT is one of cutile-python (its samples and two of its tests) or of TileGym (the tests of its operators).
FOLDER gets a bytecode file for each structure of a program: two that differ only in types, sizes and constants are one.
A launch returns at once, and operations of torch on large tensors return whatever is in memory, so what scripts and
tests say about results means nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.bridge.kernel_kinds import kernel_name
from tileir.bridge.launch import prepared
from tileir.bridge.process import begin
from tileir.bridge.settings import Settings
from tileir.execute.gpu.tileiras.tool import installed_assembler
from tileir.ir.core import Operation

FOLDER = "TILEIR_RECORDED_PROGRAMS"
GPU = "b200"
SAMPLE = 8  # Tests of one function.
SECONDS = 120.0  # For a script or a file of tests.


def structure(module: Operation) -> str:
    """What two programs have in common that differ only in types, sizes and constants."""
    digest = hashlib.blake2b(digest_size=8)
    numbers: dict[object, int] = {}
    for operation in module.walk():
        for result in operation.results:
            numbers[result] = len(numbers)
        operands = [numbers.get(operand, -1) for operand in operation.operands]
        digest.update(f"{operation.declaration.mnemonic} {len(operation.regions)} {operands}\n".encode())
    return digest.hexdigest()


class Recorder:
    """Writes the program of each launch and runs none."""

    def __init__(self, folder: Path) -> None:
        self._folder: Path = folder

    def launch(self, kernel: Any, grid: Any, args: Any, options: dict[str, Any]) -> None:
        compiled, _ = prepared(kernel, args, "interpreter", False, False)
        module = compiled.entry.parent_operation
        assert module is not None, "a kernel stands in a module"
        path = self._folder / f"{kernel_name(kernel)}-{structure(module)}.tileirbc"
        if not path.exists():
            path.write_bytes(tileir.to_bytecode(module))


def begin_recording() -> None:
    settings = Settings()
    settings.target = GPU
    begin(settings, watcher=Recorder(Path(os.environ[FOLDER])))
    # Torch is needed to record, and not to read what was recorded.
    from no_arithmetic import NoArithmetic

    NoArithmetic().__enter__()


def pytest_load_initial_conftests() -> None:
    """As a plugin of pytest: before a conftest looks for a GPU."""
    begin_recording()


class _BenchmarkHooks:
    """Those of pytest-benchmark that cutile-python has functions for."""

    @pytest.hookspec()
    def pytest_benchmark_update_machine_info(self, config: pytest.Config, machine_info: object) -> None: ...

    @pytest.hookspec()
    def pytest_benchmark_update_json(self, config: pytest.Config, benchmarks: object, output_json: object) -> None: ...


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    if importlib.util.find_spec("pytest_benchmark") is None:
        pluginmanager.add_hookspecs(_BenchmarkHooks)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep some tests of each function, spread over its parameters: most others differ in types and sizes."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    items[:] = [group[number] for group in functions.values() for number in _spread(len(group))]


def _spread(count: int) -> list[int]:
    return sorted({number * (count - 1) // max(SAMPLE - 1, 1) for number in range(SAMPLE)})


def record(checkout: Path, folder: Path, minutes: float) -> None:
    """Record the programs of a checkout, and print how many each script or file of tests had, and how it ended."""
    folder.mkdir(parents=True, exist_ok=True)
    path = [str(Path(__file__).absolute().parent), *(os.path.abspath(part) for part in sys.path if part)]
    if (checkout / "src" / "tilegym").is_dir():
        path.append(str(checkout / "src"))
    assembler = installed_assembler()
    programs = [os.environ["PATH"], *([str(Path(assembler.path).parent)] if assembler is not None else [])]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(programs),
        FOLDER: str(folder.absolute()),
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TILEGYM_DISABLE_AUTOTUNE": "1",
    }
    end = time.time() + 60 * minutes
    for command in _commands(checkout):
        limit = max(1.0, min(SECONDS, end - time.time()))
        before = len(list(folder.iterdir()))
        try:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=checkout,
                env=environment,
                timeout=limit,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            ended = done.stdout.rstrip().rpartition("\n")[2]
        except subprocess.TimeoutExpired:
            ended = "out of time"
        print(f"{len(list(folder.iterdir())) - before:4} programs: {command[-1]} ({ended})", flush=True)


def _commands(checkout: Path) -> Iterable[list[str]]:
    here = str(Path(__file__).absolute())
    for sample in sorted((checkout / "samples").rglob("*.py")):
        if (
            not sample.name.startswith(("_", "test_"))
            and "utils" not in sample.parts
            and "templates" not in sample.parts
        ):
            yield [here, "--script", str(sample)]
    options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", Path(here).stem, "-o", "addopts="]
    if (checkout / "samples").is_dir():
        tests = [checkout / "test" / name for name in ("test_attention.py", "test_group_gemm.py")]
    else:
        tests = sorted((checkout / "tests" / "ops").rglob("test_*.py"))
        options += ["-k", "cutile and not perf"]
    for test in tests:
        yield [*options, str(test)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--script", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.script:
        import runpy

        begin_recording()
        sys.argv = [given.script]
        sys.path.insert(0, str(Path(given.script).parent))
        runpy.run_path(given.script, run_name="__main__")
        return 0
    if given.folder is None:
        parser.error("name a checkout and a folder")
    record(given.checkout.absolute(), given.folder, given.minutes)
    print(f"{len(list(given.folder.glob('*.tileirbc')))} programs in {given.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
