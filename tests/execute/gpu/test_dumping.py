"""`Kernel.dump` of the engine of NVIDIA's assembler, on a machine without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.execute.gpu.assembled_kernel import TEXT
from tests.execute.gpu.cubin_files import cubin
from tests.execute.gpu.fake_assembler import FakeAssembler

import tileir
from tileir.execute.gpu.driver.library import LIBRARY_VARIABLE
from tileir.tools.main import run


@pytest.fixture
def no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIBRARY_VARIABLE, str(tmp_path / "no_such_libcuda.so"))


@pytest.fixture
def disassembler(tmp_path: Path, assembler: FakeAssembler, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the place of NVIDIA's disassembler: it prints how much it was given."""
    tool = tmp_path / "bin" / "nvdisasm"
    tool.parent.mkdir()
    tool.write_text(
        f"#!{sys.executable} -IS\nimport sys\nprint('disassembled', len(open(sys.argv[-1], 'rb').read()))\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))
    monkeypatch.setattr(
        sys, "path", [folder for folder in sys.path if not os.path.isdir(os.path.join(folder, "nvidia"))]
    )


def compiled(**options) -> tileir.Kernel:
    return tileir.compile(tileir.parse(TEXT, "kernel.mlir"), backend="tileiras", **options)


def test_bytecode_needs_no_gpu_and_no_assembler(no_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_TILEIRAS", "/no/such/tileiras")
    text = compiled().dump("bytecode")
    assert "entry @k" in text and "store_ptr_tko" in text
    tileir.verify(tileir.parse(text))


@pytest.mark.parametrize(
    ("stage", "target", "others"),
    [("sass", "gfx942", "amdgcn"), ("ptx", "gfx942", "amdgcn"), ("amdgcn", "sm_90", "ptx and sass")],
)
def test_stages_of_triton_are_those_of_the_gpu(no_gpu: None, stage: str, target: str, others: str) -> None:
    kernel = tileir.compile(tileir.parse(TEXT, "kernel.mlir"), backend="triton")
    with pytest.raises(tileir.LaunchError, match=f"code for {target} has no stage '{stage}' to dump: it has {others}$"):
        kernel.dump(stage, target=target)


def test_launch_after_a_dump_says_what_is_missing(no_gpu: None) -> None:
    kernel = compiled()
    kernel.dump("bytecode")
    with pytest.raises(
        tileir.MissingDependencyError, match="the backend 'tileiras' cannot work here: this machine has"
    ):
        kernel.launch(1, (None, 1))


def test_instructions_are_shown_for_a_gpu_that_is_named(
    no_gpu: None, assembler: FakeAssembler, disassembler: None
) -> None:
    assert compiled().dump("sass", target="sm_100") == f"disassembled {len(cubin(number=100))}\n"
    assert assembler.calls[0][0] == "--gpu-name=sm_100"
    with pytest.raises(tileir.OptionError, match="choose the GPU, as in 'sm_90': this machine has no NVIDIA driver"):
        compiled().dump("sass")
    with pytest.raises(tileir.OptionError, match="'sm_20' is no GPU that Tile IR is compiled for"):
        compiled().dump("sass", target="sm_20")


def test_instructions_of_a_cubin_that_was_given_need_no_target(
    no_gpu: None, assembler: FakeAssembler, disassembler: None
) -> None:
    data = cubin(registers=77, instructions=[0x918] * 3)
    for target in (None, "9.0"):
        assert compiled(cubin=data).dump("sass", target=target) == f"disassembled {len(data)}\n"
    assert assembler.calls == [], "nothing is compiled"
    assert compiled(cubin=data).dump("sass", target="sm_100") == f"disassembled {len(cubin(number=100))}\n"


def test_disassembler_that_is_missing_or_fails_is_told(
    no_gpu: None, assembler: FakeAssembler, disassembler: None, tmp_path: Path
) -> None:
    tool = tmp_path / "bin" / "nvdisasm"
    tool.write_text(f"#!{sys.executable} -IS\nimport sys\nprint('nvdisasm fatal: what is this')\nsys.exit(3)\n")
    with pytest.raises(tileir.errors.CompilationError, match="ended with status 3: nvdisasm fatal: what is this"):
        compiled().dump("sass", target="sm_90")
    tool.unlink()
    with pytest.raises(tileir.MissingDependencyError, match="pip install nvidia-cuda-nvdisasm"):
        compiled().dump("sass", target="sm_90")


def test_what_the_disassembler_says_is_kept(
    no_gpu: None, assembler: FakeAssembler, disassembler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, tool = tmp_path / "calls", tmp_path / "bin" / "nvdisasm"
    tool.write_text(tool.read_text() + f"open({str(log)!r}, 'a').write('.')\n")
    data = cubin(registers=78)
    said = [compiled(cubin=data).dump("sass") for _ in range(3)]
    assert said == [f"disassembled {len(data)}\n"] * 3
    assert log.read_text() == "."
    compiled(cubin=cubin(registers=79)).dump("sass")
    assert log.read_text() == ".."
    # Another disassembler may say something else.
    tool.write_text(tool.read_text() + "print('and more')\n")
    assert compiled(cubin=data).dump("sass").endswith("and more\n")
    monkeypatch.setenv("TILEIR_CACHE", "0")
    compiled(cubin=data).dump("sass")
    assert log.read_text() == "...."


def test_target_is_for_engines_on_gpus() -> None:
    kernel = tileir.compile(tileir.parse(TEXT), backend="cpu")
    with pytest.raises(tileir.LaunchError, match="the CPU backend makes no code for one: leave it out"):
        kernel.dump("tiles", target="sm_90")


def test_command_line_shows_code_without_a_gpu(
    no_gpu: None, assembler: FakeAssembler, disassembler: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernel.mlir"
    path.write_text(TEXT)
    assert run(["run", str(path), "--backend", "tileiras", "--dump", "bytecode"]) == 0
    assert "store_ptr_tko" in capfd.readouterr().out
    assert run(["run", str(path), "--backend", "tileiras", "--dump", "sass", "--target", "sm_90"]) == 0
    assert capfd.readouterr().out == f"disassembled {len(cubin())}\n"
    assert run(["run", str(path), "--backend", "tileiras", "--target", "sm_90"]) == 2
    assert "--target selects the GPU of '--dump sass'" in capfd.readouterr().err


def test_dumping_loads_no_driver(tmp_path: Path) -> None:
    code = (
        "import sys, tileir\nfrom tileir.execute.gpu.driver import library\n"
        f"tileir.compile(tileir.parse({TEXT!r}), backend='tileiras').dump('bytecode')\n"
        "print(library._driver, library._failure)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "None {}\n", done.stderr
