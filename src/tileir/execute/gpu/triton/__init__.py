"""The engine that has Triton compile kernels: tile programs become TTIR, Triton's input language.

code.py         what code is made for, and compiled code with what a launch of it needs
variants.py     the kinds of launches that code is made for; stored_code.py: what the cache keeps
toolchain.py    which Triton is installed, and its targets
program.py      a kernel made ready to be lowered; tile_cuts.py, tile_halves.py: tiles that do not fit, in halves
schedule/       warps, stages and the like: the model and its rules, the search for a faster schedule
lowering/       from tile programs to TTIR; uses schedule
worker/         the process that runs Triton; ttgir/: warp specialization on Triton's own text
compiler.py     a kernel to `Code`, by all of the above: begin here
kernel.py       kernels and their launches, a code for each kind of them
hidden_parameters.py, device_memory.py   what code takes beside arguments; memory for globals, scratch, prints
"""
