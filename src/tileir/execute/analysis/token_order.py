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

    def all_before(self, later: Operation, since: Block | None = None) -> Iterator[Value]:
        """Yield the tokens that an operation comes after, nearest first; with `since`, those defined in this block."""
        # Nearest first, because most operations are ordered after the access before them.
        pending = [value for value in later.operands if value.type is TOKEN]
        seen = set(pending)
        for value in pending:
            if since is not None and not is_inside(owner_of(value), since):
                continue
            yield value
            for source in self.before(value):
                if source not in seen:
                    seen.add(source)
                    pending.append(source)

    def before(self, value: Value) -> Iterable[Value]:
        """Return the tokens that a token comes after directly."""
        carried = carried_sources(value, self.ends_of)
        maker = value.defining_operation
        if carried is not None or maker is None:
            return carried or []
        return [operand for operand in maker.operands if operand.type is TOKEN]

    def ends_of(self, operation: Operation, terminator: OperationDeclaration) -> list[Operation]:
        """`matching.ends_of`, cached."""
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


def owner_of(value: Value) -> Operation | None:
    """The operation that defines a value, or whose block has it as an argument."""
    return value.block.parent_operation if isinstance(value, BlockArgument) else value.defining_operation
