# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.judge.executor.scheduler import SweepProgress as SweepProgress
from tileir.judge.executor.sweep import SweepResult as SweepResult, judge_kernels as judge_kernels
from tileir.judge.inputs import SeedRange as SeedRange
from tileir.judge.model import JudgePlan as JudgePlan, JudgeStage as JudgeStage, ProcessLimits as ProcessLimits, SweepInput as SweepInput, Verdict as Verdict
from tileir.judge.report.comparison import SweepComparison as SweepComparison
from tileir.judge.report.reporting import SweepReport as SweepReport, report as report
from tileir.judge.results.results import ResultRow as ResultRow, Results as Results

__all__ = ["JudgePlan", "JudgeStage", "ProcessLimits", "ResultRow", "Results", "SeedRange", "SweepComparison", "SweepInput", "SweepProgress", "SweepReport", "SweepResult", "Verdict", "judge_kernels", "report"]
