"""Python modules with cuTile kernels, judged against a reference (docs/judging_kernels.md).

What each child process does; none of them trusts what an earlier one left, and the candidate's runs before there are
any expected results to be found:

    making.py     1. the reference's module makes the inputs
    running.py    2. the candidate's module computes with them; what it launches is kept (launches.py)
    expecting.py  3. the reference's module computes what is expected of them
    comparing.py  4. results against what is expected: no foreign code has run in this process
    programs.py   5. the launched kernels as programs: check, optimize, engines, sanitizer, targets, cost, speed

    reproducing.py   what was launched, as programs that state their launches, for reductions

    judging.py    the five in order: steps of a verdict
    protocol.py   what a module has to have, by the conventions of several suites
    warming.py    what children need, imported once by the process that forks them
    loading.py    a module from its source; what goes wrong in it, at its lines
    carried.py    inputs and results as bytes, from one process to another; foreign_files.py reads them with care
    tolerances.py how far off a result may be
    fresh_memory.py  what memory holds that nobody has written to
    origins.py    where results come from: notes on what a module lets others compute
    pairing.py    which reference belongs to a file
    direct.py     one module judged from Python, without a sweep
"""
