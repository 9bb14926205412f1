"""`compile` and `Kernel`: a program ready to run, and its launches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, Literal, cast

from tileir.execute.errors import Callbacks, ExecutionError, LaunchError, MissingDependencyError, converted
from tileir.ir.core import Operation
from tileir.ir.describing import function_words
from tileir.ir.diagnostics import TileIRError

try:
    import ml_dtypes  # noqa: F401
    import numpy
except ImportError as _missing:
    raise MissingDependencyError(
        f"running programs needs NumPy and ml_dtypes ({_missing}): pip install 'tileir[run]'"
    ) from None

from tileir.execute.arguments import bind, check_grid, checked_arrays, checked_threads, known_memory, select_entry
from tileir.execute.dtypes import constant_elements, to_memory
from tileir.execute.interpreter.compiler import (
    AT_COMPILATION,
    AT_LAUNCH,
    BLOCK_SLOT,
    Compiler,
    Options,
    Registers,
    Step,
    run_checked,
)
from tileir.execute.interpreter.control_flow import release_to, reserves_memory
from tileir.execute.interpreter.operations import ROSTER
from tileir.execute.memory import Memory, Region
from tileir.execute.observer import Observer, Observers, TileBlock, overrides
from tileir.execute.overlap import overlapped
from tileir.execute.schedule import block_at, block_order, run_interleaved
from tileir.ir.attributes import DenseAttribute, IntegerAttribute
from tileir.ir.clone import clone

if TYPE_CHECKING:
    from tileir.execute.cpu.kernel import CpuKernel
    from tileir.execute.sanitizer.sanitizer import Sanitizer
    from tileir.execute.schedule import Order, RunBlock

BACKENDS = ("auto", "cpu", "interpreter")

Progress = Callable[[int, int], None]


def compile(
    module: Operation,
    entry: str | None = None,
    backend: str = "auto",
    *,
    exact: bool = False,
    fast: bool = False,
    cpu: str | None = None,
    schedule: str = "forward",
    unchecked: bool = False,
) -> Kernel:
    """Make a kernel of a module ready to run.

    `entry` may be left out if the module has one only.  `backend` is "cpu" (docs/cpu.md), "interpreter", or "auto": the
    CPU engine where llvmlite is installed, and the interpreter for launches that only it can do, with an observer, a
    schedule or the whole sanitizer.  `exact`
    makes the interpreter's `mmaf` a chain of single-rounded fused multiply-adds in order of k, which the CPU engine
    always does, instead of `numpy.matmul`; `fast` lets the CPU engine use quicker functions and matrix units that
    round differently, and `cpu` names the machine it makes code for, this one if not given.  `schedule` is the order of
    tile blocks, see `Kernel.launch`.  `unchecked` leaves out what keeps native code inside the memory of its launch: a
    kernel that leaves it may then end the process, or harm it.  The module is verified and copied: change it afterwards
    and the kernel does not follow.
    """
    from tileir.interface import verify

    if backend not in BACKENDS:
        raise LaunchError(f"there is no backend '{backend}': choose one of {', '.join(BACKENDS)}")
    if not isinstance(schedule, str):
        raise LaunchError(f"schedule is {schedule!r}: pass a text, as 'reverse' or 'random:7'")
    verify(module)
    # A copy, as much of a kernel is made of the program only when it is first launched.
    chosen = select_entry(clone(module), entry)
    return Kernel(chosen, exact, schedule, backend=backend, fast=fast, cpu=cpu, unchecked=unchecked)


@cache
def has_cpu_engine() -> bool:
    """Whether what the CPU engine needs is installed."""
    from importlib.util import find_spec

    return find_spec("llvmlite") is not None


class Globals:
    """The global variables of a loaded module: allocated for its first kernel, shared with `Kernel.sibling`."""

    def __init__(self, module: Operation | None) -> None:
        self.regions: dict[str, Region] = {}
        self._memory = Memory()
        if module is None:
            return
        for operation in module.regions[0].blocks[0]:
            if operation.declaration.mnemonic == "global":
                self._add(operation)

    def _add(self, operation: Operation) -> None:
        value = cast(DenseAttribute, operation.attributes["value"])
        alignment = cast(IntegerAttribute, operation.attribute("alignment")).value
        content = to_memory(value.element_type, numpy.resize(constant_elements(value), prod(value.shape)))
        name = operation.symbol_name or ""
        try:
            region = self._memory.allocate(content.nbytes, max(alignment, 16), f"global @{name}")
        except MemoryError:
            raise LaunchError(
                f"the global @{name} takes {content.nbytes} bytes aligned to {alignment}, more than there is"
            ) from None
        region.data[: content.nbytes] = numpy.ascontiguousarray(content).view(numpy.uint8)
        if "constant" in operation.attributes:
            region.writable = False
            region.data.flags.writeable = False
        self.regions[name] = region

    def array(self, name: str) -> Any:
        """The bytes of a global variable."""
        return self.regions[name].data


class Program:
    """A kernel compiled for one set of options."""

    def __init__(self, entry: Operation, options: Options, globals: Globals) -> None:
        addresses = {name: region.start for name, region in globals.regions.items()}
        compiler = Compiler(options, addresses, ROSTER)
        body = entry.regions[0].blocks[0]
        self.parameters: list[int] = [compiler.slot(argument) for argument in body.arguments]
        for slot in self.parameters:
            compiler.known[slot] = AT_LAUNCH
        self.steps: list[Step]
        self.steps, _ = compiler.block(body)
        self.uniform: list[Step] = compiler.uniform
        self.template: Registers = compiler.template
        self.reserves: bool = reserves_memory(body)
        assert compiler.known[BLOCK_SLOT] != AT_COMPILATION

    def prepared(self, values: list[Any], launch: TileBlock) -> Registers:
        """The registers every tile block of a launch begins with."""
        registers = list(self.template)
        registers[BLOCK_SLOT] = launch
        for slot, value in zip(self.parameters, values, strict=True):
            registers[slot] = value
        for step in self.uniform:
            step(registers)
        return registers

    def run(self, prepared: Registers, block: TileBlock) -> None:
        registers = prepared.copy()
        registers[BLOCK_SLOT] = block
        run_checked(self.steps, registers)
        if self.reserves:
            release_to(block, 0)


class Kernel:
    """A kernel ready to run; made by `tileir.compile`."""

    def __init__(
        self,
        entry: Operation,
        exact: bool = False,
        schedule: str = "forward",
        globals: Globals | None = None,
        backend: str = "auto",
        fast: bool = False,
        cpu: str | None = None,
        unchecked: bool = False,
    ) -> None:
        self.entry: Operation = entry
        self.unchecked: bool = unchecked or _never_checks()
        self.backend: str = backend
        self.fast: bool = fast
        self.cpu: str | None = cpu
        self.exact: bool = exact
        self.schedule: str = schedule
        parent = entry.parent_operation
        if globals is None:
            globals = Globals(parent if parent is not None and parent.regions else None)
        self.globals: Globals = globals
        self._plain: Program | None = None
        self._native: CpuKernel | None = None

    def __repr__(self) -> str:
        return f"<Kernel {function_words(self.entry)}, backend {self.backend}>"

    @property
    def name(self) -> str:
        return self.entry.symbol_name or ""

    def sibling(self, entry: str) -> Kernel:
        """Another kernel of the module as it was loaded for this one: both work on the same global variables."""
        module = self.entry.parent_operation
        assert module is not None, "a kernel stands in a module"
        return Kernel(
            select_entry(module, entry),
            self.exact,
            self.schedule,
            self.globals,
            self.backend,
            self.fast,
            self.cpu,
            self.unchecked,
        )

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Copied and pickled as its program, which is compiled again; globals begin with their first values."""
        options = (self.exact, self.schedule, None, self.backend, self.fast, self.cpu, self.unchecked)
        return Kernel, (self.entry, *options)

    def __copy__(self) -> Kernel:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, object]) -> Kernel:
        module = self.entry
        while module.parent_operation is not None:
            module = module.parent_operation
        entry = select_entry(clone(module), self.name)
        return Kernel(entry, self.exact, self.schedule, None, self.backend, self.fast, self.cpu, self.unchecked)

    @property
    def parameters(self) -> list[str]:
        """The types of the parameters, as the program spells them."""
        return [argument.type.spelling for argument in self.entry.regions[0].blocks[0].arguments]

    def launch(
        self,
        grid: int | tuple[int, ...],
        *arguments: object,
        schedule: str | None = None,
        sanitize: bool | Literal["all"] = False,
        observer: Observer | None = None,
        memory: Iterable[object] = (),
        output: Callable[[str], object] | None = None,
        progress: Progress | None = None,
        num_threads: int | None = None,
        unchecked: bool | None = None,
    ) -> None:
        """Run the kernel once for each tile block of a grid; results are in the arrays when it returns.

        Arrays (NumPy, torch on the CPU, anything with DLPack or the array interface) are pointers, numbers scalars.
        `memory` names further arrays that the kernel reaches by addresses it reads from memory.  `schedule` is the
        order of tile blocks: "forward", "reverse", "random:SEED", or "interleaved", which switches between blocks at
        memory operations.  `sanitize` looks for mistakes (docs/sanitizer.md): the launch goes on to its end, then
        `SanitizerError` is raised if there were any; "all" looks also for elements that no store or one store twice
        writes, in the interpreter.  `observer` watches the launch.  `output` takes what the kernel
        prints, standard output by default.  `progress` is called with the number of finished and of all tile blocks.
        `num_threads` is for the CPU engine, which uses all processors otherwise, and so is `unchecked`, which is that
        of `tileir.compile` if not given.
        """
        if observer is not None or progress is not None or output is not None or num_threads is not None:
            _check_options(observer, progress, output, num_threads)
        if type(memory) is not tuple or memory:
            memory = checked_arrays(memory, "memory")
        if schedule is not None and not isinstance(schedule, str):
            raise LaunchError(f"schedule is {schedule!r}: pass a text, as 'reverse' or 'random:7'")
        if isinstance(sanitize, str) and sanitize != "all":
            raise LaunchError(f"sanitize is {sanitize!r}: pass True, or 'all' to be told also what is left unwritten")
        if sanitize == "all" and self.backend == "cpu":
            raise LaunchError("sanitize='all' is the interpreter's: compile with backend='auto' or 'interpreter'")
        if self.backend == "cpu" or (
            self.backend == "auto"
            and observer is None
            and not sanitize
            and (schedule or self.schedule) == "forward"
            and has_cpu_engine()
        ):
            sanitizer = _sanitizer_among(observer) if observer is not None else None
            if (observer is not None and sanitizer is None) or (schedule or self.schedule) != "forward":
                raise LaunchError("observers and schedules are the interpreter's: compile with backend='interpreter'")
            self.native.launch(
                grid,
                *arguments,
                num_threads=num_threads,
                unchecked=self.unchecked if unchecked is None else unchecked,
                sanitize=bool(sanitize),
                sanitizer=sanitizer,
                memory=memory,
                output=output,
                progress=progress,
            )
            return
        if sanitize:
            from tileir.execute.sanitizer.coverage import Coverage
            from tileir.execute.sanitizer.report import SanitizerError
            from tileir.execute.sanitizer.sanitizer import Sanitizer

            sanitizer = Sanitizer()
            watchers: list[Observer] = [sanitizer]
            if sanitize == "all":
                watchers.append(Coverage(report=sanitizer.report))
            if observer is not None:
                watchers.append(observer)
            watching = watchers[0] if len(watchers) == 1 else Observers(watchers)
            self.launch(
                grid, *arguments, schedule=schedule, observer=watching, memory=memory, output=output, progress=progress
            )
            if sanitizer.report:
                raise SanitizerError(sanitizer.report)
            return
        extents = check_grid(grid)
        bound = bind(self.entry, arguments)
        known = known_memory(self.globals.regions.values(), bound, memory)
        order = block_order(schedule if schedule is not None else self.schedule, extents)
        callbacks = Callbacks()
        write = callbacks.noted(output if output is not None else sys.stdout.write)
        if progress is not None:
            progress = callbacks.noted(progress)
        launches = overlapped()
        if launches is not None:
            launches.settle()
        program = self._program(observer, order.interleaved)
        launch = TileBlock((0, 0, 0), 0, extents, known, write, observer)
        if observer is not None:
            observer.launch_started(extents, known)
        try:
            # Infinities and NaNs are values here, wrapping is a rule: NumPy need not warn of them.
            with numpy.errstate(all="ignore"):
                prepared = program.prepared(bound.values, launch)
                run = _runner(program, prepared, launch)
                if order.interleaved:
                    run_interleaved(order, run, progress)
                else:
                    _run_in_order(order, run, progress, known)
        except Exception as error:
            # What an observer or a callback raises is the caller's.
            if isinstance(error, TileIRError) or error in callbacks.raised:
                raise
            if observer is not None and not isinstance(error, RecursionError):
                raise
            raise converted(error) from error
        finally:
            if observer is not None:
                observer.launch_finished()

    @property
    def native(self) -> CpuKernel:
        """The kernel for the CPU engine."""
        if self._native is None:
            try:
                from tileir.execute.cpu.kernel import CpuKernel
                from tileir.execute.cpu.native.target import host
            except ImportError:
                half = sys.modules.get("tileir.execute.cpu.kernel")
                if half is None or hasattr(half, "CpuKernel"):
                    raise
                # Only on the thread that imports it: others wait.
                raise LaunchError(
                    "this signal handler interrupts the loading of the CPU engine, and cannot use it"
                ) from None

            self._native = CpuKernel(self.entry, self.globals.regions, self.fast, host(self.cpu))
        return self._native

    def _program(self, observer: Observer | None, interleaved: bool) -> Program:
        if observer is not None or interleaved:
            return self._compiled(Options(self.exact, observer, interleaved))
        if self._plain is None:
            self._plain = self._compiled(Options(self.exact))
        return self._plain

    def _compiled(self, options: Options) -> Program:
        try:
            with numpy.errstate(all="ignore"):
                return Program(self.entry, options, self.globals)
        except Exception as error:
            # An observer says what it watches.
            theirs = options.observer is not None and not isinstance(error, RecursionError)
            if theirs or isinstance(error, TileIRError):
                raise
            raise converted(error) from error


def _never_checks() -> bool:
    """Whether the environment asks for native code without checks."""
    return os.environ.get("TILEIR_UNCHECKED", "") not in ("", "0")


def _check_options(observer: object, progress: object, output: object, num_threads: object) -> None:
    """Before anything runs: what is called during a launch must be something that can be called."""
    if observer is not None and not isinstance(observer, Observer):
        raise LaunchError(
            f"a {type(observer).__name__} cannot watch a launch: pass an Observer, as tileir.Callback(function)"
        )
    if progress is not None and not callable(progress):
        raise LaunchError(f"progress is {progress!r}: pass a function of the finished and of all tile blocks")
    if output is not None and not callable(output):
        raise LaunchError(f"output is {output!r}: pass a function that takes a text")
    if num_threads is not None:
        checked_threads(num_threads)


def _sanitizer_among(observer: Observer) -> Sanitizer | None:
    """The sanitizer, the one observer that the CPU engine has a compiled version of."""
    from tileir.execute.sanitizer.sanitizer import Sanitizer

    return observer if type(observer) is Sanitizer else None


def _runner(program: Program, prepared: Registers, launch: TileBlock) -> RunBlock:
    """What runs the block of a number."""
    grid = launch.grid
    observer = launch.observer
    started = observer.block_started if observer is not None and overrides(observer, "block_started") else None
    finished = observer.block_finished if observer is not None and overrides(observer, "block_finished") else None

    def run(number: int, switch: Callable[[], None] | None) -> None:
        block = TileBlock(block_at(number, grid), number, grid, launch.memory, launch.write, observer, switch)
        if started is not None:
            started(block)
        try:
            program.run(prepared, block)
        except ExecutionError as error:
            release_to(block, 0)
            if observer is None or not observer.failed(error, block):
                raise
        if finished is not None:
            finished(block)

    return run


def _run_in_order(order: Order, run: RunBlock, progress: Progress | None, memory: Memory) -> None:
    if progress is None:
        for number in order.numbers:
            run(number, None)
        return
    for done, number in enumerate(order.numbers):
        progress(done, order.count)
        # Who is told may have changed an array.
        memory.changed()
        run(number, None)
    progress(order.count, order.count)
