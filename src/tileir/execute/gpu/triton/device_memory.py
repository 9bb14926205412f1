"""Memory of a GPU that kernels have beside their arrays: global variables, tables of constants, scratch, reports.

Code of Triton has no symbols, so addresses are parameters.  Global variables of a module in a context, and tables of
all kernels, stay until the process ends.  The scratch of a stream grows and stays until `release_memory`; that of a
graph or a kept launch stays.  A launch writes prints and failed asserts to a report (`code.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy

from tileir.execute.dtypes import bits_dtype, value_dtype
from tileir.execute.errors import AssertionFailedError
from tileir.execute.gpu.arrays import is_capturing
from tileir.execute.gpu.driver.devices import current
from tileir.execute.gpu.driver.library import Driver, DriverError, driver
from tileir.execute.gpu.output import DeviceOutput, asserted
from tileir.execute.gpu.triton.code import FAILURE_WORDS, OUTPUT_WORDS, POINTER, AssertSite, PrintSite, Slot
from tileir.execute.launching.release import release_with
from tileir.execute.memory import Region
from tileir.forking import NO_FORK
from tileir.ir.types import FLOAT_TYPES, I1, I4, I8, I16, I32, I64, Type

_RELAXED: Final = 2  # The driver's number for a thread that may reserve memory while a graph is made.
_LEAST_SCRATCH: Final = 1 << 16

_stores: Final[WeakKeyDictionary[Driver, _Store]] = WeakKeyDictionary()
_TYPES: Final[dict[str, Type]] = {
    POINTER: I64,
    **{each.text: each for each in (*FLOAT_TYPES.values(), I1, I4, I8, I16, I32, I64)},
}
_HEAD: Final = 4
_LOST: Final = "(what else this launch printed does not fit into the memory for it)\n"
_WORD: Final = 8
_WORDS: Final = {"failures": FAILURE_WORDS, "output": OUTPUT_WORDS}


class _Store:
    def __init__(self) -> None:
        self.globals: Final[dict[tuple[int, int], dict[str, int]]] = {}
        self.tables: Final[dict[tuple[int, bytes], int]] = {}
        self.scratch: Final[dict[tuple[int, int], tuple[int, int]]] = {}
        """By context and stream: the address, and how many bytes."""
        self.outgrown: Final[list[tuple[int, int]]] = []  # Contexts and addresses of scratch that may be in use.
        self.kept: Final[list[object]] = []
        self.reports: Final[dict[tuple[int, str], list[int]]] = {}
        """By context and kind, addresses of reports that no launch has."""


def _store() -> _Store:
    return _stores.setdefault(driver(), _Store())


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
            found[name] = _uploaded(globals[name].start, globals[name].size, f"the global @{name}")
        return found[name]


def table_address(data: bytes, context: int) -> int:
    """Where a constant tile is in a context, which is current."""
    tables = _store().tables
    with NO_FORK:
        if (context, data) not in tables:
            buffer = ctypes.create_string_buffer(data, len(data))
            tables[context, data] = _uploaded(ctypes.addressof(buffer), len(data), "a table of constants")
        return tables[context, data]


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


def failure(words: Any, sites: Sequence[AssertSite], device_output: DeviceOutput) -> AssertionFailedError | None:
    is_there, number, x, y, z, element = [int(word) for word in words[:FAILURE_WORDS]]
    if not is_there:
        return None
    site = sites[number]
    position = ", ".join([str(int(each)) for each in numpy.unravel_index(element, site.shape)]) if site.shape else ""
    where = f" (at element [{position}])" if site.shape else ""
    return AssertionFailedError(f"failed: {site.words}{where}", asserted(site.words, device_output), (x, y, z))


def printed(words: Any, sites: Sequence[PrintSite]) -> str:
    """What was printed, tile block by tile block: `words` is all that was written, the first word included."""
    # Imported here: few kernels print.
    from tileir.execute.interpreter.printing import nested, parts_of

    used = int(words[0])
    found: list[tuple[tuple[int, int, int], str]] = []
    at = 1
    is_whole = True
    while at <= used:
        if at + _HEAD > len(words) or not words[at]:
            is_whole = False
            break
        number, x, y, z = [int(word) for word in words[at : at + _HEAD]]
        site = sites[number - 1]
        at += _HEAD
        texts: list[str] = []
        tiles = iter(site.tiles)
        for part in parts_of(site.text, [_TYPES[element] for element, _ in site.tiles]):
            if isinstance(part, str):
                texts.append(part)
                continue
            element, shape = next(tiles)
            count = prod(shape)
            texts.append(nested(_elements(words[at : at + count], element), shape, part))
            at += count
        found.append(((z, y, x), "".join(texts)))
    # Those of a tile block are in order; tile blocks run in any order.
    found.sort(key=lambda each: each[0])
    return "".join([text for _, text in found]) + ("" if is_whole else _LOST)


def _elements(words: Any, element: str) -> Any:
    if element == POINTER:
        return words
    type = _TYPES[element]
    if type is I4:
        # A value is a number of 8 bits, with its sign.
        return (words.astype(numpy.int8) & 15 ^ 8) - 8
    return words.astype(bits_dtype(type)).view(value_dtype(type))


class Report:
    """The output of one launch; `addresses` has for each slot where it is written."""

    def __init__(self, slots: Sequence[Slot], context: int, stream: int) -> None:
        self._slots: Final = slots
        self._context: Final = context
        self._is_kept: Final = is_capturing(stream)
        self.addresses: Final = [self._memory(slot, stream) for slot in slots]

    def _memory(self, slot: Slot, stream: int) -> int:
        spare = _store().reports.get((self._context, slot.kind))
        size = _WORD * _WORDS[slot.kind]
        # That of a graph is its own: it is launched again.
        address = spare.pop() if spare and not self._is_kept else reserve(size, f"the {slot.kind} of a kernel")
        driver().call("cuMemsetD8Async", "clearing memory", address, 0, size, stream)
        return address

    def give_back(self) -> None:
        """Have others use the memory: the launch is done, or is none."""
        if not self._is_kept:
            for slot, address in zip(self._slots, self.addresses, strict=True):
                _store().reports.setdefault((self._context, slot.kind), []).append(address)

    def read(self, device_output: DeviceOutput) -> tuple[str, AssertionFailedError | None]:
        """What was printed, and the assert that failed, when the launch is done."""
        text, failed = "", None
        for slot, address in zip(self._slots, self.addresses, strict=True):
            if slot.kind == "failures":
                failed = failure(_words(address, FAILURE_WORDS), slot.content, device_output)
                continue
            used = int(_words(address, 1)[0])
            if used:
                text = printed(_words(address, min(1 + used, OUTPUT_WORDS)), slot.content)
        self.give_back()
        return text, failed


def _words(address: int, count: int) -> Any:
    found = numpy.empty(count, numpy.uint64)
    attempt = "reading what a kernel prints"
    driver().call("cuMemcpyDtoH_v2", attempt, ctypes.c_void_p(found.ctypes.data), address, found.nbytes)
    return found
