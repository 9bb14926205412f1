"""`tileir as` and `tileir dis` with several files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileir.tools.bytecode import assemble, disassemble

KERNEL = "cuda_tile.module @kernels {\n  entry @NAME() {\n    return\n  }\n}\n"


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name in ("first", "second"):
        Path(f"{name}.mlir").write_text(KERNEL.replace("NAME", name))
    assert assemble.run(["first.mlir", "second.mlir", "--output-dir", "made/here"]) == 0
    return ["made/here/first.tileirbc", "made/here/second.tileirbc"]


def test_each_file_is_printed_under_its_name(names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for name in names:
        assert disassemble.run([name]) == 0
        texts.append(capsys.readouterr().out)
    assert disassemble.run(names) == 0
    assert capsys.readouterr().out == "".join(f"// {n}\n{t}\n" for n, t in zip(names, texts, strict=True))


def test_each_file_is_written_under_its_name(names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert disassemble.run([*names, "--output-dir", "texts"]) == 0
    assert capsys.readouterr() == ("", "")
    assert "@first" in Path("texts/first.mlir").read_text() and "@second" in Path("texts/second.mlir").read_text()


def test_a_wrong_file_is_named_and_does_not_stop_the_others(
    names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert disassemble.run(["first.mlir", *names]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("first.mlir:\nerror: input does not correspond to Tile IR bytecode\n")
    assert captured.out.count("entry @") == 2
    assert disassemble.run(["gone", names[0]]) == 2
    captured = capsys.readouterr()
    assert captured.err == "error: cannot read 'gone': No such file or directory\n"
    assert captured.out.count("entry @") == 1
    Path("wrong.mlir").write_text("nonsense")
    assert assemble.run(["wrong.mlir", "second.mlir", "--output-dir", "again"]) == 1
    assert [path.name for path in Path("again").iterdir()] == ["second.tileirbc"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "b", "-o", "c"], "'-o' names one file, and there are 2\nhelp: use '--output-dir DIR'"),
        (["a", "-o", "c", "--output-dir", "d"], "'-o' and '--output-dir' exclude each other"),
        (["-", "--output-dir", "d"], "standard input has no name for '--output-dir'\nhelp: use '-o FILE'"),
        (["x/a.mlir", "y/a.bc", "--output-dir", "d"], "'x/a.mlir' and 'y/a.bc' would both become 'a"),
        (["a", "--output-dir", "first.mlir"], "cannot make the directory 'first.mlir': File exists"),
    ],
)
def test_outputs_that_make_no_sense(
    arguments: list[str], message: str, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for tool in (disassemble, assemble):
        assert tool.run(arguments) == 2
        assert capsys.readouterr().err.startswith(f"error: {message}")


def test_several_programs_do_not_go_to_standard_output_as_bytecode(
    names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert assemble.run(["first.mlir", "second.mlir"]) == 2
    assert capsys.readouterr().err == "error: bytecode of several programs needs '--output-dir DIR'\n"


def test_an_input_is_not_replaced_by_another_kind(names: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("made/here/odd.mlir").write_bytes(Path(names[0]).read_bytes())
    assert disassemble.run(["made/here/odd.mlir", names[1], "--output-dir", "made/here"]) == 2
    assert "would be replaced by text" in capsys.readouterr().err
    assert Path("made/here/second.mlir").exists()
