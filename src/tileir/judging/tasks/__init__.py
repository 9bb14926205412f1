"""One candidate and one task: `tileir.judge`, on the steps that sweeps have (docs/tools/judge.md).

settings.py     a task, from its folder; it travels as a part of its reference
input_sets.py   the inputs that a candidate gets
variants.py     contents that find bugs, where the reference can be trusted with them
requirements.py precision and operations, from compiled programs
plans.py        what is done to each candidate
judgment.py    `Judgment`: checks, reason and score from the steps of a verdict
judge.py        `judge`
"""
