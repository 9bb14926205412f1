"""`tileir info` about the engine for GPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.execute.gpu.fake_cuda import FakeDriver
from tests.execute.gpu.triton.fake_triton import write_fake_triton

from tileir.execute.gpu.cache import Choice, choice_key, keep_choice
from tileir.tools.programs import info


def engine_facts(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert info.run(["--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)["backends"]["tileiras"]
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


def test_choice_between_engines_is_told(
    fake: FakeDriver, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TILEIR_GPU_BACKEND", raising=False)

    def told() -> str:
        assert info.run(["--json"]) == 0
        return str(json.loads(capsys.readouterr().out)["auto"]["gpu"])

    assert told().startswith("the faster one of tileiras and triton, measured at the first launch of its kind; ")
    assert "none is kept yet" in told()
    keep_choice(choice_key(("a",)), Choice("triton", {"triton": 1e-3}, {}))
    assert f"1 are kept (triton 1); to forget them, remove {tmp_path}/choice-*" in told()
    assert info.run([]) == 0 and "auto" in capsys.readouterr().out
    monkeypatch.setenv("TILEIR_GPU_BACKEND", "triton")
    assert told() == "'triton', which TILEIR_GPU_BACKEND names"


def test_triton_is_described(fake: FakeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    assert info.run(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)["backends"]["triton"]
    assert found["missing"] is None and "Triton" in found["facts"]["compiler"] and "cuda:0" in found["facts"]["GPUs"]


@pytest.mark.parametrize("has_triton", [True, False])
def test_triton_without_a_gpu_says_what_works(
    fake: FakeDriver,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    has_triton: bool,
) -> None:
    fake.reset(count=0)
    folder = write_fake_triton(tmp_path / "fake") if has_triton else tmp_path / "none"
    monkeypatch.setenv("TILEIR_TRITON", str(folder))
    assert info.run(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)["backends"]["triton"]
    assert found["missing"] and ("tileir compile" in found["facts"].get("without a GPU", "")) == has_triton
