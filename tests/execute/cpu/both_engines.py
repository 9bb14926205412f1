"""Every plain launch of the interpreter again on the CPU backend: same memory, same output, same failure.

The engine runs in the very memory that the interpreter ran in, after its content has been put back: arguments that
overlap, strided arrays, tensors of other libraries and tables of addresses need no special treatment.  Afterwards the
interpreter's results are back in place.  The matrix products are those of the `exact` interpreter.

Left out, because the engine promises nothing about them:

- launches with an observer, a schedule or the sanitizer;
- failures other than `assert`, the indices of `extract` and `insert`, the step of `for`, and accesses outside of memory;
- kernels with `rounding<approx>`, which is what the engine has its own quick functions for;
- kernels in which the address of an `alloca` becomes data: the engines reserve memory in different places.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.arguments.binding import bind, buffer_of
from tileir.execute.dtypes import is_float_dtype
from tileir.execute.engine.interface import KernelSettings
from tileir.execute.errors import AssertionFailedError, ExecutionError, LaunchError
from tileir.execute.launching.kernel import Kernel
from tileir.ir.attributes import EnumAttribute
from tileir.ir.core import Operation

_PROMISED = ("sub-tiles", "has a step of", "which is in no array of the launch", "writes to read-only memory")


class Stretch:
    """Memory that a kernel may change, and how to read what it holds."""

    def __init__(self, start: int, size: int, dtype: Any) -> None:
        self.start = start
        self.size = size
        self.dtype = dtype

    def content(self) -> bytes:
        return ctypes.string_at(self.start, self.size)

    def put(self, content: bytes) -> None:
        ctypes.memmove(self.start, content, self.size)

    def same(self, left: bytes, right: bytes) -> bool:
        """Whether two contents agree bit for bit, but for which NaN a NaN is."""
        if left == right:
            return True
        if self.dtype is None or not is_float_dtype(self.dtype) or self.size % self.dtype.itemsize:
            return False
        one, other = (numpy.frombuffer(content, self.dtype) for content in (left, right))
        bits = numpy.dtype(f"u{self.dtype.itemsize}")
        nans = numpy.isnan(one.astype(numpy.float64)) & numpy.isnan(other.astype(numpy.float64))
        return bool(((one.view(bits) == other.view(bits)) | nans).all())


def stretches(kernel: Kernel, arguments: tuple[Any, ...], memory: tuple[Any, ...]) -> list[Stretch]:
    found = []
    for buffer, _ in bind(kernel.entry, arguments).buffers:
        if buffer.writable and buffer.high > buffer.low:
            found.append(Stretch(buffer.low, buffer.high - buffer.low, buffer.dtype))
    for value in memory:
        buffer = buffer_of(value, "memory")
        if buffer.writable and buffer.high > buffer.low:
            found.append(Stretch(buffer.low, buffer.high - buffer.low, buffer.dtype))
    for region in kernel.globals.regions.values():
        if region.writable and region.end > region.start:
            found.append(Stretch(region.start, region.end - region.start, None))
    return found


def is_approximate(operation: Operation) -> bool:
    """Whether an operation leaves the last bits to the engine."""
    mode = operation.attributes.get("rounding_mode")
    return isinstance(mode, EnumAttribute) and mode.keyword == "approx"


def shows_addresses(entry: Operation) -> bool:
    """Whether the address of an `alloca` may become data."""
    names = {operation.declaration.mnemonic for operation in entry.walk()}
    if "alloca" not in names:
        return False
    for operation in entry.walk():
        mnemonic = operation.declaration.mnemonic
        if mnemonic == "ptr_to_int":
            return True
        if mnemonic in ("print_tko", "store_ptr_tko", "store_view_tko", "atomic_rmw_tko", "cmpi"):
            stored = operation.operands if mnemonic in ("print_tko", "cmpi") else operation.operands[1:2]
            if any(isinstance(v.type, TileType) and isinstance(v.type.element, PointerType) for v in stored):
                return True
    return False


class Comparison:
    """What has been compared, for tests that want to know."""

    def __init__(self) -> None:
        self.launches = 0
        self.failures = 0


@contextmanager
def both_engines(cpu: str | None = None) -> Iterator[Comparison]:
    """While this lasts, plain launches run on both engines."""
    plain = Kernel.launch
    compared = Comparison()
    busy = False

    def launch(self: Kernel, grid: Any, arguments: Any = (), **options: Any) -> None:
        nonlocal busy
        given = {name for name, value in options.items() if value not in (None, False, ())}
        forward = (options.get("schedule") or self.schedule) == "forward"
        ordinary = (
            self.requested_backend in ("auto", "interpreter")
            and forward
            and not given - {"schedule", "memory", "output"}
        )
        # What other threads launch meanwhile may share the memory that is put back here.
        alone = not busy and threading.current_thread() is threading.main_thread()
        if not ordinary or not alone or shows_addresses(self.entry) or any(map(is_approximate, self.entry.walk())):
            return plain(self, grid, arguments, **options)
        busy = True
        try:
            _compare(plain, compared, cpu, self, grid, arguments, options)
        finally:
            busy = False

    Kernel.launch = launch  # type: ignore[assignment, method-assign]
    try:
        yield compared
    finally:
        Kernel.launch = plain  # type: ignore[method-assign]


_INTERPRETED: WeakKeyDictionary[Kernel, Kernel] = WeakKeyDictionary()


def _interpreted(kernel: Kernel) -> Kernel:
    """A kernel that runs in the interpreter, whatever this one was compiled for, on the same global variables."""
    if kernel.requested_backend == "interpreter":
        return kernel
    found = _INTERPRETED.get(kernel)
    if found is None:
        found = Kernel(
            kernel.entry, "interpreter", KernelSettings(kernel.exact), kernel.schedule, globals=kernel.globals
        )
        _INTERPRETED[kernel] = found
    return found


def _compare(
    plain: Callable[..., None],
    compared: Comparison,
    cpu: str | None,
    kernel: Kernel,
    grid: Any,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> None:
    memory = tuple(options.get("memory") or ())
    if memory:
        options = {**options, "memory": memory}
    printed: list[str] = []
    write = options.get("output") or sys.stdout.write

    def tee(text: str) -> None:
        printed.append(text)
        write(text)

    try:
        places = stretches(kernel, arguments, memory)
    except LaunchError:
        return plain(_interpreted(kernel), grid, arguments, **options)
    before = [place.content() for place in places]
    failure: ExecutionError | None = None
    try:
        plain(_interpreted(kernel), grid, arguments, **{**options, "output": tee})
    except ExecutionError as error:
        promised = isinstance(error, AssertionFailedError) or any(part in str(error) for part in _PROMISED)
        if not promised:
            raise
        failure = error
    after = [place.content() for place in places]
    wanted = after
    if failure is None and not kernel.exact and _has_float_products(kernel.entry):
        _put(places, before)
        exact = Kernel(kernel.entry, "interpreter", KernelSettings(True), kernel.schedule, globals=kernel.globals)
        plain(exact, grid, arguments, **{**options, "output": lambda text: None})
        wanted = [place.content() for place in places]
    _put(places, before)
    native = Kernel(kernel.entry, "cpu", KernelSettings(True, cpu=cpu), kernel.schedule, globals=kernel.globals)
    again: list[str] = []
    try:
        plain(native, grid, arguments, **{**options, "output": again.append, "threads": 1})
        assert failure is None, f"the CPU backend does not fail as the interpreter does: {failure}"
        for place, found, right in zip(places, (place.content() for place in places), wanted, strict=True):
            assert place.same(found, right), f"the CPU backend computes something else: {kernel.entry}"
        compared.launches += 1
    except ExecutionError as error:
        assert failure is not None and type(error) is type(failure), error
        assert error.diagnostics[0].message == failure.diagnostics[0].message
        compared.failures += 1
    finally:
        _put(places, after)
    if failure is not None:
        raise failure
    assert "".join(again) == "".join(printed)


def _put(places: list[Stretch], contents: list[bytes]) -> None:
    for place, content in zip(places, contents, strict=True):
        place.put(content)


def _has_float_products(entry: Operation) -> bool:
    return any(operation.declaration.mnemonic in ("mmaf", "mmaf_scaled") for operation in entry.walk())
