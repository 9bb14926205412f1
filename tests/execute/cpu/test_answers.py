"""What LLVM says is asked once, and again when anything it depends on has changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite", reason="the CPU engine needs llvmlite")

from tileir.execute.cache import code_cache, private_files
from tileir.execute.cpu.native import answers
from tileir.execute.cpu.native.answers import Answers, remembered

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere LLVM is asked each time")

X86 = """\
processor	: 0
vendor_id	: GenuineIntel
model name	: Some
cpu MHz		: {speed}
flags		: fpu avx2{more}

processor	: 1
vendor_id	: GenuineIntel
"""


@pytest.fixture
def processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A description of processors in place of that of the system, and an empty cache."""
    path = tmp_path / "cpuinfo"
    path.write_text(X86.format(speed=1, more=""))
    monkeypatch.setattr(answers, "_PROCESSORS", str(path))
    monkeypatch.setattr(private_files, "_OLD_ENOUGH", 0)
    monkeypatch.setattr(answers, "_WHOLE_LLVM", 0)
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    return path


class Asked:
    def __init__(self) -> None:
        self.count: int = 0

    def __call__(self) -> Answers:
        self.count += 1
        return Answers("0.1", (20, 1, 8), "some-cpu", "x86_64-linux", {"avx2": True, "amx-tile": False})


@LINUX
def test_what_llvm_said_is_remembered_as_it_was(processors: Path) -> None:
    asked = Asked()
    for _ in range(3):
        found = remembered(asked)
        assert (found.binding_version, found.version, found.name) == ("0.1", (20, 1, 8), "some-cpu")
        assert (found.triple, found.features) == ("x86_64-linux", {"avx2": True, "amx-tile": False})
    assert asked.count == 1


@LINUX
def test_other_processors_are_asked_about_and_their_speed_is_not(processors: Path) -> None:
    asked = Asked()
    remembered(asked)
    processors.write_text(X86.format(speed=2, more=""))
    remembered(asked)
    assert asked.count == 1
    processors.write_text(X86.format(speed=1, more=" avx512f"))
    remembered(asked)
    assert asked.count == 2


@pytest.mark.parametrize("text", ["", "processor : 0\nmachine : unknown\n"])
def test_llvm_is_asked_each_time_where_the_processors_are_not_described(processors: Path, text: str) -> None:
    processors.write_text(text)
    asked = Asked()
    remembered(asked)
    remembered(asked)
    assert asked.count == 2


@LINUX
def test_another_llvmlite_is_asked(processors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "llvmlite"
    (package / "binding").mkdir(parents=True)
    for name in ("__init__.py", "_version.py", "binding/libllvmlite.so"):
        (package / name).write_text("")
    monkeypatch.delitem(sys.modules, "llvmlite", raising=False)
    monkeypatch.syspath_prepend(str(package.parent))
    asked = Asked()
    remembered(asked)
    remembered(asked)
    assert asked.count == 1
    (package / "_version.py").write_text("2")
    remembered(asked)
    assert asked.count == 2
    (package / "binding" / "libllvmlite.so").write_text("2")
    remembered(asked)
    assert asked.count == 3
    # A library without LLVM in it takes whatever LLVM the system has.
    monkeypatch.setattr(answers, "_WHOLE_LLVM", 1 << 40)
    remembered(asked)
    remembered(asked)
    assert asked.count == 5


@LINUX
def test_an_answer_that_makes_no_sense_is_asked_again(processors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    remembered(asked)
    monkeypatch.setattr(code_cache.Cache, "get", lambda self, key: (b"", {"name": "some-cpu"}))
    remembered(asked)
    assert asked.count == 2


def test_nothing_is_remembered_without_a_cache(processors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")
    asked = Asked()
    remembered(asked)
    remembered(asked)
    assert asked.count == 2
