"""The debugger of a person at a terminal, with gdb's commands; the console of an editor takes them too.

Begin with `commands` (the table) and `shell` (`Shell`, which carries commands out).  The commands are in
`session_commands`, `breakpoint_commands` and `inspection_commands`; `terminal` has the prompt, completion, the session
and how stops are shown.
"""
