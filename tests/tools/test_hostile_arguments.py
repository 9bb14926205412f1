"""Every subcommand with arguments, files and streams that nobody would give it on purpose.

Whatever happens ends in a documented status, in words when it is not 0, and never in a traceback.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

import tileir
from tileir.tools import main
from tileir.tools.bytecode import assemble, disassemble, objdump
from tileir.tools.bytecode import run as run_tool
from tileir.tools.command import run_process
from tileir.tools.cutile import cost, debug, explore
from tileir.tools.drop_in import opt as drop_in_opt
from tileir.tools.drop_in import translate as drop_in_translate
from tileir.tools.programs import check, explain, info, lint, opt
from tileir.tools.programs import format as format_tool
from tileir.tools.testing import reduce, report

MODULE = """\
cuda_tile.module @kernels {
  entry @f(%a: tile<ptr<f32>>, %n: tile<i32>) {
    %x, %t = load_ptr_tko weak %a : tile<ptr<f32>> -> tile<f32>, token
    %u = store_ptr_tko weak %a, %x token = %t : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}
"""
TOOLS: dict[str, Callable[[list[str]], int]] = {
    "tileir": main.run,
    "check": check.run,
    "lint": lint.run,
    # It replaces files, and "/" and ".." are among the words: here it only looks.
    "format": lambda words: format_tool.run(["--check", *words]),
    "opt": opt.run,
    "as": assemble.run,
    "dis": disassemble.run,
    "objdump": objdump.run,
    "run": run_tool.run,
    "cost": cost.run,
    "explain": explain.run,
    "info": info.run,
    "debug": debug.run,
    "explore": explore.run,
    "reduce": reduce.run,
    "report": report.run,
    "tileir-opt": drop_in_opt.run,
    "tileir-translate": drop_in_translate.run,
}
# What reads a file, with what it needs to get that far.
READERS: dict[str, list[str]] = {
    "check": [],
    "lint": [],
    "format": ["--check"],
    "opt": [],
    "as": ["-o", "/dev/null"],
    "dis": [],
    "objdump": [],
    "run": ["--backend", "interpreter", "--arg", "ones:f32:4", "--arg", "1"],
    "cost": ["--no-assembler", "--arg", "ones:f32:4", "--arg", "1"],
    "info": [],
    "debug": ["-batch"],
    "explore": ["--html", "/dev/null", "--target", "h200"],
    "reduce": ["--interesting", "false", "-q"],
    "tileir-opt": [],
    "tileir-translate": ["-mlir-to-cudatilebc", "-o", "/dev/null"],
}
SEARCHING = ("check", "format", "lint")
ODD_WORDS = [
    "", " ", "-", "--", "---", "²", "٣", "-1", "0", "1e400", "nan", "inf", "-inf", "9" * 30, "9" * 5000, "0x", "1_000",
    "\x00", "a\x00b", "\udcff", "\ud800", "\x1b[31mred", "/", ".", "..", "/dev/full", "/nonexistent/x", "a" * 300,
    "x=y", "=", "=x", "0=", ",", ",,", "1,2,3,4", ":", "zeros:", "zeros:f32:", "zeros:f32:²", "zeros:f99:4", "rand:f32:4:²",
    "zeros:f32:" + "9" * 40, "iota:i32:99999999999999", "%s%n", "{", "{}", "{0}", "\n", "\r\n", "é", "\u202e", "😀" * 50,
]  # fmt: skip


class Streams(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", "surrogateescape", newline="\n")

    def text(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode("utf-8", "surrogateescape")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tools run where nothing is lost, without a standard input."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    return tmp_path


def outcome(monkeypatch: pytest.MonkeyPatch, tool: str, arguments: list[str]) -> tuple[int, str, str]:
    out, err = Streams(), Streams()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    try:
        status = run_process(tool, TOOLS[tool], arguments)
    finally:
        monkeypatch.undo()
    return status, out.text(), err.text()


def hold(tool: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a tool and check what must hold of every run."""
    with monkeypatch.context() as patches:
        status, out, err = outcome(patches, tool, arguments)
    told = f"{tool} {arguments!r}: {status}\n{out[:500]}\n{err[:500]}"
    assert status in (0, 1, 2), told
    assert "Traceback" not in err, told
    assert status == 0 or (err + out).strip(), told
    # The file's own characters do not reach a terminal as commands.
    assert "\x1b" not in err, told
    return status


# --- words ---


@pytest.mark.parametrize("tool", [name for name in TOOLS if name != "explain"])
def test_odd_words_where_a_file_or_command_is_expected(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ODD_WORDS:
        if tool in SEARCHING and word in ("/", ".."):
            # Directories are searched, and these are larger than the test; some tools would change what is there.
            continue
        hold(tool, [word], monkeypatch)
        hold(tool, [word, word], monkeypatch)


def test_odd_words_to_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    for word in [
        *ODD_WORDS,
        "tile<",
        "tile<²xf32>",
        "tile<" * 200,
        "ptr<" * 5000,
        "tile<" + "2x" * 500 + "f32>",
        "*",
        "[",
        "(",
    ]:
        hold("explain", [word], monkeypatch)


USAGES = {
    "check": check.USAGE,
    "lint": lint.USAGE,
    "opt": opt.USAGE,
    "as": assemble.USAGE,
    "dis": disassemble.USAGE,
    "objdump": objdump.USAGE,
    "run": run_tool.USAGE,
    "cost": cost.USAGE,
    "tileir-opt": drop_in_opt.USAGE,
    "tileir-translate": drop_in_translate.USAGE,
}


@pytest.mark.parametrize("tool", list(USAGES))
def test_every_option_with_odd_values(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also twice, and without a value."""
    Path("k.mlir").write_text(MODULE)
    Path("k.tileirbc").write_bytes(tileir.to_bytecode(tileir.parse(MODULE)))
    file = "k.tileirbc" if tool in ("dis", "objdump") else "k.mlir"
    usage = USAGES[tool]
    for option in usage.options:
        dash = "-" if usage.single_dash or len(option.name) == 1 else "--"
        spelled = dash + option.name
        hold(tool, [file, spelled], monkeypatch)
        hold(tool, [file, spelled, spelled], monkeypatch)
        # Real work with a value that is taken at its word is no mistake; it is only slow.
        odd = [word for word in ODD_WORDS if len(word) < 1000] if option.value else ODD_WORDS[:4]
        for word in odd:
            hold(tool, [file, f"{spelled}={word}", *READERS[tool]], monkeypatch)
        assert Path(file).exists()


def test_odd_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("k.mlir").write_text(MODULE)
    needed = ["--backend", "interpreter"]
    for word in ODD_WORDS:
        hold("run", ["k.mlir", *needed, "--arg", word, "--arg", "1"], monkeypatch)
        hold("run", ["k.mlir", *needed, "--arg", "ones:f32:1", "--arg", word], monkeypatch)
        hold("run", ["k.mlir", *needed, "--arg", "ones:f32:1", "--arg", "1", "-o", f"0={word}"], monkeypatch)
        hold("run", ["k.mlir", *needed, "--arg", "ones:f32:1", "--arg", "1", "-o", f"{word}=x.npy"], monkeypatch)
        hold("run", ["k.mlir", "--threads", word, "--arg", "ones:f32:1", "--arg", "1"], monkeypatch)


def test_unicode_digits_are_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("k.mlir").write_text(MODULE)
    arguments = ["--arg", "ones:f32:1", "--arg", "1"]
    for option in (["--threads", "²"], ["--threads", "٣"], ["--grid", "²"], ["--trace", "٠"], ["-o", "²=x"]):
        assert hold("run", ["k.mlir", *option, *arguments], monkeypatch) == 2
    assert hold("run", ["k.mlir", "--arg", "ones:f32:²", "--arg", "1"], monkeypatch) == 2
    assert hold("run", ["k.mlir", "--arg", "ones:f32:1", "--arg", "٣"], monkeypatch) == 2


# --- files ---

_GOOD = MODULE.encode()
CONTENTS: dict[str, bytes] = {
    "empty": b"",
    "one byte": b"\x7f",
    "magic only": b"\x7fTileIR\x00",
    "nul": b"\x00" * 100,
    "byte order mark": b"\xef\xbb\xbf" + _GOOD,
    "other byte order mark": "\ufeff".encode("utf-16") + MODULE.encode("utf-16-le"),
    "carriage returns": _GOOD.replace(b"\n", b"\r\n"),
    "old carriage returns": _GOOD.replace(b"\n", b"\r"),
    "not utf-8": b"// \xff\xfe\x9b31m\n" + _GOOD.replace(b"%x", b"%\xff", 1),
    "escapes": b"\x1b]0;owned\x07 \x1b[2J " + _GOOD,
    "escape in a name": _GOOD.replace(b"@f", b'@"\x1b[31m"'),
    "escape in a string": b'cuda_tile.module @m { "\x1b[31m"() : () -> () }',
    "escape by name": b'cuda_tile.module @m { entry @"\\1B[2J"() { } entry @"\\1B[2J"() { return } }',
    "end of a string missing": b'cuda_tile.module @"m',
    "long line": b"x" * 200_000,
    "many brackets": b"{" * 20_000,
    "many types": b"entry @f(%a: " + b"tile<" * 5_000,
    "elf": b"\x7fELF" + bytes(100),
    "an array": b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}",
    "huge numbers": b"entry @f() { %c = constant <i32: " + b"9" * 6_000 + b"> : tile<i32> return }",
}


@pytest.mark.parametrize("name", list(CONTENTS))
def test_odd_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("k").write_bytes(CONTENTS[name])
    Path("k.npy").write_bytes(CONTENTS[name])
    Path("good.mlir").write_text(MODULE)
    for tool, needed in READERS.items():
        hold(tool, ["k", *needed], monkeypatch)
    hold("check", ["--json", "k"], monkeypatch)
    hold("tileir-translate", ["-cudatilebc-to-mlir", "k"], monkeypatch)
    status = hold("run", ["good.mlir", "--backend", "interpreter", "--arg", "k.npy", "--arg", "1"], monkeypatch)
    assert status == 2


NAMES = [b"\xff\xfe.mlir", "é.mlir".encode(), b"\x1b[31m.mlir", b"a\nb.mlir", b"-dash.mlir", b" ", b"n" * 255]


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_of_files(name: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.fsdecode(name)
    Path(path).write_text(MODULE.replace("return", "nonsense"))
    for tool, needed in READERS.items():
        assert hold(tool, ["./" + path, *needed], monkeypatch) == 1
    Path(path).write_text(MODULE)
    for tool in ("check", "opt", "as", "run"):
        assert hold(tool, ["./" + path, *READERS[tool]], monkeypatch) == 0


def test_files_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("directory").mkdir()
    Path("loop").symlink_to("loop")
    Path("dangling").symlink_to("nowhere")
    for tool, needed in READERS.items():
        for path in ("directory", "loop", "dangling", "directory/", "/proc/self/mem"):
            assert hold(tool, [path, *needed], monkeypatch) == 2
        hold(tool, ["/dev/null", *needed], monkeypatch)


# What runs a script and then works on its kernels.
RUNNING = ("check", "cost", "debug", "emulate", "explore", "info", "lint", "opt")
SCRIPTS: dict[str, tuple[str, int]] = {
    "raise ValueError('own')": ("ValueError: own", 1),
    "def f(:": ("SyntaxError", 1),
    "import sys; sys.exit(3)": ("the script 'script.py' fails, with status 3", 1),
    "raise KeyboardInterrupt": ("KeyboardInterrupt", 130),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("script", list(SCRIPTS))
@pytest.mark.parametrize("command", RUNNING)
def test_scripts_that_fail(command: str, script: str, place: Path) -> None:
    """The script's traceback is shown, without a line of tileir."""
    (place / "script.py").write_text(script)
    done = shell(f"tileir {command} script.py", place)
    message, status = SCRIPTS[script]
    # These end as the script does.
    if "exit" in script and command in ("emulate", "debug"):
        message, status = "", 3
    assert (done.returncode, message in done.stderr) == (status, True), done
    assert "/tileir/" not in done.stderr


@pytest.mark.parametrize("command", sorted({*RUNNING, "as", "compile --target sm_90", "run", "tune"}))
def test_a_script_that_is_missing(command: str, place: Path) -> None:
    done = shell(f"tileir {command} missing.py", place)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot read 'missing.py': No such file or directory\n")


def test_a_pipe_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo("pipe")
    for tool in ("check", "opt", "as", "run", "tileir-opt"):
        writer = threading.Thread(target=lambda: Path("pipe").write_text(MODULE))
        writer.start()
        assert hold(tool, ["pipe", *READERS[tool]], monkeypatch) == 0
        writer.join()


# --- arrays ---

ARRAYS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_bytes(b"1, 2, 3\n"),
    "a pickle": lambda path: numpy.save(path, numpy.array([{}], object)),
    "several arrays": lambda path: numpy.savez(path.open("wb"), a=numpy.ones(1), b=numpy.ones(1)),
    "cut short": lambda path: path.write_bytes(_saved(numpy.ones(100, numpy.float32))[:-7]),
    "header only": lambda path: path.write_bytes(_saved(numpy.ones(100, numpy.float32))[:20]),
    "version": lambda path: path.write_bytes(b"\x93NUMPY\x09\x09" + bytes(100)),
    "no dictionary": lambda path: path.write_bytes(_header("[1, 2]")),
    "no python": lambda path: path.write_bytes(_header("{'descr': (((")),
    "nul": lambda path: path.write_bytes(_header("\x00")),
    "no shape": lambda path: path.write_bytes(_header("{'descr': '<f4', 'fortran_order': False, 'shape': 'x'}")),
    "negative": lambda path: path.write_bytes(_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-5,)}")),
    "huge": lambda path: path.write_bytes(
        _header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({1 << 60},)}}")
    ),
    "overflow": lambda path: path.write_bytes(
        _header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({1 << 40}, {1 << 40})}}")
    ),
    "deep": lambda path: path.write_bytes(_header("(" * 3000)),
    "odd type": lambda path: path.write_bytes(_header("{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,)}")),
    "structured": lambda path: numpy.save(path, numpy.zeros(2, [("a", "f4"), ("b", "i4")])),
    "records of the right size": lambda path: numpy.save(path, numpy.zeros(2, [("a", "i4")])),
    "strings": lambda path: numpy.save(path, numpy.array(["a", "b"])),
    "other byte order": lambda path: numpy.save(path, numpy.ones(2, ">f4")),
    "dates": lambda path: numpy.save(path, numpy.zeros(2, "M8[s]")),
    "complex": lambda path: numpy.save(path, numpy.zeros(2, complex)),
    "a directory": lambda path: path.mkdir(),
}


def _saved(array: numpy.ndarray) -> bytes:
    stream = io.BytesIO()
    numpy.save(stream, array)
    return stream.getvalue()


def _header(text: str) -> bytes:
    data = text.encode() + b"\n"
    return b"\x93NUMPY\x02\x00" + len(data).to_bytes(4, "little") + data


@pytest.mark.parametrize("name", list(ARRAYS))
def test_odd_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("k.mlir").write_text(MODULE)
    ARRAYS[name](Path("a.npy"))
    arguments = ["k.mlir", "--backend", "interpreter", "--arg", "a.npy", "--arg", "1"]
    assert hold("run", arguments, monkeypatch) in (1, 2)
    assert hold("run", [*arguments[:3], "--arg", "ones:f32:1", "--arg", "a.npy"], monkeypatch) in (1, 2)


def test_an_array_from_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("k.mlir").write_text(MODULE)
    os.mkfifo("a.npy")
    writer = threading.Thread(target=lambda: Path("a.npy").write_bytes(_saved(numpy.ones(4, numpy.float32))))
    writer.start()
    assert hold("run", ["k.mlir", "--backend", "interpreter", "--arg", "a.npy", "--arg", "1"], monkeypatch) == 0
    writer.join()


# --- streams, which only a process has ---

_COMMANDS = [
    "check bad.mlir", "check --json bad.mlir", "opt k.mlir", "as k.mlir", "dis k.tileirbc", "objdump k.tileirbc",
    "run k.mlir --backend interpreter --arg ones:f32:1 --arg 1", "run k.mlir --arg ones:f32:1 --arg 1", "explain", "--help",
    "run --help",
]  # fmt: skip


@pytest.fixture
def files(place: Path) -> Path:
    (place / "k.mlir").write_text(MODULE)
    (place / "bad.mlir").write_text(MODULE.replace("return", "nonsense"))
    (place / "k.tileirbc").write_bytes(tileir.to_bytecode(tileir.parse(MODULE)))
    return place


def shell(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    python = f"'{sys.executable}' -m tileir"
    return subprocess.run(
        ["bash", "-c", command.replace("tileir", python, 1)],
        cwd=place, env=environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def environment() -> dict[str, str]:
    """The package by its whole name: commands run in another directory."""
    assert tileir.__file__ is not None
    return dict(os.environ, PYTHONPATH=str(Path(tileir.__file__).parent.parent))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("command", "stream"),
    [*[(command, "/dev/full") for command in _COMMANDS], *[(command, "&-") for command in _COMMANDS[3:8]]],
)
def test_an_output_that_takes_nothing(command: str, stream: str, files: Path) -> None:
    done = shell(f"tileir {command} >{stream}", files)
    reason = "No space left on device" if stream == "/dev/full" else "Bad file descriptor"
    assert done.returncode == 2, done
    assert done.stderr.splitlines()[-1].endswith(f": cannot write to standard output: {reason}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_words_that_nobody_can_hear(stream: str, files: Path) -> None:
    for command in ("check missing.mlir", "opt bad.mlir"):
        done = shell(f"tileir {command} {stream}", files)
        assert done.returncode in (1, 2), done
        assert done.stderr + done.stdout == ""


def test_a_closed_input(files: Path) -> None:
    for command in ("check -", "dis -"):
        done = shell(f"tileir {command} <&-", files)
        assert done.returncode == 2
        assert done.stderr.endswith("cannot read standard input: it is closed\n")


@pytest.mark.parametrize("command", ["opt k.mlir", "check bad.mlir", "run k.mlir --arg ones:f32:1 --arg 1"])
def test_a_reader_that_has_gone(command: str, files: Path) -> None:
    """The status is that of a process which the signal ends."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "tileir", *command.split()],
        cwd=files, env=environment(), stdout=writing, stderr=subprocess.PIPE, timeout=60,
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_name_of_a_file_gives_no_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["check", "none': give up' or 'k.mlir"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
