"""Candidates that are observed at the same time do not wait for each other."""

from __future__ import annotations

import os
import threading
import time
from types import SimpleNamespace

import pytest

from tileir.analyze.reducing import observing

if not hasattr(os, "fork"):
    pytest.skip("this system has no fork: candidates are observed one after the other", allow_module_level=True)


def test_an_answer_does_not_wait_for_a_child_that_was_forked_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing takes long here, so that the other child is forked before the end that this one writes to is closed."""
    gate, opening = os.pipe()

    def question(candidate: str) -> str:
        if candidate == "slow":
            os.read(gate, 1)
        return candidate

    def close_late(descriptor: int) -> None:
        if threading.current_thread().name == "quick":
            time.sleep(0.3)
        os.close(descriptor)

    monkeypatch.setattr(observing, "os", SimpleNamespace(**{**vars(os), "close": close_late}))
    test = observing.ObservationTest(question, lambda answer: True, timeout=None)
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
        os.write(opening, b"x")
        for thread in threads:
            thread.join()
        os.close(gate)
        os.close(opening)
    assert answers == ["quick", "slow"]
