"""`tileir run`: run a kernel on this machine."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tileir.execute.analysis.parameters import may_write
from tileir.execute.arguments.argument_text import grid_of, natural
from tileir.execute.engine.registry import AUTO, find_engine, is_own
from tileir.execute.errors import ExecutionError
from tileir.execute.launching.entries import check_grid
from tileir.ir.diagnostics import TileIRError
from tileir.ir.quoting import harmless
from tileir.terminal import Progress, launch_bar
from tileir.tools import launches, options
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command
from tileir.tools.guard import run_in_child
from tileir.tools.input import read_program, refuse_script
from tileir.tools.output import check_target, protect_input

if TYPE_CHECKING:
    from tileir.execute.engine.interface import Backend
    from tileir.execute.launching.timing import Timing
    from tileir.execute.sanitizer.report import Names, SanitizerReport

USAGE = Usage(
    "tileir run",
    "FILE",
    (
        "tileir run examples/histogram.mlir --grid 8 --arg rand:i32:1000 --arg zeros:i32:100 --arg 1000",
        "tileir run examples/racy.mlir --sanitize --grid 4 --arg ones:i32:500 --arg zeros:i32:1 --arg 500",
    ),
    (
        options.GRID,
        options.ENTRY,
        options.ARG.with_help("an argument; repeat for each parameter, in order; see below"),
        Option("-o, --output N=FILE.npy", "write argument N, counted from 0, to a file when the kernel is done"),
        options.JSON.with_help("print an object: kernel, backend, grid, arrays, findings, time"),
        options.BACKEND,
        Option("--threads N", "how many threads the cpu backend uses (default: all processors)"),
        options.FAST,
        Option("--unchecked", "turn the cpu backend's bounds checks off: a faulty kernel may crash the process"),
        Option("--cpu NAME", "the machine that the cpu backend generates code for (default: this one)"),
        Option("--dump STAGE", "print the backend's code instead: see below"),
        options.TARGET.with_help("the GPU that code to dump is for, as h100 or sm_90 (default: that of this machine)"),
        Option("--time[=LAUNCHES]", "launch it again and again, and show time, bytes and operations in a second"),
        Option("--flush-cache", "empty caches before each launch that is timed"),
        options.TIMEOUT,
        options.SCHEDULE,
        options.SANITIZE,
        Option("--trace X[,Y[,Z]]", "print each value that one tile block computes"),
        options.WATCH_NAN,
        options.NAMES,
        options.EXACT,
        options.QUIET,
        *options.READING,
    ),
    f"""\
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
  zeros:f32:8+ones:f32:8  for a multicast pointer, the array of each device
  42, -1.5, 0x10       a scalar

{launches.STATED}

With --dump nothing runs and no arguments are needed. Stages of cpu ('tileir docs cpu') are tiles, loops, llvm, llvm-opt
and asm; of tileiras bytecode and sass; of triton ttir, ttgir, llvm, ptx and sass. No GPU is needed for them.""",
    statuses={
        1: "the program or the launch is wrong, or --sanitize or --watch-nan has findings",
        124: "stopped by --timeout",
    },
)


@command(USAGE)
def run(given: Arguments) -> int:
    # Checked before anything is read.
    refuse_script(given.operands[0], "'tileir emulate {}' runs it")
    grid_of(given.value("grid", "1"))
    engine = _engine(given)
    given.only_one("json", "trace")
    given.number("threads")
    seconds = given.seconds("timeout")
    if engine is not None and not engine.is_native and not seconds:
        return _perform(given, engine)
    # Native code that is not checked takes its process with it when it leaves its arrays, and only a process can be
    # ended at any time.
    return run_in_child(given, lambda: _perform(given, engine), seconds)


def _perform(given: Arguments, engine: Backend | None) -> int:
    program = read_program(given.operands[0], given)
    description, unchecked, is_quiet = launches.given_launch(given, program), given.has("unchecked"), given.has("quiet")
    timing: Timing | None = None
    try:
        with Progress(is_quiet=is_quiet, after=1.0) as progress:
            kernel = launches.compiled(
                program.checked(given),
                description,
                engine.name if engine is not None else AUTO,
                exact=given.has("exact"),
                fast=given.has("fast"),
                unchecked=unchecked,
                cpu=given.value("cpu") or None,
                schedule=given.value("schedule", "forward"),
            )
            if given.has("dump"):
                stage, target = given.value("dump"), given.value("target") or None
                sanitize = given.has("sanitize")
                sys.stdout.write(kernel.dump(stage, sanitize=sanitize, unchecked=unchecked, target=target))
                return EXIT_FINE
            check_grid(description.grid)
            launches.check_given(kernel.entry, description.arguments)
            values = launches.made_arguments(kernel.entry, description.arguments)
            outputs = _outputs(given, values, program.kind)
            observation = _Observation(given, description.grid, launches.uninitialized(values, description.arguments))
            threads = given.number("threads") or None
            with launches.host_arrays():
                if given.has("time"):
                    progress.step("timing launches")
                    # As many launches as make sense, where no number is given.
                    repeat = given.number("time") if given.value("time") else None
                    flush = given.has("flush-cache")
                    timing = kernel.time(description.grid, values, repeat=repeat, flush_cache=flush, threads=threads)
                else:
                    observer, bar = observation.observer, launch_bar(progress)
                    kernel.launch(description.grid, values, observer=observer, progress=bar, threads=threads)
    except ExecutionError as error:
        if given.value("names") == "tile":
            error.tell_as_tile_program()
        raise
    except Exception as error:
        if engine is None or is_own(engine) or isinstance(error, (TileIRError, ToolFailure)):
            raise
        # The code of a plugin: its author calls it from Python to see where.
        raise ToolFailure(f"{engine.called} failed: {type(error).__name__}: {error}", EXIT_WRONG_INPUT) from error
    import numpy

    from tileir.execute.array_summary import array_facts, summary

    sys.stdout.flush()
    name = kernel.entry.symbol_name or ""
    written = [
        (number, device, array)
        for number, value in enumerate(values)
        for device, array in (launches.arrays_of(value) if may_write(kernel.entry, number) else [])
    ]
    if not given.has("json"):
        observation.print_reports(name, engine, is_quiet)
    for number, path in outputs:
        launches.save(path, numpy.save, values[number])
    if given.has("json"):
        found: dict[str, Any] = {"kernel": name, "backend": kernel.backend, "grid": list(description.grid)}
        found["arrays"] = [
            {"argument": number, **({} if device is None else {"device": device}), **array_facts(array)}
            for number, device, array in written
        ]
        found["findings"] = observation.findings(given.operands[0])
        print(json.dumps(found | {"time": None if timing is None else timing.to_dict()}))
    else:
        for number, device, array in [] if is_quiet else written:
            where = "" if device is None else f" on device {device}"
            print(f"argument {number}{where}: {summary(array)}")
        if timing is not None:
            print(timing.text())
    return EXIT_WRONG_INPUT if observation.found else EXIT_FINE


class _Observation:
    """The observers of a launch that the command line requests."""

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

    @property
    def found(self) -> bool:
        return any(self._reports)

    def findings(self, path: str) -> list[dict[str, object]]:
        """What was found, for JSON."""
        from tileir.execute.sanitizer.report import SanitizerError
        from tileir.tools.programs.reporting import finding_facts

        return [finding_facts(each, path) for report in self._reports for each in SanitizerError(report).diagnostics]

    def print_reports(self, kernel: str, engine: Backend | None, quiet: bool) -> None:
        """Print what was found, or that nothing was and what was not checked."""
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


# Options for engines that make code, then those that observe, each with the name by which an engine lists that it takes
# it; one that dumps has stages.
_OF_CODE = {"dump": "", "threads": "threads", "fast": "fast", "unchecked": "unchecked", "cpu": "cpu"}
_OBSERVING = {"trace": "observer", "watch-nan": "observer", "sanitize": "sanitize", "schedule": "schedule"}


def _engine(given: Arguments) -> Backend | None:
    """The requested backend, None for the default; options that it does not have are errors."""
    if given.has("fast") and given.has("exact"):
        raise ToolFailure("--exact and --fast contradict each other: use one of them")
    if given.has("time"):
        given.refuse((*_OBSERVING, "dump"), "and --time exclude each other: what is observed takes its own time")
    if given.has("dump"):
        given.refuse(("output", "json"), "is about a launch, and --dump runs nothing")
    else:
        given.refuse(("target",), "selects the GPU of '--dump sass': a kernel runs on the GPU of this machine")
    needed = {**_OF_CODE, **_OBSERVING, **({"sanitize": "observer"} if given.value("sanitize") == "all" else {})}
    requested = [option for option in needed if given.has(option) and given.value(option) != "forward"]
    name = given.value("backend", AUTO)
    if name == AUTO and not requested:
        return None
    # The interpreter sees most.
    own = [find_engine("interpreter"), find_engine("cpu")]
    if name == AUTO:
        engine = own[requested[0] in _OF_CODE]
    else:
        engine = find_engine(name)
    for option in requested:
        able, *_ = [
            each for each in (engine, *own) if (needed[option] in each.options if needed[option] else each.stages)
        ]
        if able is not engine:
            shown = "sanitize=all" if needed[option] == "observer" and option == "sanitize" else option
            raise ToolFailure(f"--{shown} is for {able.called}: add --backend {able.name}")
    return engine


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


def _outputs(given: Arguments, values: list[Any], kind: str) -> list[tuple[int, str]]:
    """Where arrays go, checked before the kernel runs: results of a long run must not be lost."""
    found: list[tuple[int, str]] = []
    for text in given.values("output"):
        spelled, equals, path = text.partition("=")
        number = natural(spelled)
        if not equals or number is None or not path:
            raise ToolFailure(f"'-o {text}' makes no sense: give an argument's number and a file, as in 2=c.npy")
        if number >= len(values) or not launches.is_array(values[number]):
            arrays = ", ".join([str(index) for index, value in enumerate(values) if launches.is_array(value)])
            hint = f"its arrays are {arrays}" if arrays else "it has none"
            raise ToolFailure(f"'-o {text}': argument {number} is not an array of this launch, {hint}")
        if path == "-":
            raise ToolFailure("arrays are not written among the text on standard output: give a file, as in 2=c.npy")
        if any(other == path and before != number for before, other in found):
            raise ToolFailure(f"'-o {text}': another argument goes to that file")
        check_target(path)
        protect_input(path, given.operands[0], (kind, "an array"))
        found.append((number, path))
    return found
