"""Two programs side by side: which operations of one are those of the other, and what is different about them.

    symbols.py     pairs of functions and globals
    keys.py        numbers for what an operation is, what it is computed from and what becomes of it
    matching.py    pairs of operations and of values, function by function
    names.py       what values are called: by the author, and the same in both programs
    changes.py     what is different: removed, added, moved, changed, renamed
    summary.py     changes in one sentence
    listing.py     the lines of both, in rows
    rendering.py   rows as text: side by side, or as diff -u writes them
    tracking.py    both run in the interpreter: the first value that is another one
    semantic.py    both run on the same arguments: what they compute differently
    difference.py  `diff` and `ProgramDifference`

Each imports only those above it.
"""
