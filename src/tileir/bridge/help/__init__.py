"""Help for the most frequent errors of people and models in kernels of cuTile and Triton.

The compilers report what they could not do, and the sanitizer what went wrong.  Help adds why, and the corrected line.

source.py     a line of a script, the kernel around it, and corrections: functions from it to changed lines
table.py      `Mistake`: the message of an error, why it is one, and a correction; `help_for` looks one up
cutile.py     the errors of cuTile's compiler
triton.py     those of Triton's compiler
launches.py   those of launches: grids, arguments, decorators
findings.py   those that the sanitizer finds
"""
