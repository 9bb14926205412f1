"""What is missing or broken on a machine is told in words, from Python and on the command line.

The assembler's own failures are in test_assembler_failures.py, those of calls of the driver in test_driver.py, those of
the cache in test_cubin_cache.py.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy
import pytest
from tests.execute.gpu.assembled_kernel import TEXT, kernel
from tests.execute.gpu.fake_assembler import FakeAssembler
from tests.execute.gpu.fake_cuda import CudaArray, FakeDriver, TextCubin, entry_of, forget, kernel_of

import tileir
from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.gpu.driver import devices
from tileir.execute.gpu.driver.devices import device, target_here, why_no_gpu
from tileir.execute.gpu.driver.library import DriverError, NoGpuError
from tileir.execute.gpu.launcher import GpuKernel
from tileir.execute.gpu.tileiras.assembly import assemble
from tileir.execute.memory import Globals
from tileir.tools.main import run

ONE = "%a: tile<ptr<f32>>"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernel.mlir"
    path.write_text(TEXT)
    return path


@pytest.fixture
def no_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = str(tmp_path / "libnothing.so")
    monkeypatch.setenv("TILEIR_LIBCUDA", path)
    forget()
    return path


@pytest.fixture
def no_assembler(assembler: FakeAssembler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEIR_TILEIRAS")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [each for each in sys.path if not os.path.isdir(os.path.join(each, "nvidia"))])


def one_float() -> numpy.ndarray:
    return numpy.zeros(1, numpy.float32)


# --- no assembler ---


def test_compiling_without_an_assembler_says_what_to_install(
    no_assembler: None, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "NVIDIA's assembler, tileiras, is not installed: pip install 'tileir[tileiras]'"
    with pytest.raises(tileir.MissingDependencyError) as caught:
        kernel().cubin("sm_90")
    assert caught.value.message.startswith(words)
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "-o", "k.cubin"]) == 1
    assert words.replace(": pip", "\nhelp: pip") in capsys.readouterr().err and not os.path.exists("k.cubin")
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["kernels"] is None and found["findings"][0]["message"].startswith(words)


def test_assembler_that_crashes_is_told_on_the_command_line(
    assembler: FakeAssembler, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assembler.does("os.abort()")
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "-o", "k.cubin"]) == 1
    error = capsys.readouterr().err
    assert "error: kernel @k: the assembler crashed: SIGABRT" in error and " --> kernel.mlir:2:3\n" in error
    assert "the program that it crashes on is kept in " in error and "this shows it: " in error
    assert not os.path.exists("k.cubin")


# --- no driver, no GPU ---


def test_target_that_only_a_gpu_could_tell_is_asked_for(
    no_driver: str, assembler: FakeAssembler, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"choose the GPU, as in 'sm_90': this machine has no NVIDIA driver: {no_driver}"
    with pytest.raises(tileir.OptionError, match=words):
        kernel().cubin()
    assert run(["compile", "kernel.mlir", "-o", "k.cubin"]) == 2
    assert f"error: --target: {words}" in capsys.readouterr().err
    assert assembler.calls == []


def test_running_without_a_driver_names_an_engine_that_works(
    no_driver: str, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--backend", "tileiras", "--arg", "zeros:f32:1", "--arg", "1"]
    assert run(["run", str(program), *arguments]) == 1
    assert capfd.readouterr().err == (
        f"error: the backend 'tileiras' cannot work here: this machine has no NVIDIA driver: {no_driver}, which "
        f"TILEIR_LIBCUDA names, cannot be loaded ({no_driver}: cannot open shared object file: No such file or "
        "directory); 'cpu' can: backend='cpu', or --backend cpu\n"
    )


@pytest.mark.parametrize("starts", [False, True])
def test_driver_without_a_gpu_says_so(
    fake: FakeDriver, assembler: FakeAssembler, monkeypatch: pytest.MonkeyPatch, starts: bool
) -> None:
    """One that does not start then, as NVIDIA's does not, and one that counts none."""
    if starts:
        monkeypatch.setattr(devices, "device_count", lambda: 0)
        words = "the NVIDIA driver finds no GPU on this machine"
    else:
        fake.reset(0)
        words = "there is no NVIDIA GPU that this process can use: starting the NVIDIA driver failed: cuInit reports "
        words += "CUDA_ERROR_NO_DEVICE"
        with pytest.raises(NoGpuError, match=f"{words} .*; here, choose backend='cpu'"):
            device(0)
    assert why_no_gpu().startswith(words)
    with pytest.raises(tileir.OptionError, match=f"choose the GPU, as in 'sm_90': {words}"):
        target_here()
    with pytest.raises(tileir.MissingDependencyError, match=f"'tileiras' cannot work here: {words}"):
        tileir.compile(tileir.parse(TEXT), backend="tileiras").launch(1, (one_float(), 1))


# --- what a launch is given ---


@pytest.mark.parametrize("stream", [-1, 1 << 64])
def test_number_that_is_no_stream_is_refused(fake: FakeDriver, stream: int) -> None:
    options = LaunchOptions(stream=stream)
    with pytest.raises(tileir.LaunchError, match=f"stream is {stream}, which is no handle of a stream"):
        kernel_of(ONE).launch((1, 1, 1), (CudaArray(fake, one_float()),), options)
    assert not fake.calls("cuLaunchKernelEx")


def test_globals_that_cannot_be_found_are_told_in_the_words_of_the_driver(fake: FakeDriver) -> None:
    entry = entry_of(ONE, more="global @g <f32: [1.0]> : tile<1xf32>")
    made = GpuKernel(entry, Globals(entry.parent_operation).regions, lambda target: TextCubin("k", "8", target))
    fake.fail("cuLibraryGetGlobal", 999)
    given = (CudaArray(fake, one_float()),)
    with pytest.raises(
        DriverError, match=r"looking for the global @g in the cubin of @k for sm_90 on cuda:0 .* failed"
    ):
        made.launch((1, 1, 1), given, LaunchOptions())
    # The next launch finds everything in order.
    made.launch((1, 1, 1), given, LaunchOptions())


def test_kernel_that_stands_alone_is_not_compiled(assembler: FakeAssembler) -> None:
    entry = kernel().entry
    entry.detach()
    with pytest.raises(tileir.LaunchError, match="only a kernel that stands in a module can be compiled"):
        assemble(entry, "sm_90")
