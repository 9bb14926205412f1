"""Output files: whole or not at all, and never onto an input of another kind unasked."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest

import tileir
from tileir.tools.arguments import ToolFailure
from tileir.tools.bytecode import assemble, disassemble, objdump
from tileir.tools.bytecode import run as run_tool
from tileir.tools.drop_in import opt as drop_in_opt
from tileir.tools.drop_in import translate as drop_in_translate
from tileir.tools.output import check_target, write_file, write_output
from tileir.tools.programs import opt

MODULE = """\
cuda_tile.module @kernels {
  entry @f(%arg0: tile<ptr<f32>>) {
    %x, %t = load_ptr_tko weak %arg0 : tile<ptr<f32>> -> tile<f32>, token
    %y = addf %x, %x : tile<f32>
    %u = store_ptr_tko weak %arg0, %y token = %t : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "k.mlir"
    path.write_text(MODULE)
    return path


@pytest.fixture
def bytecode(tmp_path: Path) -> Path:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(tileir.to_bytecode(tileir.parse(MODULE), version="13.3"))
    return path


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


# --- whole or not at all ---


class Broken(Exception):
    pass


def test_a_failure_half_way_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("before")

    def fail(beside: str, target: str) -> None:
        assert Path(beside).read_bytes() == b"after"
        raise Broken

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(Broken):
        write_file(str(path), b"after")
    assert path.read_text() == "before"
    assert names(tmp_path) == {"k.mlir"}


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from tileir.tools.main import run
from tileir.tools.command import run_process
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
sys.exit(run_process("tileir", run, sys.argv[1:]))
"""


@pytest.mark.parametrize("command", ["opt", "as", "dis", "objdump", "run"])
def test_a_disk_that_is_full_leaves_the_input(command: str, text: Path, bytecode: Path, tmp_path: Path) -> None:
    """A limit on the size of files ends writing after 100 bytes, as a full disk does."""
    array = tmp_path / "a.npy"
    numpy.save(array, numpy.ones(1, numpy.float32))
    source = bytecode if command in ("dis", "objdump") else text
    target = source if command == "opt" else tmp_path / "out"
    target.touch()
    arguments = [command, str(source), "-o", str(target)]
    if command == "run":
        arguments = ["run", str(text), "--arg", str(array), "-o", f"0={array}"]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stderr
    target = array if command == "run" else target
    assert f"cannot write '{target}': File too large" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "target"
    target.parent.mkdir()
    target.write_text("before")
    target.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to("deep/target")
    write_output(str(link), "after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert names(target.parent) == {"target"}


def test_a_new_file_has_the_permissions_that_the_user_wants_for_new_files(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_output(str(tmp_path / "new"), "text")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_link_that_leads_nowhere_gets_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_output(str(tmp_path / "link"), "text")
    assert (tmp_path / "target").read_text() == "text"
    assert (tmp_path / "link").is_symlink()


def test_the_longest_name_there_is(tmp_path: Path) -> None:
    write_output(str(tmp_path / ("n" * 255)), "text")
    assert names(tmp_path) == {"n" * 255}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "the name is empty"),
        ("there", "it is a directory"),
        ("new/", "it is the name of a directory"),
        ("missing/file", "No such file or directory"),
        ("file/inside", "Not a directory"),
        ("loop", "Too many levels of symbolic links"),
        ("n" * 256, "File name too long"),
        ("nul\x00", "embedded null byte"),
        ("\ud800", "surrogates not allowed"),
    ],
)
def test_places_that_take_no_file(name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("file").write_text("")
    Path("loop").symlink_to("loop")
    before = names(tmp_path)
    for attempt in (check_target, lambda path: write_output(path, "text")):
        with pytest.raises(ToolFailure) as caught:
            attempt(name)
        assert caught.value.status == 2
        assert words in caught.value.message
    assert names(tmp_path) == before


def test_a_file_that_may_not_be_written_to_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    # Not by its permissions: the administrator may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ToolFailure, match="it may not be written to"):
        write_output(str(path), "after")
    assert path.read_text() == "before"


def test_a_directory_that_takes_no_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is then written where it is, and keeps being the same file."""
    path = tmp_path / "file"
    path.write_text("what was before, which is longer")
    number = path.stat().st_ino

    def refuse(target: str) -> tuple[int, str]:
        raise PermissionError

    monkeypatch.setattr("tileir.whole_files._create_beside", refuse)
    write_output(str(path), "after")
    assert path.read_text() == "after"
    write_output(str(path), "after" * 100)
    assert path.read_text() == "after" * 100
    assert path.stat().st_ino == number


def test_a_file_that_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mount point, for one."""
    path = tmp_path / "file"
    path.write_text("before")

    def refuse(source: str, target: str) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "replace", refuse)
    write_output(str(path), "after")
    assert path.read_text() == "after"
    assert names(tmp_path) == {"file"}


def test_devices_and_pipes_are_written_directly(tmp_path: Path, text: Path) -> None:
    write_output("/dev/null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(ToolFailure, match="cannot write '/dev/full': No space left on device"):
        write_output("/dev/full", "text")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_file(str(pipe), b"through")
    reader.join()
    assert found == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_by_name_appends_where_the_shell_appends(text: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("kept\n")
    with log.open("ab") as stream:
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            command = [sys.executable, "-m", "tileir", "opt", str(text), "-o", name]
            subprocess.run(command, stdout=stream, check=True, timeout=60)
    assert log.read_text().startswith("kept\ncuda_tile.module")
    assert log.read_text().count("cuda_tile.module") == 3


# --- onto an input ---


@pytest.mark.parametrize("way", ["itself", "symbolic", "hard", "spelling"])
@pytest.mark.parametrize("command", ["as", "dis", "opt", "objdump", "translate", "translate back", "run"])
def test_an_input_is_not_replaced_by_something_else(
    command: str, way: str, text: Path, bytecode: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = text if command in ("as", "translate", "run") else bytecode
    before = source.read_bytes()
    other = tmp_path / "other"
    if way == "symbolic":
        other.symlink_to(source)
    elif way == "hard":
        other.hardlink_to(source)
    else:
        other = source if way == "itself" else source.parent / "." / source.name
    target = str(other) if way != "spelling" else f"{source.parent}/./{source.name}"
    tools = {
        "as": (assemble.run, [str(source), "-o", target]),
        "dis": (disassemble.run, [str(source), "-o", target]),
        "opt": (opt.run, [str(source), "-o", target]),
        "objdump": (objdump.run, [str(source), "-o", target]),
        "translate": (drop_in_translate.run, ["-mlir-to-cudatilebc", str(source), "-o", target]),
        "translate back": (drop_in_translate.run, ["-cudatilebc-to-mlir", str(source), "-o", target]),
        "run": (run_tool.run, [str(source), "--backend", "interpreter", "--arg", "ones:f32:1", "-o", f"0={target}"]),
    }
    tool, arguments = tools[command]
    assert tool(arguments) == 2
    told = capsys.readouterr().err
    assert "would be replaced by" in told and told.endswith("choose another file\n")
    assert source.read_bytes() == before


def test_an_input_may_be_replaced_by_its_own_kind(text: Path, bytecode: Path, tmp_path: Path) -> None:
    assert opt.run([str(text), "-O3", "-o", str(text)]) == 0
    assert drop_in_opt.run([str(text), "-o", str(text)]) == 0
    assert "entry @f" in text.read_text()
    assert assemble.run([str(bytecode), "--bytecode-version", "13.1", "-o", str(bytecode)]) == 0
    assert bytecode.read_bytes()[8:10] == b"\x0d\x01"


def test_standard_input_is_an_input_too(text: Path) -> None:
    command = [sys.executable, "-m", "tileir", "as", "-", "-o", str(text)]
    with text.open("rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "would be replaced by bytecode" in done.stderr
    assert text.read_text() == MODULE


# --- arrays ---


def run(*arguments: str) -> int:
    return run_tool.run(["--backend", "interpreter", *arguments])


def test_the_name_of_an_array_is_taken_as_given(text: Path, tmp_path: Path) -> None:
    assert run(str(text), "--arg", "ones:f32:1", "-o", f"0={tmp_path / 'doubled'}") == 0
    assert names(tmp_path) == {"k.mlir", "doubled"}
    assert numpy.load(tmp_path / "doubled").tolist() == [2.0]


@pytest.mark.parametrize("path", ["{}", "{}/", "{}/missing/a.npy", "-"])
def test_a_place_that_takes_no_array_is_told_before_the_kernel_runs(
    path: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(text), "--arg", "ones:f32:1", "-o", f"0={path.format(tmp_path)}") == 2
    assert capsys.readouterr().out == ""
    assert names(tmp_path) == {"k.mlir"}


def test_an_array_may_go_where_it_came_from(text: Path, tmp_path: Path) -> None:
    array = tmp_path / "a.npy"
    numpy.save(array, numpy.full(1, 3, numpy.float32))
    assert run(str(text), "--arg", str(array), "-o", f"0={array}") == 0
    assert numpy.load(array).tolist() == [6.0]


def test_an_array_goes_through_a_pipe(text: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.npy"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    assert run(str(text), "--arg", "ones:f32:1", "-o", f"0={pipe}") == 0
    reader.join()
    assert found[0].startswith(b"\x93NUMPY")
