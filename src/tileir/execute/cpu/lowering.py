"""From tile IR to the loop form.

Operations are taken in program order.  Those on scalars become statements at once; those on tiles become expressions
that wait until a statement wants their elements (`fusion` says when they must not wait).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

import numpy

from tileir.dialect.types import (
    TOKEN,
    GatherScatterViewType,
    PointerType,
    TileType,
)
from tileir.execute.cpu import fusion
from tileir.execute.cpu.aliasing import Origin, Origins
from tileir.execute.cpu.loops import (
    Applied,
    Branch,
    Buffer,
    CheckAll,
    Count,
    Expression,
    Gathered,
    Keep,
    Leave,
    Let,
    Mapped,
    Mapping,
    Memo,
    Multiply,
    Nest,
    Pick,
    Print,
    Program,
    Reduce,
    Repack,
    Repeat,
    Reserve,
    Same,
    Shape,
    Sink,
    Splat,
    Statement,
    Stored,
    StorePointers,
    StoreView,
    Table,
    Update,
    Viewed,
    Window,
    count_of,
    nodes,
    squeezed,
)
from tileir.execute.cpu.mma_plan import MmaPlan, plan, plan_scaled
from tileir.execute.cpu.reductions import is_along_lanes, works_on_vectors
from tileir.execute.cpu.target import Target
from tileir.execute.dtypes import DType, constant_array, memory_bytes, value_dtype
from tileir.execute.errors import LaunchError
from tileir.execute.interpreter.kernels import KERNELS
from tileir.ir.attributes import DenseArrayAttribute, DenseAttribute, EnumAttribute, IntegerAttribute
from tileir.ir.core import Block, BlockArgument, Operation, Value
from tileir.ir.declaration import PURE, TOKEN_ORDERED
from tileir.ir.types import F4E2M1FN, F32, I1, I4, TF32

_PRODUCTS: Final = ("mmaf", "mmai", "mmaf_scaled")
_NO_EFFECT: Final = (
    "barrier", "gdc_launch_dependents_tko", "gdc_wait_tko", "join_tokens", "make_token", "memory_fence_alias_tko",
    "assume_cond",
)  # fmt: skip
_WRITING: Final = (
    "store_ptr_tko", "store_view_tko", "atomic_store_tko", "atomic_rmw_tko", "atomic_cas_tko", "atomic_red_view_tko",
)  # fmt: skip
_VIEWS: Final = (
    "make_tensor_view", "make_partition_view", "make_strided_view", "make_gather_scatter_view", "get_index_space_shape",
    "get_tensor_shape", "get_tile_block_id", "get_num_tile_blocks", "get_global",
)  # fmt: skip


def tile_of(value: Value) -> TileType:
    return cast(TileType, value.type)


def is_scalar(value: Value) -> bool:
    """Whether a value is a tile of one element, which lives in a register."""
    return isinstance(value.type, TileType) and value.type.count == 1


def is_tile(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.count > 1


def dtype_of(value: Value) -> DType:
    return value_dtype(tile_of(value).element)


def ordering_of(operation: Operation) -> str:
    found = operation.attributes.get("memory_ordering_semantics")
    return found.keyword if isinstance(found, EnumAttribute) else "relaxed"


class Frame:
    """A loop or `if` being lowered: where its region leaves tiles.  `carried` is None for an `if`."""

    __slots__ = ("arguments", "carried", "results")

    def __init__(self, arguments: list[Value], carried: list[Buffer | None], results: list[Buffer | None]) -> None:
        self.arguments: list[Value] = arguments
        self.carried: list[Buffer | None] = carried
        self.results: list[Buffer | None] = results


class Options:
    """What the code is to be like."""

    __slots__ = ("fast", "overlapping", "sanitize")

    def __init__(self, overlapping: bool = False, fast: bool = False, sanitize: bool = False) -> None:
        self.overlapping: bool = overlapping
        self.fast: bool = fast
        self.sanitize: bool = sanitize


class Lowering:
    """Lowers one kernel."""

    def __init__(self, entry: Operation, target: Target, options: Options) -> None:
        self.entry: Operation = entry
        self.target: Target = target
        self.options: Options = options
        self.origins: Origins = Origins(entry, options.overlapping)
        self.places: dict[Value, Expression] = {}
        self.buffers: list[Buffer] = []
        self.body: list[Statement] = []
        self.loops: list[Frame] = []
        self.yields: list[Frame] = []
        # Operations whose results nobody will ask for again.
        self.done: set[Operation] = set()
        # Values that wait as expressions and are no mere index maps.
        self.waiting: dict[Value, None] = {}
        self._constants: dict[Value, bool] = {}
        self._written: list[Origin] | None = None
        self.begins: dict[Operation, int] = {}
        self.ends: dict[Operation, int] = {}
        self._number(entry)

    def _number(self, entry: Operation) -> None:
        """Positions in program order: whether something stands inside a region is then a comparison."""
        count = 0
        stack: list[tuple[Operation, bool]] = [(entry, False)]
        while stack:
            operation, left = stack.pop()
            if left:
                self.ends[operation] = count
                continue
            count += 1
            self.begins[operation] = count
            stack.append((operation, True))
            inner = [each for region in operation.regions for block in region.blocks for each in block]
            stack.extend([(each, False) for each in reversed(inner)])

    def run(self) -> Program:
        self.block(self.entry.regions[0].blocks[0])
        return Program(self.entry, self.body, self.buffers)

    # --- blocks ---

    def block(self, block: Block) -> None:
        for operation in block:
            self.operation(operation)

    def inner(self, block: Block) -> list[Statement]:
        """The statements of a region's block."""
        outer, self.body = self.body, []
        self.block(block)
        found, self.body = self.body, outer
        return found

    def inner_scalars(self, block: Block) -> list[Statement]:
        """The statements of the body of a reduction, which works on scalars alone."""
        self.yields.append(Frame([], [], [None] * len(block.arguments)))
        found = self.inner(block)
        self.yields.pop()
        return found

    def operation(self, operation: Operation) -> None:
        mnemonic = operation.declaration.mnemonic
        handler = _HANDLERS.get(mnemonic)
        if operation.declaration.unregistered or (handler is None and mnemonic not in KERNELS):
            raise LaunchError(f"the CPU engine cannot run '{operation.name}': it is no operation of a kernel")
        if handler is not None:
            handler(self, operation)
        elif mnemonic in _PRODUCTS:
            lower_product(self, operation)
        else:
            lower_elementwise(self, operation)

    # --- values ---

    def expression(self, value: Value) -> Expression:
        """A tile or scalar as an expression, with what has been stored meanwhile read from its buffer."""
        if is_scalar(value):
            type = tile_of(value)
            return Splat(type.shape, type.element, value_dtype(type.element), None, value)
        return self.resolved([self.places[value]])[0]

    def resolved(self, roots: list[Expression]) -> list[Expression]:
        """Expressions with the nodes that have a buffer by now replaced."""
        renewed: dict[int, Expression] = {}
        for node in nodes(roots):
            place = self.places.get(node.value) if node.value is not None else None
            if isinstance(place, Stored) and place is not node and not isinstance(node, Stored):
                renewed[id(node)] = place
                continue
            operands = node.operands
            changed = [renewed[id(operand)] for operand in operands]
            if all(new is old for new, old in zip(changed, operands, strict=True)):
                renewed[id(node)] = node
            else:
                renewed[id(node)] = _rebuilt(node, changed)
        return [renewed[id(root)] for root in roots]

    def wait(self, value: Value, expression: Expression) -> None:
        """Realize a value as an expression, for now."""
        self.places[value] = expression
        if expression.cost > fusion.CHEAP or expression.reads:
            self.waiting[value] = None
        if expression.cost > fusion.LARGEST:
            self.store(value)

    def new_buffer(self, value: Value | None, dtype: DType, count: int) -> Buffer:
        buffer = Buffer(f"b{len(self.buffers)}", dtype, count)
        self.buffers.append(buffer)
        return buffer

    def stored(self, value: Value, buffer: Buffer) -> Stored:
        """Realize a tile as a buffer."""
        type = tile_of(value)
        place = Stored(type.shape, type.element, value_dtype(type.element), value, buffer)
        self.places[value] = place
        self.waiting.pop(value, None)
        return place

    # --- nests ---

    def prepare(
        self, roots: list[Expression], shape: Shape, operation: Operation | None
    ) -> tuple[list[Expression], list[Sink]]:
        """Get a nest ready for an operation: store what it must not compute, and say what it keeps on the way."""
        users = [operation] if operation is not None else []
        while True:
            roots = self.resolved(roots)
            reach = fusion.Reach(roots, shape, users)
            first = next((node for node in reach.order if fusion.must_be_stored_first(node, reach)), None)
            if first is None:
                break
            assert first.value is not None
            self.store(first.value)
        kept: list[Sink] = []
        values: set[Value] = set()
        for node in reach.order:
            if not fusion.must_be_kept(node, reach, self.done):
                continue
            assert node.value is not None
            if not reach.is_straight(node):
                self.store(node.value)
                return self.prepare(roots, shape, operation)
            values.add(node.value)
        finished = fusion.finished(reach, values, users, self.done)
        for node in reach.order:
            if node.value in values and not isinstance(node, Stored):
                assert node.value is not None
                buffer = self.buffer_for(node.value, reach, finished)
                kept.append(Keep(node, buffer))
        for sink in kept:
            assert isinstance(sink, Keep) and sink.expression.value is not None
            self.stored(sink.expression.value, sink.buffer)
        self.done |= finished
        for value in [value for value in self.waiting if value.defining_operation in finished]:
            del self.waiting[value]
        return roots, kept

    def store(self, value: Value) -> Stored:
        """Give a waiting tile a buffer, by a nest of its own."""
        place = self.places[value]
        if isinstance(place, Stored):
            return place
        if isinstance(place, Mapped) and place.source.value is not None and place.source.cost > fusion.CHEAP:
            source = self.resolved([place.source])[0]
            if not isinstance(source, Stored) and isinstance(source, (Applied, Gathered)):
                assert source.value is not None
                self.store(source.value)
        return self.keep(value)

    def keep(self, value: Value, prefer: Buffer | None = None) -> Stored:
        """A nest that puts a tile into a buffer, with all its elements."""
        expression = self.resolved([self.places[value]])[0]
        if isinstance(expression, Stored) and prefer is None:
            self.places[value] = expression
            return expression
        (expression,), kept = self.prepare([expression], expression.shape, None)
        already = [sink for sink in kept if isinstance(sink, Keep) and sink.expression is expression]
        if already:
            self.body.append(Nest(expression.shape, kept))
            return cast(Stored, self.places[value])
        reach = fusion.Reach([expression], expression.shape, [])
        finished = fusion.finished(reach, {value}, [], self.done)
        buffer = prefer if prefer is not None else self.buffer_for(value, reach, finished)
        self.body.append(Nest(expression.shape, [*kept, Keep(expression, buffer)]))
        self.done |= finished
        return self.stored(value, buffer)

    def buffer_for(self, value: Value, reach: fusion.Reach, finished: set[Operation]) -> Buffer:
        """A buffer for a tile: the one of the loop that will carry it, if its present content is no longer wanted."""
        carried = self._carrier(value, 0)
        if carried is not None:
            frame, number = carried
            buffer, argument = frame.carried[number], frame.arguments[number]
            free = buffer is not None and buffer.dtype == dtype_of(value)
            free = free and all(user in finished or user in self.done for user in argument.users)
            for node in reach.order:
                if isinstance(node, Stored) and node.buffer is buffer and not reach.is_straight(node):
                    free = False
            if free and buffer is not None and not self._held(buffer, value):
                return buffer
        return self.new_buffer(value, dtype_of(value), tile_of(value).count)

    def _held(self, buffer: Buffer, but: Value) -> bool:
        """Whether another value lies in a buffer and is still wanted."""
        for value, place in self.places.items():
            if isinstance(place, Stored) and place.buffer is buffer and value is not but:
                if isinstance(value, BlockArgument):
                    continue
                if not all(user in self.done for user in value.users):
                    return True
        return False

    def shares(self, buffer: Buffer, value: Value) -> bool:
        """Whether a buffer holds another value that is still wanted."""
        return self._held(buffer, value)

    def is_launch_constant(self, value: Value) -> bool:
        """Whether a value is the same for all tile blocks of a launch."""
        known = self._constants.get(value)
        if known is None:
            operation = value.defining_operation
            if operation is None:
                known = isinstance(value, BlockArgument) and value.block.parent_operation is self.entry
            elif operation.regions or operation.declaration.mnemonic == "get_tile_block_id":
                known = False
            elif operation.declaration.has_trait(PURE) or operation.declaration.mnemonic in _VIEWS + ("assume",):
                known = all(self.is_launch_constant(operand) for operand in operation.operands)
            else:
                known = False
            self._constants[value] = known
        return known

    def is_never_written(self, origin: Origin) -> bool:
        """Whether nothing in the kernel writes memory of an origin."""
        if self._written is None:
            self._written = []
            for operation in self.entry.walk():
                mnemonic = operation.declaration.mnemonic
                if mnemonic in _WRITING:
                    group = "view" if "view" in mnemonic else operation.declaration.operands[0].name
                    self._written.append(self.origins.of(operation.operand_group(group)[0]))
        return all(self.origins.apart(origin, written) for written in self._written)

    def _carrier(self, value: Value, depth: int) -> tuple[Frame, int] | None:
        """The loop and the number of the argument that a value becomes, itself or as an accumulator."""
        if not self.loops or depth > 4:
            return None
        frame = self.loops[-1]
        for user in value.users:
            mnemonic = user.declaration.mnemonic
            if mnemonic == "continue":
                number = user.operands.index(value)
                if number < len(frame.arguments) and self._loop_of(user) is frame:
                    return frame, number
            elif mnemonic in _PRODUCTS and user.operands[2] is value and value.has_one_user_at_most:
                return self._carrier(user.results[0], depth + 1)
        return None

    def _loop_of(self, operation: Operation) -> Frame | None:
        return self.loops[-1] if self.loops else None

    # --- what must not wait ---

    def before_write(self, operation: Operation, origin: Origin | None, own: list[Expression]) -> None:
        """Store what a write may change before it is read; None is memory of any origin."""
        reach = fusion.Reach(own, (), [operation])
        finished = fusion.finished(reach, set(), [operation], self.done)
        for value in list(self.waiting):
            if value not in self.waiting:
                continue
            if all(user in finished or user in self.done for user in value.users):
                continue
            expression = self.resolved([self.places[value]])[0]
            if any(self._conflicts(read, origin) for read in expression.reads):
                self.store(value)

    def _conflicts(self, read: Expression, origin: Origin | None) -> bool:
        if origin is None:
            return True
        assert isinstance(read, (Viewed, Gathered))
        return not self.origins.apart(self.origins.of(read.operation.operands[_memory_operand(read)]), origin)

    def settle(self, own: list[Expression], origin: Origin, same: Callable[[Viewed], bool]) -> list[Expression]:
        """The expressions of a store without reads of what it writes, but for those of the very same elements."""
        own = self.resolved(own)
        reach = fusion.Reach(own, own[0].shape, [])
        for node in reach.order:
            if isinstance(node, (Viewed, Gathered)) and self._conflicts(node, origin):
                if isinstance(node, Viewed) and reach.is_straight(node) and same(node):
                    continue
                assert node.value is not None
                self.store(node.value)
        return self.resolved(own)

    def before_region(self, operation: Operation) -> None:
        """Store what a region would compute again and again, or find changed."""
        begin, end = self.begins[operation], self.ends[operation]
        repeats = operation.declaration.mnemonic != "if"
        writes = _writes_memory(operation)
        for value in list(self.waiting):
            place = self.places[value]
            if isinstance(place, Stored) or all(user in self.done for user in value.users):
                self.waiting.pop(value, None)
                continue
            if not any(self.ends[user] > begin for user in value.users if user in self.ends):
                continue
            if writes and place.reads:
                self.store(value)
                continue
            inside = any(begin <= self.begins[user] <= end for user in value.users if user in self.begins)
            if repeats and inside and place.cost > fusion.CHEAP and not fusion.is_plain_load(place):
                self.store(value)


def _rebuilt(node: Expression, operands: list[Expression]) -> Expression:
    """A node with other operands."""
    if isinstance(node, Mapped):
        source = operands[0]
        if node.keeps_order and isinstance(source, Stored) and node.value is not None:
            return Stored(node.shape, node.element, node.dtype, node.value, source.buffer)
        return Mapped(node.shape, node.element, node.dtype, node.value, source, node.mapping)
    if isinstance(node, Applied):
        return Applied(
            node.shape, node.element, node.dtype, node.operation, operands, fusion.cost_of(node.operation)
        )
    if isinstance(node, Viewed):
        return Viewed(node.shape, node.element, node.dtype, node.operation, operands[0] if operands else None)
    assert isinstance(node, Gathered)
    rest = iter(operands)
    pointers = next(rest)
    mask = next(rest) if node.mask is not None else None
    padding = next(rest) if node.padding is not None else None
    return Gathered(node.shape, node.element, node.dtype, node.operation, pointers, mask, padding)


def _memory_operand(read: Viewed | Gathered) -> int:
    operation = read.operation
    group = "view" if isinstance(read, Viewed) else "source"
    value = operation.operand_group(group)[0]
    return operation.operands.index(value)


def _writes_memory(operation: Operation) -> bool:
    reading = ("load_ptr_tko", "load_view_tko", "join_tokens", "make_token")
    return any(
        inner.declaration.has_trait(TOKEN_ORDERED) and inner.declaration.mnemonic not in reading
        for inner in operation.walk()
    )


# --- handlers: scalars and elementwise ---


def lower_let(lowering: Lowering, operation: Operation) -> None:
    lowering.body.append(Let(operation))


def lower_nothing(lowering: Lowering, operation: Operation) -> None:
    """Tokens order what is in order anyway."""


def lower_elementwise(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    if is_scalar(result):
        lowering.body.append(Let(operation))
        return
    arguments = [lowering.expression(value) for value in operation.operands]
    type = tile_of(result)
    expression = Applied(
        type.shape, type.element, value_dtype(type.element), operation, arguments, fusion.cost_of(operation)
    )
    if expression.cost > fusion.LARGEST:
        costliest = max(
            [value for value in operation.operands if is_tile(value)], key=lambda value: lowering.places[value].cost
        )
        lowering.store(costliest)
        arguments = [lowering.expression(value) for value in operation.operands]
        expression = Applied(
            type.shape, type.element, value_dtype(type.element), operation, arguments, fusion.cost_of(operation)
        )
    lowering.wait(result, expression)


def lower_constant(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    if is_scalar(result):
        lowering.body.append(Let(operation))
        return
    type = tile_of(result)
    attribute = cast(DenseAttribute, operation.attributes["value"])
    array = constant_array(attribute)
    if attribute.is_splat:
        array = array.reshape(-1)[:1]
    lowering.places[result] = Table(type.shape, type.element, value_dtype(type.element), result, array)


def lower_iota(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    if is_scalar(result):
        lowering.body.append(Let(operation))
        return
    type = tile_of(result)
    lowering.places[result] = Count(type.shape, type.element, value_dtype(type.element), result)


def lower_same(lowering: Lowering, operation: Operation) -> None:
    """`assume`: the result is the operand."""
    source, result = operation.operands[0], operation.results[0]
    if isinstance(result.type, TileType):
        _rename(lowering, result, source)
    else:
        lowering.body.append(Let(operation))


def _rename(lowering: Lowering, result: Value, source: Value) -> None:
    if is_scalar(result):
        lowering.body.append(Same(result, source))
        return
    expression = lowering.expression(source)
    mapping: Mapping = tuple([(axis, None) for axis in range(len(expression.shape))])
    place = Mapped(expression.shape, expression.element, expression.dtype, result, expression, mapping)
    lowering.wait(result, _simplified(place))


def lower_cast(lowering: Lowering, operation: Operation) -> None:
    sources, results = operation.operands, operation.results
    if [value.type for value in sources] != [value.type for value in results]:
        raise LaunchError(
            "'cuda_tile.unrealized_conversion_cast' stands in for a conversion: replace it before the program runs"
        )
    for source, result in zip(sources, results, strict=True):
        if isinstance(result.type, TileType):
            _rename(lowering, result, source)
        elif result.type is not TOKEN:
            lowering.body.append(Same(result, source))


def _simplified(place: Mapped) -> Expression:
    """A map of an index map is one itself; of a buffer in the same order, the buffer in another shape."""
    source = place.source
    if isinstance(source, Splat):
        return Splat(place.shape, place.element, place.dtype, place.value, source.scalar)
    if isinstance(source, Table) and source.array.size == 1:
        return Table(place.shape, place.element, place.dtype, place.value, source.array)
    if isinstance(source, Stored) and place.keeps_order:
        return Stored(place.shape, place.element, place.dtype, place.value, source.buffer)
    return place


def lower_broadcast(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(result):
        lowering.body.append(Same(result, source))
        return
    type = tile_of(result)
    if is_scalar(source):
        lowering.places[result] = Splat(type.shape, type.element, value_dtype(type.element), result, source)
        return
    expression = lowering.expression(source)
    mapping: Mapping = tuple(
        [(axis if extent == type.shape[axis] else None, None) for axis, extent in enumerate(expression.shape)]
    )
    place = Mapped(type.shape, type.element, expression.dtype, result, expression, mapping)
    lowering.wait(result, _simplified(place))


def lower_reshape(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(result):
        lowering.body.append(Same(result, source))
        return
    type = tile_of(result)
    expression = lowering.expression(source)
    if isinstance(expression, Table) and expression.array.size > 1:
        array = expression.array.reshape(type.shape)
        lowering.places[result] = Table(type.shape, type.element, expression.dtype, result, array)
        return
    if isinstance(expression, Splat):
        lowering.places[result] = Splat(type.shape, type.element, expression.dtype, result, expression.scalar)
        return
    if isinstance(expression, Table):
        lowering.places[result] = Table(type.shape, type.element, expression.dtype, result, expression.array)
        return
    if squeezed(type.shape) != squeezed(expression.shape):
        # Elements move to other rows: only memory has an order that both shapes share.
        stored = expression if isinstance(expression, Stored) else lowering.store(source)
        lowering.places[result] = Stored(type.shape, type.element, stored.dtype, result, stored.buffer)
        return
    targets = iter([axis for axis, extent in enumerate(type.shape) if extent != 1])
    mapping: Mapping = tuple([(next(targets), None) if extent != 1 else (None, None) for extent in expression.shape])
    lowering.wait(result, _simplified(Mapped(type.shape, type.element, expression.dtype, result, expression, mapping)))


def lower_permute(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(result):
        lowering.body.append(Same(result, source))
        return
    axes = cast(DenseArrayAttribute, operation.attributes["permutation"]).values
    type = tile_of(result)
    expression = lowering.expression(source)
    back = {int(axis): place for place, axis in enumerate(axes)}
    mapping: Mapping = tuple([(back[axis], None) for axis in range(len(expression.shape))])
    lowering.wait(result, _simplified(Mapped(type.shape, type.element, expression.dtype, result, expression, mapping)))


def lower_extract(lowering: Lowering, operation: Operation) -> None:
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(source):
        lowering.body.append(Same(result, source))
        return
    type = tile_of(result)
    expression = lowering.expression(source)
    mapping: Mapping = tuple(
        [
            (axis if type.shape[axis] != 1 else None, index if type.shape[axis] != expression.shape[axis] else None)
            for axis, index in enumerate(operation.operands[1:])
        ]
    )
    lowering.body.append(Let(operation))
    place = Mapped(type.shape, type.element, expression.dtype, result, expression, mapping)
    if not is_scalar(result):
        lowering.wait(result, place)
        return
    if expression.cost > fusion.CHEAP and not fusion.is_plain_load(expression):
        lowering.store(source)
    (place_now,), kept = lowering.prepare([place], type.shape, operation)
    lowering.body.append(Nest(type.shape, [*kept, Pick(place_now, result)]))


def lower_insert(lowering: Lowering, operation: Operation) -> None:
    source, target, result = operation.operands[0], operation.operands[1], operation.results[0]
    if is_scalar(result):
        lowering.body.append(Same(result, source))
        return
    lowering.body.append(Let(operation))
    type = tile_of(result)
    part = tile_of(source).shape
    buffer = lowering.new_buffer(result, dtype_of(result), type.count)
    _copy_into(lowering, lowering.expression(target), buffer, None, operation)
    window = Window(type.shape, part, tuple(operation.operands[2:]))
    _copy_into(lowering, lowering.expression(source), buffer, window, operation)
    lowering.stored(result, buffer)


def lower_cat(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    axis = cast(IntegerAttribute, operation.attributes["dim"]).value
    type = tile_of(result)
    buffer = lowering.new_buffer(result, dtype_of(result), type.count)
    start = 0
    for value in operation.operands:
        part = tile_of(value).shape
        origins = tuple([start if place == axis else 0 for place in range(len(part))])
        _copy_into(lowering, lowering.expression(value), buffer, Window(type.shape, part, origins), operation)
        start += part[axis]
    lowering.stored(result, buffer)


def _copy_into(
    lowering: Lowering, expression: Expression, buffer: Buffer, window: Window | None, operation: Operation
) -> None:
    (expression,), kept = lowering.prepare([expression], expression.shape, operation)
    lowering.body.append(Nest(expression.shape, [*kept, Keep(expression, buffer, window)]))


def lower_repack(lowering: Lowering, operation: Operation) -> None:
    """`pack` and `unpack`: the same bits as elements of another width."""
    source, result = operation.operands[0], operation.results[0]
    if is_scalar(source) and is_scalar(result):
        lowering.body.append(Let(operation))
        return
    type = tile_of(result)
    buffer = lowering.new_buffer(result, dtype_of(result), type.count)
    if is_scalar(source):
        held = lowering.new_buffer(None, dtype_of(source), 1)
        lowering.body.append(Nest(tile_of(source).shape, [Keep(lowering.expression(source), held)]))
        expression = Stored(tile_of(source).shape, tile_of(source).element, dtype_of(source), None, held)
    else:
        expression = lowering.store(source)
    packing = operation.declaration.mnemonic == "pack"
    narrow = tile_of(source if packing else result).element
    if narrow in (I1, I4, F4E2M1FN) or (narrow is TF32 and not packing):
        lowering.body.append(Repack(operation, expression, buffer))
    else:
        buffer = expression.buffer
    if is_scalar(result):
        place = Stored(type.shape, type.element, value_dtype(type.element), None, buffer)
        lowering.body.append(Nest(type.shape, [Pick(place, result)]))
    else:
        lowering.stored(result, buffer)


# --- handlers: memory ---


def _optional(lowering: Lowering, operation: Operation, name: str) -> Expression | None:
    if name not in [declared.name for declared in operation.declaration.operands]:
        return None
    value = operation.operand(name)
    return lowering.expression(value) if value is not None else None


def lower_load_pointers(lowering: Lowering, operation: Operation) -> None:
    result = operation.results[0]
    type = tile_of(result)
    expression = Gathered(
        type.shape,
        type.element,
        value_dtype(type.element),
        operation,
        lowering.expression(operation.operands[0]),
        _optional(lowering, operation, "mask"),
        _optional(lowering, operation, "paddingValue"),
    )
    _load(lowering, operation, expression)


def lower_load_view(lowering: Lowering, operation: Operation) -> None:
    type = tile_of(operation.results[0])
    expression = Viewed(type.shape, type.element, value_dtype(type.element), operation, _positions(lowering, operation))
    _load(lowering, operation, expression)


def _positions(lowering: Lowering, operation: Operation) -> Expression | None:
    """The tile of positions that an access through a gather view takes."""
    view = operation.operand_group("view")[0].type
    if not isinstance(view, GatherScatterViewType):
        return None
    index = operation.operand_group("index")[view.sparse_dim]
    if is_scalar(index):
        return lowering.expression(index)
    expression = lowering.expression(index)
    if expression.cost > fusion.CHEAP:
        return lowering.store(index)
    return expression


def _load(lowering: Lowering, operation: Operation, expression: Expression) -> None:
    result = operation.results[0]
    ordered = ordering_of(operation) != "weak"
    if is_scalar(result):
        if not result.has_uses and not ordered:
            return
        (root,), kept = lowering.prepare([expression], expression.shape, operation)
        lowering.body.append(Nest(expression.shape, [*kept, Pick(root, result)]))
        return
    lowering.wait(result, expression)
    if ordered:
        lowering.store(result)


def lower_store_pointers(lowering: Lowering, operation: Operation) -> None:
    target, source = operation.operands[:2]
    origin = lowering.origins.of(target)
    mask = _optional(lowering, operation, "mask")
    roots = [lowering.expression(source), lowering.expression(target), *([mask] if mask is not None else [])]
    ordered = ordering_of(operation) != "weak"
    lowering.before_write(operation, None if ordered else origin, roots)
    roots = lowering.settle(roots, origin, lambda read: False)
    shape = tile_of(target).shape
    roots, kept = lowering.prepare(roots, shape, operation)
    sink = StorePointers(roots[0], operation, roots[1], roots[2] if mask is not None else None)
    lowering.body.append(Nest(shape, [*kept, sink]))


def lower_store_view(lowering: Lowering, operation: Operation) -> None:
    source = operation.operand_group("tile")[0]
    view = operation.operand_group("view")[0]
    indices = operation.operand_group("index")
    origin = lowering.origins.of(view)
    positions = _positions(lowering, operation)
    roots = [lowering.expression(source), *([positions] if positions is not None else [])]
    ordered = ordering_of(operation) != "weak"
    lowering.before_write(operation, None if ordered else origin, roots)

    def same(read: Viewed) -> bool:
        other = read.operation
        return other.operand_group("view")[0] is view and other.operand_group("index") == indices

    roots = lowering.settle(roots, origin, same if positions is None else lambda read: False)
    shape = tile_of(source).shape
    if positions is not None:
        (root,), kept = lowering.prepare([roots[0]], shape, operation)
        sink = StoreView(root, operation, lowering.resolved([roots[1]])[0])
    else:
        (root,), kept = lowering.prepare(roots, shape, operation)
        sink = StoreView(root, operation, None)
    lowering.body.append(Nest(shape, [*kept, sink]))


def lower_atomic(lowering: Lowering, operation: Operation) -> None:
    """atomic_rmw_tko, atomic_cas_tko, atomic_red_view_tko: element by element, nothing else in the nest."""
    mnemonic = operation.declaration.mnemonic
    mask = _optional(lowering, operation, "mask")
    others: list[Expression] = []
    pointers: Expression | None = None
    buffer: Buffer | None = None
    if mnemonic == "atomic_red_view_tko":
        value = operation.operand_group("value")[0]
        positions = _positions(lowering, operation)
        if positions is not None:
            others.append(positions)
    else:
        pointers = lowering.expression(operation.operands[0])
        value = operation.operands[-1 if mnemonic == "atomic_cas_tko" else 1]
        if mnemonic == "atomic_cas_tko":
            value = operation.operands[2]
            others.append(lowering.expression(operation.operands[1]))
        result = operation.results[0]
        if is_tile(result) and result.has_uses:
            buffer = lowering.new_buffer(result, dtype_of(result), tile_of(result).count)
    roots = [lowering.expression(value), *others]
    roots += [pointers] if pointers is not None else []
    roots += [mask] if mask is not None else []
    lowering.before_write(operation, None, roots)
    shape = tile_of(value).shape
    # The loop is scalar: what can be a vector is computed before, and no read may follow a write.
    lowered = []
    for root in roots:
        if root.value is not None and (root.cost > fusion.CHEAP or root.reads):
            lowering.store(root.value)
        lowered.append(lowering.resolved([root])[0])
    roots, kept = lowering.prepare(lowered, shape, operation)
    rest = iter(roots)
    first = next(rest)
    others = [next(rest) for _ in others]
    pointers = next(rest) if pointers is not None else None
    mask = next(rest) if mask is not None else None
    lowering.body.append(Nest(shape, [*kept, Update(first, operation, pointers, mask, others, buffer)]))
    if buffer is not None:
        lowering.stored(operation.results[0], buffer)


def lower_alloca(lowering: Lowering, operation: Operation) -> None:
    count = cast(IntegerAttribute, operation.attributes["num_elem"]).value
    alignment = cast(IntegerAttribute, operation.attributes["alignment"]).value
    element = cast(PointerType, tile_of(operation.results[0]).element).pointee
    size = max(count * memory_bytes(element), 1)
    # Buffers are aligned to 64 bytes; more is left over for what asks for more.
    buffer = lowering.new_buffer(None, numpy.dtype(numpy.uint8), size + max(alignment - 64, 0))
    lowering.body.append(Reserve(operation, buffer))


def lower_print(lowering: Lowering, operation: Operation) -> None:
    sources: list[Stored | None] = []
    for value in operation.operand_group("args"):
        sources.append(lowering.store(value) if is_tile(value) else None)
    lowering.body.append(Print(operation, sources))


def lower_assert(lowering: Lowering, operation: Operation) -> None:
    condition = operation.operands[0]
    shape = tile_of(condition).shape
    (root,), kept = lowering.prepare([lowering.expression(condition)], shape, operation)
    lowering.body.append(Nest(shape, [*kept, CheckAll(root, operation)]))


# --- handlers: aggregates and products ---


def lower_reduce(lowering: Lowering, operation: Operation) -> None:
    axis = cast(IntegerAttribute, operation.attributes["dim"]).value
    shape = tile_of(operation.operands[0]).shape
    if count_of(shape) == 1:
        for source, result in zip(operation.operands, operation.results, strict=True):
            lowering.body.append(Same(result, source))
        return
    if shape[axis] == 1:
        # Nothing to combine: the elements themselves.
        for source, result in zip(operation.operands, operation.results, strict=True):
            _drop_axis(lowering, result, source, axis)
        return
    body = lowering.inner_scalars(operation.regions[0].blocks[0])
    scanning = operation.declaration.mnemonic == "scan"
    if scanning or not is_along_lanes(shape, axis) or not works_on_vectors(body):
        for value in operation.operands:
            lowering.store(value)
    sources = [lowering.expression(value) for value in operation.operands]
    sources, kept = lowering.prepare(sources, shape, operation)
    targets: list[Buffer | None] = []
    for result in operation.results:
        targets.append(
            None if is_scalar(result) else lowering.new_buffer(result, dtype_of(result), tile_of(result).count)
        )
    lowering.body.append(Reduce(operation, shape, axis, sources, targets, kept, body))
    for result, buffer in zip(operation.results, targets, strict=True):
        if buffer is not None:
            lowering.stored(result, buffer)


def _drop_axis(lowering: Lowering, result: Value, source: Value, axis: int) -> None:
    if is_scalar(source):
        lowering.body.append(Same(result, source))
        return
    type = tile_of(result)
    expression = lowering.expression(source)
    same = len(type.shape) == len(expression.shape)
    mapping: Mapping = tuple(
        [
            (place if same or place < axis else None if place == axis else place - 1, None)
            for place in range(len(expression.shape))
        ]
    )
    lowering.wait(result, _simplified(Mapped(type.shape, type.element, expression.dtype, result, expression, mapping)))


def lower_product(lowering: Lowering, operation: Operation) -> None:
    lhs, rhs, accumulator = operation.operands[:3]
    result = operation.results[0]
    type = tile_of(result)
    plan = _plan(lowering, operation)
    scales = [lowering.expression(value) for value in operation.operands[3:5]]
    left, right = lowering.expression(lhs), lowering.expression(rhs)
    for value, expression in ((lhs, left), (rhs, right), *zip(operation.operands[3:5], scales, strict=True)):
        if is_tile(value) and expression.cost > fusion.LARGEST // 2:
            lowering.store(value)
    buffer = _accumulator(lowering, operation, plan)
    roots = lowering.resolved([left, right, *scales])
    # A copy of the left operand is a nest of its own: what is wanted elsewhere too is stored before.
    for root in roots:
        for node in nodes([root]):
            reach = fusion.Reach([root], root.shape, [operation])
            if fusion.must_be_kept(node, reach, lowering.done) and node.value is not None:
                lowering.store(node.value)
    roots = lowering.resolved(roots)
    roots = [lowering.prepare([root], root.shape, operation)[0][0] for root in roots]
    roots = lowering.resolved(roots)
    left, right, scales = roots[0], roots[1], roots[2:]
    in_place = isinstance(left, Viewed) and fusion.is_plain_load(left) and left.dtype == plan.lhs_dtype and not scales
    copy: Buffer | None = None
    if not isinstance(left, Stored) or left.dtype != plan.lhs_dtype or scales:
        copy = lowering.new_buffer(None, plan.lhs_dtype, plan.m * plan.k)
    memo = _memo(lowering, operation, right, scales, plan)
    packed = None if memo is not None else lowering.new_buffer(None, plan.rhs_dtype, plan.k * plan.n)
    lowering.body.append(Multiply(operation, plan, left, right, scales, buffer, packed, copy, in_place, memo, []))
    lowering.done.add(operation)
    if is_scalar(result):
        single = Stored(type.shape, type.element, plan.accumulator_dtype, None, buffer)
        lowering.body.append(Nest(type.shape, [Pick(single, result)]))
        return
    if plan.accumulator_dtype == value_dtype(type.element):
        lowering.stored(result, buffer)
        return
    wide = Stored(type.shape, F32, plan.accumulator_dtype, None, buffer)
    narrow = lowering.new_buffer(result, value_dtype(type.element), type.count)
    lowering.body.append(Nest(type.shape, [Keep(wide, narrow)]))
    lowering.stored(result, narrow)


def _plan(lowering: Lowering, operation: Operation) -> MmaPlan:
    lhs, rhs, accumulator = [tile_of(value) for value in operation.operands[:3]]
    m, k, n = lhs.shape[-2], lhs.shape[-1], rhs.shape[-1]
    if operation.declaration.mnemonic == "mmaf_scaled":
        return plan_scaled(lowering.target, tile_of(operation.operands[3]).element, m, n, k)
    signs = []
    for side in ("lhs", "rhs"):
        found = operation.attributes.get(f"signedness_{side}")
        signs.append(not isinstance(found, EnumAttribute) or found.keyword == "signed")
    fast = lowering.options.fast
    return plan(lowering.target, lhs.element, rhs.element, accumulator.element, m, n, k, fast, signs[0], signs[1])


def _accumulator(lowering: Lowering, operation: Operation, plan: MmaPlan) -> Buffer:
    """The buffer that holds the addend and gets the result: the addend's own where nobody else wants it."""
    value, result = operation.operands[2], operation.results[0]
    type = tile_of(result)
    place = lowering.expression(value)
    if plan.accumulator_dtype != value_dtype(type.element):
        buffer = lowering.new_buffer(None, plan.accumulator_dtype, type.count)
        (place,), kept = lowering.prepare([place], type.shape, operation)
        lowering.body.append(Nest(type.shape, [*kept, Keep(place, buffer)]))
        return buffer
    if isinstance(place, Stored) and value.parent_block is operation.parent:
        alone = all(user is operation or user in lowering.done for user in value.users)
        if alone and not lowering.shares(place.buffer, value):
            return place.buffer
    reach = fusion.Reach([place], type.shape, [operation])
    finished = fusion.finished(reach, set(), [operation], lowering.done)
    buffer = lowering.buffer_for(result, reach, finished)
    (place,), kept = lowering.prepare([place], type.shape, operation)
    lowering.body.append(Nest(type.shape, [*kept, Keep(place, buffer)]))
    return buffer


MEMO_BYTES: Final = 1 << 20
"""How much of a thread's cache remembered panels of one product may take."""


def _memo(
    lowering: Lowering, operation: Operation, right: Expression, scales: list[Expression], plan: MmaPlan
) -> Memo | None:
    """How packed right operands can be remembered; None where they cannot."""
    keys: dict[Value, None] = {}
    for node in nodes([right, *scales[1:]]):
        if isinstance(node, Viewed):
            view = node.operation.operand_group("view")[0]
            if node.positions is not None or not lowering.is_launch_constant(view):
                return None
            if not lowering.is_never_written(lowering.origins.of(view)):
                return None
            for index in node.operation.operand_group("index"):
                keys[index] = None
        elif isinstance(node, Splat):
            keys[node.scalar] = None
        elif isinstance(node, Mapped):
            for _, scalar in node.mapping:
                if scalar is not None:
                    keys[scalar] = None
        elif not isinstance(node, (Applied, Table, Count)):
            return None
    if not all(dtype_of(key).kind in "iub" for key in keys) or not keys:
        return None
    slots = 1
    while slots < 256 and 2 * slots * plan.packed_bytes <= MEMO_BYTES:
        slots *= 2
    if slots == 1:
        return None
    panels = lowering.new_buffer(None, plan.rhs_dtype, slots * plan.k * plan.n)
    tags = lowering.new_buffer(None, numpy.dtype(numpy.int64), slots * (len(keys) + 2))
    panels.lasting = tags.lasting = True
    return Memo(list(keys), slots, panels, tags)


# --- handlers: control flow ---


def _result_buffers(lowering: Lowering, values: list[Value]) -> list[Buffer | None]:
    return [
        lowering.new_buffer(value, dtype_of(value), tile_of(value).count) if is_tile(value) else None
        for value in values
    ]


def _settle_results(lowering: Lowering, values: list[Value], buffers: list[Buffer | None]) -> None:
    for value, buffer in zip(values, buffers, strict=True):
        if buffer is not None:
            lowering.stored(value, buffer)


def lower_if(lowering: Lowering, operation: Operation) -> None:
    lowering.before_region(operation)
    results = list(operation.results)
    buffers = _result_buffers(lowering, results)
    frame = Frame([], [], buffers)
    branches = []
    for region in operation.regions:
        lowering.yields.append(frame)
        branches.append(lowering.inner(region.blocks[0]) if region.blocks else [])
        lowering.yields.pop()
    lowering.body.append(Branch(operation, branches))
    _settle_results(lowering, results, buffers)


def lower_loop(lowering: Lowering, operation: Operation) -> None:
    counted = operation.declaration.mnemonic == "for"
    block = operation.regions[0].blocks[0]
    initial = operation.operands[3:] if counted else operation.operands
    arguments = list(block.arguments[1:] if counted else block.arguments)
    lowering.before_region(operation)
    carried = _result_buffers(lowering, arguments)
    deliver(lowering, list(initial), carried, operation)
    _settle_results(lowering, arguments, carried)
    results = list(operation.results)
    buffers = carried if counted else _result_buffers(lowering, results)
    lowering.loops.append(Frame(arguments, carried, buffers))
    body = lowering.inner(block)
    lowering.loops.pop()
    lowering.body.append(Repeat(operation, body))
    _settle_results(lowering, results, buffers)


def lower_leave(lowering: Lowering, operation: Operation) -> None:
    mnemonic = operation.declaration.mnemonic
    values = list(operation.operands)
    if mnemonic == "continue":
        deliver(lowering, values, lowering.loops[-1].carried, operation)
    elif mnemonic == "break":
        deliver(lowering, values, lowering.loops[-1].results, operation)
    elif mnemonic == "yield" and lowering.yields:
        deliver(lowering, values, lowering.yields[-1].results, operation)
    lowering.body.append(Leave(operation))


def deliver(lowering: Lowering, values: list[Value], buffers: list[Buffer | None], operation: Operation) -> None:
    """Put tiles where a region leaves them, all at once: none may overwrite what another still reads."""
    pairs: list[tuple[Value, Buffer]] = []
    for value, buffer in zip(values, buffers, strict=False):
        if buffer is None:
            continue
        place = lowering.expression(value)
        if isinstance(place, Stored) and place.buffer is buffer:
            continue
        pairs.append((value, buffer))
    targets = {buffer for _, buffer in pairs}
    for value, buffer in pairs:
        expression = lowering.expression(value)
        if isinstance(expression, Stored) and expression.buffer in targets:
            # Another value's old place: moved away first.
            copy = lowering.new_buffer(value, expression.dtype, count_of(expression.shape))
            lowering.body.append(Nest(expression.shape, [Keep(expression, copy)]))
            lowering.stored(value, copy)
        elif expression.buffers & targets and not isinstance(expression, Stored):
            others = expression.buffers & targets - {buffer}
            reach = fusion.Reach([expression], expression.shape, [operation])
            crooked = any(
                isinstance(node, Stored) and node.buffer is buffer and not reach.is_straight(node)
                for node in reach.order
            )
            if others or crooked:
                fresh = lowering.new_buffer(value, expression.dtype, count_of(expression.shape))
                lowering.keep(value, fresh)
    for value, buffer in pairs:
        (expression,), kept = lowering.prepare([lowering.expression(value)], tile_of(value).shape, operation)
        lowering.body.append(Nest(expression.shape, [*kept, Keep(expression, buffer)]))


Handler = Callable[[Lowering, Operation], None]

_HANDLERS: Final[dict[str, Handler]] = {
    **dict.fromkeys(_NO_EFFECT, lower_nothing),
    **dict.fromkeys(_VIEWS, lower_let),
    "alloca": lower_alloca,
    "assert": lower_assert,
    "assume": lower_same,
    "atomic_cas_tko": lower_atomic,
    "atomic_load_tko": lower_load_pointers,
    "atomic_red_view_tko": lower_atomic,
    "atomic_rmw_tko": lower_atomic,
    "atomic_store_tko": lower_store_pointers,
    "break": lower_leave,
    "broadcast": lower_broadcast,
    "cat": lower_cat,
    "constant": lower_constant,
    "continue": lower_leave,
    "extract": lower_extract,
    "for": lower_loop,
    "if": lower_if,
    "insert": lower_insert,
    "iota": lower_iota,
    "load_ptr_tko": lower_load_pointers,
    "load_view_tko": lower_load_view,
    "loop": lower_loop,
    "offset": lower_elementwise,
    "pack": lower_repack,
    "permute": lower_permute,
    "print_tko": lower_print,
    "reduce": lower_reduce,
    "reshape": lower_reshape,
    "return": lower_leave,
    "scan": lower_reduce,
    "select": lower_elementwise,
    "store_ptr_tko": lower_store_pointers,
    "store_view_tko": lower_store_view,
    "unpack": lower_repack,
    "unrealized_conversion_cast": lower_cast,
    "yield": lower_leave,
}
