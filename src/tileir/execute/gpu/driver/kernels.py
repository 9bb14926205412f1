"""Cubins loaded into the driver, and the kernels in them.

A library belongs to no context: the driver puts it into each one in which a kernel of it is launched.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final

from tileir.execute.errors import LaunchError
from tileir.execute.gpu.driver.errors import INVALID_VALUE, NOT_FOUND, DriverError, NoGpuError
from tileir.execute.gpu.driver.library import driver


class LoadedLibrary:
    """A cubin in the driver, until `unload`."""

    def __init__(self, data: bytes, what: Callable[[], str]) -> None:
        """`what` says what it is, if something goes wrong."""
        self._driver: Final = driver()
        self._what: Final = what
        self.keep: object = None
        """What lives as long as this."""
        self.contexts: set[int] = set()
        """Those in which its kernels may be under way."""
        self.filled: set[int] = set()
        """Those in which its global variables have their values."""
        self.handle: Final = self._driver.handle(
            "cuLibraryLoadData", lambda: f"loading {what()}", data, None, None, 0, None, None, 0
        )

    def kernel(self, name: str) -> int:
        """A kernel, to launch."""
        try:
            return self._driver.handle(
                "cuLibraryGetKernel", lambda: f"looking for @{name} in {self._what()}", self.handle, name.encode()
            )
        except DriverError as error:
            if error.code == NOT_FOUND:
                raise LaunchError(f"{self._what()} has no kernel @{name}: it was made from another program") from error
            raise

    def unload(self) -> None:
        """Take it out of the driver; no kernel of it may be under way, nor be in a graph that is replayed."""
        self._driver.call("cuLibraryUnload", lambda: f"unloading {self._what()}", self.handle)

    def parameter_sizes(self, kernel: int) -> list[int] | None:
        """How many bytes each parameter of a kernel takes; None if the driver is too old to tell."""
        try:
            function = self._driver.function("cuKernelGetParamInfo")
        except NoGpuError:
            return None
        found: list[int] = []
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        while not (code := function(kernel, len(found), ctypes.byref(offset), ctypes.byref(size))):
            found.append(size.value)
        if code != INVALID_VALUE:
            raise self._driver.error("cuKernelGetParamInfo", code, f"asking for the parameters in {self._what()}")
        return found

    def variable(self, name: str) -> tuple[int, int] | None:
        """The address and size of a global variable, in the context that is current; None if there is none."""
        address, size = ctypes.c_size_t(), ctypes.c_size_t()
        function = self._driver.function("cuLibraryGetGlobal")
        code = function(ctypes.byref(address), ctypes.byref(size), self.handle, name.encode())
        if code == NOT_FOUND:
            return None
        if code:
            raise self._driver.error("cuLibraryGetGlobal", code, f"looking for the global @{name} in {self._what()}")
        return address.value, size.value
