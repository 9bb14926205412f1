"""The order of the memory operations of a kernel, by tokens alone: the only analysis of it.

Barriers, early loads and split tiles of the engine `triton` use it, and lint.  The sanitizer, and recordings with it,
follow tokens on the path that a launch takes (`execute/sanitizer/events.py`), which is one of the paths here.

A token comes after the operation that defines it and after everything that the operation's token operands come after.
A carried token of a loop comes after the initial one and after the operands of `continue`; a result of `if` after the
yielded ones.  All paths count, whether taken or not: operations reported as unordered are unordered on every path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tileir.annotations import Final
from tileir.dialect.ops import FOR, IF, YIELD
from tileir.dialect.types import TOKEN
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.traits import PURE
from tileir.ir.values import BlockArgument, Value
from tileir.rewrite.matching import carried_sources, ends_of, is_inside

# What a token comes after.
READS: Final = 1
OTHERS: Final = 2  # writes, fences, and accesses that others may see


class TokenOrder:
    """The tokens of one kernel, or of an operation in it."""

    def __init__(self, entry: Operation) -> None:
        self.entry: Operation = entry
        self._ends: dict[tuple[Operation, OperationDeclaration], list[Operation]] = {}
        self._flags: dict[Value, int] | None = None
        # A limit, because many accesses and many tokens would take quadratic time.
        self._steps: int = 1 << 20

    def comes_after(self, later: Operation, earlier: Operation) -> bool | None:
        """Whether tokens order `later` after `earlier`; None if finding out takes too long.

        For an operation in a loop and itself: whether they order an iteration after another one.
        """
        for value in self.all_before(later):
            self._steps -= 1
            if self._steps < 0:
                return None
            if value.defining_operation is earlier:
                return True
        return False

    def always_after(self, later: Operation, earlier: Operation, same_iteration: bool = False) -> bool:
        """Whether tokens order `later` after all times that `earlier` ran before it in the tile block, on every path.

        With `same_iteration`, after the time in the same iteration of the loops around both.
        """
        return _AlwaysAfter(self, later, earlier).holds(same_iteration)

    def ends_of(self, operation: Operation, terminator: OperationDeclaration) -> list[Operation]:
        """`matching.ends_of`, remembered."""
        return self._ends_of(operation, terminator)

    def all_before(self, later: Operation, since: Block | None = None) -> Iterator[Value]:
        """Yield the tokens that an operation comes after, nearest first; with `since`, those defined in this block."""
        # Nearest first, because most operations are ordered after the access before them.
        pending = [value for value in later.operands if value.type is TOKEN]
        seen = set(pending)
        for value in pending:
            if since is not None and not is_inside(_owner(value), since):
                continue
            yield value
            for source in self.before(value):
                if source not in seen:
                    seen.add(source)
                    pending.append(source)

    def before(self, value: Value) -> Iterable[Value]:
        """Return the tokens that a token comes after directly."""
        carried = carried_sources(value, self._ends_of)
        maker = value.defining_operation
        if carried is not None or maker is None:
            return carried or []
        return [operand for operand in maker.operands if operand.type is TOKEN]

    def _ends_of(self, operation: Operation, terminator: OperationDeclaration) -> list[Operation]:
        key = (operation, terminator)
        found = self._ends.get(key)
        if found is None:
            found = self._ends[key] = ends_of(operation, terminator)
        return found

    def after(self, token: Value) -> int:
        """Return what a token comes after: READS, OTHERS, both or nothing."""
        if self._flags is None:
            own: dict[Operation, int] = {}
            for operation in self.entry.walk():
                if not operation.regions and not operation.declaration.traits & PURE:
                    weak = operation.keyword("memory_ordering_semantics") == "weak"
                    reads = operation.declaration.reads and not operation.declaration.writes and weak
                    own[operation] = READS if reads else OTHERS
            self._flags = self.gathered(own)
        return self._flags.get(token, 0)

    def gathered(self, own: dict[Operation, int]) -> dict[Value, int]:
        """Return, by token, the union of the bits of all operations in `entry` that it comes after."""
        tokens: list[Value] = []
        for operation in self.entry.walk():
            tokens.extend([result for result in operation.results if result.type is TOKEN])
            if operation.declaration.is_loop:
                tokens.extend([each for each in operation.regions[0].block.arguments if each.type is TOKEN])
        sources = [(token, list(self.before(token))) for token in tokens]
        found: dict[Value, int] = {}
        for token in tokens:
            maker = token.defining_operation
            found[token] = 0 if maker is None else own.get(maker, 0)
        # Tokens are in program order, so only loops need more than one round.
        changed = True
        while changed:
            changed = False
            for token, earlier in sources:
                bits = found[token]
                for source in earlier:
                    bits |= found.get(source, 0)
                if bits != found[token]:
                    found[token] = bits
                    changed = True
        return found


class _AlwaysAfter:
    """Whether a token comes after the times that one operation ran, on every path.

    The times are told apart by the loops around the operation: those in earlier iterations of one of them (with the
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
        owner = _owner(value)
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
            owner = _owner(value)
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


def _owner(value: Value) -> Operation | None:
    return value.block.parent_operation if isinstance(value, BlockArgument) else value.defining_operation
