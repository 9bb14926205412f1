"""Which operations of one program are those of another.

Functions and globals go together by name, then by what is in them.  Inside a pair of functions the surest evidence
comes first: operations computed from the same and used for the same, one of the two, then with other types and
attributes.  What is left is found from its neighbours: operands and users of what is matched, and the gaps between
matched operations of a block, where order decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from tileir.analyze.difference.keys import Keys, Numbers
from tileir.analyze.runs import in_order, longest_run
from tileir.forking import cached_property
from tileir.ir.core import Block, Operation
from tileir.ir.values import OperationResult, Value

Naming = dict[Value, str]
_Key = Callable[[Operation], object]


class Matching:
    """Pairs of operations, blocks and values; what is in none of them is on one side only."""

    def __init__(self) -> None:
        self.operations: dict[Operation, Operation] = {}
        """From the left to the right."""
        self.values: dict[Value, Value] = {}
        self.blocks: dict[Block, Block] = {}
        self.back: dict[Operation, Operation] = {}
        """From the right to the left."""

    def pair(self, left: Operation, right: Operation) -> None:
        self.operations[left] = right
        self.back[right] = left
        for mine, theirs in zip(left.results, right.results, strict=False):
            self.values[mine] = theirs
        for region, other in zip(left.regions, right.regions, strict=False):
            for block, counterpart in zip(region.blocks, other.blocks, strict=False):
                self.blocks[block] = counterpart
                kinds = [argument.type for argument in block.arguments]
                others = [argument.type for argument in counterpart.arguments]
                if len(kinds) == len(others):
                    pairs = [(place, place) for place in range(len(kinds))]
                else:
                    pairs = in_order(kinds, others)
                for place, there in pairs:
                    self.values[block.arguments[place]] = counterpart.arguments[there]

    def is_free(self, left: Operation, right: Operation) -> bool:
        return left not in self.operations and right not in self.back


class FunctionMatcher:
    """Matches what is in two functions that are a pair already."""

    def __init__(self, matching: Matching, left: Operation, right: Operation, names: tuple[Naming, Naming]) -> None:
        self._matching: Matching = matching
        self._left: Operation = left
        self._right: Operation = right
        self._fresh: deque[tuple[Operation, Operation]] = deque()
        numbers = Numbers()
        parameters = self._parameters(names)
        mine = {value: place for place, (value, _) in enumerate(parameters)}
        theirs = {value: place for place, (_, value) in enumerate(parameters)}
        self._numbers: Numbers = numbers
        self._parameter_numbers: tuple[dict[Value, int], dict[Value, int]] = (
            _numbered(left, mine, 1),
            _numbered(right, theirs, 2),
        )
        self._strict: tuple[Keys, Keys] = (
            Keys(left, numbers, self._parameter_numbers[0], True),
            Keys(right, numbers, self._parameter_numbers[1], True),
        )
        self._names: tuple[Naming, Naming] = names

    def _parameters(self, names: tuple[Naming, Naming]) -> list[tuple[Value, Value]]:
        """Parameters go together by name and type, then by type; else in their order."""
        mine = [value for block in _blocks(self._left)[:1] for value in block.arguments]
        theirs = [value for block in _blocks(self._right)[:1] for value in block.arguments]
        types, others = [value.type for value in mine], [value.type for value in theirs]
        if len(mine) == len(theirs) and (types == others or sorted(map(id, types)) != sorted(map(id, others))):
            pairs = [(place, place) for place in range(len(mine))]
        else:
            named = [(names[0].get(value), value.type) for value in mine]
            pairs = in_order(named, [(names[1].get(value), value.type) for value in theirs])
            if len(pairs) < min(len(mine), len(theirs)) // 2 + 1:
                pairs = in_order(types, others)
        found: list[tuple[Value, Value]] = [(mine[place], theirs[there]) for place, there in pairs]
        for value in mine:
            self._matching.values.pop(value, None)
        self._matching.values.update(found)
        return found

    def match(self) -> None:
        for left, right in zip(_blocks(self._left), _blocks(self._right), strict=False):
            self._matching.blocks[left] = right
        strict = self._strict
        sources = [self._with_path(keys, keys.source) for keys in strict]
        both = [self._both(keys) for keys in strict]
        anywhere = [{each: (keys.source[each], keys.use[each]) for each in keys.header} for keys in strict]
        for one, other in (both, sources, [self._with_path(keys, keys.use) for keys in strict], anywhere):
            self._pair_alike(one, other, even=True)
        if self._is_done():
            return
        self._spread(strict[0].shape, strict[1].shape)
        # Where there are more on one side, those go together that stand together; then those that do not.
        self._fill_gaps([(both[0].get, both[1].get), (sources[0].get, sources[1].get)])
        for one, other in (both, sources, anywhere):
            self._pair_alike(one, other)
        self._pair_alike(strict[0].source, strict[1].source, even=True)
        self._pair_alike(strict[0].use, strict[1].use, even=True, apart=False)
        self._spread(strict[0].header, strict[1].header)
        if self._is_done():
            return
        # The same with other types and attributes.
        loose = self._loose
        self._pair_alike(self._both(loose[0]), self._both(loose[1]), even=True)
        self._pair_alike(*[self._with_path(keys, keys.source) for keys in loose], even=True)
        self._pair_alike(*[self._with_path(keys, keys.use) for keys in loose], even=True)
        self._spread(loose[0].header, loose[1].header)
        self._fill_gaps(
            [
                (strict[0].shape.get, strict[1].shape.get),
                (self._named(0), self._named(1)),
                (strict[0].header.get, strict[1].header.get),
                (loose[0].header.get, loose[1].header.get),
                (self._replaced(True), self._replaced(False)),
            ]
        )
        # What stands elsewhere, with other attributes: its operands tell.
        self._pair_alike(self._applied(0), self._applied(1), even=True)

    def _is_done(self) -> bool:
        """Whether one of the two has nothing left to be matched."""
        matching = self._matching
        mine, theirs = self._strict
        return all(each in matching.operations for each in mine.header) or all(
            each in matching.back for each in theirs.header
        )

    @cached_property
    def _loose(self) -> tuple[Keys, Keys]:
        """Keys without types and attributes, made when they are needed."""
        left, right = self._parameter_numbers
        return Keys(self._left, self._numbers, left, False), Keys(self._right, self._numbers, right, False)

    # --- by keys ---

    def _both(self, keys: Keys) -> dict[Operation, object]:
        return {each: (keys.source[each], keys.use[each], keys.path[each]) for each in keys.header}

    def _with_path(self, keys: Keys, numbers: dict[Operation, int]) -> dict[Operation, object]:
        return {each: (numbers[each], keys.path[each]) for each in keys.header}

    def _pair_alike(
        self,
        left: Mapping[Operation, object],
        right: Mapping[Operation, object],
        *,
        even: bool = False,
        apart: bool = True,
    ) -> None:
        """Let operations with equal keys meet, in their order; with `even` only where there are as many on both sides,
        without `apart` only where what they are in is a pair."""
        matching = self._matching
        waiting: dict[object, list[Operation]] = {}
        for operation, key in right.items():
            if operation not in matching.back:
                waiting.setdefault(key, []).append(operation)
        groups: dict[object, list[Operation]] = {}
        for operation, key in left.items():
            if operation not in matching.operations and key in waiting:
                groups.setdefault(key, []).append(operation)
        # What contains others comes after them in these lists: whole regions go first.
        for key in reversed(list(groups)):
            mine, theirs = groups[key], waiting[key]
            if even and len(mine) != len(theirs):
                continue
            for one, other in zip(mine, theirs, strict=False):
                if matching.is_free(one, other) and (apart or self._are_together(one, other)):
                    self._pair(one, other)

    def _pair(self, left: Operation, right: Operation) -> None:
        """A pair, and where all that is in them is alike, also that."""
        strict = self._strict
        whole = bool(left.regions) and strict[0].source[left] == strict[1].source[right]
        pending = [(left, right)]
        while pending:
            one, other = pending.pop()
            self._matching.pair(one, other)
            self._fresh.append((one, other))
            if whole:
                for mine, theirs in zip(_blocks(one), _blocks(other), strict=True):
                    for inner, counterpart in zip(mine, theirs, strict=True):
                        if self._matching.is_free(inner, counterpart):
                            pending.append((inner, counterpart))

    def _are_together(self, left: Operation, right: Operation) -> bool:
        """Whether the blocks of two operations are a pair."""
        return left.parent is not None and self._matching.blocks.get(left.parent) is right.parent

    # --- by neighbours ---

    def _spread(self, left: dict[Operation, int], right: dict[Operation, int]) -> None:
        """Let operands, users and terminators of pairs meet that have equal keys and are in blocks that are a pair."""
        pending = deque(self._matching.operations.items())
        self._fresh.clear()
        while pending or self._fresh:
            one, other = pending.popleft() if pending else self._fresh.popleft()
            for mine, theirs in zip(one.operands, other.operands, strict=False):
                if isinstance(mine, OperationResult) and isinstance(theirs, OperationResult):
                    if mine.index == theirs.index:
                        self._try(mine.operation, theirs.operation, left, right)
            for result, counterpart in zip(one.results, other.results, strict=False):
                if result.has_one_user_at_most and counterpart.has_one_user_at_most:
                    for user, their_user in zip(result.users, counterpart.users, strict=False):
                        self._try(user, their_user, left, right)
            for block, other_block in zip(_blocks(one), _blocks(other), strict=False):
                if block.last is not None and other_block.last is not None:
                    self._try(block.last, other_block.last, left, right)

    def _try(self, one: Operation, other: Operation, left: dict[Operation, int], right: dict[Operation, int]) -> None:
        key = left.get(one)
        if key is None or key != right.get(other) or not self._matching.is_free(one, other):
            return
        if self._are_together(one, other):
            self._pair(one, other)

    # --- by place ---

    def _fill_gaps(self, ways: list[tuple[_Key, _Key]]) -> None:
        """Between neighbours that are matched, what is left goes together in order, by one key after the other."""
        done: set[Block] = set()
        pending = deque(self._matching.blocks)
        while pending:
            block = pending.popleft()
            other = self._matching.blocks.get(block)
            if other is None or block in done or not self._is_mine(block):
                continue
            done.add(block)
            for one, counterpart in ways:
                for mine, theirs in self._gaps(block, other):
                    for place, there in in_order([one(each) for each in mine], [counterpart(each) for each in theirs]):
                        if self._matching.is_free(mine[place], theirs[there]):
                            self._pair(mine[place], theirs[there])
            for operation in block:
                if operation in self._matching.operations:
                    pending.extend(_blocks(operation))

    def _is_mine(self, block: Block) -> bool:
        owner = block.parent_operation
        return owner is self._left or owner in self._strict[0].header

    def _named(self, side: int) -> _Key:
        """By what the author calls the result, and the name of the operation."""
        names, header = self._names[side], self._loose[side].header

        def key(operation: Operation) -> object:
            name = names.get(operation.results[0]) if operation.results else None
            # Nothing is called alike where nothing is called anything.
            return (header[operation], name) if name is not None else (side, operation)

        return key

    def _gaps(self, block: Block, other: Block) -> list[tuple[list[Operation], list[Operation]]]:
        """What is unmatched between neighbours of two blocks that keep their order."""
        matching = self._matching
        theirs = list(other)
        places = {operation: place for place, operation in enumerate(theirs)}
        pairs = [
            (operation, places[matching.operations[operation]])
            for operation in block
            if matching.operations.get(operation) in places
        ]
        stays = {pairs[index][0]: pairs[index][1] for index in longest_run([place for _, place in pairs])}
        found: list[tuple[list[Operation], list[Operation]]] = []
        gap: list[Operation] = []
        reached = 0
        for operation in [*block, None]:
            if operation is not None and operation not in stays:
                if operation not in matching.operations:
                    gap.append(operation)
                continue
            end = stays[operation] if operation is not None else len(theirs)
            if gap:
                free = [each for each in theirs[reached:end] if each not in matching.back]
                if free:
                    found.append((gap, free))
            gap, reached = [], end + 1
        return found

    def _applied(self, side: int) -> dict[Operation, object]:
        """What is left, by its name and operands that are matched."""
        values, loose = self._matching.values, self._loose[side].header
        taken = self._matching.back if side else self._matching.operations
        return {
            each: (loose[each], tuple([value if side else values.get(value) for value in each.operands]))
            for each in loose
            if each not in taken and each.operands
        }

    def _replaced(self, is_left: bool) -> _Key:
        """Another operation in the place of one: by the operands, and the types of the results."""
        values = self._matching.values

        def key(operation: Operation) -> object:
            if operation.regions or not operation.operands or not operation.results:
                return (is_left, operation)
            taken = tuple([values.get(value, value) if is_left else value for value in operation.operands])
            return taken, tuple([result.type for result in operation.results])

        return key


def _blocks(operation: Operation) -> list[Block]:
    return [block for region in operation.regions for block in region.blocks]


def _numbered(function: Operation, shared: dict[Value, int], side: int) -> dict[Value, int]:
    """Numbers of parameters, the same for those that go together."""
    found: dict[Value, int] = {}
    for block in _blocks(function)[:1]:
        for argument in block.arguments:
            known = shared.get(argument)
            found[argument] = known if known is not None else -side * 1_000_000 - argument.index
    return found


def matched(
    left: Operation, right: Operation, names: tuple[Naming, Naming], functions: Sequence[tuple[Operation, Operation]]
) -> Matching:
    """The pairs of two programs, given those of their functions and globals."""
    matching = Matching()
    matching.pair(left, right)
    for one, other in functions:
        matching.pair(one, other)
        if one.regions and other.regions:
            FunctionMatcher(matching, one, other, names).match()
    return matching
