"""The debugger: a launch that is stopped, looked at, and turned back (docs/debugging.md).

Each module is built on those above it:

    session     `Debugger`: where the launch is, resuming and stepping, forwards and backwards, on a recording of it
    ..          breakpoints, the stack, tiles in words and tables, expressions over tiles
    adapter/    the debug adapter protocol over standard input and output or TCP, for editors
    terminal/   the same debugger for a person at a terminal, with gdb's commands

A launch is a function of its program and arguments, so time can run both ways: a moment that was passed is computed
again (`execute/recording`).
"""
