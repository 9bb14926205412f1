"""`tileir compile --backend triton`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.execute.gpu.triton.fake_triton import write_fake_triton

from tileir.execute.gpu.cubin import Cubin
from tileir.execute.gpu.triton.toolchain import why_missing
from tileir.execute.gpu.triton.worker.pool import close_workers
from tileir.tools.main import run

TWO = """cuda_tile.module @kernels {
  entry @one(%p: tile<ptr<f32>>) {
    return
  }
  entry @two(%p: tile<ptr<f32>>, %q: tile<i32>) {
    return
  }
}
"""
ONE = TWO.replace(TWO[TWO.index("  entry @two") : TWO.rindex("}")], "")


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("one.mlir").write_text(ONE)
    Path("two.mlir").write_text(TWO)


@pytest.fixture
def triton() -> None:
    reason = why_missing()
    if reason:
        pytest.skip(reason)


def compiled(*arguments: str) -> int:
    return run(["compile", "--backend", "triton", *arguments])


def test_a_cubin_for_each_target(triton: None) -> None:
    assert compiled("one.mlir", "--target", "sm_80,sm_90", "-o", "k.cubin") == 0
    made = {target: Cubin(Path(f"k.{target}.cubin").read_bytes()) for target in ("sm_80", "sm_90")}
    assert {target: (each.target, each.kernel) for target, each in made.items()} == {
        "sm_80": ("sm_80", "one"),
        "sm_90": ("sm_90", "one"),
    }


def test_a_cubin_for_each_kernel(triton: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled("two.mlir", "--target", "sm_90", "--output-dir", "made") == 0
    assert sorted(os.listdir("made")) == ["two.one.cubin", "two.two.cubin"]
    assert compiled("two.mlir", "--target", "sm_90") == 2
    assert "two.mlir' has 2 kernels, and triton makes a cubin of each" in capsys.readouterr().err
    assert compiled("two.mlir", "--target", "sm_90", "--entry", "two", "-o", "k.cubin") == 0
    assert Cubin(Path("k.cubin").read_bytes()).kernel == "two"


def test_code_for_amd_comes_with_a_word_of_warning(triton: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled("one.mlir", "--target", "gfx942,sm_90", "--output-dir", "made") == 0
    assert sorted(os.listdir("made")) == ["one.gfx942.hsaco", "one.sm_90.cubin"]
    assert Path("made/one.gfx942.hsaco").read_bytes().startswith(b"\x7fELF")
    assert capsys.readouterr().err.count("remark: kernel @one: nobody has run code") == 1


def test_resources_are_those_of_each_kernel(triton: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled("two.mlir", "--target", "sm_90", "--resource-usage") == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows == [["kernel", "target"], ["------", "------"], ["one", "sm_90"], ["two", "sm_90"]]
    assert compiled("one.mlir", "--target", "sm_90,gfx942", "--resource-usage") == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["one", "gfx942", *["-"] * 8]
    assert compiled("two.mlir", "--target", "sm_90,gfx942", "--json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["target"], [kernel["kernel"] for kernel in each["kernels"]]) for each in found] == [
        ("sm_90", ["one"]),
        ("sm_90", ["two"]),
        ("gfx942", []),
        ("gfx942", []),
    ]
    assert found[0]["kernels"][0]["threads"] == 128


@pytest.mark.parametrize(
    ("stage", "words"), [("ttgir", "ttg.num-warps"), ("llvm", "define"), ("ptx", ".entry one"), ("sass", "EXIT")]
)
def test_stages_are_printed(triton: None, stage: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled("one.mlir", "--target", "sm_90", "--dump", stage) == 0
    assert words in capsys.readouterr().out


def test_stages_go_to_files(triton: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled("two.mlir", "--target", "sm_90", "--dump", "ptx", "--output-dir", "made") == 0
    assert sorted(os.listdir("made")) == ["two.one.ptx", "two.two.ptx"]
    assert compiled("one.mlir", "--target", "gfx942", "--dump", "amdgcn", "-o", "k.s") == 0
    assert "gfx942" in Path("k.s").read_text()
    assert capsys.readouterr().out == ""


def test_a_kernel_with_a_name_that_ptx_does_not_have_is_told(triton: None, capsys: pytest.CaptureFixture[str]) -> None:
    Path("name.mlir").write_text(ONE.replace("@one", '@"größe"'), encoding="utf-8")
    assert compiled("name.mlir", "--target", "sm_90", "-o", "k.cubin") == 0
    assert "warning: kernel @größe is 'gr__e' in the cubin: PTX has no such name" in capsys.readouterr().err


def test_the_program_that_is_lowered_can_be_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert compiled("one.mlir", "--target", "sm_90", "--dump", "tile") == 0
    assert "entry @one" in capsys.readouterr().out


def test_ttir_needs_no_triton(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tileir.execute.gpu.triton.toolchain.PathFinder.find_spec", lambda name: None)
    monkeypatch.delenv("TILEIR_TRITON", raising=False)
    assert compiled("two.mlir", "--target", "sm_90", "--dump", "ttir") == 0
    out = capsys.readouterr().out
    assert out.index("// kernel @one, sm_90") < out.index("@one(") < out.index("// kernel @two, sm_90")
    assert compiled("two.mlir", "--target", "sm_90", "--dump", "ptx") == 1
    assert "Triton is not installed\nhelp: pip install 'tileir[triton]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--remarks", "--target", "sm_90"), "--remarks is an option of NVIDIA's assembler"),
        (
            ("-O1", "--target", "sm_90"),
            "-O is an option of NVIDIA's assembler, and Triton has none like it\nhelp: leave it out",
        ),
        (("--target", "gfx1"), "--target: 'gfx1' is no GPU of AMD"),
        (("--target", "sm_1"), "or of AMD's gfx90a"),
        (
            ("--target", "gfx942", "--dump", "ptx"),
            "code for gfx942 has no stage 'ptx' to dump: it has schedule, tile, ttir, ttgir",
        ),
        (("--target", "sm_90", "--dump", "amdgcn"), "code for sm_90 has no stage 'amdgcn' to dump"),
    ],
)
def test_command_line_that_makes_no_sense(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compiled("one.mlir", *arguments) == 2
    assert words in capsys.readouterr().err


def test_stages_of_triton_are_not_the_assemblers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "one.mlir", "--target", "sm_90", "--dump", "ttir"]) == 2
    assert "--dump ttir shows a stage of Triton's\nhelp: add --backend triton" in capsys.readouterr().err
    assert run(["compile", "one.mlir", "--target", "sm_90", "--fast"]) == 2
    assert "--fast is an option of Triton's\nhelp: add --backend triton" in capsys.readouterr().err


def test_time_limit_has_a_status_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_fake_triton(tmp_path / "slow", beginning="import time; time.sleep(100)\n")
    monkeypatch.setenv("TILEIR_TRITON", str(folder))
    assert compiled("one.mlir", "--target", "sm_90", "--timeout", "0.3", "-o", "k.cubin") == 124
    assert "Triton did not finish within 0.3 s and was stopped" in capsys.readouterr().err
    assert not Path("k.cubin").exists()
    close_workers()
