"""`tileir reduce`: commands as tests, their time and their processes, and what is wrong in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tileir
from tileir.dialect import ops
from tileir.execute.interpreter.engine import Interpreter
from tileir.ir.core import Operation
from tileir.ir.traversal import clone
from tileir.tools.main import run

ROOT = Path(__file__).parents[2]
ATTENTION = str(ROOT / "examples" / "attention.mlir")


@pytest.fixture
def says_exp(tmp_path: Path) -> str:
    """A command that finds texts with an `exp` interesting."""
    script = tmp_path / "test.sh"
    script.write_text('#!/bin/sh\nexec grep -q " exp " "$1"\n')
    script.chmod(0o755)
    return str(script)


def test_a_text_is_reduced(says_exp: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "small.mlir"
    assert run(["reduce", ATTENTION, "--interesting", says_exp, "-o", str(out)]) == 0
    assert "of 62 operations" in capsys.readouterr().err
    module = tileir.load(out)
    assert sum(1 for _ in module.walk()) == 5


def test_the_result_is_the_same_for_any_number_of_jobs(
    says_exp: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for jobs in ("1", "4"):
        assert run(["reduce", ATTENTION, "--interesting", says_exp, "-j", jobs, "-q"]) == 0
        out = capsys.readouterr()
        assert out.err == ""
        texts.append(out.out)
    assert texts[0] == texts[1] != ""


def test_bytecode_stays_bytecode_of_its_version(tmp_path: Path) -> None:
    source, out = tmp_path / "a.tileirbc", tmp_path / "b.tileirbc"
    source.write_bytes(tileir.to_bytecode(tileir.load(ATTENTION), version="13.2"))
    script = tmp_path / "test.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import tileir; m = tileir.load(sys.argv[2])\n"
        "sys.exit(not any(o.name.endswith('.mmaf') for o in m.walk()) or not sys.argv[2].endswith('.tileirbc'))\n"
    )
    command = f"{sys.executable} {script} {ROOT / 'src'} {{}}"
    assert run(["reduce", str(source), "--interesting", command, "-o", str(out), "-q", "-j", "2"]) == 0
    assert out.read_bytes()[:12] == source.read_bytes()[:12]
    assert sum(1 for _ in tileir.load(out).walk()) < 8


def test_a_command_for_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    command = "test $(grep -c ' exp ' {}) = 99 && grep -q entry {}"
    assert run(["reduce", ATTENTION, "--shell", "--interesting", command, "-q"]) == 1
    command = "test $(grep -c ' exp ' {}) -ge 2 && grep -q entry {}"
    capsys.readouterr()
    assert run(["reduce", ATTENTION, "--shell", "--interesting", command, "-q"]) == 0
    assert capsys.readouterr().out.count(" = exp ") == 2


def test_a_command_that_fails_on_the_original_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "no.sh"
    script.write_text("#!/bin/sh\necho not this one\nexit 7\n")
    script.chmod(0o755)
    assert run(["reduce", ATTENTION, "--interesting", str(script)]) == 1
    err = capsys.readouterr().err
    assert "not interesting itself: the command ended with status 7" in err
    assert f"\nnote: command: {script}\n" in err and "\nnote: it printed:\n        not this one\n" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "choose what is interesting"),
        (["--interesting", "no-such-command-here"], "cannot run 'no-such-command-here'"),
        (["--interesting", "'"], "is no command line"),
        (["--interesting", "true", "-j", "0"], "'--jobs 0' is not valid\nhelp: give a number from 1 to 1024"),
        (["--interesting", "true", "--timeout", "x"], "is no time"),
        (["--crashes", "--backend", "abacus"], "there is no backend 'abacus'"),
        (["--differs", "--backend", "interpreter,abacus"], "there is no backend 'abacus'"),
    ],
)
def test_mistakes_are_told(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reduce", ATTENTION, *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_command_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = tmp_path / "slow.sh"
    script.write_text(f'#!/bin/sh\ngrep -q mmaf "$1" && exit 0\nsleep 1000 &\necho $! >> {pids}\nwait\n')
    script.chmod(0o755)
    started = [ATTENTION, "--interesting", str(script), "--timeout", "0.3", "-j", "2", "-q", "-o", str(tmp_path / "o")]
    assert run(["reduce", *started]) == 0
    left = [int(pid) for pid in pids.read_text().split()]
    assert left
    for pid in left:
        assert not _is_running(pid)


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_ctrl_c_leaves_the_best_so_far(tmp_path: Path) -> None:
    script = tmp_path / "test.sh"
    # The fifteenth test does not end.
    script.write_text(
        f'#!/bin/sh\necho x >> {tmp_path}/n\n[ $(wc -l < {tmp_path}/n) -gt 14 ] && sleep 1000\nexec grep -q exp "$1"\n'
    )
    script.chmod(0o755)
    out = tmp_path / "o.mlir"
    command = [sys.executable, "-c", "from tileir.tools.main import main; import sys; sys.exit(main())"]
    process = subprocess.Popen(
        [*command, "reduce", ATTENTION, "--interesting", str(script), "-o", str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(600):
        if (tmp_path / "n").exists() and len((tmp_path / "n").read_text()) >= 30:
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; the best program so far is in" in err
    assert sum(1 for _ in tileir.load(out).walk()) < 62


# --- what is ready-made ---


class Wrong(tileir.backends.Backend):
    """The interpreter, but for an addition that is a subtraction, and a crash at every `xori`."""

    name = "wrong"

    def prepare(self, entry: Operation, globals: dict[str, Any], settings: Any) -> tileir.backends.PreparedKernel:
        module = entry.parent_operation
        assert module is not None
        copy = clone(module)
        for operation in copy.walk():
            if operation.declaration is ops.XORI:
                os.kill(os.getpid(), signal.SIGSEGV)
            if operation.declaration is ops.ADDI:
                operation.declaration = ops.SUBI
        chosen = next(o for o in copy.walk() if o.declaration is ops.ENTRY and o.symbol_name == entry.symbol_name)
        return Interpreter().prepare(chosen, globals, settings)


@pytest.fixture
def wrong() -> Iterator[None]:
    tileir.backends.register_backend(Wrong())
    yield
    tileir.backends.unregister_backend("wrong")


SUM = """// tileir: --grid 2 --arg iota:i32:32 --arg zeros:i32:32 --arg 7
cuda_tile.module @sums {
  entry @unused() {
    return
  }
  entry @add(%a: tile<ptr<i32>>, %out: tile<ptr<i32>>, %n: tile<i32>) {
    %x, %y, %z = get_tile_block_id : tile<i32>
    %size = constant <i32: 16> : tile<i32>
    %first = muli %x, %size : tile<i32>
    %p = offset %a, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %q = offset %out, %first : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
    %w = addi %v, %n : tile<i32>
    %s = OPERATION %w, %size : tile<i32>
    %u = store_ptr_tko weak %q, %s : tile<ptr<i32>>, tile<i32> -> token
    return
  }
}
"""


def test_engines_that_differ(wrong: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "sum.mlir"
    source.write_text(SUM.replace("OPERATION", "muli").replace("--grid", "--entry add --grid"))
    words = ["reduce", str(source), "--differs", "--backend", "interpreter,wrong", "--entry", "add", "-q"]
    assert run(words) == 0
    text = capsys.readouterr().out
    module = tileir.parse(text, verify=True)
    assert sum(1 for _ in module.walk()) <= 6
    # The launch is that of the parameters that are left, and shows the difference again.
    again = tmp_path / "again.mlir"
    again.write_text(text)
    assert run(["reduce", str(again), "--differs", "--backend", "interpreter,wrong", "-q"]) == 0
    assert capsys.readouterr().out == text


def test_an_engine_that_crashes(wrong: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "sum.mlir"
    source.write_text(SUM.replace("OPERATION", "xori"))
    assert run(["reduce", str(source), "--crashes", "--backend", "wrong", "--entry", "add", "-q", "-j", "2"]) == 0
    module = tileir.parse(capsys.readouterr().out)
    assert [o.declaration.mnemonic for o in module.walk()][2:-1][-1] == "xori"
    assert sum(1 for _ in module.walk()) <= 5


def test_engines_that_agree_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "sum.mlir"
    source.write_text(SUM.replace("OPERATION", "muli"))
    assert run(["reduce", str(source), "--differs", "--backend", "interpreter,interpreter", "--entry", "add"]) == 1
    told = "not interesting itself: interpreter and interpreter give the same results\n"
    assert capsys.readouterr().err.endswith(told)
    assert run(["reduce", str(source), "--message", "no such words"]) == 1
    assert capsys.readouterr().err.endswith(": a check does not print 'no such words'\n")


def test_a_state_of_another_reduction_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = ["--state", str(tmp_path / "state"), "-q"]
    assert run(["reduce", ATTENTION, "--interesting", "grep -q exp", *state]) == 0
    capsys.readouterr()
    assert run(["reduce", ATTENTION, "--interesting", "grep -q mmaf", *state]) == 2
    assert "holds the state of another reduction (another test)" in capsys.readouterr().err


def test_a_message_of_an_invalid_program(capsys: pytest.CaptureFixture[str]) -> None:
    broken = str(ROOT / "examples" / "broken.mlir")
    words = ["reduce", broken, "--message", "to have the same number of elements", "-q"]
    assert run(words) == 1
    assert "--allow-invalid" in capsys.readouterr().err
    assert run([*words, "--allow-invalid"]) == 0
    text = capsys.readouterr().out
    assert "reshape" in text and "mmaf" not in text
    with pytest.raises(tileir.TileIRError, match="same number of elements"):
        tileir.parse(text, verify=True)


def test_a_text_that_is_no_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "odd.mlir"
    source.write_text((ROOT / "examples" / "vector_add.mlir").read_text().replace("addf %", "addq %"))
    assert run(["reduce", str(source), "--message", "addq", "--allow-invalid", "-q"]) == 0
    assert capsys.readouterr().out.strip() == "addq"


def test_bytes_that_cannot_be_read(tmp_path: Path) -> None:
    source, out, script = tmp_path / "odd.tileirbc", tmp_path / "out", tmp_path / "test.sh"
    source.write_bytes(tileir.to_bytecode(tileir.load(ROOT / "examples" / "vector_add.mlir"))[:200])
    script.write_text('#!/bin/sh\ngrep -q kernels "$1"\n'.replace("kernels", "TileIR"))
    script.chmod(0o755)
    command = [str(source), "--interesting", str(script), "--allow-invalid", "-q", "-o", str(out)]
    assert run(["reduce", *command]) == 0
    assert len(out.read_bytes()) < 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--differs", "--backend", "interpreter,nobody"], "there is no backend 'nobody'"),
        (["--differs", "--backend", "interpreter"], "--differs is about two backends"),
        (["--interesting", "true", "--differs"], "choose what is interesting with one of"),
    ],
)
def test_mistakes_about_what_is_ready_made(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reduce", ATTENTION, *arguments, "--arg", "1"]) != 0
    assert words in capsys.readouterr().err
