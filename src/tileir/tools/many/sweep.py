"""`tileir sweep`: judge many programs, each in a confined process, into one table."""

from __future__ import annotations

import gc
import os
import sys

from tileir.analyze.cost.targets import target_named
from tileir.execute.engine.registry import find_engine
from tileir.execute.gpu.targets import target_named as gpu_named
from tileir.judge.errors import SweepError
from tileir.judge.executor.sweep import present_engines, sweep
from tileir.judge.inputs import Seeds
from tileir.judge.model import Limits, Plan
from tileir.smith import program
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_INTERRUPTED, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, end_as_interrupted, refusing
from tileir.tools.many.report import write_page
from tileir.tools.many.sweep_progress import SweepReporter
from tileir.tools.output import check_target

RESULTS = "results.sqlite"

USAGE = Usage(
    "tileir sweep",
    "Runs many programs in sandboxes and stores the results in SQLite.",
    "[INPUT...]",
    (
        options.OUTPUT.with_help(f"the file of results (default: {RESULTS}); programs that it has are not run again"),
        Option("--seeds [FIRST:]END", "also programs of tileir smith, as 7 or 0:10000 (the last one left out)"),
        Option("--family NAMES", "the families that seeds are for, as a,b (default: what each seed gives)"),
        Option("--ops NAMES", "the operations that programs of seeds are made of"),
        Option("--version VERSION", "the version of the dialect that programs of seeds keep to"),
        Option("--size N", "about how many operations programs of seeds have"),
        Option("--optimize LEVEL", "also optimize each: the result must verify and compute the same"),
        Option("--engines NAMES", "engines to run on, each compared to the first, or none (default: those here)"),
        Option("--sanitize", "also look for races, accesses outside of arrays and the like"),
        Option("--targets GPUS", "also compile with NVIDIA's assembler, as sm_90,sm_100"),
        Option("--cost NAMES", "also estimate costs on targets, as h200,b200"),
        Option("--time", "also time each engine"),
        Option("--reference PATH", "what Python modules are judged against, or a directory with one for each"),
        Option("--trials N", "Python modules: seeds of inputs for each shape (default: 3)"),
        Option("--tolerance X", "Python modules: how far off results may be, relative and absolute"),
        Option("--speedup X", "Python modules: least speedup over the baseline, by costs"),
        Option("--seed N", "of random arguments, for programs that come without any (default: 0)"),
        options.TIME_LIMIT.with_help("for one program (default: 30)"),
        options.MEMORY_LIMIT.with_help("for one program (default: 4)"),
        Option("--programs-per-child N", "programs that pass share a process up to this, 1 for none (default: 32)"),
        options.JOBS,
        Option("--dask ADDRESS", "judge on the Dask cluster whose scheduler is there, as tcp://HOST:8786"),
        Option("--retry OUTCOMES", "judge those again that came to these outcomes, as timeout,crashed"),
        Option("--reduce", "make a small program of each kind of failure that has none yet"),
        Option("--reduce-seconds SECONDS", "how long each of them may take (default: 60)"),
        Option("--report OUT", "write the page of tileir report"),
        Option("--fail-fast", "end at the first that does not pass"),
        options.QUIET.with_help("print nothing but what is wrong with the sweep itself"),
        options.COLOR,
    ),
    details="""\
INPUT may be a program, text or bytecode; a directory, in which programs are searched; a pattern such as 'k/**/*.mlir';
an archive (zip, tar, tar.gz, ..); a Python module with cuTile kernels (*.py); @LIST, a file with a path on each line,
or '-' for a program on standard input.

A sweep that was interrupted, or killed, goes on when the same command is given again. 'tileir report FILE' shows what
came of it; 'tileir docs sweep' describes the file, and sweeps on many machines.

Exit status: 0 all passed, 1 something did not, 2 the command line is wrong or the sweep cannot go on, 130 it was
interrupted.""",
)


@command(USAGE)
def run(given: Arguments) -> int:
    if not given.operands and not given.has("seeds"):
        raise ToolFailure("nothing to judge: give files, directories or archives, or --seeds 0:1000")
    path = given.value("output", RESULTS)
    plan = _plan(given)
    seeds = _seeds(given)
    retry = tuple(given.names("retry"))
    reference = given.value("reference")
    if reference and not os.path.exists(reference):
        raise ToolFailure(f"cannot read the reference '{reference}': there is no such file or directory")
    check_target(given.value("report", "-"))
    # This process stays, so its garbage is collected.
    gc.enable()
    end_as_interrupted()
    reporter = SweepReporter(given.has("quiet"), given.wants_color(sys.stderr))
    try:
        found = sweep(
            given.operands,
            path,
            seeds=seeds,
            plan=plan,
            reference=reference or None,
            jobs=given.number("jobs") or None,
            dask=given.value("dask") or None,
            retry=retry,
            fail_fast=given.has("fail-fast"),
            progress=reporter.show,
        )
        reporter.finished(found.progress, path)
        if given.has("reduce") and not found.passed:
            _reduce(given, path, plan, reporter)
    except KeyboardInterrupt:
        reporter.interrupted(path)
        return EXIT_INTERRUPTED
    except SweepError as error:
        reporter.progress.clear()
        raise ToolFailure(error.message) from None
    if given.has("report"):
        write_page(path, given.value("report"), given.has("quiet"))
    return EXIT_FINE if found.passed else EXIT_WRONG_INPUT


def _reduce(given: Arguments, path: str, plan: Plan, reporter: SweepReporter) -> None:
    from tileir.judge.reductions import SECONDS, reduce_failures
    from tileir.processors import processors

    seconds = given.seconds("reduce-seconds", SECONDS)
    jobs = given.number("jobs") or processors()
    show, finished = reporter.show_reduction, reporter.reduced
    reduce_failures(path, plan, seconds=seconds, jobs=jobs, progress=show, finished=finished)
    reporter.progress.clear()


# --- what the command line says ---


def _plan(given: Arguments) -> Plan:
    usual = Limits()
    engines = tuple(given.names("engines")) if given.has("engines") else present_engines()
    plan = Plan(
        optimize=given.number("optimize", least=0, most=3) if given.has("optimize") else None,
        engines=() if engines == ("none",) else engines,
        sanitize=given.has("sanitize"),
        targets=tuple(given.names("targets")),
        cost=tuple(given.names("cost")),
        time=given.has("time"),
        seed=given.number("seed", least=0),
        trials=given.number("trials", 3),
        tolerance=given.amount("tolerance"),
        speedup=given.amount("speedup"),
        limits=Limits(
            seconds=given.seconds("time-limit", usual.seconds),
            memory=given.gibibytes("memory-limit", usual.memory),
            programs_per_child=given.number("programs-per-child", usual.programs_per_child),
        ),
    )
    # Names that would fail for each program are mistakes of the command line.
    with refusing():
        for find, names in ((find_engine, plan.engines), (target_named, plan.cost), (gpu_named, plan.targets)):
            for name in names:
                find(name)
    return plan


def _seeds(given: Arguments) -> Seeds | None:
    if not given.has("seeds"):
        given.refuse(("family", "ops", "version", "size"), "is about programs of seeds: give --seeds as well")
        return None
    text = given.value("seeds")
    first, colon, end = text.partition(":")
    numbers = [first or "0", end] if colon else [first]
    if not all(number.isascii() and number.isdecimal() and len(number) < 19 for number in numbers):
        raise ToolFailure(f"'--seeds {text}' is no range of seeds: give one as 7 or 0:10000")
    seeds = range(int(numbers[0]), int(numbers[-1]) + (0 if colon else 1))
    if not seeds:
        raise ToolFailure(f"'--seeds {text}' is no seed at all: the last one is left out")
    families, operations = tuple(given.names("family")), tuple(given.names("ops"))
    version = given.value("version")
    if families or operations or version:
        # What no seed can be made with is a mistake of the command line: it raises `OptionError`.

        for family in families or (None,):
            program(seeds[0], family=family, operations=operations or None, version=version or None)
    return Seeds(seeds, families, operations, version, given.number("size") or None)
