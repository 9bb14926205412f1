"""Child processes: start, limit, talk to and end one, and report how it ended.

child.py         `Child`: a fork with its own pipes, watched until it is over
forked.py        `forked`: a copy of this process with its streams, for native code that may crash
time_limit.py    `time_limit`: end work in this process when its time is over
exit_status.py   `ExitStatus`: how a process ended
command.py       `Command`: a program with arguments, limited, and ended with all that it started
messages.py      length-prefixed frames through pipes, and a reader that believes nothing
sandbox.py       `Sandbox`: what a child may do and use, put in force by `confine`; the directory that it may write to
landlock.py      files that it may read and write
seccomp.py       the system-call filter, made of the table in system_calls.py
linux.py         calls of the Linux kernel that Python has no names for

docs/guide/judging.md lists what is in force on which system.
"""
