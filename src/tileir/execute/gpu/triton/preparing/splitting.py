"""Matmuls whose tiles do not fit a GPU, in parts that do.

Two things do not fit.  **Accumulators** that take more registers than threads have: the rows (or columns) of the tile
are computed in two halves, one after the other, from the loads to the stores:

    %sum = for .. iter_values(tile<256x256xf32>) ..      for %half in (0 to 2) {
    store %sum                                      ->     %sum = for .. iter_values(tile<128x256xf32>) ..
                                                           store %sum at 2 * row + half }

**Stages** of a loop that are so large that shared memory holds less than three: an iteration takes half of its K, and
there are twice as many.

Both are exact.  An element of a tile does not depend on others, and its sum is made of the same products in the same
order.  Only a sum in f16, which is rounded when a matmul is done, would be rounded more often: its K is not halved.
"""

from __future__ import annotations

from typing import Final

from tileir.dialect import ops
from tileir.dialect.types import TOKEN, scalar_tile
from tileir.execute.analysis.values import tile_of
from tileir.execute.gpu.triton.preparing.cutting import MATMULS, Cut, Uncut, check_order, ends_only_at_its_end
from tileir.execute.gpu.triton.preparing.parts import Parts, emit_at_end, integer
from tileir.execute.gpu.triton.schedule.features import features_of
from tileir.execute.gpu.triton.toolchain import TritonTarget
from tileir.ir.core import Block, Operation, Region
from tileir.ir.traversal import clone, is_memory_effect_free, pre_order
from tileir.ir.types import F16, I32, IntegerType
from tileir.ir.values import Value
from tileir.passes import canonicalize, cse
from tileir.passes.emit import SIGNED, Emit
from tileir.passes.registry import PassSession
from tileir.rewrite.facts import Facts

MOST_REGISTERS: Final = 40960
"""Registers of 32 bits in all threads: 160 for each thread of 8 warps."""
_FEWEST_ROWS: Final = 64
_FEWEST_COLUMNS: Final = 32
_FEWEST_STAGES: Final = 3
_FEWEST_K_BYTES: Final = 64
_MOST_ROUNDS: Final = 8


def split(entry: Operation, target: TritonTarget, fast: bool = False) -> list[str]:
    """Split what does not fit; gives what was done, in sentences."""
    notes: list[str] = []
    if target.is_amd or not _is_too_large(entry, target, fast):
        return notes
    _single_uses(entry)
    for _ in range(_MOST_ROUNDS):
        note = _split_accumulators(entry, target, fast) or _split_stages(entry, target)
        if not note:
            break
        notes.append(note)
    if notes:
        canonicalize.run(entry, PassSession())
        cse.run(entry)
    return notes


def _single_uses(entry: Operation) -> None:
    """Give every use of a constant tile one of its own: what is cut for one user is whole for another."""
    for operation in pre_order(entry):
        if operation.declaration not in (ops.CONSTANT, ops.IOTA) or not tile_of(operation.results[0]).shape:
            continue
        value = operation.results[0]
        uses = [(user, place) for user in value.users for place, each in enumerate(user.operands) if each is value]
        for user, place in uses[1:]:
            copy = clone(operation)
            assert operation.parent is not None
            operation.parent.insert_before(copy, operation)
            user.set_operand(place, copy.results[0])


def _is_too_large(entry: Operation, target: TritonTarget, fast: bool) -> bool:
    features = features_of(entry, target.name, fast)
    registers = [loop.accumulator_registers for loop in features.loops] + [
        each.accumulators for each in features.matmuls
    ]
    stages = [_FEWEST_STAGES * loop.stage_bytes for loop in features.loops]
    return max(registers, default=0) > MOST_REGISTERS or max(stages, default=0) > target.shared


# --- accumulators ---


def _split_accumulators(entry: Operation, target: TritonTarget, fast: bool) -> str:
    features = features_of(entry, target.name, fast)
    loops = {loop.operation: loop for loop in features.loops}
    for matmul in pre_order(entry):
        if matmul.declaration not in MATMULS:
            continue
        loop = next((loop for each, loop in loops.items() if each.is_ancestor_of(matmul)), None)
        type = tile_of(matmul.results[0])
        registers = type.count if loop is None else loop.accumulator_registers
        if registers <= MOST_REGISTERS:
            continue
        rank = len(type.shape)
        # The larger of both; rows of two that are equal.
        axes = [(rank - 2, _FEWEST_ROWS), (rank - 1, _FEWEST_COLUMNS)]
        axes.sort(key=lambda each: -type.shape[each[0]])
        for axis, least in axes:
            if type.shape[axis] >= 2 * least and _halve(matmul, axis):
                what = "rows" if axis == rank - 2 else "columns"
                return (
                    f"accumulators of {'x'.join(map(str, type.shape))} do not fit the registers: "
                    f"{type.shape[axis] // 2} {what} are computed at a time"
                )
    return ""


def _halve(matmul: Operation, axis: int) -> bool:
    """Compute a matmul, and all that goes with it, in two halves."""
    cut = Cut(2)
    try:
        cut.begin(matmul.results[0], axis)
        block, moved = _moved(cut, matmul)
    except Uncut:
        return False
    _write_halves(cut, block, moved)
    return True


def _moved(cut: Cut, matmul: Operation) -> tuple[Block, list[Operation]]:
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
    for operation in moved:
        for each in pre_order(operation):
            if each.declaration in (ops.STORE_VIEW_TKO, ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO):
                if each.declaration is ops.STORE_VIEW_TKO and each not in cut.stores:
                    raise Uncut
            elif not each.regions and not each.declaration.is_terminator and not is_memory_effect_free(each):
                raise Uncut
        for result in operation.results:
            for user in result.users:
                if _top(user, block) not in moved and not (result.type is TOKEN and _is_behind(user, last, block)):
                    raise Uncut
    check_order(cut, block, moved)
    return block, moved


def _top(operation: Operation, block: Block) -> Operation | None:
    """The operation of a block that another stands in; itself where it stands around."""
    each: Operation | None = operation
    while each is not None and each.parent is not block:
        each = each.parent_operation
    return operation if each is None else each


def _is_behind(user: Operation, last: Operation, block: Block) -> bool:
    top = _top(user, block)
    return top is not None and top.parent is block and last.is_before(top)


def _write_halves(cut: Cut, block: Block, moved: list[Operation]) -> None:
    """A loop over the halves, where the last of the operations stands."""
    last = [each for each in moved if each.parent is block][-1]
    body = Block()
    half = body.add_argument(scalar_tile(I32))

    def place(index: Value, emit: Emit) -> Value:
        doubled = emit.apply(ops.MULI, parts.mapping.get(index, index), integer(emit, 2))
        return emit.apply(ops.ADDI, doubled, half)

    parts = Parts(cut, place, {})
    inside = emit_at_end(body, last)
    for operation in moved:
        parts.write(operation, inside)
    outgoing = [
        result
        for operation in moved
        for result in operation.results
        if result.type is TOKEN and any(_top(user, block) not in moved for user in result.users)
    ]
    outside = Emit(last)
    bounds = [integer(outside, number) for number in (0, 2, 1)]
    given: list[Value] = []
    ready = [parts.mapping[result] for result in outgoing]
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


# --- stages ---


def _split_stages(entry: Operation, target: TritonTarget) -> str:
    for loop in features_of(entry).loops:
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
    counter = block.arguments[0]
    element = tile_of(counter).element
    if element is not I32 or Facts().integer(loop.operands[2]) != 1 or not ends_only_at_its_end(loop):
        return False
    assert isinstance(element, IntegerType)
    matmuls = [each for each in block if each.declaration in MATMULS]
    cut = Cut(2, follows=False)
    try:
        if not matmuls or not _only_accumulates(loop, matmuls):
            return False
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


def _only_accumulates(loop: Operation, matmuls: list[Operation]) -> bool:
    """Whether a loop only adds up matmuls, each in a sum of its own that is not rounded in between."""
    block = loop.regions[0].blocks[0]
    last = block.last
    assert last is not None
    for argument, given in zip(block.arguments[1:], last.operands, strict=True):
        maker = given.defining_operation
        if maker not in matmuls or maker.operands[2] is not argument:
            return False
        if len(argument.users) != 1 or len(given.users) != 1 or tile_of(argument).element is F16:
            return False
    if len(matmuls) != len(last.operands):
        return False
    allowed = (ops.LOAD_VIEW_TKO, ops.LOAD_PTR_TKO)
    return all(
        each is last or each.declaration in allowed or (not each.regions and is_memory_effect_free(each))
        for each in block
    )


def _write_twice(loop: Operation, cut: Cut) -> None:
    outside = Emit(loop)
    start, end, step, *initial = loop.operands
    bounds = [_doubled(outside, each) for each in (start, end)]
    old = loop.regions[0].blocks[0]
    body = Block()
    number = body.add_argument(scalar_tile(I32))
    inside = emit_at_end(body, loop)
    whole = inside.apply(ops.SHRI, number, integer(inside, 1), attributes=SIGNED)
    odd = inside.apply(ops.ANDI, number, integer(inside, 1))

    def place(index: Value, emit: Emit) -> Value:
        if index is old.arguments[0]:
            return number
        doubled = emit.apply(ops.MULI, parts.mapping.get(index, index), integer(emit, 2))
        return emit.apply(ops.ADDI, doubled, odd)

    parts = Parts(cut, place, {old.arguments[0]: whole})
    for argument in old.arguments[1:]:
        parts.mapping[argument] = body.add_argument(argument.type, argument.location)
    for each in old:
        parts.write(each, inside)
    types = [each.type for each in loop.results]
    regions = [Region([body])]
    operands = [*bounds, step, *initial]
    made = outside.create(ops.FOR, operands, types, dict(loop.attributes), regions, segments=loop.segments)
    loop.replace_with(list(made.results))


def _doubled(emit: Emit, value: Value) -> Value:
    known = Facts().integer(value)
    return emit.apply(ops.MULI, value, integer(emit, 2)) if known is None else integer(emit, 2 * known)
