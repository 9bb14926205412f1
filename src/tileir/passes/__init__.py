"""Passes and pipelines.

Begin with `registry.py`, which defines a pass, and `pipeline.py`, which runs passes by name, text or optimization
level.  `catalog.py` lists all passes.  Each is a plain function in a file that begins with its model:

* `canonicalize.py` (with fuse-fma), `cse.py`, `licm.py`, `loop_split.py`: optimizations;
* `legalize.py`, `downlevel.py`: programs for NVIDIA's tools and for older versions, on `expansions.py`;
* `debug_info.py`: debug scopes, stripped locations, renamed symbols.

`emit.py` creates operations for passes that expand others.

>>> from tileir.declarations import ADDI, MULI
>>> from tileir.passes import Fact, Facts, Fold, Pass, PassReport, PassSession, Pattern, Rewriter, Statistics
>>> from tileir.passes import InsertionPoint, apply_greedily, register_pass, registered_passes, run_pipeline
>>> def double(operation: tileir.Operation, rewriter: Rewriter) -> bool:
...     left, right = operation.operands
...     if left is right:
...         rewriter.replace(operation, [rewriter.builder().muli(left, 2)])
...     return left is right
>>> def times_one(operation: tileir.Operation) -> list[tileir.Value] | None:
...     fact: Fact = Facts().fact(operation.operands[1])
...     return [operation.operands[0]] if fact.value == 1 else None
>>> rules = [Pattern("double", ADDI, double)], [Fold("times-one", MULI, times_one)]
>>> apply_greedily(module, *rules, statistics=Statistics())
True
>>> def run(root: tileir.Operation, options: dict[str, str], session: PassSession) -> int:
...     return int(apply_greedily(root, *rules, statistics=session.statistics))
>>> report = PassReport()
>>> tileir.run_passes(module, [Pass("strength", "write sums as products", run), "cse"], report=report) is module
True
>>> run_pipeline(module, "builtin.module(cuda_tile.module(canonicalize))", report=report) is module
True
>>> print(*[each.name for each in report.runs])
strength cse canonicalize
"""

from tileir.public import publish

publish(__name__)
