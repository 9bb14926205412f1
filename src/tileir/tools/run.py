"""`tileir run`: run a kernel on this machine."""

from __future__ import annotations

import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

from tileir.execute.arguments.argument_text import natural
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless
from tileir.tools.arguments import COLOR, EXIT_FINE, EXIT_WRONG_INPUT, OVERWRITE, Arguments, Option, ToolFailure, Usage
from tileir.tools.arrays import STATED, argument, check_given, given_launch, grid_of, is_array, mistake, save
from tileir.tools.guard import in_child
from tileir.tools.output import check_target, protect_input
from tileir.tools.programs import READING_OPTIONS, Settings, guarded, read_program, refuse_script, tell, tell_error
from tileir.tools.time_limit import limited, seconds_of

if TYPE_CHECKING:
    from tileir.execute.engine.interface import Engine
    from tileir.execute.sanitizer.report import Names, SanitizerReport

USAGE = Usage(
    "tileir run",
    "Runs a kernel of a Tile IR program and shows what it wrote.",
    "FILE",
    (
        Option("grid", "the number of tile blocks along x, y and z (default: 1)", value="X[,Y[,Z]]"),
        Option("entry", "the kernel to run (default: the only one)", value="NAME"),
        Option("arg", "an argument; repeat for each parameter, in order; see below", value="WHAT"),
        Option("out", "write argument N, counted from 0, to a file when the kernel is done", value="N=FILE.npy"),
        Option(
            "backend", "the engine: cpu, interpreter, another one (see tileir info), or auto (default)", value="NAME"
        ),
        Option("threads", "how many threads the cpu backend uses (default: all processors)", value="N"),
        Option("fast", "faster functions (cpu, triton) and products (triton); results round differently"),
        Option("unchecked", "turn the cpu backend's bounds checks off: a faulty kernel may crash the process"),
        Option("cpu", "the machine that the cpu backend generates code for (default: this one)", value="NAME"),
        Option(
            "dump",
            "print the backend's code instead: tiles, loops, llvm, llvm-opt, asm of cpu, bytecode, sass of tileiras, "
            "ttir, ttgir, llvm, ptx, sass of triton",
            value="STAGE",
        ),
        Option("target", "the GPU that code to dump is for, as in sm_90 (default: that of this machine)", value="GPU"),
        Option(
            "time",
            "launch it again and again, LAUNCHES times, and show how long that takes, bytes and operations in a second",
            value="LAUNCHES",
            bare="",
        ),
        Option("flush-cache", "empty caches before each launch that is timed"),
        Option("timeout", "stop a run that takes longer; exit status 124", value="SECONDS"),
        Option("schedule", "the order of tile blocks: forward, reverse, random:SEED, interleaved", value="ORDER"),
        Option(
            "sanitize",
            "find and explain mistakes of the kernel ('tileir docs sanitizer'); all: also elements never written",
            choices=("mistakes", "all"),
            bare="mistakes",
        ),
        Option("trace", "print each value that one tile block computes", value="X[,Y[,Z]]"),
        Option("watch-nan", "name every operation that produces a NaN or an infinity"),
        Option(
            "names",
            "names in traces and findings: those of the Python script, if the program is from one (default), or tile",
            choices=("script", "tile"),
        ),
        Option("exact", "mmaf as a chain of fused multiply-adds: the same bits on every machine"),
        OVERWRITE,
        COLOR,
        Option("quiet", "no summary of what was written", short="q"),
        *READING_OPTIONS,
    ),
    details="""Arguments:
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

"""
    + STATED
    + """

FILE may be '-' for standard input. Exit status: 0 fine, 1 the program or the launch is wrong, 2 the command line is
wrong or a file cannot be read or written, 124 --timeout has stopped it.

With --dump nothing runs and no arguments are needed; 'tileir docs cpu' explains what is shown. Code for GPUs is shown
on machines without one too.""",
)

_FIRST_ELEMENTS = 6
_SHOW_PROGRESS_AFTER = 1.0


def run(arguments: list[str]) -> int:
    return guarded("tileir run", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    # Looked at before anything is read.
    refuse_script(given.operands[0], "'tileir emulate {}' runs it")
    grid_of(given.value("grid", "1"))
    engine = _engine(given)
    threads = _threads(given)
    seconds = seconds_of(given.value("timeout", "")) if given.has("timeout") else None
    if engine is not None and not engine.is_native and seconds is None:
        return _perform(given, engine, threads)
    # Native code that is not checked takes its process with it when it leaves its arrays, and only a process can be
    # ended at any time.
    return in_child(
        lambda: guarded("tileir run", lambda _: limited(seconds, lambda: _perform(given, engine, threads)), arguments),
        seconds,
    )


def _perform(given: Arguments, engine: Engine | None, threads: int | None) -> int:
    program = read_program(given.operands[0], Settings(given))
    tell(program.diagnostics, given)
    if program.module is None:
        return EXIT_WRONG_INPUT
    try:
        # Imported here: only who runs a program pays for NumPy.
        from tileir.execute.errors import HostCopyWarning
        from tileir.execute.launching import kernel as launch
        from tileir.execute.launching.entries import check_grid, select_entry

        wanted = given_launch(given, program)
        grid, entry, specifications = wanted.grid, wanted.entry, wanted.arguments
        kernel = launch.compile(
            program.module,
            entry,
            engine.name if engine is not None else "auto",
            exact=given.has("exact"),
            fast=given.has("fast"),
            unchecked=given.has("unchecked"),
            cpu=given.value("cpu", "") or None,
            schedule=given.value("schedule", "forward"),
        )
        if given.has("dump"):
            sys.stdout.write(
                kernel.dump(
                    given.value("dump", ""),
                    sanitize=given.has("sanitize"),
                    unchecked=given.has("unchecked"),
                    target=given.value("target", "") or None,
                )
            )
            return EXIT_FINE
        chosen = select_entry(program.module, entry)
        check_grid(grid)
        check_given(chosen, specifications)
        parameters = chosen.regions[0].blocks[0].arguments
        values = [
            argument(text, parameters[number].type if number < len(parameters) else None)
            for number, text in enumerate(specifications)
        ]
        outputs = _outputs(given, values, program.kind)
        progress = _Progress() if sys.stderr.isatty() else None
        unwritten = [v for v, text in zip(values, specifications, strict=True) if text.startswith("empty:")]
        watching = _Watching(given, grid, unwritten)
        timing = None
        try:
            with warnings.catch_warnings():
                # The arrays are made here, on the host: nobody could place them elsewhere.
                warnings.simplefilter("ignore", HostCopyWarning)
                if given.has("time"):
                    timing = kernel.time(
                        grid, *values, repeat=_repeat(given), flush_cache=given.has("flush-cache"), num_threads=threads
                    )
                else:
                    kernel.launch(grid, *values, observer=watching.observer, progress=progress, num_threads=threads)
        finally:
            # Also where the launch failed: what went wrong begins on a line of its own.
            if progress is not None:
                progress.clear()
    except TileIRError as error:
        from tileir.execute.errors import ExecutionError

        if given.value("names", "") == "tile" and isinstance(error, ExecutionError):
            error.tell_as_tile_program()
        return tell_error(error, given)
    except Exception as error:
        from tileir.execute.engine.registry import is_own

        if engine is None or is_own(engine):
            raise
        # Somebody else's code: who wrote it calls it from Python to see where.
        words = f"{engine.called} failed: {type(error).__name__}: {error}"
        raise ToolFailure(words, EXIT_WRONG_INPUT) from error
    sys.stdout.flush()
    status = watching.tell(kernel.entry.symbol_name or "", engine, given.has("quiet"))
    for number, path in outputs:
        save(path, values[number])
    if not given.has("quiet"):
        from tileir.execute.analysis.parameters import may_write

        for number, value in enumerate(values):
            if is_array(value) and may_write(kernel.entry, number):
                print(f"argument {number}: {summary(value)}")
    if timing is not None:
        print(timing.text())
    return status


class _Watching:
    """Who watches the launch, as the command line asks."""

    def __init__(self, given: Arguments, grid: tuple[int, ...], unwritten: list[Any]) -> None:
        from tileir.execute.observing.observer import Observer, Observers
        from tileir.execute.observing.trace import Trace
        from tileir.execute.sanitizer.coverage import Coverage
        from tileir.execute.sanitizer.number_watch import NumberWatch
        from tileir.execute.sanitizer.sanitizer import Sanitizer

        observers: list[Observer] = []
        self._reports: list[SanitizerReport] = []
        names: Names = "tile" if given.value("names", "") == "tile" else "script"
        self._sanitize: str = given.value("sanitize", "")
        if given.has("sanitize"):
            sanitizer = Sanitizer(uninitialized=unwritten)
            observers.append(sanitizer)
            self._reports.append(sanitizer.report)
            if self._sanitize == "all":
                observers.append(Coverage(report=sanitizer.report))
        if given.has("watch-nan"):
            numbers = NumberWatch()
            observers.append(numbers)
            self._reports.append(numbers.report)
        if given.has("trace"):
            observers.append(Trace(_block(given.value("trace", ""), grid), sys.stdout.write, names))
        for report in self._reports:
            report.names = names
        self.observer: Observer | None = None
        if observers:
            self.observer = observers[0] if len(observers) == 1 else Observers(observers)

    def tell(self, kernel: str, engine: Engine | None, quiet: bool) -> int:
        """Show what was found, or that nothing was and what was not looked for; gives the exit status."""
        for report in self._reports:
            report.kernel = report.kernel or kernel
            if report or report.notes:
                # The summary of arrays that follows is no part of it.
                print(harmless(report.render(), keep="\n\t"), end="\n" if quiet else "\n\n", file=sys.stderr)
            elif not quiet:
                print(harmless(report.render()) + self._not_looked_for(report, engine), file=sys.stderr)
        return EXIT_WRONG_INPUT if any(self._reports) else EXIT_FINE

    def _not_looked_for(self, report: SanitizerReport, engine: Engine | None) -> str:
        if report.author != "sanitizer" or self._sanitize == "all":
            return ""
        if engine is not None and "observer" not in engine.options:
            return f"; --backend {engine.name} does not look for races and missing tokens"
        return "; --sanitize=all looks also for output that is never written"


# Options for the code of a kernel, and what an engine that takes them says of itself.
_ABOUT_CODE = {"threads": "num_threads", "fast": "fast", "unchecked": "unchecked", "cpu": "cpu"}
_WATCHING = ("trace", "watch-nan", "sanitize")


def _engine(given: Arguments) -> Engine | None:
    """What runs the kernel, or None for what suits it; options that an engine has no use for are mistakes."""
    from tileir.execute.engine.registry import AUTO, find_engine

    name = given.value("backend", AUTO)
    engine = _needed(given) if name == AUTO else find_engine(name)
    if engine is None:
        return None
    for option in (*_ABOUT_CODE, "dump"):
        if given.has(option) and not _takes(engine, option):
            able = _able(option)
            raise mistake(f"--{option} is for {able.called}: add --backend {able.name}")
    for option in _WATCHING:
        if given.has(option) and not _takes(engine, option):
            raise mistake(f"--{option} watches the interpreter: leave out --backend {engine.name}")
    if given.value("sanitize", "") == "all" and "observer" not in engine.options:
        raise mistake(f"--sanitize=all watches the interpreter: leave out --backend {engine.name}")
    if given.value("schedule", "forward") != "forward" and "schedule" not in engine.options:
        raise mistake(f"--schedule is the interpreter's: threads of {engine.called} take tile blocks as they come")
    if given.has("fast") and given.has("exact"):
        raise mistake("--exact and --fast contradict each other: use one of them")
    if given.has("time"):
        for option in (*_WATCHING, "dump", "schedule"):
            if given.has(option):
                raise mistake(f"--{option} and --time exclude each other: what is watched takes its own time")
    if given.has("target") and not given.has("dump"):
        raise mistake("--target says which GPU '--dump sass' is for: a kernel runs on the GPU of this machine")
    if given.has("dump") and given.has("out"):
        raise mistake("--dump prints code and runs nothing: there is nothing for --out to write")
    return engine


def _takes(engine: Engine, option: str) -> bool:
    if option == "dump":
        return bool(engine.stages)
    if option == "sanitize":
        return "sanitize" in engine.options
    return _ABOUT_CODE.get(option, "observer") in engine.options


def _able(option: str) -> Engine:
    """The one of tileir's own engines that takes an option."""
    from tileir.execute.engine.registry import find_engine

    return next(engine for engine in map(find_engine, ("cpu", "interpreter")) if _takes(engine, option))


def _needed(given: Arguments) -> Engine | None:
    """The engine that an option is for: one for code, before one that watches, for which the interpreter sees most."""
    from tileir.execute.engine.registry import find_engine

    for option in (*_ABOUT_CODE, "dump"):
        if given.has(option):
            return _able(option)
    watched = any(given.has(option) for option in _WATCHING)
    if watched or given.value("schedule", "forward") != "forward":
        return find_engine("interpreter")
    return None


def _threads(given: Arguments) -> int | None:
    text = given.value("threads", "")
    if not given.has("threads"):
        return None
    number = natural(text)
    if number is None or number < 1:
        raise mistake(f"'{text}' is no number of threads: give one from 1 on")
    return number


def _repeat(given: Arguments) -> int | None:
    """How many launches are timed; None for as many as make sense."""
    text = given.value("time", "")
    number = natural(text) if text else None
    if text and not number:
        raise mistake(f"'{text}' is no number of launches: give one from 1 on")
    return number


def _block(text: str, grid: tuple[int, ...]) -> tuple[int, int, int]:
    """The tile block that `--trace` names."""
    numbers = [natural(part.strip()) for part in text.split(",")]
    given = [number for number in numbers if number is not None]
    if len(given) < len(numbers):
        given = []
    block = [*given, 0, 0]
    extents = [*grid, 1, 1][:3]
    if not 1 <= len(given) <= 3 or not all(0 <= n < extent for n, extent in zip(block, extents, strict=False)):
        last = ",".join([str(extent - 1) for extent in extents])
        raise mistake(f"'--trace {text}' is no tile block of the grid: give one from 0,0,0 to {last}")
    return block[0], block[1], block[2]


# --- what is written ---


def _outputs(given: Arguments, values: list[Any], kind: str) -> list[tuple[int, str]]:
    """Where arrays go, looked at before the kernel runs: what took a while must not be lost."""
    found: list[tuple[int, str]] = []
    for name, text in given.sequence:
        if name != "out":
            continue
        spelled, equals, path = text.partition("=")
        number = natural(spelled)
        if not equals or number is None or not path:
            raise mistake(f"'--out {text}' makes no sense: give the number of an argument and a file, as in 2=c.npy")
        if number >= len(values) or not is_array(values[number]):
            arrays = ", ".join([str(index) for index, value in enumerate(values) if is_array(value)])
            hint = f"its arrays are {arrays}" if arrays else "it has none"
            raise mistake(f"'--out {text}': argument {number} is not an array of this launch, {hint}")
        if path == "-":
            raise mistake("arrays are not written among the words on standard output: give a file, as in 2=c.npy")
        if any(other == path and before != number for before, other in found):
            raise mistake(f"'--out {text}': another argument goes to that file")
        check_target(path)
        protect_input(given, path, given.operands[0], (kind, "an array"))
        found.append((number, path))
    return found


# --- what is shown ---


def summary(array: Any) -> str:
    """One line about an array: dtype, shape, range, mean, NaNs, first elements."""
    import numpy

    from tileir.execute.memory import describe_array

    flat = array.reshape(-1)
    first = ", ".join([_number(value) for value in flat[:_FIRST_ELEMENTS].tolist()])
    parts = [describe_array(array)]
    if flat.size:
        # A signalling NaN, or a sum that overflows, is no reason for NumPy to warn.
        with numpy.errstate(all="ignore"):
            wide = flat.astype(numpy.float64)
            nans = int(numpy.isnan(wide).sum())
            usable = wide[~numpy.isnan(wide)]
            low, high, mean = (usable.min(), usable.max(), usable.mean()) if usable.size else (0, 0, 0)
        if usable.size:
            parts.append(f"min {_number(low)}, max {_number(high)}, mean {_number(mean)}")
        if nans:
            parts.append(f"{nans} NaN{'s' if nans > 1 else ''}")
    parts.append(f"[{first}{', ...' if flat.size > _FIRST_ELEMENTS else ''}]")
    return "  ".join(parts)


def _number(value: Any) -> str:
    if isinstance(value, (bool, int)):
        return str(value)
    return f"{float(value):.6g}"


class _Progress:
    """A bar on standard error for launches that take a while."""

    def __init__(self) -> None:
        self._start: float = time.monotonic()
        self._shown: float = 0.0

    def __call__(self, done: int, count: int) -> None:
        now = time.monotonic()
        if now - self._start < _SHOW_PROGRESS_AFTER:
            return
        if now - self._shown >= 0.1 and done < count:
            self._shown = now
            filled = 30 * done // count
            left = (now - self._start) * (count - done) / max(done, 1)
            bar = "#" * filled + "." * (30 - filled)
            sys.stderr.write(f"\r[{bar}] {done} of {count} tile blocks, {left:.0f} s left \x1b[K")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the bar away, if there is one."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
