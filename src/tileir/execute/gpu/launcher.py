"""Kernels on a GPU and their launches.

A launch is asynchronous, as CUDA's are: its stream, or synchronization, orders what comes after it, and a later call
reports its errors, with the driver's text.  Three kinds of launches are synchronous: of kernels that print or assert,
with arrays of the host, which are copied, and with `progress`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from tileir.execute.arguments.binding import BoundArguments, Pointer, bind
from tileir.execute.engine.interface import ArgumentKind, DirectLaunches, LaunchOptions, Measurement, PreparedKernel
from tileir.execute.errors import BlockId, LaunchError, WrongDeviceError
from tileir.execute.gpu.arrays import (
    DeviceBuffer,
    HostCopies,
    device_buffer,
    is_capturing,
    is_on_host,
    stream_for,
    stream_handle,
    synchronize,
    wait_for,
    warn_of_copies,
)
from tileir.execute.gpu.cubin import Cubin
from tileir.execute.gpu.driver.devices import Device, current, current_ordinal, device, require_driver
from tileir.execute.gpu.driver.library import DriverError, driver, forked_error
from tileir.execute.gpu.launch_record import Packer, Record, Report
from tileir.execute.gpu.loaded_code import LaunchedCode, Launching, NotDescribed, launch_filled
from tileir.execute.gpu.output import OperationAt, captured, device_output_of, failed_assert, write_output
from tileir.execute.gpu.short_launches import (
    ArrayLibrary,
    UsualLaunch,
    direct_launches,
    library_among,
    no_usual_launch,
    repeated,
    usual_launch,
)
from tileir.execute.gpu.targets import ASSEMBLER_DRIVER
from tileir.execute.memory import Region
from tileir.execute.overlap import overlapped
from tileir.ir.core import Operation

_MOST_FOUND: Final = 1024  # Kinds of launches that are remembered.


class GpuLauncher(PreparedKernel):
    """A kernel ready to run on GPUs, by the code of `code_for`; `operation_at` finds operations of failed asserts."""

    key_of_grid: str = ""  # What of a grid of x, y and z decides on the code, in Python; empty if nothing does.

    def __init__(self, entry: Operation, *, oldest_driver: int, operation_at: OperationAt | None = None) -> None:
        self.entry: Final = entry
        self.name: Final = entry.symbol_name or ""
        self._oldest_driver: Final = oldest_driver
        self._operation_at: Final = operation_at
        self.device_output: Final = device_output_of(entry)
        self.packer: Final = Packer(entry)
        self.variants: Final[dict[Any, tuple[Any, ...]]] = {}
        """What launches need (`find`), by the number of the GPU and what decides on the code."""
        self._usual: LaunchOptions | None = None  # Options that were found to be the defaults.
        self._library: ArrayLibrary | None = None  # The one whose arrays `_usual_launch` knows.
        self._usual_launch: UsualLaunch = no_usual_launch
        self._has_warned: bool = False

    def launch(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> None:
        stream = None
        is_usual = True
        if options is not self._usual:
            is_usual = options.progress is None and not options.memory
            if options.stream is not None:
                stream = stream_handle(options.stream)
            elif is_usual:
                self._usual = options
        if not is_usual or not self._usual_launch(grid, arguments, stream):
            self.launch_thoroughly(grid, arguments, options)

    def _write_usual_launch(self, grid: BlockId, arguments: tuple[object, ...], stream: int | None) -> bool:
        """Written when it is first needed: many kernels are launched once in a process."""
        assert self._library is not None, "there is a library to write it for"
        self._usual_launch = usual_launch(self, self._library, arguments)
        return self._usual_launch(grid, arguments, stream)

    @property
    def key_parts(self) -> tuple[str, ...]:
        """For each parameter, what of the argument {a} decides on the code, in Python; empty if nothing does."""
        return ("",) * len(self.packer.types)

    @abstractmethod
    def code_for(self, launching: Launching) -> LaunchedCode | None:
        """The code for a launch, called in its context; None if arguments have to be inspected first."""

    def find(self, key: Any, grid: BlockId, stream: int | None, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """What a launch with a new key, GPU first, needs beside its arguments; None if it needs a closer look."""
        place = device(key[0])
        context = place.context
        with current(context):
            code = self.code_for(Launching(place, context, grid, stream or 0, values))
            if code is None or code.packer.form.cluster > 1:
                return None
            packer = code.packer
            function = code.function(place, context)
        form = packer.form
        found = (place, context, function, packer, packer.spare, form.threads, form.shared, code.complete)
        if len(self.variants) >= _MOST_FOUND:
            self.variants.clear()
        self.variants[key] = found
        return found

    def filled(self, launching: Launching) -> tuple[LaunchedCode, Record, Any]:
        """The code for a launch, a record that is filled for it, and the function, in the context that is current."""
        code = self.code_for(launching)
        assert code is not None, "there is code for arguments that were examined"
        function = code.function(launching.place, launching.context)
        record = code.packer.take()
        try:
            code.fill(record, launching)
        except NotDescribed:
            code.packer.spare.append(record)
            if not launching.is_described:
                raise
            return self.filled(launching._replace(is_described=False))
        return code, record, function

    def give_back(self, code: LaunchedCode, record: Record, is_launched: bool = False) -> None:
        """Make a record available to other launches; `is_launched` means that its report is still to be read."""
        if record.report is not None and not is_launched:
            record.report.give_back()
        record.report = None
        code.packer.spare.append(record)

    def launch_in(self, context: int, record: Record, function: Any) -> int:
        """Launch in a context that is not current; returns the code of the driver."""
        with current(context):
            return int(driver().function("cuLaunchKernelEx")(record.configuration, function, record.parameters, None))

    def direct(self, kind: Sequence[ArgumentKind], options: LaunchOptions) -> DirectLaunches | None:
        return None if self.device_output else direct_launches(self, kind, options)

    def bind(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> Callable[[], None] | None:
        # Raises an error if arguments do not fit, and compiles and loads the kernel.
        stream = stream_for(arguments, options.stream)
        bound = self._bound(arguments, stream, options)
        place, context = self._place(bound)
        if any(self.key_parts) and any(is_on_host(buffer) for buffer, _ in bound.buffers):
            # Which code it gets depends on the copies.
            return None
        launching = Launching(place, context, grid, stream, bound.values, bound)
        with current(context):
            code, record, function = self.filled(launching)
            self.give_back(code, record)
        if self.device_output or context != place.context or options.progress is not None or options.memory:
            return None
        return repeated(self, code, launching, arguments, options, function)

    def launch_thoroughly(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> None:
        """Make a launch with arguments of whatever kinds, and with options."""
        if driver().forked:
            raise forked_error(f"launching @{self.name}")
        blocks = grid[0] * grid[1] * grid[2]
        progress = options.progress or (lambda done, count: None)
        with self.arguments_on_gpu(grid, arguments, options, waits=options.progress is not None) as launching:
            place, context, _, stream, *_ = launching
            progress(0, blocks)
            code, record, function = self.filled(launching)
            failed = driver().function("cuLaunchKernelEx")(record.configuration, function, record.parameters, None)
            report = record.report
            self.give_back(code, record, is_launched=True)
            if failed:
                raise self.error(failed, place)
            place.latest = self.name
            if self.device_output and not is_capturing(stream):
                self.listen(stream, options, place, report)
        progress(blocks, blocks)
        if not self.device_output and context == place.context:
            library = library_among(arguments)
            if library is not None and library is not self._library:
                self._library, self._usual_launch = library, self._write_usual_launch

    @contextmanager
    def arguments_on_gpu(
        self,
        grid: BlockId,
        arguments: tuple[object, ...],
        options: LaunchOptions,
        copies_back: bool = True,
        waits: bool = True,
    ) -> Iterator[Launching]:
        """A launch with its arguments on a GPU, its context current; waited for if it `waits` or has host copies."""
        stream = stream_for(arguments, options.stream)
        bound = self._bound(arguments, stream, options)
        self._check_memory(options)
        place, context = self._place(bound)
        copies = self._copies(bound, place, stream)
        launching = Launching(place, context, grid, stream, bound.values, bound)
        with current(context), ExitStack() as stack:
            wait_for(stream, [buffer.stream for buffer, _ in bound.buffers if isinstance(buffer, DeviceBuffer)])
            if copies is not None:
                launching = launching._replace(values=copies.copy_there(bound, stack))
            yield launching
            if copies is not None and copies_back:
                copies.copy_back()
            if copies is not None or waits:
                self.wait(stream, place)

    def timed(
        self,
        grid: BlockId,
        arguments: tuple[object, ...],
        options: LaunchOptions,
        repeat: int | None,
        flush_cache: bool,
    ) -> Measurement:
        # Imported here: few launches are timed, and a first launch is to be short.
        from tileir.execute.gpu.timing import event_times

        with self.arguments_on_gpu(grid, arguments, options) as launching:
            place = launching.place
            filled, record, function = self.filled(launching)
            once = partial(launch_filled, record, function, lambda code: self.error(code, place))
            try:
                seconds = event_times(once, launching.stream, place, repeat, flush_cache)
            except DriverError as error:
                raise error.after(f"@{self.name} or a kernel before it went wrong on {place.words}") from None
            self.give_back(filled, record)
        return Measurement(seconds, place.name, "CUDA events")

    def _bound(self, arguments: tuple[object, ...], stream: int, options: LaunchOptions) -> BoundArguments:
        require_driver(self._oldest_driver)
        bound = bind(self.entry, arguments, lambda value, what: device_buffer(value, what, stream))
        if not options.copies:
            for buffer, label in bound.buffers:
                if is_on_host(buffer):
                    raise WrongDeviceError(f"{label} of @{self.name} is on the host, and the kernel runs on a GPU")
        return bound

    def _place(self, bound: BoundArguments) -> tuple[Device, int]:
        """The GPU and the context that arrays are in; the current GPU if there are no arrays."""
        found: DeviceBuffer | None = None
        where = ""
        context = 0
        for buffer, label in bound.buffers:
            if not isinstance(buffer, DeviceBuffer) or buffer.ordinal < 0:
                continue
            if found is not None and found.ordinal != buffer.ordinal:
                raise LaunchError(
                    f"{label} of @{self.name} is on cuda:{buffer.ordinal}, but {where} is on cuda:{found.ordinal}: "
                    "pass arrays of one GPU"
                )
            own = buffer.context or device(buffer.ordinal).context
            if found is not None and own != context:
                raise LaunchError(
                    f"{label} of @{self.name} and {where} are in different CUDA contexts of cuda:{found.ordinal}: "
                    "pass arrays of one context"
                )
            found, where, context = buffer, str(label), own
        place = device(current_ordinal() if found is None else found.ordinal)
        return place, context or place.context

    def _copies(self, bound: BoundArguments, place: Device, stream: int) -> HostCopies | None:
        """None if there are no arrays of the host."""
        if not any(is_on_host(buffer) for buffer, _ in bound.buffers):
            return None
        launches = overlapped()
        if launches is not None:
            # The CPU may be at work on them.
            launches.wait_for_all()
        if not self._has_warned:
            self._has_warned = True
            warn_of_copies(self.name, bound.buffers, place.words)
        return HostCopies(self.entry, bound.buffers, stream)

    def _check_memory(self, options: LaunchOptions) -> None:
        """Refuse memory of the host, which the kernel would have to reach by its address."""
        for number, array in enumerate(options.memory):
            what = f"element {number} of `memory`"
            if isinstance(array, Pointer):
                what, array = array.name or what, array.array
            if is_on_host(device_buffer(array, what)):
                raise LaunchError(
                    f"{what} is on the host, where a kernel on a GPU does not reach it: pass an array on the GPU"
                )

    def listen(self, stream: int, options: LaunchOptions, place: Device, report: Report | None) -> None:
        """Wait for the kernel, and bring what it prints to the caller."""
        failure: LaunchError | None = None
        with captured() as heard:
            try:
                self.wait(stream, place)
            except DriverError as error:
                failure = error
        failed, text = failed_assert("".join(heard), self.device_output, self._operation_at)
        write_output(text, options.output)
        if failed is not None:
            raise failed from failure
        if failure is not None:
            raise failure

    def wait(self, stream: int, place: Device) -> None:
        try:
            synchronize(stream, f"running @{self.name}")
        except DriverError as error:
            raise error.after(f"it or a kernel before it went wrong on {place.words}") from None

    def error(self, code: int, place: Device) -> LaunchError:
        error = driver().error("cuLaunchKernelEx", code, f"launching @{self.name} on {place.words}")
        before = f", the last one from here was @{place.latest}" if place.latest else ""
        return error.after(f"a kernel that was launched before went wrong{before}")


class GpuKernel(GpuLauncher):
    """A kernel with one code: `make_cubin` compiles it for a target such as "sm_90", once for each."""

    def __init__(
        self,
        entry: Operation,
        globals: dict[str, Region],
        make_cubin: Callable[[str], Cubin],
        *,
        oldest_driver: int = ASSEMBLER_DRIVER,
        operation_at: OperationAt | None = None,
    ) -> None:
        super().__init__(entry, oldest_driver=oldest_driver, operation_at=operation_at)
        self.code: Final = LaunchedCode(self.packer, entry, globals, make_cubin)

    def code_for(self, launching: Launching) -> LaunchedCode:
        return self.code
