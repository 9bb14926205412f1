"""From tile programs to TTIR, operation by operation; begin with `lower.py`, which has the table of operations.

context.py      the state of lowering; barriers.py: which accesses need a barrier before them
control.py      structured control flow
elementwise.py  the table of elementwise operations: integers.py, floats.py, functions.py, conversions.py
constants.py, shapes.py, reductions.py, mma.py   operations on whole tiles
accesses.py     where the tile of an access lies; addresses.py: addresses of its elements; descriptors.py: by TMA
memory.py       loads and stores; atomics.py: atomics and accesses with a memory order
printing.py     prints and asserts
"""
