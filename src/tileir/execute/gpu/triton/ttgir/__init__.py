"""TTGIR, what Triton makes of TTIR: with it, kernels are scheduled in ways that Triton's own passes do not have.

text.py        its text as statements, and back
halves.py      types of half of the rows of a tile
copies.py      the copies by TMA in a kernel, and the buffers for them
rotation.py    loops of two products, rotated
chaining.py    loops of one product, each waited for when the next has started
plan.py        what is known of a kernel, and whether it fits
writing.py     statements written once more
loading.py     the warps that load
computing.py   the warps that compute
specialize.py  all of it: a kernel with warps that load and warps that compute
"""
