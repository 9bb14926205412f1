"""A kernel on the CPU: compiled when it is first launched, kept on disk, run on all threads.

Several versions of a kernel exist: for arguments that share memory or not, checked or not, and for the sanitizer.
Each is compiled when a launch asks for it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, cast

import numpy

from tileir.dialect.types import TileType
from tileir.execute.arguments import bind, check_grid, checked_threads, known_memory
from tileir.execute.cpu.analysis import trip_counts
from tileir.execute.cpu.analysis.reach import Reach
from tileir.execute.cpu.emission.statements import EMITTERS
from tileir.execute.cpu.emission.worker import Emission
from tileir.execute.cpu.loops import arena, order, traffic
from tileir.execute.cpu.loops.checks import Check, refused_allocation
from tileir.execute.cpu.loops.options import Options
from tileir.execute.cpu.loops.sites import Site
from tileir.execute.cpu.loops.statements import Program, Repeat, Reserve, statements
from tileir.execute.cpu.lowering.roster import HANDLERS
from tileir.execute.cpu.lowering.walk import Lowering
from tileir.execute.cpu.native import cache, compilation, record, runtime, workers
from tileir.execute.cpu.native.binding import Binder, Binding
from tileir.execute.cpu.native.overlapping import AT_ONCE, Launch, Launches
from tileir.execute.cpu.native.target import Target, host
from tileir.execute.dtypes import from_memory, memory_dtype
from tileir.execute.errors import BlockId, CompilationError, ExecutionError, LaunchError, converted
from tileir.execute.memory import Region, available_memory, reserved_label
from tileir.execute.overlap import overlapped
from tileir.execute.schedule import block_at
from tileir.ir.clone import clone
from tileir.ir.core import Operation
from tileir.ir.diagnostics import TileIRError

if TYPE_CHECKING:
    from tileir.execute.cpu.findings import Inspector
    from tileir.execute.sanitizer.sanitizer import Sanitizer

_NO_ARENA: Final = numpy.zeros(128, numpy.uint64)
"""Scratch memory for a worker that runs no tile block."""

_MANY_CHECKS: Final = 2000
"""Branches of a sanitized kernel beyond which it is compiled quickly rather than well."""

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class Lowered:
    """A kernel as LLVM IR, and what its failures and prints mean."""

    __slots__ = ("checks", "prints", "program", "sites", "text")

    def __init__(
        self, program: Program, text: str, checks: list[Check], prints: list[Operation], sites: list[Site]
    ) -> None:
        self.sites: list[Site] = sites
        self.program: Program = program
        self.text: str = text
        self.checks: list[Check] = checks
        self.prints: list[Operation] = prints


class Version:
    """A version of a kernel in memory, ready to run."""

    __slots__ = ("arena_bytes", "loaded", "lowered", "options", "print_count", "shared_axis")

    def __init__(self, loaded: runtime.Loaded, meta: dict[str, Any], options: Options) -> None:
        self.loaded: runtime.Loaded = loaded
        self.arena_bytes: int = meta["arena_bytes"]
        self.print_count: int = meta["prints"]
        self.shared_axis: int = meta["shared_axis"]
        if meta["repeats"]:
            loaded.has_loops(meta["deciding"])
        self.options: Options = options
        self.lowered: Lowered | None = None
        """How the kernel was lowered, where the sanitizer has to know."""


class CpuKernel:
    """A kernel ready to run on the CPU."""

    def __init__(
        self,
        entry: Operation,
        globals: dict[str, Region],
        fast: bool = False,
        target: Target | None = None,
    ) -> None:
        self.entry: Operation = entry
        self.globals: dict[str, Region] = globals
        self.fast: bool = fast
        self.target: Target = target if target is not None else host()
        self._binder: Binder = Binder(entry, globals)
        self._layout: record.Layout = self._binder.layout
        self._versions: dict[tuple[bool, bool, bool], Version] = {}
        self._text: str | None = None
        self._reach: Reach | None = None
        self._threads: int = workers.default_threads()

    # --- compilation ---

    def lower(self, options: Options) -> Lowered:
        """Lower and emit, without compiling."""
        try:
            return self._lowered(options)
        except TileIRError:
            raise
        except Exception as error:
            raise converted(error) from error

    def _lowered(self, options: Options) -> Lowered:
        # The sanitizer looks at the program as it is, at promises too that nothing is made of.
        entry = self.entry if options.sanitize else optimized(self.entry)
        program = Lowering(entry, self.target, options, HANDLERS).run()
        arena.assign(program)
        if not options.sanitize:
            traffic.choose(program, self.target, options.overlapping)
        emission = Emission(program, self.target, self._layout, EMITTERS, options)
        emission.module.fast = options.fast
        text = emission.run()
        return Lowered(program, text, emission.checks, emission.prints, emission.sites)

    def dump(self, stage: str, overlapping: bool = False, sanitize: bool = False, unchecked: bool = False) -> str:
        """A version of the kernel as text, to read: "tiles", "loops", "llvm", "llvm-opt" or "asm" (docs/cpu.md)."""
        from tileir.execute.cpu.loops import printer

        if stage not in printer.STAGES:
            raise LaunchError(f"there is no stage '{stage}' to dump: choose one of {', '.join(printer.STAGES)}")
        if stage == "tiles":
            entry = self.entry if sanitize else optimized(self.entry)
            return f"{entry.parent_operation or entry}\n"
        lowered = self.lower(Options(overlapping, self.fast, sanitize, unchecked))
        if stage == "loops":
            mode = "fast" if self.fast else "exact"
            vectors = f"{self.target.name}, vectors of {self.target.vector_bytes} bytes, {mode}"
            return printer.program_text(lowered.program, vectors)
        if stage == "llvm":
            return lowered.text
        make = compilation.optimized if stage == "llvm-opt" else compilation.assembly
        return make(lowered.text, self.target)

    def version(self, overlapping: bool, sanitize: bool, unchecked: bool = False) -> Version:
        found = self._versions.get((overlapping, sanitize, unchecked))
        if found is None:
            options = Options(overlapping, self.fast, sanitize, unchecked)
            try:
                compiled = self._compiled(options)
            except TileIRError:
                raise
            except Exception as error:
                raise converted(error) from error
            # Two threads may make one each: the first that is ready is what both use.
            found = self._versions.setdefault((overlapping, sanitize, unchecked), compiled)
        return found

    def _compiled(self, options: Options) -> Version:
        store = cache.default_cache()
        if self._text is None:
            parent = self.entry.parent_operation
            self._text = str(parent if parent is not None else self.entry)
        flags = f"{self.entry.symbol_name} {options.overlapping} {options.fast} {options.sanitize} {options.unchecked}"
        if "alloca" in self._text:
            # What is refused for its size is refused by the code.
            flags += f" {available_memory()}"
        key = cache.key_of(self.target, [self._text, flags, ",".join(self.globals)])
        found = store.get(key)
        if found is not None:
            self.target.require_runnable()
            try:
                return Version(runtime.load(found[0]), found[1], options)
            except (KeyError, TypeError, CompilationError):
                # Not what was meant to be stored: made again, and stored in its place.
                pass
        lowered = self.lower(options)
        # The time LLVM takes for good code grows with the square of the number of checks.
        many = options.sanitize and lowered.text.count("br i1 ") > _MANY_CHECKS
        data = compilation.assemble(lowered.text, self.target, 0 if many else 3)
        meta: dict[str, Any] = {
            "arena_bytes": lowered.program.arena_bytes,
            "prints": len(lowered.prints),
            "shared_axis": order.shared_axis(lowered.program),
            "repeats": any(isinstance(statement, Repeat) for statement in statements(lowered.program.body)),
            "deciding": trip_counts.deciding_parameters(lowered.program.entry),
        }
        store.put(key, data, meta)
        self.target.require_runnable()
        version = Version(runtime.load(data), meta, options)
        version.lowered = lowered if options.sanitize else None
        return version

    # --- launches ---

    def launch(
        self,
        grid: int | tuple[int, ...],
        *arguments: object,
        num_threads: int | None = None,
        unchecked: bool = False,
        sanitize: bool = False,
        sanitizer: Sanitizer | None = None,
        memory: Iterable[object] = (),
        output: Callable[[str], object] | None = None,
        progress: Callable[[int, int], None] | None = None,
        apart: bool = True,
    ) -> None:
        """Run the kernel; `sanitizer` is who gets the findings, with `sanitize` they are raised.  `unchecked` code does
        not look at its accesses.  `apart` says that views may be taken to stay in their arrays until seen otherwise."""
        extents = check_grid(grid)
        count = extents[0] * extents[1] * extents[2]
        threads = self._threads if num_threads is None else checked_threads(num_threads)
        binding = self._binder(arguments, extents, max(1, min(64, count // (8 * threads))))
        if not apart:
            binding.overlap = True
        version = self.version(binding.overlap, sanitize or sanitizer is not None, unchecked)
        slots = binding.record.slots
        table: object = None
        if memory != () or binding.bound is not None:
            memory = tuple(memory)
            table = self._table(binding, arguments, memory)
        if version.shared_axis >= 0 and threads > 1:
            # Tile blocks along this dimension share packed operands: they go to one thread, if all have enough.
            slots[record.CHUNK] = max(1, min(extents[version.shared_axis], count // (2 * threads)))
        if threads > 1:
            slots[record.TAIL] = slots[record.CHUNK] * ((threads + 1) // 2)
        callback: Any = None
        failures: list[BaseException] = []
        if version.print_count:
            threads = 1
            write = output if output is not None else sys.stdout.write
            callback = self._printer(version.options, write, slots, failures)
            slots[record.CALLBACK] = ctypes.cast(callback, ctypes.c_void_p).value or 0
        inspector: Inspector | None = None
        if version.options.sanitize:
            inspector = self._inspector(version, extents, arguments, memory, sanitizer, slots)
        keep = (arguments, callback, memory, inspector, table)
        launches = overlapped()
        if launches is not None:
            is_plain = not (memory or inspector or version.print_count or progress is not None)
            if is_plain and self._submit(launches, version, binding, arguments, extents, threads):
                return
            if not launches.is_idle:
                launches.settle()
        calls_back = callback is not None or inspector is not None
        if progress is None:
            self._run(version, binding, threads, keep, calls_back)
        else:
            with _told(slots, count, progress):
                self._run(version, binding, threads, keep, calls_back)
        if inspector is not None and inspector.error is not None:
            failures.append(inspector.error)
        if failures:
            raise failures[0]
        if slots[record.FAILED]:
            if slots[record.FAILED] != record.UNSUITED:
                self._failed(version.options, slots, extents, arguments, memory)
            # No tile block has run yet.
            options: dict[str, Any] = {"memory": memory, "output": output, "progress": progress}
            self.launch(grid, *arguments, num_threads=num_threads, unchecked=unchecked, apart=False, **options)
            return
        self._binder.recycle(binding)
        if progress is not None:
            progress(count, count)
        if inspector is not None:
            _tell(inspector, sanitizer, extents, sanitize)

    def _inspector(
        self,
        version: Version,
        extents: BlockId,
        arguments: tuple[object, ...],
        memory: Iterable[object],
        sanitizer: Sanitizer | None,
        slots: Any,
    ) -> Inspector:
        """Prepare what sanitized code looks into and calls."""
        from tileir.execute.cpu.findings import Inspector

        if version.lowered is None:
            version.lowered = self.lower(version.options)
        lowered = version.lowered
        reserves = [each for each in statements(lowered.program.body) if isinstance(each, Reserve)]
        known = known_memory(self.globals.values(), bind(self.entry, arguments), memory)
        unwritten = sanitizer.unwritten if sanitizer is not None else []
        inspector = Inspector(lowered.sites, len(reserves), extents, known, unwritten)
        slots[record.REGIONS] = inspector.regions.ctypes.data
        slots[record.REGIONS + 1] = inspector.region_count
        base = self._layout.inspection
        slots[base] = ctypes.cast(inspector.callback, ctypes.c_void_p).value or 0
        slots[base + 1] = inspector.homes.ctypes.data

        def stop() -> None:
            slots[record.STOP] = 1

        inspector.stop = stop
        return inspector

    def _submit(
        self,
        launches: Launches,
        version: Version,
        binding: Binding,
        arguments: tuple[object, ...],
        extents: BlockId,
        threads: int,
    ) -> bool:
        """Leave a launch to the context around it.

        False if it is to run now: if it is shorter than that takes and nothing is under way, if it is not known what
        memory it reaches, or if it needs all there is.
        """
        if launches.is_idle and 0 < version.loaded.pace * binding.record.slots[record.COUNT] < AT_ONCE:
            return False
        if self._reach is None:
            self._reach = Reach(self.entry, self.globals)
        spans = self._binder.spans(binding, arguments) if self._reach.is_known else None
        if spans is None or not workers.has_memory(version.arena_bytes, self._threads):
            return False
        if not binding.overlap:
            version = self._suited(version, binding)
        launch = Launch(version.loaded, binding.record, version.arena_bytes, threads)
        launch.recycle = lambda: self._binder.recycle(binding)
        options, slots = version.options, binding.record.slots
        launch.raise_failure = lambda: self._failed(options, slots, extents, arguments, ())
        launch.keep = arguments
        if self._reach.strays or version.options.overlapping:
            # Views of this version may leave the arrays they are made from.
            spans = [(low, high, True) for low, high, _ in spans]
        launches.submit(launch, spans + self._reach.spans)
        return True

    def _suited(self, version: Version, binding: Binding) -> Version:
        """The version that suits a launch; a worker finds out before it takes a tile block, of which there are none."""
        slots = binding.record.slots
        count, slots[record.COUNT] = slots[record.COUNT], 0
        version.loaded.call(binding.record.address, _NO_ARENA.ctypes.data)
        slots[record.COUNT] = count
        if slots[record.FAILED] != record.UNSUITED:
            return version
        slots[record.FAILED] = slots[record.STOP] = 0
        return self.version(True, False, version.options.unchecked)

    def _table(self, binding: Binding, arguments: tuple[object, ...], memory: tuple[object, ...]) -> object:
        """Have a table of the launch's memory, where its arguments and globals are not all, or are not apart and some
        not writable: who asks takes what overlaps for one stretch, to which one may write if one may to a part."""
        bound = binding.bound
        if not memory and (bound is None or not binding.overlap):
            return None
        known = known_memory(self.globals.values(), bound if bound is not None else bind(self.entry, arguments), memory)
        words = [number for each in known.regions for number in (each.start, each.end, int(each.writable))]
        table = numpy.array(words, numpy.uint64)
        slots = binding.record.slots
        slots[record.REGIONS], slots[record.REGIONS + 1] = table.ctypes.data, len(known.regions)
        return table

    def _failed(
        self, options: Options, slots: Any, extents: BlockId, arguments: tuple[object, ...], memory: tuple[object, ...]
    ) -> None:
        """Raise what went wrong.  The checks are lowered again: a kernel from the cache has none in memory."""
        check = self.lower(options).checks[slots[record.FAILED] - 1]
        number, element, detail = (slots[record.FAILURE + place] for place in range(3))
        block = block_at(number, extents)
        if check.kind == "outside":
            known = known_memory(self.globals.values(), bind(self.entry, arguments), memory)
            for place in range(self._layout.reserves, self._layout.lock, 2):
                start, end = slots[place], slots[place + 1]
                if start:
                    known.add(start, end - start, None, reserved_label(block), True)
            raise check.outside(block, element, detail % (1 << 64), known)
        raise check.error(block, element, detail)

    def _run(self, version: Version, binding: Binding, threads: int, keep: object, calls_back: bool) -> None:
        try:
            workers.run(version.loaded, binding.record, version.arena_bytes, threads, keep, calls_back)
        except LaunchError as error:
            raise self._too_large(version) or error from None

    def _too_large(self, version: Version) -> ExecutionError | None:
        """The largest `alloca` of a kernel for which there is no scratch memory, if that is what takes most of it."""
        program = self.lower(version.options).program
        reserves = [each for each in statements(program.body) if isinstance(each, Reserve)]
        if not reserves or 2 * sum([each.buffer.bytes for each in reserves]) < version.arena_bytes:
            return None
        operation = max(reserves, key=lambda each: each.buffer.bytes).operation
        return refused_allocation(operation).error(None, 0, 0)

    def _printer(
        self, options: Options, write: Callable[[str], object], slots: Any, failures: list[BaseException]
    ) -> Any:
        """What compiled code calls to print.  An exception ends the launch and is left in `failures`."""
        from tileir.execute.interpreter.printing import nested, parts_of, text_of

        writers = []
        for operation in self.lower(options).prints:
            types = [cast(TileType, value.type) for value in operation.operand_group("args")]
            writers.append((parts_of(text_of(operation), [type.element for type in types]), types))

        # What `write` does may depend on the context of the caller, which a helper thread has not.
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

        return _CALLBACK(call)


def _tell(inspector: Inspector, sanitizer: Sanitizer | None, extents: BlockId, sanitize: bool) -> None:
    """Hand on what was found."""
    from tileir.execute.sanitizer.report import SanitizerError
    from tileir.execute.sanitizer.sanitizer import Sanitizer

    taker = sanitizer if sanitizer is not None else Sanitizer()
    taker.report.grid = extents
    for finding in inspector.findings:
        taker.take(finding)
    if sanitize and taker.report:
        raise SanitizerError(taker.report)


@contextmanager
def _told(slots: Any, count: int, progress: Callable[[int, int], None]) -> Iterator[None]:
    """Tell how far a launch is, ten times a second, from a thread that looks at its record.

    What `progress` raises ends the launch as an interrupt does.
    """
    over = threading.Event()
    failures: list[BaseException] = []

    def tell() -> None:
        try:
            while not over.wait(0.1):
                progress(min(slots[record.NEXT], count), count)
        except BaseException as error:
            failures.append(error)
            slots[record.STOP] = 1

    progress(0, count)
    teller = threading.Thread(target=tell, name="tileir progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
    if failures:
        raise failures[0]


def optimized(entry: Operation) -> Operation:
    """The kernel in a copy of its module, with passes that keep every bit of the results."""
    from tileir.passes.pipeline import run_passes

    parent = entry.parent_operation
    if parent is None:
        raise LaunchError("the kernel is in no module")
    module = clone(parent)
    run_passes(module, ["canonicalize", "cse", "loop-invariant-code-motion", "canonicalize", "dce"], verify_each=False)
    for operation in module.regions[0].blocks[0]:
        if operation.symbol_name == entry.symbol_name:
            return operation
    raise LaunchError(f"the kernel '{entry.symbol_name}' is gone after optimization")
