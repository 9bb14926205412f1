"""Memory of a GPU that kernels have beside their arrays: global variables, tables of constants, scratch.

Code of Triton has no symbols, so the addresses are parameters.

Global variables are those of a module (`Kernel.sibling` shares them) in a context, and begin with what they are on the
host; tables are those of all kernels in a context, by their bytes.  Both stay until the process ends.
Scratch is that of a stream, whose launches come one after the other.  It grows when a launch needs more, and stays
until `release_memory`.
Scratch that is in a graph, or in a launch that is kept to be made again, stays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from weakref import WeakKeyDictionary

from tileir.execute.gpu.arrays import is_capturing
from tileir.execute.gpu.driver.devices import current
from tileir.execute.gpu.driver.library import Driver, DriverError, driver
from tileir.execute.memory import Region
from tileir.execute.releasing import release_with
from tileir.forking import NO_FORK

_RELAXED: Final = 2
"""The driver's number for a thread that may reserve memory while a graph is made."""
_LEAST_SCRATCH: Final = 1 << 16


class _Store:
    """What there is of it."""

    def __init__(self) -> None:
        self.globals: Final[dict[tuple[int, int], dict[str, int]]] = {}
        self.tables: Final[dict[tuple[int, bytes], int]] = {}
        self.scratch: Final[dict[tuple[int, int], tuple[int, int]]] = {}
        """By context and stream: the address, and how many bytes."""
        self.outgrown: Final[list[tuple[int, int]]] = []
        """Contexts and addresses of scratch that may be in use."""
        self.kept: Final[list[object]] = []


_stores: Final[WeakKeyDictionary[Driver, _Store]] = WeakKeyDictionary()


def _store() -> _Store:
    of = driver()
    found = _stores.get(of)
    if found is None:
        found = _stores.setdefault(of, _Store())
    return found


@contextmanager
def _while_capturing() -> Iterator[None]:
    """Have this thread reserve memory, which a graph that is being made has no part in."""
    mode = ctypes.c_int(_RELAXED)
    attempt = "reserving memory while a graph is made"
    driver().call("cuThreadExchangeStreamCaptureMode", attempt, ctypes.byref(mode))
    try:
        yield
    finally:
        driver().call("cuThreadExchangeStreamCaptureMode", attempt, ctypes.byref(mode))


def reserve(size: int, what: str) -> int:
    """Memory in the context that is current, also while a graph is made."""
    with _while_capturing():
        return driver().handle("cuMemAlloc_v2", lambda: f"reserving {size} bytes on the GPU for {what}", max(size, 1))


def _uploaded(start: int, size: int, what: str) -> int:
    """A copy of memory of the host, which is there when this returns."""
    address = reserve(size, what)
    with _while_capturing():
        driver().call("cuMemcpyHtoD_v2", f"copying {what} to the GPU", address, start, size)
    return address


def global_address(globals: Mapping[str, Region], name: str, context: int) -> int:
    """Where a global variable is in a context, which is current."""
    store = _store()
    with NO_FORK:
        found = store.globals.setdefault((id(globals), context), {})
        if name not in found:
            # What the key is made of stays.
            store.kept.append(globals)
            region = globals[name]
            found[name] = _uploaded(region.start, region.size, f"the global @{name}")
        return found[name]


def table_address(data: bytes, context: int) -> int:
    """Where a constant tile is in a context, which is current."""
    store = _store()
    with NO_FORK:
        found = store.tables.get((context, data))
        if found is None:
            buffer = ctypes.create_string_buffer(data, len(data))
            found = _uploaded(ctypes.addressof(buffer), len(data), "a table of constants")
            store.tables[context, data] = found
        return found


def scratch_address(size: int, context: int, stream: int, is_kept: bool = False) -> int:
    """Memory for one launch after the other of a stream; of its own if it `is_kept`, or the stream makes a graph."""
    store = _store()
    if is_kept or is_capturing(stream):
        return reserve(size, "scratch")
    with NO_FORK:
        address, has = store.scratch.get((context, stream), (0, 0))
        if has < size:
            if address:
                store.outgrown.append((context, address))
            # Some more, so that it is outgrown seldom.
            has = max(2 * size if address else size, _LEAST_SCRATCH)
            address = reserve(has, "scratch")
            store.scratch[context, stream] = (address, has)
    return address


def release_scratch() -> None:
    """Give back scratch, once the GPUs have done what is under way."""
    for of, store in list(_stores.items()):
        if of.forked or of is not driver():
            continue
        with NO_FORK:
            gone = [*store.outgrown, *[(context, address) for (context, _), (address, _) in store.scratch.items()]]
            store.outgrown.clear()
            store.scratch.clear()
            for context, address in gone:
                try:
                    with current(context):
                        of.call("cuCtxSynchronize", "waiting for a GPU")
                        of.call("cuMemFree_v2", "giving back scratch", address)
                except DriverError:
                    # A graph is being captured, or a kernel ran wild: another time, or never.
                    store.outgrown.append((context, address))


release_with(release_scratch)
