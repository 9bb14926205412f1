"""`tileir as`, `dis` and `objdump`, and bytecode where a text is expected."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.messages import compact

import tileir
from tileir.tools.bytecode import assemble, disassemble, objdump
from tileir.tools.programs import check, opt

CONTENTS = """\
entry @f(%arg0: tile<i32>) {
  %cst_1_i32 = constant <i32: 1> : tile<i32>
  %0 = addi %arg0, %cst_1_i32 : tile<i32>
  return
}
"""
MODULE = "cuda_tile.module @kernels {\n" + "".join([f"  {line}\n" for line in CONTENTS.splitlines()]) + "}\n"
# What follows the line about the mistake.
NOT_VERIFIED = "error: verification failed for deserialized cuda_tile::ModuleOp\n"
NOT_READ = "error: failed to read provided Tile IR bytecode\n"


class Output(io.TextIOWrapper):
    """A standard output that takes bytes too; `terminal` says whether it passes for a screen."""

    def __init__(self, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), "utf-8", "surrogateescape", newline="\n")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def written(self) -> bytes:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "k.mlir"
    path.write_text(MODULE)
    return str(path)


@pytest.fixture
def bytecode(tmp_path: Path) -> str:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(tileir.to_bytecode(tileir.parse(MODULE)))
    return str(path)


@pytest.fixture
def unsound(tmp_path: Path) -> str:
    """A file that can be decoded, whose addition has a token for its result."""
    module = tileir.parse(MODULE.replace("%0 = addi", "%t = make_token : token\n    %0 = addi"))
    data = bytearray(tileir.to_bytecode(module))
    token, addition = data.index(b"\x44\x03"), data.index(b"\x03\x01\x00\x00\x01")
    data[addition + 1] = data[token + 1]
    path = tmp_path / "unsound.tileirbc"
    path.write_bytes(data)
    return str(path)


@pytest.fixture
def truncated(tmp_path: Path, bytecode: str) -> str:
    path = tmp_path / "truncated.tileirbc"
    path.write_bytes(Path(bytecode).read_bytes()[:-20])
    return str(path)


# --- as ---


@pytest.mark.parametrize("version", ["13.1", "13.2", "13.3", "13.4"])
def test_as_writes_the_version_asked_for(text: str, tmp_path: Path, version: str) -> None:
    target = tmp_path / "out"
    assert assemble.run([text, "-o", str(target), "--bytecode-version", version]) == 0
    data = target.read_bytes()
    assert f"{data[8]}.{data[9]}" == version
    assert data == tileir.to_bytecode(tileir.parse(MODULE), version=version)


def test_as_writes_the_newest_version_unless_told_otherwise(text: str, tmp_path: Path) -> None:
    assert assemble.run([text, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes()[8:10] == bytes([13, 4])


def test_as_writes_the_documented_layout(text: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert assemble.run([text, "-o", str(target), "--layout", "documented"]) == 0
    data = target.read_bytes()
    assert data[8:10] == bytes([13, 1])
    assert data == tileir.to_bytecode(tileir.parse(MODULE), version="13.1", layout="documented")


def test_as_writes_to_standard_output(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output()
    monkeypatch.setattr(sys, "stdout", output)
    assert assemble.run([text]) == 0
    assert output.written() == tileir.to_bytecode(tileir.parse(MODULE))


def test_as_does_not_write_to_a_terminal(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = Output(terminal=True)
    monkeypatch.setattr(sys, "stdout", output)
    assert assemble.run([text]) == 2
    assert output.written() == b""
    assert capsys.readouterr().err == "error: bytecode is not written to a terminal\nhelp: use '-o FILE'\n"


def test_as_takes_bytecode_of_another_version(bytecode: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert assemble.run([bytecode, "-o", str(target), "--bytecode-version", "13.1"]) == 0
    assert target.read_bytes() == tileir.to_bytecode(tileir.parse(MODULE), version="13.1")


def test_as_refuses_what_the_version_cannot_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "k.mlir", tmp_path / "out"
    source.write_text(MODULE.replace("return", "%1 = negi %0 overflow<no_signed_wrap> : tile<i32>\n    return"))
    assert assemble.run([str(source), "-o", str(target), "--bytecode-version", "13.1"]) == 1
    message = "attribute 'overflow' requires bytecode version 13.2+, but targeting 13.1"
    assert compact(capsys.readouterr().err).startswith(f"{source}:5:10: error: {message}\n")
    assert not target.exists()


def test_as_refuses_a_text_with_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "k.mlir", tmp_path / "out"
    source.write_text(MODULE.replace("addi", "addf"))
    assert assemble.run([str(source), "-o", str(target)]) == 1
    assert f"{source}:4:10: error: 'cuda_tile.addf' op " in compact(capsys.readouterr().err)
    assert not target.exists()


def test_as_needs_one_cuda_tile_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.mlir"
    source.write_text("module {\n}\n")
    assert assemble.run([str(source), "-o", str(tmp_path / "out")]) == 1
    message = "expected a single CUDA Tile IR module in the MLIR module"
    assert compact(capsys.readouterr().err).startswith(f"{source}:1:1: error: {message}\n")


# --- dis ---


def test_dis_prints_the_contents_of_the_module(bytecode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert disassemble.run([bytecode]) == 0
    assert capsys.readouterr() == (CONTENTS, "")


def test_dis_shows_locations_where_asked_for(bytecode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert disassemble.run(["-g", bytecode]) == 0
    printed = capsys.readouterr().out
    assert "  return loc(#loc)\n} loc(#loc)\n#loc = loc(unknown)\n" in printed


def test_dis_reads_the_documented_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k"
    path.write_bytes(tileir.to_bytecode(tileir.parse(MODULE), layout="documented"))
    assert disassemble.run([str(path)]) == 0
    assert capsys.readouterr().out == CONTENTS


def test_dis_of_an_empty_module_is_a_blank_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k"
    path.write_bytes(tileir.to_bytecode(tileir.parse("cuda_tile.module @m {}")))
    assert disassemble.run([str(path)]) == 0
    assert capsys.readouterr().out == "\n"
    assert disassemble.run(["-g", str(path)]) == 0
    assert capsys.readouterr().out == "\n#loc = loc(unknown)\n"


@pytest.mark.parametrize("command", [disassemble, objdump])
def test_text_where_bytecode_is_expected_is_told_with_the_commands_for_it(
    command: ModuleType, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run([text]) == 1
    assert capsys.readouterr() == (
        "",
        "error: input does not correspond to Tile IR bytecode\n"
        f"note: '{text}' is a text: 'tileir check' checks it, 'tileir opt -O0' prints it, 'tileir as' makes bytecode of it\n",
    )


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"", "'{path}' is empty"),
        (b"\x7fTileIR", "'{path}' ends within the first 8 bytes of bytecode"),
        (b"\x7fELF\x02\x01\x00", "'{path}' is an object file, such as a cubin: compiled, no longer Tile IR"),
        (b"ML\xefR\x03\x00", "'{path}' is MLIR's own bytecode, not that of Tile IR"),
    ],
)
def test_what_is_no_bytecode_is_named(
    data: bytes, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k"
    path.write_bytes(data)
    words = note.format(path=path)
    for command in (disassemble, objdump):
        assert command.run([str(path)]) == 1
        assert capsys.readouterr().err == f"error: input does not correspond to Tile IR bytecode\nnote: {words}\n"


@pytest.mark.parametrize("data", [b"\x7fTileIR", b"\x7fELF\x02\x01\x00", b"ML\xefR\x03\x00", b"\x01\x00"])
def test_what_is_neither_text_nor_bytecode_is_refused_in_one_line(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k"
    path.write_bytes(data)
    for command in (check, opt, assemble):
        assert command.run([str(path)]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(f"error: '{path}' is no Tile IR program: it ")
        assert printed.err.count("\n") == 1


def test_empty_text_is_warned_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("// nothing\n")
    assert check.run([str(path)]) == 0
    assert compact(capsys.readouterr().out) == f"{path}:1:1: warning: there is no program in this text\n1 warning\n"
    assert opt.run([str(path)]) == 0
    assert compact(capsys.readouterr().err) == f"{path}:1:1: warning: there is no program in this text\n"


def test_dis_of_an_undecodable_file_gives_the_lines_of_the_disassembler(
    truncated: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert disassemble.run([truncated]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: error at offset ")
    assert printed.err.endswith(f"failed to parse section header\n{NOT_READ}")


def test_dis_of_an_unsound_program_names_the_first_mistake(unsound: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert disassemble.run([unsound]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    first, rest = printed.err.split("\n", 1)
    assert first.startswith("error: 'cuda_tile.addi' op result #0 must be ")
    assert rest == NOT_VERIFIED + NOT_READ


def test_dis_reads_standard_input(
    bytecode: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(bytecode).read_bytes())))
    assert disassemble.run(["-"]) == 0
    assert capsys.readouterr().out == CONTENTS


# --- bytecode where a text is expected ---


def test_check_takes_bytecode(bytecode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run([bytecode]) == 0
    assert capsys.readouterr() == ("", "")


def test_check_names_the_file_of_a_finding_without_a_position(unsound: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run([unsound]) == 1
    assert compact(capsys.readouterr().out).startswith(f"{unsound}: error: 'cuda_tile.addi' op result #0 must be ")


def test_check_reports_every_line_of_the_reader(truncated: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run(["--json", truncated]) == 1
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [finding["file"] for finding in findings] == [truncated] * len(findings)
    assert findings[-1]["message"] == "failed to read provided Tile IR bytecode"


def test_check_gives_the_offset_of_what_cannot_be_decoded(truncated: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run(["--json", truncated]) == 1
    offsets = {json.loads(line)["offset"] for line in capsys.readouterr().out.splitlines()}
    assert objdump.run([truncated]) == 1
    assert offsets == {int(line[:8], 16) for line in capsys.readouterr().out.splitlines() if "*** error" in line}


def test_check_gives_the_offset_of_the_operation_that_breaks_a_rule(
    unsound: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check.run(["--json", unsound]) == 1
    (finding,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert objdump.run(["--json", unsound]) == 1
    pieces = json.loads(capsys.readouterr().out)
    (operation,) = [piece for piece in pieces if piece["group"] and '"cuda_tile.addi"' in piece["meaning"]]
    assert finding["offset"] == operation["offset"]


def test_check_gives_no_offset_for_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("nonsense")
    assert check.run(["--json", str(path)]) == 1
    assert "offset" not in json.loads(capsys.readouterr().out)


def test_opt_takes_bytecode(bytecode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.run([bytecode]) == 0
    assert capsys.readouterr().out == MODULE


def test_check_of_a_text_loads_nothing_of_the_bytecode_layer_but_the_magic(text: str) -> None:
    program = (
        "import sys; from tileir.tools import main; "
        f"sys.argv = ['tileir', 'check', {text!r}]; status = main.main(); "
        "print([name for name in sys.modules if name.startswith('tileir.bytecode.')], status)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"[] 0\n", b"")


# --- Python ---


def test_load_takes_text_and_bytecode(text: str, bytecode: str) -> None:
    assert str(tileir.load(text)) == str(tileir.load(bytecode)) == MODULE.rstrip("\n")
    assert str(tileir.load(Path(bytecode))) == str(tileir.load(Path(bytecode).read_bytes())) == MODULE.rstrip("\n")


def test_from_bytecode_verifies_what_it_decodes(unsound: str) -> None:
    with pytest.raises(tileir.VerifyError, match=r"'cuda_tile\.addi' op result #0 must be "):
        tileir.from_bytecode(Path(unsound).read_bytes())


def test_from_bytecode_of_undecodable_bytes_carries_the_offset(truncated: str) -> None:
    with pytest.raises(tileir.BytecodeError) as raised:
        tileir.from_bytecode(Path(truncated).read_bytes())
    message = raised.value.diagnostics[0].message
    assert message.startswith(f"error at offset {raised.value.offset}: ")
    assert isinstance(raised.value, tileir.TileIRError)


def test_to_bytecode_keeps_the_version_a_module_was_read_in() -> None:
    old = tileir.to_bytecode(tileir.parse(MODULE), version="13.2")
    assert tileir.to_bytecode(tileir.from_bytecode(old)) == old


def test_to_bytecode_names_the_versions_there_are() -> None:
    with pytest.raises(
        tileir.errors.VersionError, match=r"'14\.0' is not a version of the dialect: 13\.1, 13\.2, 13\.3, 13\.4"
    ):
        tileir.to_bytecode(tileir.parse(MODULE), version="14.0")


# --- objdump ---


def test_objdump_shows_the_fields_of_an_operation(bytecode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert objdump.run([bytecode]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.endswith(": %0 = addi %arg0, %cst_1_i32 : tile<i32>"))
    shown = [line.split(None, 2)[2].split() for line in lines[start + 1 : start + 6]]
    assert shown == [
        ["opcode", "3", "addi"],
        ["result", "type", "0", "1", "tile<i32>"],
        ["overflow", "0", "none"],
        ["operand", "lhs", "0", "%arg0", ":", "tile<i32>"],
        ["operand", "rhs", "1", "%cst_1_i32", ":", "tile<i32>"],
    ]


def test_objdump_is_at_most_120_columns_wide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k"
    path.write_bytes(tileir.to_bytecode(tileir.parse(MODULE.replace("@f", "@" + "long_name_" * 30))))
    assert objdump.run([str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max([len(line) for line in lines]) <= 120


def test_objdump_as_json_covers_the_file(bytecode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert objdump.run(["--json", bytecode]) == 0
    pieces = json.loads(capsys.readouterr().out)
    position = 0
    for piece in pieces:
        if not piece["group"]:
            assert piece["offset"] == position
            position += piece["length"]
    assert position == len(Path(bytecode).read_bytes())
    by_path = {piece["path"]: piece for piece in pieces}
    operation = by_path["section Func/function 0/operation 1"]
    assert operation["meaning"] == "%0 = addi %arg0, %cst_1_i32 : tile<i32>"
    assert by_path["section Func/function 0/operation 1/opcode"]["value"] == 3


def test_objdump_of_a_broken_file_shows_what_there_is(truncated: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert objdump.run([truncated]) == 1
    printed = capsys.readouterr()
    assert '"\\7fTileIR\\00"' in printed.out
    assert "  *** error at offset " in printed.out
    assert "not decoded" in printed.out
    assert "failed to parse section header" in printed.err


def test_objdump_of_an_unsound_program_prints_generic_forms(unsound: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert objdump.run([unsound]) == 1
    printed = capsys.readouterr()
    assert '"cuda_tile.addi"(%arg0, %cst_1_i32)' in printed.out
    assert printed.err.startswith("error: 'cuda_tile.addi' op result #0 must be ")
