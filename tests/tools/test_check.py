"""`tileir check`: what it reports, how, and with which exit status."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from tests.messages import compact

from tileir.tools.programs import check

GOOD = "cuda_tile.module @m {\n  entry @f() {\n    return\n  }\n}\n"
TWO_MISTAKES = """\
cuda_tile.module @m {
  entry @f(%a: tile<i32>) {
    %sum = addf %a, %a : tile<i32>
\t%product = mulf %a, %a : tile<i32>
    return
  }
}
"""
DRAFT_SPELLING = """\
cuda_tile.module @m {
  entry @f() {
    %a = constant dense<1> : tile<i32>
    return
  }
}
"""
DOUBTFUL_HINT = "cuda_tile.module @m {\n  entry @f() optimization_hints=<sm_7 = {}> {\n    return\n  }\n}\n"


def write(folder: Path, text: str, name: str = "k.mlir") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_sound_program_gives_no_output_and_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run([write(tmp_path, GOOD)]) == 0
    assert capsys.readouterr() == ("", "")


def test_every_mistake_is_shown_with_position_line_and_caret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, TWO_MISTAKES)
    assert check.run([path]) == 1
    accepted = "tile of f16 or bf16 or f32 or f64 values, but got '!cuda_tile.tile<i32>'"
    assert capsys.readouterr().out == (
        f"error: 'cuda_tile.addf' op operand #0 must be {accepted}\n"
        f" --> {path}:3:12\n"
        "  |\n"
        "3 |     %sum = addf %a, %a : tile<i32>\n"
        "  |            ^\n"
        "\n"
        f"error: 'cuda_tile.mulf' op operand #0 must be {accepted}\n"
        f" --> {path}:4:13\n"
        "  |\n"
        "4 | \t%product = mulf %a, %a : tile<i32>\n"
        "  | \t           ^\n"
        "\n"
        "2 errors\n"
    )


def test_findings_are_in_the_order_of_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The undeclared value is noticed only when its function ends.
    text = GOOD.replace("    return\n", "    %a = addi %gone, %gone : tile<i32>\n    %b = nonsense\n    return\n")
    path = write(tmp_path, text)
    assert check.run([path, "--json"]) == 1
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(f["line"], f["column"]) for f in findings] == [(3, 15), (4, 10)]


def test_misspelled_operation_gets_a_suggestion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, GOOD.replace("return", "retrun"))
    assert check.run([path]) == 1
    printed = capsys.readouterr().out
    assert f"{path}:3:5: error: custom op 'retrun' is unknown" in compact(printed)
    assert "help: change to 'return'\n  |\n3 |     return\n  |     ^\n" in printed


def test_missing_type_is_shown_where_it_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, GOOD.replace("    return\n", "    %a = iota :\n    return\n"))
    assert check.run([path]) == 1
    assert f"{path}:3:16: note: a type is missing here\n    %a = iota :\n               ^\n" in compact(
        capsys.readouterr().out
    )


def test_json_is_one_object_per_finding_with_notes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "cuda_tile.module @m {\n  entry @f(%a: tile<i32>) {\n    %b = addi %a, %a : tile<i64>\n    return\n  }\n}\n"
    path = write(tmp_path, text)
    assert check.run([path, "--json"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "file": path,
            "line": 3,
            "column": 15,
            "severity": "error",
            "message": "use of value '%a' expects different type than prior uses: '!cuda_tile.tile<i64>' vs "
            "'!cuda_tile.tile<i32>'",
            "notes": [
                {"file": path, "line": 2, "column": 12, "severity": "note", "message": "prior use here"},
                {
                    "file": path,
                    "line": 3,
                    "column": 24,
                    "severity": "help",
                    "message": "change the type to 'tile<i32>'",
                },
            ],
        }
    ]


def test_finding_without_a_position_names_the_file_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "cuda_tile.module @m {\n  entry @f(%a: tile<i32>) {\n    %b = negf %a : tile<i32> loc(unknown)\n    return\n  }\n}\n"
    path = write(tmp_path, text)
    assert check.run([path, "--json"]) == 1
    (finding,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (finding["file"], finding["line"], finding["column"]) == (path, 0, 0)


def test_draft_spelling_is_a_remark_and_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, DRAFT_SPELLING)
    assert check.run([path]) == 0
    printed = capsys.readouterr().out
    assert f"{path}:3:" in printed and "remark: 'dense<..>' is read as '<i32: ..>'" in printed
    assert printed.endswith("\n1 remark\n")


def test_draft_spelling_is_an_error_where_only_public_ones_are_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, DRAFT_SPELLING)
    assert check.run([path, "--no-draft-spellings"]) == 1
    assert f"{path}:3:19: error: expected '<'" in compact(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("mode", "status", "counts"), [("ignore", 0, ""), ("warn", 0, "1 warning"), ("error", 1, "1 error, 1 warning")]
)
def test_hint_mode_decides_about_doubtful_hints(
    mode: str, status: int, counts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check.run([write(tmp_path, DOUBTFUL_HINT), "--hints", mode]) == status
    assert capsys.readouterr().out.rpartition("^\n")[2].strip() == counts


def test_dialect_version_limits_the_operations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "cuda_tile.module @m {\n  entry @f() {\n    %a = constant <f4E2M1FN: 1.0> : tile<4xf4E2M1FN>\n    return\n  }\n}\n"
    path = write(tmp_path, text)
    assert check.run([path]) == 0
    assert check.run([path, "--dialect-version", "13.1"]) == 1
    assert f"{path}:3:" in capsys.readouterr().out


def test_quiet_shows_errors_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run([write(tmp_path, DRAFT_SPELLING), "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert check.run([write(tmp_path, TWO_MISTAKES), "-q"]) == 1
    printed = capsys.readouterr().out
    assert printed.count("error:") == 2
    assert "2 errors" not in printed


def test_counts_cover_all_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [
        write(tmp_path, TWO_MISTAKES, "a.mlir"),
        write(tmp_path, GOOD, "b.mlir"),
        write(tmp_path, DRAFT_SPELLING, "c.mlir"),
    ]
    assert check.run(paths) == 1
    assert capsys.readouterr().out.endswith("\n2 errors, 1 remark in 2 of 3 files\n")


def test_standard_input_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TWO_MISTAKES.encode())))
    assert check.run(["-"]) == 1
    assert compact(capsys.readouterr().out).startswith("<stdin>:3:12: error: ")


def test_missing_file_is_status_2_and_the_others_are_still_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "gone.mlir")
    assert check.run([missing, write(tmp_path, TWO_MISTAKES)]) == 2
    printed = capsys.readouterr()
    assert printed.err == f"error: cannot read '{missing}': No such file or directory\n"
    assert printed.out.endswith("2 errors in 1 of 2 files; 1 could not be read\n")


def test_binary_data_is_status_1_and_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.bin"
    path.write_bytes(b"\x00\x01\x02\xff")
    assert check.run([str(path)]) == 1
    assert capsys.readouterr() == (
        "",
        f"error: '{path}' is no Tile IR program: it holds neither Tile IR text nor Tile IR bytecode\n",
    )


def test_bytes_that_are_not_utf8_may_stand_in_comments(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(b"// caf\xe9\n" + GOOD.encode())
    assert check.run([str(path)]) == 0


def test_byte_order_mark_is_no_part_of_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert check.run([str(path)]) == 0
    path.write_bytes(b"\xef\xbb\xbf" + b"nonsense\n")
    assert check.run([str(path)]) == 1
    # The caret and the column are those of the editor.
    assert compact(capsys.readouterr().out).startswith(f"{path}:1:1: error: custom op 'nonsense' is unknown")


def test_text_in_another_encoding_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    for encoding in ("utf-16-le", "utf-16-be"):
        path.write_bytes(("\ufeff" + GOOD).encode(encoding))
        assert check.run([str(path)]) == 1
        assert capsys.readouterr().err.endswith("is no Tile IR program: it is a text in UTF-16: save it as UTF-8\n")


def test_unknown_option_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run(["--jsonn", "x.mlir"]) == 2
    assert capsys.readouterr().err.startswith("error: unknown option '--jsonn'\nhelp: did you mean '--json'?\n")


def test_carriage_returns_do_not_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(TWO_MISTAKES.replace("\n", "\r\n").encode())
    assert check.run([str(path)]) == 1
    assert "\r" not in capsys.readouterr().out
