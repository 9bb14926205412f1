"""Which operations of one program are those of another.

Functions and globals go together by name, then by what is in them.  Inside a pair of functions the surest evidence
comes first: operations computed from the same and used for the same, one of the two, then with other types and
attributes.  What is left is found from its neighbors: operands and users of what is matched, and the gaps between
matched operations of a block, where order decides.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping

from tileir.analyze.difference.keys import Keys, Numbers, blocks_of
from tileir.analyze.runs import in_order, longest_run
from tileir.dialect.ops import BUILTIN_MODULE
from tileir.forking import cached_property
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import is_function
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
        self._recent: deque[tuple[Operation, Operation]] = deque()
        self._names: tuple[Naming, Naming] = names
        self._numbers: Numbers = Numbers()
        self._parameters: list[tuple[Value, Value]] = self._paired_parameters()
        self._strict: tuple[Keys, Keys] = self._keys(strict=True)

    def _keys(self, strict: bool) -> tuple[Keys, Keys]:
        mine = {value: place for place, (value, _) in enumerate(self._parameters)}
        theirs = {value: place for place, (_, value) in enumerate(self._parameters)}
        return Keys(self._left, self._numbers, mine, strict), Keys(self._right, self._numbers, theirs, strict)

    def _paired_parameters(self) -> list[tuple[Value, Value]]:
        """Parameters go together by name and type, then by type; else in their order."""
        names = self._names
        mine = [value for block in blocks_of(self._left)[:1] for value in block.arguments]
        theirs = [value for block in blocks_of(self._right)[:1] for value in block.arguments]
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
        for left, right in zip(blocks_of(self._left), blocks_of(self._right), strict=False):
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
        self._pair_alike(*[self._both(keys) for keys in loose], even=True)
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
        # What stands elsewhere, with other attributes: by its operands.
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
        return self._keys(strict=False)

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
            self._recent.append((one, other))
            if whole:
                for mine, theirs in zip(blocks_of(one), blocks_of(other), strict=True):
                    for inner, counterpart in zip(mine, theirs, strict=True):
                        if self._matching.is_free(inner, counterpart):
                            pending.append((inner, counterpart))

    def _are_together(self, left: Operation, right: Operation) -> bool:
        """Whether the blocks of two operations are a pair."""
        return left.parent is not None and self._matching.blocks.get(left.parent) is right.parent

    # --- by neighbors ---

    def _spread(self, left: dict[Operation, int], right: dict[Operation, int]) -> None:
        """Let operands, users and terminators of pairs meet that have equal keys and are in blocks that are a pair."""
        pending = deque(self._matching.operations.items())
        self._recent.clear()
        while pending or self._recent:
            one, other = pending.popleft() if pending else self._recent.popleft()
            for mine, theirs in zip(one.operands, other.operands, strict=False):
                if isinstance(mine, OperationResult) and isinstance(theirs, OperationResult):
                    if mine.index == theirs.index:
                        self._try(mine.operation, theirs.operation, left, right)
            for result, counterpart in zip(one.results, other.results, strict=False):
                if result.has_one_user_at_most and counterpart.has_one_user_at_most:
                    for user, their_user in zip(result.users, counterpart.users, strict=False):
                        self._try(user, their_user, left, right)
            for block, other_block in zip(blocks_of(one), blocks_of(other), strict=False):
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
        """Between neighbors that are matched, what is left goes together in order, by one key after the other."""
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
                    pending.extend(blocks_of(operation))

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
        """What is unmatched between neighbors of two blocks that keep their order."""
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


# --- functions and globals ---

_SIMILAR = 0.5
"""How much of two functions must be the same for one to be the other, renamed."""
_MOST_PAIRS = 1 << 14
"""So many pairs of functions without a partner are compared at most."""


def unwrapped(module: Operation) -> Operation:
    """The module inside of one that has nothing else in it: MLIR's tools put one around every file."""
    while module.declaration is BUILTIN_MODULE and module.regions and len(module.regions[0].blocks) == 1:
        block = module.regions[0].blocks[0]
        if block.first is None or block.first is not block.last or not block.first.regions:
            break
        if is_function(block.first):
            break
        module = block.first
    return module


def _symbols(module: Operation) -> list[Operation]:
    """What has a name in a module: functions, globals, modules inside; each before what it contains."""
    found: list[Operation] = []
    pending = [module]
    while pending:
        operation = pending.pop()
        found.append(operation)
        if not is_function(operation):
            pending.extend([inner for block in reversed(blocks_of(operation)) for inner in reversed(list(block))])
    return found[1:]


def _paired_symbols(left: Operation, right: Operation) -> list[tuple[Operation, Operation]]:
    """The pairs, in the order of the left program: by name, then by contents."""
    mine, theirs = _symbols(left), _symbols(right)
    by_name: dict[object, list[Operation]] = {}
    for operation in reversed(theirs):
        by_name.setdefault((operation.declaration, operation.symbol_name), []).append(operation)
    found: dict[Operation, Operation] = {}
    for operation in mine:
        candidates = by_name.get((operation.declaration, operation.symbol_name))
        if candidates:
            found[operation] = candidates.pop()
    partners = set(found.values())
    others = [each for each in theirs if each not in partners]
    found.update(_similar([each for each in mine if each not in found], others))
    return [(operation, found[operation]) for operation in mine if operation in found]


def _similar(mine: list[Operation], theirs: list[Operation]) -> list[tuple[Operation, Operation]]:
    """Pairs of functions that have at least half of their operations in common, the most similar first."""
    if len(mine) * len(theirs) > _MOST_PAIRS:
        return []
    counts = {operation: Counter([_line(each) for each in operation.walk()]) for operation in [*mine, *theirs]}
    scores: list[tuple[float, int, int]] = []
    for place, one in enumerate(mine):
        for there, other in enumerate(theirs):
            if one.declaration is other.declaration:
                shared = (counts[one] & counts[other]).total()
                scores.append((2 * shared / (counts[one].total() + counts[other].total()), -place, -there))
    found: dict[Operation, Operation] = {}
    partners: set[Operation] = set()
    for score, place, there in sorted(scores, reverse=True):
        one, other = mine[-place], theirs[-there]
        if score >= _SIMILAR and one not in found and other not in partners:
            found[one] = other
            partners.add(other)
    return list(found.items())


def _line(operation: Operation) -> object:
    """What an operation says, without its name, operands and regions."""
    attributes = {name: value for name, value in operation.attributes.items() if name != "sym_name"}
    return operation.declaration, frozenset(attributes.items()), tuple([result.type for result in operation.results])


def matched(left: Operation, right: Operation, names: tuple[Naming, Naming]) -> Matching:
    """The pairs of two programs; `names` are those that their authors gave to values."""
    matching = Matching()
    matching.pair(left, right)
    for one, other in _paired_symbols(left, right):
        matching.pair(one, other)
        if one.regions and other.regions:
            FunctionMatcher(matching, one, other, names).match()
    return matching
