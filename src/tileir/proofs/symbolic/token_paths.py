"""Whether tokens order two operations on every path; `execute.analysis.token_order` has the order on some path."""

from __future__ import annotations

from tileir.dialect.ops import FOR, IF, YIELD
from tileir.dialect.types import TOKEN
from tileir.execute.analysis.token_order import TokenOrder, owner_of
from tileir.ir.core import Operation
from tileir.ir.values import BlockArgument, Value
from tileir.rewrite.matching import carried_sources, is_inside


def always_after(order: TokenOrder, later: Operation, earlier: Operation, same_iteration: bool = False) -> bool:
    """Whether tokens order `later` after all times that `earlier` ran before it in the tile block, on every path.

    With `same_iteration`, after the time in the same iteration of the loops around both.
    """
    return _AlwaysAfter(order, later, earlier).holds(same_iteration)


class _AlwaysAfter:
    """Whether a token comes after the times that one operation ran, on every path.

    The times are distinguished by the loops around the operation: those in earlier iterations of one of them (with the
    loops around it in the same iteration), and those in the current iteration of all loops that are also around the
    token.  A question names the loop, or None for the current iteration.
    """

    def __init__(self, order: TokenOrder, later: Operation, earlier: Operation) -> None:
        self._order: TokenOrder = order
        self._later: Operation = later
        self._earlier: Operation = earlier
        self._loops: list[Operation] = _loops_around(earlier)
        # What holds unless one of its sources does not: tokens of loops are their own sources.
        self._assumed: dict[tuple[Value, Operation | None], bool] = {}
        self._false: dict[tuple[Value, Operation | None], bool] = {}

    def holds(self, same_iteration: bool) -> bool:
        around = _loops_around(self._later)
        questions: list[Operation | None] = []
        if not same_iteration:
            questions.extend([loop for loop in self._loops if loop in around])
        if self._later is not self._earlier and self._is_first():
            questions.append(None)
        tokens = [operand for operand in self._later.operands if operand.type is TOKEN]
        common = len([loop for loop in self._loops if loop in around])
        for question in questions:
            while True:
                known = len(self._false)
                self._assumed = {}
                found = False
                for token in tokens:
                    found = found or self._is_after(token, question, common)
                if len(self._false) == known:
                    break
            if not found:
                return False
        return True

    def _is_first(self) -> bool:
        """Whether the earlier operation stands before the later one."""
        for operation in self._order.entry.walk():
            if operation is self._earlier:
                return True
            if operation is self._later:
                return False
        return False

    def _is_after(self, value: Value, question: Operation | None, depth: int) -> bool:
        """The answer for a token that is used within `depth` of the loops around the earlier operation."""
        owner = owner_of(value)
        around = _loops_around(owner) if owner is not None else []
        if isinstance(value, BlockArgument) and owner is not None and owner.declaration.is_loop:
            around.append(owner)
        inside = len([loop for loop in self._loops if loop in around])
        if question is None and inside < depth:
            # It was there before the current iteration began.
            return False
        if question is not None and question not in around:
            return False
        key = (value, question)
        if key in self._false:
            return False
        if key in self._assumed:
            return True
        self._assumed[key] = True
        found = self._follows(value, question, inside)
        if not found:
            self._false[key] = False
        return found

    def _both(self, values: list[Value], loop: Operation, depth: int) -> bool:
        """Whether all come after the current iteration of a loop and after the earlier ones."""
        for value in values:
            if not self._is_after(value, None, depth) or not self._is_after(value, loop, depth):
                return False
        return True

    def _all(self, values: list[Value], question: Operation | None, depth: int) -> bool:
        for value in values:
            if not self._is_after(value, question, depth):
                return False
        return True

    def _follows(self, value: Value, question: Operation | None, depth: int) -> bool:
        sources = carried_sources(value, self._order.ends_of)
        maker = value.defining_operation
        if sources is None:
            if maker is None:
                return False
            if maker is self._earlier and question is None:
                return True
            for operand in maker.operands:
                if operand.type is TOKEN and self._is_after(operand, question, depth):
                    return True
            return False
        if maker is None:
            owner = owner_of(value)
            if owner is None or owner not in self._loops:
                return self._all(sources, question, depth)
            if question is None:
                return False
            # Before the first iteration of this entry into the loop it did not run in one.
            return self._both(sources[1:], owner, depth) if question is owner else self._all(sources, question, depth)
        if maker.declaration is IF:
            if question is None and maker.is_ancestor_of(self._earlier):
                # In the other branch it did not run.
                ends = [end for end in self._order.ends_of(maker, YIELD) if _is_in_branch(self._earlier, end)]
                sources = [end.operands[value.index] for end in ends]
            return len(sources) > 0 and self._all(sources, question, depth)
        if question is None and maker in self._loops:
            # Where no iteration runs, the operation does not run either.
            ended = sources[1:] if maker.declaration is FOR else sources
            return len(ended) > 0 and self._both(ended, maker, depth + 1)
        return len(sources) > 0 and self._all(sources, question, depth)


def _is_in_branch(operation: Operation, end: Operation) -> bool:
    """Whether an operation is in the block that a terminator ends."""
    block = end.parent
    return block is not None and is_inside(operation, block)


def _loops_around(operation: Operation) -> list[Operation]:
    """The loops around an operation, the outermost first."""
    found: list[Operation] = []
    owner = operation.parent_operation
    while owner is not None:
        if owner.declaration.is_loop:
            found.append(owner)
        owner = owner.parent_operation
    found.reverse()
    return found
