"""`compile` and `Kernel`: a program ready to run, and its launches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from tileir.execute.errors import BlockId, LaunchError, MissingDependencyError, WrongDeviceError

try:
    # First: without it ml_dtypes prints a traceback of its own.
    import numpy  # noqa: F401, I001
    import ml_dtypes  # noqa: F401
except ImportError as _missing:
    raise MissingDependencyError(
        f"running programs needs NumPy and ml_dtypes ({_missing}): pip install 'tileir[run]'"
    ) from None

from tileir import notebook
from tileir.descriptions import function_words
from tileir.execute.arguments.binding import Pointer
from tileir.execute.arguments.binding import bind as bind_arguments
from tileir.execute.bound import BoundLaunch
from tileir.execute.engine.interface import (
    FORWARD,
    ArgumentKind,
    Backend,
    DirectLaunches,
    KernelSettings,
    LaunchOptions,
    PreparedKernel,
    Progress,
)
from tileir.execute.engine.registry import AUTO, choose, find_engine, require
from tileir.execute.launching.entries import check_arguments, check_grid, check_number, select_entry
from tileir.execute.launching.options import LAUNCH_OPTIONS, check_options, checked_options
from tileir.execute.launching.torch_compiler import leave_launches_alone
from tileir.execute.memory import Globals
from tileir.execute.overlap import overlapped
from tileir.execute.schedule import check_schedule
from tileir.ir.core import Operation
from tileir.ir.traversal import ancestors, clone

if TYPE_CHECKING:
    from tileir.execute.gpu.cubin import Cubin, Resources
    from tileir.execute.gpu.triton.code import Tuning, TuningTrial
    from tileir.execute.launching.timing import Timing
    from tileir.execute.observing.observer import Observer
    from tileir.execute.work.operations import Work


def compile(
    module: Operation,
    *,
    entry: str | None = None,
    backend: str = "auto",
    exact: bool = False,
    fast: bool = False,
    cpu: str | None = None,
    schedule: str = FORWARD,
    unchecked: bool = False,
    cubin: bytes | None = None,
    tune: bool = False,
) -> Kernel:
    """Make a copy of a module's kernel ready to run, verified; `tileir.compile` documents the options."""
    from tileir.interface import verify

    engine = None if backend == AUTO else find_engine(backend)
    if cubin is not None and (engine is None or "cubin" not in engine.options):
        raise LaunchError("a cubin is for a GPU: compile with backend='tileiras'")
    if tune and (engine is None or "tune" not in engine.options):
        raise LaunchError("tune searches the schedule of a kernel that Triton compiles: compile with backend='triton'")
    if exact and fast:
        raise LaunchError("exact and fast contradict each other: use one of them")
    checked_options(LaunchOptions(schedule))
    if cpu is not None and not isinstance(cpu, str):
        raise LaunchError(f"cpu is {cpu!r}: pass the name of a processor, such as 'x86-64-v3'")
    check_schedule(schedule)
    verify(module)
    # A copy, as much of a kernel is made of the program only when it is first launched.
    chosen = select_entry(clone(module), entry)
    if cubin is not None:
        from tileir.execute.gpu.cubin import cubin_of

        # Refused here, in words, if it is none of this kernel.
        cubin_of(chosen, cubin)
    return Kernel(chosen, backend, KernelSettings(exact, fast, cpu, cubin, tune), schedule, unchecked)


_NO_SETTINGS: Final = KernelSettings()


class Kernel:
    """A kernel ready to run; made by `tileir.compile`.

    >>> isinstance(tileir.compile(module), tileir.Kernel)
    True
    """

    def __init__(
        self,
        entry: Operation,
        backend: str = AUTO,
        settings: KernelSettings = _NO_SETTINGS,
        schedule: str = FORWARD,
        unchecked: bool = False,
        globals: Globals | None = None,
    ) -> None:
        self.entry: Final = entry
        self.requested_backend: Final = backend
        self.settings: Final = settings
        self.exact: Final = settings.exact
        self.schedule: Final = schedule
        self.unchecked: Final = unchecked or os.environ.get("TILEIR_UNCHECKED", "") not in ("", "0")
        self.globals: Globals = globals if globals is not None else Globals(entry.parent_operation)
        self._engine: Backend | None = None if backend == AUTO else find_engine(backend)
        self._prepared: dict[Backend, PreparedKernel] = {}
        self._ordinary: LaunchOptions = LaunchOptions(schedule, unchecked=self.unchecked, copies=backend != AUTO)
        # The kernel for launches that ask for nothing but a number of threads, by that number.
        self._plain: dict[int | None, tuple[PreparedKernel, LaunchOptions]] = {}
        # What ran the last launch: the engine and its kernel.
        self._latest: tuple[Backend, PreparedKernel] | None = None
        self.find_variables: Callable[[], object] | None = None
        """Finds the `ScriptVariables` of the script that the kernel was compiled from, where its front end knows them;
        for those who record launches."""

    def __repr__(self) -> str:
        return f"<Kernel {function_words(self.entry)}, backend {self.requested_backend}>"

    def _repr_html_(self) -> str:
        return notebook.program(str(self.entry), f"kernel {self.name}, backend {self.requested_backend}")

    @property
    def name(self) -> str:
        return self.entry.symbol_name or ""

    def sibling(self, entry: str) -> Kernel:
        """Another kernel of the module as it was loaded for this one: both work on the same global variables."""
        return Kernel(select_entry(ancestors(self.entry)[0], entry), *self._options, self.globals)

    @property
    def _options(self) -> tuple[str, KernelSettings, str, bool]:
        return self.requested_backend, self.settings, self.schedule, self.unchecked

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Copied and pickled as its program, which is compiled again; globals begin with their first values."""
        return Kernel, (self.entry, *self._options)

    def __deepcopy__(self, memo: dict[int, object]) -> Kernel:
        module = [self.entry, *ancestors(self.entry)][-1]
        return Kernel(select_entry(clone(module), self.name), *self._options)

    def __copy__(self) -> Kernel:
        return self.__deepcopy__({})

    @property
    def parameters(self) -> list[str]:
        """The types of the parameters, as the program spells them."""
        return [argument.type.spelling for argument in self.entry.regions[0].blocks[0].arguments]

    @property
    def backend(self) -> str:
        """The name of the backend that runs launches without special options.  If none was named, it is the one that
        ran the last launch, or before the first launch the one for arrays on the host."""
        if self._engine is None and self._latest is not None:
            return self._latest[1].chosen_backend or self._latest[0].name
        return (self._engine or choose(self.entry, (), self._ordinary)).name

    def prepare(self) -> PreparedKernel:
        """Prepare the kernel for launches without special options, before the first one."""
        return self._prepared_by(self._chosen(self._ordinary))

    def launch(
        self,
        grid: int | tuple[int, ...],
        args: Sequence[object] = (),
        *,
        schedule: str | None = None,
        sanitize: bool | Literal["all"] = False,
        observer: Observer | None = None,
        memory: Iterable[object] = (),
        output: Callable[[str], object] | None = None,
        progress: Progress | None = None,
        threads: int | None = None,
        unchecked: bool | None = None,
        stream: object = None,
    ) -> None:
        """Run the kernel once for each tile block of a grid; results are in the arrays when it returns, or on a GPU for
        what comes next in the stream.

        `args` has an array (NumPy, torch, CuPy, anything with DLPack or an array interface) for each pointer and a
        number for each scalar.  `memory` lists further arrays that the kernel reaches through addresses read from
        memory.  `schedule` is the order of tile blocks: "forward", "reverse", "random:SEED", or "interleaved", which
        switches between blocks at memory operations.  `sanitize` looks for errors (docs/tools/sanitizer.md): the launch
        runs to its end and raises `SanitizerError` if there were any; "all" also looks for elements that are never
        written, or written twice by one store.  With backend="auto" it uses the interpreter, which finds most; with
        backend="cpu" compiled code looks, and "all" is refused.  `observer` watches the launch.  `output` is called
        with what the kernel prints, by default it goes to standard output.  `progress` is called with the number of
        finished tile blocks and of all.  `threads` is for the CPU backend, by default all processors; so is
        `unchecked`, by default as given to `tileir.compile`.  `stream` is for GPUs: a CUDA stream of torch, CuPy or
        another library, or its handle; by default the current one of the library that the arrays are from
        (docs/guide/gpu.md).
        """
        arguments = args if type(args) is tuple else check_arguments(args)
        options = self._ordinary
        is_plain = sanitize is False and schedule is None and observer is None and output is None and progress is None
        is_plain = is_plain and unchecked is None and stream is None and type(memory) in (tuple, list) and not memory
        if is_plain:
            known = self._plain.get(threads) if threads is None or type(threads) is int else None
            if known is not None:
                try:
                    known[0].launch(check_grid(grid), arguments, known[1])
                    return
                except WrongDeviceError:
                    # Nothing ran yet: the choice is made again, if there is one.
                    if self._engine is not None:
                        raise
        if threads is not None or not is_plain:
            options = self._checked(
                schedule=schedule, sanitize=sanitize, observer=observer, memory=memory, output=output,
                progress=progress, threads=threads, unchecked=unchecked, stream=stream,
            )  # fmt: skip
        engine = self._chosen(options, arguments)
        prepared = self._used(engine) if options is self._ordinary or engine.on_gpu else self._prepared_by(engine)
        if engine.overlaps or engine.on_gpu:
            if options is self._ordinary or (is_plain and not engine.on_gpu and type(threads) is int):
                if len(self._plain) > 64:
                    self._plain.clear()
                self._plain[threads] = prepared, options
        elif (launches := overlapped()) is not None:
            launches.wait_for_all()
        extents = check_grid(grid)
        if not options.sanitize and (options.observer is None or "observer" in engine.options):
            prepared.launch(extents, arguments, options)
            return
        report = prepared.sanitize(extents, arguments, options)
        if options.sanitize and report:
            from tileir.execute.sanitizer.report import SanitizerError

            raise SanitizerError(report)

    def bind(self, grid: int | tuple[int, ...], args: Sequence[object] = (), **options: Any) -> BoundLaunch:
        """A launch to keep: grid and arguments are checked once, and each call of it costs little more than the native
        code takes.  The options are those of `launch`."""
        extents = check_grid(grid)
        arguments = check_arguments(args)
        return BoundLaunch(self.name, extents, arguments, lambda given: self._bound(extents, given, options))

    def _bound(self, grid: BlockId, arguments: tuple[object, ...], options: dict[str, Any]) -> Callable[[], None]:
        if not options.keys() - {"threads", "unchecked", "stream"}:
            chosen = self._checked(**options)
            engine = self._chosen(chosen, arguments)
            # Refused here, in words, if they do not fit.
            if not engine.on_gpu:
                bind_arguments(self.entry, arguments)
            short = engine.overlaps or engine.on_gpu
            run = self._used(engine).bind(grid, arguments, chosen) if short else None
            if run is not None:
                return run
        else:
            check_options("a launch", options, LAUNCH_OPTIONS)
            if not self._chosen(self._ordinary, arguments).on_gpu:
                bind_arguments(self.entry, arguments)
        return lambda: self.launch(grid, arguments, **options)

    def direct(
        self,
        kind: Sequence[ArgumentKind],
        arguments: tuple[object, ...],
        threads: int | None = None,
        unchecked: bool | None = None,
    ) -> DirectLaunches | None:
        """The short way for launches with arguments of this kind; None if the backend that runs them has none."""
        options = self._ordinary
        if threads is not None or unchecked is not None:
            options = self._checked(threads=threads, unchecked=unchecked)
        engine = self._chosen(options, arguments)
        return self._used(engine).direct(kind, options) if engine.overlaps or engine.on_gpu else None

    def work(self, grid: int | tuple[int, ...], args: Sequence[object] = ()) -> Work:
        """What a launch moves and computes, counted from the program without running it (docs/guide/gpu.md).

        Of an array only `nbytes` matters, so any object with that attribute may replace one.
        """
        from tileir.execute.work.counting import count_work

        arguments = check_arguments(args)
        check_number(self.entry, arguments)
        arrays = [given.array if isinstance(given, Pointer) else given for given in arguments]
        return count_work(self.entry, check_grid(grid), arrays)

    def time(
        self,
        grid: int | tuple[int, ...],
        args: Sequence[object] = (),
        *,
        repeat: int | None = None,
        flush_cache: bool = False,
        **options: Any,
    ) -> Timing:
        """Launch the kernel repeatedly, and measure how long it takes (docs/guide/gpu.md).

        `repeat` is how often, by default as often as makes sense; one launch comes before and does not count.
        `flush_cache` empties caches before each launch.  Each launch changes the arrays.
        """
        from tileir.execute.launching.timing import Timing, by_clock, checked_repeat

        arguments = check_arguments(args)
        repeat = checked_repeat(repeat)
        work = self.work(grid, arguments)
        check_options("a timed launch", options, ("memory", "threads", "unchecked", "stream"))
        chosen = self._checked(**options)
        engine = self._chosen(chosen, arguments)
        prepared = self._used(engine)
        measured = prepared.timed(check_grid(grid), arguments, chosen, repeat, flush_cache)
        if measured is None:
            measured = by_clock(self.bind(grid, arguments, **options), repeat, flush_cache)
        return Timing(measured, work, prepared.chosen_backend or engine.name)

    def tune(
        self,
        grid: int | tuple[int, ...],
        args: Sequence[object] = (),
        *,
        progress: Callable[[int, int, TuningTrial], None] | None = None,
        stream: object = None,
    ) -> Tuning:
        """Search for the schedule with which Triton's code is fastest for launches like this one
        (docs/internals/triton.md).

        The fastest is kept on disk for later launches.  The arrays are unchanged when it is done.  `progress` is called
        after each candidate with the number of finished candidates, the number of all, and the result of this one.
        """
        engine = find_engine("triton")
        if self.requested_backend not in (AUTO, engine.name):
            raise LaunchError(f"only kernels of {engine.called} have a schedule to tune: compile with backend='triton'")
        reason = engine.missing()
        if reason:
            raise LaunchError(f"@{self.name} cannot be tuned here: {reason}")
        chosen = self._checked(stream=stream)
        # Imported here: few search.
        from tileir.execute.gpu.triton.kernel import TritonKernel

        prepared = self._prepared_by(engine)
        assert isinstance(prepared, TritonKernel)
        return prepared.tune(check_grid(grid), check_arguments(args), chosen, progress)

    def dump(
        self, stage: str, *, sanitize: bool = False, unchecked: bool | None = None, target: str | None = None
    ) -> str:
        """Return the code of the kernel at a stage of the backend that runs it (docs/internals/cpu.md,
        docs/guide/gpu.md, docs/internals/triton.md).  `sanitize` and `unchecked` select a version of the code, `target`
        a GPU such as "sm_90"."""
        engine = self._chosen(self._ordinary)
        engine.check_stage(stage)
        options: dict[str, Any] = {"unchecked": self.unchecked if unchecked is None else unchecked}
        if target is not None and not engine.on_gpu:
            raise LaunchError(f"a target is a GPU, and {engine.called} makes no code for one: leave it out")
        options |= {} if target is None else {"target": target}
        # One that cannot run here is not kept: a launch says why.
        prepared = self._prepare(engine) if engine.dumps_anywhere else self._prepared_by(engine)
        return prepared.dump(stage, sanitize=sanitize, **options)

    def cubin(
        self,
        target: str | None = None,
        *,
        backend: str | None = None,
        opt_level: int = 3,
        lineinfo: bool = False,
        host: str | None = None,
        timeout: float | None = None,
    ) -> Cubin:
        """Compile the kernel for a GPU, such as "sm_90" (docs/guide/gpu.md); it need not be in this machine.

        Without a `target` it is for the GPU of this machine.  The `backend` is "tileiras", NVIDIA's assembler, or
        "triton"; by default the kernel's own, if it is one of these, and else the assembler.  `lineinfo` records for
        profilers which line each instruction comes from.  `timeout` is for the compiler, in seconds.  For the
        assembler, `host` is the kind of machine that launches, "x86_64" or "aarch64", by default this one.
        """
        options = {"opt_level": opt_level, "lineinfo": lineinfo, "host": host, "timeout": timeout}
        return self._compiled(target, backend, **options)[0]

    def resources(self, target: str | None = None, **options: Any) -> Resources:
        """What the kernel takes of a GPU: registers, shared memory, spills; the options are those of `cubin`."""
        return self._compiled(target, **options)[1]

    def _compiled(self, target: str | None, backend: str | None = None, **options: Any) -> tuple[Cubin, Resources]:
        from tileir.execute.gpu.engines import COMPILERS, CodeRequest, compiled

        options["host"] = options.get("host") or ""
        request = CodeRequest(self.entry, target, **options, fast=self.settings.fast, ready=self.settings.cubin)
        own = self.requested_backend if self.requested_backend in COMPILERS else COMPILERS[0]
        return compiled(own if backend is None else backend, request)

    def _checked(self, **given: Any) -> LaunchOptions:
        """What a launch asks for, checked before anything runs; for None what the kernel has."""
        own = ("schedule", "unchecked")
        stated = {name: value for name, value in given.items() if value is not None or name not in own}
        return checked_options(self._ordinary._replace(**stated))

    def _chosen(self, options: LaunchOptions, arguments: tuple[object, ...] = ()) -> Backend:
        engine = self._engine
        if engine is None:
            engine = choose(self.entry, arguments, options)
            if options.stream is None:
                return engine
        refusal = engine.refusal(self.entry, options)
        if refusal:
            raise LaunchError(refusal)
        return engine

    def _prepared_by(self, engine: Backend) -> PreparedKernel:
        found = self._prepared.get(engine)
        if found is None:
            require(engine)
            # Two threads may prepare it at once: both use the one that was ready first.
            found = self._prepared.setdefault(engine, self._prepare(engine))
        return found

    def _used(self, engine: Backend) -> PreparedKernel:
        found = self._prepared_by(engine)
        self._latest = (engine, found)
        return found

    def _prepare(self, engine: Backend) -> PreparedKernel:
        made = engine.prepare(self.entry, self.globals.regions, self.settings)
        if not isinstance(made, PreparedKernel):
            raise LaunchError(f"{engine.called} prepares {made!r}, and not a tileir.backends.PreparedKernel")
        return made


leave_launches_alone()
