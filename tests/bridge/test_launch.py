"""`tileir.launch` and `tileir.emulate`: what kernels are compiled for, what is shared, and every mistake's message."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import ml_dtypes
import numpy
import pytest

import tileir
from tileir.bridge import launch as bridge
from tileir.bridge.frames import hide_own_frames
from tileir.bridge.parameters import ArrayParameter, ConstantParameter, constant_key, describe, words_of
from tileir.execute.errors import MissingDependencyError

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed: pip install cuda-tile")

F32 = numpy.float32


@ct.kernel
def add(a, b, out):
    place = ct.bid(0)
    ct.store(out, (place,), ct.load(a, (place,), (16,)) + ct.load(b, (place,), (16,)))


@ct.kernel
def fill(out, value, N: ct.Constant[int]):
    ct.store(out, (0,), ct.full((N,), value, out.dtype))


@ct.kernel
def first_of(arrays, out):
    ct.store(out, (0,), ct.load(arrays[0], (0,), (4,)))


@ct.kernel
def sum_of_pair(pair: tuple[Any, ct.Constant[float]], out):
    ct.store(out, (0,), ct.load(pair[0], (0,), (4,)) + pair[1])


@ct.kernel
def indexed_widely(a: ct.IndexedWithInt64, out):
    ct.store(out, (0,), ct.load(a, (0,), (4,)))


@ct.kernel
def static_shape(a: Annotated[Any, ct.ArrayAnnotation(static_shape_dims=(-1,))], out):
    ct.store(out, (0,), ct.full((a.shape[1],), a.shape[0], out.dtype))


def description(kernel: Any, *arguments: object) -> Any:
    function = kernel._annotated_function
    names, annotations = list(function.pysig.parameters), list(function.parameter_annotations)
    return describe(function.pyfunc.__name__, names, annotations, arguments)


def array_parameter(array: Any) -> ArrayParameter:
    found = description(fill, array, 1, 4).parameters[0]
    assert isinstance(found, ArrayParameter)
    return found


def aligned(*shape: int, dtype: Any = F32, offset: int = 0) -> Any:
    """An array at an address that is `offset` bytes past a multiple of 64."""
    dtype = numpy.dtype(dtype)
    size = int(numpy.prod(shape)) * dtype.itemsize
    room = numpy.zeros(size + 128, numpy.uint8)
    start = -room.ctypes.data % 64 + offset
    return room[start : start + size].view(dtype).reshape(shape)


def test_launches_overlap_and_keep_their_order() -> None:
    arrays = [numpy.full(32, number, F32) for number in range(4)]
    with tileir.kernels.overlap():
        for first, second in ((0, 1), (1, 2), (2, 3)):
            tileir.launch(add, 2, (arrays[first], arrays[second], arrays[second]), backend="cpu")
        with tileir.emulate("cpu"):
            ct.launch(None, (2,), add, (arrays[3], arrays[0], arrays[0]))
    assert [array[31] for array in arrays] == [6, 1, 3, 6]


# --- what a kernel is compiled for ---


def facts(array: Any) -> list[str]:
    """What a kernel relies on, without the dtype and the rank."""
    return words_of(array_parameter(array), True).split(", ")[1:]


ALIGNED = "at a multiple of 16 bytes"
DISTINCT = "without elements that overlap"


def test_contiguous_array_is_specialized() -> None:
    found = array_parameter(aligned(20, 32))
    assert (found.dtype, found.rank, found.index_width) == ("float32", 2, 32)
    multiples = ["extent a multiple of 16 along axis 1", "stride a multiple of 4 along axis 0"]
    assert facts(aligned(20, 32)) == [*multiples, "stride 1 along axis 1", ALIGNED, DISTINCT]


def test_stride_divisor_is_in_elements() -> None:
    for extent, dtype, expected in ((8, "f2", ["8"]), (12, "f2", []), (16, "u1", ["16"])):
        strides = [f"stride a multiple of {divisor} along axis 0" for divisor in expected]
        found = [fact for fact in facts(aligned(4, extent, dtype=dtype)) if fact.startswith("stride a multiple")]
        assert found == strides


def test_unaligned_base_and_odd_strides_are_not_assumed() -> None:
    assert facts(aligned(17, 33, offset=4)) == ["stride 1 along axis 1", DISTINCT]


def test_column_major_array_has_its_first_stride_known() -> None:
    assert "stride 1 along axis 0" in facts(aligned(32, 20).T)


def test_elements_that_overlap_are_told() -> None:
    windows = numpy.lib.stride_tricks.as_strided(aligned(32), (8, 4), (4, 4))
    assert DISTINCT not in facts(windows)
    assert DISTINCT not in facts(numpy.broadcast_to(aligned(1), (8,)))
    assert DISTINCT in facts(aligned(8, 4)[::2])
    assert DISTINCT in facts(aligned(8, 4).T)


def test_arrays_of_high_rank_are_not_specialized() -> None:
    assert facts(aligned(16, 1, 1, 1, 1, 16)) == [ALIGNED, DISTINCT]


def test_list_is_compiled_for_what_all_its_arrays_share() -> None:
    arrays = [aligned(16), aligned(32, offset=4), aligned(20)]
    (found, _) = description(first_of, arrays, aligned(4)).parameters
    assert words_of(found, True) == f"a list of float32 of rank 1, stride 1 along axis 0, {DISTINCT}"


def test_table_of_a_list_has_addresses_extents_and_strides() -> None:
    arrays = [aligned(16), aligned(40)[::2]]
    found = description(first_of, arrays, aligned(4))
    assert found.values[0].array.tolist() == [[arrays[0].ctypes.data, 16, 1], [arrays[1].ctypes.data, 20, 2]]
    assert found.values[1] == 2
    assert [pointer.array for pointer in found.memory] == arrays


def test_array_is_passed_as_pointer_extents_and_strides() -> None:
    a = aligned(4, 6)[:, ::2]
    found = description(add, a, aligned(4), aligned(4))
    assert found.values[1:5] == [4, 3, 6, 2]


def test_constants_of_different_types_are_different() -> None:
    values = [1, True, 1.0, 0.0, -0.0]
    assert len({ConstantParameter(constant_key(value), value) for value in values}) == len(values)
    nans = [float("nan"), float("nan")]
    assert len({ConstantParameter(constant_key(nan), nan) for nan in nans}) == 1


def test_annotated_index_width_reaches_the_kernel() -> None:
    a, out = numpy.arange(4, dtype=F32), numpy.zeros(4, F32)
    tileir.launch(indexed_widely, 1, (a, out))
    assert out.tolist() == [0, 1, 2, 3]
    assert "tile<i64>" in str(tileir.load(bridge.export(indexed_widely, (a, out))))


def test_static_extent_is_a_constant_of_the_kernel() -> None:
    out = numpy.zeros(8, F32)
    tileir.launch(static_shape, 1, (numpy.zeros((5, 8), F32), out))
    assert out.tolist() == [5] * 8


def test_tuple_items_follow_their_annotations() -> None:
    out = numpy.zeros(4, F32)
    tileir.launch(sum_of_pair, 1, ((numpy.ones(4, F32), 0.5), out))
    assert out.tolist() == [1.5] * 4


# --- compiling once ---


def test_kernel_is_compiled_once_for_arguments_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    exports: list[int] = []
    original = bridge._exported

    def counted(*arguments: Any) -> bytes:
        exports.append(1)
        return original(*arguments)

    @ct.kernel
    def double(a, out):
        ct.store(out, (0,), ct.load(a, (0,), (16,)) * 2)

    monkeypatch.setattr(bridge, "_exported", counted)
    for length, value in ((16, 1), (16, 2), (32, 3)):
        a, out = aligned(length), aligned(length)
        a[:] = value
        tileir.launch(double, 1, (a, out))
        assert out[:16].tolist() == [2 * value] * 16
    assert len(exports) == 1
    tileir.launch(double, 1, (aligned(16, dtype="f8"), aligned(16, dtype="f8")))
    tileir.launch(double, 1, (aligned(17), aligned(16)))
    assert len(exports) == 3


def test_constants_are_part_of_the_kind() -> None:
    for length in (4, 8):
        out = numpy.zeros(8, F32)
        tileir.launch(fill, 1, (out, 2.5, length))
        assert out.tolist() == [2.5] * length + [0.0] * (8 - length)


# --- arguments ---


class FakeTensor:
    """What the launch looks at in a torch tensor."""

    __module__ = "torch"

    def __init__(self, array: Any, name: str, device: str = "cpu") -> None:
        self.array = array
        self.dtype = f"torch.{name}"
        self.device = type("device", (), {"type": device, "__str__": lambda _: device})()
        self.shape = array.shape

    def is_neg(self) -> bool:
        return False

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def __dlpack__(self) -> None:
        raise AssertionError


def test_tensors_of_torch_are_taken_without_a_copy() -> None:
    a, out = numpy.arange(16).astype(ml_dtypes.bfloat16), numpy.zeros(16, ml_dtypes.bfloat16)
    tensors = [FakeTensor(array, "bfloat16") for array in (a, a, out)]
    tileir.launch(add, 1, tuple(tensors))
    assert out.tolist() == (a + a).tolist()


def test_scalars_of_numpy_are_numbers() -> None:
    out = numpy.zeros(4, F32)
    tileir.launch(fill, 1, (out, numpy.float64(1.5), numpy.int64(4)))
    assert out.tolist() == [1.5] * 4


def test_strided_arrays_are_read_and_written_in_place() -> None:
    base = numpy.arange(48, dtype=F32)
    out = numpy.zeros(32, F32)
    tileir.launch(add, 1, (base[::3], base[1::3], out[::2]))
    assert out[::2].tolist() == (base[::3] + base[1::3]).tolist()
    assert not out[1::2].any()


A = numpy.zeros(16, F32)
MISTAKES: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "count": (add, (A, A), r"^error: add takes 3 arguments \(a, b, out\), but 2 were given"),
    "no kernel": (lambda a: a, (A,), "decorate it with @cuda.tile.kernel"),
    "object": (add, (A, A, object()), "argument 'out' of add is an object, which no kernel can take: pass an array"),
    "string": (add, (A, A, "x"), "argument 'out' of add is a str, .* annotate the parameter with ct.Constant"),
    "dtype": (add, (A, A.astype(complex), A), "argument 'b' of add is an array of complex128.*convert it"),
    "byte order": (add, (A, A.astype(">f4"), A), "argument 'b' of add is an array of >f4"),
    "negative stride": (add, (A, A[::-1], A), "argument 'b' of add has a negative stride along axis 0.*ascontiguous"),
    "big integer": (fill, (A, 1 << 40, 4), "argument 'value' of fill is 1099511627776, .*ct.ScalarInt64"),
    "array for a constant": (fill, (A, 1, A), "argument 'N' of fill is annotated as a constant, but an array"),
    "list for a constant": (fill, (A, 1, [4]), "argument 'N' of fill is annotated as a constant, but a list"),
    "empty list": (first_of, ([], A), "argument 'arrays' of first_of is an empty list: pass at least one array"),
    "list of numbers": (first_of, ([1, 2], A), "item 0 of argument 'arrays' of first_of is an int, but .* arrays"),
    "mixed list": (first_of, ([A, A.astype("f8")], A), r"item 1 .* is array float64\[16\], but item 0 .*one dtype"),
    "no tuple": (sum_of_pair, (A, A), "argument 'pair' of sum_of_pair is annotated as a tuple, but an ndarray"),
    "tuple length": (sum_of_pair, ((A,), A), "argument 'pair' of sum_of_pair is a tuple of 2 items, but one of 1"),
    "GPU tensor": (add, (FakeTensor(A, "float32", "cuda:0"), A, A), "argument 'a' of add is a tensor on cuda:0: pass"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_in_a_launch_says_what_to_do(name: str) -> None:
    kernel, arguments, message = MISTAKES[name]
    with pytest.raises(tileir.LaunchError, match=message):
        tileir.launch(kernel, 1, arguments)


def test_read_only_output_is_named() -> None:
    out = numpy.zeros(16, F32)
    out.flags.writeable = False
    with pytest.raises(tileir.LaunchError, match="argument 'out' of add is read-only"):
        tileir.launch(add, 1, (A, A, out))
    tileir.launch(add, 1, (out, out, numpy.zeros(16, F32)))


def test_arguments_that_are_no_tuple_are_told_apart() -> None:
    with pytest.raises(tileir.LaunchError, match=r"the arguments of a launch are a tuple, as .* of type ndarray"):
        tileir.launch(add, 1, A)  # type: ignore[arg-type]


def test_unknown_backend_is_refused() -> None:
    with pytest.raises(tileir.LaunchError, match="there is no backend 'abacus'"):
        tileir.launch(add, 1, (A, A, A.copy()), backend="abacus")


def test_empty_grid_is_refused() -> None:
    with pytest.raises(tileir.LaunchError, match="the grid has extent 0 along x"):
        tileir.launch(add, 0, (A, A, A.copy()))


def test_mistake_in_the_kernel_is_reported_by_cutile() -> None:
    @ct.kernel
    def wrong(a):
        ct.store(a, (0,), ct.load(a, (0, 0), (4,)))

    with pytest.raises(Exception, match=r"test_launch\.py") as caught:
        tileir.launch(wrong, 1, (A.copy(),))
    assert type(caught.value).__module__.startswith("cuda.tile")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes from Python 3.11 on")
def test_array_of_another_rank_than_the_kernel_expects_is_named() -> None:
    with pytest.raises(Exception, match="Index size 1 does not match the array rank 2") as caught:
        tileir.launch(add, 1, (A, A, A.reshape(4, 4)))
    assert caught.value.__notes__ == [
        "add is compiled for what it is launched with: "
        "a is float32 of rank 1, b is float32 of rank 1, out is float32 of rank 2",
        "help: give one index in tiles for each dimension of the array: 2:\n"
        "   28 |     ct.store(out, (place, 0), ct.load(a, (place,), (16,)) + ct.load(b, (place,), (16,)))",
    ]
    with pytest.raises(Exception, match="not a power of two") as caught:
        tileir.launch(fill, 1, (A, 1.0, 3))
    assert caught.value.__notes__[0].endswith("out is float32 of rank 1, value is float32, N is the constant 3")


def test_missing_cutile_is_named_with_its_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "cuda" or name.startswith("cuda.tile")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cuda", None)
    with pytest.raises(MissingDependencyError, match="pip install cuda-tile"):
        tileir.launch(lambda a: a, 1, (A,))
    # Kernels of Triton need no cuTile.
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(MissingDependencyError, match="pip install cuda-tile"), tileir.emulate():
        pass


# --- what is said of a kernel that goes wrong ---


@ct.kernel
def index_of_wrong_rank(out):
    ct.load(out, (0, 0), (4,))


def test_errors_of_the_compiler_of_cutile_have_no_frames_of_the_library() -> None:
    with pytest.raises(Exception, match="Index size 2") as caught:
        tileir.launch(index_of_wrong_rank, 1, (numpy.zeros(16, F32),))
    assert "ct.load(out, (0, 0), (4,))" in str(caught.value)
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert files[-1].endswith("launch.py") and len(files) < 6
    hide_own_frames(caught.value)
    assert [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)] == [__file__]


def _spread(out, step):
    ct.scatter(out, ct.arange(16, dtype=ct.int32) * step, ct.ones((16,), ct.float32), check_bounds=False)


@ct.kernel
def past_the_end(out, step):
    _spread(out, step)


def test_access_past_an_array_names_the_lines_of_the_kernel_and_the_parameter() -> None:
    with pytest.raises(tileir.ExecutionError) as caught:
        tileir.launch(past_the_end, 1, (numpy.zeros(16, F32), 100))
    report = str(caught.value)
    assert "past the end of out (array float32[16])" in report
    assert "    ct.scatter(out, ct.arange(16" in report
    assert "note: called from here" in report and "    _spread(out, step)" in report
    assert caught.value.diagnostics[0].position[0].endswith("test_launch.py")


@ct.kernel
def race(out):
    ct.scatter(out, 0, ct.gather(out, 0) + 1.0)


@ct.kernel
def number_tiles(c: Any) -> None:
    across = ct.num_tiles(c, axis=1, shape=(32, 32))
    block = ct.bid(0)
    ct.store(c, (block // across, block % across), ct.full((32, 32), 1.0, ct.float32))


def test_output_that_is_never_written_is_told_with_the_block_that_should_have() -> None:
    matrix = numpy.zeros((100, 100), F32)
    tileir.launch(number_tiles, 16, (matrix,), sanitize="all")
    assert matrix.all()
    with pytest.raises(tileir.SanitizerError) as caught:
        tileir.launch(number_tiles, 11, (matrix,), sanitize="all")
    finding = caught.value.report.findings[0]
    assert (
        finding.title
        == "528 of the 10000 elements of argument 'c' of number_tiles (array float32[100, 100]) are never written"
    )
    assert finding.details == [
        "[64..95, 96..99]: tile block (11, 0, 0) would write it, and the grid is (11, 1, 1)",
        "[96..99, 0..99]: tile blocks (12, 0, 0) to (15, 0, 0) would write it, and the grid is (11, 1, 1)",
    ]
    assert finding.help == "launch a grid of (16, 1, 1): round up, as in -(-n // tile)"
    assert "| ct.store(c, (block // across" in str(caught.value)


@ct.kernel
def tiles_in_groups(c: Any, group: ct.Constant[int]) -> None:
    """The order in which products take their tiles, so that neighbors share operands."""
    down, across = ct.num_tiles(c, axis=0, shape=(16, 16)), ct.num_tiles(c, axis=1, shape=(16, 16))
    block = ct.bid(0)
    first = block // (group * across) * group
    rows = min(down - first, group)
    ct.store(c, (first + block % rows, block % (group * across) // rows), ct.full((16, 16), 1.0, ct.float32))


@ct.kernel
def tiles_in_turn(c: Any, count: ct.Constant[int], blocks: ct.Constant[int]) -> None:
    for tile in range(ct.bid(0), count, blocks):
        ct.store(c, (tile,), ct.full((32,), 1.0, ct.float32))


def test_what_is_never_written_is_told_for_tiles_in_groups_and_in_turn() -> None:
    def told(kernel: Any, grid: int, *values: Any) -> tuple[list[str], str]:
        try:
            tileir.launch(kernel, grid, values, sanitize="all")
        except tileir.SanitizerError as error:
            (finding,) = error.report.findings
            return finding.details, finding.help.partition(":")[0]
        return [], ""

    matrix, vector = numpy.zeros((100, 100), F32), numpy.zeros(320, F32)
    assert told(tiles_in_groups, 49, matrix, 2) == ([], "") == told(tiles_in_turn, 4, vector, 10, 4)
    assert told(tiles_in_groups, 48, matrix, 2) == (
        ["[96..99, 96..99]: each tile block writes one of the view's 49 tiles, and the grid is (48, 1, 1)"],
        "launch a grid of (49, 1, 1)",
    )
    assert told(tiles_in_turn, 4, vector, 9, 4)[0] == [
        "[288..319]: tile block (1, 0, 0) has it in the tile and leaves it out"
    ]
    assert told(tiles_in_turn, 3, vector, 10, 4) == (
        [
            "[96..127]: tile block (3, 0, 0) would write it, and the grid is (3, 1, 1)",
            "[224..255]: tile block (3, 0, 0) would write it, and the grid is (3, 1, 1)",
        ],
        "launch a grid of (4, 1, 1)",
    )


def test_sanitizer_shows_the_line_of_the_kernel() -> None:
    with pytest.raises(tileir.SanitizerError) as caught:
        tileir.launch(race, 2, (numpy.zeros(1, F32),), sanitize=True)
    assert "| ct.scatter(out, 0, ct.gather(out, 0) + 1.0)" in str(caught.value)
    assert "both touch out (array float32[1])" in str(caught.value)
    tileir.launch(race, 1, (numpy.zeros(1, F32),), sanitize=True)


@ct.kernel
def too_large(out):
    tile = ct.full((4096, 8192), 1.0, ct.float32)
    ct.store(out, (0, 0), tile + tile)


def test_a_tile_too_large_is_refused_at_its_line() -> None:
    with pytest.raises(tileir.BytecodeError) as caught:
        tileir.launch(too_large, (1,), (numpy.zeros((4096, 8192), F32),))
    (found,) = caught.value.diagnostics
    assert found.message == "tile would exceed the maximum of 16777216 elements"
    file, line, _ = found.position
    assert Path(file) == Path(__file__)
    assert "4096, 8192" in Path(__file__).read_text().splitlines()[line - 1]
    assert "|     tile = ct.full(" in str(caught.value)
