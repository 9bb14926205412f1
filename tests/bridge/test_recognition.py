"""Launches that are recognized: they do what a launch that is looked at thoroughly does, and see every difference."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import ml_dtypes
import numpy
import pytest

import tileir
from tileir.bridge import launch as bridge
from tileir.execute.arguments.array_memory import READS_HEADERS, address_of
from tileir.execute.errors import LaunchError

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")
pytest.importorskip("llvmlite", reason="llvmlite is not installed: pip install 'tileir[cpu]'")

F32 = numpy.float32


@ct.kernel
def scale(a, out, factor, N: ct.Constant[int]):
    place = ct.bid(0)
    ct.store(out, (place,), ct.load(a, (place,), (N,)) * factor)


@ct.kernel
def copy_matrix(a, out):
    ct.store(out, (0, 0), ct.load(a, (0, 0), (4, 8)))


@ct.kernel
def write_constant(out, value: ct.Constant):
    ct.store(out, (0,), ct.full((1,), value, out.dtype))


@ct.kernel
def sum_of_list(arrays, out, count: ct.Constant[int]):
    total = ct.zeros((4,), ct.float32)
    for number in range(count):
        total += ct.load(arrays[number], (0,), (4,))
    ct.store(out, (0,), total)


@ct.kernel
def sum_of_tuple(pair: tuple[Any, ct.Constant[float]], out):
    ct.store(out, (0,), ct.load(pair[0], (0,), (4,)) + pair[1])


@ct.kernel
def wide(out, number: ct.ScalarInt64):
    ct.store(out, (0,), ct.full((1,), number, out.dtype))


@ct.kernel
def choose(out, flag):
    ct.store(out, (0,), ct.full((1,), 1 if flag else 2, out.dtype))


@ct.kernel
def static_shape(a: Annotated[Any, ct.ArrayAnnotation(static_shape_dims=(0,))], out):
    ct.store(out, (0,), ct.full((1,), a.shape[0], out.dtype))


def known(kernel: Any, grid: Any, args: Any) -> None:
    """Launch so often that the next launch like it is recognized."""
    for _ in range(3):
        tileir.launch(kernel, grid, args, backend="cpu")


def test_third_launch_of_a_kind_is_recognized(thorough: list[str]) -> None:
    a = numpy.arange(64, dtype=F32)
    known(scale, 4, (a, numpy.zeros(64, F32), 2.0, 16))
    thorough.clear()
    for number in range(1, 4):
        # Other arrays, numbers and grids of the same kind.
        b, out = numpy.full(64, number, F32), numpy.zeros(64, F32)
        tileir.launch(scale, (number,), [b, out, number / 2, 16], backend="cpu")
        assert out.tolist() == [number * number / 2] * (16 * number) + [0.0] * (64 - 16 * number)
    assert thorough == []


def test_launches_with_common_options_are_recognized(thorough: list[str]) -> None:
    a = numpy.arange(64, dtype=F32)
    variants: list[dict[str, Any]] = [
        {"threads": 1},
        {"threads": 2},
        {"unchecked": True},
        {"threads": 1, "unchecked": False},
        {"sanitize": False, "observer": None},
    ]
    for options in variants:
        for _ in range(3):
            tileir.launch(scale, 4, (a, numpy.zeros(64, F32), 2.0, 16), backend="cpu", **options)
    thorough.clear()
    for options in variants:
        out = numpy.zeros(64, F32)
        tileir.launch(scale, 4, (a, out, 3.0, 16), backend="cpu", **options)
        assert (out == 3 * a).all(), options
    assert thorough == []


def test_so_are_those_of_a_kernel_that_was_compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    a, first = numpy.arange(64, dtype=F32), numpy.zeros(64, F32)
    kernel = tileir.compile(scale, (a, first, 2.0, 16), backend="cpu")
    variants: list[dict[str, Any]] = [{}, {"threads": 1}, {"unchecked": True}, {"sanitize": False}]
    for options in variants:
        kernel.launch(4, (a, first, 2.0, 16), **options)
    described: list[str] = []
    monkeypatch.setattr("tileir.bridge.specialized.described", lambda *_: described.append("described"))
    for options in variants:
        out = numpy.zeros(64, F32)
        kernel.launch(4, (a, out, 3.0, 16), **options)
        assert (out == 3 * a).all(), options
        bound = kernel.bind(4, (a, out, 4.0, 16), **options)
        bound()
        assert (out == 4 * a).all(), options
    assert described == []


def test_options_of_recognized_launches_are_still_checked() -> None:
    args = (numpy.zeros(64, F32), numpy.zeros(64, F32), 2.0, 16)
    kernel = tileir.compile(scale, args, backend="cpu")
    ways: list[Callable[..., None]] = [
        partial(tileir.launch, scale, 4, args, backend="cpu"),
        partial(kernel.launch, 4, args),
    ]
    for launch in ways:
        for _ in range(3):
            launch(threads=1)
        for wrong in (True, 0, 1.0, "1"):
            with pytest.raises(LaunchError, match="threads"):
                launch(threads=wrong)
        with pytest.raises(TypeError, match="nonsense"):
            launch(nonsense=None)


def test_another_shape_of_the_same_kind_needs_no_other_compilation(thorough: list[str]) -> None:
    known(scale, 1, (numpy.ones(64, F32), numpy.zeros(64, F32), 2.0, 16))
    thorough.clear()
    for length in (32, 128, 4096):
        a, out = numpy.ones(length, F32), numpy.zeros(length, F32)
        tileir.launch(scale, length // 16, (a, out, 3.0, 16), backend="cpu")
        assert out.tolist() == [3.0] * length
    assert thorough == []


def offset_array(length: int, offset: int) -> Any:
    room = numpy.zeros(4 * length + 64, numpy.uint8)
    start = -room.ctypes.data % 64 + offset
    return room[start : start + 4 * length].view(F32)


def test_what_is_compiled_in_is_told_apart_and_every_result_is_right() -> None:
    whole = numpy.arange(256, dtype=F32).reshape(8, 32)
    sources = {
        "contiguous": whole[:4, :8].copy(),
        "rows apart": whole[:4, :8],
        "columns apart": whole[:4, :16:2],
        "transposed": numpy.asfortranarray(whole[:4, :8]),
        "repeated": numpy.broadcast_to(whole[0, :8], (4, 8)),
        "unaligned": whole.reshape(-1)[1:33].reshape(4, 8),
        "not writable": whole[:4, :8].copy(),
        "half": whole[:4, :8].astype("f2"),
        "brain": whole[:4, :8].astype(ml_dtypes.bfloat16),
        "smaller": whole[:2, :4].copy(),
    }
    sources["not writable"].flags.writeable = False
    for _ in range(4):
        for name, source in sources.items():
            out = numpy.zeros((4, 8), source.dtype)
            tileir.launch(copy_matrix, 1, (source, out), backend="cpu")
            wanted = numpy.zeros((4, 8), source.dtype)
            wanted[: source.shape[0], : source.shape[1]] = source
            assert (out == wanted).all(), name


def test_address_that_is_no_multiple_of_16_is_another_kind(thorough: list[str]) -> None:
    kernel = scale.replace_hints()
    known(kernel, 1, (offset_array(16, 0), offset_array(16, 0), 2.0, 16))
    assert len(bridge.known_for(kernel).compiled) == 1
    thorough.clear()
    known(kernel, 1, (offset_array(16, 4), offset_array(16, 0), 2.0, 16))
    assert len(bridge.known_for(kernel).compiled) == 2
    assert thorough == ["scale", "scale"]


def test_constants_that_are_equal_and_not_the_same_are_told_apart() -> None:
    for _ in range(4):
        for value in (0.0, -0.0, 1, True, 1.0, numpy.float32(1), float("nan")):
            out = numpy.zeros(1, "f8")
            tileir.launch(write_constant, 1, (out, value), backend="cpu")
            assert out.tobytes() == numpy.array([value], "f8").tobytes()


def test_bool_and_int_are_different_arguments() -> None:
    for _ in range(4):
        for flag in (True, 0, False, 7, numpy.bool_(True), numpy.int64(0)):
            out = numpy.zeros(1, F32)
            tileir.launch(choose, 1, (out, flag), backend="cpu")
            assert out[0] == (1 if flag else 2)


def test_integer_that_does_not_fit_is_refused_each_time() -> None:
    out = numpy.zeros(1, numpy.int64)
    known(choose, 1, (out, 3))
    for number in (1 << 31, -(1 << 31) - 1, 1 << 70):
        with pytest.raises(LaunchError, match=f"argument 'flag' of choose is {number}, which does not fit an int32"):
            tileir.launch(choose, 1, (out, number), backend="cpu")
    numbers: list[Any] = [1 << 40, -(1 << 63), (1 << 63) - 1, numpy.int8(-3)]
    for number in numbers:
        for _ in range(3):
            tileir.launch(wide, 1, (out, number), backend="cpu")
        assert out[0] == number
    with pytest.raises(LaunchError, match="does not fit an int64"):
        tileir.launch(wide, 1, (out, 1 << 63), backend="cpu")


def test_float_too_large_for_its_type_is_infinite_each_time() -> None:
    a, out = numpy.ones(16, F32), numpy.zeros(16, F32)
    known(scale, 1, (a, out, 2.0, 16))
    tileir.launch(scale, 1, (a, out, 1e300, 16), backend="cpu")
    assert numpy.isinf(out).all()


def test_arrays_that_share_memory_give_the_interpreters_result() -> None:
    fresh = numpy.arange(80, dtype=F32)
    for _ in range(4):
        # Of two tile blocks none may read what the other writes: nothing says which is first.
        for begin, blocks in ((0, 2), (8, 1), (16, 1), (32, 2)):
            results = []
            for backend in ("cpu", "interpreter"):
                memory = fresh.copy()
                tileir.launch(scale, blocks, (memory[:32], memory[begin : begin + 32], 3.0, 16), backend=backend)
                results.append(memory.tolist())
            assert results[0] == results[1]


def test_list_of_arrays_is_recognized(thorough: list[str]) -> None:
    out = numpy.zeros(4, F32)
    arrays = [numpy.full(4, number, F32) for number in range(3)]
    known(sum_of_list, 1, (arrays, out, 3))
    thorough.clear()
    tileir.launch(sum_of_list, 1, ([array + 1 for array in arrays], out, 3), backend="cpu")
    assert out.tolist() == [6.0] * 4 and thorough == []
    # An item of another kind makes it another list.
    tileir.launch(sum_of_list, 1, ([*arrays[:2], numpy.arange(8, dtype=F32)[::2]], out, 3), backend="cpu")
    assert out.tolist() == [1.0, 3.0, 5.0, 7.0]
    for _ in range(2):
        with pytest.raises(LaunchError, match=r"item 1 .* but item 0 is array float32"):
            tileir.launch(sum_of_list, 1, ([arrays[0], arrays[1].astype("f8"), arrays[2]], out, 3), backend="cpu")
        with pytest.raises(LaunchError, match="is an empty list"):
            tileir.launch(sum_of_list, 1, ([], out, 3), backend="cpu")


@ct.kernel
def leave_list(arrays, step):
    ct.scatter(arrays[0], ct.arange(4, dtype=ct.int32) * step, ct.ones((4,), ct.float32), check_bounds=False)


def test_access_past_an_array_of_a_list_is_named_each_time() -> None:
    arrays = [numpy.zeros(4, F32)]
    known(leave_list, 1, (arrays, 1))
    assert arrays[0].tolist() == [1.0] * 4
    with pytest.raises(tileir.ExecutionError, match=r"past the end of arrays\[0\] \(array float32\[4\]\)"):
        tileir.launch(leave_list, 1, (arrays, 1000), backend="cpu")


def test_tuple_is_recognized_with_its_items(thorough: list[str]) -> None:
    a, out = numpy.ones(4, F32), numpy.zeros(4, F32)
    known(sum_of_tuple, 1, ((a, 0.5), out))
    thorough.clear()
    tileir.launch(sum_of_tuple, 1, ((a * 2, 0.5), out), backend="cpu")
    assert out.tolist() == [2.5] * 4 and thorough == []
    tileir.launch(sum_of_tuple, 1, ((a, 1.5), out), backend="cpu")
    assert out.tolist() == [2.5] * 4 and thorough == ["sum_of_tuple"]
    with pytest.raises(LaunchError, match="is a tuple of 2 items, but one of 1"):
        tileir.launch(sum_of_tuple, 1, ((a,), out), backend="cpu")


def test_extent_that_an_annotation_compiles_in_is_told_apart() -> None:
    out = numpy.zeros(1, F32)
    for _ in range(4):
        for length in (3, 5, 16, 32):
            tileir.launch(static_shape, 1, (numpy.zeros(length, F32), out), backend="cpu")
            assert out[0] == length


def test_mistakes_are_told_after_launches_that_were_recognized() -> None:
    a = numpy.zeros(16, F32)
    known(scale, 1, (a, a, 2.0, 16))
    frozen = a.copy()
    frozen.flags.writeable = False
    for args, message in (
        ((a, a, 2.0), "scale takes 4 arguments"),
        ((a, frozen, 2.0, 16), "argument 'out' of scale is read-only"),
        ((a[::-1], a, 2.0, 16), "negative stride along axis 0"),
        ((a, a, "x", 16), "argument 'factor' of scale is a str"),
        ((a, a, 2.0, [16]), "annotated as a constant, but a list"),
    ):
        with pytest.raises(LaunchError, match=message):
            tileir.launch(scale, 1, args, backend="cpu")
    with pytest.raises(LaunchError, match="the grid has extent 0"):
        tileir.launch(scale, (0,), (a, a, 2.0, 16), backend="cpu")
    with pytest.raises(LaunchError, match="the arguments of a launch are a tuple"):
        tileir.launch(scale, 1, {0: a, 1: a, 2: 2.0, 3: 16}, backend="cpu")  # type: ignore[arg-type]


def test_what_a_kernel_was_compiled_for_goes_with_it() -> None:
    kernel = scale.replace_hints()
    a = numpy.zeros(16, F32)
    known(kernel, 1, (a, a, 2.0, 16))
    alive = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert alive() is None


def test_arrays_of_a_recognized_launch_are_not_kept() -> None:
    a = numpy.zeros(16, F32)
    known(scale, 1, (a, a, 2.0, 16))
    alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is None


FACTOR = 2.0


@ct.kernel
def scale_by_global(a):
    ct.store(a, (0,), ct.load(a, (0,), (4,)) * FACTOR)


def test_global_of_a_kernel_is_as_it_was_when_it_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    a = numpy.ones(4, F32)
    known(scale_by_global, 1, (a,))
    monkeypatch.setitem(globals(), "FACTOR", 10.0)
    tileir.launch(scale_by_global, 1, (a,), backend="cpu")
    assert a.tolist() == [16.0] * 4


def test_address_of_an_array_is_numpys() -> None:
    assert READS_HEADERS, "on CPython the address is read without a detour"
    whole = numpy.zeros((5, 7), "f8")
    for array in (whole, whole[2:, 3:], whole.T, whole[::-1], whole[5:], numpy.zeros(()), numpy.zeros(3, "V5")):
        assert address_of(array) == array.ctypes.data


@ct.kernel
def spread(out, step):
    ct.scatter(out, ct.arange(16, dtype=ct.int32) * step, ct.ones((16,), ct.float32), check_bounds=False)


def test_access_past_an_array_is_named_in_a_recognized_launch() -> None:
    out = numpy.zeros(16, F32)
    known(spread, 1, (out, 1))
    for _ in range(2):
        with pytest.raises(tileir.ExecutionError, match=r"past the end of out \(array float32"):
            tileir.launch(spread, 1, (out, 100), backend="cpu")
        tileir.launch(spread, 1, (out, 1), backend="cpu")
    assert out.tolist() == [1.0] * 16


def test_recognized_launches_of_many_tile_blocks_do_all_of_them() -> None:
    for blocks in (1, 3, 17, 700, 5000):
        a, out = numpy.arange(16 * blocks, dtype=F32), numpy.zeros(16 * blocks, F32)
        for _ in range(4):
            out[:] = 0
            tileir.launch(scale, (blocks,), (a, out, 2.0, 16), backend="cpu")
            assert (out == a * 2).all()


def test_recognized_launches_keep_their_order_where_they_overlap() -> None:
    arrays = [numpy.full(64, number + 1, F32) for number in range(3)]
    known(scale, 4, (arrays[0].copy(), arrays[1].copy(), 2.0, 16))
    with tileir.kernels.overlap():
        for first, second in ((0, 1), (1, 2), (2, 0)):
            tileir.launch(scale, 4, (arrays[first], arrays[second], 2.0, 16), backend="cpu")
    assert [array[63] for array in arrays] == [8, 2, 4]
