"""What a wheel is: compiled where that is asked for and possible, pure Python otherwise.  `hatch_build.py` decides."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
INTERFACE = "hatchling.builders.hooks.plugin.interface"


class Interface:
    """As much of hatchling's as the hook uses."""

    def __class_getitem__(cls, item: object) -> type:
        return cls

    def __init__(self, said: list[str], target: str = "wheel") -> None:
        self.root = self.directory = str(ROOT)
        self.config = self.build_config = self.metadata = None
        self.target_name = target
        self.app = types.SimpleNamespace(display_info=said.append)


class Mypyc:
    """Stands in for the plugin that compiles."""

    failure = ""
    cleaned = 0

    def __init__(self, *given: object) -> None: ...

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data.update(pure_python=False, infer_tag=True)
        if self.failure:
            raise RuntimeError(f"many lines\n{self.failure}")

    def clean(self, versions: list[str]) -> None:
        Mypyc.cleaned += 1


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("", ".builders", ".builders.hooks", ".builders.hooks.plugin"):
        monkeypatch.setitem(sys.modules, f"hatchling{name}", types.ModuleType("hatchling"))
    interface, plugin = types.ModuleType(INTERFACE), types.ModuleType("hatch_mypyc.plugin")
    interface.BuildHookInterface, plugin.MypycBuildHook = Interface, Mypyc
    monkeypatch.setitem(sys.modules, INTERFACE, interface)
    monkeypatch.setitem(sys.modules, "hatch_mypyc", types.ModuleType("hatch_mypyc"))
    monkeypatch.setitem(sys.modules, "hatch_mypyc.plugin", plugin)
    monkeypatch.setattr(Mypyc, "failure", "")
    monkeypatch.setattr(Mypyc, "cleaned", 0)
    monkeypatch.setattr(sys, "argv", ["build"])
    monkeypatch.setenv("TILEIR_COMPILE", "auto")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(build: Any, version: str = "standard") -> tuple[dict[str, Any], list[str], list[str]]:
    """The data of the wheel, what was said, and what building needs."""
    said: list[str] = []
    hook = build.CustomBuildHook(said)
    data: dict[str, Any] = {"pure_python": True, "infer_tag": False}
    needed = hook.dependencies()
    hook.initialize(version, data)
    hook.finalize(version, data, "")
    return data, said, needed


def test_with_a_compiler_the_wheel_is_compiled(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: "")
    data, said, needed = built(build)
    assert (data["pure_python"], said) == (False, [])
    assert any(each.startswith("mypy>=") for each in needed)
    # The libraries do not stay beside the sources.
    assert Mypyc.cleaned == 1


def test_without_one_it_is_pure_and_one_line_says_why(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    monkeypatch.setattr(build.Path, "exists", lambda path: True)
    data, said, needed = built(build)
    assert (data["pure_python"], needed) == (True, [])
    assert said == ["tileir: the wheel is pure Python (there is no C compiler)"]


def test_the_variable_asks_for_one_or_the_other(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEIR_COMPILE")
    data, said, needed = built(build)
    assert (data["pure_python"], needed) == (True, [])
    assert said == ["tileir: the wheel is pure Python (TILEIR_COMPILE=auto would compile it)"]
    monkeypatch.setenv("TILEIR_COMPILE", "1")
    monkeypatch.setattr(build, "obstacle", lambda: "there is no C compiler")
    assert built(build)[0]["pure_python"] is False
    monkeypatch.setattr(Mypyc, "failure", "the last line")
    with pytest.raises(RuntimeError, match="the last line"):
        built(build)
    for nothing in ("0", ""):
        monkeypatch.setenv("TILEIR_COMPILE", nothing)
        assert built(build)[0]["pure_python"] is True
    monkeypatch.setenv("TILEIR_COMPILE", "yes")
    with pytest.raises(ValueError, match="TILEIR_COMPILE is 'yes': set it to auto, 1 or 0"):
        built(build)


def test_what_cannot_be_compiled_or_does_not_work_is_pure(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: "")
    monkeypatch.setattr(Mypyc, "failure", "the last line")
    data, said, _ = built(build)
    assert (data["pure_python"], data["infer_tag"]) == (True, False)
    assert said == ["tileir: the wheel is pure Python (compiling failed: the last line)"]
    monkeypatch.setattr(Mypyc, "failure", "")
    monkeypatch.setattr(build, "TRIAL", "raise SystemExit(3)")
    data, said, _ = built(build)
    assert data["pure_python"] is True and len(said) == 1
    assert Mypyc.cleaned == 2


def test_editable_installations_are_never_compiled(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: "")
    monkeypatch.setattr(sys, "argv", ["_in_process.py", "get_requires_for_build_editable"])
    data, said, needed = built(build, "editable")
    assert (data["pure_python"], said, needed, Mypyc.cleaned) == (True, [], [], 0)
