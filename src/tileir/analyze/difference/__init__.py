"""Two programs side by side: which operations of one are those of the other, and what is different about them.

    matching.py    pairs of functions, and function by function of operations and values
    programs.py    both programs with these pairs, and the names of their values
    changes.py     what is different: removed, added, moved, changed, renamed; and in one sentence
    listing.py     the lines of both in rows, side by side or unified
    semantic.py    both run on the same arguments: what they compute differently
    difference.py  `diff` and `ProgramDifference`

Each imports only those above it.
"""
