"""What a child process may not do, and what keeps it from doing so: docs/judging.md says what is in force where.

limits.py        resource limits of the system
linux.py         calls of the Linux kernel, through ctypes
descendants.py   the end of all processes that a child has started
confine.py       all of it, for this process
"""
