"""Loops whose product adds to the same sum in every iteration, as those of a matrix product do.

    loop: A = A + X[i] * Y[i]

The next product may start before the last one is done: tensor cores work on them one after the other.  So each is
waited for one iteration later, and its buffers are free then.
"""

from __future__ import annotations

import re
from typing import Final

from tileir.execute.gpu.triton.ttgir.copies import Copies, Copy
from tileir.execute.gpu.triton.ttgir.text import Loop, Statement

PROMOTION: Final = re.compile(r"maxNumImpreciseAcc = (\d+) : i32")
_NEVER: Final = 1 << 30


def promoted_after(product: Statement) -> int:
    """After how many elements of K a product of f8 is added to sums with all bits; 0 for never."""
    found = PROMOTION.search(product.text)
    most = int(found[1]) if found is not None and "xf8E" in product.text else 0
    return most if most < _NEVER else 0


class Chain:
    """The parts of such a loop."""

    def __init__(self, product: Statement, wait: Statement, sum_number: int, copies: list[Copy]) -> None:
        self.product: Final = product
        self.wait: Final = wait
        self.sum_number: Final = sum_number
        """Which carried value is the sum."""
        self.copies: Final = copies
        """All that the loop loads."""


def chain_of(loop: Loop, copies: Copies) -> Chain | None:
    """How a loop is such a one; None if it is not."""
    body = [each for each in loop.body if each not in copies.dropped]
    products = [each for each in body if each.name == "ttng.warp_group_dot"]
    waits = [each for each in body if each.name == "ttng.warp_group_dot_wait"]
    if len(products) != 1 or len(waits) != 1 or any(isinstance(each, Loop) for each in body):
        return None
    product, wait = products[0], waits[0]
    if promoted_after(product):
        return None
    total = product.operands()[2]
    if wait.operands()[0] != product.result or total not in loop.carried:
        return None
    number = loop.carried.index(total)
    if loop.yielded[number] != wait.result or loop.yielded.count(wait.result) != 1:
        return None
    others = [each for each in body if each is not product and each is not wait]
    used = {use for each in others for use in each.uses()} | set(product.operands()[:2])
    if used & {total, product.result, wait.result} or total in loop.yielded:
        return None
    loaded = [copies.of[each] for each in body if each in copies.of]
    # What is read by anything but the product is free by then, too.
    if any(copy.last_use is not wait for copy in loaded):
        return None
    return Chain(product, wait, number, loaded)
