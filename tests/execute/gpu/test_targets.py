"""Names of GPUs, and which code runs on which."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from tileir.execute.gpu.gpus import target_named
from tileir.execute.gpu.targets import TARGETS, host_here, runs_on, target_of_device
from tileir.ir.diagnostics import OptionError


@pytest.mark.parametrize("text", ["sm_90", "sm_90a", "SM90", "90", "9.0", "compute_90", " sm_90 ", "h100", "H200"])
def test_target_is_named_in_the_ways_people_write_it(text: str) -> None:
    assert target_named(text) == "sm_90"


def test_larger_numbers_are_targets_too() -> None:
    assert target_named("10.0") == target_named("100") == "sm_100"
    assert target_named("12.1") == "sm_121"


@pytest.mark.parametrize("text", ["sm_75", "sm_91", "H101", "", "sm_", "9", "sm_90x", 90, None])
def test_what_is_no_target_is_refused_with_those_there_are(text: object) -> None:
    with pytest.raises(OptionError, match=r"is no GPU that Tile IR is compiled for: choose one of sm_80, .*, sm_121"):
        target_named(text)


def test_code_runs_on_newer_devices_of_a_generation_up_to_89() -> None:
    assert runs_on("sm_80", 8, 6) and runs_on("sm_86", 8, 9)
    assert not runs_on("sm_86", 8, 0)
    assert not runs_on("sm_80", 9, 0)
    assert not runs_on("sm_100", 10, 3), "from sm_90 on code is for one architecture"


def test_every_target_is_the_best_for_its_device() -> None:
    for name in TARGETS:
        number = int(name[3:])
        assert target_of_device(number // 10, number % 10) == name


def test_device_without_a_target_of_its_own_has_the_newest_that_runs_on_it() -> None:
    assert target_of_device(8, 2) == "sm_80"
    assert target_of_device(7, 5) == ""
    assert target_of_device(9, 9) == ""


@pytest.mark.parametrize(
    ("machine", "host"), [("x86_64", "x86_64"), ("AMD64", "x86_64"), ("arm64", "aarch64"), ("riscv64", "riscv64")]
)
def test_host_is_named_as_cubins_do(machine: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine), raising=False)
    assert host_here() == host
    # Where the system does not tell, its environment does.
    monkeypatch.delattr(os, "uname")
    monkeypatch.setenv("PROCESSOR_ARCHITECTURE", machine)
    assert host_here() == host
