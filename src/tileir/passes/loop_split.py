"""Split a `for` in two where a condition on its induction variable changes.

    for %i in (lb to ub, step s) { if %i < %n { A } else { B } }
->
    for %i in (lb to min(n, ub), step s) { A }
    for %i in (max(n, lb) to ub, step s) { B }

A loop is split at the first `if` inside it (in post-order, so inner ones come first) that satisfies:

1. its condition is a `cmpi` of the loop's induction variable, on either side, with a value defined outside the loop;
2. the predicate is an order, with the signedness of the loop;
3. its threshold is not 0.  The threshold is the discardable integer attribute `cuda_tile.loop_split` of the `if`, else
   of the `for`, else of the function, else the pass option `split-threshold` (1);
4. it pays: the threshold is 1, or some `if` on the same condition has a branch with at least that many operations or
   with an expensive one (a load, a store, mmaf, mmai, reduce, if, for).

Each loop is split at most once, inner loops before outer ones: splitting at every condition would double the loops each
time.  NVIDIA's pass splits a half with another condition in its next run; here such a half is marked with the threshold
0, so that running the pass again changes nothing (not in the drop-in tool, whose output is NVIDIA's).  In the halves:

5. an `if` on the condition directly in the body is replaced by the branch taken.  A branch that ends in `continue` ends
   the body;
6. the comparison is a constant for all its other users, and removed if there are none;
7. the second loop starts from the first one's results.  Both loops keep the attributes.

The split point is the value compared with, plus one for `greater_than` and `less_than_or_equal`.  If the step is not
the constant 1, it is moved up to the next value of the induction variable:

    split = lb + ceil((split - lb) / step) * step

8. These sums can wrap, and then NVIDIA's computation splits at the wrong point (docs/reference/conflicts.md H10).  It
   is used where value ranges prove that nothing wraps; otherwise a longer one is used, which is right for all values.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.enums import ROUNDING
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
    STORE_PTR_TKO,
    STORE_VIEW_TKO,
    SUBI,
    YIELD,
)
from tileir.dialect.types import TileType
from tileir.ir.attributes import IntegerAttribute, integer_attribute
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import dense_attribute
from tileir.ir.location import joined_location
from tileir.ir.traversal import clone, functions, post_order
from tileir.ir.types import I1, I64
from tileir.ir.values import BlockArgument, Value
from tileir.passes.emit import SIGNED, UNSIGNED, Attributes, Emit, width_of
from tileir.rewrite.facts import Facts
from tileir.rewrite.matching import tile_of
from tileir.rewrite.simplifier_rules import SWAPPED

_THRESHOLD: Final = "cuda_tile.loop_split"
_NEVER: Final = integer_attribute(I64, 0)
_EXPENSIVE: Final = frozenset(
    (LOAD_PTR_TKO, LOAD_VIEW_TKO, STORE_PTR_TKO, STORE_VIEW_TKO) + (MMAF, MMAI, REDUCE, IF, FOR)
)


class _Condition:
    """A comparison to split a loop at: `induction variable <predicate> bound`."""

    def __init__(self, comparison: Operation, predicate: str, bound: Value) -> None:
        self.comparison: Operation = comparison
        self.predicate: str = predicate
        self.bound: Value = bound

    @property
    def holds_first(self) -> bool:
        """Whether the condition is true in the first of the two loops."""
        return self.predicate in ("less_than", "less_than_or_equal")

    @property
    def adds_one(self) -> bool:
        """Whether the split point is one more than the bound."""
        return self.predicate in ("greater_than", "less_than_or_equal")


def run(root: Operation, split_threshold: int = 1, mark: bool = True, keep_locations: bool = False) -> int:
    """Split loops in the functions of `root`; return their number.  With `mark` a second run does nothing.

    With `keep_locations`, the loops and their bounds get the locations of the condition and its `if`s too.
    """
    count = 0
    for function in functions(root):
        threshold = _hint(function, split_threshold)
        for operation in post_order(function):
            if operation.declaration is FOR:
                condition = _split_condition(operation, threshold)
                if condition is not None:
                    if keep_locations:
                        for removed in (condition.comparison, *condition.comparison.result.users):
                            operation.location = joined_location(operation.location, removed.location)
                    halves = _split(operation, condition)
                    if mark:
                        for half in halves:
                            _keep_whole(half, threshold)
                    count += 1
    return count


def _hint(operation: Operation, default: int) -> int:
    """Return the threshold that an operation carries (rule 3)."""
    value = operation.attributes.get(_THRESHOLD)
    return value.value if isinstance(value, IntegerAttribute) else default


def _split_condition(loop: Operation, default_threshold: int) -> _Condition | None:
    """Return the condition of the first `if` that satisfies rules 1 to 4."""
    candidates = _candidates(loop)
    if not candidates:
        return None
    threshold = _hint(loop, default_threshold)
    branches = list(candidates) if len(candidates) == 1 else [o for o in post_order(loop) if o in candidates]
    for branch in branches:
        own_threshold = _hint(branch, threshold)
        if own_threshold != 0 and _pays(candidates[branch].comparison, own_threshold):
            return candidates[branch]
    return None


def _candidates(loop: Operation) -> dict[Operation, _Condition]:
    """Return the `if`s that satisfy rules 1 and 2, found through the users of the induction variable."""
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
    """Return the condition of a comparison, with the induction variable on the left."""
    predicate = comparison.comparison_predicate
    if (comparison.signedness == "unsigned") != loop.unsigned_cmp or predicate in ("equal", "not_equal"):
        return None
    left, right = comparison.operands
    on_left = left is _induction_variable(loop)
    bound = right if on_left else left
    block = bound.parent_block
    owner = block.parent_operation if block is not None else None
    if owner is not None and loop.is_ancestor_of(owner):
        return None
    return _Condition(comparison, predicate if on_left else SWAPPED[predicate], bound)


def _induction_variable(loop: Operation) -> BlockArgument:
    return loop.regions[0].block.arguments[0]


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


def _split(loop: Operation, condition: _Condition) -> tuple[Operation, Operation]:
    """Replace a loop by two."""
    first_end, second_start = _Bounds(loop, condition).computed()
    lower, upper, step, *initial = loop.operands
    first = _half(loop, condition, condition.holds_first, [lower, first_end, step, *initial])
    second = _half(loop, condition, not condition.holds_first, [second_start, upper, step, *first.results])
    if loop.parent is not None:
        loop.parent.insert_before(first, loop)
        loop.parent.insert_before(second, loop)
    loop.replace_with(list(second.results))
    return first, second


def _keep_whole(half: Operation, threshold: int) -> None:
    """Mark a half that has another condition, and the `if`s whose own hint would override the mark."""
    if _split_condition(half, threshold) is None:
        return
    half.set_attribute(_THRESHOLD, _NEVER)
    for branch in _candidates(half):
        if _hint(branch, 0):
            branch.set_attribute(_THRESHOLD, _NEVER)


class _Bounds:
    """Computes the end of the first loop and the start of the second one."""

    def __init__(self, loop: Operation, condition: _Condition) -> None:
        self.loop: Operation = loop
        self.condition: _Condition = condition
        self.emit: Emit = Emit(loop)
        self.type: TileType = tile_of(loop.operands[0])
        self.sign: Attributes = UNSIGNED if loop.unsigned_cmp else SIGNED
        self.steps_by_one: bool = Facts().integer(loop.operands[2]) == 1

    def computed(self) -> tuple[Value, Value]:
        return self._exact_bounds() if self._may_wrap() else self._public_bounds()

    def _may_wrap(self) -> bool:
        """Whether NVIDIA's computation of the split point might exceed the range of the type (rule 8)."""
        signed = self.sign is SIGNED
        width = width_of(self.type)
        least, greatest = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        facts = Facts()
        low, high = facts.range(self.condition.bound, signed)
        if self.condition.adds_one:
            low, high = low + 1, high + 1
            if high > greatest:
                return True
        if self.steps_by_one:
            return False
        lower_low, lower_high = facts.range(self.loop.operands[0], signed)
        _, step_high = facts.range(self.loop.operands[2], signed)
        # The distance from the lower bound (not negative if unsigned), its rounding up, and the sum.
        if low - lower_high < least or high - lower_low + step_high - 1 > greatest:
            return True
        return high + step_high - 1 > greatest

    def _public_bounds(self) -> tuple[Value, Value]:
        """NVIDIA's computation, for values that do not wrap."""
        emit = self.emit
        lower, upper, step = self.loop.operands[:3]
        split = self.condition.bound
        if self.condition.adds_one:
            split = emit.apply(ADDI, split, emit.bits(self.type, 1))
        if not self.steps_by_one:
            count = self._ceiling_division(emit.apply(SUBI, split, lower), step, self.sign)
            split = emit.apply(ADDI, lower, emit.apply(MULI, count, step))
        return self._order(MINI, split, upper), self._order(MAXI, split, lower)

    def _exact_bounds(self) -> tuple[Value, Value]:
        """The computation that is right for all values.

        `min(bound, ub - 1) + 1` is `bound + 1` within the loop, and cannot wrap: `ub - 1` wraps only for the smallest
        `ub`, and then the loop is empty for every split.  Clamped to the range of the loop, the distance from `lb` is
        not negative, so an unsigned division is right even where a signed distance would wrap.  Only the last step can
        still wrap, past the greatest number: then the second loop is empty.
        """
        emit = self.emit
        lower, upper, step = self.loop.operands[:3]
        split = self.condition.bound
        if self.condition.adds_one:
            one = emit.bits(self.type, 1)
            split = emit.apply(ADDI, self._order(MINI, split, emit.apply(SUBI, upper, one)), one)
        if self.steps_by_one:
            return self._order(MINI, split, upper), self._order(MAXI, split, lower)
        split = self._order(MAXI, self._order(MINI, split, upper), lower)
        count = self._ceiling_division(emit.apply(SUBI, split, lower), step, UNSIGNED)
        aligned = emit.apply(ADDI, lower, emit.apply(MULI, count, step))
        return split, emit.select(emit.compare_integers("less_than", self.sign, aligned, split), upper, aligned)

    def _order(self, declaration: OperationDeclaration, left: Value, right: Value) -> Value:
        """Create `mini` or `maxi` with the signedness of the loop."""
        return self.emit.apply(declaration, left, right, attributes=self.sign)

    def _ceiling_division(self, left: Value, right: Value, sign: Attributes) -> Value:
        attributes: Attributes = {**sign, "rounding": ROUNDING["positive_inf"]}
        return self.emit.apply(DIVI, left, right, attributes=attributes)


def _half(loop: Operation, condition: _Condition, holds: bool, operands: list[Value]) -> Operation:
    """Return a copy of the loop with other bounds, in which the condition is known (rules 5 to 7)."""
    body = loop.regions[0].block
    new_body = Block()
    mapping: dict[Value, Value] = {}
    for argument in body.arguments:
        mapping[argument] = new_body.add_argument(argument.type, argument.location)
    comparison = condition.comparison
    users = comparison.result.users
    known = {user for user in users if user.declaration is IF and user.parent_operation is loop}
    keep_comparison = len(known) < len(users)
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
        # The comparison is in an operation that was copied whole.
        copy = mapping.get(comparison.result)
        definition = copy.defining_operation if copy is not None else None
        if definition is not None and definition.parent is not None:
            constant = _truth(holds, comparison)
            definition.parent.insert_before(constant, definition)
            definition.replace_with([constant.result])
    types = [result.type for result in loop.results]
    return Operation(loop.declaration, operands, types, loop.attributes, [Region([new_body])], loop.location)


def _truth(holds: bool, comparison: Operation) -> Operation:
    """The comparison in one half: a constant."""
    type = comparison.result.type
    value = dense_attribute(type, (), I1, b"\x01" if holds else b"\x00")
    return Operation(CONSTANT, [], [type], {"value": value}, location=comparison.location)


def _copy_branch(branch: Operation, number: int, target: Block, mapping: dict[Value, Value]) -> bool:
    """Copy one branch of an `if`; return whether the branch ends the iteration."""
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
