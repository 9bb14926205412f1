"""The machine that code is made for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tileir.execute.cpu.runtime import target
from tileir.execute.cpu.runtime.llvm_compile import assembly
from tileir.execute.errors import LaunchError

SCALE = """
define void @scale(ptr %data, <{width} x float> %factor) {{
  %old = load <{width} x float>, ptr %data
  %new = fmul <{width} x float> %old, %factor
  store <{width} x float> %new, ptr %data
  ret void
}}
"""


@pytest.mark.parametrize(
    ("name", "vector_bytes", "has_fma", "has_f16c", "has_avx512"),
    [
        ("x86-64", 16, False, False, False),
        ("x86-64-v2", 16, False, False, False),
        ("x86-64-v3", 32, True, True, False),
        ("skylake-avx512", 64, True, True, True),
        ("neoverse-v1", 16, True, True, False),
        ("apple-m2", 16, True, True, False),
    ],
)
def test_named_machine_has_the_width_and_features_of_its_kind(
    name: str, vector_bytes: int, has_fma: bool, has_f16c: bool, has_avx512: bool
) -> None:
    found = target.host(name)
    assert (found.vector_bytes, found.has_fma, found.has_f16c) == (vector_bytes, has_fma, has_f16c)
    assert found.has_avx512 == has_avx512
    assert not found.has_amx


def test_environment_names_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CPU", "x86-64-v2")
    assert target.host().name == "x86-64-v2"
    assert target.host("x86-64-v3").name == "x86-64-v3"
    monkeypatch.delenv("TILEIR_CPU")
    assert target.host() is target.host("native")


def test_this_machine_can_run_its_own_code() -> None:
    this = target.host("native")
    assert this.runnable
    if this.name in target.KNOWN:
        assert target.host(this.name).runnable


def test_code_of_another_architecture_cannot_run_here() -> None:
    this = target.host("native")
    other = target.host("neoverse-v1" if this.is_x86 else "x86-64")
    with pytest.raises(LaunchError, match=f"code for the CPU '{other.name}' can be shown here, but not run"):
        other.require_runnable()
    this.require_runnable()


def test_unknown_machine_is_refused_with_the_known_ones() -> None:
    with pytest.raises(LaunchError, match=r"no CPU 'z80'.*native, x86-64, "):
        target.host("z80")


def test_wide_vectors_are_not_halved() -> None:
    text = assembly(SCALE.format(width=16), target.host("skylake-avx512"))
    assert "zmm" in text


def test_every_known_machine_makes_code_of_its_width(capfd: pytest.CaptureFixture[str]) -> None:
    registers = {16: "xmm", 32: "ymm", 64: "zmm"}
    for name in target.KNOWN:
        found = target.host(name)
        text = assembly(SCALE.format(width=found.vector_bytes // 4), found)
        expected = registers[found.vector_bytes] if found.is_x86 else "fmul"
        assert expected in text, name
    # LLVM complains there about names and features that it does not know.
    assert capfd.readouterr().err == ""


def test_absence_of_llvmlite_is_said_with_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['llvmlite'] = None\n"
        "from tileir.execute.cpu.runtime.target import host\n"
        "from tileir.execute.errors import MissingDependencyError\n"
        "try:\n"
        "    host()\n"
        "except MissingDependencyError as error:\n"
        "    print(error.message)\n"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install 'tileir[cpu]'" in output
