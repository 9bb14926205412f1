"""A kernel on the CPU and its launches; `code.py` makes what runs."""

from __future__ import annotations

import _thread
import ctypes
import sys
from array import array
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, cast

import numpy

from tileir.dialect.types import TileType
from tileir.execute.arguments.binding import bind, is_array, known_memory
from tileir.execute.cpu.code import KernelCode, Version
from tileir.execute.cpu.ir.options import Options
from tileir.execute.cpu.runtime import launch_record as record
from tileir.execute.cpu.runtime import parallel_launch, scratch
from tileir.execute.cpu.runtime.binder import Arguments, Binder, Binding, Fill, filling, listed
from tileir.execute.cpu.runtime.bound_launch import Repeated, places_of
from tileir.execute.cpu.runtime.parallel_launch import WORTH_SLICING, WORTH_WAKING, run_short
from tileir.execute.cpu.runtime.target import Target, host
from tileir.execute.dtypes import from_memory, memory_dtype
from tileir.execute.engine.interface import Again, DirectLaunches, Given, LaunchOptions, PreparedKernel
from tileir.execute.errors import BlockId, LaunchError, converted
from tileir.execute.memory import Region, reserved_label
from tileir.execute.overlap import overlapped
from tileir.execute.schedule import block_at
from tileir.ir.core import Operation

if TYPE_CHECKING:
    from tileir.execute.cpu.runtime.conflicts import ReachableMemory
    from tileir.execute.cpu.runtime.overlap import Launches
    from tileir.execute.cpu.sanitizer.report import Inspector
    from tileir.execute.sanitizer.report import SanitizerReport
    from tileir.execute.sanitizer.sanitizer import Sanitizer

_NO_SCRATCH: Final = numpy.zeros(128, numpy.uint64)
"""Scratch memory for a worker that runs no tile block."""


class CpuKernel(KernelCode, PreparedKernel):
    """A kernel ready to run on the CPU."""

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

    def launch(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> None:
        self._launch(grid, arguments, options, None)

    def sanitize(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> SanitizerReport:
        from tileir.execute.sanitizer.sanitizer import Sanitizer

        sanitizer = cast(Sanitizer, options.observer) if options.observer is not None else Sanitizer()
        self._launch(grid, arguments, options, sanitizer)
        return sanitizer.report

    def direct(self, kind: Sequence[Given], options: LaunchOptions) -> DirectLaunches | None:
        fill = filling(self._binder, kind)
        return None if fill is None else _DirectLaunches(self, fill, options)

    def bind(self, grid: BlockId, arguments: tuple[object, ...], options: LaunchOptions) -> Callable[[], None] | None:
        return self.repeated(grid, arguments, options, [each for each in arguments if is_array(each)], None, ())

    def repeated(
        self,
        grid: BlockId,
        arguments: Arguments,
        options: LaunchOptions,
        arrays: Sequence[object],
        fill: Fill | None,
        numbers: tuple[Any, ...],
    ) -> Repeated | None:
        """A launch to make again and again; None if it is not one of the shortest."""
        if options.memory or options.progress is not None or options.sanitize:
            return None
        threads = self._threads if options.num_threads is None else options.num_threads
        places = places_of(arrays)
        if fill is None:
            # The first launch of a kernel is bound the thorough way.
            self._binder.write_function()
        binding = self._binder(arguments, grid, _chunk(grid, threads), fill, numbers)
        if binding.bound is not None or places is None:
            return None
        version = self.version(binding.overlap, False, options.unchecked)
        if version.print_count:
            return None
        slots = binding.record.slots
        if threads > 1:
            slots[record.TAIL] = slots[record.CHUNK] * ((threads + 1) // 2)

        def once() -> None:
            self._launch(grid, arguments, options, None)

        def failed(slots: Any) -> None:
            self._raise_unless_unsuited(version, slots, grid, arguments, ())

        return Repeated(version.loaded, version.scratch_bytes, binding, threads, places, once, failed)

    def short_version(self, unchecked: bool) -> Version | None:
        """The version for arrays apart, if there is one, and launches of it may be over soon: without loops, which may
        take any time, and without prints."""
        version = self._versions.get((False, False, unchecked))
        return None if version is None or version.print_count or version.loaded.repeats else version

    def _launch(
        self,
        grid: BlockId,
        arguments: Arguments,
        options: LaunchOptions,
        sanitizer: Sanitizer | None,
        apart: bool = True,
        fill: Fill | None = None,
        numbers: tuple[Any, ...] = (),
        words: Sequence[int] = (),
    ) -> None:
        """`sanitizer` gets what is found, if there is one.  `apart` says that views may be taken to stay in their
        arrays until seen otherwise.  `fill` puts `numbers` into a record, if the arguments were looked at already; then
        `words` are about the further memory."""
        count = grid[0] * grid[1] * grid[2]
        threads = self._threads if options.num_threads is None else options.num_threads
        binding = self._binder(arguments, grid, _chunk(grid, threads), fill, numbers)
        if not apart:
            binding.overlap = True
        memory, progress = options.memory, options.progress
        launches = overlapped()
        version = self._versions.get((binding.overlap, sanitizer is not None, options.unchecked))
        if version is None:
            version = self.version(binding.overlap, sanitizer is not None, options.unchecked)
        slots = binding.record.slots
        loaded = version.loaded
        # Over before another thread could help.
        is_short = 0 < loaded.ns_per_block * count < WORTH_WAKING and not loaded.repeats
        if threads > 1 and not is_short:
            slots[record.TAIL] = slots[record.CHUNK] * ((threads + 1) // 2)
        is_plain = sanitizer is None and progress is None and not (memory or words or version.print_count)
        if is_plain and launches is None and binding.bound is None:
            # What most launches are.
            if is_short and version.scratch_bytes <= scratch.LARGE:
                failed = run_short(loaded, binding.record, version.scratch_bytes, count)
            else:
                self._run(version, binding, threads, arguments, False)
                failed = slots[record.FAILED]
            if failed:
                self._raise_unless_unsuited(version, slots, grid, arguments, memory)
                self._launch(grid, arguments, options, sanitizer, False, fill, numbers)
                return
            self._binder.recycle(binding)
            return
        table: object = None
        if words:
            table = self._table_of(binding, words)
        elif memory or binding.bound is not None:
            table = self._table(binding, arguments, memory)
        callback: Any = None
        failures: list[BaseException] = []
        if version.print_count:
            threads = 1
            write = options.output if options.output is not None else sys.stdout.write
            callback = self._printer(version.options, write, slots, failures)
            slots[record.CALLBACK] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        inspector: Inspector | None = None
        if sanitizer is not None:
            inspector = self._inspector(version, grid, arguments, memory, sanitizer, slots)
        keep = (arguments, callback, memory, inspector, table)
        if launches is not None:
            if is_plain and self._submit(launches, version, binding, arguments, grid, threads):
                return
            if not launches.is_idle:
                launches.wait_for_all()
        calls_back = callback is not None or inspector is not None
        if progress is None:
            self._run(version, binding, threads, keep, calls_back)
        else:
            # One counter, which tells how far it is.
            slots[record.RANGE_COUNT] = -1
            _tell_progress(slots, count, progress, lambda: self._run(version, binding, threads, keep, calls_back))
        if inspector is not None and inspector.error is not None:
            failures.append(inspector.error)
        if failures:
            raise failures[0]
        if slots[record.FAILED]:
            self._raise_unless_unsuited(version, slots, grid, arguments, memory)
            self._launch(grid, arguments, options, sanitizer, False, fill, numbers, words)
            return
        self._binder.recycle(binding)
        if progress is not None:
            progress(count, count)
        if inspector is not None and sanitizer is not None:
            sanitizer.report.grid = grid
            for finding in inspector.findings:
                sanitizer.take(finding)

    def _inspector(
        self,
        version: Version,
        extents: BlockId,
        arguments: Arguments,
        memory: Sequence[object],
        sanitizer: Sanitizer,
        slots: Any,
    ) -> Inspector:
        """Prepare what sanitized code looks into and calls."""
        from tileir.execute.cpu.sanitizer.report import Inspector

        if version.lowered is None:
            version.lowered = self.lower(version.options)
        lowered = version.lowered
        known = known_memory(self.globals.values(), bind(self.entry, listed(arguments)), memory)
        inspector = Inspector(lowered.sites, len(lowered.reserves), extents, known, sanitizer.unwritten)
        slots[record.REGIONS] = inspector.regions.ctypes.data
        slots[record.REGIONS + 1] = inspector.region_count
        base = self._layout.inspection
        slots[base] = ctypes.cast(inspector.callback, ctypes.c_void_p).value or 0
        slots[base + 1] = inspector.arrays.ctypes.data

        def stop() -> None:
            slots[record.STOP] = 1

        inspector.stop = stop
        return inspector

    def _submit(
        self,
        launches: Launches,
        version: Version,
        binding: Binding,
        arguments: Arguments,
        extents: BlockId,
        threads: int,
    ) -> bool:
        """Leave a launch to the context around it.

        False if it is to run now: if it is shorter than that takes and nothing is under way, if it is not known what
        memory it reaches, or if it needs all there is.
        """
        # Imported here: most launches have no others beside them.
        from tileir.execute.cpu.runtime.conflicts import ReachableMemory
        from tileir.execute.cpu.runtime.overlap import AT_ONCE, Launch

        if launches.is_idle and 0 < version.loaded.ns_per_block * binding.record.slots[record.COUNT] < AT_ONCE:
            return False
        if self._reach is None:
            self._reach = ReachableMemory(self.entry, self.globals)
        spans = self._binder.spans(binding) if self._reach.is_known else None
        if spans is None or scratch.affordable(version.scratch_bytes, self._threads) < self._threads:
            return False
        if not binding.overlap:
            version = self._suited(version, binding)
        launch = Launch(version.loaded, binding.record, version.scratch_bytes, threads, arguments)
        launch.recycle = lambda: self._binder.recycle(binding)
        options, slots = version.options, binding.record.slots
        launch.raise_failure = lambda: self._failed(options, slots, extents, arguments, ())
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

    def _table(self, binding: Binding, arguments: Arguments, memory: Sequence[object]) -> object:
        """Have a table of the launch's memory, where its arguments and globals are not all, or are not apart and some
        not writable: who asks takes what overlaps for one region, to which one may write if one may to a part."""
        bound = binding.bound
        if not memory and (bound is None or not binding.overlap):
            return None
        known = known_memory(
            self.globals.values(), bound if bound is not None else bind(self.entry, listed(arguments)), memory
        )
        words = [number for each in known.regions for number in (each.start, each.end, int(each.writable))]
        table = numpy.array(words, numpy.uint64)
        slots = binding.record.slots
        slots[record.REGIONS], slots[record.REGIONS + 1] = table.ctypes.data, len(known.regions)
        return table

    def _table_of(self, binding: Binding, words: Sequence[int]) -> object:
        """The same from what is known already; regions may overlap."""
        slots = binding.record.slots
        begin = self._layout.regions
        own = slots[begin : begin + record.REGION_WORDS * self._layout.region_count]
        table = array("Q", words)
        table.frombytes(own.tobytes())
        slots[record.REGIONS], slots[record.REGIONS + 1] = table.buffer_info()[0], len(table) // record.REGION_WORDS
        return table

    def _raise_unless_unsuited(
        self, version: Version, slots: Any, extents: BlockId, arguments: Arguments, memory: Sequence[object]
    ) -> None:
        """Raise what went wrong, unless it is that arrays cannot be told apart; no tile block has run then."""
        if slots[record.FAILED] != record.UNSUITED:
            self._failed(version.options, slots, extents, arguments, memory)

    def _failed(
        self, options: Options, slots: Any, extents: BlockId, arguments: Arguments, memory: Sequence[object]
    ) -> None:
        """Raise what went wrong.  The checks are lowered again: a kernel from the cache has none in memory."""
        check = self.lower(options).checks[slots[record.FAILED] - 1]
        number, element, detail = (slots[record.FAILURE + place] for place in range(3))
        block = block_at(number, extents)
        if check.kind == "outside":
            if not isinstance(arguments, tuple):
                arguments, memory = arguments()
            known = known_memory(self.globals.values(), bind(self.entry, arguments), memory)
            for place in range(self._layout.reserves, self._layout.lock, 2):
                start, end = slots[place], slots[place + 1]
                if start:
                    known.add(start, end - start, None, reserved_label(block), True)
            raise check.outside(block, element, detail % (1 << 64), known)
        raise check.error(block, element, detail)

    def _run(self, version: Version, binding: Binding, threads: int, keep: object, calls_back: bool) -> None:
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

        def call(site: int, block: int, table: int) -> None:
            if failures:
                return
            try:
                try:
                    words = text(site, table)
                except Exception as error:
                    raise converted(error) from error
                context.run(write, words)
            except BaseException as error:
                # Nothing may leave a callback.
                failures.append(error)
                slots[record.STOP] = 1

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

        return record.Callback(call)


def _chunk(grid: BlockId, threads: int) -> int:
    """How many tile blocks a thread takes at a time."""
    chunk = grid[0] * grid[1] * grid[2] // (8 * threads)
    return (chunk if chunk < 64 else 64) or 1


class _DirectLaunches(DirectLaunches):
    """Launches of a kernel whose arguments are of a kind that was looked at."""

    __slots__ = ("_fill", "_is_plain", "_kernel", "_options", "_short", "_version")

    def __init__(self, kernel: CpuKernel, fill: Fill, options: LaunchOptions) -> None:
        self._kernel: CpuKernel = kernel
        self._fill: Fill = fill
        self._options: LaunchOptions = options
        self._is_plain: bool = not options.memory and options.progress is None and not options.sanitize
        threads = kernel._threads if options.num_threads is None else options.num_threads
        self._short: int = WORTH_WAKING if threads > 1 else WORTH_SLICING
        """Nanoseconds of work below which a launch is not shared, nor made in slices."""
        self._version: Version | None = None
        """The version for arrays apart, once there is one that neither prints nor has loops."""

    def launch(self, grid: BlockId, numbers: tuple[Any, ...], again: Again, memory: Sequence[int] = ()) -> None:
        kernel, version = self._kernel, self._version
        x, y, z = grid
        count = x * y * z
        if (
            version is None
            or memory
            or not 0 < version.loaded.ns_per_block * count < self._short
            or overlapped() is not None
        ):
            kernel._launch(grid, again, self._options, None, True, self._fill, numbers, memory)
            if version is None and self._is_plain:
                self._version = kernel.short_version(self._options.unchecked)
            return
        # What is over before another thread could help goes the way of `_launch` with as few steps as there can be.
        binding = kernel._binder.take()
        slots = binding.record.slots
        apart = True
        if self._fill(slots, count, x, y, z, (count >> 4) or 1, *numbers) is False:
            if not run_short(version.loaded, binding.record, version.scratch_bytes, count):
                kernel._binder.recycle(binding)
                return
            kernel._raise_unless_unsuited(version, slots, grid, again, ())
            apart = False
        kernel._launch(grid, again, self._options, None, apart, self._fill, numbers)

    def bind(
        self, grid: BlockId, numbers: tuple[Any, ...], again: Again, arrays: Sequence[object]
    ) -> Callable[[], None] | None:
        return self._kernel.repeated(grid, again, self._options, arrays, self._fill, numbers)


def _tell_progress(slots: Any, count: int, progress: Callable[[int, int], None], run: Callable[[], None]) -> None:
    """Run, and tell how far the launch is, ten times a second, from a thread that looks at its record.

    What `progress` raises ends the launch as an interrupt does.
    """
    # Locks of the system, which an interrupt does not find half taken.
    over, ended = _thread.allocate_lock(), _thread.allocate_lock()
    over.acquire()
    failures: list[BaseException] = []
    has_left: list[bool] = []

    def tell() -> None:
        with ended:
            try:
                while not over.acquire(True, 0.1) and not has_left:
                    progress(min(slots[record.NEXT], count), count)
            except BaseException as error:
                failures.append(error)
                slots[record.STOP] = 1

    progress(0, count)
    try:
        try:
            _thread.start_new_thread(tell, ())
            run()
        finally:
            over.release()
            with ended:
                pass
    finally:
        # An interrupt may have come before the release above: the thread ends when it looks the next time.
        has_left.append(True)
    if failures:
        raise failures[0]
