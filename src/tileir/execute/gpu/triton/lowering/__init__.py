"""From tile programs to TTIR, operation by operation; begin with `lower.py`, which has the table of operations.

ttir_values.py, ttir_builder.py   values, types and the text of TTIR
context.py      the state of lowering, and which accesses need a barrier before them; control.py: control flow
elementwise.py  the table of elementwise operations, and integers; floats.py, conversions.py
constants.py, shapes.py, reductions.py   operations on whole tiles, matmuls among them
accesses.py     where the tile of an access lies, and the addresses of its elements
memory.py       loads and stores, by TMA or addresses; atomics.py: atomics and accesses with a memory order
printing.py     prints and asserts
"""
