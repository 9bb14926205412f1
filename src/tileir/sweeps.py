"""Judge many programs: what `tileir.sweep` takes and returns, and reports about it (docs/tools/sweep.md)."""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {
        "tileir.judge.executor.scheduler": "SweepProgress",
        "tileir.judge.executor.sweep": "SweepResult judge_kernels",
        "tileir.judge.inputs": "SeedRange",
        "tileir.judge.model": "JudgePlan JudgeStage ProcessLimits SweepInput Verdict",
        "tileir.judge.report.comparison": "SweepComparison",
        "tileir.judge.report.reporting": "SweepReport report",
        "tileir.judge.results.results": "ResultRow Results",
    },
)
