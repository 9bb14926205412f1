"""Which memory operations of a kernel come after which: what tokens say, and nothing else does.

A token comes after the operation that gives it, and after all that the operation's own token comes after; `join_tokens`
comes after all its tokens.  What a loop carries comes after what it starts with and after what a round passes on; what
an `if` gives after what its branches yield.  Paths that may not be taken count: operations that are said to be
unordered are unordered on every path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tileir.annotations import Final
from tileir.dialect.ops import BREAK, CONTINUE, FOR, IF, LOOP, MAKE_TOKEN, YIELD
from tileir.dialect.types import TOKEN
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import PURE
from tileir.ir.values import BlockArgument, OperationResult, Value

# Of what tokens come after.
READS: Final = 1
OTHERS: Final = 2  # writes, fences, and accesses that others may see


class TokenOrder:
    """The tokens of one kernel, or of an operation in it."""

    __slots__ = ("_ends", "_flags", "_steps", "entry")

    def __init__(self, entry: Operation) -> None:
        self.entry: Operation = entry
        self._ends: dict[Operation, dict[object, list[Operation]]] = {}
        self._flags: dict[Value, int] | None = None
        # What may be looked at: a kernel with many accesses of one place and many tokens would take the square of it.
        self._steps: int = 1 << 20

    def comes_after(self, later: Operation, earlier: Operation) -> bool | None:
        """Whether a token leads from one operation to another; None if that takes too long to find out.

        Of an operation in a loop and itself: whether one leads from a round to a later one.
        """
        for value in self.all_before(later):
            self._steps -= 1
            if self._steps < 0:
                return None
            if value.defining_operation is earlier:
                return True
        return False

    def all_before(self, later: Operation, since: Block | None = None) -> Iterator[Value]:
        """All tokens that an operation comes after, the nearest first; `since`: those made in this run of a block."""
        # Most operations are ordered after the access just before them.
        pending = [value for value in later.operands if value.type is TOKEN]
        seen = set(pending)
        for value in pending:
            if since is not None and not _is_made_in(value, since):
                continue
            yield value
            for source in self.before(value):
                if source not in seen:
                    seen.add(source)
                    pending.append(source)

    def before(self, value: Value) -> Iterable[Value]:
        """The tokens that a token comes after directly."""
        if isinstance(value, OperationResult):
            maker = value.operation
            if maker.declaration is IF:
                return [end.operands[value.index] for end in self._ends_of(maker, YIELD)]
            if maker.declaration is LOOP:
                return [end.operands[value.index] for end in self._ends_of(maker, BREAK)]
            if maker.declaration is FOR:
                return [maker.operands[3 + value.index], *self._passed_on(maker, value.index)]
            return [operand for operand in maker.operands if operand.type is TOKEN]
        if isinstance(value, BlockArgument):
            loop = value.block.parent_operation
            if loop is not None and loop.declaration is FOR and value.index:
                return [loop.operands[2 + value.index], *self._passed_on(loop, value.index - 1)]
            if loop is not None and loop.declaration is LOOP:
                return [loop.operands[value.index], *self._passed_on(loop, value.index)]
        return []

    def _passed_on(self, loop: Operation, index: int) -> list[Value]:
        return [end.operands[index] for end in self._ends_of(loop, CONTINUE)]

    def _ends_of(self, operation: Operation, terminator: object) -> list[Operation]:
        found = self._ends.get(operation)
        if found is None:
            found = self._ends[operation] = _ends(operation)
        return found.get(terminator, [])

    def after(self, token: Value) -> int:
        """What a token comes after: READS, OTHERS, both or nothing."""
        if self._flags is None:
            self._flags = self._all_flags()
        return self._flags.get(token, 0)

    def _all_flags(self) -> dict[Value, int]:
        own: dict[Operation, int] = {}
        for operation in self.entry.walk():
            if not operation.regions and not operation.declaration.traits & PURE:
                weak = operation.keyword("memory_ordering_semantics") == "weak"
                reads = operation.declaration.reads and not operation.declaration.writes and weak
                own[operation] = READS if reads else OTHERS
        return self.gathered(own)

    def gathered(self, own: dict[Operation, int]) -> dict[Value, int]:
        """By token, the bits of all operations of `entry` that it comes after, given the bits of each operation."""
        tokens: list[Value] = []
        for operation in self.entry.walk():
            tokens.extend([result for result in operation.results if result.type is TOKEN])
            if operation.declaration in (FOR, LOOP):
                tokens.extend([each for each in operation.regions[0].block.arguments if each.type is TOKEN])
        sources = [(token, list(self.before(token))) for token in tokens]
        found: dict[Value, int] = {}
        for token in tokens:
            maker = token.defining_operation
            found[token] = 0 if maker is None else own.get(maker, 0)
        # Tokens stand in order but for those around loops, so that few rounds are needed.
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


def _is_made_in(value: Value, block: Block) -> bool:
    """Whether a value is made by an operation of a block, or in one."""
    owner = value.block.parent_operation if isinstance(value, BlockArgument) else value.defining_operation
    while owner is not None and owner.parent is not block:
        owner = owner.parent_operation
    return owner is not None


def _ends(operation: Operation) -> dict[object, list[Operation]]:
    """The terminators that leave an `if` or a loop, by declaration; those of `if`s inside a loop may be the loop's."""
    found: dict[object, list[Operation]] = {}
    pending: list[Block] = [block for region in operation.regions for block in region.blocks]
    own = set(pending)
    while pending:
        block = pending.pop()
        if block.last is not None and (block.last.declaration is not YIELD or block in own):
            found.setdefault(block.last.declaration, []).append(block.last)
        if operation.declaration is IF:
            continue
        for inner in block:
            if inner.declaration is IF:
                pending.extend([each for region in inner.regions for each in region.blocks])
    return found


def is_start(token: Value) -> bool:
    """Whether a token is one that comes after nothing."""
    maker = token.defining_operation
    return maker is not None and maker.declaration is MAKE_TOKEN
