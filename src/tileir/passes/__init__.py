"""Passes and pipelines.

Begin with `registry.py`, which says what a pass is, and `pipeline.py`, which runs passes by name, text or optimization
level.  `catalog.py` lists all passes.  Each is a plain function in a file that begins with its model:

* `canonicalize.py` (with fuse-fma), `cse.py`, `licm.py`, `loop_split.py`: optimizations;
* `legalize.py`, `downlevel.py`: programs for NVIDIA's tools and for older versions, on `expansions.py`;
* `debug_info.py`: debug scopes, stripped locations, renamed symbols.

`emit.py` creates operations for passes that expand others.
"""

from __future__ import annotations

from tileir.public import publish

publish(
    __name__,
    {
        "tileir.ir.core": "InsertionPoint",
        "tileir.passes.catalog": "register_pass registered_passes",
        "tileir.passes.pipeline": "PassReport run_pipeline",
        "tileir.passes.registry": "Pass PassSession",
        "tileir.rewrite.driver": "Fold Pattern Statistics apply_greedily",
        "tileir.rewrite.fact": "Fact",
        "tileir.rewrite.facts": "Facts",
        "tileir.rewrite.rewriter": "Rewriter",
    },
)
