"""Which Triton is used, without importing it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.execute.gpu.triton.fake_triton import write_fake_triton

import tileir
from tileir.execute.gpu.triton import toolchain


def test_the_folder_that_is_named_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_fake_triton(tmp_path / "one", "3.4.0")
    write_fake_triton(tmp_path / "two", "3.10.1+git1234")
    monkeypatch.syspath_prepend(str(tmp_path / "one"))
    monkeypatch.delenv("TILEIR_TRITON", raising=False)
    # PyTorch, in another test, may have imported it.
    monkeypatch.delitem(sys.modules, "triton", raising=False)
    assert toolchain.find_triton().version == "3.4.0"
    monkeypatch.setenv("TILEIR_TRITON", str(tmp_path / "two"))
    found = toolchain.find_triton()
    assert (found.version, found.number, found.folder) == ("3.10.1+git1234", (3, 10), str(tmp_path / "two"))
    assert "triton" not in sys.modules


def test_one_that_is_not_there_is_named_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEIR_TRITON", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert toolchain.installed_triton() is None
    assert toolchain.why_missing() == "Triton is not installed: pip install 'tileir[triton]'"
    with pytest.raises(tileir.MissingDependencyError, match="is not installed"):
        toolchain.find_triton()
    # A folder of that name is no package.
    (tmp_path / "triton").mkdir()
    assert toolchain.installed_triton() is None


def test_a_folder_that_is_named_and_has_none_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_TRITON", str(tmp_path))
    words = f"TILEIR_TRITON names '{tmp_path}', which has no package 'triton' that can be used"
    assert toolchain.why_missing().startswith(words)


def test_versions_that_are_too_old_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_TRITON", str(write_fake_triton(tmp_path, "3.3.1")))
    assert "Triton 3.3.1" in toolchain.why_missing() and "the oldest that serves is 3.4" in toolchain.why_missing()
    with pytest.raises(tileir.MissingDependencyError, match="too old"):
        toolchain.find_triton()


def test_a_package_that_does_not_say_its_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("")
    monkeypatch.setenv("TILEIR_TRITON", str(tmp_path))
    assert "does not report its version" in toolchain.why_missing()
