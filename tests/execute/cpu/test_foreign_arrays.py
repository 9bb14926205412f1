"""Arrays of other libraries that say something wrong about their memory: refused in words, by both engines."""

from __future__ import annotations

import copy
import ctypes
import gc
import inspect
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest

import tileir
from tileir.execute.arguments.array_memory import _Tensor, _Versioned

PROGRAM = """cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %y = addf %x, %x : tile<f32>
  %u = store_ptr_tko weak %p, %y token = %t : tile<ptr<f32>>, tile<f32> -> token
  return } }"""


@pytest.fixture(scope="module", params=["interpreter", "cpu"])
def kernel(request: pytest.FixtureRequest) -> tileir.Kernel:
    return tileir.compile(tileir.parse(PROGRAM), backend=request.param)


DATA = numpy.ones(8, numpy.float32)
ADDRESS = DATA.ctypes.data


class Interface:
    def __init__(self, interface: object) -> None:
        self.__array_interface__ = interface


def interface(**changes: object) -> Interface:
    given = {"version": 3, "typestr": "<f4", "shape": (8,), "data": (ADDRESS, False), **changes}
    return Interface({name: value for name, value in given.items() if value is not ...})


class Failing:
    @property
    def __array_interface__(self) -> object:
        raise RuntimeError("out of order")


MALFORMED_INTERFACES: list[tuple[object, str]] = [
    (Interface(None), "is None and no dictionary"),
    (Interface("x"), "is a str and no dictionary"),
    (Interface([]), "is a list and no dictionary"),
    (Interface({}), "without 'shape'"),
    (interface(typestr=...), "without 'typestr'"),
    (Failing(), "fails when its attribute '__array_interface__' is read (RuntimeError: out of order)"),
    (interface(shape=8), "should be a tuple of whole numbers"),
    (interface(shape=None), "should be a tuple of whole numbers"),
    (interface(shape="8"), "should be a tuple of whole numbers"),
    (interface(shape=(8.0,)), "which is no whole number"),
    (interface(shape=(True,)), "which is no whole number"),
    (interface(shape=(-1,)), "a negative extent, -1"),
    (interface(shape=(1 << 62,)), "exceeds the available memory"),
    (interface(shape=(1 << 40, 1 << 40)), "exceeds the available memory"),
    (interface(shape=(1 << 45,)), "where this process has no memory"),
    (interface(shape=(1,) * 70), "has 70 dimensions"),
    (interface(strides=(4, 4)), "1 dimensions and 2 strides"),
    (interface(strides=4), "should be a tuple of whole numbers"),
    (interface(strides=("4",)), "which is no whole number"),
    (interface(strides=(1 << 62,)), "which are no addresses"),
    (interface(strides=(-(1 << 60),)), "which are no addresses"),
    (interface(strides=(1 << 44,)), "where this process has no memory"),
    (interface(typestr=None), "as no array has"),
    (interface(typestr=""), "as no array has"),
    (interface(typestr="nonsense"), "as no array has"),
    (interface(typestr="<f3"), "for the type of its elements"),
    (interface(typestr="<f99999999"), "for the type of its elements"),
    (interface(typestr="|O8"), "which are no numbers"),
    (interface(typestr="|V0"), "which are no numbers"),
    (interface(typestr=">f4"), "byte order of another machine"),
    (interface(typestr="<f8"), "float64"),
    (interface(typestr="<c8"), "complex64"),
    (interface(typestr="|V4", descr=[("a", "<f4")]), "was given"),
    (interface(typestr="<M8[s]"), "datetime64"),
    (interface(data=None), "has no address and no buffer"),
    (interface(data=...), "has no address and no buffer"),
    (interface(data=(0, False)), "has no address"),
    (interface(data=(64, False)), "where this process has no memory"),
    (interface(data=(-4, False)), "which are no addresses"),
    (interface(data=((1 << 64) - 4, False)), "which are no addresses"),
    (interface(data=(1 << 70, False)), "which are no addresses"),
    (interface(data=("x", False)), "which is no whole number"),
    (interface(data=(None, False)), "which is no whole number"),
    (interface(data=(ADDRESS,)), "should be an address"),
    (interface(data=(ADDRESS, True)), "read-only"),
    (interface(data=bytearray(31)), "reaches from byte 0 to byte 32 of a buffer of 31 bytes"),
    (interface(data=bytearray(40), offset=9), "reaches from byte 9 to byte 41 of a buffer of 40 bytes"),
    (interface(data=bytearray(40), offset=-4), "reaches from byte -4"),
    (interface(data=bytearray(32), strides=(-4,)), "reaches from byte -28"),
    (interface(data=bytearray(32), offset="x"), "which is no whole number"),
    (interface(data=bytes(32)), "read-only"),
    (interface(mask=numpy.ones(8, bool)), "has a mask"),
    (interface(strides=(8,)), "is not contiguous"),
    (memoryview(bytearray(32)).cast("P"), "has no buffer that NumPy understands"),
    (memoryview(bytearray(32)), "uint8"),
]


@pytest.mark.parametrize(("value", "words"), MALFORMED_INTERFACES)
def test_a_malformed_array_interface_is_refused(kernel: tileir.Kernel, value: object, words: str) -> None:
    before = DATA.copy()
    with pytest.raises(tileir.LaunchError) as caught:
        kernel.launch(1, (value,))
    assert words in str(caught.value)
    assert "argument 0 of @k" in str(caught.value)
    assert (before == DATA).all()


def test_a_released_view_is_refused(kernel: tileir.Kernel) -> None:
    view = memoryview(bytearray(32))
    view.release()
    with pytest.raises(tileir.LaunchError, match="has no buffer that NumPy understands"):
        kernel.launch(1, (view,))


def test_good_array_interfaces(kernel: tileir.Kernel) -> None:
    for make in (
        lambda data: interface(data=(data.ctypes.data, False)),
        lambda data: interface(data=(numpy.int64(data.ctypes.data), False), strides=(4,), shape=[8]),
        lambda data: interface(data=memoryview(data), offset=0),
        lambda data: interface(data=memoryview(data), offset=0, shape=(), strides=()),
    ):
        data = numpy.ones(8, numpy.float32)
        kernel.launch(1, (make(data),))
        assert data[0] == 2


# --- DLPack ---

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_KEPT: list[object] = []


class Capsule:
    """An object whose capsule says what a test wants it to say."""

    def __init__(
        self,
        *,
        name: bytes = b"dltensor_versioned",
        device: object = (1, 0),
        version: int = 1,
        flags: int = 0,
        **fields: object,
    ) -> None:
        shape, strides = fields.pop("shape", (8,)), fields.pop("strides", None)
        given = {"data": ADDRESS, "device_type": 1, "ndim": 1, "code": 2, "bits": 32, "lanes": 1, **fields}
        tensor = _Tensor(**given)
        for field, numbers in (("shape", shape), ("strides", strides)):
            if numbers is not None:
                array = (ctypes.c_int64 * len(numbers))(*numbers)
                _KEPT.append(array)
                setattr(tensor, field, ctypes.addressof(array))
        self.managed = _Versioned(version, 0, None, None, flags, tensor) if b"versioned" in name else tensor
        self.name = ctypes.create_string_buffer(name)
        _KEPT.extend([self.managed, self.name])
        self.device = device

    def __dlpack_device__(self) -> object:
        if isinstance(self.device, Exception):
            raise self.device
        return self.device

    def __dlpack__(self, **options: object) -> object:
        return _new(ctypes.addressof(self.managed), ctypes.addressof(self.name), None)


class Giving(Capsule):
    """An object whose method gives, or raises, something else."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.result = result

    def __dlpack__(self, **options: object) -> object:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


MALFORMED_CAPSULES: list[tuple[Callable[[], object], str]] = [
    (lambda: Capsule(name=b"used_dltensor"), "used already"),
    (lambda: Capsule(name=b"used_dltensor_versioned"), "used already"),
    (lambda: Capsule(name=b"something"), "for something else"),
    (lambda: Capsule(version=2), "version 2.0"),
    (lambda: Capsule(device=(2, 0)), "memory of a GPU"),
    (lambda: Capsule(device_type=2), "memory of a GPU"),
    (lambda: Capsule(device=None), "should be a kind and a number"),
    (lambda: Capsule(device=("cpu", 0)), "which is no whole number"),
    (lambda: Capsule(device=ValueError("no device")), "fails when its device is read (ValueError: no device)"),
    (lambda: Capsule(ndim=-1), "has -1 dimensions"),
    (lambda: Capsule(ndim=1000), "has 1000 dimensions"),
    (lambda: Capsule(shape=None), "has no shape"),
    (lambda: Capsule(shape=(-8,)), "a negative extent"),
    (lambda: Capsule(shape=(1 << 61,)), "exceeds the available memory"),
    (lambda: Capsule(shape=(1 << 45,)), "no memory"),
    (lambda: Capsule(strides=(1 << 61,)), "which are no addresses"),
    (lambda: Capsule(strides=(1 << 42,)), "no memory"),
    (lambda: Capsule(data=None), "has no address"),
    (lambda: Capsule(data=64), "no memory"),
    (lambda: Capsule(byte_offset=1 << 46), "no memory"),
    (lambda: Capsule(byte_offset=(1 << 64) - 1), "which are no addresses"),
    (lambda: Capsule(lanes=2), "2 lanes"),
    (lambda: Capsule(code=99), "type 99"),
    (lambda: Capsule(bits=24), "24 bits"),
    (lambda: Capsule(bits=64), "float64"),
    (lambda: Capsule(code=0), "int32"),
    (lambda: Capsule(flags=1), "read-only"),
    (lambda: Capsule(name=b"dltensor"), "read-only"),
    (lambda: Giving(None), "returns None for a DLPack capsule"),
    (lambda: Giving(b"dltensor"), "returns a bytes for a DLPack capsule"),
    (lambda: Giving(BufferError("not now")), "cannot be shared through DLPack (BufferError: not now)"),
    (lambda: Giving(OverflowError("x")), "cannot be shared through DLPack"),
]


@pytest.mark.parametrize(("make", "words"), MALFORMED_CAPSULES)
def test_a_malformed_capsule_is_refused(kernel: tileir.Kernel, make: Callable[[], object], words: str) -> None:
    with pytest.raises(tileir.LaunchError) as caught:
        kernel.launch(1, (make(),))
    assert words in str(caught.value)


def test_good_capsules(kernel: tileir.Kernel) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    data = numpy.ones(8, numpy.float32)
    for value in (Capsule(data=data.ctypes.data), Capsule(data=data.ctypes.data - 4, byte_offset=4, strides=(1,))):
        kernel.launch(1, (value,))
    assert data[0] == 4

    class Wrapped:
        def __init__(self, array: object) -> None:
            self.array = array

        def __dlpack__(self, **options: object) -> object:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> object:
            return self.array.__dlpack_device__()

    for _ in range(3):
        kernel.launch(1, (Wrapped(data),))
        gc.collect()
    assert data[0] == 32
    tensor = torch.ones(8)
    if "max_version" in inspect.signature(torch.Tensor.__dlpack__).parameters:
        kernel.launch(1, (Wrapped(tensor),))
        assert tensor[0] == 2
    else:  # Capsules of older versions cannot say that their memory is writable.
        with pytest.raises(tileir.LaunchError, match="read-only"):
            kernel.launch(1, (Wrapped(tensor),))


def test_a_capsule_of_bfloat() -> None:
    program = PROGRAM.replace("f32", "bf16")
    data = numpy.ones(8, ml_dtypes.bfloat16)
    kernel = tileir.compile(tileir.parse(program), backend="interpreter")
    kernel.launch(1, (Capsule(data=data.ctypes.data, code=4, bits=16),))
    assert data[0] == 2


# --- what else a launch may be given ---


@pytest.mark.parametrize(
    "value", [None, "x", object(), [1.0], {}, 1.5, 1j, float("nan"), ..., print, -1, 1 << 64, True]
)
def test_what_is_no_array_is_refused(kernel: tileir.Kernel, value: object) -> None:
    with pytest.raises(tileir.LaunchError, match="argument 0 of @k"):
        kernel.launch(1, (value,))


@pytest.mark.parametrize(
    "grid",
    [None, "1", 0, -1, True, 1.0, float("nan"), (), (1, 2, 3, 4), (1, None), ("1",), [[1]], 1 << 40, (1, 1 << 20), {1}],
)
def test_what_is_no_grid_is_refused(kernel: tileir.Kernel, grid: object) -> None:
    with pytest.raises(tileir.LaunchError, match="grid"):
        kernel.launch(grid, (DATA,))


@pytest.mark.parametrize(
    "options",
    [{"output": 1}, {"progress": "x"}, {"memory": 1}, {"memory": [1]}, {"memory": None}, {"schedule": 1}, {"schedule": "²"},
     {"schedule": "random:²"}, {"observer": 1}, {"threads": "2"}, {"threads": 20_000}, {"sanitize": "some"}],
)  # fmt: skip
def test_options_that_are_none_are_refused(kernel: tileir.Kernel, options: dict[str, object]) -> None:
    data = DATA.copy()
    with pytest.raises((tileir.LaunchError, TypeError)) as caught:
        kernel.launch(1, (data,), **options)
    assert next(iter(options))[:6] in str(caught.value).lower()
    assert (data == DATA).all()


def test_every_refusal_can_be_copied(kernel: tileir.Kernel) -> None:
    with pytest.raises(tileir.LaunchError) as caught:
        kernel.launch(1, (None,))
    assert str(copy.copy(caught.value)) == str(caught.value)


# --- tensors of torch that are not what they look like ---

COUNT = 100_000


def _given_back(torch: Any, kept: int) -> Any:
    tensor = torch.ones(COUNT)
    tensor.untyped_storage().resize_(kept)
    return tensor


def _imitation(torch: Any) -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(COUNT)


def _in_transformation(torch: Any) -> Any:
    seen: list[Any] = []

    def look(tensor: Any) -> Any:
        seen.append(tensor)
        return tensor

    torch.func.vmap(look)(torch.ones(2, COUNT))
    return seen[0]


TENSORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "given back": (lambda torch: _given_back(torch, 0), "only 0 bytes of memory"),
    "partly given back": (lambda torch: _given_back(torch, 8), "only 8 bytes of memory"),
    "imitation": (_imitation, "memory"),
    "zeros that nobody wrote": (lambda torch: torch._efficientzerotensor(COUNT), "memory"),
    "sparse": (lambda torch: torch.ones(COUNT).to_sparse(), "without plain memory of its own"),
    "rows": (lambda torch: torch.ones(10, 10).to_sparse_csr(), "without plain memory of its own"),
    "nested": (lambda torch: torch.nested.nested_tensor([torch.ones(COUNT)]), "without plain memory of its own"),
    "transformed": (_in_transformation, "memory"),
    "negated": (lambda torch: torch._neg_view(torch.ones(COUNT)), "resolve_neg"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TENSORS)
def test_tensors_without_the_memory_that_they_say(name: str) -> None:
    """Refused by every engine, also when the kernel has been launched before; nothing is read or written."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    make, words = TENSORS[name]
    try:
        tensor = make(torch)
    except (RuntimeError, AttributeError, ImportError) as error:
        pytest.skip(f"this torch makes no such tensor: {error}")
    for backend in ("interpreter", "cpu"):
        kernel = tileir.compile(tileir.parse(PROGRAM), backend=backend)
        for _ in range(3):
            kernel.launch(1, (torch.ones(COUNT),))
            with pytest.raises(tileir.LaunchError, match=words):
                kernel.launch(1, (tensor,))
