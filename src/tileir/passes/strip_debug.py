"""Forget where the program comes from: every location, of operations and of block arguments, becomes unknown.

Debug scopes are part of locations, so they go with them.  Nothing else of the program changes.
"""

from __future__ import annotations

from tileir.ir.core import Operation
from tileir.ir.location import UNKNOWN, UnknownLocation
from tileir.ir.traversal import pre_order


def run(root: Operation) -> int:
    """Strip `root` and all inside it; gives the number of locations that were known."""
    stripped = 0
    for operation in pre_order(root):
        if not isinstance(operation.location, UnknownLocation):
            operation.location = UNKNOWN
            stripped += 1
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    if not isinstance(argument.location, UnknownLocation):
                        argument.location = UNKNOWN
                        stripped += 1
    return stripped
