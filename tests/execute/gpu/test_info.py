"""`tileir info` about the engine for GPUs."""

from __future__ import annotations

import json

import pytest
from tests.execute.gpu.fake_cuda import FakeDriver

from tileir.tools import info


def engine_facts(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert info.run(["--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)["engines"]["tileiras"]
    return found


def test_devices_and_versions_are_listed(fake: FakeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    fake.reset(count=2)
    found = engine_facts(capsys)
    facts = found["facts"]
    assert found["missing"] is None and isinstance(facts, dict)
    assert facts["driver"] == "for CUDA 13.0"
    assert "cuda:0 (" in facts["GPUs"] and "cuda:1 (" in facts["GPUs"] and "sm_90" in facts["GPUs"]
    assert "assembler" in facts


def test_engine_that_cannot_work_says_why_and_what_there_is_of_it(
    fake: FakeDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.reset(count=0)
    found = engine_facts(capsys)
    assert "no NVIDIA GPU" in str(found["missing"])
    assert list(found["facts"]) == ["assembler"]  # type: ignore[call-overload]
    assert info.run([]) == 0
    lines = capsys.readouterr().out
    assert "cannot work here: " in lines and "assembler: " in lines


def test_driver_that_is_too_old_is_told(fake: FakeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    fake.reset(cuda=12080)
    found = engine_facts(capsys)
    assert "too old" in str(found["missing"]) and "12.8" in str(found["missing"])
