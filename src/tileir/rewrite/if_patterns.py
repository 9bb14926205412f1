"""The patterns of `if` (the folds draft, IfOp Canonicalization Pattern Set); `combine_ifs.py` has those for two `if`s.

Names and conditions are those of NVIDIA's public dialect (docs/conflicts.md H); its conditions are sound.
"""

from __future__ import annotations

from tileir.dialect.ops import IF
from tileir.ir.core import Block, Operation
from tileir.ir.values import Value
from tileir.rewrite.combine_ifs import combine_ifs, combine_nested_ifs
from tileir.rewrite.driver import Pattern
from tileir.rewrite.matching import (
    branch,
    can_select,
    constant_bool,
    is_defined_in,
    is_scalar_condition,
    leaves,
    negation,
    new_if,
    only_ends,
    select_for,
    take_blocks,
    yields,
)
from tileir.rewrite.rewriter import Rewriter


def _remove_unused_results(operation: Operation, rewriter: Rewriter) -> bool:
    """Remove results without uses, and the operands that the branches yield for them."""
    used = [index for index, result in enumerate(operation.results) if result.has_uses]
    if len(used) == len(operation.results):
        return rewriter.no_match(operation, "every result is used")
    if yields(branch(operation, 0)) is None and yields(branch(operation, 1)) is None:
        return rewriter.no_match(operation, "no branch yields")
    replacement = _keep_results(operation, rewriter, used)
    for position, index in enumerate(used):
        rewriter.replace_uses(operation.results[index], replacement.results[position])
    rewriter.erase(operation)
    return True


def _keep_results(operation: Operation, rewriter: Rewriter, kept: list[int]) -> Operation:
    """Create an `if` with some of the results of another one, and move its branches there."""
    replacement = new_if(rewriter, operation, [operation.results[index] for index in kept], operation.operands[0])
    for target, source in zip(replacement.regions, operation.regions, strict=True):
        take_blocks(target, source)
        for block in target.blocks:
            last = yields(block)
            if last is not None:
                rewriter.set_operands(last, [last.operands[index] for index in kept])
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
        if not is_scalar_condition(chosen):
            # A condition is a scalar; tiles of i1 are left to ConvertToSelect.
            continue
        on_true = constant_bool(chosen)
        on_false = constant_bool(otherwise)
        if on_true is None or on_false is None or on_true == on_false:
            continue
        rewriter.replace_uses(result, condition if on_true else negation(rewriter, condition))
        changed = True
    return changed or rewriter.no_match(operation, "the branches yield different values for every used result")


def _remove_static_condition(operation: Operation, rewriter: Rewriter) -> bool:
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
    """Replace an `if` by the contents of a branch; behind a branch that leaves, nothing is reachable."""
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
    """Turn results whose values are computed outside the `if` into a `select` in front of it.

    If one branch leaves, the results are the values of the other branch.
    """
    first = yields(branch(operation, 0))
    second = yields(branch(operation, 1))
    ends = [end for end in (first, second) if end is not None]
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
    position = 0
    for index, result in enumerate(operation.results):
        if position < len(kept) and kept[position] == index:
            rewriter.replace_uses(result, replacement.results[position])
            position += 1
        elif chosen[index] is otherwise[index]:
            rewriter.replace_uses(result, chosen[index])
        else:
            selected = select_for(rewriter, operation.operands[0], chosen[index], otherwise[index])
            rewriter.replace_uses(result, selected)
    rewriter.erase(operation)
    return True


def _stays(operation: Operation, value: Value) -> bool:
    """Whether a value is computed in a branch."""
    return any(is_defined_in(value, region) for region in operation.regions)


def _remove_empty_else_branch(operation: Operation, rewriter: Rewriter) -> bool:
    """Remove an else branch that does nothing."""
    second = branch(operation, 1)
    if operation.results or not only_ends(second) or yields(second) is None:
        return rewriter.no_match(operation, "there are results, or there is no empty else branch")
    replacement = new_if(rewriter, operation, [], operation.operands[0])
    take_blocks(replacement.regions[0], operation.regions[0])
    rewriter.erase(operation)
    return True


def _move_terminator_to_parent(operation: Operation, rewriter: Rewriter) -> bool:
    """If both branches leave, move the else branch behind the `if`; what followed it is unreachable."""
    second = branch(operation, 1)
    if second is None or not leaves(branch(operation, 0)) or not leaves(second):
        return rewriter.no_match(operation, "a branch does not end in return, continue or break")
    replacement = new_if(rewriter, operation, [], operation.operands[0])
    take_blocks(replacement.regions[0], operation.regions[0])
    return _replace_with_block(operation, second, rewriter)


def if_patterns() -> list[Pattern]:
    """The eight patterns, in the public order."""
    return [
        Pattern("RemoveUnusedResults", IF, _remove_unused_results),
        Pattern("ReplaceYieldWithValue", IF, _replace_yield_with_value),
        Pattern("RemoveStaticCondition", IF, _remove_static_condition),
        Pattern("ConvertToSelect", IF, _convert_to_select),
        Pattern("RemoveEmptyElseBranch", IF, _remove_empty_else_branch),
        Pattern("CombineIfs", IF, combine_ifs),
        Pattern("CombineNestedIfs", IF, combine_nested_ifs),
        Pattern("MoveTerminatorToParent", IF, _move_terminator_to_parent),
    ]
