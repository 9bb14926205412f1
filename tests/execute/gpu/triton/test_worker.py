"""The processes that run Triton: answers, limits, crashes, and their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.execute.gpu.triton.fake_triton import write_fake_triton

import tileir
from tileir.execute.gpu.errors import TritonCrash, TritonError, TritonTimeout
from tileir.execute.gpu.triton.code import Limits
from tileir.execute.gpu.triton.worker.pool import Answer, Request, close_workers, compile_ttir, start_worker
from tileir.processors import processors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Triton is for Linux")


def asked(text: str, time_limit: float = 60.0, memory_limit: int = 16 << 30, **options: Any) -> Answer:
    return compile_ttir(Request(text, "sm_90", {"num_warps": 4, **options}), Limits(time_limit, memory_limit))


def answer(text: str, **options: Any) -> str:
    return asked(text, **options).data.decode()


def test_the_answer_has_what_the_last_stage_makes(fake_triton: Path) -> None:
    found = compile_ttir(Request("program", "sm_90", {"num_warps": 8}))
    assert found.data == b"program"
    assert found.metadata == {"num_warps": 8, "num_ctas": 1, "name": "kernel"}
    assert compile_ttir(Request("program", "sm_90", {"num_warps": 8}, last="ttir")).metadata["num_warps"] == 8


def test_a_stage_that_there_is_not_is_refused(fake_triton: Path) -> None:
    with pytest.raises(TritonError, match="there is no stage 'hsaco' for sm_90"):
        compile_ttir(Request("program", "sm_90", {"num_warps": 4}, last="hsaco"))


def test_what_is_printed_belongs_to_its_request(fake_triton: Path) -> None:
    assert asked("print one").output == "one"
    assert asked("print two").output == "two"
    assert asked("nothing").output == ""


def test_one_process_serves_requests_of_a_thread(fake_triton: Path) -> None:
    first = answer("process")
    assert first == answer("process") != str(os.getpid())


def test_a_refusal_has_the_words_of_triton(fake_triton: Path) -> None:
    with pytest.raises(TritonError) as caught:
        asked("refuse PassManager::run failed")
    assert caught.value.message == "Triton refuses the program: PassManager::run failed"
    assert [each.message for each in caught.value.diagnostics[0].notes] == ["compiled for sm_90 by Triton 3.9.0"]
    # And the process is as good as before.
    before = answer("process")
    with pytest.raises(TritonError):
        asked("refuse again")
    assert answer("process") == before


def test_a_crash_is_kept_and_does_not_end_this_process(fake_triton: Path, tmp_path: Path) -> None:
    with pytest.raises(TritonCrash) as caught:
        asked(f"signal {int(signal.SIGSEGV)}")
    crash = caught.value
    assert crash.signal == "SIGSEGV"
    assert crash.message == "Triton crashed: SIGSEGV"
    kept = Path(crash.directory)
    assert kept.parent == tmp_path / "crashes"
    assert (kept / "program.ttir").read_text() == f"signal {int(signal.SIGSEGV)}"
    assert "Triton 3.9.0: Triton crashed: SIGSEGV" in (kept / "crash.txt").read_text()
    assert crash.command in crash.diagnostics[0].render()
    # The command shows it again, by itself.
    assert subprocess.run(crash.command, shell=True, capture_output=True, check=False).returncode in (-11, 139)
    assert answer("program") == "program"


def test_an_assertion_that_mlir_survives_is_a_crash_too(fake_triton: Path) -> None:
    process = answer("process")
    words = 'python: Operation.h:1011: OpResultImpl *getOpResultImpl(unsigned int): Assertion `a < b && "c"\' failed.\n'
    words += "/tmp/program.ttir:1:1: error: Failures have been detected while processing an MLIR pass pipeline\n"
    words += (
        "/tmp/program.ttir:1:1: note: Pipeline failed while executing [`RemoveLayouts` on 'builtin.module' operation]"
    )
    with pytest.raises(TritonCrash, match="SIGABRT") as caught:
        asked(f"fail {words}")
    notes = [each.message for each in caught.value.diagnostics[0].notes]
    assert notes[0] == 'assertion `a < b && "c"\' failed in the pass RemoveLayouts'
    assert answer("process") != process


def test_a_process_that_ends_by_itself_is_a_crash_too(fake_triton: Path) -> None:
    with pytest.raises(TritonCrash, match="it ended with status 3") as caught:
        asked("exit 3")
    assert caught.value.signal == ""


def test_a_process_that_ended_while_nobody_asked_is_replaced(fake_triton: Path) -> None:
    first = int(answer("process"))
    os.kill(first, signal.SIGKILL)
    assert answer("program") == "program"
    assert int(answer("process")) != first


def test_a_process_that_is_ended_time_and_again_is_told(fake_triton: Path) -> None:
    with pytest.raises(TritonCrash, match="SIGKILL") as caught:
        asked(f"signal {int(signal.SIGKILL)}")
    assert not caught.value.is_of_program


def test_what_takes_too_long_is_ended_with_all_it_started(fake_triton: Path) -> None:
    process = int(answer("process"))
    with pytest.raises(TritonTimeout, match=r"Triton did not finish within 0\.3 s and was stopped"):
        asked("hang 1000", time_limit=0.3)
    assert is_gone(process)
    assert answer("program") == "program"


def test_memory_is_limited(fake_triton: Path) -> None:
    with pytest.raises(TritonCrash) as caught:
        asked(f"fill {3 << 30}", memory_limit=1 << 30)
    assert caught.value.signal == "SIGABRT"
    assert answer("program") == "program"


def test_threads_have_processes_of_their_own(fake_triton: Path) -> None:
    def ask() -> None:
        found.append(answer("process"))
        try:
            asked("hang 0.3")
        finally:
            found.append(answer("process"))

    found: list[str] = []
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 8
    assert 1 <= len(set(found)) <= processors()


def test_a_worker_that_was_started_is_the_one_that_is_asked(fake_triton: Path) -> None:
    close_workers()
    start_worker()
    start_worker()
    assert answer("program") == "program"


def test_variables_that_change_what_triton_makes_are_kept_from_it(
    fake_triton: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close_workers()
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    monkeypatch.setenv("DISABLE_LLVM_OPT", "1")
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/opt/ptxas")
    monkeypatch.setenv("TILEIR_SOMETHING", "else")
    names = ("TRITON_OVERRIDE_ARCH", "DISABLE_LLVM_OPT", "TRITON_PTXAS_PATH", "TILEIR_SOMETHING")
    assert [answer(f"environment {name}") for name in names] == ["none", "none", "/opt/ptxas", "else"]


def test_denormals_are_kept_by_versions_that_have_no_option_for_it(fake_triton: Path) -> None:
    assert answer("flush", enable_reflect_ftz=False) == "False"
    assert answer("flush", enable_reflect_ftz=True) == "True"
    assert answer("flush", enable_reflect_ftz=False) == "False"


def test_line_information_is_asked_for(fake_triton: Path) -> None:
    assert answer("environment TRITON_DISABLE_LINE_INFO") == "1"
    assert answer("environment TRITON_DISABLE_LINE_INFO", lineinfo=True) == "0"


def test_a_triton_that_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_fake_triton(tmp_path / "broken", beginning="import there_is_no_such_module\n")
    monkeypatch.setenv("TILEIR_TRITON", str(folder))
    with pytest.raises(tileir.MissingDependencyError, match=r"cannot be imported: ModuleNotFoundError: .*there_is_no"):
        asked("program")
    close_workers()


def test_a_program_that_names_no_python_is_told_so(fake_triton: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    close_workers()
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(tileir.errors.CompilationError, match=r"sys\.executable names no Python"):
        asked("program")
    monkeypatch.setattr(sys, "executable", "/there/is/none")
    with pytest.raises(tileir.errors.CompilationError, match="'/there/is/none', cannot be started: No such file"):
        asked("program")


PARENT = """
import os, sys, threading
from tileir.execute.gpu.triton.worker.pool import compile_ttir
from tileir.execute.gpu.triton.worker.pool import Request
process = compile_ttir(Request("process", "sm_90", {"num_warps": 4})).data.decode()
print(process, flush=True)
if sys.argv[1] == "busy":
    compile_ttir(Request("hang 1000", "sm_90", {"num_warps": 4}))
elif sys.argv[1] == "idle":
    sys.stdin.read()
elif sys.argv[1] == "fork":
    child = os.fork()
    mine = compile_ttir(Request("process", "sm_90", {"num_warps": 4})).data.decode()
    if child:
        assert mine == process
        os.waitpid(child, 0)
    else:
        print(mine, flush=True)
"""


def parent(how: str, directory: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(PARENT), how]
    environment = {**os.environ, "TMPDIR": str(directory)}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def is_gone(process: int) -> bool:
    """Whether a process and what it started have ended, within a time that is long enough on a machine that is busy."""
    for _ in range(1000):
        try:
            os.killpg(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("how", ["busy", "idle"])
def test_a_worker_ends_with_its_parent_however_that_ends(how: str, fake_triton: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with parent(how, temporary) as started:
        process = int(started.stdout.readline())
        time.sleep(0.2)
        started.kill()
    assert is_gone(process)
    assert how == "busy" or os.listdir(temporary) == []


def test_a_worker_ends_when_its_parent_is_done(fake_triton: Path, tmp_path: Path) -> None:
    with parent("done", tmp_path) as started:
        process = int(started.stdout.readline())
    assert is_gone(process)


def test_a_fork_has_a_worker_of_its_own(fake_triton: Path, tmp_path: Path) -> None:
    with parent("fork", tmp_path) as started:
        process, others = int(started.stdout.readline()), int(started.stdout.readline())
        assert started.wait() == 0
    assert process != others
    assert is_gone(process) and is_gone(others)
