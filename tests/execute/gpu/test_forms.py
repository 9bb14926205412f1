"""Code that is launched in other forms than that of NVIDIA's assembler: threads, memory, parameters of its own."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_cuda import PRIMARY, FakeDriver, FakeTorch, Tensor, TextCubin, entry_of, pointer_bytes

from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.gpu.launch_record import Hidden, LaunchForm, Packer, Record
from tileir.execute.gpu.launcher import GpuLauncher
from tileir.execute.gpu.loaded_code import Complete, LaunchedCode, Launching, NotDescribed

ORDINARY = LaunchOptions()
PARAMETERS = "%a: tile<ptr<f32>>, %n: tile<i32>, %f: tile<f32>"


class Varied(GpuLauncher):
    """A kernel with a code for each value of `n`, whose launches are of a form."""

    def __init__(self, form: LaunchForm, sizes: str, complete: Complete | None = None) -> None:
        super().__init__(entry_of(PARAMETERS), oldest_driver=12000)
        self.form, self.sizes, self.complete = form, sizes, complete
        self.asked: list[list[Any]] = []
        self.codes: dict[tuple[int, bool], LaunchedCode] = {}

    @property
    def key_parts(self) -> tuple[str, ...]:
        return ("{a} & 15", "{a}", "")

    def code_for(self, launching: Launching) -> LaunchedCode | None:
        self.asked.append(list(launching.values))
        number = int(launching.values[1])
        key = (number, launching.is_described)
        if key not in self.codes:
            packer = Packer(self.entry, self.form._replace(threads=self.form.threads + number))
            complete = None if not launching.is_described else self.complete
            self.codes[key] = LaunchedCode(
                packer, self.entry, {}, lambda target: TextCubin("k", self.sizes, target), complete
            )
        return self.codes[key]


def parameters_of(call: str) -> list[str]:
    return call.partition(" parameters ")[2].partition(" attribute ")[0].split(",")


def launched(fake: FakeDriver) -> list[str]:
    return fake.calls("cuLaunchKernelEx")


@pytest.fixture
def tensor(fake: FakeDriver, torch: FakeTorch) -> Tensor:
    fake.push(PRIMARY)
    return Tensor(numpy.zeros(4, numpy.float32))


def test_threads_and_shared_memory_are_those_of_the_form(fake: FakeDriver, tensor: Tensor) -> None:
    kernel = Varied(LaunchForm(threads=128, shared=100 << 10), "8,4,4")
    for _ in range(3):
        kernel.launch((5, 2, 1), (tensor, 7, 1.0), ORDINARY)
    bound = kernel.bind((5, 2, 1), (tensor, 7, 1.0), ORDINARY)
    assert bound is not None
    bound()
    calls = launched(fake)
    assert len(calls) == 4 and len({call.partition(" context ")[2] for call in calls}) == 1
    for call in calls:
        assert f"grid 5 2 1 block 135 1 1 shared {100 << 10} " in call
        assert parameters_of(call) == [pointer_bytes(tensor.array), "07000000", struct.pack("<f", 1.0).hex()]
    assert set(fake.calls("cuFuncSetAttribute")) == {f"cuFuncSetAttribute k 8 {100 << 10}"}


def test_more_shared_memory_than_a_gpu_has_is_told(fake: FakeDriver, tensor: Tensor) -> None:
    kernel = Varied(LaunchForm(threads=128, shared=228 << 10), "8,4,4")
    with pytest.raises(LaunchError, match="reserving 233472 bytes of shared memory for @k failed"):
        kernel.launch((1, 1, 1), (tensor, 7, 1.0), ORDINARY)


def test_cluster_is_an_attribute_and_its_grid_larger(fake: FakeDriver, tensor: Tensor) -> None:
    kernel = Varied(LaunchForm(threads=32, cluster=2), "8,4,4")
    for _ in range(3):
        kernel.launch((5, 2, 1), (tensor, 0, 1.0), ORDINARY)
    for call in launched(fake):
        assert "grid 10 2 1 block 32 1 1 " in call and call.endswith(" attribute 4 2 1 1")
        assert parameters_of(call)[0] == pointer_bytes(tensor.array)


FORM = LaunchForm(32, parameters=(Hidden(128, 64), 2, 0, Hidden(), Hidden(128, 64), 1, Hidden()))
FORM_SIZES = "128,4,8,8,128,4,8"


class Filled:
    """Fills hidden parameters with what it is told, and notes what it is called with."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, BlockId, int, list[Any]]] = []
        self.packer: Packer | None = None
        self.refuses = False

    def __call__(
        self, record: Record, context: int, grid: BlockId, stream: int, values: Sequence[Any], is_kept: bool = False
    ) -> None:
        self.seen.append((context, grid, stream, list(values)))
        if self.refuses:
            raise NotDescribed
        assert self.packer is not None
        first, _, _, word, second, _, last = self.packer.places
        struct.pack_into("<128s", record.memory, first, b"first" * 20)
        struct.pack_into("<128s", record.memory, second, b"second" * 20)
        struct.pack_into("<Q", record.memory, word, 77)
        struct.pack_into("<Q", record.memory, last, 78)


@pytest.mark.parametrize("way", ["launch", "bind", "timed"])
def test_hidden_parameters_stand_between_arguments(fake: FakeDriver, torch: FakeTorch, way: str) -> None:
    fake.push(PRIMARY)
    filled = Filled()
    kernel = Varied(FORM, FORM_SIZES, filled)
    filled.packer = Packer(kernel.entry, FORM)
    tensor = Tensor(numpy.zeros(4, numpy.float32))
    arguments = (tensor, -3, 0.5)
    torch.streams[0] = stream = fake.stream()
    if way == "launch":
        for _ in range(3):
            kernel.launch((2, 3, 4), arguments, ORDINARY)
    elif way == "bind":
        bound = kernel.bind((2, 3, 4), arguments, ORDINARY)
        assert bound is not None
        for _ in range(3):
            bound()
    else:
        kernel.timed((2, 3, 4), arguments, ORDINARY, 2, False)
    calls = launched(fake)
    assert len(calls) >= 3
    for call in calls:
        first, scalar, pointer, word, second, number, last = parameters_of(call)
        assert (
            bytes.fromhex(first).rstrip(b"\0") == b"first" * 20
            and bytes.fromhex(second).rstrip(b"\0") == b"second" * 20
        )
        assert (scalar, pointer) == (struct.pack("<f", 0.5).hex(), pointer_bytes(tensor.array))
        assert (word, number, last) == ((77).to_bytes(8, "little").hex(), "fdffffff", (78).to_bytes(8, "little").hex())
    for context, grid, of_stream, values in filled.seen:
        assert (context, grid, of_stream) == (PRIMARY, (2, 3, 4), stream)
        assert [int(values[0]), int(values[1]), float(values[2])] == [tensor.array.ctypes.data, -3, 0.5]


def test_code_is_asked_for_once_for_each_kind_of_launch(fake: FakeDriver, tensor: Tensor) -> None:
    kernel = Varied(LaunchForm(threads=32), "8,4,4")
    kernel.launch((1, 1, 1), (tensor, 1, 1.0), ORDINARY)
    kernel.launch((1, 1, 1), (tensor, 1, 2.0), ORDINARY)
    kernel.asked.clear()
    for number in (1, 2, 1, 2, 2):
        kernel.launch((1, 1, 1), (tensor, number, float(number)), ORDINARY)
    assert len(kernel.asked) == 1
    blocks = [call.partition(" block ")[2].partition(" ")[0] for call in launched(fake)]
    assert blocks == ["33", "33", "33", "34", "33", "34", "34"]


def test_launch_whose_array_cannot_be_described_goes_another_way(fake: FakeDriver, tensor: Tensor) -> None:
    filled = Filled()
    filled.refuses = True
    kernel = Varied(LaunchForm(threads=32), "8,4,4", filled)
    for _ in range(3):
        kernel.launch((1, 1, 1), (tensor, 1, 1.0), ORDINARY)
    assert len(launched(fake)) == 3 and len(filled.seen) == 5


def test_code_of_another_form_is_refused(fake: FakeDriver, tensor: Tensor) -> None:
    kernel = Varied(FORM, "8,4,4")
    with pytest.raises(LaunchError, match="its parameters take 8, 4, 4 bytes, and those of the kernel 128, 4, 8"):
        kernel.launch((1, 1, 1), (tensor, 1, 1.0), ORDINARY)
