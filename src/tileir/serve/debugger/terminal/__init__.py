"""The debugger of a person at a terminal, with gdb's commands; the console of an editor takes them too.

Begin with `commands` (the table) and `shell` (`Shell`, which carries commands out).  The commands are in
`run_commands`, `breakpoint_commands`, `data_commands`, `stack_commands` and `support_commands`; `console` has the
prompt and completion, `terminal` the session and how stops are shown.
"""
