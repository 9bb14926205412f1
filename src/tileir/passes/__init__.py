"""Passes and pipelines.

Begin with `registry.py`, which says what a pass is, and `pipeline.py`, which runs passes by name, text or optimization
level.  `catalog.py` lists all passes.  Each is a plain function in a file that begins with its model:

* `canonicalize.py` (with fuse-fma), `cse.py`, `licm.py`, `loop_split.py`: optimizations;
* `legalize.py`, `downlevel.py`: programs for NVIDIA's tools and for older versions, on `expansions.py`;
* `debug_info.py`: debug scopes, stripped locations, renamed symbols.

`emit.py` creates operations for passes that expand others.
"""
