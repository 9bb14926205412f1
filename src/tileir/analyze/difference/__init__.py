"""Two programs side by side: which operations of one are those of the other, and what is different about them.

    symbols.py     pairs of functions and globals
    keys.py        numbers for what an operation is, what it is computed from and what it is used for
    matching.py    pairs of operations and of values, function by function
    names.py       the names of values: by the author, and the same in both programs
    changes.py     what is different: removed, added, moved, changed, renamed; and in one sentence
    listing.py     the lines of both in rows, side by side or unified
    semantic.py    both run on the same arguments: what they compute differently
    difference.py  `diff` and `ProgramDifference`

Each imports only those above it.
"""
