"""`tileir sweep`: judge many programs, each in a confined process, into one table."""

from __future__ import annotations

import gc
import math
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from tileir.ir.diagnostics import OptionError, TileIRError
from tileir.tools.arguments import (
    COLOR,
    EXIT_FINE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    EXIT_WRONG_INPUT,
    Arguments,
    Option,
    ToolFailure,
    Usage,
)
from tileir.tools.programs import guarded
from tileir.tools.time_limit import seconds_of

if TYPE_CHECKING:
    from tileir.judge.inputs import Seeds
    from tileir.judge.plans import Plan
    from tileir.tools.sweep_progress import Teller

RESULTS = "results.sqlite"

USAGE = Usage(
    "tileir sweep",
    "Judges many programs, in processes within limits, and writes what comes of them to a table.",
    "[INPUT...]",
    (
        Option(
            "output",
            f"the file of results (default: {RESULTS}); what it has is not judged again",
            short="o",
            value="FILE",
        ),
        Option("seeds", "also programs of tileir smith, as 7 or 0:10000 (the last one left out)", value="[FIRST:]END"),
        Option("family", "the families that seeds are for, as a,b (default: what each seed gives)", value="NAMES"),
        Option("ops", "the operations that programs of seeds are made of", value="NAMES"),
        Option("version", "the version of the dialect that programs of seeds keep to", value="VERSION"),
        Option("size", "about how many operations programs of seeds have", value="N"),
        Option("optimize", "also optimize each: the result must verify and compute the same", value="LEVEL"),
        Option(
            "engines", "engines to run on, each compared to the first, or none (default: those here)", value="NAMES"
        ),
        Option("sanitize", "also look for races, accesses outside of arrays and the like"),
        Option("targets", "also compile with NVIDIA's assembler, as sm_90,sm_100", value="GPUS"),
        Option("cost", "also estimate costs on targets, as h200,b200", value="NAMES"),
        Option("time", "also time each engine"),
        Option("reference", "what Python modules are judged against, or a directory with one for each", value="PATH"),
        Option("trials", "Python modules: seeds of inputs for each shape (default: 3)", value="N"),
        Option("tolerance", "Python modules: how far off results may be, relative and absolute", value="X"),
        Option("speedup", "Python modules: least speedup over the baseline, by costs", value="X"),
        Option("seed", "of random arguments, for programs that come without any (default: 0)", value="N"),
        Option("time-limit", "for one program (default: 30)", value="SECONDS"),
        Option("memory-limit", "for one program (default: 4)", value="GIB"),
        Option(
            "programs-per-child", "programs that pass share a process up to this, 1 for none (default: 32)", value="N"
        ),
        Option("jobs", "judge so many at once (default: one for each processor)", short="j", value="N"),
        Option("dask", "judge on the Dask cluster whose scheduler is there, as tcp://HOST:8786", value="ADDRESS"),
        Option("retry", "judge those again that came to these outcomes, as timeout,crashed", value="OUTCOMES"),
        Option("reduce", "make a small program of each kind of failure that has none yet"),
        Option("reduce-seconds", "how long each of them may take (default: 60)", value="SECONDS"),
        Option("report", "write the page of tileir report", value="OUT"),
        Option("fail-fast", "end at the first that does not pass"),
        Option("quiet", "print nothing but what is wrong with the sweep itself", short="q"),
        COLOR,
    ),
    least=0,
    most=-1,
    details="""\
INPUT may be a program, text or bytecode; a directory, in which programs are searched; a pattern such as 'k/**/*.mlir';
an archive (zip, tar, tar.gz, ..); a Python module with cuTile kernels (*.py); @LIST, a file with a path on each line,
or '-' for a program on standard input.

A sweep that was interrupted, or killed, goes on when the same command is given again. 'tileir report FILE' shows what
came of it; 'tileir docs sweep' describes the file, and sweeps on many machines.

Exit status: 0 all passed, 1 something did not, 2 the command line is wrong or the sweep cannot go on, 130 it was
interrupted.""",
)


def run(arguments: list[str]) -> int:
    return guarded("tileir sweep", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    if not given.operands and not given.has("seeds"):
        raise _mistake("nothing to judge: give files, directories or archives, or --seeds 0:1000")
    # Imported here: mistakes in the words are told sooner.
    from tileir.judge.errors import SweepError
    from tileir.judge.executor.sweep import sweep
    from tileir.tools.sweep_progress import Teller

    path = given.value("output", RESULTS)
    plan = _plan(given)
    seeds = _seeds(given)
    retry = _names(given, "retry")
    if given.has("report"):
        from tileir.tools.output import check_target

        check_target(given.value("report", ""))
    # This process stays for long.
    gc.enable()
    _end_as_interrupted()
    teller = Teller(given.has("quiet"), given.wants_colour(sys.stderr))
    try:
        found = sweep(
            given.operands,
            path,
            seeds=seeds,
            plan=plan,
            reference=_reference(given),
            jobs=_number(given, "jobs", 0) or None,
            dask=given.value("dask", "") or None,
            retry=retry,
            fail_fast=given.has("fail-fast"),
            progress=teller.tell,
        )
        teller.finished(found.progress, path)
        if given.has("reduce") and not found.passed:
            _reduce(given, path, plan, teller)
    except KeyboardInterrupt:
        teller.interrupted(path)
        return EXIT_INTERRUPTED
    except OptionError as error:
        raise ToolFailure(error.message, EXIT_USAGE) from None
    except SweepError as error:
        teller.clear()
        raise ToolFailure(error.message, EXIT_USAGE) from None
    if given.has("report"):
        from tileir.tools.report import write_page

        write_page(path, given.value("report", ""), given.has("quiet"))
    return EXIT_FINE if found.passed else EXIT_WRONG_INPUT


def _reduce(given: Arguments, path: str, plan: Plan, teller: Teller) -> None:
    from tileir.judge.reductions import SECONDS, reduce_failures
    from tileir.processors import processors

    seconds = (
        seconds_of(given.value("reduce-seconds", ""), "reduce-seconds") if given.has("reduce-seconds") else SECONDS
    )
    jobs = _number(given, "jobs", 0) or processors()
    reduce_failures(
        path, plan, seconds=seconds, jobs=jobs, progress=teller.tell_reduction, finished=teller.tell_reduced
    )
    teller.clear()


def _end_as_interrupted() -> None:
    """A sweep that is asked to end does so as with Ctrl-C: what is done is written, and no process stays."""

    def end(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        # nohup has it ignored.
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), end)


# --- what the command line says ---


def _plan(given: Arguments) -> Plan:
    from tileir.judge.executor.sweep import present_engines
    from tileir.judge.plans import Limits, Plan

    seconds, memory = Limits().seconds, Limits().memory
    if given.has("time-limit"):
        seconds = seconds_of(given.value("time-limit", ""), "time-limit")
    if given.has("memory-limit"):
        memory = int(_size(given.value("memory-limit", "")) * (1 << 30))
    level = _number(given, "optimize", -1, least=0)
    if level > 3:
        raise _mistake(f"'--optimize {level}' is no level: give one from 0 to 3")
    engines = _names(given, "engines") if given.has("engines") else present_engines()
    plan = Plan(
        optimize=level if level >= 0 else None,
        engines=() if engines == ("none",) else engines,
        sanitize=given.has("sanitize"),
        targets=_names(given, "targets"),
        cost=_names(given, "cost"),
        time=given.has("time"),
        seed=_number(given, "seed", 0, least=0),
        trials=_number(given, "trials", 3),
        tolerance=_amount(given, "tolerance"),
        speedup=_amount(given, "speedup"),
        limits=Limits(
            seconds=seconds,
            memory=memory,
            programs_per_child=_number(given, "programs-per-child", Limits().programs_per_child),
        ),
    )
    _check_names(plan)
    return plan


def _reference(given: Arguments) -> str | None:
    path = given.value("reference", "")
    if path and not os.path.exists(path):
        raise _mistake(f"cannot read the reference '{path}': there is no such file or directory")
    return path or None


def _amount(given: Arguments, name: str) -> float | None:
    if not given.has(name):
        return None
    text = given.value(name, "")
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise _mistake(f"'--{name} {text}' is no amount: give a number, as 0.01")
    return found


def _check_names(plan: Plan) -> None:
    """Names that would fail for each program are mistakes of the command line."""
    try:
        if plan.engines:
            from tileir.execute.engine.registry import find_engine

            for name in plan.engines:
                find_engine(name)
        if plan.cost:
            from tileir.analyze.cost.targets import target_named

            for name in plan.cost:
                target_named(name)
        if plan.targets:
            from tileir.execute.gpu.targets import target_named as gpu_named

            for name in plan.targets:
                gpu_named(name)
    except TileIRError as error:
        raise _mistake(error.message) from None


def _seeds(given: Arguments) -> Seeds | None:
    from tileir.judge.inputs import Seeds

    for option in ("family", "ops", "version", "size"):
        if given.has(option) and not given.has("seeds"):
            raise _mistake(f"--{option} is about programs of seeds: give --seeds as well")
    if not given.has("seeds"):
        return None
    text = given.value("seeds", "")
    first, colon, end = text.partition(":")
    numbers = [first or "0", end] if colon else [first]
    if not all(number.isascii() and number.isdecimal() and len(number) < 19 for number in numbers):
        raise _mistake(f"'--seeds {text}' is no range of seeds: give one as 7 or 0:10000")
    seeds = range(int(numbers[0]), int(numbers[-1]) + (0 if colon else 1))
    if not seeds:
        raise _mistake(f"'--seeds {text}' is no seed at all: the last one is left out")
    families, operations = _names(given, "family"), _names(given, "ops")
    version = given.value("version", "")
    _check_seeds(seeds[0], families, operations, version)
    return Seeds(seeds, families, operations, version, _number(given, "size", 0) or None)


def _check_seeds(seed: int, families: tuple[str, ...], operations: tuple[str, ...], version: str) -> None:
    """What no seed can be made with is a mistake of the command line."""
    if not (families or operations or version):
        return
    from tileir.smith import program

    try:
        for family in families or (None,):
            program(seed, family=family, operations=operations or None, version=version or None)
    except OptionError as error:
        raise _mistake(error.message) from None


def _names(given: Arguments, option: str) -> tuple[str, ...]:
    """What is separated by commas, from each time that the option is given."""
    words = [word.strip() for name, text in given.sequence if name == option for word in text.split(",")]
    if given.has(option) and not all(words):
        raise _mistake(f"'--{option}' needs names, separated by commas")
    return tuple(dict.fromkeys(words))


def _number(given: Arguments, option: str, default: int, least: int = 1) -> int:
    if not given.has(option):
        return default
    text = given.value(option, "")
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
    if number < least:
        raise _mistake(f"'--{option} {text}': give a number from {least} on")
    return number


def _size(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1 << 20 or math.isnan(number):
        raise _mistake(f"'--memory-limit {text}' is no size: give a number of GiB above 0, as 0.5")
    return number


def _mistake(message: str) -> ToolFailure:
    return ToolFailure(message, EXIT_USAGE)
