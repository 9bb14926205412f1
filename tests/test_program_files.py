"""Directories and patterns on the command line: which files they stand for."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.program_files import ProgramFiles
from tileir.tools.programs import check
from tileir.tools.programs.reporting import FORMATS

GOOD = "cuda_tile.module @m {\n  entry @f() {\n    return\n  }\n}\n"
WRONG = GOOD.replace("return", "nonsense")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of both kinds among other things."""
    for name in ("b.mlir", "a.mlir", "deep/er/c.mlir", ".hidden/d.mlir", "deep/.e.mlir", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GOOD)
    data = tileir.to_bytecode(tileir.parse(GOOD))
    (tmp_path / "deep" / "k.tileirbc").write_bytes(data)
    (tmp_path / "deep" / "kernel.bin").write_bytes(data)
    (tmp_path / "deep" / "other.bin").write_bytes(b"\x7fELF" + bytes(60))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(*operands: str) -> list[str]:
    files = ProgramFiles(list(operands))
    assert files.failures == []
    return [path.replace(os.sep, "/") for path in files.paths]


ALL = ["./a.mlir", "./b.mlir", "./deep/k.tileirbc", "./deep/kernel.bin", "./deep/er/c.mlir"]


def test_directory_stands_for_its_programs_by_name_and_by_content(tree: Path) -> None:
    assert found(".") == ALL
    assert found("deep/er") == ["deep/er/c.mlir"]
    (tree / "deep" / "er" / "d.tileir").write_text(GOOD)
    assert found("deep/er") == ["deep/er/c.mlir", "deep/er/d.tileir"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.mlir", ["a.mlir", "b.mlir"]),
        ("[b]*", ["b.mlir"]),
        ("?.mlir", ["a.mlir", "b.mlir"]),
        ("**/*.mlir", ["a.mlir", "b.mlir", "deep/er/c.mlir"]),
        ("*/*.tileirbc", ["deep/k.tileirbc"]),
        ("deep/**/c.mlir", ["deep/er/c.mlir"]),
        # What is matched is taken at its word, whatever is in it; a directory is searched.
        ("*.txt", ["notes.txt"]),
        ("de*", ["deep/k.tileirbc", "deep/kernel.bin", "deep/er/c.mlir"]),
        ("**", ALL),
        ("**/.e*", ["deep/.e.mlir"]),
    ],
)
def test_pattern_stands_for_what_it_matches(tree: Path, pattern: str, expected: list[str]) -> None:
    assert found(pattern) == expected


def test_absolute_pattern(tree: Path) -> None:
    assert found(f"{tree}/*.mlir") == [f"{tree}/a.mlir", f"{tree}/b.mlir"]


def test_each_file_once(tree: Path) -> None:
    assert found("b.mlir", "*.mlir", "b.mlir") == ["b.mlir", "a.mlir"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tree: Path) -> None:
    (tree / "[ab].mlir").write_text(GOOD)
    assert found("[ab].mlir") == ["[ab].mlir"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few users make links")
def test_links_to_directories_are_not_followed(tree: Path) -> None:
    (tree / "deep" / "round").symlink_to(tree)
    (tree / "deep" / "linked.mlir").symlink_to(tree / "a.mlir")
    assert found(".") == [*ALL[:4], "./deep/linked.mlir", ALL[4]]
    assert found("**/*.mlir") == ["a.mlir", "b.mlir", "deep/linked.mlir", "deep/er/c.mlir"]
    # One that is named is meant.
    (tree / "link").symlink_to(tree / "deep" / "er")
    assert found("link") == ["link/c.mlir"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_pipes_and_links_that_lead_nowhere(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tree / "deep" / "pipe.mlir")
    (tree / "deep" / "gone.mlir").symlink_to(tree / "nothing")
    assert check.run(["deep"]) == 2
    printed = capsys.readouterr()
    assert printed.err == "error: cannot read 'deep/gone.mlir': No such file or directory\n"
    assert printed.out == "4 files, no findings; 1 could not be read\n"


@pytest.mark.parametrize("operand", [".", "**/*.mlir", "**"])
def test_directory_that_may_not_be_read_is_a_finding(
    operand: str, tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scan = os.scandir

    def refusing(path: str) -> Any:
        # As the system refuses it to all but the superuser.
        if os.path.basename(path) == "deep":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert check.run([operand]) == 2
    printed = capsys.readouterr()
    assert printed.err.removeprefix("error: cannot read './").removeprefix("error: cannot read '") == (
        "deep': Permission denied\n"
    )
    assert printed.out == "2 files, no findings; 1 could not be read\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows lets few users make links")
def test_link_to_itself_is_a_finding(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "deep" / "self.mlir").symlink_to("self.mlir")
    assert check.run(["deep"]) == 2
    assert capsys.readouterr().err.startswith("error: cannot read 'deep/self.mlir': ")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has shorter limits, and other ways around them")
def test_directory_too_deep_for_a_name_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(25):
        os.mkdir("n" * 200)
        os.chdir("n" * 200)
    os.chdir(tmp_path)
    assert check.run(["n" * 200]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("nnn': File name too long")


def test_many_programs_do_not_stay_in_memory(tree: Path) -> None:
    """The command switches the collector off, which is for short ones."""
    for number in range(12):
        (tree / f"k{number}.mlir").write_text(GOOD)
    program = (
        "import gc, sys; from tileir.tools.programs import check; from tileir.tools import main; gc.disable(); "
        "status = check.run(sys.argv[1:]); print(gc.isenabled(), status)"
    )
    for arguments, collects in ((["a.mlir", "b.mlir"], False), (["."], True)):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60)
        assert done.stdout.splitlines()[-1] == f"{collects} 0"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_interrupt_ends_all_processes(tree: Path) -> None:
    for number in range(64):
        (tree / f"k{number}.mlir").write_text(GOOD)
    # The last one, which waits: nobody writes to this pipe.
    os.mkfifo(tree / "zz")
    process = subprocess.Popen(
        [sys.executable, "-m", "tileir", "check", "*.mlir", "zz", "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    writer = os.open(tree / "zz", os.O_WRONLY)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == (b"", b"")
    os.close(writer)
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_nothing_found_is_status_2(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "empty").mkdir()
    assert check.run(["empty", "*.nothing", "a.mlir"]) == 2
    assert capsys.readouterr() == (
        "1 file, no findings; 2 could not be read\n",
        "error: cannot read 'empty': there is no Tile IR program in it\n"
        "error: cannot read '*.nothing': nothing matches this pattern\n",
    )


def test_summary_of_a_directory(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run(["."]) == 0
    assert capsys.readouterr().out == "5 files, no findings\n"
    (tree / "b.mlir").write_text(WRONG)
    assert check.run(["."]) == 1
    assert capsys.readouterr().out.endswith("^\n\n1 error in 1 of 5 files\n")
    assert check.run([".", "--quiet"]) == 1
    assert capsys.readouterr().out.endswith("^\n\n")


def test_processes_report_what_one_does(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(40):
        (tree / f"k{number:02}.mlir").write_text(WRONG if number % 7 == 0 else GOOD)
    (tree / "gone.mlir").mkdir()
    for format in FORMATS:
        assert check.run(["*.mlir", "missing", "--format", format, "--jobs", "1"]) == 2
        alone = capsys.readouterr()
        assert check.run(["*.mlir", "missing", "--format", format, "--jobs", "3"]) == 2
        assert capsys.readouterr() == alone
        assert "k35.mlir" in alone.out


@pytest.mark.parametrize("jobs", ["0", "-1", "many", "99999"])
def test_number_of_processes_is_a_number(tree: Path, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run(["a.mlir", f"--jobs={jobs}"]) == 2
    assert capsys.readouterr().err == f"error: '--jobs {jobs}' is not valid\nhelp: give a number from 1 to 9999\n"
