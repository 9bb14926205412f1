"""Two programs side by side: which operations of one are those of the other, and what is different about them.

symbols.py    pairs of functions and globals
keys.py       numbers for what an operation is, what it is computed from and what becomes of it
matching.py   pairs of operations and of values, function by function
changes.py    what is different: removed, added, moved, changed, renamed
names.py      what values are called: by the author, and the same in both programs
listing.py    the lines of both, in rows
rendering.py  rows and changes as text: side by side, as a unified difference, in one line
difference.py `diff` and `ProgramDifference`
semantic.py   both run on the same arguments: what they compute differently, and where that begins
"""
