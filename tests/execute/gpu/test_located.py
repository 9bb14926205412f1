"""Code for GPUs with the operations that each instruction comes from."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.execute.gpu.assembled_kernel import TEXT
from tests.execute.gpu.fake_assembler import FakeAssembler

import tileir
from tileir.analyze.forms.forms import Representations
from tileir.execute.gpu import nvidia_tools
from tileir.execute.gpu.tileiras import tool

# Numbers count from the module, which is 1; the kernel is 2.
LISTING = """\t.section\t.text.k
k:
\t//## File "<tileir>", line 2
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File "<tileir>", line 4
        /*0010*/                   MOV R5, 0x3f800000 ;
        /*0020*/                   STG.E desc[UR4][R2.64], R5 ;
\t//## File "<tileir>", line 5
        /*0030*/                   EXIT ;
.L_x_0:
        /*0040*/                   BRA `(.L_x_0);
        /*0050*/                   NOP;
"""


@pytest.fixture
def disassembler(tmp_path: Path, assembler: FakeAssembler, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the place of NVIDIA's disassembler, which shows lines if it is asked to."""
    path = tmp_path / "bin" / "nvdisasm"
    path.parent.mkdir()
    path.write_text(
        f"#!{sys.executable} -IS\nimport sys\ntext = {LISTING!r}\n"
        "lines = [line for line in text.splitlines() if '-g' in sys.argv or '//##' not in line]\n"
        "print('\\n'.join(lines))\n"
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent))
    monkeypatch.setattr(
        sys, "path", [folder for folder in sys.path if not os.path.isdir(os.path.join(folder, "nvidia"))]
    )


def forms() -> Representations:
    return Representations(tileir.parse(TEXT, "kernel.mlir"))


def test_instructions_are_linked_by_the_line_information_of_the_cubin(
    assembler: FakeAssembler, disassembler: None
) -> None:
    form = forms().get("sass-sm_90")
    assert (form.title, form.language) == ("SASS for sm_90", "assembly")
    # The constant is in the instruction that stores it; the kernel itself, labels and padding are of no operation.
    assert list(zip([line.strip() for line in form.lines], form.links, strict=True)) == [
        (".section\t.text.k", []),
        ("k:", []),
        ("/*0000*/                   LDC R1, c[0x0][0x28] ;", []),
        ("/*0010*/                   MOV R5, 0x3f800000 ;", [0, 1]),
        ("/*0020*/                   STG.E desc[UR4][R2.64], R5 ;", [0, 1]),
        ("/*0030*/                   EXIT ;", [2]),
        (".L_x_0:", []),
        ("/*0040*/                   BRA `(.L_x_0);", [2]),
        ("/*0050*/                   NOP;", []),
    ]
    assert "--lineinfo" in assembler.calls[0]


def test_program_for_an_older_assembler_is_numbered_as_it_gets_it(assembler: FakeAssembler, disassembler: None) -> None:
    assembler.does('open(output, "wb").write(data)', version="13.1.0", versions="13.1")
    assert forms().get("sass-sm_90").lines_of(1)


def test_what_is_missing_is_named_with_what_to_install(
    assembler: FakeAssembler, disassembler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {each.id: each.reason for each in forms().list()}["sass-sm_100"] is None
    (tmp_path / "bin" / "nvdisasm").unlink()
    reason = "NVIDIA's disassembler, nvdisasm, is not installed: pip install nvidia-cuda-nvdisasm"
    assert {each.id: each.reason for each in forms().list()}["sass-sm_100"] == reason
    with pytest.raises(tileir.OptionError, match="pip install nvidia-cuda-nvdisasm"):
        forms().get("sass-sm_100")
    monkeypatch.delenv("TILEIR_TILEIRAS")
    reason = "NVIDIA's assembler, tileiras, is not installed: pip install 'tileir[tileiras]'"
    assert {each.id: each.reason for each in forms().list()}["sass-sm_100"] == reason


def test_assembler_that_refuses_says_why(assembler: FakeAssembler, disassembler: None) -> None:
    assembler.does('print("error: no such thing")\nsys.exit(1)')
    with pytest.raises(tileir.errors.AssemblerError, match="no such thing"):
        forms().get("sass-sm_90")


@pytest.mark.skipif(
    bool(tool.why_missing() or nvidia_tools.why_missing()), reason=tool.why_missing() or nvidia_tools.why_missing()
)
def test_line_information_does_not_change_the_code() -> None:
    module = tileir.load(Path(__file__).parents[3] / "examples" / "vector_add.mlir")
    made = Representations(module)
    form = made.get("sass-sm_90")
    assert form.text == tileir.compile(module, backend="tileiras").dump("sass", target="sm_90")
    linked = {number for numbers in form.links for number in numbers}
    assert linked == set(range(25))
    sums = [numbers for line, numbers in zip(form.lines, form.links, strict=True) if " FADD " in line]
    assert sums == [[22]]
