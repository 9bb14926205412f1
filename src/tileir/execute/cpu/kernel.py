"""A kernel on the CPU and its launches; `code.py` makes what runs."""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy

from tileir.dialect.types import TileType
from tileir.execute.analysis.parameters import accesses_several_devices
from tileir.execute.arguments.binding import BoundArguments, bind, is_array, known_memory
from tileir.execute.arguments.multicast import multicast_rows
from tileir.execute.cpu.code import KernelCode, Version
from tileir.execute.cpu.ir.options import Options
from tileir.execute.cpu.runtime import launch_record as record
from tileir.execute.cpu.runtime import parallel_launch
from tileir.execute.cpu.runtime.binder import Arguments, Binder, Binding, Fill, Repeated, filling, listed, memory_of
from tileir.execute.cpu.runtime.launch_record import Record
from tileir.execute.cpu.runtime.parallel_launch import WORTH_SLICING, WORTH_WAKING, run_short
from tileir.execute.cpu.runtime.target import Target, host
from tileir.execute.cpu.runtime.thread_pool import affordable
from tileir.execute.dtypes import from_memory, memory_dtype
from tileir.execute.engine.interface import Again, ArgumentKind, DirectLaunches, LaunchOptions, PreparedKernel
from tileir.execute.errors import BlockId, LaunchError
from tileir.execute.memory import Memory, Region, reserved_label
from tileir.execute.overlap import overlapped
from tileir.execute.schedule import block_at
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.cpu.runtime.conflicts import ReachableMemory
    from tileir.execute.cpu.runtime.overlap import Launches
    from tileir.execute.cpu.sanitizer.report import Inspector
    from tileir.execute.sanitizer.report import SanitizerReport
    from tileir.execute.sanitizer.sanitizer import Sanitizer

_NO_SCRATCH: Final = numpy.zeros(128, numpy.uint64)  # Scratch memory for a worker that runs no tile block.


class Request(NamedTuple):
    """A launch as it was requested."""

    grid: BlockId
    arguments: Arguments
    options: LaunchOptions
    # Where the arguments were examined already: what puts them, as numbers, into a record; words about further memory.
    fill: Fill | None = None
    numbers: tuple[Any, ...] = ()
    words: Sequence[int] = ()

    @property
    def block_count(self) -> int:
        x, y, z = self.grid
        return x * y * z


class CpuKernel(KernelCode, PreparedKernel):
    def __init__(
        self,
        entry: Operation,
        globals: dict[str, Region],
        fast: bool = False,
        target: Target | None = None,
        exact: bool = False,
    ) -> None:
        self._binder: Binder = Binder(entry, globals)
        super().__init__(entry, globals, fast, exact, target if target is not None else host(), self._binder.layout)
        self._reach: ReachableMemory | None = None
        self._threads: int = parallel_launch.default_threads()
        self._path: _LaunchPath | None = None  # Of the last launch

    def launch(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> None:
        path = self._path
        if path is None or path.options is not options:
            path = self._path = self.path(self._binder.quick, options)
        self.launch_on(path, grid, (arguments,), arguments)

    def sanitize(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> SanitizerReport:
        from tileir.execute.sanitizer.sanitizer import Sanitizer

        if accesses_several_devices(self.entry):
            # The interpreter knows the devices by number.
            from tileir.execute.interpreter.kernel import InterpretedKernel

            return InterpretedKernel(self.entry, self.globals, self.exact).sanitize(grid, arguments, options)
        sanitizer = cast(Sanitizer, options.observer) if options.observer is not None else Sanitizer()
        self._launch(Request(grid, arguments, options), sanitizer)
        return sanitizer.report

    def direct(self, kind: Sequence[ArgumentKind], options: LaunchOptions) -> DirectLaunches | None:
        fill = filling(self._binder, kind)
        return None if fill is None else _DirectLaunches(self, self.path(fill, options))

    def path(self, fill: Fill, options: LaunchOptions) -> _LaunchPath:
        threads = self._threads if options.threads is None else options.threads
        return _LaunchPath(fill, options, WORTH_WAKING if threads > 1 else WORTH_SLICING)

    def launch_on(
        self, path: _LaunchPath, grid: BlockId, given: tuple[Any, ...], arguments: Arguments, memory: Sequence[int] = ()
    ) -> None:
        """Launch with what `path.fill` takes.  A launch that is over before another thread could help takes as few
        steps as possible."""
        version = path.version
        x, y, z = grid
        count = x * y * z
        apart = True
        if version is None:
            if path.is_plain:
                path.version = self._short_version(path.options.unchecked)
        elif not memory and 0 < version.loaded.ns_per_block * count < path.limit and overlapped() is None:
            binding = self._binder.take()
            slots = binding.record.slots
            if path.fill(slots, count, x, y, z, (count >> 4) or 1, *given) is False:
                if not run_short(version.loaded, binding.record, version.scratch_bytes, count):
                    self._binder.recycle(binding)
                    return
                apart = not self._is_unsuited(version, slots, Request(grid, arguments, path.options))
        self._launch(Request(grid, arguments, path.options, path.fill, given, memory), None, apart)

    def bind(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> Callable[[], None] | None:
        return self.repeated(Request(grid, arguments, options), [each for each in arguments if is_array(each)])

    def repeated(self, request: Request, arrays: Sequence[object]) -> Repeated | None:
        """A launch to make again and again; None if it is not one of the shortest."""
        options = request.options
        if options.memory or options.progress is not None or options.sanitize:
            return None
        threads = self._threads if options.threads is None else options.threads
        memory = memory_of(arrays)
        chunk = parallel_launch.chunk_for(request.grid, threads)
        binding = self._binder(request.arguments, request.grid, chunk, request.fill, request.numbers)
        if binding.bound is not None or memory is None:
            return None
        version = self.version(binding.overlap, False, options.unchecked)
        if version.print_count:
            return None

        def run(record: Record, keep: object) -> bool:
            parallel_launch.run(version.loaded, record, version.scratch_bytes, threads, keep)
            return not self._is_unsuited(version, record.slots, request)

        # The long way looks at the arguments again: an array may have moved.
        again = Request(request.grid, request.arguments, options)
        return Repeated(binding.record, memory, run, lambda: self._launch(again))

    def _short_version(self, unchecked: bool) -> Version | None:
        """The version for arrays apart, if any, and if its launches are soon over: it has no loops and no prints."""
        version = self._versions.get((False, False, unchecked))
        return version if version is not None and version.is_simple else None

    def _launch(self, request: Request, sanitizer: Sanitizer | None = None, apart: bool = True) -> None:
        """`sanitizer`, if any, gets the findings; `apart` takes views to stay in their arrays until seen otherwise."""
        options = request.options
        threads = self._threads if options.threads is None else options.threads
        chunk = parallel_launch.chunk_for(request.grid, threads)
        binding = self._binder(request.arguments, request.grid, chunk, request.fill, request.numbers)
        binding.overlap = binding.overlap or not apart
        key = (binding.overlap, sanitizer is not None, options.unchecked)
        version = self._versions.get(key) or self.version(*key)
        slots = binding.record.slots
        calls_back = sanitizer is not None or version.print_count > 0 or options.progress is not None
        if request.words or options.memory or binding.bound is not None:
            binding.table = self._table(binding, request)
        launches = overlapped()
        if launches is not None:
            is_plain = not (calls_back or options.memory or request.words)
            if is_plain and self._submit(launches, version, binding, request, threads):
                return
            if not launches.is_idle:
                launches.wait_for_all()
        if calls_back:
            self._run_with_callbacks(version, binding, threads, request, sanitizer)
        else:
            self._run(version, binding, threads, (request, binding))
        if slots[record.FAILED] and self._is_unsuited(version, slots, request, binding.bound):
            self._launch(request, sanitizer, False)
        else:
            self._binder.recycle(binding)

    def _run_with_callbacks(
        self, version: Version, binding: Binding, threads: int, request: Request, sanitizer: Sanitizer | None
    ) -> None:
        """Run what prints, reports progress or is sanitized."""
        slots, options = binding.record.slots, request.options
        callback: Any = None
        failures: list[BaseException] = []
        if version.print_count:
            threads = 1
            write = options.output if options.output is not None else sys.stdout.write
            callback = self._printer(version.options, write, slots, failures)
            slots[record.CALLBACK] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        inspector = None if sanitizer is None else self._inspector(version, request, sanitizer, slots)
        keep = (request, binding, callback, inspector)
        calls_back = callback is not None or inspector is not None
        progress, count = options.progress, request.block_count
        if progress is None:
            self._run(version, binding, threads, keep, calls_back)
        else:
            # One counter for all workers, which is the progress.
            slots[record.RANGE_COUNT] = -1
            run = partial(self._run, version, binding, threads, keep, calls_back)
            parallel_launch.tell_progress(slots, count, progress, run)
        if inspector is not None and inspector.error is not None:
            failures.append(inspector.error)
        if failures:
            raise failures[0]
        if slots[record.FAILED]:
            return
        if progress is not None:
            progress(count, count)
        if inspector is not None and sanitizer is not None:
            sanitizer.report.grid = request.grid
            for finding in inspector.findings:
                sanitizer.take(finding)

    def _inspector(self, version: Version, request: Request, sanitizer: Sanitizer, slots: Any) -> Inspector:
        """Prepare what sanitized code looks into and calls."""
        from tileir.execute.cpu.sanitizer.report import Inspector

        lowered = version.lowered = version.lowered or self.lower(version.options)
        known = self._known_memory(listed(request.arguments), request.options.memory)
        inspector = Inspector(lowered.sites, len(lowered.reserves), request.grid, known, sanitizer.unwritten)
        slots[record.REGIONS] = inspector.regions.ctypes.data
        slots[record.REGIONS + 1] = inspector.region_count
        base = self._layout.inspection
        slots[base] = ctypes.cast(inspector.callback, ctypes.c_void_p).value or 0
        slots[base + 1] = inspector.arrays.ctypes.data
        inspector.stop = partial(slots.__setitem__, record.STOP, 1)
        return inspector

    def _submit(self, launches: Launches, version: Version, binding: Binding, request: Request, threads: int) -> bool:
        """Leave a launch to the context around it.  False if it must run now: it is too short to queue and nothing is
        under way, its memory is not known, or it needs all there is."""
        # Imported here: most launches have no others beside them.
        from tileir.execute.cpu.runtime.conflicts import ReachableMemory
        from tileir.execute.cpu.runtime.overlap import AT_ONCE, Launch

        if launches.is_idle and 0 < version.loaded.ns_per_block * request.block_count < AT_ONCE:
            return False
        if self._reach is None:
            self._reach = ReachableMemory(self.entry, self.globals)
        spans = self._binder.spans(binding) if self._reach.is_known else None
        if spans is None or affordable(version.scratch_bytes, self._threads) < self._threads:
            return False
        if not version.options.overlapping:
            version = self._suited(version, binding)
        launch = Launch(version.loaded, binding.record, version.scratch_bytes, threads, request.arguments)
        launch.recycle = lambda: self._binder.recycle(binding)
        launch.raise_failure = lambda: self._failed(version.options, binding.record.slots, request)
        if self._reach.may_leave_arrays or version.options.overlapping:
            # Views of this version may leave the arrays they are made from.
            spans = [(low, high, True) for low, high, _ in spans]
        launches.submit(launch, spans + self._reach.spans)
        return True

    def _suited(self, version: Version, binding: Binding) -> Version:
        """The version that suits a launch; a worker finds out before it takes a tile block, of which there are none."""
        slots = binding.record.slots
        count, slots[record.COUNT] = slots[record.COUNT], 0
        version.loaded.call(binding.record.address, _NO_SCRATCH.ctypes.data)
        slots[record.COUNT] = count
        if slots[record.FAILED] != record.UNSUITED:
            return version
        slots[record.FAILED] = slots[record.STOP] = 0
        return self.version(True, False, version.options.unchecked)

    def _table(self, binding: Binding, request: Request) -> object:
        """Write a table of the launch's memory, if arguments and globals are not all of it, or overlap and are in part
        read-only: accesses treat overlapping memory as one region, writable if a part of it is."""
        slots, bound, memory = binding.record.slots, binding.bound, request.options.memory
        if request.words:
            table = array("Q", request.words)
            begin = self._layout.regions
            table.frombytes(slots[begin : begin + record.REGION_WORDS * self._layout.region_count].tobytes())
        elif memory or binding.overlap:
            regions = self._known_memory(listed(request.arguments), memory, bound).regions
            table = array("Q", [word for each in regions for word in (each.start, each.end, int(each.writable))])
        else:
            return None
        count = len(table) // record.REGION_WORDS
        devices = multicast_rows(bound.multicasts if bound is not None else [])
        table.extend([word for row in devices for word in row])
        address = table.buffer_info()[0]
        slots[record.REGIONS], slots[record.REGIONS + 1] = address, count
        place = self._layout.multicasts
        slots[place], slots[place + 1] = address + 8 * record.REGION_WORDS * count, len(devices)
        return table

    def _known_memory(
        self, arguments: tuple[object, ...], memory: Sequence[object], bound: BoundArguments | None = None
    ) -> Memory:
        return known_memory(self.globals.values(), bound or bind(self.entry, arguments), memory)

    def _is_unsuited(self, version: Version, slots: Any, request: Request, bound: BoundArguments | None = None) -> bool:
        """Whether a view left its array, so that arrays may alias, and no tile block ran; raises other failures."""
        if slots[record.FAILED] not in (0, record.UNSUITED):
            self._failed(version.options, slots, request, bound)
        return bool(slots[record.FAILED])

    def _failed(self, options: Options, slots: Any, request: Request, bound: BoundArguments | None = None) -> None:
        """Raise what went wrong.  The checks are lowered again: a kernel from the cache has none in memory."""
        check = self.lower(options).checks[slots[record.FAILED] - 1]
        number, element, detail = (slots[record.FAILURE + slot] for slot in range(3))
        block = block_at(number, request.grid)
        if check.kind == "outside":
            arguments, memory = request.arguments, request.options.memory
            if not isinstance(arguments, tuple):
                arguments, memory = arguments()
            known = self._known_memory(arguments, memory, bound)
            for slot in range(self._layout.reserves, self._layout.lock, 2):
                start, end = slots[slot], slots[slot + 1]
                if start:
                    known.add(start, end - start, None, reserved_label(block), True)
            raise check.outside(block, element, detail % (1 << 64), known)
        raise check.error(block, element, detail)

    def _run(self, version: Version, binding: Binding, threads: int, keep: object, calls_back: bool = False) -> None:
        try:
            parallel_launch.run(version.loaded, binding.record, version.scratch_bytes, threads, keep, calls_back)
        except LaunchError as error:
            raise self.lower(version.options).too_large(version.scratch_bytes) or error from None

    def _printer(
        self, options: Options, write: Callable[[str], object], slots: Any, failures: list[BaseException]
    ) -> Any:
        """What compiled code calls to print.  An exception ends the launch and is left in `failures`."""
        from tileir.execute.interpreter.printing import nested, parts_of, text_of

        writers = []
        for operation in self.lower(options).prints:
            types = [cast(TileType, value.type) for value in operation.args]
            writers.append((parts_of(text_of(operation), [type.element for type in types]), types))

        # What `write` does may depend on the context of the caller, which a worker thread does not have.
        context = copy_context()

        def text(site: int, table: int) -> str:
            parts, types = writers[site]
            pointers: Any = (ctypes.c_void_p * len(types)).from_address(table) if types else []
            values = []
            for type, pointer in zip(types, pointers, strict=True):
                dtype = memory_dtype(type.element)
                raw: Any = (ctypes.c_char * (type.count * dtype.itemsize)).from_address(cast(int, pointer))
                values.append((from_memory(type.element, numpy.frombuffer(raw, dtype).copy()), type.shape))
            rest = iter(values)
            return "".join([part if isinstance(part, str) else nested(*next(rest), part) for part in parts])

        def call(site: int, block: int, table: int) -> None:
            try:
                if not failures:
                    context.run(write, text(site, table))
            except BaseException as error:
                # Nothing may leave a callback.
                failures.append(error)
                slots[record.STOP] = 1

        return record.Callback(call)


class _LaunchPath:
    """What launches of one kind have in common: a function that fills records and the options."""

    __slots__ = ("fill", "is_plain", "limit", "options", "version")

    def __init__(self, fill: Fill, options: LaunchOptions, limit: int) -> None:
        self.fill: Fill = fill
        self.options: LaunchOptions = options
        self.limit: int = limit  # Nanoseconds below which a launch is neither shared nor sliced
        self.is_plain: bool = not options.memory and options.progress is None and not options.sanitize
        self.version: Version | None = None  # For arrays apart, without prints and loops


class _DirectLaunches(DirectLaunches):
    """Launches of a kernel with arguments of one inspected kind."""

    __slots__ = ("_kernel", "_path")

    def __init__(self, kernel: CpuKernel, path: _LaunchPath) -> None:
        self._kernel: CpuKernel = kernel
        self._path: _LaunchPath = path

    def launch(self, grid: BlockId, numbers: tuple[Any, ...], again: Again, memory: Sequence[int] = ()) -> None:
        self._kernel.launch_on(self._path, grid, numbers, again, memory)

    def bind(
        self, grid: BlockId, numbers: tuple[Any, ...], again: Again, arrays: Sequence[object]
    ) -> Callable[[], None] | None:
        return self._kernel.repeated(Request(grid, again, self._path.options, self._path.fill, numbers), arrays)
