"""`compile` and launches: what all engines share.

kernel.py               `compile` and `Kernel`; begin here
entries.py              the kernels of a module, and grids
options.py              the options of a launch, checked
timing.py               how long launches take
torch_compiler.py       keeps `torch.compile` from tracing launches
release.py              `release_memory`
"""
