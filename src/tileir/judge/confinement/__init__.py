"""What a child process may not do, and what keeps it from doing so: docs/judging.md says what is in force where.

limits.py        resource limits of the system
linux.py         calls of the Linux kernel, through ctypes
landlock.py      files that it may read and write
system_calls.py  system calls that it may make: one table
seccomp.py       the filter that is made of that table
attempts.py      what it tried last, for messages
descendants.py   the end of all processes that a child has started
confine.py       all of it, for this process
"""
