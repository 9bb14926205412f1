"""tileir: the toolkit for CUDA Tile IR.

Read, write, check, optimize, explain and run tile programs anywhere.  docs/reference/api.md lists what is here and in
the public modules: `analysis`, `attributes`, `backends`, `costs`, `declarations`, `errors`, `kernels`, `observers`,
`passes`, `recording`, `sanitizer`, `sweeps` and `types`.

Every name exists with nothing installed.  Functions that run programs need NumPy; without it, a call raises an error
with the command that installs it.

>>> module = tileir.parse("entry @k(%x: tile<f32>) { %y = addf %x, %x : tile<f32> return }")
>>> entry, add, _ = list(module.walk())[1:]
>>> parts = [module, entry, entry.body, entry.body.block, add.operands[0], add.result]
>>> [type(part).__name__ for part in parts]
['Module', 'Operation', 'Region', 'Block', 'BlockArgument', 'OperationResult']
>>> isinstance(add, tileir.Operation), isinstance(add.result, tileir.Value)
(True, True)
>>> tileir.Diagnostic("warning", "this is slow", add.location)
-:1:32: warning: this is slow
"""

from __future__ import annotations

# Before anything is imported in one thread while another forks.
from tileir import forking as _forking  # noqa: F401
from tileir import public as _public

__version__ = "0.1.0"

_public.publish(__name__)
