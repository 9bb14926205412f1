"""Questions asked in a child process: whatever ends the child is an answer."""

from __future__ import annotations

import os
import signal
import time

import pytest

import tileir
from tileir.analyze.reducing.candidate_tests import ObservationTest
from tileir.analyze.reducing.program import Program

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
PROGRAM = Program.original(tileir.parse("cuda_tile.module @m {\n}"))


def crash(program: Program) -> str:
    os.kill(os.getpid(), signal.SIGSEGV)
    return "never"


def wait(program: Program) -> str:
    time.sleep(1000)
    return "never"


def fail(program: Program) -> str:
    raise ValueError("so it goes")


def leave(program: Program) -> str:
    os._exit(3)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (lambda program: "an answer", "an answer"),
        (crash, "died: SIGSEGV"),
        (wait, "took too long"),
        (fail, "raised: ValueError: so it goes"),
        (leave, "died: status 3"),
    ],
)
def test_whatever_a_child_does_is_an_answer(question: object, answer: str) -> None:
    test: ObservationTest[Program] = ObservationTest(question, bool, 0.5 if question is wait else 60.0)  # type: ignore[arg-type]
    assert test.observe(PROGRAM) == answer


def test_a_child_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def question(program: Program) -> str:
        os.write(1, b"out")
        os.write(2, b"err")
        return ""

    ObservationTest(question, bool, 60.0).observe(PROGRAM)
    assert capfd.readouterr() == ("", "")
