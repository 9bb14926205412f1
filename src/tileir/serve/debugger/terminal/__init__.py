"""The debugger of a person at a terminal, with gdb's commands; the console of an editor takes them too.

Begin with `shell` (`Shell`, which carries commands out).  Commands are methods of classes that derive from it, in
`breakpoint_commands`, `inspection_commands` and `session_commands`; `terminal` has the prompt, completion, the session
and how stops are shown.
"""
