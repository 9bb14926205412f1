"""A CUDA driver, and arrays of CUDA libraries, that need no GPU; `fake_driver.c` says what the driver does."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy

import tileir
from tileir.execute.gpu import loaded_code
from tileir.execute.gpu.driver import devices, library
from tileir.execute.gpu.launcher import GpuKernel

SOURCE = Path(__file__).with_name("fake_driver.c")
CUDA = 13000
PRIMARY = 0x1000
"""The primary context of GPU 0; that of the next is one more."""


def compiled(folder: Path) -> Path:
    """The library, compiled."""
    path = folder / "libcuda.so.1"
    if not path.exists():
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(path), str(SOURCE), "-lpthread", "-ldl"]
        subprocess.run(command, check=True, capture_output=True)
    return path


class FakeDriver:
    """The driver as tests see it: told what to do, and asked what was called."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = ctypes.CDLL(str(path))
        for name in ("fake_log", "fake_live"):
            getattr(self._library, name).restype = ctypes.c_char_p
        for name in ("fake_current", "fake_stream", "fake_context"):
            getattr(self._library, name).restype = ctypes.c_size_t

    def reset(self, count: int = 1, cuda: int = CUDA, capability: int = 90) -> None:
        self._library.fake_reset(count, cuda, capability)
        forget()

    def calls(self, prefix: str = "") -> list[str]:
        """What was called since `clear`."""
        return [line for line in self._library.fake_log().decode().splitlines() if line.startswith(prefix)]

    def clear(self) -> None:
        self._library.fake_clear()

    def fail(self, function: str, code: int, skip: int = 0, times: int = 1) -> None:
        self._library.fake_fail(function.encode(), code, skip, times)

    def forgive(self) -> None:
        self._library.fake_forgive()

    def own(self, start: int, size: int, device: int = 0, context: int | None = None, is_host: bool = False) -> None:
        """Have memory of this process be a GPU's."""
        context = PRIMARY + device if context is None else context
        self._library.fake_own(
            ctypes.c_size_t(start), ctypes.c_size_t(size), device, ctypes.c_size_t(context), int(is_host)
        )

    def disown(self, start: int) -> None:
        self._library.fake_disown(ctypes.c_size_t(start))

    def stream(self, device: int = 0) -> int:
        return self._library.fake_stream(device)

    def context(self, device: int = 0) -> int:
        """Another context than the primary one."""
        return self._library.fake_context(device)

    def push(self, context: int) -> None:
        self._library.fake_push(ctypes.c_size_t(context))

    def current(self) -> int:
        return self._library.fake_current()

    def depth(self) -> int:
        return self._library.fake_depth()

    def capture(self, is_on: bool) -> None:
        """Have streams make a graph of what is launched."""
        self._library.fake_capture(int(is_on))

    def live(self) -> str:
        return self._library.fake_live().decode()


def forget() -> None:
    """Have the launcher look for the driver anew."""
    library._driver = None
    library._failure.clear()
    devices._devices.clear()
    loaded_code._libraries.clear()


# --- arrays ---


class CudaArray:
    """An array with `__cuda_array_interface__`."""

    def __init__(
        self, fake: FakeDriver, array: Any, device: int = 0, context: int | None = None, **fields: Any
    ) -> None:
        self.array = array
        fake.own(array.ctypes.data, max(array.nbytes, 1), device, context)
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, not array.flags.writeable),
            "strides": None if array.flags.c_contiguous else array.strides,
            "version": 3,
            **fields,
        }


class Tensor:
    """A tensor of a torch with CUDA, as far as a launch looks at one."""

    __module__ = "torch"

    def __init__(self, array: Any, device: int = 0) -> None:
        self.array = array
        self.dtype = DTYPES[array.dtype.name]
        self.shape = array.shape
        self._device = device
        self.device = SimpleNamespace(type="cuda" if device >= 0 else "cpu", index=device)
        self.is_cuda, self.is_cpu = device >= 0, device < 0
        self.is_neg_view = False
        self._is_gone = False

    def give_back(self) -> None:
        """Have no memory any more."""
        self._is_gone = True

    def __dlpack__(self, **options: object) -> object:
        raise BufferError("a launch asks a tensor in other ways")

    def data_ptr(self) -> int:
        return self.array.ctypes.data if self.array.size and not self._is_gone else 0

    def get_device(self) -> int:
        return self._device

    def stride(self) -> tuple[int, ...]:
        return tuple([step // self.array.itemsize for step in self.array.strides])

    def is_contiguous(self) -> bool:
        return self.array.flags.c_contiguous

    def is_neg(self) -> bool:
        return self.is_neg_view

    def untyped_storage(self) -> Any:
        if self._is_gone:
            return SimpleNamespace(data_ptr=lambda: 0, nbytes=lambda: 0)
        base = self.array if self.array.base is None else self.array.base
        return SimpleNamespace(data_ptr=lambda: base.ctypes.data, nbytes=lambda: base.nbytes)


class _DType:
    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"torch.{self.name}"


DTYPES = {name: _DType(name) for name in ("float32", "float64", "float16", "int32", "int64", "uint8", "complex64")}


class FakeTorch(ModuleType):
    """The module `torch`."""

    def __init__(self) -> None:
        super().__init__("torch")
        self.streams: dict[int, int] = {}
        self.Tensor = Tensor
        self.nn = SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))
        self._C = SimpleNamespace(
            _cuda_getCurrentRawStream=lambda device: self.streams.get(device, 0), _cuda_getDevice=lambda: 0
        )
        for name, dtype in DTYPES.items():
            setattr(self, name, dtype)


# --- kernels ---


class CubinText:
    """What the fake driver takes for a cubin."""

    def __init__(self, kernel: str, sizes: str, target: str = "sm_90", does: str = "", more: str = "") -> None:
        self.kernel = kernel
        self.target = target
        self.host = ""
        self.parameter_sizes = [int(size) for size in sizes.split(",") if size] or None
        text = f"target {target}\nkernel {kernel} {sizes or '-'}\n"
        if does:
            text += f"does {kernel} {does}\n"
        self.data = (text + more).encode() + b"\0"


TextCubin: Any = CubinText
"""For those that take a `Cubin`."""
SIZES = {"ptr": 8, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "tf32": 4}


def sizes_of(entry: Any) -> str:
    """The sizes of the parameters of a kernel, as the assembler lays them out."""
    types = [argument.type.element.spelling for argument in entry.regions[0].blocks[0].arguments]
    return ",".join([str(8 if name.startswith("ptr") else SIZES.get(name, 1)) for name in types])


def entry_of(parameters: str, body: str = "", name: str = "k", more: str = "") -> Any:
    """A kernel with parameters such as "%a: tile<ptr<f32>>, %n: tile<i32>"."""
    module = tileir.parse(f"cuda_tile.module @m {{ {more} entry @{name}({parameters}) {{ {body} return }} }}")
    tileir.verify(module)
    for operation in module.walk():
        if operation.symbol_name == name:
            return operation
    raise AssertionError(f"no entry @{name}")


def kernel_of(parameters: str, body: str = "", does: str = "", target: str = "", **options: Any) -> GpuKernel:
    """A kernel for the fake driver."""
    entry = entry_of(parameters, body)
    sizes = sizes_of(entry)
    return GpuKernel(entry, {}, lambda wanted: TextCubin("k", sizes, target or wanted, does), **options)


def pointer_bytes(array: Any) -> str:
    """The address of an array as it stands among the parameters of a call that was written down."""
    return int(numpy.asarray(array).ctypes.data).to_bytes(8, "little").hex()


def install_torch() -> FakeTorch:
    module = FakeTorch()
    sys.modules["torch"] = module
    return module
