"""A launch with nothing around it: the driver called through ctypes, which no launcher can beat."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


class BareLaunch:
    """A cubin launched with the least that the driver takes, through ctypes."""

    def __init__(
        self, code: bytes, kernel_name: str, grid: Sequence[int], arguments: Sequence[Any], stream: int
    ) -> None:
        library = ctypes.CDLL("libcuda.so.1")
        self._data = ctypes.create_string_buffer(code, len(code))
        handle, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(library.cuLibraryLoadData(ctypes.byref(handle), self._data, None, None, 0, None, None, 0))
        self._check(library.cuLibraryGetKernel(ctypes.byref(kernel), handle, kernel_name.encode()))
        x, y, z = (*grid, 1, 1)[:3]
        self._config = LaunchConfig((x, y, z), (1, 1, 1), 0, stream, None, 0)
        self._values = [
            ctypes.c_int(value) if isinstance(value, int) else ctypes.c_void_p(value.data_ptr()) for value in arguments
        ]
        self._pointers = (ctypes.c_void_p * len(self._values))(*[ctypes.addressof(each) for each in self._values])
        launch = library.cuLaunchKernelEx
        launch.argtypes = [ctypes.c_void_p] * 4
        config, pointers = ctypes.c_void_p(ctypes.addressof(self._config)), ctypes.cast(self._pointers, ctypes.c_void_p)

        def call() -> None:
            code = launch(config, kernel, pointers, None)
            if code:
                raise RuntimeError(f"cuLaunchKernelEx gave {code}")

        self.call: Callable[[], None] = call

    @staticmethod
    def _check(code: int) -> None:
        if code:
            raise RuntimeError(f"the driver gave error {code}")
