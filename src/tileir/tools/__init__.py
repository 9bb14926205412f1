"""The command line.

`commands.py` has the table of commands.  Each is a file with its options (`USAGE`) and its work (`run`), in the folder
of its group in the help: `cutile/`, `programs/`, `bytecode/`, `testing/`, `more/`.  `drop_in/` stands in for NVIDIA's
tools.  Read `arguments.py` (command lines) and `command.py` (how work ends: messages, statuses), then what commands
share: `options.py`, `input.py`, `output.py`, `launches.py`, `scripts.py` (of cuTile), `guard.py` (code in a child).
A function imports what few command lines need: starting is most of what a short command does.
"""
