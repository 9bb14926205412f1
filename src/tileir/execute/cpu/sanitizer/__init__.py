"""The sanitizer of the CPU backend: compiled code that checks each access first, and calls Python in doubt.

`sites` defines what compiled code and Python share.  `inspection` inserts checks in front of operations while they are
lowered, `emitted_checks` emits them.  `report` makes findings from the calls, the same ones as the interpreter's
sanitizer (`tileir.execute.sanitizer`).
"""
