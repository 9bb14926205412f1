"""Match the operations of one program with those of another.

Functions and globals are matched by name, then by contents.  Inside a pair of functions the strongest keys come first:
what an operation is computed from, and what it is used for.  A change affects the sources of the operations after it
and the uses of those before it, so nearly every operation keeps one of the two.  The rest is matched by its order in
the gaps between matched operations of a block, and last by its operands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tileir.analyze.runs import in_order
from tileir.dialect.ops import BUILTIN_MODULE
from tileir.ir.core import Block, Operation
from tileir.ir.traversal import is_function, post_order, pre_order
from tileir.ir.values import Value

Naming = dict[Value, str]
_Key = Callable[[Operation], object]


def blocks_of(operation: Operation) -> list[Block]:
    return [block for region in operation.regions for block in region.blocks]


class Matching:
    """Pairs of operations, blocks and values; what is in no pair is on one side only.

    `names` are the names of values in the two texts.
    """

    def __init__(self, names: tuple[Naming, Naming]) -> None:
        # From the left to the right, and back.
        self.operations: dict[Operation, Operation] = {}
        self.values: dict[Value, Value] = {}
        self.blocks: dict[Block, Block] = {}
        self.back: dict[Operation, Operation] = {}
        self.names: tuple[Naming, Naming] = names

    def pair(self, left: Operation, right: Operation) -> None:
        """Pair two operations, with their results, blocks and block arguments; unless one of them has a partner."""
        if left in self.operations or right in self.back:
            return
        self.operations[left] = right
        self.back[right] = left
        self.values.update(zip(left.results, right.results, strict=False))
        for block, other in zip(blocks_of(left), blocks_of(right), strict=False):
            self.blocks[block] = other
            for index, other_index in self._paired_arguments(block.arguments, other.arguments):
                self.values[block.arguments[index]] = other.arguments[other_index]

    def _paired_arguments(self, left: Sequence[Value], right: Sequence[Value]) -> list[tuple[int, int]]:
        """Pair arguments in order; if some were added or exchanged, by name and type, or by type."""
        types, others = [value.type for value in left], [value.type for value in right]
        if len(types) == len(others) and (types == others or sorted(map(id, types)) != sorted(map(id, others))):
            return [(index, index) for index in range(len(types))]
        left_names, right_names = self.names
        named = [(left_names.get(value), value.type) for value in left]
        return in_order(named, [(right_names.get(value), value.type) for value in right]) or in_order(types, others)


class _Keys(NamedTuple):
    """Structural keys of the operations of a function, as numbers; each comes before what it contains.

    Values are distinguished by where they come from; nothing is found by hash alone, so equal numbers mean equal
    things.
    """

    header: dict[Operation, int]
    """The operation itself, without its operands."""
    source: dict[Operation, int]
    """The same with all that it is computed from."""
    use: dict[Operation, int]
    """The same with all its uses."""
    path: dict[Operation, int]
    """The operations that contain it."""


def _keys(function: Operation, number: Callable[[object], int], values: dict[Value, object]) -> _Keys:
    keys = _Keys({}, {}, {}, {function: number(function.declaration)})
    for operation in pre_order(function)[1:]:
        header = keys.header[operation] = number(
            (
                operation.declaration,
                frozenset(operation.attributes.items()) if operation.attributes else None,
                operation.segments,
                tuple([result.type for result in operation.results]),
                tuple([tuple([argument.type for argument in block.arguments]) for block in blocks_of(operation)]),
            )
        )
        # A parameter without a partner has no source, nor has a value that an invalid program uses too early.
        operands = tuple([values.get(value, value) for value in operation.operands])
        source = keys.source[operation] = number((header, operands))
        values.update({result: (source, result.index) for result in operation.results})
        for index, block in enumerate(blocks_of(operation)):
            values.update({argument: (source, index, argument.index) for argument in block.arguments})
        parent = operation.parent_operation
        assert parent is not None and operation.parent is not None
        region = operation.parent.parent
        index = parent.regions.index(region) if region is not None and len(parent.regions) > 1 else 0
        keys.path[operation] = number((keys.path[parent], index, operation.declaration))
    uses: dict[Value, list[tuple[int, int]]] = {}
    # An operation comes before what it contains here, too: its terminators return its results.
    for operation in reversed(post_order(function)[:-1]):
        found: list[object] = [tuple(sorted(uses.get(result, ()))) for result in operation.results]
        parent = operation.parent_operation
        if operation.parent is not None and operation.parent.last is operation and parent in keys.use:
            found.append(keys.use[parent])
        use = keys.use[operation] = number((keys.header[operation], tuple(found)))
        for index, value in enumerate(operation.operands):
            uses.setdefault(value, []).append((use, index))
    return keys


class FunctionMatcher:
    """Matches what is in two functions that are a pair already."""

    def __init__(self, matching: Matching, left: Operation, right: Operation) -> None:
        self._matching: Matching = matching
        self._left: Operation = left
        numbers: dict[object, int] = {}
        left_values: dict[Value, object] = {}
        right_values: dict[Value, object] = {}
        for index, value in enumerate([each for block in blocks_of(left) for each in block.arguments]):
            if value in matching.values:
                left_values[value] = right_values[matching.values[value]] = index

        def number(thing: object) -> int:
            return numbers.setdefault(thing, len(numbers))

        self._keys: tuple[_Keys, _Keys] = _keys(left, number, left_values), _keys(right, number, right_values)

    def match(self) -> None:
        left, right = self._keys
        self._pair_equal_keys(*[_with_path(keys, keys.source) for keys in self._keys])
        self._pair_equal_keys(*[_with_path(keys, keys.use) for keys in self._keys])
        self._pair_equal_keys(left.source, right.source)
        # The same operation with other types and attributes; an operation that replaces another.
        self._fill_gaps(
            [
                (left.header.get, right.header.get),
                (self._named(0), self._named(1)),
                (lambda operation: operation.declaration, lambda operation: operation.declaration),
                (self._replaced(0), self._replaced(1)),
            ]
        )
        self._pair_equal_keys(left.source, right.source, same_count=False)
        # Moved operations with other attributes: by their operands.
        self._pair_equal_keys(self._applied(0), self._applied(1))

    def _pair_equal_keys(
        self, left: Mapping[Operation, object], right: Mapping[Operation, object], *, same_count: bool = True
    ) -> None:
        """Pair operations with equal keys, in their order; with `same_count` only equally many on both sides."""
        waiting: dict[object, list[Operation]] = {}
        for operation, key in right.items():
            if operation not in self._matching.back:
                waiting.setdefault(key, []).append(operation)
        groups: dict[object, list[Operation]] = {}
        for operation, key in left.items():
            if operation not in self._matching.operations and key in waiting:
                groups.setdefault(key, []).append(operation)
        for key, group in groups.items():
            if not same_count or len(group) == len(waiting[key]):
                for one, other in zip(group, waiting[key], strict=False):
                    self._matching.pair(one, other)

    def _fill_gaps(self, keys: list[tuple[_Key, _Key]]) -> None:
        """Pair unmatched operations between matched neighbors in order, by one key after the other."""
        matching = self._matching
        for owner in (self._left, *self._keys[0].header):
            partner = matching.operations.get(owner)
            for block, other in zip(blocks_of(owner), blocks_of(partner), strict=False) if partner is not None else ():
                left, right = list(block), list(other)
                for left_key, right_key in keys:
                    fixed = in_order([matching.operations.get(each) for each in left], right)
                    left_gaps = _gaps(left, {index for index, _ in fixed}, matching.operations, left_key)
                    right_gaps = _gaps(right, {index for _, index in fixed}, matching.back, right_key)
                    for index, other_index in in_order([key for _, key in left_gaps], [key for _, key in right_gaps]):
                        matching.pair(left_gaps[index][0], right_gaps[other_index][0])

    def _applied(self, side: int) -> dict[Operation, object]:
        """Unmatched operations, by name and matched operands."""
        values = self._matching.values
        matched = self._matching.back if side else self._matching.operations
        return {
            each: (each.declaration, tuple([value if side else values.get(value) for value in each.operands]))
            for each in self._keys[side].header
            if each not in matched and each.operands
        }

    def _named(self, side: int) -> _Key:
        """By the name of the operation and the author's name of its result; without a name nothing is equal."""
        names = self._matching.names[side]

        def key(operation: Operation) -> object:
            name = names.get(operation.results[0]) if operation.results else None
            return (operation.declaration, name) if name is not None else (side, operation)

        return key

    def _replaced(self, side: int) -> _Key:
        """An operation that replaces another: by the operands, and the types of the results."""
        values = self._matching.values

        def key(operation: Operation) -> object:
            if operation.regions or not operation.operands or not operation.results:
                return (side, operation)
            operands = tuple([value if side else values.get(value, value) for value in operation.operands])
            return operands, tuple([result.type for result in operation.results])

        return key


def _with_path(keys: _Keys, numbers: dict[Operation, int]) -> dict[Operation, object]:
    return {each: (number, keys.path[each]) for each, number in numbers.items()}


def _gaps(
    operations: list[Operation], fixed: set[int], matched: Mapping[Operation, Operation], key: _Key
) -> list[tuple[Operation, object]]:
    """The unmatched operations of a block, by the number of their gap and by a key."""
    found: list[tuple[Operation, object]] = []
    gap = 0
    for index, operation in enumerate(operations):
        gap += index in fixed
        if operation not in matched:
            found.append((operation, (gap, key(operation))))
    return found


_SIMILAR = 0.5
"""How much of two functions must be the same for one to be the other, renamed."""
_MOST_PAIRS = 1 << 14
"""The most pairs of functions without a partner that are compared."""


def unwrapped(module: Operation) -> Operation:
    """The module inside of one that has nothing else in it: MLIR's tools put one around every file."""
    while module.declaration is BUILTIN_MODULE and len(blocks_of(module)) == 1:
        inside = list(blocks_of(module)[0])
        if len(inside) != 1 or not inside[0].regions or is_function(inside[0]):
            break
        module = inside[0]
    return module


def _symbols(module: Operation) -> list[Operation]:
    """The operations of a module with a name: functions, globals, modules inside; each before what it contains."""
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
    left_symbols, right_symbols = _symbols(left), _symbols(right)
    by_name: dict[object, list[Operation]] = {}
    for operation in reversed(right_symbols):
        by_name.setdefault((operation.declaration, operation.symbol_name), []).append(operation)
    found: dict[Operation, Operation] = {}
    for operation in left_symbols:
        candidates = by_name.get((operation.declaration, operation.symbol_name))
        if candidates:
            found[operation] = candidates.pop()
    partners = set(found.values())
    others = [each for each in right_symbols if each not in partners]
    found.update(_similar([each for each in left_symbols if each not in found], others))
    return [(operation, found[operation]) for operation in left_symbols if operation in found]


def _similar(left: list[Operation], right: list[Operation]) -> dict[Operation, Operation]:
    """Pairs of functions that have at least half of their operations in common, the most similar first."""
    if len(left) * len(right) > _MOST_PAIRS:
        return {}
    counts = {operation: Counter([_header(each) for each in operation.walk()]) for operation in [*left, *right]}
    scores: list[tuple[float, int, int]] = []
    for index, one in enumerate(left):
        for other_index, other in enumerate(right):
            if one.declaration is other.declaration:
                shared = (counts[one] & counts[other]).total()
                scores.append((2 * shared / (counts[one].total() + counts[other].total()), -index, -other_index))
    found: dict[Operation, Operation] = {}
    for score, index, other_index in sorted(scores, reverse=True):
        one, other = left[-index], right[-other_index]
        if score >= _SIMILAR and one not in found and other not in found.values():
            found[one] = other
    return found


def _header(operation: Operation) -> object:
    """Declaration, attributes and result types of an operation, without the name of a symbol."""
    attributes = {name: value for name, value in operation.attributes.items() if name != "sym_name"}
    return operation.declaration, frozenset(attributes.items()), tuple([result.type for result in operation.results])


def matched(left: Operation, right: Operation, names: tuple[Naming, Naming]) -> Matching:
    """The pairs of two programs; `names` are the names of values in their texts."""
    matching = Matching(names)
    matching.pair(left, right)
    for one, other in _paired_symbols(left, right):
        matching.pair(one, other)
        if one.regions and other.regions:
            FunctionMatcher(matching, one, other).match()
    return matching
