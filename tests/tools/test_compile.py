"""`tileir compile`, with a program in the place of NVIDIA's assembler."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.execute.gpu.assembled_kernel import TEXT
from tests.execute.gpu.cubin_files import cubin
from tests.execute.gpu.fake_assembler import SUCCEED, FakeAssembler, assembler
from tests.messages import compact

from tileir.tools.main import run

__all__ = ["assembler"]

ROOT = Path(__file__).parents[2]

TWO = """cuda_tile.module @kernels {
  entry @k(%p: tile<ptr<f32>>) {
    return
  }
  entry @other(%p: tile<ptr<f32>>) {
    return
  }
}
"""


@pytest.fixture
def program(tmp_path: Path, assembler: FakeAssembler, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernel.mlir"
    path.write_text(TEXT)
    return path


def test_cubin_is_written(program: Path) -> None:
    assert run(["compile", "kernel.mlir", "--backend", "tileiras", "--target", "sm_90", "-o", "k.cubin"]) == 0
    assert Path("k.cubin").read_bytes() == cubin()


def test_cubin_goes_to_standard_output(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    assert run(["compile", "kernel.mlir", "--target", "sm_90"]) == 0
    assert out.buffer.getvalue() == cubin()


def test_cubins_are_named_by_target(program: Path, assembler: FakeAssembler) -> None:
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "--target", "10.0", "-o", "k.cubin"]) == 0
    assert Path("k.sm_90.cubin").read_bytes() == cubin(number=90)
    assert Path("k.sm_100.cubin").read_bytes() == cubin(number=100)
    assert run(["compile", "kernel.mlir", "--target", "90,100", "--output-dir", "made"]) == 0
    assert sorted(os.listdir("made")) == ["kernel.sm_100.cubin", "kernel.sm_90.cubin"]
    assert len(assembler.calls) == 2


def test_options_reach_the_assembler(program: Path, assembler: FakeAssembler) -> None:
    options = ["-O1", "--lineinfo", "--host", "x86_64-windows", "--remarks"]
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "-o", "k.cubin", *options]) == 0
    (call,) = assembler.calls
    wanted = ["--gpu-name=sm_90", "--opt-level=1", "--host-arch=x86_64", "--host-os=windows", "--lineinfo"]
    assert call[:6] == [*wanted, "--remarks=all"]


def test_resources_are_a_table(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "kernel.mlir", "--target", "sm_90,sm_100", "--resource-usage"]) == 0
    out, error = capsys.readouterr()
    assert out == (
        "kernel  target  registers  threads  shared  stack  stores  loads  spills  code\n"
        "------  ------  ---------  -------  ------  -----  ------  -----  ------  ----\n"
        "k       sm_90          32      128       0      0       0      0      no    16\n"
        "k       sm_100         32      128       0      0       0      0      no    16\n"
    )
    assert error == ""
    assert sorted(os.listdir()) == ["cache", "fake", "kernel.mlir"], "and no cubin is written"


def test_spilling_kernel_is_warned_of(
    program: Path, assembler: FakeAssembler, capsys: pytest.CaptureFixture[str]
) -> None:
    data = cubin(registers=255, stack=96, instructions=[0x387, 0x983, 0x983])
    assembler.does(f'open(output, "wb").write({data!r})')
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "-o", "k.cubin"]) == 0
    assert compact(capsys.readouterr().err).startswith(
        "kernel.mlir:2:3: warning: kernel @k runs out of registers on sm_90: it keeps 96 bytes for each thread in "
        "memory, with 1 stores and 2 loads; use smaller tiles\n"
    )


def test_json_has_all_of_it(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "--json", "-o", "k.cubin"]) == 0
    found = json.loads(capsys.readouterr().out)
    (kernel,) = found.pop("kernels")
    assert found == {"file": "kernel.mlir", "target": "sm_90", "cubin": "k.cubin", "findings": []}
    assert kernel["parameters"] == [{"offset": 0, "size": 8}, {"offset": 8, "size": 4}]
    assert (kernel["kernel"], kernel["registers"], kernel["spills"]) == ("k", 32, False)


def test_refusal_is_shown_at_its_line(
    program: Path, assembler: FakeAssembler, capsys: pytest.CaptureFixture[str]
) -> None:
    assembler.does("print('loc(\"<tileir>\":4:1): error: no such store')\nsys.exit(5)")
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "-o", "k.cubin"]) == 1
    assert compact(capsys.readouterr().err) == (
        "kernel.mlir:4:15: error: 'cuda_tile.store_ptr_tko' op: no such store\n"
        "    %stored = store_ptr_tko weak %p, %one : tile<ptr<f32>>, tile<f32> -> token\n"
        "              ^\n"
        "note: compiled for sm_90 by NVIDIA's tileiras 13.4.1\n"
    )
    assert not os.path.exists("k.cubin")
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["kernels"] is None and found["cubin"] is None
    assert [(each["line"], each["severity"]) for each in found["findings"]] == [(4, "error")]


def test_remarks_are_shown_at_their_lines(
    program: Path, assembler: FakeAssembler, capsys: pytest.CaptureFixture[str]
) -> None:
    remark = [
        "in function: k:",
        "",
        "  category: Memory",
        "    remark[failed]: Failed to select TMA store instruction",
        '      --> "<tileir>":4:1',
        "       |",
        "       = name: RemarkMemoryTmaStoreFailed",
        '       = reason: loc("<tileir>":4:1): base pointer not 16-byte aligned',
        "",
    ]
    assembler.does(f"{SUCCEED}\nprint(*{remark + remark[3:]!r}, sep=chr(10))")
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "--remarks"]) == 0
    lines = compact(capsys.readouterr().err).splitlines()
    assert lines[0] == (
        "kernel.mlir:4:15: remark: 'cuda_tile.store_ptr_tko' op: Failed to select TMA store instruction: "
        "base pointer not 16-byte aligned"
    )
    assert len(lines) == 3, "once, with the line and the caret"


def test_all_kernels_of_a_program_are_compiled_unless_one_is_named(
    program: Path, assembler: FakeAssembler, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text(TWO)
    assembler.does(f'open(output, "wb").write({cubin(("k", "other"))!r})')
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "--resource-usage"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["kernel", "------", "k", "other"]
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "--entry", "other", "--resource-usage"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["kernel", "------", "other"]
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "--entry", "third", "--resource-usage"]) == 2
    words = "error: 'kernel.mlir': the module has no entry @third\nhelp: choose one of @k, @other"
    assert capsys.readouterr().err.startswith(f"{words}\n")


def test_time_limit_has_a_status_of_its_own(
    program: Path, assembler: FakeAssembler, capsys: pytest.CaptureFixture[str]
) -> None:
    assembler.does("time.sleep(60)")
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "-o", "k.cubin", "--timeout", "0.5"]) == 124
    assert "did not finish within 0.5 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "sm_75"], "--target: 'sm_75' is no GPU that Tile IR is compiled for"),
        (["--target", "sm_90", "--timeout", "soon"], "'--timeout soon' is no time"),
        (["--target", "sm_90", "--memory-limit", "none"], "'--memory-limit none' is no size"),
        (["--target", "sm_90,sm_100"], "several cubins need '-o FILE' or '--output-dir DIR'"),
        (["--target", "sm_90", "-o", "-", "--json"], "standard output is for a cubin or for what is printed"),
        (["--target", "sm_90", "-o", "no/such/k.cubin"], "cannot write 'no/such/k.cubin'"),
        (["--target", "sm_90", "-o", "kernel.mlir"], "would be replaced by a cubin"),
        (["--target", "sm_90", "-O4"], "'4' is not a value of '-O'"),
    ],
)
def test_command_line_that_makes_no_sense(
    program: Path, assembler: FakeAssembler, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["compile", "kernel.mlir", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert assembler.calls == []


def test_program_with_errors_is_not_compiled(
    program: Path, assembler: FakeAssembler, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text(TEXT.replace("tile<f32>\n", "tile<i32>\n"))
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "-o", "k.cubin"]) == 1
    assert compact(capsys.readouterr().err).startswith("kernel.mlir:3:")
    assert run(["compile", "kernel.mlir", "--target", "sm_90", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["line"] == 3
    assert assembler.calls == []


def test_neither_numpy_nor_the_driver_is_loaded(program: Path) -> None:
    """On a laptop, with nothing but the assembler installed."""
    code = (
        "import sys\nfrom tileir.tools.main import run\n"
        f"status = run(['compile', {str(program)!r}, '--target', 'sm_90', '-o', {str(program) + '.cubin'!r}])\n"
        "print(status, 'numpy' in sys.modules, 'ctypes' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "0 False False\n", done.stderr


def test_checking_imports_nothing_of_gpus(program: Path) -> None:
    code = (
        "import sys\nfrom tileir.tools.main import run\n"
        f"status = run(['check', {str(program)!r}])\n"
        "print(status, [name for name in sys.modules if 'gpu' in name or 'subprocess' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "0 []\n", done.stderr


# --- several files ---


def test_table_of_several_files_names_them(
    program: Path, assembler: FakeAssembler, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("second.mlir").write_text(TEXT.replace("1.0", "2.0"))
    assert run(["compile", "kernel.mlir", "second.mlir", "--target", "sm_90", "--resource-usage"]) == 0
    assert capsys.readouterr().out == (
        "file         kernel  target  registers  threads  shared  stack  stores  loads  spills  code\n"
        "-----------  ------  ------  ---------  -------  ------  -----  ------  -----  ------  ----\n"
        "kernel.mlir  k       sm_90          32      128       0      0       0      0      no    16\n"
        "second.mlir  k       sm_90          32      128       0      0       0      0      no    16\n"
    )


REFUSING = f"""if b"k_refused" in open(source, "rb").read():
    print('loc("<tileir>":4:1): error: no such store')
    sys.exit(5)
{SUCCEED}"""


@pytest.fixture
def several(program: Path, assembler: FakeAssembler) -> list[str]:
    """Files of which the assembler refuses the second, the third is no program, and the fourth is not there."""
    assembler.does(REFUSING)
    Path("refused.mlir").write_text(TEXT.replace("@k(", "@k_refused("))
    Path("wrong.mlir").write_text(TEXT.replace("tile<f32>\n", "tile<i32>\n"))
    Path("last.mlir").write_text(TEXT.replace("1.0", "2.0"))
    return ["kernel.mlir", "refused.mlir", "wrong.mlir", "gone.mlir", "last.mlir"]


def test_file_that_fails_does_not_keep_others_from_being_compiled(
    several: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--target", "sm_90,sm_100", "--resource-usage", "--output-dir", "made"]
    assert run(["compile", *several, *options]) == 2, "as one cannot be read"
    out, error = capsys.readouterr()
    assert sorted(os.listdir("made")) == [
        f"{name}.{target}.cubin" for name in ("kernel", "last") for target in ("sm_100", "sm_90")
    ]
    rows = [line.split() for line in out.splitlines()[2:]]
    assert [row[:3] for row in rows] == [
        [path, "k" if path in ("kernel.mlir", "last.mlir") else "-", target]
        for path in several
        for target in ("sm_90", "sm_100")
    ]
    assert rows[2][3:] == ["-"] * 8
    error = compact(error)
    assert error.count("refused.mlir:4:15: error: 'cuda_tile.store_ptr_tko' op: no such store") == 2
    assert error.count("wrong.mlir:3:") == 1
    assert error.count("error: cannot read 'gone.mlir': No such file or directory") == 1
    assert run(["compile", *several[:3], "--target", "sm_90", "--resource-usage"]) == 1


def test_json_has_an_object_for_each_file_and_target(several: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", *several, "--target", "sm_90,sm_100", "--json"]) == 2
    out, error = capsys.readouterr()
    found = [json.loads(line) for line in out.splitlines()]
    assert [(each["file"], each["target"]) for each in found] == [
        (path, target) for path in several for target in ("sm_90", "sm_100")
    ]
    assert [each["kernels"] is None for each in found] == [False] * 2 + [True] * 6 + [False] * 2
    assert [len(each["findings"]) for each in found] == [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]
    assert found[6]["findings"][0]["message"] == "cannot read 'gone.mlir': No such file or directory"
    assert error == ""


def test_cubin_that_cannot_be_written_is_told_and_the_next_one_is_made(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tileir.tools.arguments import ToolFailure
    from tileir.tools.bytecode import compile as tool

    write = tool.write_bytes

    def full(path: str, data: bytes, what: str) -> None:
        if "sm_90" in path:
            raise ToolFailure(f"cannot write '{path}': No space left on device", 2)
        write(path, data, what)

    monkeypatch.setattr(tool, "write_bytes", full)
    assert run(["compile", "kernel.mlir", "--target", "sm_90,sm_100", "-o", "k.cubin", "--resource-usage"]) == 2
    out, error = capsys.readouterr()
    assert error == "error: cannot write 'k.sm_90.cubin': No space left on device\n"
    assert [line.split()[:2] for line in out.splitlines()[2:]] == [["-", "sm_90"], ["k", "sm_100"]]
    assert Path("k.sm_100.cubin").exists()
