"""`tileir reduce`: commands as tests, their time and their processes, and what is wrong in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tileir
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
    assert "not interesting to begin with: the command ended with status 7" in err
    assert "not this one" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say what is interesting"),
        (["--interesting", "no-such-command-here"], "cannot run 'no-such-command-here'"),
        (["--interesting", "'"], "is no command line"),
        (["--interesting", "true", "-j", "0"], "is no number of jobs"),
        (["--interesting", "true", "--timeout", "x"], "is no number of seconds"),
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
