# Written by `make docs` from `tileir/public.py`.
# ruff: noqa
# fmt: off
from tileir.judging.executor.scheduler import SweepProgress as SweepProgress
from tileir.judging.executor.sweep import SweepResult as SweepResult, judge_kernels as judge_kernels
from tileir.judging.inputs import SeedRange as SeedRange
from tileir.judging.model import JudgePlan as JudgePlan, JudgeStage as JudgeStage, ProcessLimits as ProcessLimits, SweepInput as SweepInput, Verdict as Verdict
from tileir.judging.report.comparison import SweepComparison as SweepComparison
from tileir.judging.report.reporting import SweepReport as SweepReport, report as report
from tileir.judging.results.results import ResultRow as ResultRow, Results as Results
from tileir.judging.tasks.judgment import JudgeCheck as JudgeCheck, Judgment as Judgment

__all__ = ["JudgeCheck", "JudgePlan", "JudgeStage", "Judgment", "ProcessLimits", "ResultRow", "Results", "SeedRange", "SweepComparison", "SweepInput", "SweepProgress", "SweepReport", "SweepResult", "Verdict", "judge_kernels", "report"]
