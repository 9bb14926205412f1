"""Modules and programs judged without confinement, with an engine that has planted bugs: the bugs are in this process,
and in those that it forks."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.judging.kernels.forked import in_child
from tests.judging.report.made_results import written
from tests.judging.report.planted_engine import judge_here

from tileir.judging.kernels.module import judge_module
from tileir.judging.model import MODULES, JudgePlan, SweepInput, Verdict, verdict_of
from tileir.judging.results.store import Finished
from tileir.judging.server_pool.pool import request_for
from tileir.judging.server_pool.warm_up import warm_kernels


class PlantedJudge:
    """As `judge_chunk`; notes which kinds of items it was asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, items: list[SweepInput], plan: JudgePlan) -> list[Verdict]:
        self.asked += [item.kind for item in items]
        return [_module(item, plan) if item.kind in MODULES else judge_here([item], plan)[0] for item in items]

    def swept(self, path: Path, plan: JudgePlan, *sources: str) -> str:
        """A file of results with modules."""
        items = [SweepInput(f"{number}.py", "kernels", source.encode()) for number, source in enumerate(sources)]
        verdicts = self(items, plan)
        self.asked.clear()
        return written(path, [Finished(*each) for each in zip(items, verdicts, strict=True)], plan)


def _module(item: SweepInput, plan: JudgePlan) -> Verdict:
    with tempfile.TemporaryDirectory() as scratch:
        request = request_for(item, plan, scratch)
        warm_kernels(())
        return verdict_of(item, judge_module(request.item, plan, scratch, in_child, request.reference))
