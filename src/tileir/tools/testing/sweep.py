"""`tileir sweep`: judge many programs, each in a confined process, into one table."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tileir.analyze.cost.targets import DEFAULT, target_named
from tileir.analyze.smith.program import smith
from tileir.execute.engine.registry import find_engine
from tileir.execute.gpu.gpus import target_named as gpu_named
from tileir.ir.quoting import harmless
from tileir.judging.errors import SweepError
from tileir.judging.executor.sweep import sweep
from tileir.judging.inputs import SeedRange
from tileir.judging.model import JudgePlan, ProcessLimits
from tileir.judging.report.tables import shortened
from tileir.judging.report.text import progress_line, progress_summary
from tileir.judging.tasks.plans import plan_for, present_engines
from tileir.judging.tasks.settings import read_task
from tileir.terminal import Progress, paint
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_INTERRUPTED, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, refusing, stay
from tileir.tools.output import check_target
from tileir.tools.testing.report import write_page

if TYPE_CHECKING:
    from tileir.judging.executor.scheduler import SweepProgress
    from tileir.judging.reductions import Reduced, ReductionProgress

RESULTS = "results.sqlite"
_MOST_CAUSES = 20
_LONGEST_MESSAGE = 200
_LONGEST_CAUSE = 80

_OF_SEEDS = (
    Option("--family NAME", "the family that seeds are for; may be repeated (default: that of each seed)"),
    Option("--ops NAMES", "the operations that programs of seeds are made of"),
    options.VERSION.with_help("the version that programs of seeds keep to (default: the newest)"),
    Option("--size N", "about how many operations programs of seeds have"),
)
USAGE = Usage(
    "tileir sweep",
    "[INPUT...]",
    (
        "tileir sweep 'examples/*.mlir' --backend interpreter -o results.sqlite",
        "tileir sweep --seeds 0:20 -O 3 --backend interpreter --html page.html",
    ),
    (
        options.OUTPUT.with_help(f"the file of results (default: {RESULTS}); programs that it has are not run again"),
        options.HTML.with_help("write the page of tileir report"),
        Option("--seeds [FIRST:]END", "also programs of tileir smith, as 7 or 0:10000 (the last one left out)"),
        *_OF_SEEDS,
        options.OPTIMIZE.with_help("also optimize each at this level: the result must verify and compute the same"),
        options.BACKEND.with_help("what runs them, as a,b, each compared to the first, or none (default: those here)"),
        Option("--sanitize", "also look for races, accesses outside of arrays and the like"),
        Option("--compile", "also compile with NVIDIA's assembler for each --target"),
        Option("--cost", "also estimate costs on each --target"),
        options.TARGET.with_help("the GPUs of --compile and --cost, as h100,sm_100 (default: h200)"),
        Option("--time", "also time each backend"),
        Option("--reference PATH", "what Python modules are judged against, or a directory with one for each"),
        Option("--task TASK", "what Python modules are candidates for: the checks and scores of tileir judge"),
        Option("--trials N", "Python modules: seeds of inputs for each shape (default: 3)"),
        Option("--tolerance X", "Python modules: how far off results may be, relative and absolute"),
        Option("--speedup X", "Python modules: least speedup over the baseline, by costs"),
        Option("--seed N", "of random arguments, for programs that come without any (default: 0)"),
        options.TIMEOUT.with_help("how long one program may take (default: 30)"),
        options.MEMORY_LIMIT.with_help("the most memory that one program may take (default: 4G)"),
        Option("--programs-per-child N", "programs that pass share a process up to this, 1 for none (default: 32)"),
        options.JOBS,
        Option("--dask ADDRESS", "judge on the Dask cluster whose scheduler is there, as tcp://HOST:8786"),
        Option("--retry OUTCOMES", "judge those again that came to these outcomes, as timeout,crashed"),
        Option("--reduce", "make a small program of each kind of failure that has none yet"),
        Option("--reduce-timeout SECONDS", "how long each of them may take (default: 60)"),
        Option("--fail-fast", "end at the first that does not pass"),
        options.VERBOSE.with_help("print each program that does not pass, not only the first of each kind of failure"),
        options.QUIET,
        options.COLOR,
    ),
    """\
INPUT may be a program, text or bytecode; a directory, in which programs are searched; a pattern such as 'k/**/*.mlir';
an archive (zip, tar, tar.gz, ..); a C++ source (*.cu) or a Python module (*.py) with kernels; @LIST, a file with a path
on each line, or '-' for a program on standard input.

A sweep that was interrupted, or killed, goes on when the same command is given again. 'tileir report FILE' shows what
came of it; 'tileir docs sweep' describes the file, and sweeps on many machines.""",
    statuses={
        0: "all passed",
        1: "something did not pass",
        2: "the command line is wrong, or the sweep cannot go on",
        130: "interrupted; the same command goes on",
    },
)


@command(USAGE)
def run(given: Arguments) -> int:
    if not given.operands and not given.has("seeds"):
        raise ToolFailure("nothing to judge: give files, directories or archives, or --seeds 0:1000")
    task = given.value("task")
    path, plan, seeds = given.value("output", RESULTS), _task_plan(given) if task else _plan(given), _seeds(given)
    retry, reference = given.names("retry"), given.value("reference")
    if reference and not os.path.exists(reference):
        raise ToolFailure(f"cannot read the reference '{reference}': No such file or directory")
    check_target(given.value("html", "-"))
    stay(interruptible=True)
    reporter = SweepReporter(given.has("quiet"), given.wants_color(sys.stderr), is_verbose=given.has("verbose"))
    try:
        with reporter.progress:
            found = sweep(
                given.operands,
                path,
                seeds=seeds,
                plan=plan,
                reference=reference or None,
                task=task or None,
                jobs=given.number("jobs") or None,
                dask=given.value("dask") or None,
                retry=retry,
                fail_fast=given.has("fail-fast"),
                progress=reporter.show,
            )
            reporter.finished(found.progress, path)
            if given.has("reduce") and not found.passed:
                from tileir.judging.reductions import SECONDS, reduce_failures
                from tileir.processors import processors

                seconds, jobs = given.seconds("reduce-timeout", SECONDS), given.number("jobs") or processors()
                show, finished = reporter.show_reduction, reporter.reduced
                reduce_failures(path, plan, seconds=seconds, jobs=jobs, progress=show, finished=finished)
    except KeyboardInterrupt:
        if not given.has("quiet"):
            print(f"interrupted: what is done is in '{harmless(path)}'; the same command goes on", file=sys.stderr)
        return EXIT_INTERRUPTED
    except SweepError as error:
        raise ToolFailure(error.message, help=error.help) from None
    if given.has("html"):
        write_page(path, given.value("html"), given.has("quiet"))
    return EXIT_FINE if found.passed else EXIT_WRONG_INPUT


def _task_plan(given: Arguments) -> JudgePlan:
    """The plan of a task, with what the command line replaces."""
    words = ("compile", "cost", "sanitize", "time", "trials", "tolerance", "speedup", "seed", "O", "reference")
    given.refuse(words, "belongs to the task: leave it out")
    settings = read_task(given.value("task")).settings
    engines, targets = given.names("backend"), given.names("target")
    return plan_for(
        settings,
        targets[0] if targets else None,
        engines[0] if engines else None,
        given.seconds("timeout") or None,
        given.size("memory-limit", 0) or None,
    )


def _plan(given: Arguments) -> JudgePlan:
    usual = ProcessLimits()
    seconds, memory = given.seconds("timeout", usual.seconds), given.size("memory-limit", usual.memory)
    most = given.number("programs-per-child", usual.programs_per_child)
    engines = tuple(given.names("backend")) if given.has("backend") else present_engines()
    if not given.has("compile") and not given.has("cost"):
        given.refuse(("target",), "is about --compile and --cost: add one of them")
    targets = given.names("target") or [DEFAULT]
    # Names that would fail for each program are errors of the command line.
    with refusing():
        for name in () if engines == ("none",) else engines:
            find_engine(name)
        costs = [target_named(name).key for name in targets if given.has("cost")]
        gpus = [gpu_named(name) for name in targets if given.has("compile")]
    return JudgePlan(
        optimize=int(given.value("O")) if given.has("O") else None,
        backends=() if engines == ("none",) else engines,
        sanitize=given.has("sanitize"),
        targets=tuple(dict.fromkeys(gpus)),
        cost=tuple(dict.fromkeys(costs)),
        time=given.has("time"),
        seed=given.number("seed", least=0),
        trials=given.number("trials", 3),
        tolerance=given.amount("tolerance"),
        speedup=given.amount("speedup"),
        limits=ProcessLimits(seconds=seconds, memory=memory, programs_per_child=most),
    )


def _seeds(given: Arguments) -> SeedRange | None:
    if not given.has("seeds"):
        given.refuse([option.name for option in _OF_SEEDS], "is about programs of seeds: give --seeds as well")
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
    version = given.value("bytecode-version")
    if families or operations or version:
        # A combination that no seed satisfies is an error of the command line: `smith` raises `OptionError`.
        for family in families or (None,):
            smith(seeds[0], family=family, operations=operations or None, version=version or None)
    return SeedRange(seeds, families, operations, version, given.number("size") or None)


class SweepReporter:
    """Prints progress to standard error, and results to standard output."""

    def __init__(self, is_quiet: bool, color: bool, *, is_verbose: bool = False) -> None:
        self.progress: Progress = Progress(is_quiet=is_quiet, every=30.0)
        self._color: bool = color
        self._is_verbose: bool = is_verbose
        self._causes: set[str] = set()

    def show(self, progress: SweepProgress) -> None:
        for name, verdict in () if self.progress.is_quiet else progress.latest:
            is_known = verdict.cause in self._causes or len(self._causes) == _MOST_CAUSES
            if verdict.outcome == "passed" or (is_known and not self._is_verbose):
                continue
            self._causes.add(verdict.cause)
            self.progress.clear()
            step = next((step for step in verdict.steps if step.outcome not in ("passed", "skipped")), None)
            message = step.message.strip().partition("\n")[0] if step is not None else verdict.cause
            outcome = paint(verdict.outcome, verdict.outcome) if self._color else verdict.outcome
            where = f"{step.name}: " if step is not None else ""
            shown = harmless(shortened(message, _LONGEST_MESSAGE, at_end=True))
            print(f"{outcome}: {harmless(name)}: {where}{shown}", file=sys.stderr, flush=True)
            if len(self._causes) == _MOST_CAUSES and not self._is_verbose:
                print("more kinds of failures are in the report only", file=sys.stderr, flush=True)
        self.progress.show(lambda: progress_line(progress))

    def show_reduction(self, progress: ReductionProgress) -> None:
        """Show how far the reduction of kinds of failures is, on a terminal."""
        if self.progress.is_terminal:
            name = f"reducing {progress.number} of {progress.total}, {harmless(progress.name)}"
            size = f"{progress.size:,} of {progress.original:,}, {progress.tests:,} tests"
            self.progress.show(lambda: f"{name}: {size}")

    def reduced(self, reduced: Reduced) -> None:
        """Print the result of one of them."""
        self.progress.clear()
        if not self.progress.is_quiet:
            cause = harmless(shortened(reduced.cluster.title, _LONGEST_CAUSE, at_end=True))
            print(f"{cause}: {harmless(reduced.name)}: {harmless(reduced.note)}", flush=True)

    def finished(self, progress: SweepProgress, path: str) -> None:
        self.progress.clear()
        if self.progress.is_quiet:
            return
        print(progress_summary(progress))
        if progress.outdated:
            verb = "was" if progress.outdated == 1 else "were"
            another = "judged by another tileir than this one: give another file to judge all of them anew"
            print(f"{progress.outdated:,} {verb} {another}")
        if progress.failed:
            print(f"tileir report {harmless(path)}  shows what is wrong with which")
