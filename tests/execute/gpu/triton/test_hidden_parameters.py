"""What code of Triton takes beside the arguments, as the driver gets it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_cuda import PRIMARY, FakeDriver, entry_of

import tileir
from tileir.execute.gpu.launch_record import LaunchForm, Packer, Record
from tileir.execute.gpu.loaded_code import NotDescribed
from tileir.execute.gpu.triton.code import Slot, TensorMap, argument, constant
from tileir.execute.gpu.triton.device_memory import release_scratch
from tileir.execute.gpu.triton.hidden_parameters import HiddenParameters, launch_form
from tileir.execute.gpu.triton.variants import Classifier
from tileir.execute.memory import Globals

MAP = TensorMap(
    argument(0), (argument(1), constant(64)), (argument(2), constant(1)), 2, (16, 32), element_type=6, swizzle=3
)
PARAMETERS = "%a: tile<ptr<f16>>, %m: tile<i32>, %s: tile<i32>"


@pytest.fixture
def gpu(fake: FakeDriver) -> FakeDriver:
    fake.reset(count=2)
    fake.push(PRIMARY)
    return fake


class FakeCode:
    """As much of compiled code as is looked at."""

    def __init__(self, *slots: Slot) -> None:
        self.threads, self.shared, self.cluster, self.slots = 128, 1000, 1, slots


class Launches:
    """Records of some code, filled, and read as the driver would."""

    def __init__(self, *slots: Slot, globals: Globals | None = None, more: str = "") -> None:
        entry = entry_of(PARAMETERS, more=more)
        form = launch_form(FakeCode(*slots))  # type: ignore[arg-type]
        assert form == LaunchForm(128, 1000, 1, form.parameters)
        self.packer = Packer(entry, form)
        self.slots = slots
        types = [each.type for each in entry.regions[0].blocks[0].arguments]
        regions = {} if globals is None else globals.regions
        self.hidden = HiddenParameters(self.packer, slots, regions, Classifier(types, ()).signed)

    def record(self, values: list[Any], grid: tuple[int, int, int] = (2, 3, 4), stream: int = 0, context: int = PRIMARY,
               is_kept: bool = False) -> Record:  # fmt: skip
        record = self.packer.take()
        complete = self.hidden.complete()
        if complete is not None:
            complete(record, context, grid, stream, values, is_kept)
        return record

    def parameter(self, record: Record, number: int) -> bytes:
        table = ctypes.cast(record.parameters, ctypes.POINTER(ctypes.c_void_p))
        assert record.parameters.value is not None
        size = 128 if self.slots[number].kind == "descriptor" else 8
        return ctypes.string_at(table[number], size)

    def word(self, record: Record, number: int) -> int:
        return int.from_bytes(self.parameter(record, number), "little")


def test_descriptor_is_what_the_driver_makes_of_the_arguments(gpu: FakeDriver) -> None:
    launches = Launches(Slot("argument", 0), Slot("descriptor", MAP), Slot("argument", 1), Slot("nothing"),
                        Slot("descriptor", MAP._replace(fill_nan=True, swizzle=1)), Slot("nothing"))  # fmt: skip
    record = launches.record([1 << 20, 100, 128])
    assert gpu.calls("cuTensorMapEncodeTiled") == [
        f"cuTensorMapEncodeTiled type 6 dims 64 100 strides 256 box 32/1 16/1 interleave 0 swizzle {swizzle} "
        f"promotion 2 fill {fill}"
        for swizzle, fill in ((3, 0), (1, 1))
    ]
    for number, swizzle in ((1, 3), (4, 1)):
        words = numpy.frombuffer(launches.parameter(record, number), numpy.uint64)
        assert list(words[:4]) == [1 << 20, 2, 64, swizzle]
        table = ctypes.cast(record.parameters, ctypes.POINTER(ctypes.c_size_t))
        assert table[number] % 64 == 0
    assert launches.word(record, 3) == launches.word(record, 5) == 0


def test_descriptors_are_made_once_for_arguments_that_are_alike(gpu: FakeDriver) -> None:
    launches = Launches(Slot("descriptor", MAP))
    values: list[Any] = [1 << 20, 100, 128]
    first = launches.parameter(launches.record(values), 0)
    for _ in range(3):
        assert launches.parameter(launches.record(values), 0) == first
    assert launches.parameter(launches.record([numpy.uint64(1 << 20), numpy.int32(100), numpy.int32(128)]), 0) == first
    assert len(gpu.calls("cuTensorMapEncodeTiled")) == 1
    assert launches.parameter(launches.record([1 << 21, 100, 128]), 0) != first
    assert len(gpu.calls("cuTensorMapEncodeTiled")) == 2


def test_many_descriptors_are_not_kept(gpu: FakeDriver) -> None:
    launches = Launches(Slot("descriptor", MAP))
    for number in range(600):
        launches.record([16 * number + 16, 100, 128])
    assert len(launches.hidden._encoded) <= 256


def test_dimension_of_one_element_has_any_stride(gpu: FakeDriver) -> None:
    Launches(Slot("descriptor", MAP)).record([1 << 20, 1, 7])
    assert "dims 64 1 strides 16 " in gpu.calls("cuTensorMapEncodeTiled")[0]


@pytest.mark.parametrize(
    "values", [[1 << 20, 100, 127], [(1 << 20) + 8, 100, 128], [1 << 20, 0, 128], [1 << 20, -5, 128]]
)
def test_what_the_driver_does_not_describe_is_told(gpu: FakeDriver, values: list[int]) -> None:
    with pytest.raises(NotDescribed):
        Launches(Slot("descriptor", MAP)).record(values)


def test_other_failures_of_the_driver_are_told(gpu: FakeDriver) -> None:
    gpu.fail("cuTensorMapEncodeTiled", 999)
    with pytest.raises(tileir.LaunchError, match="describing an array failed: cuTensorMapEncodeTiled reports"):
        Launches(Slot("descriptor", MAP)).record([1 << 20, 100, 128])


def test_global_variables_are_shared_and_begin_as_on_the_host(gpu: FakeDriver) -> None:
    module = tileir.parse(
        "cuda_tile.module @m { global @a <i32: [1, 2, 3, 4]> : tile<4xi32> global @b <i32: 7> : tile<2xi32> entry @k() { return } }"
    )
    shared = Globals(module)
    shared.array("a")[0] = 9
    one = Launches(Slot("nothing"), Slot("global", "a"), globals=shared)
    other = Launches(Slot("global", "b"), Slot("global", "a"), globals=shared)
    address = one.word(one.record([0, 0, 0]), 1)
    record = other.record([0, 0, 0])
    assert other.word(record, 1) == address and other.word(record, 0) not in (0, address)
    assert list((ctypes.c_int32 * 4).from_address(address)) == [9, 2, 3, 4]
    # Another context has its own, and another module too.
    gpu.push(PRIMARY + 1)
    assert one.word(one.record([0, 0, 0], context=PRIMARY + 1), 1) != address
    gpu.push(PRIMARY)
    alone = Launches(Slot("global", "a"), globals=Globals(module))
    assert alone.word(alone.record([0, 0, 0]), 0) != address


def test_table_of_constants_is_on_the_gpu_once(gpu: FakeDriver) -> None:
    one, other = Launches(Slot("table", b"\x01\x02\x03")), Launches(Slot("nothing"), Slot("table", b"\x01\x02\x03"))
    address = one.word(one.record([0, 0, 0]), 0)
    assert ctypes.string_at(address, 3) == b"\x01\x02\x03"
    assert other.word(other.record([0, 0, 0]), 1) == address
    assert len(gpu.calls("cuMemAlloc_v2")) == 1


def test_scratch_is_that_of_a_stream_and_grows(gpu: FakeDriver) -> None:
    launches = Launches(Slot("scratch", (100, 1)), Slot("scratch", (64, 128)))
    record = launches.record([0, 0, 0])
    first, second = launches.word(record, 0), launches.word(record, 1)
    assert (second - first) % 128 == 0 and second - first >= 100 * 24
    again = launches.record([0, 0, 0])
    assert launches.word(again, 0) == first
    # Launches of another stream may be under way at the same time.
    assert launches.word(launches.record([0, 0, 0], stream=gpu.stream()), 0) != first
    larger = launches.record([0, 0, 0], grid=(1000, 1, 1))
    assert launches.word(larger, 0) != first
    sizes = [int(call.rpartition(" ")[2]) for call in gpu.calls("cuMemAlloc_v2")]
    assert sizes[-1] >= 1000 * (100 + 64)
    assert not gpu.calls("cuMemFree_v2")
    release_scratch()
    assert len(gpu.calls("cuMemFree_v2")) == 3 and gpu.calls("cuCtxSynchronize")


@pytest.mark.parametrize("why", ["graph", "kept"])
def test_scratch_that_is_launched_again_is_its_own(gpu: FakeDriver, why: str) -> None:
    launches = Launches(Slot("scratch", (100, 16)))
    usual = launches.word(launches.record([0, 0, 0]), 0)
    gpu.capture(why == "graph")
    kept = launches.word(launches.record([0, 0, 0], is_kept=why == "kept"), 0)
    gpu.capture(False)
    assert kept != usual
    # Memory cannot be reserved while a graph is made, unless one says that it has no part in it.
    modes = [call.rpartition(" ")[2] for call in gpu.calls("cuThreadExchangeStreamCaptureMode")]
    assert modes == ["2", "0"] * 2
    release_scratch()
    assert len(gpu.calls("cuMemFree_v2")) == 1


def test_nothing_needs_no_filling(gpu: FakeDriver) -> None:
    launches = Launches(Slot("argument", 0), Slot("nothing"), Slot("nothing"))
    assert launches.hidden.complete() is None
    assert launches.word(launches.packer.take(), 1) == 0
