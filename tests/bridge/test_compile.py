"""`tileir.compile` of whatever is a program, and launches to keep."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest

import tileir

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

F32 = numpy.float32
VECTOR_ADD = Path(__file__).parents[2] / "examples" / "vector_add.mlir"


@ct.kernel
def scale(a, out, factor, N: ct.Constant[int]):
    place = ct.bid(0)
    ct.store(out, (place,), ct.load(a, (place,), (N,)) * factor)


@ct.kernel
def sum_of_list(arrays, out):
    ct.store(out, (0,), ct.load(arrays[0], (0,), (4,)) + ct.load(arrays[1], (0,), (4,)))


def vectors(count: int = 64) -> tuple[Any, Any]:
    return numpy.arange(count, dtype=F32), numpy.zeros(count, F32)


def aligned(count: int, offset: int = 0) -> Any:
    room = numpy.zeros(4 * count + 64, numpy.uint8)
    start = -room.ctypes.data % 64 + offset
    return room[start : start + 4 * count].view(F32)


# --- files ---


def added(kernel: tileir.Kernel) -> None:
    a, b, c = (numpy.full(256, number, F32) for number in (1, 2, 0))
    kernel.launch((2,), (a, b, c, 256))
    assert c.tolist() == [3.0] * 256


def test_path_of_a_file_is_compiled(tmp_path: Path) -> None:
    added(tileir.compile(VECTOR_ADD))
    added(tileir.compile(str(VECTOR_ADD), entry="vector_add"))
    bytecode = tmp_path / "add.tileirbc"
    bytecode.write_bytes(tileir.to_bytecode(tileir.load(VECTOR_ADD)))
    added(tileir.compile(bytecode))
    added(tileir.compile(bytecode.read_bytes()))
    added(tileir.compile(VECTOR_ADD.read_bytes(), backend="interpreter"))


def test_text_in_the_place_of_a_path_is_named() -> None:
    with pytest.raises(TypeError, match=r"the text of a program was given .* pass tileir.parse\(text\)"):
        tileir.compile(VECTOR_ADD.read_text())


def test_file_that_is_not_there_or_no_program_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing\.mlir"):
        tileir.compile(tmp_path / "missing.mlir")
    wrong = tmp_path / "wrong.mlir"
    wrong.write_text("cuda_tile.module @m { entry @k( }")
    with pytest.raises(tileir.ParseError, match=r"wrong\.mlir"):
        tileir.compile(wrong)
    with pytest.raises(TypeError, match="a module is needed, not an int"):
        tileir.compile(3)  # type: ignore[call-overload]


def test_example_arguments_are_for_cutile_kernels() -> None:
    with pytest.raises(tileir.LaunchError, match="arguments were given as an example"):
        tileir.compile(VECTOR_ADD, (numpy.zeros(4, F32),))
    with pytest.raises(tileir.LaunchError, match=r"none were given: pass an example, as tileir.compile\(kernel, \(a,"):
        tileir.compile(scale)
    with pytest.raises(tileir.LaunchError, match="an ndarray was given: pass an example"):
        tileir.compile(scale, numpy.zeros(4, F32))  # type: ignore[call-overload]
    with pytest.raises(tileir.LaunchError, match="cpu is not an option"):
        tileir.compile(scale, vectors(), cpu="generic")  # type: ignore[call-overload]


# --- cuTile kernels ---


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_kernel_compiled_for_an_example_takes_arguments_of_its_kind(backend: str) -> None:
    a, out = vectors()
    kernel = tileir.compile(scale, (a, out, 1.0, 16), backend=backend)
    assert kernel.name == "scale" and kernel.backend == backend
    assert kernel.parameters == [
        "a: float32 of rank 1",
        "out: float32 of rank 1",
        "factor: float32",
        "N: the constant 16",
    ]
    for length in (64, 32):
        for factor in (2.0, 3.0):
            b, result = vectors(length)
            kernel.launch(length // 16, (b, result, factor, 16))
            assert (result == b * F32(factor)).all()


@pytest.mark.parametrize("exact", [False, True])
def test_a_recording_is_as_exact_as_the_kernel(exact: bool) -> None:
    a, out = vectors()
    recording = tileir.record(tileir.compile(scale, (a, out, 1.0, 16), exact=exact), 4, (a, out, 1.0, 16))
    assert recording.launch.exact is exact


def test_compiling_runs_nothing() -> None:
    a, out = vectors()
    out[:] = 7
    tileir.compile(scale, (a, out, 1.0, 16))
    assert (out == 7).all()


def test_arguments_of_another_kind_are_refused_in_words() -> None:
    a, out = aligned(64), aligned(64)
    kernel = tileir.compile(scale, (a, out, 1.0, 16))
    for args, message in (
        ((a.astype("f8"), out, 1.0, 16), "argument 'a' of scale is float64 of rank 1, but the kernel was compiled for"),
        ((a, out, 1, 16), "argument 'factor' of scale is int32, but .* float32: compile it for such arguments"),
        ((a, out, 1.0, 32), "argument 'N' of scale is the constant 32, but .* the constant 16"),
        ((a[:40], out, 1.0, 16), "argument 'a' .* but .* float32 of rank 1, extent a multiple of 16 along axis 0, str"),
        ((a, out, 1.0), "scale takes 4 arguments"),
    ):
        for _ in range(2):
            with pytest.raises(tileir.LaunchError, match=message):
                kernel.launch(1, args)
            with pytest.raises(tileir.LaunchError, match=message):
                kernel.bind(1, args)


def test_arguments_that_promise_more_than_the_example_are_taken() -> None:
    a, out = aligned(40, 4), aligned(40, 4)
    kernel = tileir.compile(scale, (a, out, 1.0, 8))
    b, result = aligned(64), aligned(64)
    b[:] = 1
    kernel.launch(8, (b, result, 2.0, 8))
    assert (result == 2).all()


# --- launches to keep ---


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_bound_launch_runs_with_what_the_arrays_hold_then(backend: str) -> None:
    kernel = tileir.compile(VECTOR_ADD, backend=backend)
    a, b, c = (numpy.ones(256, F32) for _ in range(3))
    bound = kernel.bind(2, (a, b, c, 256))
    assert (c == 1).all()
    for number in range(3):
        a[:] = number
        bound()
        assert (c == number + 1).all()
    assert (bound.grid, len(bound), bound[3], bound.arguments[0] is a) == ((2, 1, 1), 4, 256, True)


def test_arguments_of_a_bound_launch_are_replaced() -> None:
    a, out = vectors()
    kernel = tileir.compile(scale, (a, out, 1.0, 16))
    bound = kernel.bind(4, (a, out, 2.0, 16))
    bound()
    assert (out == a * 2).all()
    bound["factor"] = 3.0
    bound()
    assert (out == a * 3).all()
    bound[0], bound["out"] = numpy.ones(64, F32), numpy.zeros(64, F32)
    bound()
    assert (bound["out"] == numpy.full(64, 3, F32)).all()
    with pytest.raises(tileir.LaunchError, match="argument 'out' of scale is float64"):
        bound["out"] = numpy.zeros(64)
    # The old ones stay.
    bound()
    assert bound["out"].dtype == F32  # type: ignore[attr-defined]
    for place, message in (("b", "has no parameter called 'b': scale has a, out"), (4, "none at position 4")):
        with pytest.raises(tileir.LaunchError, match=message):
            bound[place] = a
    assert repr(bound) == "<BoundLaunch of scale, grid (4, 1, 1), 4 arguments>"


def test_arguments_that_do_not_fit_are_refused_when_they_are_bound() -> None:
    kernel = tileir.compile(VECTOR_ADD)
    a = numpy.ones(256, F32)
    with pytest.raises(tileir.LaunchError, match="but an array float64"):
        kernel.bind(2, (a, a, numpy.ones(256), 256))
    with pytest.raises(tileir.LaunchError, match="the grid has extent 0"):
        kernel.bind(0, (a, a, a, 256))
    with pytest.raises(TypeError, match="a launch has no option 'thread'"):
        kernel.bind(2, (a, a, a, 256), thread=2)


def test_array_that_moved_is_seen_by_a_bound_launch() -> None:
    kernel = tileir.compile(VECTOR_ADD, backend="cpu")
    a, b, c = (numpy.ones(256, F32) for _ in range(3))
    bound = kernel.bind(2, (a, b, c, 256))
    bound()
    a.resize(64, refcheck=False)
    with pytest.raises(tileir.ExecutionError, match=r"argument 0 \(array float32\[64\]\)"):
        bound()
    a.resize(1 << 16, refcheck=False)
    a[:] = 5
    bound()
    assert (c == 6).all()


def test_bound_launch_has_the_options_of_a_launch() -> None:
    kernel = tileir.compile(VECTOR_ADD)
    a, b, c = (numpy.ones(256, F32) for _ in range(3))
    kernel.bind(2, (a, b, c, 256), threads=1, unchecked=True)()
    assert (c == 2).all()
    bound = kernel.bind(1, (a, b, c, 256), sanitize="all")
    with pytest.raises(tileir.SanitizerError, match="never written"):
        bound()


def test_bound_launches_overlap_and_run_on_several_threads() -> None:
    kernel = tileir.compile(VECTOR_ADD, backend="cpu")
    a, b, c = (numpy.ones(256, F32) for _ in range(3))
    chain = [kernel.bind(2, (a, b, c, 256)), kernel.bind(2, (c, b, a, 256))]
    with tileir.kernels.overlap():
        for _ in range(4):
            for bound in chain:
                bound()
    assert (a == 9).all()
    bound = kernel.bind(2, (b, b, c, 256))
    threads = [threading.Thread(target=lambda: [bound() for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (c == 2).all()


def test_failure_of_a_bound_launch_is_told_each_time() -> None:
    a, out = vectors()
    bound = tileir.compile(VECTOR_ADD, backend="cpu").bind(2, (a, a, out, 256))
    for _ in range(3):
        with pytest.raises(tileir.ExecutionError, match="past the end of argument 0"):
            bound()
    longer = numpy.ones(256, F32)
    bound.replace((longer, longer, numpy.zeros(256, F32), 256))
    bound()


def test_list_of_arrays_can_be_bound() -> None:
    arrays, out = [numpy.ones(4, F32), numpy.ones(4, F32)], numpy.zeros(4, F32)
    bound = tileir.compile(sum_of_list, (arrays, out)).bind(1, (arrays, out))
    bound()
    arrays[1] = numpy.full(4, 2, F32)
    bound()
    assert out.tolist() == [3.0] * 4


def test_bound_launch_that_is_gone_keeps_nothing() -> None:
    a, out = vectors()
    kernel = tileir.compile(scale, (a, out, 1.0, 16))
    bound = kernel.bind(4, (a, out, 2.0, 16))
    bound()
    alive = weakref.ref(out)
    del bound, out
    gc.collect()
    assert alive() is None


# --- what it costs ---


def test_kernel_of_cutile_is_timed_and_its_work_counted() -> None:
    a, out = vectors()
    kernel = tileir.compile(scale, (a, out, 2.0, 16))
    timing = kernel.time((4,), (a, out, 2.0, 16), repeat=3)
    assert timing.count == 3 and (out == 2 * a).all()
    work = kernel.work((4,), (a, out, 2.0, 16))
    assert (work.bytes_read, work.bytes_written, work.footprint) == (256, 256, 512)
    assert work.by_kind("floating") == {"mulf f32": 64}
    assert not work.unknown and not work.notes


def test_kernel_with_a_list_is_timed() -> None:
    a, b, out = (numpy.ones(4, F32) for _ in range(3))
    kernel = tileir.compile(sum_of_list, ([a, b], out))
    assert kernel.time((1,), ([a, b], out), repeat=2).count == 2
    assert (out == 2).all()


def test_kernels_made_of_cutiles_are_tuned_as_others_are() -> None:
    a, out = vectors()
    kernel = tileir.compile(scale, (a, out, 2.0, 64), backend="interpreter")
    with pytest.raises(tileir.LaunchError, match="have a schedule to tune: compile with backend='triton'"):
        kernel.tune(1, (a, out, 2.0, 64))
    small = [numpy.zeros(4, F32) for _ in range(3)]
    with pytest.raises(tileir.LaunchError, match="sum_of_list cannot be tuned: what lists of arrays hold is not put"):
        tileir.compile(sum_of_list, (small[:2], small[2]), backend="triton").tune(1, (small[:2], small[2]))
