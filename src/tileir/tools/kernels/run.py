"""`tileir run`: run a kernel on this machine."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tileir.execute.analysis.parameters import may_write
from tileir.execute.arguments.argument_text import grid_of, natural
from tileir.execute.engine.registry import AUTO, find_engine, is_own
from tileir.execute.errors import ExecutionError, HostCopyWarning
from tileir.execute.launching.entries import check_grid
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless, several
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command
from tileir.tools.guard import run_in_child
from tileir.tools.input import read_program, refuse_script
from tileir.tools.launches import STATED, check_given, given_launch, is_array, made_arguments, save, uninitialized
from tileir.tools.output import check_target, protect_input
from tileir.tools.terminal import Progress

if TYPE_CHECKING:
    from tileir.execute.engine.interface import Backend
    from tileir.execute.sanitizer.report import Names, SanitizerReport

USAGE = Usage(
    "tileir run",
    "Runs a kernel of a Tile IR program and shows what it wrote.",
    "FILE",
    (
        options.GRID,
        options.ENTRY,
        options.ARG.with_help("an argument; repeat for each parameter, in order; see below"),
        Option("--out N=FILE.npy", "write argument N, counted from 0, to a file when the kernel is done"),
        options.BACKEND,
        Option("--threads N", "how many threads the cpu backend uses (default: all processors)"),
        Option("--fast", "faster functions (cpu, triton) and products (triton); results round differently"),
        Option("--unchecked", "turn the cpu backend's bounds checks off: a faulty kernel may crash the process"),
        Option("--cpu NAME", "the machine that the cpu backend generates code for (default: this one)"),
        Option("--dump STAGE", "print the backend's code instead: see below"),
        options.TARGET.with_help("the GPU that code to dump is for, as in sm_90 (default: that of this machine)"),
        Option("--time[=LAUNCHES]", "launch it again and again, and show time, bytes and operations in a second"),
        Option("--flush-cache", "empty caches before each launch that is timed"),
        options.TIMEOUT,
        options.SCHEDULE,
        options.SANITIZE,
        Option("--trace X[,Y[,Z]]", "print each value that one tile block computes"),
        options.WATCH_NAN,
        options.NAMES,
        options.EXACT,
        options.OVERWRITE,
        options.QUIET.with_help("no summary of what was written"),
        *options.READING_OPTIONS,
    ),
    details=f"""\
Arguments:
  zeros:f32:1024       an array of zeros; extents are joined by x, as in 64x64
  ones:f16:64x64       an array of ones
  empty:f32:1024       zeros that do not count as written under --sanitize
  iota:i32:1024        0, 1, 2, ...
  rand:bf16:64x64[:7]  random numbers with a seed: floats from 0 to 1, integers from 0 to 99, booleans
  signed:f32:64[:7]    the same around zero: floats from -2 to 2, integers from -50 to 49
  mixed:f32:1024[:7]   numbers of all sizes, the same on every machine; no NaN
  values:i32:3,1,4     an array with these elements
  data.npy             an array from a file
  42, -1.5, 0x10       a scalar

{STATED}

Exit status: 0 fine, 1 the program or the launch is wrong, 2 the command line is wrong or a file cannot be read or
written, 124 --timeout has stopped it.

With --dump nothing runs and no arguments are needed. Stages of cpu ('tileir docs cpu') are tiles, loops, llvm, llvm-opt
and asm; of tileiras bytecode and sass; of triton ttir, ttgir, llvm, ptx and sass. No GPU is needed for them.""",
)

_FIRST_ELEMENTS = 6


@command(USAGE)
def run(given: Arguments) -> int:
    # Checked before anything is read.
    refuse_script(given.operands[0], "'tileir emulate {}' runs it")
    grid_of(given.value("grid", "1"))
    engine = _engine(given)
    given.number("threads")
    seconds = given.seconds("timeout")
    if engine is not None and not engine.is_native and not seconds:
        return _perform(given, engine)
    # Native code that is not checked takes its process with it when it leaves its arrays, and only a process can be
    # ended at any time.
    return run_in_child(given, lambda: _perform(given, engine), seconds)


def _perform(given: Arguments, engine: Backend | None) -> int:
    program = read_program(given.operands[0], given)
    module = program.checked(given)
    # Imported here: its error says what to install where NumPy is missing.
    from tileir.execute.launching import kernel as launch

    progress = Progress(after=1.0, every=0.0)
    try:
        wanted = given_launch(given, program)
        kernel = launch.compile(
            module,
            entry=wanted.entry,
            backend=engine.name if engine is not None else "auto",
            exact=given.has("exact"),
            fast=given.has("fast"),
            unchecked=given.has("unchecked"),
            cpu=given.value("cpu") or None,
            schedule=given.value("schedule", "forward"),
        )
        if given.has("dump"):
            stage, target = given.value("dump"), given.value("target") or None
            sanitize, unchecked = given.has("sanitize"), given.has("unchecked")
            sys.stdout.write(kernel.dump(stage, sanitize=sanitize, unchecked=unchecked, target=target))
            return EXIT_FINE
        check_grid(wanted.grid)
        check_given(kernel.entry, wanted.arguments)
        values = made_arguments(kernel.entry, wanted.arguments)
        outputs = _outputs(given, values, program.kind)
        observation = _Observation(given, wanted.grid, uninitialized(values, wanted.arguments))
        threads, timing = given.number("threads") or None, None
        with warnings.catch_warnings():
            # The arrays are made here, on the host: nobody could place them elsewhere.
            warnings.simplefilter("ignore", HostCopyWarning)
            if given.has("time"):
                # As many launches as make sense, where no number is given.
                repeat = given.number("time") if given.value("time") else None
                flush = given.has("flush-cache")
                timing = kernel.time(wanted.grid, values, repeat=repeat, flush_cache=flush, threads=threads)
            else:
                observer, bar = observation.observer, _bar(progress)
                kernel.launch(wanted.grid, values, observer=observer, progress=bar, threads=threads)
    except ExecutionError as error:
        if given.value("names") == "tile":
            error.tell_as_tile_program()
        raise
    except Exception as error:
        if engine is None or is_own(engine) or isinstance(error, (TileIRError, ToolFailure)):
            raise
        # The code of a plugin: its author calls it from Python to see where.
        raise ToolFailure(f"{engine.called} failed: {type(error).__name__}: {error}", EXIT_WRONG_INPUT) from error
    finally:
        # Also where the launch failed: the error begins on a line of its own.
        progress.clear()
    sys.stdout.flush()
    status = observation.report(kernel.entry.symbol_name or "", engine, given.has("quiet"))
    for number, path in outputs:
        save(path, values[number])
    if not given.has("quiet"):
        for number, value in enumerate(values):
            if is_array(value) and may_write(kernel.entry, number):
                print(f"argument {number}: {summary(value)}")
    if timing is not None:
        print(timing.text())
    return status


class _Observation:
    """What observes the launch, as the command line asks."""

    def __init__(self, given: Arguments, grid: tuple[int, ...], unwritten: list[Any]) -> None:
        from tileir.execute.observing.observer import Observer, Observers
        from tileir.execute.observing.trace import Trace
        from tileir.execute.sanitizer.coverage import Coverage
        from tileir.execute.sanitizer.number_watch import NumberWatch
        from tileir.execute.sanitizer.sanitizer import Sanitizer

        names: Names = "tile" if given.value("names") == "tile" else "script"
        self._sanitize: str = given.value("sanitize")
        watchers: list[Sanitizer | NumberWatch] = [Sanitizer(uninitialized=unwritten)] if self._sanitize else []
        watchers += [NumberWatch()] if given.has("watch-nan") else []
        self._reports: list[SanitizerReport] = [watcher.report for watcher in watchers]
        observers: list[Observer] = [*watchers]
        observers += [Coverage(report=self._reports[0])] if self._sanitize == "all" else []
        if given.has("trace"):
            observers.append(Trace(_block(given.value("trace"), grid), sys.stdout.write, names))
        for report in self._reports:
            report.names = names
        self.observer: Observer | None = Observers(observers) if len(observers) > 1 else next(iter(observers), None)

    def report(self, kernel: str, engine: Backend | None, quiet: bool) -> int:
        """Print what was found, or that nothing was and what was not looked for; the exit status."""
        for report in self._reports:
            report.kernel = report.kernel or kernel
            if report or report.notes:
                # The summary of arrays that follows is no part of it.
                print(harmless(report.render(), keep="\n\t"), end="\n" if quiet else "\n\n", file=sys.stderr)
            elif not quiet:
                missed = ""
                if report.author == "sanitizer" and self._sanitize != "all":
                    missed = "; --sanitize=all looks also for output that is never written"
                    if engine is not None and "observer" not in engine.options:
                        missed = f"; --backend {engine.name} does not look for races and missing tokens"
                print(harmless(report.render()) + missed, file=sys.stderr)
        return EXIT_WRONG_INPUT if any(self._reports) else EXIT_FINE


# Options for the code of a kernel, and the name by which an engine lists that it takes them.
_ABOUT_CODE = {"threads": "threads", "fast": "fast", "unchecked": "unchecked", "cpu": "cpu"}
_OBSERVING = ("trace", "watch-nan", "sanitize")


def _engine(given: Arguments) -> Backend | None:
    """What runs the kernel, or None for what suits it; options that an engine has no use for are mistakes."""
    name = given.value("backend", AUTO)
    engine = _needed(given) if name == AUTO else find_engine(name)
    if engine is None:
        return None
    for option in filter(given.has, (*_ABOUT_CODE, "dump")):
        if not _takes(engine, option):
            able = _able(option)
            raise ToolFailure(f"--{option} is for {able.called}: add --backend {able.name}")
    unable = tuple([option for option in _OBSERVING if not _takes(engine, option)])
    given.refuse(unable, f"watches the interpreter: leave out --backend {engine.name}")
    if given.value("sanitize") == "all" and "observer" not in engine.options:
        raise ToolFailure(f"--sanitize=all watches the interpreter: leave out --backend {engine.name}")
    if given.value("schedule", "forward") != "forward" and "schedule" not in engine.options:
        raise ToolFailure(f"--schedule is the interpreter's: threads of {engine.called} take tile blocks as they come")
    if given.has("fast") and given.has("exact"):
        raise ToolFailure("--exact and --fast contradict each other: use one of them")
    if given.has("time"):
        excluded = "and --time exclude each other: what is observed takes its own time"
        given.refuse((*_OBSERVING, "dump", "schedule"), excluded)
    if not given.has("dump"):
        given.refuse(("target",), "says which GPU '--dump sass' is for: a kernel runs on the GPU of this machine")
    elif given.has("out"):
        raise ToolFailure("--dump prints code and runs nothing: there is nothing for --out to write")
    return engine


def _takes(engine: Backend, option: str) -> bool:
    if option == "dump":
        return bool(engine.stages)
    return ("sanitize" if option == "sanitize" else _ABOUT_CODE.get(option, "observer")) in engine.options


def _able(option: str) -> Backend:
    """The one of tileir's own engines that takes an option."""
    return next(engine for engine in map(find_engine, ("cpu", "interpreter")) if _takes(engine, option))


def _needed(given: Arguments) -> Backend | None:
    """The engine that an option is for: one for code, before one that watches, for which the interpreter sees most."""
    for option in filter(given.has, (*_ABOUT_CODE, "dump")):
        return _able(option)
    observes = any(map(given.has, _OBSERVING)) or given.value("schedule", "forward") != "forward"
    return find_engine("interpreter") if observes else None


def _block(text: str, grid: tuple[int, ...]) -> tuple[int, int, int]:
    """The tile block that `--trace` names."""
    numbers = [natural(part.strip()) for part in text.split(",")]
    extents = [*grid, 1, 1][:3]
    x, y, z = [-1 if number is None else number for number in (*numbers, 0, 0, 0)][:3]
    inside = 0 <= x < extents[0] and 0 <= y < extents[1] and 0 <= z < extents[2]
    if not inside or len(numbers) > 3:
        last = ",".join([str(extent - 1) for extent in extents])
        raise ToolFailure(f"'--trace {text}' is no tile block of the grid: give one from 0,0,0 to {last}")
    return x, y, z


# --- what is written ---


def _outputs(given: Arguments, values: list[Any], kind: str) -> list[tuple[int, str]]:
    """Where arrays go, checked before the kernel runs: results of a long run must not be lost."""
    found: list[tuple[int, str]] = []
    for text in given.values("out"):
        spelled, equals, path = text.partition("=")
        number = natural(spelled)
        if not equals or number is None or not path:
            raise ToolFailure(f"'--out {text}' makes no sense: give an argument's number and a file, as in 2=c.npy")
        if number >= len(values) or not is_array(values[number]):
            arrays = ", ".join([str(index) for index, value in enumerate(values) if is_array(value)])
            hint = f"its arrays are {arrays}" if arrays else "it has none"
            raise ToolFailure(f"'--out {text}': argument {number} is not an array of this launch, {hint}")
        if path == "-":
            raise ToolFailure("arrays are not written among the text on standard output: give a file, as in 2=c.npy")
        if any(other == path and before != number for before, other in found):
            raise ToolFailure(f"'--out {text}': another argument goes to that file")
        check_target(path)
        protect_input(given, path, given.operands[0], (kind, "an array"))
        found.append((number, path))
    return found


# --- what is shown ---


def summary(array: Any) -> str:
    """One line about an array: dtype, shape, range, mean, NaNs, first elements."""
    import numpy

    from tileir.execute.memory import describe_array

    flat, parts = array.reshape(-1), [describe_array(array)]
    # A signaling NaN, or a sum that overflows, is no reason for NumPy to warn.
    with numpy.errstate(all="ignore"):
        wide = flat.astype(numpy.float64)
        usable = wide[~numpy.isnan(wide)]
        if usable.size:
            low, high, mean = [f"{float(value):.6g}" for value in (usable.min(), usable.max(), usable.mean())]
            parts.append(f"min {low}, max {high}, mean {mean}")
    if flat.size > usable.size:
        parts.append(several(flat.size - usable.size, "NaN"))
    first = [str(v) if isinstance(v, (bool, int)) else f"{float(v):.6g}" for v in flat[:_FIRST_ELEMENTS].tolist()]
    parts.append(f"[{', '.join(first)}{', ...' if flat.size > _FIRST_ELEMENTS else ''}]")
    return "  ".join(parts)


def _bar(progress: Progress) -> Callable[[int, int], None] | None:
    """What shows a bar for a launch that takes a while, on a terminal."""

    def line(done: int, count: int) -> str:
        filled = 30 * done // count
        left = progress.seconds * (count - done) / max(done, 1)
        return f"[{'#' * filled}{'.' * (30 - filled)}] {done} of {count} tile blocks, {left:.0f} s left"

    def show(done: int, count: int) -> None:
        if done < count:
            progress.show(lambda: line(done, count))

    return show if progress.is_terminal else None
