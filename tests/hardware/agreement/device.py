"""A GPU that runs kernels of an assembled file on one piece of memory: the driver's calls and nothing around them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from contextlib import ExitStack

from tileir.execute.gpu.arrays import synchronize
from tileir.execute.gpu.driver.devices import DeviceMemory, copy_from_gpu, copy_to_gpu, current, device
from tileir.execute.gpu.driver.library import driver, version_words
from tileir.execute.gpu.launch_record import CONFIGURATION
from tileir.execute.gpu.loaded_code import LoadedLibrary


class Device:
    """The first GPU, with one piece of memory, until `close`."""

    def __init__(self, size: int) -> None:
        self._end = ExitStack()
        place = device(0)
        self._end.enter_context(current(place.context))
        self._memory = self._end.enter_context(DeviceMemory(size))
        self.name = f"{place.name}, {place.target}, CUDA {version_words(driver().version)}"
        self.address = self._memory.address
        self.size = size

    def close(self) -> None:
        self._end.close()

    def load(self, cubin: bytes) -> LoadedLibrary:
        return LoadedLibrary(cubin, lambda: "the file")

    def launch(self, library: LoadedLibrary, name: str, grid: tuple[int, int, int], arguments: Sequence[bytes]) -> None:
        """Launch a kernel and wait for its end; arguments are given as the bytes of each."""
        kernel = library.kernel(name)
        buffers = [ctypes.create_string_buffer(argument, len(argument)) for argument in arguments]
        places = (ctypes.c_void_p * max(len(buffers), 1))(*[ctypes.addressof(buffer) for buffer in buffers])
        # A grid of tile blocks, blocks of one thread as the assembler's kernels want them, the stream 0.
        packed = struct.pack(CONFIGURATION, *grid, 1, 1, 1, 0, 0, 0, 0)
        configuration = ctypes.create_string_buffer(packed, len(packed))
        record = ctypes.c_void_p(ctypes.addressof(configuration))
        parameters = ctypes.c_void_p(ctypes.addressof(places))
        driver().call("cuLaunchKernelEx", f"launching @{name}", record, ctypes.c_void_p(kernel), parameters, None)
        synchronize(0, f"waiting for @{name}")

    def write(self, data: bytes) -> None:
        buffer = ctypes.create_string_buffer(data, len(data))
        copy_to_gpu(self.address, ctypes.addressof(buffer), len(data), 0)
        synchronize(0, "copying to the GPU")

    def read(self, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        copy_from_gpu(ctypes.addressof(buffer), self.address, size, 0)
        synchronize(0, "copying from the GPU")
        return buffer.raw
