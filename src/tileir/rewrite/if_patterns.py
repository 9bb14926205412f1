"""The patterns of `if` (the folds draft, IfOp Canonicalization Pattern Set).

Names and conditions are those of NVIDIA's public dialect (docs/reference/conflicts.md H); its conditions are sound.
Where `if`s are combined, result lists are concatenated, never reordered, and operations keep their order (the folds
draft, third and first contract).
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.ops import ANDI, IF, YIELD
from tileir.ir.core import Block, Operation, Region
from tileir.ir.values import Value
from tileir.rewrite.driver import Pattern
from tileir.rewrite.matching import (
    branch,
    can_select,
    constant_bool,
    if_yields,
    leaves,
    negated,
    negation,
    new_if,
    only_ends,
    select_for,
    take_blocks,
    yields,
)
from tileir.rewrite.rewriter import Rewriter

REMOVE_STATIC_CONDITION: Final = "RemoveStaticCondition"


def _remove_unused_results(operation: Operation, rewriter: Rewriter) -> bool:
    """Remove results without uses, and the operands that the branches yield for them."""
    used = [index for index, result in enumerate(operation.results) if result.has_uses]
    if len(used) == len(operation.results):
        return rewriter.no_match(operation, "every result is used")
    if not if_yields(operation):
        return rewriter.no_match(operation, "no branch yields")
    _keep_results(operation, rewriter, used)
    rewriter.erase(operation)
    return True


def _keep_results(operation: Operation, rewriter: Rewriter, kept: list[int]) -> Operation:
    """Create an `if` with some of the results of another one, and move its branches and the uses of these there."""
    replacement = new_if(rewriter, operation, [operation.results[index] for index in kept], operation.operands[0])
    for target, source in zip(replacement.regions, operation.regions, strict=True):
        take_blocks(target, source)
        for block in target.blocks:
            last = yields(block)
            if last is not None:
                rewriter.set_operands(last, [last.operands[index] for index in kept])
    for result, index in zip(replacement.results, kept, strict=True):
        rewriter.replace_uses(operation.results[index], result)
    return replacement


def _replace_yield_with_value(operation: Operation, rewriter: Rewriter) -> bool:
    """Replace a result that both branches agree on, or that is true in one and false in the other (the condition)."""
    first = yields(branch(operation, 0))
    second = yields(branch(operation, 1))
    if not operation.results or first is None or second is None:
        return rewriter.no_match(operation, "a branch yields nothing")
    condition = operation.operands[0]
    changed = False
    for index, result in enumerate(operation.results):
        if not result.has_uses:
            continue
        chosen = first.operands[index]
        otherwise = second.operands[index]
        if chosen is otherwise:
            rewriter.replace_uses(result, chosen)
            changed = True
            continue
        if chosen.type is not condition.type:
            # A condition is a scalar; tiles of i1 are left to ConvertToSelect.
            continue
        on_true = constant_bool(chosen)
        on_false = constant_bool(otherwise)
        if on_true is None or on_false is None or on_true == on_false:
            continue
        rewriter.replace_uses(result, condition if on_true else negation(rewriter, condition))
        changed = True
    return changed or rewriter.no_match(operation, "the branches yield different values for every used result")


def remove_static_condition(operation: Operation, rewriter: Rewriter) -> bool:
    """Replace an `if` with a constant condition by the branch it takes."""
    condition = constant_bool(operation.operands[0])
    if condition is None:
        return rewriter.no_match(operation, "the condition is not constant")
    taken = branch(operation, 0 if condition else 1)
    if taken is None:
        rewriter.erase(operation)
        return True
    return _replace_with_block(operation, taken, rewriter)


def _replace_with_block(operation: Operation, block: Block, rewriter: Rewriter) -> bool:
    """Replace an `if` by the contents of a branch; after a branch that leaves, nothing is reachable."""
    last = yields(block)
    if last is None and not leaves(block):
        return rewriter.no_match(operation, "the branch has no known terminator")
    first = block.first
    rewriter.splice_before(block, operation)
    if first is not None and first.declaration is IF:
        # It may follow another `if` now, so CombineIfs may match.
        rewriter.revisit(first)
    if last is None:
        rewriter.erase_from(operation)
        return True
    values = list(last.operands)
    rewriter.erase(last)
    rewriter.replace(operation, values)
    return True


def _convert_to_select(operation: Operation, rewriter: Rewriter) -> bool:
    """Replace results whose values are computed outside the `if` by a `select` in front of it.

    If one branch leaves, the results are the values of the other branch.
    """
    first, second = yields(branch(operation, 0)), yields(branch(operation, 1))
    ends = if_yields(operation)
    if not operation.results or not ends:
        return rewriter.no_match(operation, "no branch yields a value")
    for result in operation.results:
        if not can_select(result):
            # Tokens above all: no token-ordered operation may be reordered (the folds draft, first contract).
            return rewriter.no_match(operation, "'select' cannot choose between values of a result's type")
    chosen = (first if first is not None else ends[0]).operands
    otherwise = (second if second is not None else ends[0]).operands
    pairs = enumerate(zip(chosen, otherwise, strict=True))
    kept = [index for index, (one, other) in pairs if _stays(operation, one) or _stays(operation, other)]
    if len(kept) == len(operation.results):
        return rewriter.no_match(operation, "every yielded value is computed in a branch")
    replacement = _keep_results(operation, rewriter, kept)
    rewriter.insert_before(replacement)
    for result, one, other in zip(operation.results, chosen, otherwise, strict=True):
        if result.has_uses:
            selected = one if one is other else select_for(rewriter, operation.operands[0], one, other)
            rewriter.replace_uses(result, selected)
    rewriter.erase(operation)
    return True


def _stays(operation: Operation, value: Value) -> bool:
    """Whether a value is computed in a branch."""
    block = value.parent_block
    return block is not None and block.parent_operation is operation


def _remove_empty_else_branch(operation: Operation, rewriter: Rewriter) -> bool:
    second = branch(operation, 1)
    if operation.results or not only_ends(second) or yields(second) is None:
        return rewriter.no_match(operation, "there are results, or there is no empty else branch")
    replacement = new_if(rewriter, operation, [], operation.operands[0])
    take_blocks(replacement.regions[0], operation.regions[0])
    rewriter.erase(operation)
    return True


def _move_terminator_to_parent(operation: Operation, rewriter: Rewriter) -> bool:
    """If both branches leave, move the else branch after the `if`; what followed it is unreachable."""
    second = branch(operation, 1)
    if second is None or not leaves(branch(operation, 0)) or not leaves(second):
        return rewriter.no_match(operation, "a branch does not end in return, continue or break")
    replacement = new_if(rewriter, operation, [], operation.operands[0])
    take_blocks(replacement.regions[0], operation.regions[0])
    return _replace_with_block(operation, second, rewriter)


def _combine_ifs(operation: Operation, rewriter: Rewriter) -> bool:
    """Combine adjacent ifs on one condition, or on a condition and its negation.

    A run of them is combined at once, when its last member is visited: the others are in canonical form by then, and
    the cost is linear in the length of the run.
    """
    following = operation.next
    if following is not None and _relation(operation, following) != 0:
        return rewriter.no_match(operation, "it is not the last of the adjacent ifs on its condition")
    run = [operation]
    previous = operation.previous
    while previous is not None and _relation(previous, run[-1]) != 0:
        run.append(previous)
        previous = previous.previous
    run.reverse()
    combined = False
    start = 0
    while start < len(run):
        group = _Group(run[start])
        end = start + 1
        while end < len(run) and group.add(run[end]):
            end += 1
        if end - start > 1:
            group.build(rewriter)
            combined = True
        start = end
    return combined or rewriter.no_match(operation, "the operation before it is no 'if' on the same condition")


def _relation(first: Operation, second: Operation) -> int:
    """1 if two operations are ifs on one condition, -1 if on a condition and its negation, else 0."""
    if first.declaration is not IF or second.declaration is not IF:
        return 0
    one = first.operands[0]
    other = second.operands[0]
    if negated(other) is one or negated(one) is other:
        return -1
    return 1 if one is other else 0


class _Group:
    """Adjacent ifs to combine; true and false refer to the condition of the first.

    `sides[0]` has, for each member, the branch taken when that condition is true, `sides[1]` the other one; None where
    there is none, or where it is unreachable because an earlier member leaves.
    """

    def __init__(self, first: Operation) -> None:
        self.members: list[Operation] = [first]
        blocks = (branch(first, 0), branch(first, 1))
        self.sides: tuple[list[Block | None], list[Block | None]] = ([blocks[0]], [blocks[1]])
        self._open: list[bool] = [not leaves(blocks[0]), not leaves(blocks[1])]

    def add(self, member: Operation) -> bool:
        """Add the next member if at least one of its branches is reachable."""
        relation = _relation(self.members[0], member)
        if relation == 0:
            # Its condition is related to its neighbor's, but not to the first one's; it is visited again.
            return False
        swap = relation < 0
        blocks = (branch(member, 1 if swap else 0), branch(member, 0 if swap else 1))
        needed = [blocks[side] if self._open[side] else None for side in (0, 1)]
        if needed[0] is None and needed[1] is None:
            return False
        self.members.append(member)
        for side in (0, 1):
            self.sides[side].append(needed[side])
            if leaves(needed[side]):
                self._open[side] = False
        return True

    def build(self, rewriter: Rewriter) -> None:
        self._rewrite_inner_uses(rewriter)
        last = self.members[-1]
        rewriter.insert_before(last)
        results: list[Value] = [result for member in self.members for result in member.results]
        combined = new_if(rewriter, last, results, self.members[0].operands[0])
        combined.attributes = self.members[0].attributes
        for member in self.members:
            rewriter.inherit(combined, member)
        for side in (0, 1):
            self._join(side, combined.regions[side], rewriter)
        for result, replacement in zip(results, combined.results, strict=True):
            rewriter.replace_uses(result, replacement)
        for member in self.members:
            rewriter.erase(member)

    def _rewrite_inner_uses(self, rewriter: Rewriter) -> None:
        """Inside later members, replace results of earlier ones by the values yielded on the same side."""
        sides = {
            block: (side, number)
            for side in (0, 1)
            for number, block in enumerate(self.sides[side])
            if block is not None
        }
        for number, member in enumerate(self.members):
            yielded = [yields(self.sides[side][number]) for side in (0, 1)]
            for index, result in enumerate(member.results):
                for user in result.users:
                    found = _enclosing(user, sides, member.parent)
                    # Any other user is after the group or in an unreachable branch.
                    source = yielded[found[0]] if found is not None and found[1] > number else None
                    if source is not None:
                        value = source.operands[index]
                        for operand, used in enumerate(user.operands):
                            if used is result:
                                rewriter.set_operand(user, operand, value)

    def _join(self, side: int, region: Region, rewriter: Rewriter) -> None:
        """Concatenate the branches of one side, with one terminator."""
        target: Block | None = None
        operands: list[Value] = []
        ends: list[Operation] = []
        for block in self.sides[side]:
            if block is None:
                continue
            end = yields(block)
            if end is not None:
                operands += end.operands
                end.detach()
                ends.append(end)
            if target is None:
                target = block
                if block.parent is not None:
                    take_blocks(region, block.parent)
                continue
            first = block.first
            rewriter.splice_at_end(block, target)
            if first is not None:
                # It may follow an `if` now, so CombineIfs may match.
                rewriter.revisit(first)
        if target is not None and self._open[side]:
            end = ends.pop()
            target.append(end)
            for other in ends:
                rewriter.inherit(end, other)
            rewriter.set_operands(end, operands)
        for end in ends:
            rewriter.erase(end)


def _enclosing(user: Operation, sides: dict[Block, tuple[int, int]], outside: Block | None) -> tuple[int, int] | None:
    """Return the entry of the innermost listed block around an operation."""
    block = user.parent
    while block is not None and block is not outside:
        found = sides.get(block)
        if found is not None:
            return found
        around = block.parent_operation
        block = around.parent if around is not None else None
    return None


def _combine_nested_ifs(operation: Operation, rewriter: Rewriter) -> bool:
    """`if a { if b { ... } }` is `if a and b { ... }`.

    Both else branches may only yield.  Where the outer `if` forwards a result of the inner one, both else branches must
    yield the same value for it: it is the result when a is true and b is false.  The folds draft's sample omits this
    condition and would change results (docs/reference/conflicts.md H3).  Any other yielded value must be defined
    outside, so that it can be selected.
    """
    nested = _only_nested_if(operation)
    if nested is None:
        return rewriter.no_match(operation, "its then branch is not a single 'if', or an else branch is not empty")
    outer_end = yields(branch(operation, 0))
    inner_end = yields(branch(nested, 0))
    otherwise = yields(branch(operation, 1))
    inner_otherwise = yields(branch(nested, 1))
    if outer_end is None:
        return rewriter.no_match(operation, "the then branch leaves")
    if inner_end is None and (branch(operation, 1) is not None or branch(nested, 1) is not None):
        return rewriter.no_match(nested, "the inner 'if' leaves, and there is an else branch")
    chosen = list(outer_end.operands)
    fallback: list[Value] = list(otherwise.operands) if otherwise is not None else []
    selected: list[int] = []
    for index, value in enumerate(chosen):
        if value.defining_operation is nested:
            position = [result is value for result in nested.results].index(True)
            if inner_end is None or inner_otherwise is None:
                return rewriter.no_match(nested, "a branch of the inner 'if' leaves")
            if inner_otherwise.operands[position] is not fallback[index]:
                return rewriter.no_match(nested, "the else branches yield different values")
            chosen[index] = inner_end.operands[position]
        elif _stays(operation, value) or not can_select(value):
            return rewriter.no_match(operation, "a yielded value is defined inside or cannot be selected")
        else:
            selected.append(index)
    condition = operation.operands[0]
    both = rewriter.create(ANDI, [condition, nested.operands[0]], [condition.type]).results[0]
    selections = {index: select_for(rewriter, condition, chosen[index], fallback[index]) for index in selected}
    combined = new_if(rewriter, operation, list(operation.results), both)
    rewriter.inherit(combined, nested)
    take_blocks(combined.regions[0], nested.regions[0])
    if inner_end is not None:
        rewriter.set_operands(inner_end, chosen)
    if fallback:
        block = Block()
        combined.regions[1].append(block)
        rewriter.insert_at_end(block)
        rewriter.create(YIELD, list(fallback), [])
    for index, result in enumerate(operation.results):
        rewriter.replace_uses(result, selections.get(index, combined.results[index]))
    inner = combined.regions[0].blocks[0].first
    if inner is not None:
        rewriter.revisit(inner)
    rewriter.erase(operation)
    return True


def _only_nested_if(operation: Operation) -> Operation | None:
    """Return the `if` that is alone in the then branch, if no else branch does anything."""
    block = branch(operation, 0)
    nested = block.first if block is not None else None
    if block is None or nested is None or nested.declaration is not IF or nested.next is not block.last:
        return None
    if nested is block.last or branch(nested, 0) is None:
        return None
    for second in (branch(operation, 1), branch(nested, 1)):
        if second is not None and (not only_ends(second) or yields(second) is None):
            return None
    return nested


def if_patterns() -> list[Pattern]:
    """The eight patterns, in the public order."""
    return [
        Pattern("RemoveUnusedResults", IF, _remove_unused_results),
        Pattern("ReplaceYieldWithValue", IF, _replace_yield_with_value),
        Pattern(REMOVE_STATIC_CONDITION, IF, remove_static_condition),
        Pattern("ConvertToSelect", IF, _convert_to_select),
        Pattern("RemoveEmptyElseBranch", IF, _remove_empty_else_branch),
        Pattern("CombineIfs", IF, _combine_ifs),
        Pattern("CombineNestedIfs", IF, _combine_nested_ifs),
        Pattern("MoveTerminatorToParent", IF, _move_terminator_to_parent),
    ]
