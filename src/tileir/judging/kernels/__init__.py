"""Python modules with kernels of cuTile or Triton, judged against a reference (docs/guide/judging.md).

module.py      the child processes of a module in order, and the steps that come of them
runs.py        what children with foreign code do, and what a module has to have, by the conventions of several suites
launches.py    launches watched, and kept with their bytecode and arguments; where results come from
values.py      inputs and results as bytes, from one process to another, read with care
comparison.py  results against what is expected: no foreign code has run in this process
programs.py    the launched kernels as programs: the plan's steps, and programs for reductions

No child trusts what an earlier one left, and the candidate runs before there are any expected results to be found.
"""
