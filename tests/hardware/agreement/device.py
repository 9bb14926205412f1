"""The little of the CUDA driver that runs a kernel of an assembled file: load, copy, launch, copy back."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence


class DeviceError(Exception):
    """What the driver says; after most of these the process cannot use the device any more."""


class Device:
    """The first GPU, with one piece of memory."""

    def __init__(self, size: int) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._check("cuInit", self._driver.cuInit(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._check("cuDeviceGet", self._driver.cuDeviceGet(ctypes.byref(device), 0))
        self._check("retain", self._driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self._check("cuCtxSetCurrent", self._driver.cuCtxSetCurrent(context))
        name = ctypes.create_string_buffer(100)
        self._check("cuDeviceGetName", self._driver.cuDeviceGetName(name, 100, device))
        version = ctypes.c_int()
        self._check("cuDriverGetVersion", self._driver.cuDriverGetVersion(ctypes.byref(version)))
        self.name = f"{name.value.decode()}, CUDA driver {version.value // 1000}.{version.value % 1000 // 10}"
        address = ctypes.c_uint64()
        self._check("cuMemAlloc", self._driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        self.address = address.value
        self.size = size

    def _check(self, what: str, status: int) -> None:
        if status:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(status, ctypes.byref(text))
            words = text.value.decode() if text.value else ""
            raise DeviceError(f"{what}: error {status}, {words}")

    def load(self, cubin: bytes) -> ctypes.c_void_p:
        library = ctypes.c_void_p()
        arguments = (cubin, None, None, 0, None, None, 0)
        self._check("cuLibraryLoadData", self._driver.cuLibraryLoadData(ctypes.byref(library), *arguments))
        return library

    def unload(self, library: ctypes.c_void_p) -> None:
        self._check("cuLibraryUnload", self._driver.cuLibraryUnload(library))

    def launch(
        self, library: ctypes.c_void_p, name: str, grid: tuple[int, int, int], arguments: Sequence[bytes]
    ) -> None:
        """Launch a kernel and wait for its end; arguments are given as the bytes of each."""
        kernel = ctypes.c_void_p()
        found = self._driver.cuLibraryGetKernel(ctypes.byref(kernel), library, name.encode())
        self._check("cuLibraryGetKernel", found)
        buffers = [ctypes.create_string_buffer(argument, len(argument)) for argument in arguments]
        places = (ctypes.c_void_p * max(len(buffers), 1))(*[ctypes.addressof(buffer) for buffer in buffers])
        shape = [ctypes.c_uint(extent) for extent in (*grid, 1, 1, 1)]
        launched = self._driver.cuLaunchKernel(kernel, *shape, ctypes.c_uint(0), None, places, None)
        self._check("cuLaunchKernel", launched)
        self._check("cuCtxSynchronize", self._driver.cuCtxSynchronize())

    def write(self, data: bytes) -> None:
        copied = self._driver.cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), data, ctypes.c_size_t(len(data)))
        self._check("cuMemcpyHtoD", copied)

    def read(self, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        copied = self._driver.cuMemcpyDtoH_v2(buffer, ctypes.c_uint64(self.address), ctypes.c_size_t(size))
        self._check("cuMemcpyDtoH", copied)
        return buffer.raw
