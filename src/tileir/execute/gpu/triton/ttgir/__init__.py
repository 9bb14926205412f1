"""Warp specialization: changes of TTGIR, the text that Triton makes of TTIR.  Begin with `specialize.py`.

text.py        a parser of the part of TTGIR that is changed; types of half of the rows
plan.py        what is known of a kernel: its copies by TMA, buffers for them, loops that are rotated, whether it fits
compute_group.py   the printer: statements written again, with other names and types; the warps that compute
specialize.py  the warps that load, and all of it
"""
