"""Compiled kernels on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy
import pytest
from tests.execute.interrupting import interrupted, steps

import tileir
from tileir.execute.cache import code_cache
from tileir.execute.cache.code_cache import Cache, default_cache

OBJECT = bytes(range(256)) * 20
META = {"arena": 4096, "names": ["a", "b"]}


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.name != "key")


def test_what_is_stored_is_found_again(tmp_path: Path) -> None:
    store = Cache(tmp_path / "deep" / "cache")
    assert store.get("k") is None
    store.put("k", OBJECT, META)
    assert store.get("k") == (OBJECT, META)
    assert Cache(tmp_path / "deep" / "cache").get("k") == (OBJECT, META)
    assert files(tmp_path / "deep" / "cache") == ["k.kernel"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not say which files are open")
def test_interrupt_leaves_no_file_open_or_unfinished(tmp_path: Path) -> None:
    store = Cache(tmp_path / "cache")
    places = (os.path.dirname(code_cache.__file__),)

    def work() -> None:
        store.put("k", OBJECT, META)
        store.get("k")

    work()
    total = steps(work, places)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(1, total + 1):
        if number % 2:
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        interrupted(work, number, places)
        work()
        assert store.get("k") == (OBJECT, META)
        assert files(tmp_path / "cache") == ["k.kernel"]
    assert len(os.listdir("/proc/self/fd")) == before


def test_last_one_stored_counts(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    store.put("k", OBJECT, META)
    store.put("k", b"other", {})
    assert store.get("k") == (b"other", {})


@pytest.mark.parametrize("damage", ["empty", "truncated", "one bit", "longer", "another file", "header only"])
def test_damaged_entry_is_ignored_and_removed(tmp_path: Path, damage: str) -> None:
    store = Cache(tmp_path)
    store.put("k", OBJECT, META)
    path = tmp_path / "k.kernel"
    data = path.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    path.write_bytes(
        {
            "empty": b"",
            "truncated": data[:-1],
            "one bit": bytes(flipped),
            "longer": data + b"x",
            "another file": b"hello" * 100,
            "header only": data[:44],
        }[damage]
    )
    assert store.get("k") is None
    assert files(tmp_path) == []
    store.put("k", OBJECT, META)
    assert store.get("k") == (OBJECT, META)


def test_no_part_of_an_entry_makes_a_whole_one(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    store.put("k", b"code", {"a": 1})
    data = (tmp_path / "k.kernel").read_bytes()
    for length in range(len(data)):
        (tmp_path / "k.kernel").write_bytes(data[:length])
        assert store.get("k") is None, length


def test_those_used_longest_ago_go_first(tmp_path: Path) -> None:
    store = Cache(tmp_path, limit=10 * len(OBJECT))
    now = time.time()
    for number in range(12):
        store.put(f"k{number:02}", OBJECT, {})
        os.utime(tmp_path / f"k{number:02}.kernel", (now - 100_000 + number, now - 100_000 + number))
    assert store.get("k00") is not None  # marks it as used
    store.prune()
    left = files(tmp_path)
    assert "k00.kernel" in left
    assert "k11.kernel" in left
    assert "k01.kernel" not in left
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= store.limit


def test_what_a_dead_process_left_behind_is_removed(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    old, new = tmp_path / "k.1.aa.unfinished", tmp_path / "k.2.bb.unfinished"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (time.time() - 10_000, time.time() - 10_000))
    store.prune()
    assert files(tmp_path) == [new.name]


def test_directory_that_cannot_be_made_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Cache(tmp_path / "file" / "cache")
    store.put("k", OBJECT, META)
    assert store.get("k") is None


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="permissions of this kind are POSIX's")
ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the administrator can make files of another user"
)


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o720, 0o1777])
@pytest.mark.parametrize("where", ["itself", "above", "far above"])
def test_directory_that_others_may_write_to_is_not_used(tmp_path: Path, mode: int, where: str) -> None:
    directory = tmp_path / "a" / "b" / "cache"
    store = Cache(directory)
    store.put("k", OBJECT, META)
    changed = {"itself": directory, "above": directory.parent, "far above": tmp_path / "a"}[where]
    changed.chmod(mode)
    # Where users cannot touch each other's files, others may have files of their own beside the user's.
    harmless = where != "itself" and mode == 0o1777
    assert (store.get("k") is not None) == harmless
    store.put("other", OBJECT, META)
    assert files(directory) == (["k.kernel", "other.kernel"] if harmless else ["k.kernel"])
    changed.chmod(0o700)
    assert store.get("k") == (OBJECT, META)


@POSIX
@ROOT
@pytest.mark.parametrize("where", ["itself", "above", "entry", "key", "link"])
def test_what_belongs_to_another_user_is_not_used(tmp_path: Path, where: str) -> None:
    directory = tmp_path / "a" / "cache"
    store = Cache(directory)
    store.put("k", OBJECT, META)
    link = tmp_path / "link"
    link.symlink_to(directory.parent)
    changed = {
        "itself": directory,
        "above": directory.parent,
        "entry": directory / "k.kernel",
        "key": directory / "key",
        "link": link,
    }[where]
    store = Cache(link / "cache")
    assert store.get("k") == (OBJECT, META)
    os.chown(changed, 12345, 12345, follow_symlinks=False)
    assert store.get("k") is None
    os.chown(changed, 0, 0, follow_symlinks=False)
    assert store.get("k") == (OBJECT, META)


@POSIX
@ROOT
def test_user_who_is_not_the_administrator_has_a_cache_too(tmp_path: Path) -> None:
    script = """
import os, sys
from pathlib import Path
from tileir.execute.cache.code_cache import Cache
os.setgid(12345), os.setuid(12345)
store = Cache(Path(sys.argv[1]))
store.put("k", b"code", {"a": 1})
print(store.get("k"))
"""
    # Below /tmp: what pytest makes is for its own user only.
    directory = Path(tempfile.mkdtemp(prefix="tileir-test-"))
    try:
        os.chown(directory, 12345, 12345)
        command = [sys.executable, "-c", script, str(directory / "cache")]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        assert found.stdout == "(b'code', {'a': 1})\n", found.stderr
        # The administrator trusts nobody else's files.
        assert Cache(directory / "cache").get("k") is None
    finally:
        shutil.rmtree(directory)


@POSIX
@pytest.mark.parametrize("kind", ["link", "pipe", "directory", "readable by others", "writable by others"])
@pytest.mark.parametrize("name", ["k.kernel", "key"])
def test_only_private_regular_files_are_read(tmp_path: Path, kind: str, name: str) -> None:
    directory = tmp_path / "cache"
    store = Cache(directory)
    store.put("k", OBJECT, META)
    path, moved = directory / name, tmp_path / "moved"
    if kind.endswith("others"):
        path.chmod(0o644 if kind.startswith("readable") else 0o620)
    else:
        path.rename(moved)
        if kind == "link":
            path.symlink_to(moved)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
    assert store.get("k") is None
    store.put("k", OBJECT, META)
    if kind != "directory":
        assert store.get("k") == (OBJECT, META), "replaced"
    else:
        assert store.get("k") is None


@POSIX
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_files_and_directories_are_for_the_user_alone_whatever_the_mask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        store = Cache(tmp_path / "a" / "b" / "cache")
        store.put("k", OBJECT, META)
    finally:
        os.umask(before)
    assert store.get("k") == (OBJECT, META)
    for path in (tmp_path / "a").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700


def planted(store: Cache, name: str, secret: bytes, content: bytes) -> None:
    assert store.directory is not None
    path = Path(store.directory) / name
    path.write_bytes(code_cache._MAGIC + code_cache._code(content, name, secret) + content)
    path.chmod(0o600)


def test_entry_made_without_the_key_is_not_used(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    store.put("k", OBJECT, META)
    content = (2).to_bytes(4, "little") + b"{}" + b"planted"
    planted(store, "other.kernel", b"guess" * 6 + b"xx", content)
    assert store.get("other") is None
    planted(store, "other.kernel", (tmp_path / "key").read_bytes(), content)
    assert store.get("other") == (b"planted", {})


def test_entry_under_the_name_of_another_is_not_used(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    store.put("k", OBJECT, META)
    (tmp_path / "k.kernel").rename(tmp_path / "other.kernel")
    assert store.get("other") is None


def test_entries_count_no_more_without_their_key(tmp_path: Path) -> None:
    store = Cache(tmp_path)
    store.put("k", OBJECT, META)
    (tmp_path / "key").unlink()
    assert store.get("k") is None
    store.put("other", OBJECT, META)
    assert store.get("other") == (OBJECT, META)
    assert store.get("k") is None
    (tmp_path / "key").write_bytes(b"short")
    assert store.get("other") is None
    store.put("k", OBJECT, META)
    assert store.get("k") == (OBJECT, META)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0",
        (5).to_bytes(4, "little") + b"{oops" + OBJECT,
        (9).to_bytes(4, "little") + b"[1, 2, 3]" + OBJECT,
        (2).to_bytes(4, "little") + b"{}" + b"no object",
        (4).to_bytes(4, "little") + b"\xff\xfe\0\1",
        (1 << 31).to_bytes(4, "little") + b"{}",
        (100_000).to_bytes(4, "little") + b"[" * 100_000,
    ],
)
def test_broken_contents_under_the_right_key_are_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path))
    module = tileir.parse(
        "cuda_tile.module @m { entry @k(%a: tile<ptr<i32>>) { %c = constant <i32: 7> : tile<i32> "
        "%t = store_ptr_tko weak %a, %c : tile<ptr<i32>>, tile<i32> -> token return } }"
    )
    for number in range(2):
        array = numpy.zeros(1, "i4")
        tileir.compile(module, backend="cpu").launch(1, (array,))
        assert array[0] == 7
        if not number:
            for path in tmp_path.glob("*.kernel"):
                planted(default_cache(), path.name, (tmp_path / "key").read_bytes(), content)


@POSIX
def test_processes_make_one_key(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from tileir.execute.cache.code_cache import Cache
Cache(Path(sys.argv[1]) / "cache").put(sys.argv[2], b"code", {})
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    processes = [subprocess.Popen([*command, f"k{number}"]) for number in range(4)]
    for process in processes:
        assert process.wait(60) == 0
    store = Cache(tmp_path / "cache")
    assert [store.get(f"k{number}") for number in range(4)] == [(b"code", {})] * 4


@POSIX
def test_no_place_depends_on_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "_caches", {})
    monkeypatch.delenv("TILEIR_CACHE_DIR", raising=False)
    monkeypatch.delenv("TILEIR_CACHE", raising=False)
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.setenv("XDG_CACHE_HOME", "also/relative")
    monkeypatch.chdir(tmp_path)
    directory = default_cache().directory
    assert directory is None or (os.path.isabs(directory) and not Path(directory).is_relative_to(tmp_path))
    monkeypatch.setenv("TILEIR_CACHE_DIR", "chosen")
    store = default_cache()
    assert store.directory == str(tmp_path / "chosen")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert default_cache().directory == str(tmp_path / "chosen")


def test_environment_says_where_and_whether(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TILEIR_CACHE", raising=False)
    assert default_cache().directory == str(tmp_path)
    for off in ("0", "off", "false"):
        monkeypatch.setenv("TILEIR_CACHE", off)
        store = default_cache()
        assert store.directory is None
        store.put("k", OBJECT, META)
        assert store.get("k") is None
    monkeypatch.setenv("TILEIR_CACHE", "1")
    assert default_cache().directory == str(tmp_path)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the place differs from system to system")
def test_default_place_is_the_cache_directory_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_cache, "_caches", {})
    monkeypatch.delenv("TILEIR_CACHE_DIR", raising=False)
    monkeypatch.delenv("TILEIR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache().directory == str(tmp_path / "tileir" / "code")


RACE = """
import sys
from pathlib import Path
from tileir.execute.cache.code_cache import Cache
directory, seed, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
store = Cache(directory, limit=60_000)
seen = 0
for number in range(rounds):
    key = f"k{(number * 7 + seed) % 5}"
    found = store.get(key)
    if found is not None:
        data, meta = found
        # Whoever wrote it: whole, and of one writer.
        assert data == bytes([meta["who"]]) * meta["size"], key
        seen += 1
    size = 2000 + (number * 37 + seed * 1009) % 9000
    store.put(key, bytes([seed]) * size, {"who": seed, "size": size})
    if number % 20 == 0:
        store.prune()
print(seen)
"""


def test_two_processes_that_share_a_directory_see_whole_entries_only(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RACE, str(tmp_path)]
    processes = [
        subprocess.Popen([*command, str(seed), "400"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in (1, 2, 3)
    ]
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert int(output) > 0
    assert not [name for name in files(tmp_path) if not name.endswith(".kernel")]
