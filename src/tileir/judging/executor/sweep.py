"""`sweep`: judge many programs into a file of results, on this machine or on many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TypeAlias

from tileir.ir.diagnostics import OptionError
from tileir.judging.executor.executors import ChunkExecutor, DaskExecutor, ExecutorSource, ThreadExecutor, UserExecutor
from tileir.judging.executor.scheduler import Scheduler, SweepProgress
from tileir.judging.inputs import Inputs, ProgramSource, References, SeedRange
from tileir.judging.model import OUTCOMES, JudgePlan, SweepInput, Verdict
from tileir.judging.results.results import Results
from tileir.judging.results.store import Store
from tileir.judging.server_pool.pool import judge_chunk
from tileir.judging.tasks.plans import plan_for, present_engines
from tileir.judging.tasks.settings import read_task
from tileir.processors import processors

Source: TypeAlias = "str | os.PathLike[str] | bytes"
"""The path of a Python module, or its source."""


@dataclass(slots=True)
class SweepResult:
    """What a sweep came to: counts, and the file with everything."""

    path: str
    """The file of results."""
    plan: str
    """The digest of the plan, under which the file has the results."""
    progress: SweepProgress
    """As it was at the end."""

    @property
    def outcomes(self) -> dict[str, int]:
        """How many came to which outcome, those that an earlier sweep had judged included."""
        return dict(sorted(self.progress.outcomes.items()))

    @property
    def passed(self) -> bool:
        """Whether all passed."""
        return not self.progress.failed

    def results(self) -> Results:
        """The file of results, opened; close it, or use it in a `with`."""
        return Results(self.path, self.plan)

    def __repr__(self) -> str:
        counts = [f"{count} {outcome}" for outcome, count in self.outcomes.items()]
        return f"<SweepResult {', '.join(counts) or 'nothing judged'}, {self.path}>"


def sweep(
    inputs: ProgramSource | Iterable[ProgramSource] | None = None,
    results: str | os.PathLike[str] = "results.sqlite",
    *,
    seeds: Iterable[int] | SeedRange | None = None,
    plan: JudgePlan | None = None,
    reference: str | os.PathLike[str] | None = None,
    task: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    executor: ExecutorSource | None = None,
    dask: str | None = None,
    retry: Sequence[str] = (),
    fail_fast: bool = False,
    reduce_timeout: float | None = None,
    progress: Callable[[SweepProgress], None] | None = None,
) -> SweepResult:
    """Judge many programs, in confined child processes, and write what comes of them to a file of results.

    `inputs` are paths of programs, directories, archives and Python modules, or modules in memory; `seeds` are those of
    `tileir.smith`.  `plan` is what is done to each; by default it is checked, run on the available backends, and
    their results compared.  `reference` is the Python module that others are judged against, or a directory with one
    for each (docs/guide/judging.md); or `task` is what all of them are candidates for, as `tileir.judge` takes it: then
    `plan` is by default the task's, and the step `judged` of each has its score.  `jobs` of them are judged at once, by
    default one for each processor.

    With `executor`, any of `concurrent.futures` or one like it, the work is done by its workers; give a function that
    makes one, and one that breaks is replaced.  `dask` is the address of the scheduler of a Dask cluster.

    What the file has is not judged again, so a sweep that was interrupted goes on when it is called again; `retry`
    names outcomes that are judged again all the same.  `fail_fast` ends it at the first failure.
    With `reduce_timeout`, each kind of failure that has no reproducer yet is reduced to a small program, in at most
    that time and on this machine.  `progress` is called several times in a second with what is in the file.

    >>> tileir.sweep("examples/vector_add.mlir", "results.sqlite", jobs=1)
    <SweepResult 1 passed, results.sqlite>
    """
    # Judging needs NumPy: without it, this import raises an error with the command that installs it.
    import_module("tileir.execute.launching.kernel")
    if inputs is None and seeds is None:
        raise OptionError("there is nothing to judge: give inputs, or seeds")
    for outcome in retry:
        if outcome not in OUTCOMES:
            raise OptionError(f"'{outcome}' is no outcome: use {', '.join(OUTCOMES)}")
    if executor is not None and dask is not None:
        raise OptionError("give an executor or the address of a Dask cluster, not both")
    if jobs is not None and jobs < 1:
        raise OptionError(f"jobs={jobs}: give a number from 1 on")
    references = References(reference)
    if task is not None:
        if reference is not None:
            raise OptionError("give a task or a reference, not both")
        files = read_task(task)
        plan = plan if plan is not None else plan_for(files.settings)
        references = References(None, files.with_seed(None))
    plan = plan if plan is not None else JudgePlan(backends=present_engines())
    seeds = seeds if seeds is None or isinstance(seeds, SeedRange) else SeedRange(seeds)
    found = Inputs(inputs if inputs is not None else [], seeds, references)
    path = os.fspath(results)
    workers: ChunkExecutor
    if executor is not None:
        workers = UserExecutor(executor, jobs)
    else:
        workers = ThreadExecutor(jobs or processors()) if dask is None else DaskExecutor(dask, jobs)
    is_done = False
    try:
        with Store(path) as store:
            store.begin(plan)
            scheduler = Scheduler(found, store, plan, workers, retry, progress, fail_fast)
            is_done = scheduler.run()
    finally:
        workers.close(is_done)
    if reduce_timeout is not None and is_done:
        # Imported here: few sweeps need it.
        from tileir.judging.reductions import reduce_failures

        reduce_failures(path, plan, seconds=reduce_timeout, jobs=jobs or processors())
    return SweepResult(path, plan.digest, scheduler.progress)


def judge_kernels(module: Source, *, reference: Source | None = None, plan: JudgePlan | None = None) -> Verdict:
    """Judge a Python module with kernels as a sweep does: in confined child processes, against a reference.

    Both are paths, or the bytes of a source; without `reference` the module is its own.  `plan` is what is done
    besides running and comparing (docs/guide/judging.md).  Whatever the module does, there is a verdict.
    """
    name = "module.py" if isinstance(module, bytes) else os.fspath(module)
    item = SweepInput(name, "kernels", source_of(module), b"" if reference is None else source_of(reference))
    return judge_chunk([item], plan if plan is not None else JudgePlan())[0]


def source_of(source: Source) -> bytes:
    """The source of a module."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, str) and "\n" in source:
        raise TypeError("the source of a module was given where the path of a file belongs: pass source.encode()")
    with open(source, "rb") as file:
        return file.read()
