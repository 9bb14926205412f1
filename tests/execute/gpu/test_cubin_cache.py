"""Cubins in the cache of compiled code: made once, made again where they must be, used without an assembler."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.execute.gpu.assembled_kernel import TEXT, kernel, only_key
from tests.execute.gpu.cubin_files import cubin
from tests.execute.gpu.fake_assembler import SUCCEED, FakeAssembler

import tileir
from tileir.execute.cache import code_cache
from tileir.execute.cache.code_cache import default_cache
from tileir.execute.gpu.tileiras import assembly
from tileir.execute.gpu.tileiras.tool import VARIABLE


def test_cubin_is_made_once(assembler: FakeAssembler) -> None:
    for _ in range(3):
        assert kernel().cubin("sm_90").data == cubin()
    assert len(assembler.calls) == 1


def test_options_and_targets_have_cubins_of_their_own(assembler: FakeAssembler) -> None:
    given = kernel()
    given.cubin("sm_90")
    for options in ({"opt_level": 2}, {"lineinfo": True}, {"host": "x86_64"}, {"host": "aarch64"}):
        given.cubin("sm_90", **options)
    given.cubin("sm_100")
    # One of the hosts is this one.
    assert len(assembler.calls) == 5
    assert assembler.calls[1][1] == "--opt-level=2"
    assert "--lineinfo" in assembler.calls[2]


def test_same_program_elsewhere_has_the_same_cubin(assembler: FakeAssembler) -> None:
    kernel().cubin("sm_90")
    kernel("// moved\n\n" + TEXT.replace("%one", "%first")).cubin("sm_90")
    assert len(assembler.calls) == 1
    # Not where lines are in it.
    kernel().cubin("sm_90", lineinfo=True)
    kernel("// moved\n\n" + TEXT).cubin("sm_90", lineinfo=True)
    assert len(assembler.calls) == 3


def test_corrupt_entry_is_made_again(assembler: FakeAssembler) -> None:
    kernel().cubin("sm_90")
    directory = default_cache().directory
    assert directory is not None
    path = Path(directory) / f"{only_key()}.kernel"
    for damaged in (path.read_bytes()[:-9], b"", path.read_bytes()[:-1] + b"\xff"):
        path.write_bytes(damaged)
        before = len(assembler.calls)
        assert kernel().cubin("sm_90").data == cubin()
        assert len(assembler.calls) == before + 1


def test_entry_that_is_no_cubin_is_made_again(assembler: FakeAssembler) -> None:
    kernel().cubin("sm_90")
    stored = default_cache().get(only_key())
    assert stored is not None
    default_cache().put(only_key(), b"no cubin", stored[1])
    assert kernel().cubin("sm_90").data == cubin()
    assert len(assembler.calls) == 2


def test_cubin_of_another_version_is_made_again_where_there_is_an_assembler(assembler: FakeAssembler) -> None:
    kernel().cubin("sm_90")
    assembler.does(SUCCEED, version="13.4.2")
    assert kernel().cubin("sm_90").version == "13.4.2"
    assert len(assembler.calls) == 2
    # The same version, installed again.
    assembler.does(SUCCEED + "\n", version="13.4.2")
    kernel().cubin("sm_90")
    assert len(assembler.calls) == 2


def test_cubin_of_the_cache_is_used_where_there_is_no_assembler(
    assembler: FakeAssembler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = kernel()
    given.cubin("sm_90")
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert given.cubin("sm_90").version == "13.4.1"
    with pytest.raises(tileir.MissingDependencyError, match="no cubin of this kernel for sm_100 either"):
        given.cubin("sm_100")


def test_threads_that_want_the_same_wait_for_one(assembler: FakeAssembler) -> None:
    assembler.does("time.sleep(0.3)\n" + SUCCEED)
    found: list[bytes] = []
    given = kernel()
    threads = [threading.Thread(target=lambda: found.append(given.cubin("sm_90").data)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [cubin()] * 4
    assert len(assembler.calls) == 1


def test_locks_of_cubins_are_not_kept(assembler: FakeAssembler) -> None:
    for number in range(3):
        kernel(TEXT.replace("1.0", f"{number}.0")).cubin("sm_90")
    assembler.does("sys.exit(5)")
    for number in range(3, 6):
        with pytest.raises(tileir.errors.AssemblerError):
            kernel(TEXT.replace("1.0", f"{number}.0")).cubin("sm_90")
    gc.collect()
    assert not assembly._locks._locks


def test_processes_that_make_the_same_do_not_disturb_each_other(assembler: FakeAssembler) -> None:
    program = f"""
import tileir
kernel = tileir.compile(tileir.parse({TEXT!r}), backend="interpreter")
print(kernel.resources("sm_90").registers)
"""
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate(timeout=120)[0] for process in processes] == [b"32\n"] * 3


def test_without_a_cache_it_works(assembler: FakeAssembler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEIR_CACHE", "0")
    assert kernel().cubin("sm_90").data == cubin()
    assert kernel().cubin("sm_90").data == cubin()
    assert len(assembler.calls) == 2


FROM_CACHE = """
import sys, tileir
kernel = tileir.compile(tileir.parse(TEXT), backend="interpreter")
before = set(sys.modules)
cubin = kernel.cubin("sm_90")
heavy = ("tileir.bytecode", "tileir.passes", "tileir.rewrite", "subprocess", "tempfile", "ctypes")
print(len(cubin.data), cubin.kernel, [name for name in heavy if name in set(sys.modules) - before])
"""


def test_cubin_from_the_cache_needs_nothing_that_makes_one(assembler: FakeAssembler) -> None:
    kernel().cubin("sm_90")
    command = [sys.executable, "-c", FROM_CACHE.replace("TEXT", repr(TEXT))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == f"{len(cubin())} k []\n", done.stderr
    assert len(assembler.calls) == 1


def test_short_way_to_a_cubin_that_is_gone_or_wrong_is_not_taken(assembler: FakeAssembler) -> None:
    kernel().cubin("sm_90")
    directory = default_cache().directory
    assert directory is not None
    (short,) = Path(directory).glob("program-*.kernel")
    for meta in ({}, {"key": "cubin-0", "kernel": "k"}, {"key": only_key(), "kernel": "other"}, {"key": 7}):
        default_cache().put(short.stem, b"", meta)
        assert kernel().cubin("sm_90").data == cubin()
    assert len(assembler.calls) == 1
    (Path(directory) / f"{only_key()}.kernel").unlink()
    assert kernel().cubin("sm_90").data == cubin()
    assert len(assembler.calls) == 2


def test_installed_sources_are_known_by_their_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tileir"
    monkeypatch.setattr(code_cache, "__file__", str(package / "execute" / "cache" / "code_cache.py"))
    assert code_cache.hash_of_installed() is None, "a checkout"
    record = tmp_path / f"tileir-{tileir.__version__}.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("tileir/a.py,sha256=1,10\n")
    first = code_cache.hash_of_installed()
    assert first is not None and code_cache.hash_of_installed() == first
    # Installed again.
    record.unlink()
    record.write_text("tileir/a.py,sha256=1,10\ntileir/b.py,sha256=2,10\n")
    assert code_cache.hash_of_installed() not in (None, first)
