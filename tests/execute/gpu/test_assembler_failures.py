"""Every way in which the assembler makes no cubin ends in words, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.execute.gpu.assembled_kernel import TEXT, entry, kernel, only_key
from tests.execute.gpu.cubin_files import cubin
from tests.execute.gpu.fake_assembler import SUCCEED, FakeAssembler

import tileir
from tileir.bytecode.layouts import tile_module
from tileir.execute.cache.code_cache import default_cache
from tileir.execute.gpu.errors import AssemblerCrash, AssemblerError, AssemblerTimeout
from tileir.execute.gpu.tileiras.assembly import assemble
from tileir.execute.gpu.tileiras.tool import VARIABLE, AssemblyOptions


def refused(
    assembler: FakeAssembler, body: str, kind: type[AssemblerError] = AssemblerError, **options
) -> AssemblerError:
    assembler.does(body)
    with pytest.raises(kind) as caught:
        assemble(entry(), "sm_90", AssemblyOptions(**options))
    for directory in assembler.directories:
        assert not os.path.exists(directory), "temporary files stay"
    return caught.value


# --- what it says ---


def test_error_is_at_the_operation_whose_number_is_the_line(assembler: FakeAssembler) -> None:
    place = '#cuda_tile.di_loc<loc("<tileir>":4:1) in #cuda_tile.di_subprogram<name = "k">>'
    said = f"{place}: error: no such store\nerror: failed to compile Tile IR program"
    error = refused(assembler, f"print({said!r}, file=sys.stderr)\nsys.exit(5)")
    assert [str(each) for each in error.diagnostics] == [
        "kernel.mlir:4:15: error: 'cuda_tile.store_ptr_tko' op: no such store"
    ]
    assert "%stored = store_ptr_tko" in str(error)
    assert "compiled for sm_90 by NVIDIA's tileiras 13.4.1" in str(error)


def test_all_errors_are_told_with_their_notes_and_further_lines(assembler: FakeAssembler) -> None:
    said = [
        'loc("<tileir>":3:1): error: first',
        "  more of it",
        'loc("<tileir>":4:1): note: look here',
        '"<tileir>":4:1: error: second',
        "error: failed to compile Tile IR program",
    ]
    body = f"print(*{said!r}, sep=chr(10))\nsys.exit(5)"
    first, second = refused(assembler, body).diagnostics
    assert first.message == "'cuda_tile.constant' op: first\n  more of it"
    assert str(first.notes[0]) == "kernel.mlir:4:15: note: 'cuda_tile.store_ptr_tko' op: look here"
    assert str(second) == "kernel.mlir:4:15: error: 'cuda_tile.store_ptr_tko' op: second"


def test_error_about_no_operation_is_at_the_kernel(assembler: FakeAssembler) -> None:
    error = refused(assembler, 'print("error: failed to compile Tile IR program"); sys.exit(5)')
    assert str(error.diagnostics[0]) == "kernel.mlir:2:3: error: kernel @k: failed to compile Tile IR program"


def test_error_about_several_kernels_is_at_their_module(assembler: FakeAssembler) -> None:
    assembler.does("print('error: no'); sys.exit(5)")
    module = tileir.parse("cuda_tile.module @pair { entry @a() { return } entry @b() { return } }", "pair.mlir")
    with pytest.raises(AssemblerError) as caught:
        assemble(tile_module(module), "sm_90")
    assert caught.value.message == "module @pair: no"


def test_failure_without_words_has_the_status(assembler: FakeAssembler) -> None:
    error = refused(assembler, "sys.exit(7)")
    assert error.message == "kernel @k: the assembler ended with status 7 and wrote no cubin"


def test_success_without_a_cubin_is_a_failure(assembler: FakeAssembler) -> None:
    error = refused(assembler, 'print("all is well")')
    assert error.message == (
        "kernel @k: the assembler ended without an error and wrote no cubin; it printed: all is well"
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('open(output, "wb").write(b"MZ not at all")', "it does not begin like a 64-bit ELF file"),
        ('open(output, "wb").write(data[:-70])', "the cubin is not whole"),
        (f'open(output, "wb").write({cubin(("other",))!r})', "has no kernel 'k': those in it are other"),
        (f'open(output, "wb").write({cubin(number=80)!r})', "the assembler made code for sm_80"),
    ],
)
def test_unusable_output_is_refused_and_not_kept(assembler: FakeAssembler, body: str, words: str) -> None:
    assert words in refused(assembler, body).message
    assembler.does(SUCCEED)
    assert assemble(entry(), "sm_90").cubin.target == "sm_90"


def test_warnings_come_with_the_cubin_and_again_from_the_cache(assembler: FakeAssembler) -> None:
    assembler.does(SUCCEED + "\nprint('loc(\"<tileir>\":4:1): warning: slow store')")
    for _ in range(2):
        found = assemble(entry(), "sm_90").diagnostics
        assert [str(each) for each in found] == ["kernel.mlir:4:15: warning: 'cuda_tile.store_ptr_tko' op: slow store"]
    assert len(assembler.calls) == 1


# --- crashes ---


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGILL"])
def test_crash_has_the_signal_and_what_shows_it_again(assembler: FakeAssembler, tmp_path: Path, name: str) -> None:
    error = refused(assembler, f'print("Stack dump:", flush=True)\nos.kill(os.getpid(), signal.{name})', AssemblerCrash)
    assert isinstance(error, AssemblerCrash)
    assert (error.signal, error.message) == (name, f"kernel @k: the assembler crashed: {name}")
    place = Path(error.directory)
    assert place.parent == tmp_path / "cache" / "crashes"
    assert sorted(path.name for path in place.iterdir()) == ["crash.txt", "program.mlir", "program.tileirbc"]
    assert "Stack dump:" in (place / "crash.txt").read_text()
    tileir.verify(tileir.load(place / "program.mlir"))
    # The command shows the crash, wherever one is.
    done = subprocess.run(error.command, shell=True, cwd="/", capture_output=True)
    assert done.returncode in (-getattr(signal, name), 128 + getattr(signal, name))
    words = str(error)
    assert f"the program that it crashes on is kept in {error.directory}" in words
    assert f"this shows it: {error.command}" in words


def test_crash_is_kept_where_the_environment_says(
    assembler: FakeAssembler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEIR_CRASH_DIR", str(tmp_path / "here"))
    error = refused(assembler, "os.abort()", AssemblerCrash)
    assert Path(error.directory).parent == tmp_path / "here"


def test_crash_that_cannot_be_kept_is_told_all_the_same(
    assembler: FakeAssembler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEIR_CRASH_DIR", str(tmp_path / "file"))
    error = refused(assembler, "os.abort()", AssemblerCrash)
    assert (error.signal, error.directory, error.command) == ("SIGABRT", "", "")
    assert "set TILEIR_CRASH_DIR to a directory" in str(error)


# --- limits ---


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_too_long_a_run_is_stopped_with_what_it_started(assembler: FakeAssembler, tmp_path: Path) -> None:
    child = tmp_path / "child"
    body = f"""import subprocess
started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(child)!r} + ".new", "w").write(str(started.pid)); os.rename({str(child)!r} + ".new", {str(child)!r})
time.sleep(60)"""
    error = refused(assembler, body, AssemblerTimeout, time_limit=2.0)
    assert error.message == "kernel @k: the assembler did not finish within 2 s and was stopped"
    assert "give it a longer limit" in str(error)
    assert not is_running(assembler.processes[0])
    if child.exists():
        # Somebody else waits for it, soon.
        for _ in range(100):
            if not is_running(int(child.read_text())) or _is_zombie(int(child.read_text())):
                break
            time.sleep(0.05)
        else:
            pytest.fail("what the assembler started goes on")


def _is_zombie(process: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signal_ends_the_assembler_and_what_it_wrote(assembler: FakeAssembler, name: str) -> None:
    program = f"""
import signal, tileir
signal.signal(signal.SIGINT, signal.default_int_handler)
# Below nohup it would be ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
kernel = tileir.compile(tileir.parse({TEXT!r}), backend="interpreter")
try:
    kernel.cubin("sm_90")
except KeyboardInterrupt:
    print("interrupted")
"""
    assembler.does("time.sleep(60)")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=dict(os.environ))
    for _ in range(600):
        if assembler.processes:
            break
        time.sleep(0.05)
    number = signal.Signals[name]
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    # As without an assembler: by the signal, or by an exception that is Python's.
    assert (said, process.returncode) == ((b"interrupted\n", 0) if name == "SIGINT" else (b"", -number))
    assert not is_running(assembler.processes[0])
    assert not os.path.exists(assembler.directories[0])


def test_own_ways_with_signals_are_kept(assembler: FakeAssembler) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        assembler.does("os.kill(os.getppid(), signal.SIGTERM); time.sleep(0.1)\n" + SUCCEED)
        kernel().cubin("sm_90")
        assert seen == [signal.SIGTERM]
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        assembler.does(SUCCEED)
        kernel().cubin("sm_100")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    "limits", [{"time_limit": float("inf")}, {"time_limit": 1e300}, {"memory_limit": 1 << 90}, {"memory_limit": 9e10}]
)
def test_limits_may_be_as_large_as_one_likes(assembler: FakeAssembler, limits) -> None:
    assert assemble(kernel().entry, "sm_90", AssemblyOptions(**limits)).cubin.target == "sm_90"


@pytest.mark.skipif(sys.platform != "linux", reason="the limit for another process is Linux's")
def test_limit_that_cannot_be_raised_leaves_the_others(
    assembler: FakeAssembler, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    limit = resource.prlimit

    def refusing(process: int, kind: int, most: tuple[int, int]) -> object:
        if kind == resource.RLIMIT_CPU:
            raise ValueError("not allowed to raise maximum limit")
        return limit(process, kind, most)

    monkeypatch.setattr(resource, "prlimit", refusing)
    body = "import resource; time.sleep(0.3); sys.exit(str(resource.getrlimit(resource.RLIMIT_AS)[0]))"
    assert str(16 << 30) in str(refused(assembler, body))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit for another process is Linux's")
def test_memory_is_limited_and_the_limit_named(assembler: FakeAssembler) -> None:
    body = "time.sleep(0.3)\nkept = []\nwhile True: kept.append(bytearray(b'x' * (1 << 22)))"
    error = refused(assembler, body, memory_limit=200 << 20)
    assert "it may have 0.195 GiB of memory, which may be too little" in str(error)
    assert "MemoryError" in str(error)


# --- the tool ---


def test_missing_assembler_is_named_with_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("TILEIR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(tileir.MissingDependencyError) as caught:
        kernel().cubin("sm_90")
    assert caught.value.message == (
        "NVIDIA's assembler, tileiras, is not installed: pip install 'tileir[tileiras]'; "
        "the cache has no cubin of this kernel for sm_90 either"
    )


def test_assembler_that_is_not_there_is_told_with_the_variable(
    assembler: FakeAssembler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/tileiras")
    with pytest.raises(
        tileir.MissingDependencyError, match=f"{VARIABLE} names '/nowhere/tileiras', which cannot be used"
    ):
        kernel().cubin("sm_90")


def test_file_that_is_no_program_is_told(assembler: FakeAssembler) -> None:
    assembler.path.write_text("not a program")
    assembler.path.chmod(0o644)
    with pytest.raises(
        tileir.errors.CompilationError, match=f"which {VARIABLE} names, cannot be run: Permission denied"
    ):
        kernel().cubin("sm_90")


def test_program_that_is_no_assembler_is_told(assembler: FakeAssembler) -> None:
    assembler.path.write_text("#!/bin/sh\necho hello\n")
    with pytest.raises(
        tileir.errors.CompilationError, match=f"{VARIABLE} names, is no assembler for Tile IR: it does not"
    ):
        kernel().cubin("sm_90")
    assembler.path.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(tileir.errors.CompilationError, match="it ends with status 3 with the option --"):
        kernel().cubin("sm_90")


@pytest.mark.parametrize("target", ["sm_75", "h1000", "", 90])
def test_bad_target_is_refused_before_anything_runs(assembler: FakeAssembler, target) -> None:
    with pytest.raises(tileir.OptionError, match="is no GPU that Tile IR is compiled for"):
        kernel().cubin(target)
    assert assembler.calls == []


def test_target_that_the_assembler_lacks_is_refused_with_those_it_has(assembler: FakeAssembler) -> None:
    with pytest.raises(
        tileir.errors.CompilationError, match=r"tileiras 13.4.1 makes no code for sm_120, only for sm_90, sm_100"
    ):
        kernel().cubin("sm_120")
    assert assembler.calls == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"opt_level": 4}, "the optimization level is 4"),
        ({"timeout": 0}, "the time limit of the assembler is 0"),
        ({"timeout": "long"}, "the time limit of the assembler is 'long'"),
        ({"host": "sparc"}, "'sparc' is no machine that launches kernels: choose the host x86_64 or aarch64"),
    ],
)
def test_options_that_make_no_sense_are_refused(assembler: FakeAssembler, options, words: str) -> None:
    with pytest.raises(tileir.OptionError, match=words):
        kernel().cubin("sm_90", **options)


def test_older_assembler_gets_an_older_program(assembler: FakeAssembler) -> None:
    """The version stands behind the magic number of the bytecode."""
    assembler.does(
        'open(output + ".x", "wb")\n' + SUCCEED + "\nprint(list(open(source, 'rb').read()[8:10]))", versions="13.1 13.2"
    )
    found = assemble(entry(), "sm_90")
    assert found.cubin.version == "13.4.1"
    stored = default_cache().get(only_key())
    assert stored is not None and stored[1]["said"] == "[13, 2]\n"


def test_what_an_older_assembler_cannot_be_given_is_told_at_the_operation(assembler: FakeAssembler) -> None:
    text = TEXT.replace(
        "%one = constant <f32: 1.0> : tile<f32>",
        "%x = constant <f32: 1.0> : tile<f32>\n    %one = atan2 %x, %x : tile<f32>",
    )
    assembler.does(SUCCEED, versions="13.1")
    with pytest.raises(tileir.PassError) as caught:
        kernel(text).cubin("sm_90")
    assert caught.value.diagnostics[0].position == ("kernel.mlir", 4, 12)
    assert "has no equivalent in 13.1" in caught.value.message


def test_newer_bytecode_alone_is_told(assembler: FakeAssembler) -> None:
    assembler.does(SUCCEED, versions="14.0 14.1")
    with pytest.raises(
        tileir.errors.CompilationError,
        match=r"takes no version of the bytecode that tileir writes: it takes 14\.0, 14\.1",
    ):
        kernel().cubin("sm_90")


# --- other versions of CUDA ---


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"])
def test_variables_of_another_cuda_do_not_reach_an_assembler_with_libraries_of_its_own(
    assembler: FakeAssembler, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "/usr/local/cuda")
    body = f"{SUCCEED}\nprint('loc(unknown): warning: ' + os.environ.get({variable!r}, 'none'))"
    assembler.does(body)
    assert assemble(entry(), "sm_90").diagnostics[0].message.endswith("/usr/local/cuda")
    libraries = assembler.path.parents[1] / "lib"
    libraries.mkdir()
    (libraries / "libnvvm.so.4").write_bytes(b"")
    assembler.does(body, version="13.4.3")
    assert assemble(entry(), "sm_90").diagnostics[0].message.endswith("none")


def test_failure_without_a_reason_names_the_variables_of_another_cuda(
    assembler: FakeAssembler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", "/usr/local/cuda")
    error = refused(assembler, 'print("error: failed to compile Tile IR program"); sys.exit(5)')
    assert "it needs ptxas and libnvvm of its own version" in str(error)
    assert "CUDA_HOME of the environment may name another version" in str(error)
