"""Bytecode of the kernel corpus as cuTile writes it, and its text as NVIDIA's disassembler prints it.

Both tools come from `pip install tileir[test]`, run without a GPU, and are absent on some platforms:
ask `tools_available` first. An export is written once to a directory shared by all processes of the user.
"""

from __future__ import annotations

import functools
import getpass
import hashlib
import importlib
import importlib.metadata
import importlib.util
import io
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kernels.case import KernelCase

TOPICS = (
    "atomics",
    "control_flow",
    "conversions",
    "elementwise",
    "gather_scatter",
    "integer",
    "low_precision",
    "math_functions",
    "matmul",
    "parameters",
    "printing_and_asserts",
    "reductions",
    "scans",
    "shapes",
    "views",
)
TOOLS_MISSING = "NVIDIA's cuda-tile and nvidia-cuda-tileiras are not installed: pip install 'tileir[test]'"


def cutile_available() -> bool:
    try:
        return importlib.util.find_spec("cuda.tile") is not None
    except ModuleNotFoundError:
        return False


def tools_available() -> bool:
    """Whether cuTile and the disassembler are both installed here."""
    return cutile_available() and disassembler() is not None


@functools.cache
def all_cases() -> tuple[KernelCase, ...]:
    """Every case of every topic, in a fixed order; none where cuTile is missing."""
    if not cutile_available():
        return ()
    cases: list[KernelCase] = []
    for topic in TOPICS:
        cases += importlib.import_module(f"tests.kernels.{topic}").CASES
    names = [case.name for case in cases]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"case names used more than once: {sorted(repeated)}")
    return tuple(cases)


def export(case: KernelCase, version: str) -> bytes:
    """The bytecode file cuTile writes for `case` at bytecode `version`."""
    path = _cache_directory() / f"{case.name}.{version}.{_digest_of_inputs()}.tileirbc"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        data = _export_uncached(case, version)
        _write_atomically(path, data)
        return data


def disassemble(data: bytes, debug_info: bool) -> str:
    """The text of a bytecode file, with locations if `debug_info`; raises `ValueError` when it is rejected."""
    tool = disassembler()
    if tool is None:
        raise RuntimeError(TOOLS_MISSING)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "kernel.tileirbc"
        path.write_bytes(data)
        result = subprocess.run([tool, *(["-g"] if debug_info else []), path], capture_output=True, timeout=60)
    if result.returncode != 0:
        raise ValueError(f"tileirdisasm exited with {result.returncode}: {result.stderr.decode().strip()}")
    return result.stdout.decode()


def _export_uncached(case: KernelCase, version: str) -> bytes:
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    convention = CallingConvention.cutile_python_v2()
    signatures = [
        KernelSignature(parameters, convention, case.symbol) for parameters in (case.signature, *case.overloads)
    ]
    if case.symbol is None:
        signatures = [signature.with_mangled_symbol(case.name) for signature in signatures]
    file = io.BytesIO()
    export_kernel(
        case.kernel,
        signatures,
        file,
        gpu_code=case.architecture if version in ("13.1", "13.2") else None,
        output_format="tileir_bytecode",
        bytecode_version=version,
    )
    return file.getvalue()


@functools.cache
def disassembler() -> Path | None:
    try:
        files = importlib.metadata.files("nvidia-cuda-tileiras") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.stem == "tileirdisasm":
            return Path(str(file.locate()))
    return None


@functools.cache
def _cache_directory() -> Path:
    path = Path(tempfile.gettempdir()) / f"tileir-kernel-corpus-{getpass.getuser()}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


@functools.cache
def _digest_of_inputs() -> str:
    """A digest of all that decides the bytes: cuTile, and our sources with their place, which shows in locations."""
    digest = hashlib.sha256(importlib.metadata.version("cuda-tile").encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(str(path).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _write_atomically(path: Path, data: bytes) -> None:
    """Write so that a process reading at the same time sees the whole file or none."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)
