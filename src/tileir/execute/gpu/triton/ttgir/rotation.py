"""Loops of two products, as those of attention are, and what it takes to rotate them.

    loop: S = Q * K[i]; P, .. = f(S, ..); A = g(A, ..); A = A + P * V[i]

Its second product needs the first one's result, so that the tensor cores have nothing to do while f is computed.
Rotated, the second product is that of the iteration before, and runs meanwhile:

    S = Q * K[0]; P, .. = f(S, ..); A = g(A, ..)
    loop from 1: start S = Q * K[i]; start A = A + P * V[i - 1]; wait for S; P, .. = f(S, ..); wait for A; A = g(A, ..)
    A = A + P * V[n - 1]

Every number is computed of the same numbers as before, so the results are the same.
"""

from __future__ import annotations

from typing import Final

from tileir.execute.gpu.triton.ttgir.copies import Copies, Copy
from tileir.execute.gpu.triton.ttgir.text import Loop, Statement


class Rotation:
    """The parts of such a loop."""

    def __init__(
        self, products: tuple[Statement, Statement], waits: tuple[Statement, Statement], copies: tuple[Copy, Copy]
    ) -> None:
        self.products: Final = products
        self.waits: Final = waits
        self.copies: Final = copies
        """Of the right operands."""
        self.sum_number: int = 0
        """Which carried value is A."""
        self.beginning: list[Statement] = []
        """What the first product adds to, if that is not nothing."""
        self.middle: list[Statement] = []
        """f, and all else that needs neither product."""
        self.update: list[Statement] = []
        """g."""


def rotation_of(loop: Loop, copies: Copies) -> Rotation | None:
    """How a loop is rotated; None if it is not of this kind."""
    body = [each for each in loop.body if each not in copies.dropped]
    products = [each for each in body if each.name == "ttng.warp_group_dot"]
    waits = [each for each in body if each.name == "ttng.warp_group_dot_wait"]
    inside = [copies.of[each] for each in body if each in copies.of]
    if len(products) != 2 or len(waits) != 2 or len(inside) != 2 or any(isinstance(each, Loop) for each in body):
        return None
    (first, second), (first_wait, second_wait) = products, waits
    rights = [copies.views.get(product.operands()[1]) for product in products]
    if rights != inside or rights[0] is None or rights[1] is None or rights[0] is rights[1]:
        return None
    if first_wait.operands()[0] != first.result or second_wait.operands()[0] != second.result:
        return None
    defined = {value for each in body for value in each.values()} | set(loop.carried) | {loop.counter}
    left, _, start = first.operands()[:3]
    if left in defined or second.operands()[0] not in defined:
        return None
    beginning = _needed_for(start, body)
    total = second_wait.result
    if loop.yielded.count(total) != 1:
        return None
    found = Rotation((first, second), (first_wait, second_wait), (rights[0], rights[1]))
    found.sum_number = loop.yielded.index(total)
    dependent = {loop.carried[found.sum_number]}
    plain = {*products, *waits}
    for each in body:
        if each in plain or each in copies.of:
            continue
        if dependent & each.uses():
            found.update.append(each)
            dependent.update(each.values())
        elif each in beginning:
            found.beginning.append(each)
        else:
            found.middle.append(each)
    # The sum is used for nothing but the next sum, and nothing else needs the second product.
    late = dependent | {total, second.result}
    outside = [each for each in (*found.beginning, *found.middle, first) if each.uses() & late]
    early = {first.result, *first_wait.values()}
    outside += [each for each in found.beginning if each.uses() & early]
    others = {value for number, value in enumerate(loop.yielded) if number != found.sum_number}
    if outside or others & (dependent | {total}) or total in {use for each in found.update for use in each.uses()}:
        return None
    left_of_second, _, sum_of_second = second.operands()[:3]
    if left_of_second in dependent or sum_of_second not in dependent:
        return None
    # In shared memory, what the second product reads would be overwritten by the next iteration's.
    if " : tensor<" not in second.text:
        return None
    return found


def _needed_for(value: str, statements: list[Statement]) -> set[Statement]:
    """The statements that a value is computed by."""
    defined = {result: each for each in statements for result in each.values()}
    found: set[Statement] = set()
    wanted = [value]
    while wanted:
        statement = defined.get(wanted.pop())
        if statement is not None and statement not in found:
            found.add(statement)
            wanted += statement.uses()
    return found
