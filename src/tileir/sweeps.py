"""Judge many programs: what `tileir.sweep` takes and returns, and reports about it (docs/tools/sweep.md).

>>> from tileir.sweeps import JudgePlan, ProcessLimits, SeedRange, SweepInput, judge_kernels, report
>>> plan = JudgePlan(backends=("interpreter",), limits=ProcessLimits(seconds=60))
>>> program = SweepInput("add.mlir", "program", str(module).encode())
>>> heard, seeds = [], SeedRange(range(1))
>>> result = tileir.sweep([program], "results.sqlite", seeds=seeds, plan=plan, jobs=1, progress=heard.append)
>>> result, judge_kernels("examples/judged/softmax_broken.py", plan=plan).outcome
(<SweepResult 2 passed, results.sqlite>, 'failed')
>>> results, found = result.results(), report("results.sqlite")
>>> row = next(results.rows())
>>> parts = [heard[0], result, results, row, row.verdict, row.verdict.steps[0], found, found.compare(found)]
>>> judgment = tileir.judge("examples/judged/softmax", "examples/judged/softmax_cheating.py", seed=1)
>>> parts += [judgment, judgment["kernels"]]
>>> print(*[type(part).__name__ for part in parts])
SweepProgress SweepResult Results ResultRow Verdict JudgeStage SweepReport SweepComparison Judgment JudgeCheck
>>> judgment
<Judgment cheat:no-kernel, score 0.00>
"""

from tileir.public import publish

publish(__name__)
