"""The memory of an emulated driver, the kernels that it has loaded, and their launches."""

from __future__ import annotations

import ctypes
import os
import sys
from bisect import bisect_right, insort
from typing import Any, Final

import numpy

from tileir.bridge.settings import Settings
from tileir.bridge.watching import Findings, Watching
from tileir.bytecode.layouts import from_bytes
from tileir.dialect.ops import ENTRY
from tileir.dialect.types import PointerType
from tileir.execute.dtypes import memory_dtype
from tileir.execute.launching.kernel import Kernel, compile
from tileir.ir.core import Operation

_ALIGNMENT: Final = 256


class Allocation:
    """Memory of the program, zero as that of a new process."""

    def __init__(self, size: int) -> None:
        memory = numpy.zeros(size + _ALIGNMENT, "u1")
        start = -memory.ctypes.data % _ALIGNMENT
        self.bytes: Final = memory[start : start + size]
        self.address: Final[int] = self.bytes.ctypes.data
        self.size: Final = size


class Allocations:
    """What a program has allocated and not freed."""

    def __init__(self) -> None:
        self._by_address: dict[int, Allocation] = {}
        self._addresses: list[int] = []
        self.size: int = 0

    def add(self, size: int) -> int:
        """The address of new memory; 0 if there is none."""
        try:
            made = Allocation(size)
        except MemoryError:
            return 0
        self._by_address[made.address] = made
        insort(self._addresses, made.address)
        self.size += size
        return made.address

    def remove(self, address: int) -> bool:
        found = self._by_address.pop(address, None)
        if found is None:
            return False
        self._addresses.remove(address)
        self.size -= found.size
        return True

    def around(self, address: int) -> Allocation | None:
        """The allocation that an address is in."""
        place = bisect_right(self._addresses, address)
        found = self._by_address[self._addresses[place - 1]] if place else None
        return found if found is not None and address < found.address + found.size else None

    def but_at(self, addresses: set[int]) -> list[Any]:
        """The bytes of each allocation that begins at none of these addresses."""
        return [each.bytes for each in self._by_address.values() if each.address not in addresses]


class Launcher:
    """How kernels are compiled and launched, and what was found in launches."""

    def __init__(self, settings: Settings) -> None:
        self._settings: Final = settings
        self._findings: Final = Findings()
        self._watching: Final = Watching(settings, self._findings, _launch) if settings.observes else None

    def compile(self, module: Operation, name: str) -> Kernel:
        settings = self._settings
        return compile(module, entry=name, backend=settings.backend, exact=settings.exact, fast=settings.fast)

    def launch(self, kernel: Kernel, grid: tuple[int, int, int], values: list[Any], memory: list[Any]) -> None:
        if self._watching is None:
            kernel.launch(grid, values, memory=memory)
        else:
            self._watching.launch(kernel, grid, values, {"memory": memory})
        sys.stdout.flush()

    def end(self, status: int) -> int:
        """The status that the program ends with, after the summary of what was found."""
        if self._settings.watches:
            sys.stderr.write((self._findings.summary() or "tileir: no kernel was launched") + os.linesep)
            sys.stderr.flush()
        return 1 if self._findings and not status else status


def _launch(kernel: Kernel, grid: Any, values: Any, **options: Any) -> None:
    kernel.launch(grid, values, **options)


class Library:
    """A module that was loaded."""

    def __init__(self, data: bytes, launcher: Launcher) -> None:
        self._module = from_bytes(data)
        self._launcher = launcher
        self._kernels: dict[str, NativeKernel] = {}

    def kernel(self, name: str) -> NativeKernel | None:
        """A kernel of it; those of a module share its global variables."""
        if name not in self._kernels:
            entries = [each.symbol_name for each in self._module.walk() if each.declaration is ENTRY]
            if name not in entries:
                return None
            first = next(iter(self._kernels.values()), None)
            compiled = first.compiled.sibling(name) if first else self._launcher.compile(self._module, name)
            self._kernels[name] = NativeKernel(compiled, self._launcher)
        return self._kernels[name]


class NativeKernel:
    """A kernel, and the types of its parameters as they lie in memory."""

    def __init__(self, compiled: Kernel, launcher: Launcher) -> None:
        self.compiled: Final = compiled
        self._launcher: Final = launcher
        types: list[Any] = [each.type for each in compiled.entry.regions[0].blocks[0].arguments]
        self._elements: Final = [each.element for each in types]

    def launch(self, grid: tuple[int, int, int], parameters: int, allocations: Allocations) -> None:
        """Run it; at the address `parameters` are the addresses of its arguments."""
        count = len(self._elements)
        addresses = (ctypes.c_size_t * count).from_address(parameters) if count else ()
        values = [_value(*each, allocations) for each in zip(self._elements, addresses, strict=True)]
        own = {value.ctypes.data for value in values if isinstance(value, numpy.ndarray)}
        self._launcher.launch(self.compiled, grid, values, allocations.but_at(own))


def _value(element: Any, address: int, allocations: Allocations) -> Any:
    """An argument: of a pointer into an allocation, the array from there to its end."""
    dtype = numpy.dtype("u8") if isinstance(element, PointerType) else memory_dtype(element)
    (value,) = numpy.frombuffer(ctypes.string_at(address, dtype.itemsize), dtype)
    if not isinstance(element, PointerType):
        return value
    own = allocations.around(int(value))
    if own is None:
        return int(value)
    pointee = memory_dtype(element.pointee)
    rest = own.bytes[int(value) - own.address :]
    return rest[: rest.size - rest.size % pointee.itemsize].view(pointee)
