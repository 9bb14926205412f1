"""The command line.

`main.py` has the table of commands.  Each is a file with its options (`USAGE`) and its work (`run`), in the folder of
its heading in the help: `programs/`, `kernels/`, `many/`, `help/`.  `drop_in/` stands in for NVIDIA's tools.  Read
`arguments.py` (command lines) and `command.py` (how work ends: messages, statuses), then what commands share:
`options.py`, `input.py`, `output.py`, `launches.py`, `scripts.py` (of cuTile), `guard.py` (native code in a child).
"""
