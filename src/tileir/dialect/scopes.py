"""The `with` blocks of the builder: kernels, branches, loops, and the bodies of reductions and scans.

A scope moves the builder into a block and back.  On exit it appends the terminator that the operation implies, if none
was built; where that terminator needs operands, this is a `BuildError`.  An exception inside passes through.
"""

from __future__ import annotations

from types import TracebackType

from tileir.dialect.inference import expected_types
from tileir.dialect.ops import BREAK, FOR, IF, LOOP, YIELD
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, InsertionPoint, Operation
from tileir.ir.diagnostics import BuildError
from tileir.ir.values import OperationResult, Value


class BuilderPosition:
    """Where a builder inserts operations, and the scopes that are open there."""

    def __init__(self, point: InsertionPoint) -> None:
        self.point: InsertionPoint = point
        self.scopes: list[Scope] = []


class Scope:
    """A block of an operation that the builder can go into."""

    def __init__(self, builder: BuilderPosition, operation: Operation, block: Block) -> None:
        self.builder: BuilderPosition = builder
        self.operation: Operation = operation
        self.block: Block = block
        self._outer: InsertionPoint | None = None

    @property
    def results(self) -> tuple[Value, ...]:
        """The results of the operation."""
        return tuple(self.operation.results)

    @property
    def result(self) -> Value:
        """The only result of the operation."""
        return self._only(self.results, "result")

    @property
    def name(self) -> str:
        return self.operation.declaration.mnemonic

    def _only(self, values: tuple[Value, ...], name: str) -> Value:
        if len(values) != 1:
            what = "result" if name == "result" else "carried value"
            raise BuildError(f"{self.name}: '{name}' is for one {what}, there are {len(values)}; use '{name}s'")
        return values[0]

    def _enter(self) -> None:
        if self._outer is not None:
            raise BuildError(f"{self.name}: the block is open already")
        if self.block.first is not None:
            raise BuildError(f"{self.name}: the block is built already")
        self._outer = self.builder.point
        self.builder.point = InsertionPoint(self.block)
        self.builder.scopes.append(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        operation = self.operation
        if kind is None and not operation.results:
            # The results have the types of a terminator's operands.
            given = self._first_terminator()
            values = given.operands if given is not None else []
            operation.results = tuple([OperationResult(value.type, operation, i) for i, value in enumerate(values)])
        if self._outer is not None:
            self.builder.point = self._outer
            self._outer = None
            self.builder.scopes.pop()
        if kind is None:
            self._end_block()

    def _first_terminator(self) -> Operation | None:
        """The terminator whose operands are the results, where the declaration leaves their types open."""
        return None

    def _end_block(self) -> None:
        """Make sure that the block ends as it must."""
        last = self.block.last
        if last is not None and last.declaration.is_terminator:
            return
        terminator = self.operation.declaration.regions[0].implicit_terminator
        assert terminator is not None
        expected = expected_types(self.operation, terminator)
        if expected:
            types = ", ".join([type.spelling for type in expected])
            raise BuildError(
                f"{self.name}: the block must end with {terminator.mnemonic}_(..) of {len(expected)} "
                f"value{'' if len(expected) == 1 else 's'}: {types}",
                self.operation.location,
            )
        self.block.append(Operation(terminator, [], [], NO_ATTRIBUTES, NO_REGIONS, self.operation.location))


class EntryScope(Scope):
    """A kernel; `with` returns its arguments."""

    def __enter__(self) -> tuple[Value, ...]:
        self._enter()
        return tuple(self.block.arguments)


class BranchScope(Scope):
    """One branch of an `if`; the first branch that yields values determines the types of the results."""

    def __enter__(self) -> BranchScope:
        self._enter()
        return self

    def _first_terminator(self) -> Operation | None:
        last = self.block.last
        return last if last is not None and last.declaration is YIELD else None

    def else_(self) -> BranchScope:
        """The other branch: `with branch.else_(): ...`."""
        region = self.operation.else_region
        if region.blocks:
            raise BuildError("if: there is an else branch already", self.operation.location)
        block = Block()
        region.append(block)
        return BranchScope(self.builder, self.operation, block)


class LoopScope(Scope):
    """The body of a `for` or `loop`."""

    def __enter__(self) -> LoopScope:
        self._enter()
        return self

    def _first_terminator(self) -> Operation | None:
        """The first break that leaves a `loop`; only ifs can stand in between."""
        if self.operation.declaration is not LOOP:
            return None
        # An explicit stack, because ifs may nest deeply: where to go on in blocks.
        pending: list[Operation | None] = [self.block.first]
        while pending:
            cursor = pending.pop()
            while cursor is not None:
                if cursor.declaration is BREAK:
                    return cursor
                if cursor.declaration is IF:
                    pending.append(cursor.next)
                    for region in reversed(cursor.regions):
                        pending.extend([inner.first for inner in reversed(region.blocks)])
                    break
                cursor = cursor.next
        return None

    @property
    def index(self) -> Value:
        """The induction variable of a `for`."""
        if self.operation.declaration is not FOR:
            raise BuildError("loop: there is no induction variable; carry one in 'init'")
        return self.block.arguments[0]

    @property
    def values(self) -> tuple[Value, ...]:
        """The values carried from one iteration to the next."""
        return tuple(self.block.arguments[1 if self.operation.declaration is FOR else 0 :])

    @property
    def value(self) -> Value:
        """The only value carried from one iteration to the next."""
        return self._only(self.values, "value")


class BodyScope(Scope):
    """The body of a `reduce` or `scan`; `arguments` are, per tile, the element and what was accumulated so far."""

    def __enter__(self) -> BodyScope:
        self._enter()
        return self

    @property
    def arguments(self) -> tuple[Value, ...]:
        return tuple(self.block.arguments)
