"""NVIDIA's own tools agree: the disassembler prints what `tileir dis` prints and reads what we write, the compiler
takes it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kernels.export import TOOLS_MISSING, all_cases, disassemble, disassembler, export, tools_available

import tileir
from tileir.tools.bytecode import disassemble as dis

if TYPE_CHECKING:
    from tests.kernels.case import KernelCase

if not tools_available():
    pytest.skip(TOOLS_MISSING, allow_module_level=True)

ALL = [(case, version) for case in all_cases() for version in case.versions]
# A prime step meets every topic and every version.
SAMPLE = ALL[::23]
COMPILED = ALL[::25]
COMPILE_SECONDS = 30


def names(pairs: list[tuple[KernelCase, str]]) -> list[object]:
    return [pytest.param(case, version, id=f"{case.name}-{version}") for case, version in pairs]


def check_disassembly(case, version, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.tileirbc"
    path.write_bytes(export(case, version))
    for flags in ([], ["-g"]):
        assert dis.run([*flags, str(path)]) == 0
        assert capsys.readouterr() == (disassemble(path.read_bytes(), bool(flags)), "")


def check_assembly(case, version) -> None:
    """What is written from NVIDIA's text is read by NVIDIA as that text."""
    for debug_info in (False, True):
        text = disassemble(export(case, version), debug_info)
        module = tileir.parse(text)
        tileir.verify(module)
        assert disassemble(tileir.to_bytecode(module, version=version), debug_info) == text


def check_rewriting(case, version) -> None:
    """A file that is read and written again means the same, and nothing changes where that is asked for."""
    data = export(case, version)
    module = tileir.from_bytecode(data)
    assert tileir.to_bytecode(module, preserve=True) == data
    assert disassemble(tileir.to_bytecode(module), True) == disassemble(data, True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("case", "version"), names(SAMPLE))
def test_dis_prints_what_tileirdisasm_prints(case, version, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_disassembly(case, version, tmp_path, capsys)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("case", "version"), names(SAMPLE))
def test_text_of_tileirdisasm_assembles_to_the_same_program(case, version) -> None:
    check_assembly(case, version)


@pytest.mark.parametrize(("case", "version"), names(SAMPLE))
def test_file_is_written_back(case, version) -> None:
    check_rewriting(case, version)


@pytest.mark.long
@pytest.mark.parametrize(("case", "version"), names(ALL))
def test_every_kernel_agrees_with_tileirdisasm(
    case, version, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_disassembly(case, version, tmp_path, capsys)
    check_assembly(case, version)
    check_rewriting(case, version)


def compiles(data: bytes, architecture: str, folder: Path) -> bool:
    """Whether tileiras makes a program of a file in the time there is."""
    tool = disassembler()
    assert tool is not None
    source = folder / "kernel.tileirbc"
    source.write_bytes(data)
    command: list[str | Path] = [
        tool.with_name("tileiras"),
        f"--gpu-name={architecture}",
        source,
        "-o",
        folder / "kernel.cubin",
    ]
    try:
        return subprocess.run(command, capture_output=True, timeout=COMPILE_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


@pytest.mark.long
@pytest.mark.parametrize("architecture", ["sm_90", "sm_100"])
@pytest.mark.parametrize(("case", "version"), names(COMPILED))
def test_tileiras_takes_ours_where_it_takes_theirs(case, version, architecture, tmp_path: Path) -> None:
    data = export(case, version)
    if not compiles(data, architecture, tmp_path):
        pytest.skip(f"tileiras does not compile cuTile's own file for {architecture}")
    assert compiles(tileir.to_bytecode(tileir.from_bytecode(data)), architecture, tmp_path)


@pytest.mark.parametrize("warps", [1, 2, 16, 32])
def test_the_compiler_takes_each_number_of_worker_warps(warps: int, tmp_path: Path) -> None:
    """The numbers that cuda-tile itself requests of version 13.5 only."""
    tool = disassembler()
    assert tool is not None
    hints = f"optimization_hints = <sm_100 = {{num_worker_warps_per_cta = {warps} : i32}}>"
    source = tmp_path / "kernel.tileirbc"
    module = tileir.parse(f"cuda_tile.module @kernels {{ entry @k() {hints} {{ return }} }}")
    source.write_bytes(tileir.to_bytecode(module, version="13.4"))
    command = [str(tool.with_name("tileiras")), "--gpu-name", "sm_100", str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
    assert (done.returncode, done.stderr) == (0, "")
