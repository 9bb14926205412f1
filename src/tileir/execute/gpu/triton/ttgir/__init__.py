"""Warp specialization: changes of TTGIR, the text that Triton makes of TTIR.  Begin with `specialize.py`.

text.py        a parser of the part of TTGIR that is changed
copies.py      the copies by TMA in a kernel, the buffers for them, and types of half of the rows
plan.py        what is known of a kernel, and whether it fits; loops that are rotated
writing.py     the printer: statements written again, with other names and types
computing.py   the warps that compute
specialize.py  the warps that load, and all of it
"""
