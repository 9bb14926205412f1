"""Arrays of a GPU that say themselves where they are, and the streams that launches go to."""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy
import pytest
from tests.execute.gpu.fake_cuda import PRIMARY, CudaArray, FakeDriver, FakeTorch, Tensor, kernel_of, pointer_bytes

from tileir.execute.arguments.array_memory import _Versioned
from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.errors import LaunchError

ORDINARY = LaunchOptions()
POINTER = "%a: tile<ptr<f32>>"
STORE = "%v = constant <f32: 1.0> : tile<f32> %t = store_ptr_tko weak %a, %v : tile<ptr<f32>>, tile<f32> -> token"


def four(dtype: Any = numpy.float32) -> numpy.ndarray:
    return numpy.zeros(4, dtype)


def stream_of(call: str) -> int:
    return int(call.partition(" stream ")[2].split()[0], 16)


def streams(fake: FakeDriver) -> list[int]:
    return [stream_of(call) for call in fake.calls("cuLaunchKernelEx")]


# --- the array interface ---


@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_of_the_interface_are_taken(fake: FakeDriver, version: int) -> None:
    array = four()
    kernel_of(POINTER).launch((1, 1, 1), (CudaArray(fake, array, version=version),), ORDINARY)
    assert fake.calls("cuLaunchKernelEx")[0].endswith(f" parameters {pointer_bytes(array)}")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"shape": None}, "has None for its shape"),
        ({"shape": (-1,)}, "has a negative extent, -1"),
        ({"strides": (4, 4)}, "has 1 dimensions and 2 strides"),
        ({"typestr": "what"}, "has 'what' for the type of its elements"),
        ({"data": None}, "has None for its data"),
        ({"data": (0, False)}, "has no address"),
        ({"data": (0x1000, False)}, "reports that it is at 0x1000, where no GPU has memory"),
        ({"mask": 1}, "has a mask"),
        ({"stream": 0}, "has 0 for its stream, which should be a number above 0"),
        ({"stream": "s"}, "has 's' for its stream"),
    ],
)
def test_an_interface_that_makes_no_sense_is_refused_in_words(
    fake: FakeDriver, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(LaunchError) as caught:
        kernel_of(POINTER).launch((1, 1, 1), (CudaArray(fake, four(), **fields),), ORDINARY)
    assert caught.value.message.startswith(f"argument 0 of @k is a CudaArray that {words}")


def test_memory_of_the_host_that_the_driver_knows_is_taken(fake: FakeDriver) -> None:
    array = four()
    given = CudaArray(fake, array)
    fake.disown(array.ctypes.data)
    fake.own(array.ctypes.data, array.nbytes, is_host=True)
    kernel_of(POINTER).launch((1, 1, 1), (given,), ORDINARY)
    assert fake.calls("cuLaunchKernelEx")[0].endswith(pointer_bytes(array))


def test_dtypes_are_checked_with_the_words_of_the_host(fake: FakeDriver, torch: FakeTorch) -> None:
    for array in (CudaArray(fake, four(numpy.int32)), Tensor(four(numpy.int32))):
        with pytest.raises(
            LaunchError, match=r"is a pointer to f32, but an? \w+ int32\[4\] was given: pass one of dtype"
        ):
            kernel_of(POINTER).launch((1, 1, 1), (array,), ORDINARY)


def test_read_only_memory_is_refused_where_the_kernel_writes(fake: FakeDriver) -> None:
    array = four()
    array.flags.writeable = False
    kernel_of(POINTER).launch((1, 1, 1), (CudaArray(fake, array),), ORDINARY)
    with pytest.raises(LaunchError, match=r"argument 0 of @k is read-only \(array float32\[4\]\), but the kernel may"):
        kernel_of(POINTER, STORE).launch((1, 1, 1), (CudaArray(fake, array),), ORDINARY)


def test_an_empty_array_has_no_address(fake: FakeDriver, torch: FakeTorch) -> None:
    empty = numpy.zeros(0, numpy.float32)
    for array in (CudaArray(fake, empty, data=(0, False)), Tensor(empty)):
        kernel_of(POINTER).launch((1, 1, 1), (array,), ORDINARY)
        assert fake.calls("cuLaunchKernelEx")[-1].endswith(" parameters 0000000000000000")


def test_a_tensor_whose_memory_was_given_back_is_refused(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of(POINTER)
    tensor = Tensor(four())
    fake.push(PRIMARY)
    for _ in range(2):
        kernel.launch((1, 1, 1), (tensor,), ORDINARY)
    tensor.give_back()
    with pytest.raises(LaunchError, match=r"is a tensor float32\[4\] with only 0 bytes of memory behind it"):
        kernel.launch((1, 1, 1), (tensor,), ORDINARY)


def test_a_lazily_negated_tensor_is_refused_in_both_ways(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of(POINTER)
    tensor = Tensor(four())
    fake.push(PRIMARY)
    for _ in range(3):
        tensor.is_neg_view = True
        with pytest.raises(LaunchError, match=r"lazily negated tensor: pass tensor\.resolve_neg"):
            kernel.launch((1, 1, 1), (tensor,), ORDINARY)
        tensor.is_neg_view = False
        kernel.launch((1, 1, 1), (tensor,), ORDINARY)


# --- contexts that are not primary ---


def test_memory_of_another_context_is_used_in_that_context(fake: FakeDriver) -> None:
    context = fake.context()
    kernel = kernel_of("%a: tile<ptr<f32>>, %b: tile<ptr<f32>>")
    arguments = (CudaArray(fake, four(), context=context), CudaArray(fake, four(), context=context))
    for _ in range(2):
        kernel.launch((1, 1, 1), arguments, ORDINARY)
    assert [call.split(" context ")[1].split()[0] for call in fake.calls("cuLaunchKernelEx")] == [f"{context:#x}"] * 2
    with pytest.raises(LaunchError, match=r"argument 1 .* and argument 0 .* are in different CUDA contexts of cuda:0"):
        kernel.launch((1, 1, 1), (arguments[0], CudaArray(fake, four())), ORDINARY)


# --- DLPack ---


class Packed:
    """An array that is shared through DLPack alone."""

    def __init__(self, array: Any, kind: int = 2, device: int = 0, flags: int = 0) -> None:
        self.array = array
        self.kind = kind
        self.device = device
        self.streams: list[object] = []
        self._shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        self._managed = _Versioned()
        managed = self._managed
        managed.major, managed.minor, managed.flags = 1, 1, flags
        tensor = managed.tensor
        tensor.data = array.ctypes.data
        tensor.device_type, tensor.device_id, tensor.ndim = kind, device, array.ndim
        tensor.code, tensor.bits, tensor.lanes = 2, 8 * array.itemsize, 1
        tensor.shape = ctypes.addressof(self._shape)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.device

    def __dlpack__(self, stream: object = None, max_version: object = None) -> object:
        self.streams.append(stream)
        make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(self._managed), b"dltensor_versioned", None)


@pytest.mark.parametrize("kind", [2, 13])
def test_dlpack_is_told_the_stream_of_the_launch(fake: FakeDriver, kind: int) -> None:
    array = four()
    packed = Packed(array, kind)
    kernel = kernel_of(POINTER)
    kernel.launch((1, 1, 1), (packed,), ORDINARY)
    stream = fake.stream()
    kernel.launch((1, 1, 1), (packed,), LaunchOptions(stream=stream))
    assert packed.streams == [1, stream] and streams(fake) == [0, stream]
    assert fake.calls("cuLaunchKernelEx")[0].endswith(pointer_bytes(array))


def test_a_read_only_capsule_is_refused_where_the_kernel_writes(fake: FakeDriver) -> None:
    with pytest.raises(LaunchError, match="is read-only"):
        kernel_of(POINTER, STORE).launch((1, 1, 1), (Packed(four(), flags=1),), ORDINARY)


# --- streams ---


class FakeCupy(ModuleType):
    """CuPy, as far as a launch looks at it."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.current = 0
        self.streams: dict[int, int] = {}
        outer = self

        class ndarray:
            __module__ = "cupy"

            def __init__(self, fake: FakeDriver, array: Any, device: int = 0) -> None:
                self.array = array
                self.dtype = array.dtype
                self.flags = SimpleNamespace(c_contiguous=array.flags.c_contiguous)
                self.data = SimpleNamespace(ptr=array.ctypes.data, device_id=device)
                self._described = CudaArray(fake, array, device)

            @property
            def __cuda_array_interface__(self) -> dict[str, Any]:
                return {**self._described.__cuda_array_interface__, "stream": outer.streams.get(outer.current, 0) or 1}

        class Device:
            def __init__(self, number: int) -> None:
                self.number = number

            def __enter__(self) -> None:
                self.before, outer.current = outer.current, self.number

            def __exit__(self, *_: object) -> None:
                outer.current = self.before

        self.ndarray = ndarray
        self.cuda = SimpleNamespace(
            Device=Device,
            runtime=SimpleNamespace(getDevice=lambda: self.current),
            get_current_stream=lambda: SimpleNamespace(ptr=self.streams.get(self.current, 0)),
        )


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    module = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_a_launch_goes_to_the_current_stream_of_cupy(fake: FakeDriver, cupy: FakeCupy) -> None:
    kernel = kernel_of(POINTER)
    given = cupy.ndarray(fake, four())
    run = kernel.bind((1, 1, 1), (given,), ORDINARY)
    fake.push(PRIMARY)
    wanted = []
    for _ in range(3):
        cupy.streams[0] = fake.stream()
        kernel.launch((1, 1, 1), (given,), ORDINARY)
        run()
        wanted += [cupy.streams[0]] * 2
    assert streams(fake) == wanted
    fake.clear()
    kernel.launch((1, 1, 1), (given,), ORDINARY)
    assert [call.split()[0] for call in fake.calls()] == ["cuLaunchKernelEx"]


def test_cupy_tells_the_stream_of_another_gpu_than_the_current(fake: FakeDriver, cupy: FakeCupy) -> None:
    fake.reset(2)
    kernel = kernel_of(POINTER)
    given = cupy.ndarray(fake, four(), 1)
    cupy.streams = {0: fake.stream(0), 1: fake.stream(1)}
    fake.push(PRIMARY)
    for _ in range(3):
        kernel.launch((1, 1, 1), (given,), ORDINARY)
    assert streams(fake) == [cupy.streams[1]] * 3 and fake.current() == PRIMARY and cupy.current == 0


def test_the_stream_that_an_array_names_is_taken_and_others_are_waited_for(fake: FakeDriver) -> None:
    first, second = fake.stream(), fake.stream()
    arrays = [CudaArray(fake, four(), stream=number) for number in (first, second, first, 1, 2)]
    kernel = kernel_of(", ".join([f"%a{number}: tile<ptr<f32>>" for number in range(5)]))
    kernel.launch((1, 1, 1), tuple(arrays), ORDINARY)
    assert streams(fake) == [first]
    waited = [call.split()[1] for call in fake.calls("cuEventRecord")]
    assert waited == ["0x1", "0x2", f"{second:#x}"]
    assert fake.calls("cuStreamWaitEvent") == [f"cuStreamWaitEvent {first:#x}"] * 3
    assert "events 0" in fake.live()


def test_the_default_stream_is_one_under_both_of_its_names(fake: FakeDriver) -> None:
    kernel_of(POINTER).launch((1, 1, 1), (CudaArray(fake, four(), stream=1),), LaunchOptions(stream=0))
    assert streams(fake) == [0] and not fake.calls("cuEventRecord")


@pytest.mark.parametrize("kind", ["number", "torch", "cupy", "protocol"])
def test_a_stream_is_named_in_many_ways(fake: FakeDriver, torch: FakeTorch, kind: str) -> None:
    stream = fake.stream()
    given: object = {
        "number": stream,
        "torch": SimpleNamespace(cuda_stream=stream),
        "cupy": SimpleNamespace(ptr=stream),
        "protocol": SimpleNamespace(__cuda_stream__=lambda: (0, stream)),
    }[kind]
    kernel = kernel_of(POINTER)
    fake.push(PRIMARY)
    for _ in range(3):
        kernel.launch((1, 1, 1), (Tensor(four()),), LaunchOptions(stream=given))
    run = kernel.bind((1, 1, 1), (Tensor(four()),), LaunchOptions(stream=given))
    run()
    assert streams(fake) == [stream] * 4
    kernel.launch((1, 1, 1), (Tensor(four()),), ORDINARY)
    assert streams(fake)[-1] == 0


@pytest.mark.parametrize("given", ["s", 1.5, True, -1, object()])
def test_what_is_no_stream_is_refused(fake: FakeDriver, torch: FakeTorch, given: object) -> None:
    kernel = kernel_of(POINTER)
    fake.push(PRIMARY)
    for _ in range(2):
        with pytest.raises(LaunchError, match=r"stream is .*: pass "):
            kernel.launch((1, 1, 1), (Tensor(four()),), LaunchOptions(stream=given))
        kernel.launch((1, 1, 1), (Tensor(four()),), ORDINARY)


# --- bound launches ---


def test_a_bound_launch_follows_a_tensor_that_moves(fake: FakeDriver, torch: FakeTorch) -> None:
    kernel = kernel_of(POINTER)
    tensor = Tensor(four())
    run = kernel.bind((1, 1, 1), (tensor,), ORDINARY)
    fake.push(PRIMARY)
    run()
    tensor.array = four()
    run()
    assert fake.calls("cuLaunchKernelEx")[-1].endswith(pointer_bytes(tensor.array))


def test_arrays_that_cannot_be_looked_at_in_no_time_are_not_bound(fake: FakeDriver) -> None:
    assert kernel_of(POINTER).bind((1, 1, 1), (CudaArray(fake, four()),), ORDINARY) is None


def test_a_bound_launch_without_a_current_context_pushes_one(fake: FakeDriver, torch: FakeTorch) -> None:
    run = kernel_of(POINTER).bind((1, 1, 1), (Tensor(four()),), ORDINARY)
    run()
    assert len(fake.calls("cuLaunchKernelEx")) == 1 and fake.depth() == 0


def test_a_bound_launch_that_fails_can_be_made_again(fake: FakeDriver, torch: FakeTorch) -> None:
    run = kernel_of(POINTER).bind((1, 1, 1), (Tensor(four()),), ORDINARY)
    fake.push(PRIMARY)
    fake.fail("cuLaunchKernelEx", 701)
    with pytest.raises(LaunchError, match=r"launching @k on cuda:0 .* failed"):
        run()
    fake.clear()
    run()
    assert [call.split()[0] for call in fake.calls()] == ["cuLaunchKernelEx"]
