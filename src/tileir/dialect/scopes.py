"""The `with` blocks of the builder: kernels, branches, loops, and the bodies of reductions and scans.

A scope moves the builder into a block and back.  Leaving it ends the block: with the terminator its operation implies
where none was built, or with a `BuildError` where that terminator would have to give values.  An exception inside
passes through untouched.
"""

from __future__ import annotations

from types import TracebackType

from tileir.annotations import TYPE_CHECKING
from tileir.dialect.inference import expected_types
from tileir.dialect.ops import BREAK, FOR, IF, LOOP, YIELD
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, InsertionPoint, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import BuildError
from tileir.ir.types import Type
from tileir.ir.values import OperationResult, Value

if TYPE_CHECKING:
    from tileir.dialect.builder import Builder


class Scope:
    """A block of an operation that the builder can go into."""

    __slots__ = ("_outer", "block", "builder", "operation")

    def __init__(self, builder: Builder, operation: Operation, block: Block) -> None:
        self.builder: Builder = builder
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
        results = self.operation.results
        if len(results) != 1:
            raise BuildError(f"{self.name}: 'result' is for one result, there are {len(results)}; use 'results'")
        return results[0]

    @property
    def name(self) -> str:
        return self.operation.declaration.mnemonic

    def go_in(self) -> None:
        if self._outer is not None:
            raise BuildError(f"{self.name}: the block is open already")
        if self.block.first is not None:
            raise BuildError(f"{self.name}: the block is built already")
        self._outer = self.builder.point
        self.builder.point = InsertionPoint(self.block)
        self.builder.scopes.append(self)

    def go_out(self, failed: bool) -> None:
        if self._outer is not None:
            self.builder.point = self._outer
            self._outer = None
            self.builder.scopes.pop()
        if not failed:
            self.end_block()

    @property
    def terminator(self) -> OperationDeclaration:
        """The operation that ends the block where none was built."""
        declared = self.operation.declaration.regions
        implied = declared[0].implicit_terminator if declared else None
        return implied if implied is not None else YIELD

    def end_block(self) -> None:
        """Make sure that the block ends as it must."""
        last = self.block.last
        if last is not None and last.declaration.is_terminator:
            return
        expected = expected_types(self.operation, self.terminator)
        if expected:
            types = ", ".join([type.spelling for type in expected])
            raise BuildError(
                f"{self.name}: the block must end with {self.terminator.mnemonic}_(..) of {len(expected)} "
                f"value{'' if len(expected) == 1 else 's'}: {types}",
                self.operation.location,
            )
        self.block.append(Operation(self.terminator, [], [], NO_ATTRIBUTES, NO_REGIONS, self.operation.location))

    def set_result_types(self, types: list[Type]) -> None:
        """Give the operation results of these types, once they are known."""
        operation = self.operation
        if not operation.results:
            operation.results = tuple([OperationResult(type, operation, index) for index, type in enumerate(types)])


class EntryScope(Scope):
    """A kernel; `with` gives its arguments."""

    __slots__ = ()

    def __enter__(self) -> tuple[Value, ...]:
        self.go_in()
        return tuple(self.block.arguments)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.go_out(kind is not None)


class BranchScope(Scope):
    """One side of an `if`; the first side that yields values gives the `if` its results."""

    __slots__ = ()

    def __enter__(self) -> BranchScope:
        self.go_in()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        last = self.block.last
        if kind is None and last is not None and last.declaration is YIELD:
            self.set_result_types([value.type for value in last.operands])
        self.go_out(kind is not None)

    def else_(self) -> BranchScope:
        """The other side: `with branch.else_(): ...`."""
        region = self.operation.regions[1]
        if region.blocks:
            raise BuildError("if: there is an else branch already", self.operation.location)
        block = Block()
        region.append(block)
        return BranchScope(self.builder, self.operation, block)


class LoopScope(Scope):
    """The body of a `for` or `loop`."""

    __slots__ = ()

    def __enter__(self) -> LoopScope:
        self.go_in()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self.operation.declaration is LOOP:
            found = _first_break(self.block)
            if found is not None:
                self.set_result_types([value.type for value in found.operands])
        self.go_out(kind is not None)

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
        values = self.values
        if len(values) != 1:
            raise BuildError(f"{self.name}: 'value' is for one carried value, there are {len(values)}; use 'values'")
        return values[0]


def _first_break(block: Block) -> Operation | None:
    """The first break that leaves the loop a block belongs to; only ifs can stand in between."""
    # An explicit stack, because ifs may nest deeply: where to go on in blocks.
    pending: list[Operation | None] = [block.first]
    while pending:
        cursor = pending.pop()
        while cursor is not None:
            if cursor.declaration is BREAK:
                return cursor
            if cursor.declaration is IF:
                pending.append(cursor.next)
                for region in reversed(cursor.regions):
                    for inner in reversed(region.blocks):
                        pending.append(inner.first)
                break
            cursor = cursor.next
    return None


class BodyScope(Scope):
    """The body of a `reduce` or `scan`; `arguments` are, per tile, the element and what was accumulated so far."""

    __slots__ = ()

    def __enter__(self) -> BodyScope:
        self.go_in()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.go_out(kind is not None)

    @property
    def arguments(self) -> tuple[Value, ...]:
        return tuple(self.block.arguments)
