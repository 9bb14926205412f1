"""Help for the mistakes that people and models make most in kernels of cuTile and Triton.

The compilers report what they could not do, and the sanitizer what went wrong.  Help adds why, and the corrected line.

source.py     a line of a script, the kernel around it, and corrections: functions from it to changed lines
table.py      `Mistake`: the message of an error, why it is one, and a correction; `help_for` looks one up
cutile.py     the mistakes that cuTile's compiler refuses
triton.py     those that Triton's compiler refuses
launches.py   those of launches: grids, arguments, decorators
findings.py   those that the sanitizer finds
"""
