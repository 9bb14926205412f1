"""The debugger: a launch that is stopped, looked at, and turned back (docs/debugging.md).

Each module is built on those above it:

    moments     `Moment`: a tile block and a step of it; `Stop`: why the launch stands there
    lines       the lines of the author's text or script, and the operations they begin at
    names       what the author calls the values
    turns       the steps of all tile blocks in the order of time
    values      values in words
    tables      tiles as tables
    functions   what expressions may use of NumPy
    evaluation  computing with it, within bounds
    expressions expressions over tiles, as conditions and what a user asks for
    breakpoints where a launch is to stop
    scouting    a launch that runs ahead, with hooks at some operations
    hooks       those of breakpoints
    course      what is recorded of the launch, as far as the debugger has been, and what the kernel prints
    running     running ahead, and looking back, to the next reason to stop
    touched     what steps read and wrote
    stack       the branch and the loops that a tile block is in
    variables   the values and arrays of a moment
    session     `Debugger`: where the launch is, resuming and stepping, forwards and backwards
    adapter/    the debug adapter protocol over standard input and output or TCP, for editors
    terminal/   the same debugger for a person at a terminal, with gdb's commands

A launch is a function of its program and arguments, so time can run both ways: a moment that was passed is computed
again (`execute/recording`).
"""
