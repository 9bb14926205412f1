"""Running programs.

    launching/, engine/, arguments/   `compile` and `Kernel`, the interface of an engine, arguments; begin here
    interpreter/, cpu/, gpu/          the engines
    arithmetic/, analysis/, work/     the arithmetic of the dialect, facts about a kernel, counted work
    observing/, sanitizer/, recording/  observers of a launch, error checks, recorded launches
    locations/, cache/                source locations and messages, compiled code on disk

`dtypes.py` defines tile values, `memory.py` the memory that a launch sees, `errors.py` the errors, `schedule.py` the
order of tile blocks.
"""
