"""Walks one tile block: how often each block of the program runs, and the bytes of each access.

Unknown values lead to a lower bound: a loop whose bounds come from memory runs no iteration, a branch whose condition
does is not taken, and the reason is kept.  Long loops whose accesses depend on their counter alone are walked in part:
their first and last iteration, and some between that represent others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Final, cast

from tileir.dialect import ops
from tileir.dialect.types import PointerType, TileType, TileViewType
from tileir.execute.errors import BlockId
from tileir.execute.locations.source_locations import user_location
from tileir.execute.work.evaluation import (
    EVALUATED,
    Known,
    Mask,
    Ramp,
    Root,
    TileView,
    element_size,
    memory_bytes,
    number,
    uniform,
)
from tileir.ir.core import Block, Operation
from tileir.ir.diagnostics import position_of
from tileir.ir.traversal import ancestors
from tileir.ir.types import IntegerType
from tileir.ir.values import BlockArgument, OperationResult, Value
from tileir.rewrite.matching import if_yields, loop_ends

_MANY_ITERATIONS: Final = 64
_MOST_STEPS: Final = 2_000_000  # A tile block that takes more is not walked to its end.


class TooLong(Exception):
    """A tile block takes more steps than anybody waits for."""


@dataclass(slots=True, eq=False)
class Traffic:
    """What the accesses of one operation came to."""

    count: int = 0
    bytes: int = 0
    roots: dict[Root | None, int] = field(default_factory=dict)  # Bytes by the memory they are in.
    sizes: dict[Root, int] = field(default_factory=dict)  # Bytes of the largest tensor; -1: not known.


def strata(count: int, most: int) -> Iterator[tuple[int, int]]:
    """Samples of the numbers below `count`, each with how many it represents: both ends 1, others evenly."""
    if count <= max(most, 2):
        yield from ((index, 1) for index in range(count))
        return
    yield 0, 1
    inner, parts = count - 2, max(most - 2, 1)
    for part in range(parts):
        begin, end = inner * part // parts, inner * (part + 1) // parts
        yield 1 + (begin + end - 1) // 2, end - begin
    yield count - 1, 1


class Walker:
    """A kernel that is walked for tile blocks one after the other; the counts add up."""

    def __init__(self, entry: Operation, grid: BlockId, arguments: dict[Value, Known]) -> None:
        self.entry: Operation = entry
        self.executions: dict[Block, int] = {}
        self.traffic: dict[Operation, Traffic] = {}
        self.unknown: dict[str, None] = {}  # Why the counts are a lower bound.
        self.assumed: dict[str, None] = {}  # What is counted as a whole although a part of it may not be accessed.
        self.sampled: bool = False  # Whether iterations stand for others.
        self.steps: int = 0
        self._grid: BlockId = grid
        self._block: BlockId = (0, 0, 0)
        self._weight: int = 1
        self.arguments: dict[Value, Known] = arguments
        self._known: dict[Value, Known | None] = {}
        self._deciding: set[Value] = deciding_values(entry)
        self._plans: dict[Block, tuple[list[Operation], int]] = {}
        self._load: int = 0  # Elements that were computed or accessed, the measure of how much a tile block does.
        self._heaviest: float = 0.0

    def walk(self, block: BlockId, weight: int) -> None:
        """Walk one tile block, which stands for `weight` of them."""
        self._block, self._weight = block, weight
        self._known = dict(self.arguments)
        self._limit = self.steps + _MOST_STEPS
        before = self._load
        self._run(self.entry.regions[0].blocks[0])
        self._heaviest = max(self._heaviest, (self._load - before) / weight)

    def imbalance(self, blocks: int) -> float:
        """How much more the heaviest tile block does than all of them on average."""
        return max(self._heaviest * blocks / self._load, 1.0) if self._load else 1.0

    def _plan(self, block: Block) -> tuple[list[Operation], int]:
        """The operations of a block that are walked in each execution, and how many elements the block computes."""
        if block not in self._plans:
            types = [result.type for operation in block for result in operation.results]
            elements = sum([prod(type.shape) for type in types if isinstance(type, TileType)])
            plan = [
                each
                for each in block
                if each.declaration.is_control_flow
                or each.declaration.is_terminator
                or each.declaration.accesses_memory
                or not self._deciding.isdisjoint(each.results)
            ]
            self._plans[block] = plan, elements
        return self._plans[block]

    def _run(self, block: Block) -> Operation | None:
        """Walk a block; returns the terminator that leaves it, None where it is not known how it is left."""
        self.executions[block] = self.executions.get(block, 0) + self._weight
        plan, elements = self._plan(block)
        self._load += elements * self._weight
        self.steps += len(plan)
        if self.steps > self._limit:
            raise TooLong
        known = self._known
        for operation in plan:
            declaration = operation.declaration
            evaluation = EVALUATED.get(declaration)
            if evaluation is not None:
                known.update(zip(operation.results, evaluation(operation, known.get), strict=True))
            elif declaration.accesses_memory:
                known.update(dict.fromkeys(operation.results))
                is_view = (declaration.reads or declaration.writes) == "view"
                access = self._access_view if is_view else self._access_pointers
                access(operation, self.traffic.setdefault(operation, Traffic()))
            elif declaration.is_terminator:
                return operation
            elif declaration.is_control_flow:
                run = {ops.FOR: self._run_for, ops.IF: self._run_if, ops.LOOP: self._run_loop}[declaration]
                goes_on, end = run(operation)
                if not goes_on:
                    return end
            else:
                numbers = {ops.GET_TILE_BLOCK_ID: self._block, ops.GET_NUM_TILE_BLOCKS: self._grid}.get(declaration)
                for axis, result in enumerate(operation.results):
                    known[result] = None if numbers is None else Ramp(numbers[axis], ())
        return block.last

    def _give(self, end: Operation | None, targets: list[Value]) -> None:
        """Pass the operands of a terminator to results or to the next iteration."""
        known = self._known
        given: list[Known | None] = [None] * len(targets)
        if end is not None and len(end.operands) == len(targets):
            given = [known.get(operand) for operand in end.operands]
        known.update(zip(targets, given, strict=True))

    def _run_if(self, operation: Operation) -> tuple[bool, Operation | None]:
        """Whether what follows runs, and if not the terminator that leaves more than the branch, as far as known."""
        condition = number(operation.operands[0], self._known.get(operation.operands[0]))
        results: list[Value] = list(operation.results)
        if condition is None:
            self._lost(operation, "the condition", "neither branch counts")
            self._give(None, results)
            ends = [each for each in operation.walk() if each.declaration.is_terminator]
            # Whether a branch, which may not be taken, leaves more than itself.
            leaves = any(each.declaration is not ops.YIELD and _leaves(each, operation) for each in ends)
            return not leaves, None
        taken = 0 if condition & 1 else 1
        if taken >= len(operation.regions) or not operation.regions[taken].blocks:
            return True, None
        end = self._run(operation.regions[taken].blocks[0])
        if end is None or end.declaration is not ops.YIELD:
            return False, end
        self._give(end, results)
        return True, None

    def _run_for(self, operation: Operation) -> tuple[bool, Operation | None]:
        body = operation.regions[0].blocks[0]
        results: list[Value] = list(operation.results)
        carried: list[BlockArgument] = list(body.arguments[1:])
        signed = not operation.unsigned_cmp
        bounds = [number(value, self._known.get(value), signed=signed) for value in operation.operands[:3]]
        known = self._known
        known.update(zip(carried, [known.get(value) for value in operation.operands[3:]], strict=True))
        lower, upper, step = bounds
        if lower is None or upper is None or step is None or step <= 0:
            self._lost(operation, "a bound", "no iteration counts")
            self._give(None, results)
            return True, None
        span = range(lower, upper, step)
        whole = self._weight
        depends = any(argument in self._deciding for argument in carried)
        most = len(span) if depends else _MANY_ITERATIONS
        if len(span) > most:
            self.sampled = True
        for place, times in strata(len(span), most):
            self._weight = whole * times
            known[body.arguments[0]] = uniform(body.arguments[0], span[place])
            self._give(self._run(body), cast("list[Value]", carried))
        self._weight = whole
        known.update({result: known.get(argument) for result, argument in zip(results, carried, strict=True)})
        return True, None

    def _run_loop(self, operation: Operation) -> tuple[bool, Operation | None]:
        """Until a `break` or a `return`."""
        body = operation.regions[0].blocks[0]
        arguments: list[Value] = list(body.arguments)
        known = self._known
        known.update(zip(arguments, [known.get(value) for value in operation.operands], strict=True))
        while True:
            end = self._run(body)
            if end is None:
                self._lost(operation, "its end", "later iterations do not count")
                self._give(None, list(operation.results))
                return not any(each.declaration is ops.RETURN for each in operation.walk()), None
            if end.declaration is ops.BREAK:
                self._give(end, list(operation.results))
                return True, None
            if end.declaration is ops.RETURN:
                return False, end
            self._give(end, arguments)

    def _lost(self, operation: Operation, what: str, consequence: str) -> None:
        self.unknown[f"{_words(operation)}: {what} is not known without running it, so {consequence}"] = None

    def _access_view(self, operation: Operation, traffic: Traffic) -> None:
        operand = operation.view
        type = cast(TileViewType, operand.type)
        view = self._known.get(operand)
        size = element_size(type.tensor.element)
        root: Root | None = None
        if isinstance(view, TileView):
            root = view.tensor.root
            index = [number(value, self._known.get(value), signed=False) for value in operation.index]
            elements, is_known = view.inside(index)
            if root is not None:
                bytes = view.tensor.bytes
                traffic.sizes[root] = -1 if bytes is None else max(bytes, traffic.sizes.get(root, 0))
        else:
            elements, is_known = prod(type.tile_shape), False
        if not is_known:
            self.assumed[f"{_words(operation)}: counts whole tiles"] = None
        self._count(traffic, root, elements * size)

    def _access_pointers(self, operation: Operation, traffic: Traffic) -> None:
        declaration = operation.declaration
        pointers = operation.operand_group(cast(str, declaration.reads or declaration.writes))[0]
        root = self._known.get(pointers)
        assert root is None or isinstance(root, Root)
        elements = prod(cast(TileType, pointers.type).shape)
        mask = operation.mask
        if mask is not None:
            known = self._known.get(mask)
            if isinstance(known, Mask):
                elements = known.truths
            elif isinstance(known, Ramp):
                elements = known.first & 1
            else:
                self.assumed[f"{_words(operation)}: its mask counts as true everywhere"] = None
        if root is not None:
            traffic.sizes[root] = -1
        self._count(traffic, root, elements * memory_bytes(pointers))

    def _count(self, traffic: Traffic, root: Root | None, bytes: int) -> None:
        traffic.count += self._weight
        traffic.bytes += bytes * self._weight
        traffic.roots[root] = traffic.roots.get(root, 0) + bytes * self._weight


def _leaves(end: Operation, operation: Operation) -> bool:
    """Whether a terminator inside an operation goes beyond it."""
    within = [around for around in ancestors(end) if operation.is_ancestor_of(around) and around is not operation]
    return end.declaration is ops.RETURN or not any(around.declaration.is_loop for around in within)


def _words(operation: Operation) -> str:
    place = position_of(user_location(operation.location))
    return operation.declaration.mnemonic + (f" at {place.file}:{place.line}:{place.column}" if place else "")


def argument_known(value: Value, index: int, given: object) -> Known | None:
    """What a launch's argument determines of a parameter."""
    element = cast(TileType, value.type).element
    if isinstance(element, IntegerType):
        if isinstance(given, bool):
            given = int(given)
        if hasattr(given, "__index__") and not hasattr(given, "shape"):
            return uniform(value, int(given.__index__()))
        return None
    return index if isinstance(element, PointerType) else None


PLACES = ("source", "destination", "pointers", "ptr", "mask", "view", "index")  # Where an access goes.


def deciding_values(entry: Operation) -> set[Value]:
    """The values of a kernel that are to be evaluated."""
    pending: list[Value] = []
    for operation in entry.walk():
        declaration = operation.declaration
        if declaration is ops.FOR:
            pending.extend(operation.operands[:3])
        elif declaration is ops.IF:
            pending.append(operation.operands[0])
        elif declaration.accesses_memory:
            for part in declaration.operands:
                if part.name in PLACES:
                    pending.extend(operation.operand_group(part.name))
    found: set[Value] = set()
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            maker = value.defining_operation
            is_evaluated = maker is not None and maker.declaration in EVALUATED
            pending.extend(maker.operands if maker is not None and is_evaluated else _passed_values(value))
    return found


def _passed_values(value: Value) -> list[Value]:
    """What control flow makes one of its results of, or what a loop carries."""
    if isinstance(value, OperationResult):
        owner, place = value.operation, value.index
        if owner.declaration is ops.FOR:
            return [owner.regions[0].block.arguments[1 + place]]
        if owner.declaration not in (ops.IF, ops.LOOP):
            return []
        ends = if_yields(owner) if owner.declaration is ops.IF else loop_ends(owner, ops.BREAK)
        return [end.operands[place] for end in ends]
    block = value.parent_block
    loop = block.parent_operation if block is not None else None
    if not isinstance(value, BlockArgument) or loop is None or not loop.declaration.is_loop:
        return []
    # In a `for` the number of the iteration comes first, which the bounds decide.
    place = value.index - (loop.declaration is ops.FOR)
    initial = loop.operands[3:] if loop.declaration is ops.FOR else loop.operands
    return [initial[place], *[end.operands[place] for end in loop_ends(loop, ops.CONTINUE)]] if place >= 0 else []
