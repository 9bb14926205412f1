"""Matmuls whose tiles do not fit a GPU, in halves that do.

**Accumulators** may take more registers than threads have: two halves of the rows (or columns) of the tile are computed
one after the other, from the loads to the stores:

    %sum = for .. iter_values(tile<256x256xf32>) ..      for %half in (0 to 2) {
    store %sum                                      ->     %sum = for .. iter_values(tile<128x256xf32>) ..
                                                           store %sum at 2 * row + half }

**Stages** of a loop may be so large that shared memory holds less than three: twice as many iterations take half of K.
Both are exact: an element is the sum of the same products in the same order.  Only a sum in f16, rounded after each
matmul, would be rounded more often: its K is not halved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import TOKEN, PartitionViewType, TileType, partition_view_type, scalar_tile, tile_type
from tileir.execute.analysis.values import tile_of
from tileir.execute.gpu.triton.schedule.features import Features, features_of
from tileir.execute.gpu.triton.tile_cuts import MATMULS, TileSplit, Uncut, check_order, ends_only_at_its_end
from tileir.execute.gpu.triton.toolchain import TritonTarget
from tileir.ir.attributes import Attribute
from tileir.ir.core import Block, Operation, Region
from tileir.ir.dense import dense_attribute
from tileir.ir.traversal import clone, is_memory_effect_free, pre_order
from tileir.ir.types import F16, I32, Type
from tileir.ir.values import Value
from tileir.passes import canonicalize, cse
from tileir.passes.emit import SIGNED, Emit
from tileir.passes.registry import PassSession
from tileir.rewrite.facts import Facts

MOST_REGISTERS: Final = 40960  # Registers of 32 bits in all threads: 160 for each thread of 8 warps.
_FEWEST_ROWS: Final = 64
_FEWEST_COLUMNS: Final = 32
_FEWEST_STAGES: Final = 3
_FEWEST_K_BYTES: Final = 64
_MOST_ROUNDS: Final = 8
_ACCESSES: Final = (ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO)

HalfIndex = Callable[[Value, Emit], Value]  # From the index of a whole tile to that of the half.


def split(entry: Operation, target: TritonTarget, fast: bool = False) -> list[str]:
    """Split what does not fit; returns what was done, in sentences."""
    notes: list[str] = []
    if target.is_amd or not _is_too_large(features_of(entry, target.name, fast), target):
        return notes
    _single_uses(entry)
    for _ in range(_MOST_ROUNDS):
        features = features_of(entry, target.name, fast)
        note = _split_accumulators(entry, features) or _split_stages(features, target)
        if not note:
            break
        notes.append(note)
    if notes:
        canonicalize.run(entry, PassSession())
        cse.run(entry)
    return notes


def _is_too_large(features: Features, target: TritonTarget) -> bool:
    registers = [*[loop.accumulator_registers for loop in features.loops], *[m.accumulators for m in features.matmuls]]
    stages = [_FEWEST_STAGES * loop.stage_bytes for loop in features.loops]
    return max(registers, default=0) > MOST_REGISTERS or max(stages, default=0) > target.shared


def _single_uses(entry: Operation) -> None:
    """Replace every use of a constant tile by a constant of its own: one user may be split, and another not."""
    for operation in pre_order(entry):
        if operation.declaration not in (ops.CONSTANT, ops.IOTA) or not tile_of(operation.results[0]).shape:
            continue
        value = operation.results[0]
        uses = [(user, place) for user in value.users for place, each in enumerate(user.operands) if each is value]
        for user, place in uses[1:]:
            user.set_operand(place, Emit(operation).insert(clone(operation)).results[0])


class Halves:
    """Writes operations for one half of each tile that is split."""

    def __init__(self, cut: TileSplit, place: HalfIndex, mapping: dict[Value, Value]) -> None:
        self._cut: Final = cut
        self._place: Final = place
        self._views: Final[dict[tuple[Value, int], Value]] = {}
        self.mapping: Final = mapping

    def write(self, operation: Operation, emit: Emit) -> None:
        declaration = operation.declaration
        if declaration is ops.FOR:
            self._loop(operation, emit)
            return
        tile = operation.tile if declaration is ops.STORE_VIEW_TKO else next(iter(operation.results), None)
        axis = None if tile is None else self._cut.axes.get(tile)
        if tile is not None and axis is not None:
            type = cast(TileType, self._type_of(tile))
            if declaration in (ops.LOAD_VIEW_TKO, ops.STORE_VIEW_TKO):
                operands = self._mapped(operation)
                start = operation.operands.index(operation.view)
                operands[start] = self._view(operation.view, axis)
                # Indices stand behind the view.
                operands[start + 1 + axis] = self._place(operation.index[axis], emit)
                self._put(operation, emit, operands)
                return
            if declaration is ops.CONSTANT:
                value = dense_attribute(type, type.shape, type.element, operation.value_attribute.data)
                self._put(operation, emit, [], {**operation.attributes, "value": value})
                return
            if declaration is ops.IOTA:
                self._iota(operation, type, emit)
                return
        copy = clone(operation, dict(self.mapping))
        operands, regions = list(copy.operands), copy.regions
        copy.regions = []
        copy.drop_all_references()
        self._put(operation, emit, operands, regions=regions)

    def _type_of(self, value: Value) -> Type:
        axis = self._cut.axes.get(value)
        return value.type if axis is None else tile_type(_halved(tile_of(value).shape, axis), tile_of(value).element)

    def _put(
        self,
        operation: Operation,
        emit: Emit,
        operands: list[Value],
        attributes: dict[str, Attribute] | None = None,
        regions: list[Region] | None = None,
    ) -> None:
        """The same operation with other operands, and results of halves."""
        made = emit.create(
            operation.declaration,
            operands,
            [self._type_of(each) for each in operation.results],
            dict(operation.attributes) if attributes is None else attributes,
            regions or [],
            operation.location,
            operation.segments,
        )
        self.mapping.update(zip(operation.results, made.results, strict=True))

    def _mapped(self, operation: Operation) -> list[Value]:
        return [self.mapping.get(each, each) for each in operation.operands]

    def _loop(self, operation: Operation, emit: Emit) -> None:
        new = Block()
        for argument in operation.regions[0].blocks[0].arguments:
            self.mapping[argument] = new.add_argument(self._type_of(argument), argument.location)
        inside = _emit_at_end(new, operation)
        for each in operation.regions[0].blocks[0]:
            self.write(each, inside)
        self._put(operation, emit, self._mapped(operation), regions=[Region([new])])

    def _view(self, whole: Value, axis: int) -> Value:
        """The view of halves of tiles, made beside the one of whole tiles."""
        found = self._views.get((whole, axis))
        if found is None:
            type = cast(PartitionViewType, whole.type)
            # Where it has been written already, that one is the one to stand beside.
            maker = self.mapping.get(whole, whole).defining_operation
            assert maker is not None and maker.parent is not None
            made = partition_view_type(_halved(type.tile_shape, axis), type.tensor, type.padding, type.dim_map)
            half = Operation(
                maker.declaration, list(maker.operands), [made], dict(maker.attributes), [], maker.location
            )
            maker.parent.insert_before(half, maker.next)
            found = self._views[whole, axis] = half.results[0]
        return found

    def _iota(self, operation: Operation, type: TileType, emit: Emit) -> None:
        first = emit.create(ops.IOTA, [], [type], dict(operation.attributes)).results[0]
        number = self._place(_integer(emit, 0), emit)
        start = emit.apply(ops.MULI, number, _integer(emit, type.shape[0]))
        one = emit.create(ops.RESHAPE, [start], [tile_type((1,), type.element)]).results[0]
        spread = emit.create(ops.BROADCAST, [one], [type]).results[0]
        self.mapping[operation.results[0]] = emit.create(ops.ADDI, [first, spread], [type]).results[0]


def _halved(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], shape[axis] // 2, *shape[axis + 1 :])


def _integer(emit: Emit, number: int) -> Value:
    return emit.bits(scalar_tile(I32), number)


def _emit_at_end(block: Block, like: Operation) -> Emit:
    emit = Emit(like)
    emit.insert_at_end(block)
    return emit


def _split_accumulators(entry: Operation, features: Features) -> str:
    for matmul in pre_order(entry):
        if matmul.declaration not in MATMULS:
            continue
        loop = next((loop for loop in features.loops if loop.operation.is_ancestor_of(matmul)), None)
        type = tile_of(matmul.results[0])
        if (type.count if loop is None else loop.accumulator_registers) <= MOST_REGISTERS:
            continue
        rank = len(type.shape)
        # The larger of both; rows of two that are equal.
        axes = [(rank - 2, _FEWEST_ROWS, "rows"), (rank - 1, _FEWEST_COLUMNS, "columns")]
        for axis, least, what in sorted(axes, key=lambda each: -type.shape[each[0]]):
            if type.shape[axis] >= 2 * least and _halve(matmul, axis):
                return (
                    f"accumulators of {'x'.join(map(str, type.shape))} do not fit the registers: "
                    f"{type.shape[axis] // 2} {what} are computed at a time"
                )
    return ""


def _halve(matmul: Operation, axis: int) -> bool:
    cut = TileSplit()
    try:
        cut.begin(matmul.results[0], axis)
        block, moved = _moved(cut, matmul)
    except Uncut:
        return False
    _write_halves(cut, block, moved)
    return True


def _moved(cut: TileSplit, matmul: Operation) -> tuple[Block, list[Operation]]:
    """The block whose operations are computed in halves, and those of them and around that are."""
    makers = [value.defining_operation for value in cut.axes]
    inside = {each for each in [*makers, *cut.stores, *cut.loops, matmul] if each is not None}
    outermost = [
        each for each in inside if not any(loop.is_ancestor_of(each) for loop in cut.loops if loop is not each)
    ]
    block = next((loop.parent for loop in outermost if loop.declaration is ops.FOR), matmul.parent)
    assert block is not None
    around: list[Block] = [block]
    while (parent := around[-1].parent_operation) is not None and parent.parent is not None:
        around.append(parent.parent)
    if any(each.parent not in around for each in outermost) or any(each.parent is not block for each in cut.stores):
        raise Uncut
    moved = [each for part in reversed(around) for each in part if each in outermost]
    last = [each for each in moved if each.parent is block][-1]
    for each in [inner for operation in moved for inner in pre_order(operation)]:
        is_plain = bool(each.regions) or each.declaration.is_terminator or is_memory_effect_free(each)
        if not is_plain and each.declaration not in _ACCESSES and each not in cut.stores:
            raise Uncut
    for result in [each for operation in moved for each in operation.results]:
        for user in result.users:
            top = _top(user, block)
            is_behind = top is not None and top.parent is block and last.is_before(top)
            if top not in moved and not (result.type is TOKEN and is_behind):
                raise Uncut
    check_order(cut, block, moved)
    return block, moved


def _top(operation: Operation, block: Block) -> Operation | None:
    """The operation of a block that another stands in; itself where it stands around."""
    each: Operation | None = operation
    while each is not None and each.parent is not block:
        each = each.parent_operation
    return operation if each is None else each


def _write_halves(cut: TileSplit, block: Block, moved: list[Operation]) -> None:
    """A loop over the halves, where the last of the operations stands."""
    last = [each for each in moved if each.parent is block][-1]
    body = Block()
    half = body.add_argument(scalar_tile(I32))

    def place(index: Value, emit: Emit) -> Value:
        doubled = emit.apply(ops.MULI, halves.mapping.get(index, index), _integer(emit, 2))
        return emit.apply(ops.ADDI, doubled, half)

    halves = Halves(cut, place, {})
    inside = _emit_at_end(body, last)
    for operation in moved:
        halves.write(operation, inside)
    outgoing = [
        result
        for operation in moved
        for result in operation.results
        if result.type is TOKEN and any(_top(user, block) not in moved for user in result.users)
    ]
    outside = Emit(last)
    bounds = [_integer(outside, number) for number in (0, 2, 1)]
    given: list[Value] = []
    ready = [halves.mapping[result] for result in outgoing]
    if ready:
        # What waits for the stores waits for both halves.
        earlier = body.add_argument(TOKEN)
        ready = [inside.create(ops.JOIN_TOKENS, [earlier, *ready], [TOKEN]).results[0]]
        given = [outside.create(ops.MAKE_TOKEN, [], [TOKEN]).results[0]]
    inside.create(ops.CONTINUE, ready, [])
    loop = outside.create(ops.FOR, [*bounds, *given], [TOKEN] if given else [], {}, [Region([body])])
    for result in outgoing:
        result.replace_all_uses_with(loop.results[0])
    for operation in reversed(moved):
        if operation.is_unused:
            operation.erase()


def _split_stages(features: Features, target: TritonTarget) -> str:
    for loop in features.loops:
        deepest = max([each.k_bytes for each in loop.matmuls])
        if _FEWEST_STAGES * loop.stage_bytes <= target.shared or deepest < 2 * _FEWEST_K_BYTES:
            continue
        k = max([each.k for each in loop.matmuls])
        if _halve_k(loop.operation):
            return f"three stages of {loop.stage_bytes} bytes do not fit shared memory: a matmul takes {k // 2} of K"
    return ""


def _halve_k(loop: Operation) -> bool:
    """Let an iteration take half of its K, and have twice as many."""
    block = loop.regions[0].blocks[0]
    matmuls = [each for each in block if each.declaration in MATMULS]
    is_counted = tile_of(block.arguments[0]).element is I32 and Facts().integer(loop.operands[2]) == 1
    if not is_counted or not matmuls or not ends_only_at_its_end(loop) or not _only_accumulates(block, matmuls):
        return False
    cut = TileSplit(follows=False)
    try:
        for matmul in matmuls:
            rank = len(tile_of(matmul.results[0]).shape)
            cut.begin(matmul.operands[0], rank - 1)
            cut.begin(matmul.operands[1], rank - 2)
    except Uncut:
        return False
    makers = {value.defining_operation for value in cut.axes}
    if cut.loops or any(each is None or each.parent is not block for each in makers):
        return False
    if any(user not in makers and user not in matmuls for value in cut.axes for user in value.users):
        return False
    _write_twice(loop, cut)
    return True


def _only_accumulates(block: Block, matmuls: list[Operation]) -> bool:
    """Whether a loop only adds up matmuls, each in a sum of its own that is not rounded in between."""
    last = cast(Operation, block.last)
    for argument, given in zip(block.arguments[1:], last.operands, strict=True):
        maker = given.defining_operation
        if maker not in matmuls or maker.operands[2] is not argument:
            return False
        if len(argument.users) != 1 or len(given.users) != 1 or tile_of(argument).element is F16:
            return False
    return len(matmuls) == len(last.operands) and all(
        each is last or each.declaration in _ACCESSES or (not each.regions and is_memory_effect_free(each))
        for each in block
    )


def _write_twice(loop: Operation, cut: TileSplit) -> None:
    outside = Emit(loop)
    start, end, step, *initial = loop.operands
    old = loop.regions[0].blocks[0]
    body = Block()
    number = body.add_argument(scalar_tile(I32))
    bounds = [_doubled(outside, each) for each in (start, end)]
    inside = _emit_at_end(body, loop)
    whole = inside.apply(ops.SHRI, number, _integer(inside, 1), attributes=SIGNED)
    odd = inside.apply(ops.ANDI, number, _integer(inside, 1))

    def place(index: Value, emit: Emit) -> Value:
        if index is old.arguments[0]:
            return number
        doubled = emit.apply(ops.MULI, halves.mapping.get(index, index), _integer(emit, 2))
        return emit.apply(ops.ADDI, doubled, odd)

    halves = Halves(cut, place, {old.arguments[0]: whole})
    for argument in old.arguments[1:]:
        halves.mapping[argument] = body.add_argument(argument.type, argument.location)
    for each in old:
        halves.write(each, inside)
    types = [each.type for each in loop.results]
    operands = [*bounds, step, *initial]
    made = outside.create(ops.FOR, operands, types, dict(loop.attributes), [Region([body])], segments=loop.segments)
    loop.replace_with(list(made.results))


def _doubled(emit: Emit, value: Value) -> Value:
    known = Facts().integer(value)
    return emit.apply(ops.MULI, value, _integer(emit, 2)) if known is None else _integer(emit, 2 * known)
