"""Split a `for` in two where a condition on its induction variable changes.

    for %i in (lb to ub, step s) { if %i < %n { A } else { B } }
->
    for %i in (lb to min(n, ub), step s) { A }
    for %i in (max(n, lb) to ub, step s) { B }

The model.  A loop is split at the first `if` inside it (in post-order, so inner ones come first) that satisfies:

1. its condition is a `cmpi` of the loop's induction variable, on either side, with a value defined outside the loop;
2. the relation is an order (less or greater, or equal), compared as the loop compares (signed, or `unsigned`);
3. its threshold is not 0.  The threshold is the discardable integer attribute `cuda_tile.loop_split` of the `if`, else
   of the `for`, else of the function, else the pass option `split-threshold` (1);
4. it pays: the threshold is 1, or some `if` on the same condition has a branch with at least that many operations or
   with one that is expensive (a load, a store, mmaf, mmai, reduce, if, for).

Each loop is split at most once, inner loops before the ones around them: splitting at every condition would double the
loops with each.  NVIDIA's pass leaves a half with another condition to its next run; here such a half is marked with
the threshold 0, so that running the pass again changes nothing (not by the drop-in tool, whose output is NVIDIA's).
In the halves:

5. an `if` on the condition that stands directly in the body gives way to the branch taken.  A branch that ends in
   `continue` ends the body;
6. the comparison is a constant for everything else that uses it, or gone if nothing does;
7. the second loop starts from the first one's results.  Attributes of the loop are kept on both.

The split point is the value compared with, one more for `greater_than` and `less_than_or_equal`.  If the step is not
the constant 1, it is moved up to the next value that the induction variable takes:

    split = lb + ceil((split - lb) / step) * step

8. These sums can wrap, and then NVIDIA's form of the computation splits at the wrong place (docs/conflicts.md H10).  It
   is used where value ranges prove that nothing wraps; otherwise a longer form is, which is right for all values.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.enums import COMPARISON_PREDICATE, ROUNDING, SIGNEDNESS
from tileir.dialect.ops import (
    ADDI,
    CMPI,
    CONSTANT,
    CONTINUE,
    DIVI,
    FOR,
    IF,
    LOAD_PTR_TKO,
    LOAD_VIEW_TKO,
    MAXI,
    MINI,
    MMAF,
    MMAI,
    MULI,
    REDUCE,
    SELECT,
    STORE_PTR_TKO,
    STORE_VIEW_TKO,
    SUBI,
    YIELD,
)
from tileir.dialect.types import TileType, scalar_tile
from tileir.ir.attributes import Attribute, IntegerAttribute, integer_attribute
from tileir.ir.core import NO_REGIONS, Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import dense_attribute
from tileir.ir.location import joined_location
from tileir.ir.traversal import clone, functions, post_order
from tileir.ir.types import I1, I64, IntegerType
from tileir.ir.values import BlockArgument, Value
from tileir.rewrite.facts import Facts
from tileir.rewrite.rewriter import Rewriter

_THRESHOLD: Final = "cuda_tile.loop_split"
_NEVER: Final = integer_attribute(I64, 0)

_SWAPPED: Final[dict[str, str]] = {
    "less_than": "greater_than",
    "less_than_or_equal": "greater_than_or_equal",
    "greater_than": "less_than",
    "greater_than_or_equal": "less_than_or_equal",
}
_EXPENSIVE: Final = frozenset(
    [
        LOAD_PTR_TKO,
        LOAD_VIEW_TKO,
        STORE_PTR_TKO,
        STORE_VIEW_TKO,
        MMAF,
        MMAI,
        REDUCE,
        IF,
        FOR,
    ]
)


class _Condition:
    """A comparison a loop can be split at: `induction variable <relation> bound`."""

    __slots__ = ("bound", "comparison", "relation")

    def __init__(self, comparison: Operation, relation: str, bound: Value) -> None:
        self.comparison: Operation = comparison
        self.relation: str = relation
        self.bound: Value = bound

    @property
    def holds_first(self) -> bool:
        """Whether the condition is true in the first of the two loops."""
        return self.relation in ("less_than", "less_than_or_equal")


def run(root: Operation, split_threshold: int = 1, mark: bool = True, keep_locations: bool = False) -> int:
    """Split loops in the functions of `root`; gives how many.  `mark` makes a second run do nothing.

    With `keep_locations` the loops and where they meet have the locations of the condition and its `if`s too.
    """
    count = 0
    for function in functions(root):
        hint = _hint(function)
        threshold = split_threshold if hint is None else hint
        for operation in post_order(function):
            if operation.declaration is FOR:
                condition = _split_condition(operation, threshold)
                if condition is not None:
                    if keep_locations:
                        _keep_locations(operation, condition)
                    halves = _split(operation, condition)
                    if mark:
                        for half in halves:
                            _keep_whole(half, threshold)
                    count += 1
    return count


# --- when to split ---


def _hint(operation: Operation) -> int | None:
    value = operation.attributes.get(_THRESHOLD)
    return value.value if isinstance(value, IntegerAttribute) else None


def _split_condition(loop: Operation, default_threshold: int) -> _Condition | None:
    """The condition of the first `if` that satisfies rules 1 to 4."""
    candidates = _candidates(loop)
    if not candidates:
        return None
    hint = _hint(loop)
    threshold = default_threshold if hint is None else hint
    branches = list(candidates) if len(candidates) == 1 else [o for o in post_order(loop) if o in candidates]
    for branch in branches:
        own_hint = _hint(branch)
        own_threshold = threshold if own_hint is None else own_hint
        if own_threshold != 0 and _pays(candidates[branch].comparison, own_threshold):
            return candidates[branch]
    return None


def _candidates(loop: Operation) -> dict[Operation, _Condition]:
    """The `if`s that satisfy rules 1 and 2.  Most loops have none, so they are sought from the induction variable."""
    found: dict[Operation, _Condition] = {}
    for comparison in _induction_variable(loop).users:
        if comparison.declaration is CMPI:
            condition = _condition(loop, comparison)
            if condition is not None:
                for user in comparison.result.users:
                    if user.declaration is IF:
                        found[user] = condition
    return found


def _condition(loop: Operation, comparison: Operation) -> _Condition | None:
    """A comparison, turned so that the induction variable is on the left."""
    if comparison.signedness != _signedness(loop):
        return None
    keyword = comparison.comparison_predicate
    swapped = _SWAPPED.get(keyword)
    left, right = comparison.operands
    on_left = left is _induction_variable(loop)
    bound = right if on_left else left
    if swapped is None or _is_inside(bound, loop):
        return None
    return _Condition(comparison, keyword if on_left else swapped, bound)


def _induction_variable(loop: Operation) -> BlockArgument:
    return loop.regions[0].block.arguments[0]


def _signedness(loop: Operation) -> str:
    return "unsigned" if loop.unsigned_cmp else "signed"


def _is_inside(value: Value, loop: Operation) -> bool:
    block = value.parent_block
    owner = block.parent_operation if block is not None else None
    return owner is not None and loop.is_ancestor_of(owner)


def _pays(comparison: Operation, threshold: int) -> bool:
    """Rule 4."""
    if threshold == 1:
        return True
    for user in comparison.result.users:
        if user.declaration is IF:
            for region in user.regions:
                for block in region.blocks:
                    # The terminator does not count.
                    if len(block) - 1 >= threshold or any(operation.declaration in _EXPENSIVE for operation in block):
                        return True
    return False


# --- splitting ---


def _keep_locations(loop: Operation, condition: _Condition) -> None:
    """Note at a loop what goes when it is split: the comparison, and what decides by it."""
    gone = [condition.comparison, *condition.comparison.result.users]
    for operation in gone:
        loop.location = joined_location(loop.location, operation.location)


def _split(loop: Operation, condition: _Condition) -> tuple[Operation, Operation]:
    """Put two loops in the place of one."""
    rewriter = Rewriter()
    rewriter.location = loop.location
    rewriter.insert_before(loop)
    first_end, second_start = _Bounds(loop, condition, rewriter).computed()
    lower, upper, step, *initial = loop.operands
    first = _half(loop, condition, condition.holds_first, [lower, first_end, step, *initial])
    rewriter.insert(first)
    second = _half(loop, condition, not condition.holds_first, [second_start, upper, step, *first.results])
    rewriter.insert(second)
    rewriter.replace(loop, list(second.results))
    return first, second


def _keep_whole(half: Operation, threshold: int) -> None:
    """Mark a half that has another condition, and the `if`s whose own hint would outweigh the mark."""
    if _split_condition(half, threshold) is None:
        return
    half.set_attribute(_THRESHOLD, _NEVER)
    for branch in _candidates(half):
        if _hint(branch):
            branch.set_attribute(_THRESHOLD, _NEVER)


class _Bounds:
    """Computes where the first loop ends and where the second one starts."""

    __slots__ = ("condition", "loop", "rewriter", "type")

    def __init__(self, loop: Operation, condition: _Condition, rewriter: Rewriter) -> None:
        self.loop: Operation = loop
        self.condition: _Condition = condition
        self.rewriter: Rewriter = rewriter
        self.type: TileType = _scalar_type(loop)

    def computed(self) -> tuple[Value, Value]:
        steps_by_one = Facts().integer(self.loop.operands[2]) == 1
        if not _may_wrap(self.loop, self.condition, steps_by_one):
            return self._public_bounds(steps_by_one)
        return self._exact_bounds(steps_by_one)

    @property
    def _adds_one(self) -> bool:
        return self.condition.relation in ("greater_than", "less_than_or_equal")

    def _public_bounds(self, steps_by_one: bool) -> tuple[Value, Value]:
        """NVIDIA's form, for values that do not wrap."""
        lower, upper, step = self.loop.operands[:3]
        split = self.condition.bound
        if self._adds_one:
            split = self._create(ADDI, split, self._constant(1))
        if not steps_by_one:
            difference = self._create(SUBI, split, lower)
            count = self._ceiling_division(difference, step, _signedness(self.loop))
            split = self._create(ADDI, lower, self._create(MULI, count, step))
        return self._order(MINI, split, upper), self._order(MAXI, split, lower)

    def _exact_bounds(self, steps_by_one: bool) -> tuple[Value, Value]:
        """The form that is right for all values.

        `min(bound, ub - 1) + 1` is `bound + 1` as far as the loop goes, and cannot wrap: `ub - 1` does so only for the
        smallest `ub`, and then the loop is empty whatever the split.  Clamped to the range of the loop, the distance
        from `lb` is never negative, so that an unsigned division is right even where a signed distance would wrap.
        Only the last step can still wrap, past the greatest number: then no value is left for the second loop.
        """
        lower, upper, step = self.loop.operands[:3]
        split = self.condition.bound
        if self._adds_one:
            one = self._constant(1)
            split = self._create(ADDI, self._order(MINI, split, self._create(SUBI, upper, one)), one)
        if steps_by_one:
            return self._order(MINI, split, upper), self._order(MAXI, split, lower)
        split = self._order(MAXI, self._order(MINI, split, upper), lower)
        count = self._ceiling_division(self._create(SUBI, split, lower), step, "unsigned")
        aligned = self._create(ADDI, lower, self._create(MULI, count, step))
        attributes: dict[str, Attribute] = {
            "comparison_predicate": COMPARISON_PREDICATE["less_than"],
            "signedness": SIGNEDNESS[_signedness(self.loop)],
        }
        wrapped = self.rewriter.create(CMPI, [aligned, split], [scalar_tile(I1)], attributes)
        start = self.rewriter.create(SELECT, [wrapped.result, upper, aligned], [self.type])
        return split, start.result

    def _create(self, declaration: OperationDeclaration, left: Value, right: Value) -> Value:
        return self.rewriter.create(declaration, [left, right], [self.type]).result

    def _order(self, declaration: OperationDeclaration, left: Value, right: Value) -> Value:
        """`mini` or `maxi`, comparing as the loop does."""
        attributes: dict[str, Attribute] = {"signedness": SIGNEDNESS[_signedness(self.loop)]}
        return self.rewriter.create(declaration, [left, right], [self.type], attributes).result

    def _ceiling_division(self, left: Value, right: Value, signedness: str) -> Value:
        attributes: dict[str, Attribute] = {
            "signedness": SIGNEDNESS[signedness],
            "rounding": ROUNDING["positive_inf"],
        }
        return self.rewriter.create(DIVI, [left, right], [self.type], attributes).result

    def _constant(self, value: int) -> Value:
        data = value.to_bytes((_width(self.type) + 7) // 8, "little")
        return self.rewriter.constant(dense_attribute(self.type, (), self.type.element, data))


def _scalar_type(loop: Operation) -> TileType:
    type = loop.operands[0].type
    if not isinstance(type, TileType):
        raise TypeError(type.text)
    return type


def _width(type: TileType) -> int:
    return type.element.width if isinstance(type.element, IntegerType) else 64


def _may_wrap(loop: Operation, condition: _Condition, steps_by_one: bool) -> bool:
    """Whether NVIDIA's computation of the split point might leave the range of the type (rule 8)."""
    signed = _signedness(loop) == "signed"
    width = _width(_scalar_type(loop))
    least, greatest = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    facts = Facts()
    low, high = facts.range(condition.bound, signed)
    if condition.relation in ("greater_than", "less_than_or_equal"):
        low, high = low + 1, high + 1
        if high > greatest:
            return True
    if steps_by_one:
        return False
    lower_low, lower_high = facts.range(loop.operands[0], signed)
    _, step_high = facts.range(loop.operands[2], signed)
    # The distance from the lower bound (which an unsigned one must not go below), its rounding up, and the sum.
    if low - lower_high < least or high - lower_low + step_high - 1 > greatest:
        return True
    return high + step_high - 1 > greatest


def _half(loop: Operation, condition: _Condition, holds: bool, operands: list[Value]) -> Operation:
    """A copy of the loop with other bounds, in which the condition is known (rules 5 to 7)."""
    body = loop.regions[0].block
    new_body = Block()
    mapping: dict[Value, Value] = {}
    for argument in body.arguments:
        mapping[argument] = new_body.add_argument(argument.type, argument.location)
    comparison = condition.comparison
    taken: list[Operation] = [
        user for user in comparison.result.users if user.declaration is IF and user.parent_operation is loop
    ]
    keep_comparison = len(taken) < len(comparison.result.users)
    known = frozenset(taken)
    for operation in body:
        if operation is comparison:
            if keep_comparison:
                constant = _truth(holds, comparison)
                new_body.append(constant)
                mapping[comparison.result] = constant.result
        elif operation not in known:
            new_body.append(clone(operation, mapping))
        elif _copy_branch(operation, 0 if holds else 1, new_body, mapping):
            break
    if comparison.parent is not body:
        # The comparison stands in something that was copied whole.
        copy = mapping.get(comparison.result)
        definition = copy.defining_operation if copy is not None else None
        if definition is not None and definition.parent is not None:
            constant = _truth(holds, comparison)
            definition.parent.insert_before(constant, definition)
            definition.replace_with([constant.result])
    types = [result.type for result in loop.results]
    return Operation(loop.declaration, operands, types, loop.attributes, [Region([new_body])], loop.location)


def _truth(holds: bool, comparison: Operation) -> Operation:
    """What the comparison is in one half."""
    type = comparison.result.type
    attributes: dict[str, Attribute] = {"value": dense_attribute(type, (), I1, b"\x01" if holds else b"\x00")}
    return Operation(CONSTANT, [], [type], attributes, NO_REGIONS, comparison.location)


def _copy_branch(branch: Operation, number: int, target: Block, mapping: dict[Value, Value]) -> bool:
    """Copy one branch of an `if` in its place; tells whether the branch ends the iteration."""
    region = branch.regions[number]
    if not region.blocks:
        return False
    for operation in region.block:
        if operation.declaration is YIELD:
            for result, value in zip(branch.results, operation.operands, strict=True):
                mapping[result] = mapping.get(value, value)
        else:
            target.append(clone(operation, mapping))
            if operation.declaration is CONTINUE:
                return True
    return False
