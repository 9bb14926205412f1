"""Chains of products (`lowering.chains`) whose tiles are loaded through pointers.

The pointers have to be counted up by as much from element to element and from turn to turn, as far as the program says;
its scalars decide whether the tiles lie side by side then, and whether all of them lie in their arrays.  Where they do
not, the loop runs as it is: so what is outside is found where the program accesses it.
"""

from __future__ import annotations

from typing import Final

import numpy

from tileir.dialect.ops import FOR, JOIN_TOKENS, MAKE_TOKEN
from tileir.execute.analysis.values import is_scalar, is_tile
from tileir.execute.cpu.loops.affine import Forms, Path, is_scalar_step
from tileir.execute.cpu.loops.expressions import Gathered
from tileir.execute.cpu.loops.statements import Alias, Chain, Let, Memo, Multiply, Repeat, Terminator, memo_slots
from tileir.execute.cpu.lowering.context import Lowering, source_of
from tileir.ir.types import TF32
from tileir.ir.values import BlockArgument

KEYS: Final = 6
"""What packed operands are found by (`emission.pointer_chains`)."""
_TOKENS: Final = (MAKE_TOKEN, JOIN_TOKENS)


def chained_through_pointers(lowering: Lowering, loop: Repeat, length: int, largest: int) -> Chain | None:
    """The loop as a chain of products, about so many terms at once and no more packed bytes than the largest; None
    where it is none."""
    operation = loop.operation
    if operation.declaration is not FOR or operation.unsigned_cmp:
        return None
    product = _only_product(loop)
    if product is None or product.plan.kind != "fma" or product.scales or product.zero_init:
        return None
    plan, lhs, rhs = product.plan, product.lhs, product.rhs
    if not isinstance(lhs, Gathered) or not isinstance(rhs, Gathered) or len(lhs.shape) != 2 or product.left is None:
        return None
    if lhs.dtype != plan.lhs_dtype or rhs.dtype != plan.rhs_dtype or TF32 in (lhs.element, rhs.element):
        return None
    if not lowering.is_never_written(lowering.origins.provenance(source_of(rhs))):
        return None
    forms = Forms(operation)
    right = forms.path(rhs)
    depends_on = [*forms.leaves]
    left = forms.path(lhs)
    if left is None or right is None or not _carries_nothing_else(loop, product, forms):
        return None
    if any(forms.scalar(bound) is None for bound in operation.operands[:3]):
        return None
    tiles = max(min(length // plan.k, largest // plan.packed_bytes), 1)
    size = tiles * plan.packed_bytes
    if size > largest:
        return None
    slots = memo_slots(size)
    panels = lowering.new_buffer(plan.rhs_dtype, slots * tiles * plan.packed_elements)
    tags = lowering.new_buffer(numpy.dtype(numpy.int64), (KEYS + 2) * slots)
    panels.persistent = tags.persistent = True
    product.left.count = plan.m * tiles * plan.k
    paths: tuple[Path, Path] = (left, right)
    return Chain(loop, product, tiles, Memo(depends_on, slots, panels, tags), paths=paths)


def _only_product(loop: Repeat) -> Multiply | None:
    """What a loop multiplies, where it does nothing else but count."""
    found: Multiply | None = None
    for statement in loop.body[:-1]:
        if isinstance(statement, Multiply):
            if found is not None:
                return None
            found = statement
        elif isinstance(statement, Let):
            if not is_scalar_step(statement.operation) and statement.operation.declaration not in _TOKENS:
                return None
        elif not isinstance(statement, Alias):
            return None
    return found if loop.body and isinstance(loop.body[-1], Terminator) else None


def _carries_nothing_else(loop: Repeat, product: Multiply, forms: Forms) -> bool:
    """Whether a loop carries the sum, tokens, and numbers that each turn moves by as much."""
    block = loop.operation.regions[0].blocks[0]
    end = block.last
    if end is None:
        return False
    for argument, following in zip(block.arguments[1:], end.operands, strict=True):
        if argument is product.operation.operands[2]:
            if following is not product.operation.results[0]:
                return False
        elif is_tile(argument) or (is_scalar(argument) and not _is_moved(argument, forms)):
            return False
    return any(argument is product.operation.operands[2] for argument in block.arguments[1:])


def _is_moved(argument: BlockArgument, forms: Forms) -> bool:
    """Whether each turn adds the same scalar to a carried one."""
    step = forms.step_of(argument)
    return step is not None and step.kind in ("constant", "scalar")
