"""What the key of a compiled kernel on disk depends on."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tileir.execute.cache import code_cache, private_files
from tileir.execute.cpu.runtime import loader, target
from tileir.execute.cpu.runtime.loader import key_of
from tileir.execute.cpu.runtime.target import host


def test_key_depends_on_all_that_matters() -> None:
    keys = [
        key_of(host(), [b"program", "exact"]),
        key_of(host(), [b"program", "fast"]),
        key_of(host(), [b"programs", "exact"]),
        key_of(host(), [b"program" + b"exact"]),
        key_of(host(), [b"programexact", ""]),
        key_of(host("x86-64"), [b"program", "exact"]),
        key_of(host("x86-64-v3"), [b"program", "exact"]),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of(host(), [b"program", "exact"]) == keys[0]


def key_with_sources(monkeypatch: pytest.MonkeyPatch, sources: list[tuple[str, int, int, int]]) -> str:
    """The key that a new process would find, with these files as the sources of the engine."""
    monkeypatch.setattr(code_cache, "sources_but", lambda left_out, inside: sources)
    monkeypatch.setattr(loader, "_fingerprint", b"")
    return key_of(host(), [b"program"])


def test_key_changes_with_the_contents_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "engine.py"
    keys = []
    for text, age in (("a = 1\n", 300), ("a = 2\n", 300), ("a = 2\n", 500), ("a = 1\n", 700)):
        source.write_text(text)
        moment = time.time_ns() - age * 10**9
        # Twice: the second time the hash comes out of the cache.
        for _ in range(2):
            keys.append(key_with_sources(monkeypatch, [(str(source), len(text), moment, moment)]))
    assert keys[0] == keys[1] == keys[6] == keys[7]
    assert keys[2] == keys[3] == keys[4] == keys[5]
    assert keys[0] != keys[2]


def test_source_changed_twice_within_a_tick_of_the_clock_changes_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "engine.py"
    now = time.time_ns()
    keys = []
    for text in ("a = 1\n", "a = 2\n"):
        source.write_text(text)
        keys.append(key_with_sources(monkeypatch, [(str(source), len(text), now, now)]))
    assert keys[0] != keys[1]


def test_contents_of_sources_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "engine.py"
    source.write_text("a = 1\n")
    then = time.time_ns() - 300 * 10**9
    key = key_with_sources(monkeypatch, [(str(source), 6, then, then)])
    source.unlink()
    assert key_with_sources(monkeypatch, [(str(source), 6, then, then)]) == key


def test_key_changes_with_the_version_of_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    found = target.llvm()
    before = key_of_new_process(monkeypatch)
    for binding_version, version in (("99.0", found.version), (found.binding_version, (99, 0, 0))):
        other = target.LlvmInfo(binding_version, version, found.name, found.triple, found.features)
        monkeypatch.setattr(target, "_llvm", other)
        assert key_of_new_process(monkeypatch) != before
    monkeypatch.setattr(target, "_llvm", found)
    assert key_of_new_process(monkeypatch) == before


FOLDERS = (
    "",
    "ir",
    "dialect",
    "dialect/ops",
    "passes",
    "execute/sanitizer",
    "execute/cpu/runtime",
    "execute/new/inner",
)
"""Some of what a package holds that the code depends on, and what may come."""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a source in each folder, in place of this one, and the source that is to be edited."""
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path / "cache"))
    package = tmp_path / "tileir"
    for folder in (*FOLDERS, "tools"):
        (package / folder).mkdir(parents=True, exist_ok=True)
        (package / folder / "source.py").write_text(f"folder = '{folder}'\n")
    monkeypatch.setattr(code_cache, "__file__", str(package / "execute" / "cache" / "code_cache.py"))
    # As if the sources had been there for a while, so that what is known of them is kept.
    monkeypatch.setattr(private_files, "_OLD_ENOUGH", 0)
    return package


def key_of_new_process(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(loader, "_fingerprint", b"")
    return key_of(host(), [b"program"])


def test_any_edited_source_changes_the_key(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key_of_new_process(monkeypatch)]
    assert key_of_new_process(monkeypatch) == keys[0]
    (installed / "tools" / "source.py").write_text("no part of the engine\n")
    assert key_of_new_process(monkeypatch) == keys[0]
    for folder in FOLDERS:
        with open(installed / folder / "source.py", "a") as file:
            file.write("edited = True\n")
        keys.append(key_of_new_process(monkeypatch))
    (installed / "passes" / "added.py").write_text("")
    keys.append(key_of_new_process(monkeypatch))
    (installed / "passes" / "source.py").unlink()
    keys.append(key_of_new_process(monkeypatch))
    assert len(set(keys)) == len(keys)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell when a file was replaced")
def test_source_replaced_by_one_that_brings_its_time_along_changes_the_key(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key_of_new_process(monkeypatch)
    source = installed / "passes" / "source.py"
    status = source.stat()
    replacement = installed / "replacement"
    replacement.write_text(source.read_text().replace("passes", "pusses"))
    # The clock of a file system ticks a few hundred times a second.
    while replacement.stat().st_ctime_ns == status.st_ctime_ns:
        replacement.touch()
    os.utime(replacement, ns=(status.st_atime_ns, status.st_mtime_ns))
    replacement.replace(source)
    found = source.stat()
    assert (found.st_size, found.st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert key_of_new_process(monkeypatch) != before
