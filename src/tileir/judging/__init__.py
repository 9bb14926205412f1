"""Many programs judged: each in a sandboxed child process, on this machine or on many, into one file of results.

model.py             what is judged (`SweepInput`), what is done to it (`JudgePlan`, `ProcessLimits`), and the `Verdict`
inputs.py            files, directories, archives and seeds as items (archives.py: hostile ones too)
executor/            `sweep`: chunks of items handed to threads, an executor or a cluster
server_pool/         `judge_chunk`: a server process for each thread, and the children that it forks (tileir.processes)
verdicts/            the steps of a program, as a child does them, and what failures mean
kernels/             the steps of a Python module with kernels
results/             the file of results, written and read; report/: reports on it; reductions.py: small reproducers

Items, plans and verdicts are plain values: they are pickled to other processes and machines, and written to the file.
Begin with executor/sweep.py, then server_pool/server.py and verdicts/programs.py.
"""
