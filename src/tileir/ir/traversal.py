"""Orders in which the operations of a program are visited; none of them recurses, because programs may nest deeply."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.core import Operation

# How deep regions are read from text and from bytecode.  Every level of a text is indented further than the one around
# it, so what is printed grows with the square of the depth; NVIDIA's tools take 5,000 levels and crash on 6,000.
DEEPEST_REGION: Final = 6000


def post_order(root: Operation) -> list[Operation]:
    """All operations inside `root`, each after what it contains, and `root` itself last."""
    found: list[Operation] = []
    # An operation is opened (its contents are put on the stack), and listed when it is met again.
    stack: list[tuple[Operation, bool]] = [(root, False)]
    while stack:
        operation, opened = stack.pop()
        if opened or not operation.regions:
            found.append(operation)
            continue
        stack.append((operation, True))
        for region in reversed(operation.regions):
            for block in reversed(region.blocks):
                cursor = block.last
                while cursor is not None:
                    stack.append((cursor, False))
                    cursor = cursor.previous
    return found


def pre_order(root: Operation) -> list[Operation]:
    """`root` and all operations inside it, each before what it contains."""
    found: list[Operation] = []
    stack: list[Operation] = [root]
    while stack:
        operation = stack.pop()
        found.append(operation)
        for region in reversed(operation.regions):
            for block in reversed(region.blocks):
                cursor = block.last
                while cursor is not None:
                    stack.append(cursor)
                    cursor = cursor.previous
    return found


def is_function(operation: Operation) -> bool:
    """Whether an operation is a kernel or another function."""
    return "function_type" in operation.declaration.inherent


def functions(root: Operation) -> list[Operation]:
    """The functions in `root` (`root` itself if it is one), in program order."""
    if is_function(root):
        return [root]
    found: list[Operation] = []
    stack: list[Operation] = [root]
    while stack:
        operation = stack.pop()
        if is_function(operation):
            found.append(operation)
            continue
        for region in reversed(operation.regions):
            for block in reversed(region.blocks):
                cursor = block.last
                while cursor is not None:
                    if cursor.regions:
                        stack.append(cursor)
                    cursor = cursor.previous
    return found
