"""Dead code: what nothing uses and what has no effect goes, and then what only it used.

The model.  Operations are visited against program order, so users come before what they use and one visit is enough.
An operation with regions that is itself dead goes with all it contains; otherwise its contents are visited.  What has
an effect is told by the declarations (rewrite/dead.py): loads, assumptions and terminators stay.
"""

from __future__ import annotations

from tileir.ir.core import Operation
from tileir.rewrite.dead import DeadCode, remove_dead


def run(root: Operation) -> int:
    """Remove dead operations inside `root`; gives the number of operations removed, not counting what they contain."""
    return remove_dead(root, DeadCode())
