"""Running programs.

    launching/, engine/, arguments/   `compile` and `Kernel`, the interface of an engine, arguments; begin here
    interpreter/, cpu/, gpu/          the engines
    arithmetic/, analysis/, work/     the arithmetic of the dialect, facts about a kernel, counted work
    observing/, sanitizer/, recording/  watching a launch, finding errors, asking for any tile and access
    locations/, cache/                source locations and messages, compiled code on disk

`dtypes.py` says what a tile value is, `memory.py` what memory a launch sees, `errors.py` what goes wrong,
`schedule.py` in which order tile blocks run.
"""
