"""Commands: how they end, their limits, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tileir.processes.command import PIPE, Command, communicate
from tileir.processes.exit_status import TIMED_OUT

PYTHON = [sys.executable, "-S", "-c"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of POSIX")


def is_gone(path: Path) -> bool:
    """Whether the process is gone whose number the file has."""
    number = int(path.read_text())
    for _ in range(200):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return True
        # A zombie that its new parent has not waited for is over, too.
        stat = Path(f"/proc/{number}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


def test_a_command_reads_its_input_and_ends_with_a_status() -> None:
    data = os.urandom(1 << 20)
    script = "import sys; d = sys.stdin.buffer.read(); sys.stderr.write('x' * 100000); sys.stdout.buffer.write(d); sys.exit(3)"
    status, output, errors = communicate([*PYTHON, script], data)
    assert (status.reason, status.code, output, len(errors)) == ("", 3, data, 100000)
    assert status.peak_bytes > 1 << 20
    assert status.message == "ended with status 3"


def test_a_signal_that_ends_a_command_is_its_status() -> None:
    status, _, _ = communicate([*PYTHON, "import os; os.kill(os.getpid(), 11)"])
    assert (status.code, status.signal, status.message) == (-11, "SIGSEGV", "was ended by SIGSEGV")


def test_a_command_that_cannot_be_started_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        communicate([str(tmp_path / "missing")])


def test_the_end_of_the_time_ends_the_whole_group(tmp_path: Path) -> None:
    script = "sleep 60 & echo $! > number; wait"
    status, _, _ = communicate(["/bin/sh", "-c", script], seconds=0.5, directory=str(tmp_path))
    assert (status.reason, status.code) == (TIMED_OUT, -signal.SIGKILL)
    assert is_gone(tmp_path / "number")


def test_what_a_command_leaves_behind_is_ended_with_it(tmp_path: Path) -> None:
    status, _, _ = communicate(["/bin/sh", "-c", "sleep 60 & echo $! > number"], directory=str(tmp_path))
    assert status.code == 0
    assert is_gone(tmp_path / "number")


def test_another_thread_can_end_a_command() -> None:
    with Command(["sleep", "60"]) as command:
        threading.Timer(0.1, command.kill).start()
        assert command.wait().code == -signal.SIGKILL


def test_killing_a_command_that_has_ended_does_nothing() -> None:
    command = Command(["true"])
    assert command.wait(30).code == 0
    command.kill()
    assert command.end().code == 0


def test_messages_through_pipes() -> None:
    with Command(["cat"], stdin=PIPE, stdout=PIPE) as command:
        command.stdin.write(b"line\n")
        command.stdin.flush()
        assert command.stdout.readline() == b"line\n"
        command.close()
        assert command.wait(30).code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a running process")
def test_the_limit_of_memory_holds() -> None:
    script = "import sys; sys.stdin.read(1); x = bytearray(1 << 30)"
    with Command([*PYTHON, script], stdin=PIPE) as command:
        command.limit(memory=512 << 20)
        command.stdin.write(b"x")
        command.stdin.close()
        # Python's MemoryError.
        assert command.wait(30).code == 1


def test_a_signal_that_ends_the_caller_ends_the_command_first(tmp_path: Path) -> None:
    script = (
        "from tileir.processes.command import communicate\n"
        "communicate(['/bin/sh', '-c', 'echo $$ > number.new; mv number.new number; sleep 60'], seconds=50)\n"
    )
    caller = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path)
    while not (tmp_path / "number").exists():
        assert caller.poll() is None
        time.sleep(0.02)
    caller.terminate()
    assert caller.wait(30) == -signal.SIGTERM
    assert is_gone(tmp_path / "number")
