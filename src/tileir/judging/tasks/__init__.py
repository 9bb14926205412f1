"""One candidate and one task: `tileir.judge`, on the steps that sweeps have (docs/tools/judge.md).

settings.py     a task, from its folder; it travels as a part of its reference
input_sets.py   the inputs that a candidate gets
judge.py        `judge`
judgement.py    `Judgement`: checks, reason and score from the steps of a verdict
"""
