"""Candidates that are observed at the same time do not wait for each other."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tileir.analyze.reducing import candidate_tests
from tileir.processes import child

if not hasattr(os, "fork"):
    pytest.skip("this system has no fork: candidates are observed one after the other", allow_module_level=True)


def test_an_answer_does_not_wait_for_a_child_that_was_forked_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Closing takes long here, so that the other child is forked before the end that this one writes to is closed."""
    gate = tmp_path / "gate"

    def question(candidate: str) -> str:
        while candidate == "slow" and not gate.exists():
            time.sleep(0.01)
        return candidate

    def close_late(descriptor: int) -> None:
        if threading.current_thread().name == "quick":
            time.sleep(0.3)
        os.close(descriptor)

    monkeypatch.setattr(child, "os", SimpleNamespace(**{**vars(os), "close": close_late}))
    test = candidate_tests.ObservationTest(question, lambda answer: True, timeout=None)
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda name=name: answers.append(test.observe(name)), name=name)
        for name in ("quick", "slow")
    ]
    try:
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        threads[0].join(10)
        assert answers == ["quick"]
    finally:
        gate.touch()
        for thread in threads:
            thread.join()
    assert answers == ["quick", "slow"]
