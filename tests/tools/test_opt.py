"""`tileir opt`: reads, verifies, prints."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from tests.messages import compact

from tileir.passes import catalog
from tileir.passes.catalog import registered_passes
from tileir.tools.programs import check, opt

PROGRAM = """\
cuda_tile.module @kernels {
  entry @f(%arg0: tile<i32>) {
    %cst_1_i32 = constant <i32: 1> : tile<i32>
    %0 = addi %arg0, %cst_1_i32 : tile<i32>
    return
  }
}
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "k.mlir"
    path.write_text(PROGRAM)
    return str(path)


def test_printed_program_is_the_program(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run([program]) == 0
    assert capsys.readouterr() == (PROGRAM, "")


def test_output_goes_to_the_file_asked_for(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.mlir"
    assert opt.run([program, "-o", str(target)]) == 0
    assert target.read_text() == PROGRAM
    assert capsys.readouterr().out == ""


def test_generic_form_reads_back_to_the_same_program(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "generic.mlir"
    assert opt.run([program, "--generic", "-o", str(target)]) == 0
    assert '"cuda_tile.addi"(' in target.read_text()
    assert opt.run([str(target)]) == 0
    assert capsys.readouterr().out == PROGRAM


def test_debug_info_shows_locations(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run([program, "-g"]) == 0
    printed = capsys.readouterr().out
    assert f'loc("{program}":4:10)' in printed
    assert printed.endswith("\n")


def test_draft_names_are_used_where_asked_for(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run([program, "--draft-names"]) == 0
    assert "%cst_1 = constant <i32: 1>" in capsys.readouterr().out


def test_disassembly_has_no_module_around_it(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run([program, "--disassembly"]) == 0
    assert capsys.readouterr().out.startswith("entry @f(%arg0: tile<i32>) {\n")


def test_disassembly_takes_the_module_inside_a_builtin_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("builtin.module {\n" + PROGRAM + "}\n")
    assert opt.run([str(path), "--disassembly"]) == 0
    assert capsys.readouterr().out.startswith("entry @f(")


def test_disassembly_of_two_modules_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(PROGRAM + PROGRAM.replace("@kernels", "@others"))
    assert opt.run([str(path), "--disassembly"]) == 1
    assert capsys.readouterr() == ("", "error: '--disassembly' needs a program that is one cuda_tile.module\n")


def test_disassembly_in_generic_form_is_a_usage_mistake(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run([program, "--disassembly", "--generic"]) == 2
    assert capsys.readouterr().err == "error: '--disassembly' and '--generic' exclude each other\n"


def test_wrong_program_is_status_1_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(PROGRAM.replace("addi", "addf"))
    target = tmp_path / "out.mlir"
    assert opt.run([str(path), "-o", str(target)]) == 1
    assert not target.exists()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert compact(printed.err).startswith(f"{path}:4:10: error: 'cuda_tile.addf' op operand #0 must be ")


def test_remarks_do_not_mix_with_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(PROGRAM.replace("<i32: 1>", "dense<1>"))
    assert opt.run([str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.out == PROGRAM
    assert "remark:" in printed.err


def test_output_that_cannot_be_written_is_status_2(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "no" / "such" / "folder.mlir")
    assert opt.run([program, "-o", target]) == 2
    assert capsys.readouterr().err == f"error: cannot write '{target}': No such file or directory\n"


def test_bytes_of_a_string_survive_whatever_they_are(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(PROGRAM.encode().replace(b"@kernels", b'@kernels attributes {note = "caf\xe9"}'))
    target = tmp_path / "out.mlir"
    assert opt.run([str(path), "-o", str(target)]) == 0
    assert check.run([str(target)]) == 0
    again = tmp_path / "again.mlir"
    assert opt.run([str(target), "-o", str(again)]) == 0
    assert again.read_bytes() == target.read_bytes()


def test_closed_standard_input_is_status_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert opt.run(["-"]) == 2
    assert capsys.readouterr().err == "error: cannot read standard input: it is closed\n"


def test_older_dialect_version_is_printed_in_its_own_spelling(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROGRAM.replace("i32", "f32").replace("<f32: 1>", "<f32: 1.0>").replace("addi", "pow")
    for version, spelling in (("13.3", " = pow "), ("13.4", " = fpowf ")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert opt.run(["-", "--dialect-version", version]) == 0
        assert spelling in capsys.readouterr().out


# --- optimizing ---


@pytest.mark.parametrize(
    "option", [["-O1"], ["-O", "3"], ["--passes", "dce"], ["--passes=cse,dce"], ["--rules", "full"]]
)
def test_program_is_optimized_where_asked_for(
    option: list[str], program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert opt.run([program, *option]) == 0
    assert "addi" not in capsys.readouterr().out


def test_level_0_prints_the_program_as_it_is(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run([program, "-O0"]) == 0
    assert capsys.readouterr() == (PROGRAM, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--passes", "nope"], "'nope' does not refer to a registered pass"),
        (["-O1", "--passes", "dce"], "'-O' and '--passes' exclude each other"),
        (["-O7"], "'7' is not a value of '-O'"),
    ],
)
def test_wrong_optimization_is_a_usage_mistake(
    arguments: list[str], message: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert opt.run([program, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_what_happened_is_told_on_standard_error(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run([program, "-O1", "--print-after-all", "--timing", "--statistics", "--trace-rewrites"]) == 0
    output, told = capsys.readouterr()
    assert output.startswith("cuda_tile.module")
    assert "// -----// after canonicalize //----- //\ncuda_tile.module" in told
    assert "--- dead-code\n-" in told
    assert "canonicalize: 5 operations before, 3 after\n       2  dead-code\n" in told
    assert " s  total\n" in told


def test_patterns_that_do_not_match_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text('cuda_tile.module @m { entry @k(%c: tile<i1>) { if %c { print "a" } return } }')
    assert opt.run([str(path), "-O1", "--trace-patterns"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert (
        f"{path}:1:48: remark: RemoveStaticCondition does not match 'cuda_tile.if': the condition is not constant"
        in lines
    )


def test_help_lists_the_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run(["--help"]) == 0
    printed = capsys.readouterr().out
    for known in registered_passes():
        assert re.search(rf"^  {known.name} +{re.escape(known.summary)}", printed, re.MULTILINE)
    assert "split loops where a condition on the induction variable changes {split-threshold=1}\n" in printed


@pytest.mark.parametrize("before", [True, False])
def test_help_lists_the_passes_of_loaded_files(
    before: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = []
    for number in (1, 2):
        path = tmp_path / f"mine{number}{before}.py"
        names.append(f"mine-{number}-{before}")
        path.write_text(f"import tileir\ntileir.passes.register_pass({names[-1]!r}, 'does it', lambda o, p, s: 0)\n")
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    loads = ["--load", paths[0], f"--load={paths[1]}"]
    try:
        assert opt.run(["--help", *loads] if before else [*loads, "--help"]) == 0
    finally:
        for name in names:
            catalog.REGISTERED.pop(name, None)
    printed = capsys.readouterr().out
    assert f"\npasses of {paths[0]}, {paths[1]}:\n" in printed
    for name in names:
        assert re.search(rf"^  {name} +does it$", printed, re.MULTILINE)


def test_help_with_a_file_that_cannot_be_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run(["--load", "/nowhere.py", "--help"]) == 2
    assert capsys.readouterr().err == "error: cannot read '/nowhere.py': No such file or directory\n"


def test_wrong_value_of_a_pass_option_is_status_2(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run([program, "--passes", "loop-split{split-threshold=x}"]) == 2
    assert capsys.readouterr() == ("", "error: 'x' value invalid for integer option 'split-threshold'\n")
