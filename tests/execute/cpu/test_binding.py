"""Arguments in launch records: the short way writes what the thorough way writes, and refuses nothing on its own."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import ml_dtypes
import numpy
import pytest

import tileir
from tileir.execute.arguments.binding import TORCH_DTYPES, bind, pointer_to
from tileir.execute.cpu.runtime.binder import Binder, tensors_for
from tileir.execute.cpu.runtime.launch_record import ARGUMENTS, CHUNK, COUNT, FAILED, GRID, NEXT, STOP
from tileir.execute.errors import LaunchError
from tileir.execute.launching.entries import select_entry

PROGRAM = """
cuda_tile.module @m {{
  entry @k({parameters}) {{
    {body}
    return
  }}
}}
"""
COPY = """%x, %t = load_ptr_tko weak %a : tile<ptr<{0}>> -> tile<{0}>, token
    %u = store_ptr_tko weak %c, %x : tile<ptr<{0}>>, tile<{0}> -> token"""


def binder_of(parameters: str, body: str = "") -> Binder:
    return Binder(select_entry(tileir.parse(PROGRAM.format(parameters=parameters, body=body)), None))


def copying(element: str) -> Binder:
    """Reads through a, writes through c, leaves b alone."""
    pointers = ", ".join(f"%{name}: tile<ptr<{element}>>" for name in "abc")
    return binder_of(pointers, COPY.format(element))


def arguments_of(binder: Binder, *arguments: object) -> list[int]:
    """The argument slots of a launch, without a sign."""
    slots = binder(arguments, (1, 1, 1), 1).record.slots
    return [slots[ARGUMENTS + number] & (2**64 - 1) for number in range(len(arguments))]


def test_record_begins_with_the_grid_and_nothing_of_an_earlier_launch() -> None:
    binder = copying("f32")
    arrays = [numpy.zeros(4, numpy.float32) for _ in range(3)]
    first = binder(tuple(arrays), (5, 3, 2), 4)
    for slot in (NEXT, STOP, FAILED):
        first.record.slots[slot] = 99
    binder.recycle(first)
    for arguments in (tuple(arrays), (pointer_to(arrays[0]), *arrays[1:])):
        second = binder(arguments, (6, 7, 1), 8)
        slots = second.record.slots
        assert second is first
        assert (slots[NEXT], slots[COUNT], slots[CHUNK], slots[STOP], slots[FAILED]) == (0, 42, 8, 0, 0)
        assert list(slots[GRID : GRID + 3]) == [6, 7, 1]
        binder.recycle(second)


def test_launches_at_the_same_time_have_records_of_their_own() -> None:
    binder = copying("f32")
    arrays = tuple(numpy.zeros(4, numpy.float32) for _ in range(3))
    assert binder(arrays, (1, 1, 1), 1).record.address != binder(arrays, (1, 1, 1), 1).record.address


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        ("f32", numpy.float32), ("f64", numpy.float64), ("f16", numpy.float16), ("i32", numpy.int32),
        ("i32", numpy.uint32), ("i1", numpy.bool_), ("i8", numpy.uint8), ("bf16", ml_dtypes.bfloat16),
        ("bf16", numpy.uint16), ("f8E4M3FN", ml_dtypes.float8_e4m3fn),
    ],
)  # fmt: skip
def test_arrays_take_the_short_way_and_give_their_addresses(element: str, dtype: Any) -> None:
    binder = copying(element)
    arrays = tuple(numpy.zeros((2, 3), dtype) for _ in range(3))
    binding = binder(arrays, (1, 1, 1), 1)
    assert binding.bound is None
    assert arguments_of(binder, *arrays) == [value.ctypes.data for value in arrays]


def test_short_way_writes_what_the_thorough_one_writes() -> None:
    binder = copying("f32")
    arrays = tuple(numpy.zeros((2, 3), numpy.float32) for _ in range(3))
    short = binder(arrays, (5, 3, 2), 4)
    thorough = binder(arrays, (5, 3, 2), 4, lambda *_given: None)
    assert short.bound is None and thorough.bound is not None
    assert list(short.record.slots) == list(thorough.record.slots)
    assert not (short.overlap or thorough.overlap)


def test_unusual_arrays_give_their_addresses_too() -> None:
    binder = copying("f32")
    memory = numpy.zeros((8, 8), numpy.float32)
    constant = numpy.zeros(4, numpy.float32)
    constant.flags.writeable = False
    output = numpy.zeros(4, numpy.float32)
    view = memoryview(array("f", [1.0]))
    cases = [constant, numpy.zeros(0, numpy.float32), pointer_to(memory[:, ::2]), view, memory[3], 4096]
    for value in cases:
        expected = bind(binder.entry, (value, output, output)).values
        assert arguments_of(binder, value, output, output) == [int(number) for number in expected]


@pytest.mark.parametrize("element", ["i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "tf32"])
def test_scalars_have_the_bits_that_the_thorough_way_gives(element: str) -> None:
    binder = binder_of(f"%a: tile<{element}>")
    values: list[Any] = [0, 1, True, numpy.int8(1), -1]
    if element[0] == "i":
        width = int(element[1:])
        values += [-(1 << (width - 1)), (1 << width) - 1, numpy.int64(-1)]
    else:
        values += [0.1, -0.0, 1e300, -1e-300, float("inf"), 65504.0, 1 + 2**-11, numpy.float32(0.1), numpy.float64(0.1)]
    for value in values:
        expected = numpy.asarray(bind(binder.entry, (value,)).values[0])
        bits = int.from_bytes(expected.tobytes(), "little")
        assert arguments_of(binder, value) == [bits], value
    if element[0] != "i":
        [bits] = arguments_of(binder, float("nan"))
        stored = numpy.frombuffer(bits.to_bytes(8, "little"), expected.dtype)[0]
        assert numpy.isnan(numpy.float64(stored))


def test_refusals_are_those_of_every_engine() -> None:
    binder = binder_of("%a: tile<ptr<f32>>, %n: tile<i8>, %s: tile<f32>")
    good = numpy.zeros((4, 4), numpy.float32)
    cases: list[tuple[object, ...]] = [
        (good, 1), (good, 1, 1.0, 1), (), (good.astype(numpy.float64), 1, 1.0), (good[:, ::2], 1, 1.0),
        (good, 256, 1.0), (good, -129, 1.0), (good, 1.5, 1.0), (good, 1, "x"), (good, 1, good), ([1.0], 1, 1.0),
        (None, 1, 1.0), (good.T, 1, 1.0), (good, None, 1.0), (-5, 1, 1.0), (good.byteswap().view(">f4"), 1, 1.0),
    ]  # fmt: skip
    for arguments in cases:
        with pytest.raises(LaunchError) as thorough:
            bind(binder.entry, arguments)
        with pytest.raises(LaunchError) as short:
            binder(arguments, (1, 1, 1), 1)
        assert short.value.message == thorough.value.message
    assert arguments_of(binder, good, 1, 1.0)[1] == 1


def test_read_only_array_is_refused_where_the_kernel_writes() -> None:
    binder = copying("f32")
    arrays = [numpy.zeros(4, numpy.float32) for _ in range(3)]
    arrays[2].flags.writeable = False
    with pytest.raises(LaunchError, match="is read-only"):
        binder(tuple(arrays), (1, 1, 1), 1)


def test_overlap_counts_where_one_of_two_is_written() -> None:
    binder = copying("f32")
    memory = numpy.zeros(64, numpy.float32)
    other = numpy.zeros(64, numpy.float32)
    left, right, middle = memory[:32], memory[32:], memory[16:48]

    def overlap(*arguments: object) -> bool:
        return binder(arguments, (1, 1, 1), 1).overlap

    assert not overlap(left, other, right)
    assert not overlap(memory, memory, other)
    assert overlap(memory, other, memory)
    assert overlap(left, other, middle)
    assert overlap(middle, other, right)
    assert overlap(other, middle, right)
    # The thorough way says the same.
    assert not overlap(pointer_to(left), other, right)
    assert not overlap(pointer_to(memory), memory, other)
    assert overlap(pointer_to(left), other, middle)
    assert overlap(memory[::-1][:0], other, pointer_to(other[::-1]))
    # Nobody knows what is at an address.
    assert overlap(memory.ctypes.data, other, right)


def test_kernel_without_parameters_has_a_record() -> None:
    binder = binder_of("")
    assert binder((), (3, 1, 1), 1).record.slots[COUNT] == 3
    with pytest.raises(LaunchError, match="takes 0 arguments"):
        binder((1,), (3, 1, 1), 1)


# --- tensors ---


class _Tensor:
    """What the short way looks at in a tensor of torch."""

    def __init__(self, array: Any, *, is_cpu: bool = True) -> None:
        self.array = array
        self.dtype = f"torch.{array.dtype.name}"
        self.is_cpu = is_cpu
        self.nbytes = array.nbytes
        self.shape = array.shape
        self.device = SimpleNamespace(type="cpu" if is_cpu else "cuda")
        self.is_nested = False

    def is_neg(self) -> bool:
        return False

    def untyped_storage(self) -> Any:
        return SimpleNamespace(data_ptr=lambda: 1, nbytes=lambda: 1 << 64)

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    def stride(self) -> tuple[int, ...]:
        return tuple([stride // self.array.itemsize for stride in self.array.strides])

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data) if self.array.size else 0

    def __dlpack__(self) -> object:
        raise AssertionError("a tensor is shared by its address")


_Tensor.__module__ = "torch"


class _Subclass(_Tensor):
    pass


_Subclass.__module__ = "torch.other"


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    dtypes = {name: f"torch.{name}" for name in TORCH_DTYPES}
    module = SimpleNamespace(Tensor=_Tensor, nn=SimpleNamespace(Parameter=type(None)), **dtypes)
    monkeypatch.setitem(sys.modules, "torch", cast(Any, module))
    tensors_for.cache_clear()
    yield
    tensors_for.cache_clear()


@pytest.mark.usefixtures("torch")
def test_tensors_take_the_short_way_beside_arrays() -> None:
    binder = copying("f32")
    arrays = [numpy.zeros(4, numpy.float32) for _ in range(3)]
    for arguments in ([*map(_Tensor, arrays)], [arrays[0], _Tensor(arrays[1]), arrays[2]]):
        assert binder(tuple(arguments), (1, 1, 1), 1).bound is None
        assert arguments_of(binder, *arguments) == [array.ctypes.data for array in arrays]
    assert binder((_Tensor(arrays[2]), arrays[1], arrays[2]), (1, 1, 1), 1).overlap


@pytest.mark.usefixtures("torch")
def test_other_tensors_take_the_thorough_way() -> None:
    binder = copying("f32")
    a, b, c = (numpy.zeros((4, 4), numpy.float32) for _ in range(3))
    binder((_Tensor(a), _Tensor(b), _Tensor(c)), (1, 1, 1), 1)
    assert binder((_Subclass(a), b, c), (1, 1, 1), 1).bound is not None
    assert binder((_Tensor(a[:0]), b, c), (1, 1, 1), 1).bound is not None
    for wrong, message in (
        (_Tensor(a.T[1:]), "not contiguous"),
        (_Tensor(a.astype(numpy.int32)), "but a tensor int32"),
        (_Tensor(a, is_cpu=False), "is a tensor on"),
    ):
        with pytest.raises(LaunchError, match=message):
            binder((wrong, b, c), (1, 1, 1), 1)


def test_spans_are_the_bytes_of_each_pointer_and_whether_they_are_written() -> None:
    binder = copying("f32")
    a, b, c = (numpy.zeros((4, 4), numpy.float32) for _ in range(3))
    wanted = [(array.ctypes.data, array.ctypes.data + 64, array is c) for array in (a, b, c)]
    assert binder.spans(binder((a, b, c), (1, 1, 1), 1)) == wanted
    strided = (a, b, pointer_to(c[::-1, ::2]))
    wanted[2] = (c.ctypes.data, c.ctypes.data + 60, True)
    assert binder.spans(binder(strided, (1, 1, 1), 1)) == wanted
    bare = (a, b.ctypes.data, c)
    assert binder.spans(binder(bare, (1, 1, 1), 1)) is None
