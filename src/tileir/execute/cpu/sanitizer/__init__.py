"""The sanitizer of the CPU backend: compiled code that checks what it is about to do, and calls Python in doubt.

`sites` says what compiled code and Python share.  `inspection` puts checks in front of operations while they are
lowered, `emitted_checks` emits them.  `report` turns calls into the findings of the interpreter's sanitizer
(`tileir.execute.sanitizer`).
"""
