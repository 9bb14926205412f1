"""What a wheel is: pure Python, or compiled where TILEIR_COMPILE is 1.  `hatch_build.py` decides."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import subprocess
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BUILDING = "hatchling.builders.hooks.plugin.interface"
METADATA = "hatchling.metadata.plugin.interface"


class Interface:
    """As much of hatchling's as the hook uses."""

    def __class_getitem__(cls, item: object) -> type:
        return cls

    root = str(ROOT)
    target_name = "wheel"


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in (BUILDING, METADATA):
        for end in [place for place, each in enumerate(name) if each == "."]:
            monkeypatch.setitem(sys.modules, name[:end], types.ModuleType("hatchling"))
        interface = types.ModuleType(name)
        interface.BuildHookInterface = interface.MetadataHookInterface = Interface
        monkeypatch.setitem(sys.modules, name, interface)
    monkeypatch.setattr(sys, "argv", ["build"])
    monkeypatch.delenv("TILEIR_COMPILE", raising=False)
    module = script("hatch_build")
    # A machine that could compile; compiling takes minutes.
    monkeypatch.setattr(module, "obstacle", lambda: "")
    monkeypatch.setattr(module, "compiled", lambda root, folder: {str(folder / "core.so"): "tileir/ir/core.so"})
    return module


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(build: Any, version: str = "standard") -> tuple[dict[str, Any], list[str]]:
    """Return the data of the wheel, and what building needs."""
    hook = build.CustomBuildHook()
    data: dict[str, Any] = {"pure_python": True, "infer_tag": False, "force_include": {}}
    needed = hook.dependencies()
    hook.initialize(version, data)
    return data, needed


@pytest.mark.parametrize("requested", [None, "", "0"])
def test_the_wheel_is_pure_python_where_nothing_else_is_requested(
    build: Any, monkeypatch: pytest.MonkeyPatch, requested: str | None
) -> None:
    if requested is not None:
        monkeypatch.setenv("TILEIR_COMPILE", requested)
    data, needed = built(build)
    assert (data["pure_python"], data["force_include"], needed) == (True, {}, [])


def test_the_wheel_is_compiled_on_request(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_COMPILE", "1")
    data, needed = built(build)
    assert (data["pure_python"], data["infer_tag"]) == (False, True)
    [(path, name)] = data["force_include"].items()
    assert name == "tileir/ir/core.so" and any(each.startswith("mypy>=") for each in needed)
    # Nothing is left behind.
    gc.collect()
    assert not Path(path).parent.exists()


def test_a_wheel_that_cannot_be_compiled_is_an_error(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_COMPILE", "1")
    monkeypatch.setattr(build, "obstacle", lambda: "there is no C compiler")
    with pytest.raises(ValueError, match="TILEIR_COMPILE is 1, but there is no C compiler"):
        built(build)
    monkeypatch.setenv("TILEIR_COMPILE", "auto")
    with pytest.raises(ValueError, match="TILEIR_COMPILE is 'auto': set it to 1 or 0"):
        built(build)


def test_a_machine_without_a_compiler_says_so(monkeypatch: pytest.MonkeyPatch, build: Any) -> None:
    module = script("hatch_build")
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    monkeypatch.setattr(module.Path, "exists", lambda path: True)
    assert module.obstacle() == "there is no C compiler"


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


def test_what_was_compiled_has_to_work(
    build: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
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
    with pytest.raises(subprocess.CalledProcessError):
        real(root, tmp_path / "two")
    assert "ZeroDivisionError" in capfd.readouterr().err


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


def test_compiling_reports_its_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = [str(tmp_path / f"{index}.c") for index in range(50)]
    for source in sources:
        Path(source).touch()
    script("compile_layers").side_by_side(lambda given: given, 2)(sources)
    assert capsys.readouterr().err.splitlines() == [
        f"tileir: compiled {count} of 50 C files, the largest first" for count in (20, 40)
    ]


def test_editable_installations_are_never_compiled(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_COMPILE", "1")
    monkeypatch.setattr(sys, "argv", ["_in_process.py", "get_requires_for_build_editable"])
    data, needed = built(build, "editable")
    assert (data["pure_python"], needed) == (True, [])


def test_a_folder_named_editable_is_no_editable_installation(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_COMPILE", "1")
    monkeypatch.setattr(sys, "argv", ["editable/_in_process.py", "get_requires_for_build_wheel"])
    assert built(build)[1] == build.NEEDED


def test_links_of_the_readme_lead_from_the_package_index_to_the_release(build: Any, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "docs/cpu.md", "docs/a.svg"):
        (tmp_path / name).touch()
    text = (
        '[cpu](docs/cpu.md#measured) ![a](docs/a.svg) <img src="docs/a.svg"> [top](#top) [web](https://x.org/a) f[0](x)'
    )
    assert build.absolute_links(text, tmp_path, "https://host/t", "1.2") == (
        "[cpu](https://host/t/blob/v1.2/docs/cpu.md#measured) ![a](https://host/t/raw/v1.2/docs/a.svg) "
        '<img src="https://host/t/raw/v1.2/docs/a.svg"> [top](#top) [web](https://x.org/a) f[0](x)'
    )


def test_the_readme_of_the_package_has_no_relative_link(build: Any) -> None:
    hook = build.ReadmeHook()
    metadata: dict[str, Any] = {"version": "1.2", "urls": {"Homepage": "https://host/t"}}
    hook.update(metadata)
    assert metadata["readme"]["content-type"] == "text/markdown"
    text = re.sub(r"^```.*?^```$", "", metadata["readme"]["text"], flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"\]\((?!https?:|#)([^)]*)\)", text) == []
