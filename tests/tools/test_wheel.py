"""What a wheel is: compiled where that is possible, pure Python otherwise.  `hatch_build.py` decides."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
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


class Compiling:
    """Stands in for what compiles."""

    failure = ""
    folders: list[Path] = []

    @classmethod
    def compiled(cls, root: Path, folder: Path) -> dict[str, str]:
        assert root == ROOT and folder.is_dir()
        cls.folders.append(folder)
        if cls.failure:
            raise RuntimeError(f"many lines\n{cls.failure}")
        return {str(folder / "core.so"): "tileir/ir/core.so"}


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("", ".builders", ".builders.hooks", ".builders.hooks.plugin"):
        monkeypatch.setitem(sys.modules, f"hatchling{name}", types.ModuleType("hatchling"))
    interface = types.ModuleType(INTERFACE)
    interface.BuildHookInterface = Interface
    monkeypatch.setitem(sys.modules, INTERFACE, interface)
    monkeypatch.setattr(Compiling, "failure", "")
    monkeypatch.setattr(Compiling, "folders", [])
    monkeypatch.setattr(sys, "argv", ["build"])
    monkeypatch.delenv("TILEIR_COMPILE", raising=False)
    module = script("hatch_build")
    monkeypatch.setattr(module, "compiled", Compiling.compiled)
    return module


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(build: Any, version: str = "standard") -> tuple[dict[str, Any], list[str], list[str]]:
    """The data of the wheel, what was said, and what building needs."""
    said: list[str] = []
    hook = build.CustomBuildHook(said)
    data: dict[str, Any] = {"pure_python": True, "infer_tag": False, "force_include": {}}
    needed = hook.dependencies()
    hook.initialize(version, data)
    hook.finalize(version, data, "")
    return data, said, needed


def test_with_a_compiler_the_wheel_is_compiled(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: "")
    data, said, needed = built(build)
    assert (data["pure_python"], data["infer_tag"], said) == (False, True, [])
    assert list(data["force_include"].values()) == ["tileir/ir/core.so"]
    assert any(each.startswith("mypy>=") for each in needed)
    # Nothing is left behind.
    assert [folder.exists() for folder in Compiling.folders] == [False]


def test_without_one_it_is_pure_and_one_line_says_why(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    monkeypatch.setattr(build.Path, "exists", lambda path: True)
    data, said, needed = built(build)
    assert (data["pure_python"], needed) == (True, [])
    assert said == ["tileir: the wheel is pure Python (there is no C compiler)"]


def test_the_variable_asks_for_one_or_the_other(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: "")
    for asked, pure in (("0", True), ("1", False), ("auto", False), ("", False)):
        monkeypatch.setenv("TILEIR_COMPILE", asked)
        data, said, needed = built(build)
        assert (data["pure_python"], not needed) == (pure, pure)
        assert said == (["tileir: the wheel is pure Python (TILEIR_COMPILE is 0)"] if pure else [])
    monkeypatch.setenv("TILEIR_COMPILE", "1")
    monkeypatch.setattr(Compiling, "failure", "the last line")
    with pytest.raises(RuntimeError, match="the last line"):
        built(build)
    monkeypatch.setattr(build, "obstacle", lambda: "there is no C compiler")
    with pytest.raises(ValueError, match="TILEIR_COMPILE is 1, but there is no C compiler"):
        built(build)
    monkeypatch.setenv("TILEIR_COMPILE", "yes")
    with pytest.raises(ValueError, match="TILEIR_COMPILE is 'yes': set it to auto, 1 or 0"):
        built(build)


def test_what_cannot_be_compiled_is_pure(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: "")
    monkeypatch.setattr(Compiling, "failure", "the last line")
    data, said, _ = built(build)
    assert (data["pure_python"], data["infer_tag"], data["force_include"]) == (True, False, {})
    assert said == ["tileir: the wheel is pure Python (compiling failed: the last line)"]
    assert [folder.exists() for folder in Compiling.folders] == [False]


def test_an_interrupted_build_leaves_nothing(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(root: Path, folder: Path) -> dict[str, str]:
        Compiling.folders.append(folder)
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "obstacle", lambda: "")
    monkeypatch.setattr(build, "compiled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        built(build)
    assert [folder.exists() for folder in Compiling.folders] == [False]


def test_nobody_is_in_the_directory_that_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = script("compile_layers")
    monkeypatch.chdir(tmp_path)
    folders: list[Path] = []

    def failing(folder: Path, built: Path) -> None:
        folders.append(folder)
        os.chdir(folder)
        raise RuntimeError

    monkeypatch.setattr(module, "compile_in", failing)
    with pytest.raises(RuntimeError):
        module.main(ROOT / "src", tmp_path)
    assert not folders[0].exists()
    # Windows would not have removed it.
    assert Path.cwd() == ROOT / "src"


def test_what_was_compiled_has_to_work(build: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # In place of compiling, which takes minutes, files that shadow a module: a sound one and a broken one.
    root = tmp_path / "root"
    (root / "src" / "tileir").mkdir(parents=True)
    (root / "src" / "tileir" / "__init__.py").write_text("")
    (root / "compile_layers.py").write_text(
        "import pathlib, sys\n"
        "made = pathlib.Path(sys.argv[2], 'tileir')\n"
        "made.mkdir(parents=True)\n"
        "(made / 'library.py').write_text(pathlib.Path(sys.argv[1], 'tileir', 'text').read_text())\n"
    )
    real = script("hatch_build").compiled
    monkeypatch.setitem(real.__globals__, "TRIAL", "import tileir.library")
    (root / "src" / "tileir" / "text").write_text("sound = 1")
    (tmp_path / "one").mkdir()
    assert list(real(root, tmp_path / "one").values()) == ["tileir/library.py"]
    (root / "src" / "tileir" / "text").write_text("1 / 0")
    (tmp_path / "two").mkdir()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        real(root, tmp_path / "two")


def test_every_module_of_the_layers_is_compiled() -> None:
    layers = script("compile_layers")
    names = layers.modules(ROOT / "src" / "tileir")
    assert "src/tileir/ir/core.py" in names and "src/tileir/dialect/ops/core.py" in names
    assert not [name for name in names if name.endswith("__init__.py")]


def test_files_are_compiled_side_by_side_and_told_in_their_order(tmp_path: Path) -> None:
    sources = []
    for index, size in enumerate((3, 1, 2)):
        path = tmp_path / f"{index}.c"
        path.write_text("x" * size)
        sources.append(str(path))
    both = threading.Barrier(2, timeout=20)

    def one(given: list[str], folder: str) -> list[str]:
        if given != [sources[1]]:
            both.wait()  # Passed by two at a time only.
        return [f"{folder}/{Path(each).stem}.o" for each in given]

    compile_all = script("compile_layers").side_by_side(one, 2)
    assert compile_all(sources, "o") == ["o/0.o", "o/1.o", "o/2.o"]


def test_editable_installations_are_never_compiled(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: "")
    monkeypatch.setattr(sys, "argv", ["_in_process.py", "get_requires_for_build_editable"])
    data, said, needed = built(build, "editable")
    assert (data["pure_python"], said, needed, Compiling.folders) == (True, [], [], [])


def test_a_folder_named_editable_is_no_editable_installation(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "obstacle", lambda: "")
    monkeypatch.setattr(sys, "argv", ["editable/_in_process.py", "get_requires_for_build_wheel"])
    _data, _said, needed = built(build, "standard")
    assert needed == build.NEEDED
