"""The debugger: a launch that is stopped, inspected, and run forwards and backwards (docs/tools/debug.md).

Begin with `session`: `Debugger` has everything that users can do, and returns data.  `terminal/` (gdb's commands) and
`adapter/` (the debug adapter protocol) show it.  Each module is built on those above it:

    stops        `Position`: a tile block and a step of it; `Stop`: why the launch stands there
    source_lines the lines of the author's text or script, and the operations they begin at
    value_names  what the author calls the values
    values       values and accesses as text
    expressions  expressions over tiles, in NumPy's terms
    history      what is recorded of the launch, in the order of time; the branch and the loops a tile block is in
    inspection   `Inspection`: stack, values, variables and arrays at a position
    breakpoints  where a launch stops
    hooks        hooks of breakpoints at operations, and the observers that run them while a launch runs ahead
    search       running ahead, or looking back, to the next reason to stop
    session      `Debugger`
    launches     the launches of a script, programs in files
    scripts      `tileir.debug`

A launch is a function of its program and arguments, so time can run both ways: a position that was passed is computed
again (`execute/recording`).
"""
