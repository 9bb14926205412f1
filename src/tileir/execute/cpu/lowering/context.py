"""The state of lowering: how each value is realized so far, and what still waits.

Operations are lowered in program order.  Those on scalars become statements at once; those on tiles become expressions
that wait until a statement needs their elements (`fusion` decides when they must not wait).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import TileType
from tileir.execute.analysis.aliasing import UNKNOWN, Origin, Origins
from tileir.execute.analysis.values import dtype_of, is_scalar, is_tile, tile_of
from tileir.execute.cpu.ir import expressions as ex
from tileir.execute.cpu.ir.options import Options
from tileir.execute.cpu.ir.statements import LoopNest, Program, Statement, Store, StoreBuffer
from tileir.execute.cpu.lowering import fusion
from tileir.execute.cpu.runtime.target import Target
from tileir.execute.dtypes import DType
from tileir.execute.errors import cannot_run
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import MATRIX_PRODUCT
from tileir.ir.traversal import memory_changes
from tileir.ir.values import BlockArgument, Value

PRODUCTS: Final = REGISTRY.with_traits(MATRIX_PRODUCT)


@dataclass(eq=False, repr=False, slots=True)
class Frame:
    """A loop being lowered: where its region puts what it carries, and its results."""

    block: Block
    arguments: list[Value]
    carried: list[ex.Buffer | None]
    results: list[ex.Buffer | None]


Handlers = Mapping[OperationDeclaration, Callable[["Lowering", Operation], None]]


class Lowering:
    """Lowers one kernel; `handlers` has a function for each operation."""

    def __init__(self, entry: Operation, target: Target, options: Options, handlers: Handlers) -> None:
        self.entry: Operation = entry
        self.handlers: Handlers = handlers
        self.target: Target = target
        self.options: Options = options
        self.origins: Origins = Origins(entry, options.overlapping)
        self.realized: dict[Value, ex.Expression] = {}
        self.buffers: list[ex.Buffer] = []
        self.body: list[Statement] = []
        self.loops: list[Frame] = []
        self.yields: list[list[ex.Buffer | None]] = []
        # Operations whose results are not needed again.
        self.done: set[Operation] = set()
        # Operations that were lowered with what they use, ahead of their position.
        self._early: set[Operation] = set()
        # Values that wait as expressions and are no mere index maps.
        self.waiting: dict[Value, None] = {}
        # What to restore at the end of each region being lowered: how values were realized, and what was done.
        self._regions: list[tuple[list[tuple[Value, ex.Expression]], set[Operation]]] = []
        # By origin the waiting values that read its memory, by buffer the values that lie in it; both may list others.
        self._readers: dict[object, dict[Value, None]] = {}
        self._holders: dict[ex.Buffer, dict[Value, None]] = {}
        # Counts the buffers given: what was resolved since the last one need not be again.
        self.epoch: int = 0
        self._written: list[Origin] | None = None
        self._changing: set[Operation] = memory_changes(entry)
        self.begins: dict[Operation | None, int] = {}
        self.ends: dict[Operation, int] = {}
        # Numbers in program order: whether an operation is inside a region is then a comparison.
        for number, operation in enumerate(entry.walk()):
            self.begins[operation] = number
            around: Operation | None = operation
            while around is not None and around in self.begins:
                self.ends[around] = number
                around = around.parent_operation

    def run(self) -> Program:
        self.block(self.entry.regions[0].blocks[0])
        return Program(self.entry, self.body, self.buffers)

    def block(self, block: Block) -> None:
        for operation in block:
            if operation not in self._early:
                self.operation(operation)

    def inner(self, block: Block) -> list[Statement]:
        """The statements of a region.  What they store from outside is stored for them only: they may never run."""
        outer, self.body = self.body, []
        waiting = dict(self.waiting)
        self._regions.append(([], set()))
        self.block(block)
        replaced, finished = self._regions.pop()
        for value, before in reversed(replaced):
            self.realized[value] = before
        if replaced:
            self.epoch += 1
        self.done -= finished
        # The operations of inner regions are done already.
        self.done.update(block)
        self.waiting = waiting
        for value in reversed(list(waiting)):
            if self.is_done(value):
                del waiting[value]
                source = value.defining_operation
                if source is not None and all(self.is_done(result) for result in source.results):
                    self.finish({source})
        found, self.body = self.body, outer
        return found

    def is_done(self, value: Value, *more: Collection[Operation]) -> bool:
        """Whether all users of a value are done, or among some more."""
        return all(user in self.done or any(user in each for each in more) for user in value.users)

    def finish(self, operations: set[Operation]) -> None:
        """The results of these operations are not needed again."""
        fresh = operations - self.done
        self.done |= fresh
        if self._regions:
            self._regions[-1][1].update(fresh)

    def branch(self, block: Block, results: list[ex.Buffer | None]) -> list[Statement]:
        self.yields.append(results)
        found = self.inner(block)
        self.yields.pop()
        return found

    def operation(self, operation: Operation) -> None:
        handler = self.handlers.get(operation.declaration)
        if handler is None:
            raise cannot_run("the CPU backend", operation)
        handler(self, operation)

    def expression(self, value: Value) -> ex.Expression:
        """A tile or scalar as an expression, with what has been stored meanwhile read from its buffer."""
        if is_scalar(value):
            return ex.Splat(tile_of(value), None, value)
        return self.resolved([self.realized[value]])[0]

    def resolved(self, roots: list[ex.Expression]) -> list[ex.Expression]:
        """Expressions with the nodes that have a buffer by now replaced."""
        epoch = self.epoch
        if all(root.epoch == epoch for root in roots):
            return roots
        renewed: dict[int, ex.Expression] = {}
        for node in ex.nodes(roots):
            expression = self.realized.get(node.value) if node.value is not None else None
            if isinstance(expression, ex.BufferRead) and expression is not node and not isinstance(node, ex.BufferRead):
                renewed[id(node)] = expression
                continue
            changed = [renewed[id(operand)] for operand in node.operands]
            is_same = all(new is old for new, old in zip(changed, node.operands, strict=True))
            renewed[id(node)] = node if is_same else node.with_operands(changed)
        for node in renewed.values():
            node.epoch = epoch
        return [renewed[id(root)] for root in roots]

    def wait(self, value: Value, expression: ex.Expression) -> None:
        """Realize a value as an expression, for now."""
        self.put(value, expression)
        if all(operand.epoch == self.epoch for operand in expression.operands):
            expression.epoch = self.epoch
        if expression.cost > fusion.CHEAP or expression.reads:
            self.waiting[value] = None
            for read in expression.reads:
                for source in self.origins.of(read.address):
                    self._readers.setdefault(source, {})[value] = None
        if expression.cost > fusion.LARGEST:
            self.store(value)

    def put(self, value: Value, expression: ex.Expression) -> None:
        self.realized[value] = expression
        if isinstance(expression, ex.BufferRead):
            self._holders.setdefault(expression.buffer, {})[value] = None

    def new_buffer(self, dtype: DType, count: int) -> ex.Buffer:
        return ex.new_buffer(self.buffers, dtype, count)

    def buffer_of(self, value: Value) -> ex.Buffer:
        return self.new_buffer(dtype_of(value), tile_of(value).count)

    def result_buffers(self, values: Sequence[Value]) -> list[ex.Buffer | None]:
        return [self.buffer_of(value) if is_tile(value) else None for value in values]

    def stored_results(self, values: Sequence[Value], buffers: list[ex.Buffer | None]) -> None:
        for value, buffer in zip(values, buffers, strict=True):
            if buffer is not None:
                self.stored(value, buffer)

    def stored(self, value: Value, buffer: ex.Buffer, content: ex.Expression | None = None) -> ex.BufferRead:
        """Realize a tile as a buffer, which an expression has filled."""
        counted = content if content is not None and fusion.is_counted(content) else None
        expression = ex.BufferRead(tile_of(value), value, buffer, counted)
        self._realize(value, expression)
        self.waiting.pop(value, None)
        return expression

    def _realize(self, value: Value, expression: ex.BufferRead) -> None:
        before = self.realized.get(value)
        if before is not None and self._regions:
            self._regions[-1][0].append((value, before))
        self.put(value, expression)
        self.epoch += 1

    def ready(self, roots: list[ex.Expression], shape: ex.Shape, users: list[Operation]) -> fusion.FusedNodes:
        """What a loop nest for roots evaluates, after storing what it must not compute; `roots` are renewed."""
        while True:
            roots[:] = self.resolved(roots)
            fused = fusion.FusedNodes(roots, shape, users)
            first = next((node for node in fused.order if fusion.must_be_stored_first(node, fused)), None)
            if first is None:
                return fused
            assert first.value is not None
            self.store(first.value)

    def prepare(
        self, roots: list[ex.Expression], shape: ex.Shape, operation: Operation | None
    ) -> tuple[list[ex.Expression], list[Store]]:
        """Get a loop nest ready for an operation: store what it must not compute, and list what it keeps."""
        users = [operation] if operation is not None else []
        roots = list(roots)
        fused = self.ready(roots, shape, users)
        keeps: list[tuple[ex.Expression, Operation | None]] = []
        for node in fused.order:
            if fusion.must_be_kept(node, fused, self.done):
                assert node.value is not None
                if not fused.is_straight(node):
                    self.store(node.value)
                    return self.prepare(roots, shape, operation)
                is_exact = self.options.sanitize
                keeps.append(
                    (node, None if is_exact else fusion.rounded_later(node.value, operation, fused, self.done))
                )
        values = {node.value for node, rounding in keeps if rounding is None and node.value is not None}
        users += [rounding for _, rounding in keeps if rounding is not None]
        finished = fusion.finished(fused, values, users, self.done)
        kept: list[Store] = []
        for node, rounding in keeps:
            if rounding is not None:
                node = ex.Elementwise(rounding, [node], fusion.cost_of(rounding))
                self._early.add(rounding)
            assert node.value is not None
            buffer = self.buffer_for(node.value, fused, finished) if rounding is None else self.buffer_of(node.value)
            kept.append(StoreBuffer(node, buffer))
            # At once, so that no two get the same buffer.
            self.stored(node.value, buffer, node)
        self.finish(finished)
        for done in finished:
            for result in done.results:
                self.waiting.pop(result, None)
        return roots, kept

    def nest(
        self,
        expression: ex.Expression,
        operation: Operation,
        store: Callable[[ex.Expression], Store],
        guard: ex.Buffer | None = None,
    ) -> None:
        """A loop nest that passes an expression to a store, for an operation."""
        (expression,), kept = self.prepare([expression], expression.shape, operation)
        self.body.append(LoopNest(expression.shape, [*kept, store(expression)], guard))

    def store(self, value: Value) -> ex.BufferRead:
        """Give a waiting tile a buffer, by a loop nest of its own."""
        expression = self.realized[value]
        if isinstance(expression, ex.BufferRead):
            return expression
        if isinstance(expression, ex.Mapped) and expression.source.cost > fusion.CHEAP:
            source = self.resolved([expression.source])[0]
            if isinstance(source, (ex.Elementwise, ex.PointerLoad)) and source.value is not None:
                self.store(source.value)
        return self.keep(value)

    def keep(self, value: Value, prefer: ex.Buffer | None = None) -> ex.BufferRead:
        """A loop nest that puts a tile into a buffer, with all its elements."""
        expression = self.resolved([self.realized[value]])[0]
        if isinstance(expression, ex.BufferRead) and prefer is None:
            self._realize(value, expression)
            return expression
        (expression,), kept = self.prepare([expression], expression.shape, None)
        if any(store.expression is expression for store in kept):
            self.body.append(LoopNest(expression.shape, kept))
            return cast(ex.BufferRead, self.realized[value])
        fused = fusion.FusedNodes([expression], expression.shape, [])
        finished = fusion.finished(fused, {value}, [], self.done)
        buffer = prefer if prefer is not None else self.buffer_for(value, fused, finished)
        self.body.append(LoopNest(expression.shape, [*kept, StoreBuffer(expression, buffer)]))
        self.finish(finished)
        return self.stored(value, buffer, expression)

    def buffer_for(self, value: Value, fused: fusion.FusedNodes, finished: set[Operation]) -> ex.Buffer:
        """A buffer for a tile: the one of the loop that will carry it, if its present content is not needed again."""
        carried = self._carrier(value, 0)
        buffer = carried[0].carried[carried[1]] if carried is not None else None
        if carried is None or buffer is None:
            return self.buffer_of(value)
        frame, number = carried
        fits = buffer.dtype == dtype_of(value) and buffer.count == tile_of(value).count
        if not fits or not self.is_done(frame.arguments[number], finished):
            return self.buffer_of(value)
        for node in fused.order:
            if isinstance(node, ex.BufferRead) and node.buffer is buffer and not fused.is_straight(node):
                return self.buffer_of(value)
        is_held = any(
            other is not value and not isinstance(other, BlockArgument) and not self.is_done(other)
            for other in self._held_in(buffer)
        )
        return self.buffer_of(value) if is_held else buffer

    def _held_in(self, buffer: ex.Buffer) -> list[Value]:
        holders = self._holders.get(buffer, {})
        found = []
        for value in list(holders):
            expression = self.realized[value]
            if isinstance(expression, ex.BufferRead) and expression.buffer is buffer:
                found.append(value)
                if not self._regions and self.is_done(value):
                    # Outside of regions it is not needed again.
                    del holders[value]
        return found

    def shares(self, buffer: ex.Buffer, value: Value, operation: Operation) -> bool:
        """Whether a buffer holds another value that is needed, also by the next iteration of a loop around."""
        for other in self._held_in(buffer):
            if other is value:
                continue
            block = other.parent_block
            parent = block.parent_operation if block is not None and block is not operation.parent else None
            surrounds = parent is not None and self.begins[parent] <= self.begins[operation] <= self.ends[parent]
            if surrounds or not self.is_done(other, {operation}):
                return True
        return False

    def is_never_written(self, origin: Origin) -> bool:
        """Whether nothing in the kernel writes memory of an origin."""
        if self._written is None:
            origins: dict[Origin, None] = {}
            for operation in self.entry.walk():
                group = operation.declaration.writes
                if group is not None:
                    target = operation.operand_group(group)[0]
                    # A write that leaves its array clears the pack cache (`codegen.bounds`).
                    is_pointer = isinstance(target.type, TileType)
                    origins[self.origins.provenance(target) if is_pointer else self.origins.of(target)] = None
            self._written = list(origins)
        return all(self.origins.never_alias(origin, written) for written in self._written)

    def _carrier(self, value: Value, depth: int) -> tuple[Frame, int] | None:
        """The loop and the number of the argument that a value becomes, itself or as an accumulator."""
        if not self.loops or depth > 4:
            return None
        frame = self.loops[-1]
        for user in value.users:
            declaration = user.declaration
            if declaration is ops.CONTINUE:
                # The operands of a `continue` of a `for` and of a `loop` are the values they carry.
                number = user.operands.index(value)
                if number < len(frame.arguments) and _loop_block(user) is frame.block:
                    return frame, number
            elif declaration in PRODUCTS and user.operands[2] is value and value.has_one_user_at_most:
                return self._carrier(user.results[0], depth + 1)
        return None

    def before_write(self, operation: Operation, origin: Origin | None, own: list[ex.Expression]) -> None:
        """Store what a write may change before it is read; None is memory of any origin."""
        fused = fusion.FusedNodes(own, (), [operation])
        finished = fusion.finished(fused, set(), [operation], self.done)
        for value in self._waiting_for(origin):
            if value not in self.waiting or self.is_done(value, finished):
                continue
            reads = self.resolved([self.realized[value]])[0].reads
            read_from = [self.origins.of(read.address) for read in reads]
            if any(origin is None or not self.origins.never_alias(each, origin) for each in read_from):
                self.store(value)
            elif not reads and not self._regions:
                # What it read is in buffers by now.
                for source in origin or ():
                    self._readers.get(source, {}).pop(value, None)

    def _waiting_for(self, origin: Origin | None) -> list[Value]:
        """The waiting values that read memory of an origin, in program order."""
        if origin is None or UNKNOWN in origin:
            return list(self.waiting)
        found: dict[Value, None] = {}
        for source in (*origin, UNKNOWN):
            readers = self._readers.get(source, {})
            if not self._regions:
                # What is done stays so outside of regions: it need not be checked again.
                for value in [value for value in readers if value not in self.waiting]:
                    del readers[value]
            found.update(readers)
        return sorted(found, key=lambda value: self.begins.get(value.defining_operation, 0))

    def before_region(self, operation: Operation) -> None:
        """Store what a region would compute repeatedly, or find changed."""
        begin, end = self.begins[operation], self.ends[operation]
        repeats = operation.declaration is not ops.IF
        writes = operation in self._changing
        for value in list(self.waiting):
            expression = self.realized[value]
            if isinstance(expression, ex.BufferRead) or self.is_done(value):
                self.waiting.pop(value, None)
                continue
            if not any(self.ends[user] > begin for user in value.users if user in self.ends):
                continue
            if writes and expression.reads:
                self.store(value)
                continue
            inside = any(begin <= self.begins[user] <= end for user in value.users if user in self.begins)
            # What a branch computes for itself is computed again after it.
            again = repeats or any(self.begins[user] > end for user in value.users if user in self.begins)
            is_costly = expression.cost > fusion.CHEAP and not fusion.is_plain_load(expression)
            if again and inside and is_costly and not fusion.is_index(expression):
                self.store(value)


def _loop_block(operation: Operation) -> Block | None:
    """The block of the loop that a `continue` belongs to."""
    block = operation.parent
    while block is not None:
        parent = block.parent_operation
        if parent is None or parent.declaration.is_loop:
            return block
        block = parent.parent
    return None
